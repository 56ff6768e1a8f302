package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A directory whose parts come from two nodes is refused, by verbs as by run, and says
// which part is not its own.
func TestForeignDirectory(t *testing.T) {
	mine, other := home(t), home(t)
	f := &folk{t: t, dir: "/"} // for its copies
	take := func(t *testing.T, part string) string {
		dir := filepath.Join(t.TempDir(), "mixed")
		f.copyDir(mine, dir)
		if err := os.RemoveAll(filepath.Join(dir, part)); err != nil {
			t.Fatal(err)
		}
		f.copyDir(filepath.Join(other, part), filepath.Join(dir, part))
		return dir
	}
	for _, part := range []string{"state", "keys", "config.toml"} {
		t.Run(part+" of another node", func(t *testing.T) {
			dir := take(t, part)
			for _, verb := range []string{"status", "run"} {
				a := call(verb, "--data", dir, "--json")
				if a.code == exitDone || !strings.Contains(a.out, `"reason": "foreign"`) && !strings.Contains(a.out, `"reason": "recovering"`) || !strings.Contains(a.err, "hint: ") {
					t.Errorf("%s", a)
				}
			}
		})
	}
	t.Run("a log that is gone is not begun anew", func(t *testing.T) {
		if a := call("agent", "add", "x", "--can", "lend", "--data", mine); a.code != exitDone {
			t.Fatal(a)
		}
		dir := filepath.Join(t.TempDir(), "short")
		f.copyDir(mine, dir)
		if err := os.RemoveAll(filepath.Join(dir, "audit")); err != nil {
			t.Fatal(err)
		}
		pinned := readPins(t, dir)
		if a := call("agent", "add", "y", "--can", "lend", "--data", dir); a.code != exitDone {
			t.Error(a)
		}
		if now := readPins(t, dir); now != pinned {
			t.Errorf("something was signed:\n%s\nbefore:\n%s", now, pinned)
		}
	})
}

func readPins(t *testing.T, dir string) string {
	b, err := os.ReadFile(filepath.Join(dir, "pins"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
