package store

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// TestAnEmptyFileIsNoDamage: a kill while Badger makes a file leaves one
// without a byte; what was committed before is there all the same.
func TestAnEmptyFileIsNoDamage(t *testing.T) {
	ctx, dir, log := context.Background(), t.TempDir(), slog.New(slog.DiscardHandler)
	db, err := OpenBadger(dir, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(ctx, func(tx Tx) error { return tx.Set([]byte("k"), []byte("v")) }); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"00001.mem", "00099.mem", "000002.vlog", "000099.vlog"} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if db, err = OpenBadger(dir, log); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(ctx, func(r Reader) error {
		b, err := r.Get([]byte("k"))
		if string(b) != "v" {
			t.Errorf("got %q", b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
