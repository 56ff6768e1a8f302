package keys

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
)

func TestBlobs(t *testing.T) {
	t.Run("memory", func(t *testing.T) { blobsSuite(t, MemoryBlobs()) })
	t.Run("directory", func(t *testing.T) { blobsSuite(t, DirBlobs(t.TempDir())) })
}

// blobsSuite holds an empty implementation to the contract of Blobs.
func blobsSuite(t *testing.T, b Blobs) {
	if _, err := b.Get("a"); !errors.Is(err, ErrNoBlob) {
		t.Errorf("get of what is not there: %v", err)
	}
	if err := b.Delete("a"); err != nil {
		t.Errorf("delete of what is not there: %v", err)
	}
	in := []byte("one")
	if err := b.Put("a", in); err != nil {
		t.Fatal(err)
	}
	in[0] = 'x' // the caller's slice stays the caller's
	wantBlob(t, b, "a", "one")
	if got, _ := b.Get("a"); len(got) > 0 {
		got[0] = 'x'
	}
	wantBlob(t, b, "a", "one")
	for _, id := range []string{"a-b", "B_2", strings.Repeat("z", maxBlobID), "a"} {
		if err := b.Put(id, []byte("two")); err != nil {
			t.Fatal(err)
		}
	}
	wantBlob(t, b, "a", "two")
	ids, err := b.List()
	if want := []string{"B_2", "a", "a-b", strings.Repeat("z", maxBlobID)}; err != nil || !reflect.DeepEqual(ids, want) {
		t.Errorf("list: got %v, %v, want %v", ids, err, want)
	}
	if err := b.Delete("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get("a"); !errors.Is(err, ErrNoBlob) {
		t.Errorf("get of what was deleted: %v", err)
	}
	badIDs(t, b)
	concurrentPuts(t, b)
}

func badIDs(t *testing.T, b Blobs) {
	for _, id := range []string{"", ".", "..", "../a", "a/b", `a\b`, "a.b", "a b", "a\x00", "ä", strings.Repeat("z", maxBlobID+1)} {
		_, get := b.Get(id)
		for _, err := range []error{b.Put(id, nil), get, b.Delete(id)} {
			if !errors.Is(err, ErrBlobID) {
				t.Errorf("id %q: %v", id, err)
			}
		}
	}
}

// concurrentPuts: each read sees one of the values whole.
func concurrentPuts(t *testing.T, b Blobs) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := b.Put("race", bytes.Repeat([]byte{byte('a' + i)}, 4096)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := b.Get("race")
	if err != nil || len(got) != 4096 || !bytes.Equal(got, bytes.Repeat(got[:1], 4096)) {
		t.Errorf("mixed blob of %d bytes, %v", len(got), err)
	}
}

func wantBlob(t *testing.T, b Blobs, id, want string) {
	t.Helper()
	if got, err := b.Get(id); err != nil || string(got) != want {
		t.Errorf("blob %s: got %q, %v, want %q", id, got, err, want)
	}
}

func TestDirBlobsOnDisk(t *testing.T) {
	dir := t.TempDir()
	b := DirBlobs(dir)
	if err := b.Put("a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "a.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	for _, name := range []string{"lock.json", "a.key.tmp", "b c.key"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "agents.key"), 0o700); err != nil {
		t.Fatal(err)
	}
	if ids, err := b.List(); err != nil || fmt.Sprint(ids) != "[a]" {
		t.Errorf("list: %v, %v", ids, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "big.key"), make([]byte, maxBlob+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get("big"); err == nil || errors.Is(err, ErrNoBlob) {
		t.Errorf("a blob above the cap: %v", err)
	}
}
