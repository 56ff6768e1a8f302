package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trustnode/node/httpapi"
)

// TestAnEventIsProvenByAFile proves each event of a log, and gives the files to verify.
func TestAnEventIsProvenByAFile(t *testing.T) {
	dir, to := logged(t), t.TempDir()
	var events httpapi.Events
	if a := call("event", "list", "--data", dir, "--json"); json.Unmarshal([]byte(a.out), &events) != nil || len(events.Events) < 4 {
		t.Fatal(a)
	}
	for _, e := range events.Events {
		file := filepath.Join(to, e.ID)
		if a := call("event", "prove", "--data", dir, e.ID, "-o", file); a.code != exitDone || !strings.Contains(a.out, "trustnode verify "+file) {
			t.Fatal(a)
		}
		a := call("verify", file)
		if a.code != exitDone || !strings.Contains(a.out, "proof of an event") || !strings.Contains(a.out, e.ID) || !strings.Contains(a.out, e.Type) {
			t.Errorf("%s", a)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		other := strings.Replace(string(b), e.ID, "zQmYTRT2UXE1RcWseGhfU87x1PYmz5i2kmmqr91waoTT4o6", 1)
		if err := os.WriteFile(file, []byte(other), 0o644); err != nil {
			t.Fatal(err)
		}
		if a := call("verify", file); a.code != exitUnverified {
			t.Errorf("about another event: %s", a)
		}
	}
	for _, c := range []struct {
		name, args string
		code       int
		err        string
	}{
		{"an id that is none", "nonsense", exitFailed, "not valid"},
		{"an event that is not here", "zQmYTRT2UXE1RcWseGhfU87x1PYmz5i2kmmqr91waoTT4o6", exitFailed, "no event zQmYTRT2"},
		{"no id", "", exitUsage, "ID is missing"},
	} {
		a := call(append([]string{"event", "prove", "--data", dir}, strings.Fields(c.args)...)...)
		if a.code != c.code || !strings.Contains(a.err, c.err) || a.out != "" {
			t.Errorf("%s: want exit %d and %q, got %s", c.name, c.code, c.err, a)
		}
	}
}
