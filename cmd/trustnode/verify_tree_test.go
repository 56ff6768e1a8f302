package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnExportedLogVerifiesOffline gives what event export wrote to verify, with the DID log that a proof carries.
func TestAnExportedLogVerifiesOffline(t *testing.T) {
	dir, to := logged(t), t.TempDir()
	tiles, proof := filepath.Join(to, "tiles"), filepath.Join(to, "proof")
	for _, args := range [][]string{{"event", "export", "--data", dir, "--tiles", tiles}, {"event", "prove", "--data", dir, "0", "-o", proof}} {
		if a := call(args...); a.code != exitDone {
			t.Fatal(a)
		}
	}
	a := call("verify", tiles, "--with", proof)
	if a.code != exitDone || !strings.Contains(a.out, "each signed by a key that counted at its index") || !strings.Contains(a.out, "result   verifies") {
		t.Fatal(a)
	}
	if a := call("verify", tiles, "--with", proof, "--data", dir, "--strict"); a.code != exitDone || !strings.Contains(a.out, "the pins know") {
		t.Errorf("by the pins of the node: %s", a)
	}
	if a := call("verify", tiles, "--with", proof, "--json"); a.code != exitDone || !strings.Contains(a.out, `"kind":"log"`) && !strings.Contains(a.out, `"kind": "log"`) {
		t.Errorf("%s", a)
	}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"without its DID log", []string{tiles}, "pending: the log is of "},
		{"with nobody to vouch", []string{tiles, "--with", proof, "--strict"}, "a fingerprint is needed"},
		{"with more witnesses asked for", []string{tiles, "--with", proof, "--witnesses", "1"}, "witnessed by 0 organizations, 1 are asked for"},
		{"a pin of another root", []string{tiles, "--with", proof, "--pin", pinOfAnother(t, tiles)}, "it signed two heads"},
		{"its head alone", []string{filepath.Join(tiles, "checkpoint")}, "the signed head of a log"},
		{"its policy alone", []string{filepath.Join(tiles, "policy")}, "the policy of a log"},
		{"a directory of something else", []string{to}, "checkpoint cannot be read"},
	} {
		if a := call(append([]string{"verify"}, c.args...)...); a.code != exitUnverified || !strings.Contains(a.err+a.out, c.want) {
			t.Errorf("%s: want %q in %s", c.name, c.want, a)
		}
	}
	var files []string
	if err := filepath.WalkDir(filepath.Join(tiles, "tile"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	}); err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 1
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if a := call("verify", tiles, "--with", proof); a.code != exitUnverified {
			t.Errorf("%s changed: %s", name, a)
		}
		b[len(b)/2] ^= 1
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// pinOfAnother is a pin for the head of a tree with a root that it has not.
func pinOfAnother(t *testing.T, tiles string) string {
	lines := strings.Split(string(read(t, tiles, "checkpoint")), "\n")
	return "log " + strings.TrimSuffix(lines[0], "/log") + " " + lines[1] + " zQmYTRT2UXE1RcWseGhfU87x1PYmz5i2kmmqr91waoTT4o6"
}
