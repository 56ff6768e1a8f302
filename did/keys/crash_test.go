package keys

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"trustnode/did"
)

// failing is a disk whose operation at, and all after it, fail: what is left is what a crash leaves.
func failing(at int, reached *bool) disk {
	n := 0
	return disk{func(string, string) error {
		if n++; n-1 < at {
			return nil
		}
		*reached = true
		return errDisk
	}}
}

// TestOrderOfOperations: what a call acknowledges is on the disk, content before name, name before the answer.
func TestOrderOfOperations(t *testing.T) {
	var ops []string
	d := disk{func(op, path string) error { ops = append(ops, op+" "+filepath.Ext(path)); return nil }}
	wrote := []string{"create .tmp", "write .tmp", "sync .tmp", "rename .tmp", "syncdir "}
	check := func(name string, err error, want ...string) {
		t.Helper()
		if err != nil || !slices.Equal(ops, want) {
			t.Errorf("%s: got %q, %v, want %q", name, ops, err, want)
		}
		ops = nil
	}
	s, err := createOn(d, filepath.Join(t.TempDir(), "people", "ada"), passphrase, FastParams)
	check("create", err, append([]string{"mkdir ", "syncdir ", "syncdir "}, wrote...)...)
	g, err := s.Generate(t.Context())
	check("generate", err, wrote...)
	_, err = s.Import(t.Context(), bytes.Repeat([]byte{1}, ed25519.SeedSize))
	check("import", err, wrote...)
	_, err = s.HostKey(t.Context())
	check("host key", err, wrote...)
	check("delete", s.Delete(t.Context(), g.Public()), "remove .key", "syncdir ")
}

// TestCreateCutShort: a store that was not made whole can be made again.
func TestCreateCutShort(t *testing.T) {
	for at, reached := 0, true; reached; at++ {
		reached = false
		dir := filepath.Join(t.TempDir(), "people", "ada")
		_, err := createOn(failing(at, &reached), dir, passphrase, FastParams)
		if reached != errors.Is(err, errDisk) || !reached && err != nil {
			t.Fatalf("operation %d: %v", at, err)
		}
		there, err := Exists(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !there {
			if _, err := Create(dir, passphrase, FastParams); err != nil {
				t.Errorf("operation %d: making it again: %v", at, err)
			}
		}
		generate(t, reopen(t, dir))
	}
}

// TestChangeCutShort: the life of a key is create, use, delete. Wherever it is cut short there is the old key, the new
// one or both, each whole.
func TestChangeCutShort(t *testing.T) {
	for at, reached := 0, true; reached; at++ {
		reached = false
		s, dir := create(t)
		old := generate(t, s).Public()
		d := failing(at, &reached)
		s, err := openOn(d, dir, passphrase)
		if err != nil {
			t.Fatal(err)
		}
		var next did.PublicKey
		g, err := s.Generate(t.Context())
		if err == nil {
			next = g.Public()
			err = s.Delete(t.Context(), old)
		}
		if reached != (err != nil) { // localkms hides the cause of a failed write
			t.Errorf("operation %d: %v", at, err)
		}
		left, err := reopen(t, dir).List(t.Context())
		if err != nil || len(left) < 1 || len(left) > 2 {
			t.Errorf("operation %d: %v, %v", at, left, err)
		}
		for _, k := range left {
			if next != (did.PublicKey{}) && k != old && k != next {
				t.Errorf("operation %d: %v is neither the old key nor the new one", at, k)
			}
		}
	}
}

func TestExists(t *testing.T) {
	_, dir := create(t)
	file := filepath.Join(dir, lockName)
	for _, c := range []struct {
		name  string
		dir   string
		want  bool
		wrong bool
	}{
		{"a store", dir, true, false},
		{"a directory without one", t.TempDir(), false, false},
		{"no directory", filepath.Join(dir, "nowhere"), false, false},
		{"a file in place of the directory", file, false, true},
	} {
		if got, err := Exists(c.dir); got != c.want || (err != nil) != c.wrong {
			t.Errorf("%s: got %v, %v", c.name, got, err)
		}
	}
}

// TestOpeningTakesTheDirectoryFromOthers: a copy put back from elsewhere may have lost its mode.
func TestOpeningTakesTheDirectoryFromOthers(t *testing.T) {
	_, dir := create(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	reopen(t, dir)
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

// TestForeignFilesStay: a removable medium may hold other things than keys.
func TestForeignFilesStay(t *testing.T) {
	_, dir := create(t)
	names := []string{"letter.tmp", "b c.key.tmp", "x.next", "x.12345678.next", "x.zz23456789abcdef.next", ".0123456789abcdef.next", "notes.txt"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ours := []string{"lock.json.tmp", "x.key.tmp", "x.0123456789abcdef.next", "x.0123456789abcdef.next.tmp"}
	for _, name := range ours {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reopen(t, dir)
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	for _, name := range ours {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}
