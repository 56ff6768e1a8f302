package main

import (
	"path/filepath"
	"strings"
	"testing"

	"trustnode/node/httpapi"
)

// After a move one organization has two names and one fingerprint, and each name leads to it.
func TestAfterAMove(t *testing.T) {
	dir, _ := lone(t)
	run := func(code int, words ...string) answer {
		t.Helper()
		a := call(append(words, "--data", dir)...)
		if a.code != code {
			t.Fatalf("want exit %d: %s", code, a)
		}
		return a
	}
	shown := func(words ...string) (d httpapi.Identity) {
		t.Helper()
		run(exitDone, append([]string{"did", "show", "--json"}, words...)...).into(t, &d)
		return d
	}
	old := shown()
	run(exitDone, "did", "host", "--move", "new.example")
	now := shown()
	if len(now.Names) != 1 || !strings.HasSuffix(now.Names[0], ":new.example") {
		t.Fatalf("%+v", now)
	}
	name := now.Names[0]

	out := filepath.Join(t.TempDir(), "web")
	run(exitDone, "did", "host", "--out", out)
	log := filepath.Join(out, "did.jsonl")
	if a := call("verify", log, "--fingerprint", now.Fingerprint); a.code != exitDone {
		t.Errorf("the fingerprint that did show prints is not that of the log: %s", a)
	}
	if a := call("verify", log, "--fingerprint", old.Fingerprint); a.code != exitUnverified || !strings.Contains(a.err+a.out, "of version 1 of") {
		t.Errorf("the fingerprint of before the move: %s", a)
	}
	var join httpapi.FedDraft
	run(exitDone, "fed", "join-request", "--json", "-o", filepath.Join(t.TempDir(), "x.join")).into(t, &join)
	if join.Fingerprint != now.Fingerprint {
		t.Errorf("the join file says %s, did show %s", join.Fingerprint, now.Fingerprint)
	}

	for _, who := range []string{name, "new.example", "solo.example"} {
		d := shown(who)
		if d.Fingerprint != now.Fingerprint || d.DID != old.DID || d.Name != "Solo" || !d.Own || len(d.History) == 0 {
			t.Errorf("did show %s: %+v", who, d)
		}
	}
	key := now.Keys[0]
	for text, want := range map[string]string{
		old.DID:                   "this DID has moved to " + name,
		old.DID + "#" + key:       "publicKeyMultibase",
		name:                      "; since version 1 of ",
		name + "?versionNumber=1": "when the DID was " + old.DID,
	} {
		if a := run(exitDone, "did", "resolve", text); !strings.Contains(a.out, want) || a.err != "" {
			t.Errorf("%q is missing: %s", want, a)
		}
	}

	if a := run(exitFailed, "did", "deactivate", "--yes", strings.Replace(name, "new.", "other.", 1)); !strings.Contains(a.err, "is not the DID of this organization") {
		t.Errorf("%s", a)
	}
	run(exitDone, "did", "deactivate", "--yes", name)
	a := run(exitRefused, "did", "resolve", name)
	_, hint, _ := strings.Cut(a.err, "did resolve '")
	earlier, _, _ := strings.Cut(hint, "'")
	if b := run(exitDone, "did", "resolve", earlier); !strings.Contains(b.out, "issuer: signs statements") {
		t.Errorf("what the hint of %s\nleads to: %s", a, b)
	}
}
