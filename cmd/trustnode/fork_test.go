package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestACopiedDirectoryForksTheDID: somebody has copied acme's directory with its update
// keys, and rotates with it where acme is not heard. When all meet, every node refuses to
// take either entry for acme's: did show exits with 3 and names both.
func TestACopiedDirectoryForksTheDID(t *testing.T) {
	f := newFolk(t)
	f.found()
	f.join()
	f.up()
	acme := f.show("acme", "self").DID
	f.stop("arbiter")
	f.stop("acme")
	if err := os.CopyFS(filepath.Join(f.dir, "robber"), os.DirFS(filepath.Join(f.dir, "acme"))); err != nil {
		t.Fatal(err)
	}
	f.start("acme")
	f.fresh("acme")
	f.must("did", "rotate", "--data", "acme", "--json")
	ours := f.show("acme", "self").Version
	f.until("the vendor has acme's entry", func() bool { return f.show("vendor", acme).Version == ours })
	f.stop("acme")
	f.stop("vendor")

	f.start("arbiter")
	f.start("robber")
	f.fresh("robber")
	f.must("did", "rotate", "--data", "robber", "--json")
	theirs := f.show("robber", "self").Version
	f.until("the arbiter has the other entry", func() bool { return f.show("arbiter", acme).Version == theirs })
	f.stop("robber")

	f.start("vendor")
	f.start("acme")
	for _, at := range orgs {
		var a answer
		f.until("the fork is known to "+at, func() bool { a = f.try("did", "show", "--data", at, acme); return a.code == 3 })
		for _, word := range []string{"frozen", ours, theirs} {
			if !strings.Contains(a.out, word) {
				t.Errorf("%s does not say %q: %s", at, word, a)
			}
		}
		if !strings.Contains(a.err, "frozen: two valid entries 2 for acme.example") || !strings.Contains(a.err, "hint: ") {
			t.Errorf("%s refuses otherwise: %s", at, a)
		}
	}
	for _, at := range []string{"vendor", "arbiter"} {
		f.until(at+" has logged the fork", func() bool {
			for _, e := range f.eventsOf(at, f.show(at, "self").DID) {
				if e.Says().Type == "fork.proven" {
					return true
				}
			}
			return false
		})
	}
}
