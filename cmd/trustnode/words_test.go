package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trustnode/node/httpapi"
	"trustnode/node/resolver/resolvertest"
)

// What a person typed wrongly exits with 2, whether this process or the node knows the words there are.
func TestWhatWasTypedWronglyIsUsage(t *testing.T) {
	dir := home(t)
	file := filepath.Join(t.TempDir(), "did.jsonl")
	if err := os.WriteFile(file, resolvertest.NewOrg(t, "beta").H.Log(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ line, want string }{
		"an agent's name":        {"agent add Billing --can borrow", "[a-z][a-z0-9-]"},
		"a capability":           {"agent add billing --can fly", "an agent can: lend"},
		"the days of an agent":   {"agent add billing --can lend --days 31", "1 to 30"},
		"the surface of a token": {"agent token billing --for xyz", "none of http, mcp"},
		"a mistyped fingerprint": {"verify " + file + " --fingerprint org1-aaaa", "last group"},
	} {
		if a := call(append(strings.Fields(c.line), "--data", dir)...); a.code != exitUsage || !strings.Contains(a.err, c.want) || !strings.Contains(a.err, "hint: ") {
			t.Errorf("%s: %s", name, a)
		}
	}
	out := filepath.Join(t.TempDir(), "lab")
	if a := call("did", "create", "--domain", "localhost", "--out", out); a.code != exitUsage || !strings.Contains(a.err, "hint: ") {
		t.Errorf("%s", a)
	}
	var made created
	a := call("did", "create", "--domain", "Lab.Example", "--out", out, "--json")
	if a.into(t, &made); !strings.HasSuffix(made.DID, ":lab.example") {
		t.Errorf("%s", a)
	}
}

// A refusal says what is wrong once, and what to do.
func TestRefusalsOfResolve(t *testing.T) {
	n := resolvertest.NewNode(t, resolvertest.NewOrg(t, "acme"))
	beta := resolvertest.NewOrg(t, "beta").Rotate()
	held := beta.Rotate()
	n.Hold(held)
	d := beta.DID().String()
	if a := resolveAt(n, "--offline", d+"?versionNumber=9"); !strings.Contains(a.err, "no such version\nhint: trustnode did show "+d) {
		t.Errorf("%s", a)
	}
	if a := resolveAt(n, "--offline", d+"?verificationRelationship=keyAgreement#"+held.Issuer()); strings.Count(a.err, "lacks the relationship") != 1 {
		t.Errorf("%s", a)
	}
	if a := call("did", "resolve", "nonsense"); strings.Contains(a.err, "not a DID") || !strings.Contains(a.err, "invalid DID") {
		t.Errorf("%s", a)
	}
	// A key of a kind that is not verified with here is not said to sign.
	const p256 = "did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169"
	a := call("did", "resolve", p256)
	has(t, a, exitDone, []string{"signs statements", "(P-256: nothing it signs is verified here)"})
	if a := call("did", "resolve", aKey); strings.Contains(a.out, "is verified here)") {
		t.Errorf("%s", a)
	}
}

// Files of one name are told apart by their places.
func TestTwoFilesOfOneName(t *testing.T) {
	var files []string
	for _, org := range []string{"beta", "gamma"} {
		file := filepath.Join(t.TempDir(), "did.jsonl")
		if err := os.WriteFile(file, resolvertest.NewOrg(t, org).H.Log(), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	has(t, call("verify", files[0], files[1]), exitDone, []string{"file     " + files[0], "file     " + files[1]})
	has(t, call("verify", files[0]), exitDone, []string{"file     did.jsonl"})
}

func TestWhatAcceptHeadSays(t *testing.T) {
	for want, out := range map[string]httpapi.HeadAccepted{
		"nothing changes: 3-x is what stands": {ID: "3-x", From: "3-x"},
		"accepted: 3-x stands; the act":       {ID: "3-x", From: "3-x", Changed: true},
		"accepted: z is pinned as the first":  {ID: "z", Changed: true},
		"3-y stands now, in place of 3-x;":    {ID: "3-y", From: "3-x", Changed: true},
	} {
		if got := acceptedWords(out); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
