package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/torchwood"
	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"

	"trustnode/node/config"
	"trustnode/node/daemon"
	"trustnode/node/httpapi"
)

// logged makes one organization whose log has a few entries.
func logged(t *testing.T) string {
	t.Helper()
	dir := home(t)
	for _, name := range []string{"first", "second", "third"} {
		if a := call("agent", "add", "--data", dir, name, "--can", "lend"); a.code != exitDone {
			t.Fatal(a)
		}
	}
	return dir
}

// TestExportedLogIsTakenByOtherTools gives what the verb wrote to programs that know
// nothing of this one, with the key of the policy it wrote.
func TestExportedLogIsTakenByOtherTools(t *testing.T) {
	dir, to := logged(t), filepath.Join(t.TempDir(), "tiles")
	a := call("event", "export", "--data", dir, "--tiles", to, "--json")
	var out exported
	if err := json.Unmarshal([]byte(a.out), &out); a.code != exitDone || err != nil || out.Size < 4 || out.Files != 4 || out.Need != 0 {
		t.Fatalf("%+v (%v)\n%s", out, err, a)
	}
	policy, checkpoint := read(t, to, "policy"), read(t, to, "checkpoint")
	p, err := torchwood.ParsePolicy(policy)
	if err != nil {
		t.Fatalf("%v\n%s", err, policy)
	}
	cp, _, err := torchwood.VerifyCheckpoint(checkpoint, p)
	if err != nil || uint64(cp.N) != out.Size {
		t.Fatalf("%+v (%v)\n%s", cp, err, checkpoint)
	}
	v, err := note.NewVerifier(strings.Fields(string(policy))[1])
	if err != nil {
		t.Fatal(err)
	}
	leaves := 0
	hashes := func(b []byte) (list [][]byte, err error) {
		var entries api.EntryBundle
		if err := entries.UnmarshalText(b); err != nil {
			return nil, err
		}
		for _, e := range entries.Entries {
			list = append(list, rfc6962.DefaultHasher.HashLeaf(e))
		}
		leaves += len(list)
		return list, nil
	}
	if err := fsck.New(v.Name(), v, client.FileFetcher{Root: to}, hashes, fsck.Opts{N: 1}).Check(context.Background()); err != nil || uint64(leaves) != out.Size {
		t.Errorf("fsck after %d entries: %v", leaves, err)
	}
	if a := call("event", "export", "--data", dir, "--tiles", to+"2"); a.code != exitDone || !strings.Contains(a.out, "read back and checked") || !strings.Contains(a.out, "witnessed 0 of 0") {
		t.Error(a)
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestExportLeavesOthersFilesAlone(t *testing.T) {
	dir, to := logged(t), t.TempDir()
	taken, half := filepath.Join(to, "taken"), filepath.Join(to, "half"+unfinished)
	for _, d := range []string{taken, half} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(half, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	was := list(t, to)
	for _, c := range []struct {
		name, args string
		code       int
		err        string
	}{
		{"a directory that is there, though empty", "--tiles " + taken, exitFailed, "is there already"},
		{"a file of that name", "--tiles " + filepath.Join(to, "file"), exitFailed, "is there already"},
		{"an export at work, or cut short", "--tiles " + filepath.Join(to, "half"), exitFailed, "cut short"},
		{"nowhere", "--tiles " + filepath.Join(to, "no", "where"), exitFailed, "no such file"},
		{"no directory", "", exitUsage, "--tiles is missing"},
		{"an argument", "more --tiles " + filepath.Join(to, "x"), exitUsage, "takes no argument"},
		{"an organization that is no DID", "--org x --tiles " + filepath.Join(to, "x"), exitUsage, "no organization held here has that name or domain"},
		{"a log that is not held", "--org did:web:x.example --tiles " + filepath.Join(to, "x"), exitFailed, "no signed head of did:web:x.example"},
	} {
		a := call(append([]string{"event", "export", "--data", dir}, strings.Fields(c.args)...)...)
		if a.code != c.code || !strings.Contains(a.err, c.err) || a.out != "" {
			t.Errorf("%s: want exit %d and %q, got %s", c.name, c.code, c.err, a)
		}
	}
	if got := list(t, to); !slices.Equal(got, was) {
		t.Errorf("left %v, was %v", got, was)
	}
}

func list(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, _ fs.DirEntry, err error) error {
		out = append(out, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAnExportThatIsWrongLeavesNothing has a node serve one changed byte in each kind of
// answer.
func TestAnExportThatIsWrongLeavesNothing(t *testing.T) {
	dir := logged(t)
	cfg, err := config.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	n, err := daemon.OpenOffline(t.Context(), cfg, []byte(testPassphrase), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	for _, c := range []struct{ name, path, old, new string }{
		{"an entry", "/tile/entries/", `"log.opened"`, `"log.openee"`},
		{"a hash tile", "/tile/0/", "", "x"},
		{"the size of the head", "/head", `/log\n4\n`, `/log\n3\n`},
		{"the key of the head", "/head", `"key":"z6Mk`, `"key":"z6Ml`},
	} {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec := httptest.NewRecorder()
			n.Handler().ServeHTTP(rec, r)
			b := rec.Body.Bytes()
			if strings.Contains(r.URL.Path, c.path) {
				if b = bytes.Replace(b, []byte(c.old), []byte(c.new), 1); bytes.Equal(b, rec.Body.Bytes()) {
					t.Errorf("%s: nothing changed in %q", c.name, b)
				}
			}
			w.WriteHeader(rec.Code)
			_, _ = w.Write(b)
		})
		to := t.TempDir()
		k := &caller{api: httpapi.InProcess(h, n.Token())}
		if out, err := writeTiles(t.Context(), k, "self", filepath.Join(to, "tiles")); err == nil {
			t.Errorf("%s: exported %+v", c.name, out)
		}
		if got := list(t, to); len(got) != 1 {
			t.Errorf("%s: left %v", c.name, got)
		}
	}
}
