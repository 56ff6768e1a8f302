package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"trustnode/node/httpapi"
)

var aRecoveryKey = regexp.MustCompile(`rec1-[a-z0-9-]+`)

// lone is home with the recovery key that init showed.
func lone(t *testing.T) (dir, recovery string) {
	t.Helper()
	freshPassphrases(t)
	t.Setenv("TRUSTNODE_PASSPHRASE", testPassphrase)
	dir = filepath.Join(t.TempDir(), "solo")
	a := call("init", "--data", dir, "--name", "Solo", "--domain", "solo.example", "--http", "127.0.0.1:0", "--p2p", "/ip4/127.0.0.1/tcp/0")
	if a.code != exitDone {
		t.Fatal(a)
	}
	return dir, aRecoveryKey.FindString(a.out + a.err)
}

// A recovery key is checked before a new one is shown, and before any passphrase is asked
// for; a refusal changes neither the place of the update keys nor anything there.
func TestTheRecoveryKeyIsCheckedFirst(t *testing.T) {
	dir, own := lone(t)
	_, others := lone(t)
	next := filepath.Join(t.TempDir(), "next")
	recover := func(key string) answer {
		t.Helper()
		t.Setenv("TRUSTNODE_RECOVERY_KEY", key)
		return call("did", "rotate", "--data", dir, "--recovery", "--reason", "lost", "--update-keys", next)
	}
	refuses := func(name, key string, code int, want string) {
		t.Helper()
		a := recover(key)
		if a.code != code || !strings.Contains(a.err, want) || strings.Contains(a.err, "new recovery key") || strings.Contains(a.err, "rec1-") && !strings.Contains(a.err, "begins with rec1-") {
			t.Errorf("%s: %s", name, a)
		}
	}
	refuses("none", "", exitRefused, "no recovery key given\nhint: set TRUSTNODE_RECOVERY_KEY")
	refuses("no key at all", "rec1-abcd", exitFailed, "begins with rec1-")
	refuses("another organization's", others, exitRefused, "does not commit to this recovery key")
	if _, err := os.Stat(next); !os.IsNotExist(err) {
		t.Errorf("a refusal left %s: %v", next, err)
	}
	if a := call("doctor", "--data", dir); !strings.Contains(a.out, "lies in the data directory") {
		t.Errorf("%s", a)
	}
	if a := call("did", "rotate", "--data", dir); a.code != exitDone { // with the update key of init
		t.Fatal(a)
	}
	t.Setenv("TRUSTNODE_UPDATE_PASSPHRASE", "battery-staple")
	a := recover(own)
	if a.code != exitDone || !strings.Contains(a.err, "new recovery key   rec1-") {
		t.Fatal(a)
	}
	if d := call("doctor", "--data", dir); !strings.Contains(d.out, "kept apart in "+next+"\n") {
		t.Errorf("%s", d)
	}
	refuses("a spent one", own, exitRefused, "does not commit to this recovery key")
	if b := recover(aRecoveryKey.FindString(a.err)); b.code != exitDone {
		t.Errorf("the one that was shown: %s", b)
	}
}

// A store of update keys that was moved to a medium is missed where it was, found where it
// is, and opens with the node's passphrase if it was made with that.
func TestMovedUpdateKeys(t *testing.T) {
	dir, _ := lone(t)
	usb := t.TempDir()
	place := filepath.Join(usb, "x")
	doctor := func(want string) {
		t.Helper()
		if a := call("doctor", "--data", dir); !strings.Contains(a.out, want) {
			t.Errorf("want %q, got %s", want, a)
		}
	}
	if err := os.Rename(filepath.Join(dir, "update-keys"), place); err != nil {
		t.Fatal(err)
	}
	doctor("the key of the next DID entry is not in " + filepath.Join(dir, "update-keys"))
	for _, args := range [][]string{{}, {"--update-keys", filepath.Join(usb, "typo")}} {
		a := call(append([]string{"did", "rotate", "--data", dir}, args...)...)
		if a.code != exitFailed || !strings.Contains(a.err, "not found: no key store in ") || strings.Contains(a.err, "PASSPHRASE") {
			t.Errorf("%q: %s", args, a)
		}
	}
	if a := call("did", "rotate", "--data", dir, "--update-keys", place); a.code != exitDone {
		t.Fatal(a)
	}
	doctor("ok    update keys: kept apart in " + place + "\n")
	if a := call("did", "rotate", "--data", dir); a.code != exitDone { // it is remembered
		t.Error(a)
	}
	if err := os.Rename(place, filepath.Join(usb, "y")); err != nil {
		t.Fatal(err)
	}
	doctor("which is not mounted now, as it should be")
	if err := os.Mkdir(place, 0o700); err != nil {
		t.Fatal(err)
	}
	doctor("warn  update keys: " + place + " holds no key store now")
}

// A compromise says what is in doubt and what came of the own agents.
func TestACompromiseSaysWhatItDid(t *testing.T) {
	dir, _ := lone(t)
	if a := call("agent", "add", "billing", "--data", dir, "--can", "lend"); a.code != exitDone {
		t.Fatal(a)
	}
	if a := call("did", "rotate", "--data", dir, "--reason", "compromise"); a.code != exitDone || !strings.Contains(a.out, "in doubt     nothing: without --taint-from") || strings.Contains(a.out, "issued anew") {
		t.Errorf("%s", a)
	}
	a := call("did", "rotate", "--data", dir, "--reason", "compromise", "--taint-from", "0")
	for _, want := range []string{"own events above index 0", "issued anew  agent billing", "agent revoke NAME"} {
		if !strings.Contains(a.out, want) {
			t.Errorf("want %q, got %s", want, a)
		}
	}
	var e httpapi.EntryState
	a = call("did", "rotate", "--data", dir, "--reason", "compromise", "--taint-from", "0", "--json")
	if err := json.Unmarshal([]byte(a.out), &e); err != nil || e.Reason != "compromise" || e.TaintFrom == nil || *e.TaintFrom != 0 || strings.Join(e.Reissued, " ") != "billing" || e.Ended != nil {
		t.Errorf("%v: %s", err, a)
	}
}

// What an ended DID cannot do is refused for that.
func TestAnEndedDID(t *testing.T) {
	dir, _ := lone(t)
	var st struct{ Org string }
	call("status", "--data", dir, "--json").into(t, &st)
	if a := call("did", "deactivate", "--data", dir, "--yes", st.Org); a.code != exitDone {
		t.Fatal(a)
	}
	for _, args := range []string{"agent add late --can lend", "did rotate", "did witness set --none"} {
		if a := call(append(strings.Fields(args), "--data", dir)...); a.code != exitRefused || !strings.Contains(a.err, "refused: "+st.Org) || !strings.Contains(a.err, "DID is deactivated") {
			t.Errorf("%s", a)
		}
	}
}

// The passphrase of a store that is not the node's may come from the variable of that store.
func TestOldPassphraseOfAStoreApart(t *testing.T) {
	dir, _ := lone(t)
	gov := filepath.Join(t.TempDir(), "gov")
	t.Setenv("TRUSTNODE_GOVERNANCE_PASSPHRASE", "governance-horse")
	if a := call("did", "rotate", "--data", dir, "--role", "governance", "--governance-keys", gov); a.code != exitDone {
		t.Fatal(a)
	}
	t.Setenv("TRUSTNODE_NEW_PASSPHRASE", "governance-mule")
	for range 2 { // the second finds it done
		if a := call("passphrase", "--of", gov); a.code != exitDone {
			t.Errorf("%s", a)
		}
	}
	t.Setenv("TRUSTNODE_GOVERNANCE_PASSPHRASE", "governance-mule")
	if a := call("did", "rotate", "--data", dir, "--role", "governance", "--governance-keys", gov); a.code != exitDone {
		t.Errorf("%s", a)
	}
	t.Setenv("TRUSTNODE_GOVERNANCE_PASSPHRASE", "")
	t.Setenv("TRUSTNODE_NEW_PASSPHRASE", "another horse")
	if a := call("passphrase", "--data", dir); a.code != exitDone {
		t.Fatal(a)
	}
	if a := call("status", "--data", dir); a.code != exitRefused || !strings.Contains(a.err, "the one that protects them now") {
		t.Errorf("%s", a)
	}
}
