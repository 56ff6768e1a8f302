package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// mustCall calls a verb within the test that has to end with code.
func mustCall(t *testing.T, code int, args ...string) answer {
	t.Helper()
	a := call(args...)
	if a.code != code {
		t.Fatalf("want exit %d: %s", code, a)
	}
	return a
}

// saysAll wants each text in an answer.
func saysAll(t *testing.T, a answer, texts ...string) {
	t.Helper()
	for _, x := range texts {
		if !strings.Contains(a.out+a.err, x) {
			t.Errorf("want %q in %s", x, a)
		}
	}
}

func TestAgentVerbs(t *testing.T) {
	dir := home(t)
	mustCall(t, exitDone, "agent", "add", "research", "--can", "lend", "--can", "borrow", "--days", "9", "--display", "desk", "--project", "p", "--data", dir)
	saysAll(t, mustCall(t, exitDone, "agent", "show", "research", "--data", dir), "research of solo.example[", ", desk\ndid:key:z6Mk", "state         live", "can           borrow, lend", "serial 1", "renewed       by this node", "issued        at index 1", "project       p")
	tok := mustCall(t, exitDone, "agent", "token", "research", "--for", "http", "--data", dir)
	text := strings.TrimSpace(tok.out)
	if len(text) != 47 || strings.Contains(tok.err, text) {
		t.Errorf("token: %s", tok)
	}
	shown := mustCall(t, exitDone, "agent", "show", "--data", dir, "research")
	saysAll(t, shown, "token         "+text[:12]+"…  for http")
	if strings.Contains(shown.out, text[12:]) {
		t.Errorf("the token is shown: %s", shown)
	}
	mustCall(t, exitDone, "agent", "token", "--revoke", text[:12], "--data", dir)
	saysAll(t, mustCall(t, exitFailed, "agent", "token", "--revoke", text[:12], "--data", dir), "no token begins", "hint: ")
	var r httpapi.AgentRevoked
	mustCall(t, exitDone, "agent", "revoke", "research", "--reason", "key_compromise", "--taint-from", "0", "--json", "--data", dir).into(t, &r)
	if r.Reason != "key_compromise" || r.Index == nil || *r.Index != 2 || r.Name != "research" {
		t.Errorf("got %+v", r)
	}
	saysAll(t, mustCall(t, exitDone, "agent", "list", "--data", dir), "research ", "revoked")
	saysAll(t, mustCall(t, exitDone, "agent", "show", "research", "--data", dir), "state         revoked", "agent research of solo.example was revoked at index 2 of its log (key_compromise)\n", "hint: trustnode agent add --name research")
	saysAll(t, mustCall(t, exitRefused, "agent", "token", "research", "--for", "http", "--data", dir), "was revoked", "hint: ")
	var again httpapi.Agent
	mustCall(t, exitDone, "agent", "add", "--name", "research", "--can", "lend", "--json", "--data", dir).into(t, &again)
	if again.Serial != 2 || again.State != "live" {
		t.Errorf("added again: %+v", again)
	}
	saysAll(t, mustCall(t, exitFailed, "agent", "add", "research", "--can", "lend", "--data", dir), "agent research exists", "hint: ")
	saysAll(t, mustCall(t, exitUsage, "agent", "add", "x", "--can", "approve", "--data", dir), "only a person may approve", "hint: an agent can: ")
	saysAll(t, mustCall(t, exitFailed, "agent", "show", "ghost", "--data", dir), "ghost", "hint: ")
	for _, args := range []string{"agent token", "agent token a", "agent token a --revoke tn1_AAAAAAAA", "agent show", "agent revoke", "agent add", "agent add a --name b", "agent add a --draft f", "agent add a --for d --draft f --request f", "agent request", "agent request a b --key-dir d"} {
		if a := call(append(strings.Fields(args), "--data", dir)...); a.code != exitUsage || !strings.Contains(a.err, "hint: ") {
			t.Errorf("%s", a)
		}
	}
}

// An agent builder without a node of the organization: a key of its own, a draft, a file.
func TestAgentOfAnotherHand(t *testing.T) {
	dir, at := home(t), t.TempDir()
	t.Setenv("TRUSTNODE_PERSON_PASSPHRASE", "a builder's own")
	keys, draft, file := filepath.Join(at, "keys"), filepath.Join(at, "draft"), filepath.Join(at, "request")
	did := strings.TrimSpace(mustCall(t, exitDone, "agent", "request", "--key-dir", keys).out)
	if again := strings.TrimSpace(mustCall(t, exitDone, "agent", "request", "--key-dir", keys).out); again != did || !strings.HasPrefix(did, "did:key:z6Mk") {
		t.Fatalf("the key is %s, then %s", did, again)
	}
	saysAll(t, mustCall(t, exitDone, "agent", "add", "billing", "--can", "borrow", "--for", did, "--draft", draft, "--data", dir), "draft of billing for "+did)
	saysAll(t, mustCall(t, exitDone, "agent", "list", "--data", dir), "no agents")
	saysAll(t, mustCall(t, exitDone, "agent", "request", draft, "--key-dir", keys, "-o", file), "signed: "+did+" acts for solo.example[", "as agent billing")
	// The file alone grants nothing, and says how to grant it.
	a := mustCall(t, exitRefused, "agent", "add", "--request", file, "--data", dir)
	saysAll(t, a, "the file asks for: "+did+", agent billing, can borrow", "hint: to grant that, say it: trustnode agent add billing --can borrow --for "+did+" --request FILE")
	saysAll(t, mustCall(t, exitRefused, "agent", "add", "billing", "--can", "lend", "--for", did, "--request", file, "--data", dir), "capabilities borrow, you for lend", "hint: ")
	saysAll(t, mustCall(t, exitDone, "agent", "add", "billing", "--can", "borrow", "--for", did, "--request", file, "--data", dir), "billing  "+did)
	saysAll(t, mustCall(t, exitFailed, "agent", "add", "billing", "--can", "borrow", "--for", did, "--request", file, "--data", dir), "exists")
	// A second builder's key is not in the first one's store.
	other := filepath.Join(at, "other")
	mustCall(t, exitDone, "agent", "request", "--key-dir", other)
	saysAll(t, mustCall(t, exitRefused, "agent", "request", draft, "--key-dir", other), "whose key is not in", "hint: ")
	saysAll(t, mustCall(t, exitFailed, "agent", "request", filepath.Join(dir, "config.toml"), "--key-dir", keys), "hint: a draft comes from")
	saysAll(t, mustCall(t, exitFailed, "agent", "request", draft, "--key-dir", filepath.Join(at, "none")), "no key store", "hint: ")
	t.Setenv("TRUSTNODE_PERSON_PASSPHRASE", "a wrong one")
	saysAll(t, mustCall(t, exitRefused, "agent", "request", draft, "--key-dir", keys), "passphrase does not open", "hint: ")
	t.Setenv("TRUSTNODE_PERSON_PASSPHRASE", "")
	saysAll(t, mustCall(t, exitRefused, "agent", "request", draft, "--key-dir", keys), "no passphrase", "hint: set TRUSTNODE_PERSON_PASSPHRASE")
}

// A person's key is the person's: the node does not have it, and cannot open it.
func TestPersonOfThisNode(t *testing.T) {
	dir := home(t)
	people := filepath.Join(dir, "keys", "people", "ines")
	count := func() int {
		l, err := filepath.Glob(filepath.Join(people, "*.key"))
		if err != nil {
			t.Fatal(err)
		}
		return len(l)
	}
	nodes, err := filepath.Glob(filepath.Join(dir, "keys", "*.key"))
	if err != nil {
		t.Fatal(err)
	}
	add := []string{"agent", "add", "ines", "--kind", "human", "--can", "approve", "--can", "lend", "--data", dir, "--json"}
	saysAll(t, mustCall(t, exitRefused, add...), "no passphrase", "TRUSTNODE_PERSON_PASSPHRASE")
	t.Setenv("TRUSTNODE_PERSON_PASSPHRASE", "short")
	saysAll(t, mustCall(t, exitFailed, add...), "8 are needed")
	t.Setenv("TRUSTNODE_PERSON_PASSPHRASE", "ines's own words")
	var a, b httpapi.Agent
	mustCall(t, exitDone, add...).into(t, &a)
	if a.Kind != "human" || strings.Join(a.Can, ",") != "approve,lend" || count() != 1 {
		t.Errorf("got %+v, %d keys", a, count())
	}
	if st, err := os.Stat(people); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%s: %v, %v", people, st, err)
	}
	if after, _ := filepath.Glob(filepath.Join(dir, "keys", "*.key")); len(after) != len(nodes) {
		t.Errorf("the node has %d keys, it had %d", len(after), len(nodes))
	}
	saysAll(t, mustCall(t, exitDone, "agent", "list", "--data", dir), "(person)")
	saysAll(t, mustCall(t, exitRefused, "agent", "token", "ines", "--for", "http", "--data", dir), "not held here")
	mustCall(t, exitDone, "agent", "revoke", "ines", "--data", dir)
	// After a revocation the same person signs with another key, and the old one is gone.
	t.Setenv("TRUSTNODE_PERSON_PASSPHRASE", "somebody else's")
	saysAll(t, mustCall(t, exitRefused, add...), "passphrase does not open")
	t.Setenv("TRUSTNODE_PERSON_PASSPHRASE", "ines's own words")
	mustCall(t, exitDone, add...).into(t, &b)
	if b.DID == a.DID || b.Serial != 2 || count() != 1 {
		t.Errorf("got %+v after %+v, %d keys", b, a, count())
	}
	for _, name := range []string{"../../x", "Ines", "a/b", ""} {
		if c := call("agent", "add", "--kind", "human", "--can", "lend", "--data", dir, "--", name); c.code != exitFailed && c.code != exitUsage {
			t.Errorf("%s", c)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
		t.Error("a handle named a place outside keys/people")
	}
	var p fault.Problem
	mustCall(t, exitFailed, append(add, "--display", strings.Repeat("x", 65))...).into(t, &p)
	if p.Code != fault.Conflict {
		t.Errorf("a name in use: %+v", p)
	}
}
