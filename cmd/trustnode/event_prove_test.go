package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trustnode/node/httpapi"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/tlog"
)

// TestAnOutsideToolVerifiesAnEvent hands what event prove --c2sp writes to torchwood.
func TestAnOutsideToolVerifiesAnEvent(t *testing.T) {
	dir, to := logged(t), filepath.Join(t.TempDir(), "c2sp")
	if a := call("event", "prove", "--data", dir, "0", "--c2sp", to); a.code != exitDone || !strings.Contains(a.out, "witnessed 0 of 0") {
		t.Fatal(a)
	}
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	policy, err := torchwood.ParsePolicy(read("policy"))
	if err != nil {
		t.Fatal(err)
	}
	entry := read("entry")
	if err := torchwood.VerifyProof(policy, tlog.RecordHash(entry), read("proof")); err != nil {
		t.Error(err)
	}
	entry[7] ^= 1
	if torchwood.VerifyProof(policy, tlog.RecordHash(entry), read("proof")) == nil {
		t.Error("a changed entry verifies")
	}
	if a := call("event", "prove", "--data", dir, "0", "--c2sp", to); a.code != exitRefused && a.code != exitFailed || !strings.Contains(a.err, "is there already") {
		t.Errorf("over what is there: %s", a)
	}
}

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
		if a.code != exitDone || !strings.Contains(a.out, "proof of an event") || !strings.Contains(a.out, e.ID) || !strings.Contains(a.out, e.Says().Type) || !strings.Contains(a.out, "witnessed 0 of 0") {
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
	first, last := events.Events[0], events.Events[len(events.Events)-1]
	both := filepath.Join(to, "both")
	if a := call("event", "prove", "--data", dir, "0", "--with", last.ID, "-o", both); a.code != exitDone {
		t.Fatal(a)
	}
	if a := call("verify", both); a.code != exitDone || !strings.Contains(a.out, first.ID) || !strings.Contains(a.out, last.ID) {
		t.Errorf("two events in one file: %s", a)
	}
	for _, c := range []struct {
		name, args string
		code       int
		err        string
	}{
		{"an id that is none", "nonsense", exitUsage, "neither an id nor an index"},
		{"an event that is not here", "zQmYTRT2UXE1RcWseGhfU87x1PYmz5i2kmmqr91waoTT4o6", exitFailed, "no event zQmYTRT2"},
		{"an index past the log", "4711", exitFailed, "none of index 4711"},
		{"with what is not here", "0 --with zQmYTRT2UXE1RcWseGhfU87x1PYmz5i2kmmqr91waoTT4o6", exitFailed, "a body is proven with the event that names it"},
		{"for outside tools and for verify", "0 --c2sp " + to + "/c -o x", exitUsage, "for outside tools"},
		{"a place that is not there", "0 -o " + to + "/none/x", exitFailed, "write " + to + "/none/x: "},
		{"no id", "", exitUsage, "ID|INDEX is missing"},
	} {
		a := call(append([]string{"event", "prove", "--data", dir}, strings.Fields(c.args)...)...)
		if a.code != c.code || !strings.Contains(a.err, c.err) || a.out != "" {
			t.Errorf("%s: want exit %d and %q, got %s", c.name, c.code, c.err, a)
		}
	}
}
