package keys

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzStoredKey: whatever lies in a key's file, it is that key or it is damaged.
func FuzzStoredKey(f *testing.F) {
	s, dir := create(f)
	g := generate(f, s)
	path := filepath.Join(dir, idOf(g.Public())+blobSuffix)
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:40])
	f.Add(whole[:39])
	f.Add([]byte{})
	f.Add(make([]byte, maxBlob))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > maxBlob || string(b) == string(whole) {
			return
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s := reopen(t, dir)
		if _, err := s.Signer(t.Context(), g.Public()); !errors.Is(err, ErrDamaged) {
			t.Errorf("got %v", err)
		}
	})
}
