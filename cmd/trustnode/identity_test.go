package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trustnode/node/httpapi"
)

// with runs a verb with more in its environment.
func (f *folk) with(env []string, args ...string) answer {
	f.t.Helper()
	cmd := f.command(args...)
	cmd.Env = append(cmd.Env, env...)
	var out, err strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &err
	_ = cmd.Run()
	return answer{args, cmd.ProcessState.ExitCode(), out.String(), err.String()}
}

// eventsOf are the events of one log as an organization's node holds them, by index.
func (f *folk) eventsOf(at, org string) []httpapi.Event {
	f.t.Helper()
	var all httpapi.Events
	f.must("event", "list", "--data", at, "--org", org, "--any", "--limit", "1000", "--json").into(f.t, &all)
	return all.Events
}

func (f *folk) show(at, who string) httpapi.Identity {
	f.t.Helper()
	var d httpapi.Identity
	f.must("did", "show", "--data", at, "--json", who).into(f.t, &d)
	return d
}

// until waits for something that gossip brings.
func (f *folk) until(what string, so func() bool) {
	f.t.Helper()
	for end := time.Now().Add(40 * time.Second); !so(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("in 40 s not: %s", what)
		}
	}
}

// TestAnIdentityOutlivesItsServers: acme rotates, is robbed, loses its update keys and
// recovers, while the arbiter is away. Then acme's servers are gone for good. The arbiter
// comes back and verifies all of acme's past, old and new, from what the vendor kept.
func TestAnIdentityOutlivesItsServers(t *testing.T) {
	f := newFolk(t)
	f.found()
	f.join()
	f.up()
	f.must("did", "witness", "set", "--data", "acme", "--json")
	acme := f.show("acme", "self")
	for args, code := range map[string]int{"--threshold 3": exitUsage, "": exitFailed} { // of two; and those that are set
		if a := f.try(append([]string{"did", "witness", "set", "--data", "acme"}, strings.Fields(args)...)...); a.code != code || !strings.Contains(a.err, "hint: ") {
			t.Errorf("%s", a)
		}
	}
	f.until("the arbiter has the entry that names it a witness", func() bool { return f.show("arbiter", acme.DID).Version == acme.Version })
	f.stop("arbiter")

	f.must("agent", "add", "--data", "acme", "first", "--can", "lend", "--json")
	f.must("did", "rotate", "--data", "acme", "--json")
	before := f.eventsOf("acme", acme.DID)
	sure := before[len(before)-1].Index
	f.must("agent", "add", "--data", "acme", "second", "--can", "lend", "--json")
	f.must("did", "rotate", "--data", "acme", "--reason", "compromise", "--taint-from", fmt.Sprint(sure), "--json")

	// The medium with the update keys is lost: the recovery key signs, from paper.
	if err := os.Rename(filepath.Join(f.dir, "acme", "update-keys"), filepath.Join(f.dir, "lost")); err != nil {
		t.Fatal(err)
	}
	if a := f.try("did", "rotate", "--data", "acme"); a.code == exitDone || !strings.Contains(a.err, "--recovery") {
		t.Fatalf("without update keys: %s", a)
	}
	a := f.with([]string{"TRUSTNODE_RECOVERY_KEY=" + f.recovery["acme"]}, "did", "rotate", "--data", "acme", "--recovery", "--reason", "lost", "--json")
	if a.code != exitDone || !strings.Contains(a.err, "new recovery key   rec1-") {
		t.Fatalf("recovery: %s", a)
	}
	if a := f.with([]string{"TRUSTNODE_RECOVERY_KEY=" + f.recovery["acme"]}, "did", "rotate", "--data", "acme", "--recovery", "--reason", "lost"); a.code != exitRefused {
		t.Errorf("the spent recovery key again: %s", a)
	}
	f.must("agent", "add", "--data", "acme", "third", "--can", "lend", "--json")

	own, last := f.eventsOf("acme", acme.DID), f.show("acme", "self")
	roles := map[string]int{}
	for _, k := range last.History {
		roles[k.Role]++
	}
	if n := number(last.Version); n != "5" || len(last.History) != 5 || roles["issuer"] != 4 || roles["witness"] != 1 {
		t.Errorf("acme is at %s with %v", last.Version, roles)
	}
	f.until("the vendor holds all of it", func() bool {
		return len(f.eventsOf("vendor", acme.DID)) == len(own) && f.show("vendor", acme.DID).Version == last.Version
	})
	f.kill("acme")
	if err := os.RemoveAll(filepath.Join(f.dir, "acme")); err != nil {
		t.Fatal(err)
	}
	f.stop("vendor") // it verifies everything again from the bytes it kept
	f.start("vendor")
	f.start("arbiter")
	f.until("the arbiter holds all of it", func() bool {
		return len(f.eventsOf("arbiter", acme.DID)) == len(own) && f.show("arbiter", acme.DID).Version == last.Version
	})
	for _, at := range []string{"vendor", "arbiter"} {
		f.checkPast(at, acme.DID, own)
	}
	got, want := f.show("arbiter", acme.DID), last
	if fmt.Sprint(spansOf(got)) != fmt.Sprint(spansOf(want)) || got.Fingerprint != want.Fingerprint {
		t.Errorf("the arbiter shows\n%v\nacme showed\n%v", spansOf(got), spansOf(want))
	}
}

func spansOf(d httpapi.Identity) (out []string) {
	for _, k := range d.History {
		from, until := "-", "-"
		if k.FromIndex != nil {
			from = fmt.Sprint(*k.FromIndex)
		}
		if k.UntilIdx != nil {
			until = fmt.Sprint(*k.UntilIdx)
		}
		out = append(out, fmt.Sprintf("%s %s %s-%s", k.Key, k.Role, from, until))
	}
	return out
}

// checkPast wants every event of acme's to count at another member: those that the
// compromise put in doubt were cosigned before it was announced.
func (f *folk) checkPast(at, org string, own []httpapi.Event) {
	f.t.Helper()
	held := map[uint64]httpapi.Event{}
	for _, e := range f.eventsOf(at, org) {
		held[e.Index] = e
	}
	for _, e := range own {
		got, ok := held[e.Index]
		if !ok || got.ID != e.ID || got.Standing != "valid" {
			f.t.Errorf("%s holds index %d (%s) as %+v", at, e.Index, e.Says().Type, got)
		}
	}
}

// The witnesses do not answer: the entry is carried to one, whose operator sees what is signed, and its proof is carried back.
func TestAProofIsCarriedByHand(t *testing.T) {
	f := newFolk(t)
	f.found()
	f.join()
	f.up()
	f.must("did", "witness", "set", "--data", "acme", "--json")
	acme := f.show("acme", "self")
	f.until("the vendor has the entry that names it a witness", func() bool { return f.show("vendor", acme.DID).Version == acme.Version })
	f.stop("arbiter")
	f.stop("vendor")
	if a := f.try("did", "rotate", "--data", "acme", "--role", "update", "--wait", "0"); a.code != exitRefused || !strings.Contains(a.err, "vendor.example has not answered for ") {
		t.Fatalf("without witnesses: %s", a)
	}
	entry, proof := filepath.Join(f.dir, "entry.json"), filepath.Join(f.dir, "proof.json")
	const what = "acme.example: replaces the update key, which writes entries and signs nothing else, by z6Mk"
	if a := f.must("did", "witness", "request", "--data", "acme", "-o", entry); !strings.Contains(a.out, what) || !strings.Contains(a.out, "did witness sign "+entry) {
		t.Errorf("what is asked for is not said: %s", a)
	}
	if a := f.must("did", "witness", "request", "--data", "acme"); !strings.Contains(a.err, what) || strings.Contains(a.out, what) {
		t.Errorf("a file on standard output, and words in it: %s", a)
	}
	if a := f.must("did", "witness", "sign", "--data", "vendor", entry, "-o", proof); !strings.Contains(a.out, what) || !strings.Contains(a.out, "did rotate --resume --proof "+proof) {
		t.Errorf("what was signed is not said: %s", a)
	}
	b, err := os.ReadFile(proof)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(f.dir, "other.json")
	if err := os.WriteFile(other, []byte(strings.Replace(string(b), `"id":"3-`, `"id":"2-`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if a := f.try("did", "rotate", "--data", "acme", "--resume", "--proof", other); a.code != exitFailed || !strings.Contains(a.err, "the proof is for entry 2-") {
		t.Errorf("a proof for another entry: %s", a)
	}
	f.must("did", "rotate", "--data", "acme", "--resume", "--proof", proof)
	if got := f.show("acme", "acme.example"); number(got.Version) != "3" {
		t.Errorf("acme is at %s", got.Version)
	}
	for _, name := range []string{"nobody.example", "nobody"} {
		if a := f.try("did", "show", "--data", "acme", name); a.code != exitFailed || !strings.Contains(a.err, "no organization held here has that name or domain") {
			t.Errorf("what nobody goes by: %s", a)
		}
	}
	if a := f.try("did", "show", "--data", "acme", "did:web"); a.code != exitUsage {
		t.Errorf("no DID: %s", a)
	}
}
