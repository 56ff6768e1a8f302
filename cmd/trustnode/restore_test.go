package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// putBack replaces parts of a stopped organization's directory by those of a copy.
func (f *folk) putBack(copied, org string, parts ...string) {
	f.t.Helper()
	for _, p := range parts {
		if err := os.RemoveAll(filepath.Join(f.dir, org, p)); err != nil {
			f.t.Fatal(err)
		}
		f.copyDir(filepath.Join(copied, p), filepath.Join(org, p))
	}
}

// TestAnOldCopyComesBack: acme's disk dies after two rotations and a copy from before them
// takes its place: either database, both, or the whole directory with its keys. The
// node says where it stands, signs nothing, and fetches its own DID log and event log from
// peers. Whose keys are gone makes another by the recovery key. Then all goes on, and no
// event of it fails to count at the others.
func TestAnOldCopyComesBack(t *testing.T) {
	for name, parts := range map[string][]string{
		"state": {"state"}, "log": {"audit"}, "databases": {"state", "audit"}, "whole": {"state", "audit", "pins", "keys", "update-keys"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolk(t)
			f.found()
			f.join()
			f.up()
			f.must("did", "witness", "set", "--data", "acme", "--json")
			acme := f.show("acme", "self")
			f.until("the vendor has the entry that names it a witness", func() bool { return f.show("vendor", acme.DID).Version == acme.Version })
			f.stop("acme")
			f.copyDir("acme", "copy")
			f.start("acme")
			f.must("status", "--data", "acme", "--wait", "fresh", "--json")
			f.must("did", "rotate", "--data", "acme", "--json")
			f.must("agent", "add", "--data", "acme", "first", "--can", "lend", "--json")
			f.must("did", "rotate", "--data", "acme", "--json")
			last, own := f.show("acme", "self"), f.eventsOf("acme", acme.DID)
			f.until("the vendor has all of it", func() bool {
				return f.show("vendor", acme.DID).Version == last.Version && len(f.eventsOf("vendor", acme.DID)) == len(own)
			})
			f.kill("acme")
			f.stop("vendor")
			f.stop("arbiter")
			f.putBack("copy", "acme", parts...)
			whole := slices.Contains(parts, "pins")
			if slices.Contains(parts, "state") && !whole {
				f.saysItIsBehind()
			}
			f.start("acme")
			f.start("vendor")
			f.start("arbiter")
			f.must("status", "--data", "acme", "--wait", "fresh", "--json")
			if got := f.show("acme", "self"); got.Version != last.Version {
				t.Errorf("acme is at %s, was at %s", got.Version, last.Version)
			}
			if whole {
				f.makesAnotherKey()
			}
			f.must("agent", "add", "--data", "acme", "second", "--can", "lend", "--json")
			f.must("did", "rotate", "--data", "acme", "--json")
			own = f.eventsOf("acme", acme.DID)
			for _, at := range []string{"vendor", "arbiter"} {
				f.until("all of acme's log at "+at, func() bool { return len(f.eventsOf(at, acme.DID)) == len(own) })
				f.checkPast(at, acme.DID, own)
			}
			f.stop("acme")
			f.start("acme")
			f.must("status", "--data", "acme", "--wait", "fresh", "--json")
		})
	}
}

// saysItIsBehind wants acme, which does not run, to say where state and pins stand.
func (f *folk) saysItIsBehind() {
	f.t.Helper()
	const lacks, hint = "recovering: state has entry 2 of our DID, pins name 4; signing is off", "trustnode run fetches it from peers; or restore a newer backup"
	for _, verb := range [][]string{
		{"did", "show", "--data", "acme"}, {"did", "rotate", "--data", "acme"}, {"agent", "add", "--data", "acme", "late", "--can", "lend"},
	} {
		if a := f.try(verb...); a.code != exitRefused || !strings.Contains(a.err, lacks) || !strings.Contains(a.err, "hint: "+hint) {
			f.t.Errorf("%s", a)
		}
	}
	for _, verb := range [][]string{{"status", "--data", "acme"}, {"doctor", "--data", "acme"}} {
		if a := f.try(verb...); !strings.Contains(a.out, lacks) {
			f.t.Errorf("%s", a)
		}
	}
}

// makesAnotherKey wants acme to say that its issuer key is gone, and to rotate to another by
// the recovery key, since its update keys are of before too.
func (f *folk) makesAnotherKey() {
	f.t.Helper()
	if a := f.try("agent", "add", "--data", "acme", "late", "--can", "lend"); a.code != exitRefused || !strings.Contains(a.err, "did rotate --reason lost") {
		f.t.Errorf("%s", a)
	}
	if a := f.try("doctor", "--data", "acme"); !strings.Contains(a.out, "did rotate --reason lost") {
		f.t.Errorf("%s", a)
	}
	f.stop("acme") // it starts without that key as well
	f.start("acme")
	f.must("status", "--data", "acme", "--wait", "fresh", "--json")
	if a := f.try("did", "rotate", "--data", "acme", "--reason", "lost"); a.code == exitDone || !strings.Contains(a.err, "--recovery") {
		f.t.Errorf("%s", a)
	}
	if a := f.with([]string{"TRUSTNODE_RECOVERY_KEY=" + f.recovery["acme"]}, "did", "rotate", "--data", "acme", "--recovery", "--reason", "lost", "--json"); a.code != exitDone {
		f.t.Fatalf("%s", a)
	}
}
