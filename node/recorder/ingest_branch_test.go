package recorder_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// branchKept are the entries that n keeps of another branch of a log.
func (n *node) branchKept(t *testing.T, d did.DID) (out []attestation.Entry) {
	t.Helper()
	err := n.events.BranchEntries(context.Background(), d, func(_ uint64, en attestation.Entry) error { out = append(out, en); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// lacks wants n to ask for a branch from an index on; -1 for not at all.
func (n *node) lacks(t *testing.T, f *forged, want int) {
	t.Helper()
	theirs := f.head(t, f.p.keys[0], len(f.entries)).Head
	from, ok, err := n.Lacks(context.Background(), f.p.did, theirs)
	if err != nil || ok != (want >= 0) || ok && from != uint64(want) {
		t.Fatalf("it lacks what is from %d on, %v, %v; want %d", from, ok, err, want)
	}
}

// parted is a node that holds ours and knows by heads and ranges alone that other parts from it.
func parted(t *testing.T, ours, other *forged) *node {
	t.Helper()
	n, k, size := listener(t, knows(ours.p, newParty("beta", 0x21)), newParty("beta", 0x21)), ours.p.keys[0], len(ours.entries)
	for from := 0; from < size; from += attestation.MaxBatch {
		ingest(t, n, ours.pack(t, k, from, min(size, from+attestation.MaxBatch), size))
	}
	n.lacks(t, other, -1)
	asked, size := 0, len(other.entries)
	if res, _ := n.Part(context.Background(), ours.p.did, other.head(t, k, size).Bytes(), other.ranges(t, size, &asked)); res.Verdict != recorder.Forked {
		t.Fatal(res.Verdict)
	}
	return n
}

// TestABranchComesLineByLine: the other branch of a fork that heads have proven is kept as its
// holder gives it, whatever the sizes, across a restart, and where lines come again or overlap.
func TestABranchComesLineByLine(t *testing.T) {
	ctx := context.Background()
	for _, held := range []int{8, 400, 605, 700} {
		t.Run(fmt.Sprint(held), func(t *testing.T) {
			acme := newParty("acme", 0x11)
			ours, other := branched(t, acme, 5, held, 605)
			n, k := parted(t, ours, other), acme.keys[0]
			show := func(from, to, kept int) {
				t.Helper()
				if res, _ := n.Ingest(ctx, other.pack(t, k, from, to, 605)); res.Verdict != recorder.Forked {
					t.Errorf("[%d, %d): %s", from, to, res.Verdict)
				}
				if got := n.branchKept(t, acme.did); !slices.EqualFunc(got, other.entries[5:kept], slices.Equal) {
					t.Fatalf("[%d, %d): %d entries are kept, want %d", from, to, len(got), kept-5)
				}
			}
			n.lacks(t, other, 5)
			show(5, 256, 256)
			n.lacks(t, other, 256)
			show(256, 400, 400)
			n.start(t)
			n.lacks(t, other, 400)
			show(100, 300, 400)
			show(300, 400, 400)
			show(300, 512, 512)
			show(512, 605, 605)
			n.lacks(t, other, -1)
			show(512, 605, 605)
			if got := n.entries(t, acme.did); len(got) != held {
				t.Errorf("%d entries are held", len(got))
			}
			if at, forked, err := n.PartedAt(ctx, acme.did); at != 5 || !forked || err != nil {
				t.Errorf("parted at %d, %v, %v", at, forked, err)
			}
		})
	}
}

// TestABranchIsOne: what leaves a hole, is of a third branch, is not under the root, or is not
// under a note of the log's key adds nothing to the branch that is kept.
func TestABranchIsOne(t *testing.T) {
	ctx := context.Background()
	for _, held := range []int{8, 700} {
		acme, eve := newParty("acme", 0x11), newParty("eve", 0x66)
		ours, other := branched(t, acme, 5, held, 605)
		_, third := branched(t, acme, 5, 5, 5)
		for i := range 600 {
			third.charter(t, acme.keys[0], 2000+i)
		}
		n, k := parted(t, ours, other), acme.keys[0]
		if res, _ := n.Ingest(ctx, other.pack(t, k, 5, 256, 605)); res.Verdict != recorder.Forked {
			t.Fatal(res.Verdict)
		}
		rest := other.pack(t, k, 256, 512, 605)
		rest.Rest[0][3] ^= 1
		wrong := other.pack(t, k, 256, 512, 605)
		wrong.Entries = slices.Clone(wrong.Entries)
		wrong.Entries[7] = third.entries[7]
		for name, c := range map[string]struct {
			p     attestation.Package
			above recorder.Verdict // where the note is above what is held
		}{
			"a hole":                         {other.pack(t, k, 300, 512, 605), recorder.Behind},
			"a third branch":                 {third.pack(t, k, 256, 512, 605), recorder.Behind},
			"a third branch that overlaps":   {third.pack(t, k, 100, 300, 605), recorder.Behind},
			"a third branch where all is":    {third.pack(t, k, 100, 200, 605), recorder.Behind},
			"what both branches have":        {other.pack(t, k, 0, 5, 605), recorder.Behind},
			"a third branch from its start":  {third.pack(t, k, 5, 261, 605), recorder.Forked},
			"another rest":                   {rest, recorder.Behind},
			"an entry changed":               {wrong, recorder.Behind},
			"left of neither below the held": {third.pack(t, k, 7, 256, 605), recorder.Rejected},
			"under the key of somebody else": {other.pack(t, eve.keys[0], 256, 512, 605), recorder.Behind},
		} {
			want := c.above
			if held > 605 {
				want = recorder.Forked // its head alone says so
				if name == "under the key of somebody else" {
					want = recorder.Rejected
				}
			}
			if res, _ := n.Ingest(ctx, c.p); res.Verdict != want {
				t.Errorf("%d held, %s: %s, want %s", held, name, res.Verdict, want)
			}
			if got := n.branchKept(t, acme.did); !slices.EqualFunc(got, other.entries[5:256], slices.Equal) {
				t.Fatalf("%d held, %s: %d entries are kept", held, name, len(got))
			}
		}
		longer := long(t, acme, held+20)
		if res, err := n.Ingest(ctx, longer.pack(t, k, 0, 7, held+20)); res.Verdict != recorder.Behind || err != nil {
			t.Errorf("%d held, the held log again, under a later head: %s, %v", held, res.Verdict, err)
		}
		ingest(t, n, longer.pack(t, k, held, held+20, held+20))
	}
}

// TestARetiredKeyPutsNoBranch: who stole a retired key cannot fill the place of the branch of
// a log that has forked.
func TestARetiredKeyPutsNoBranch(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	old, next := acme.keys[0], seeded(0x15)
	acme.keys = append(acme.keys, next)
	ours, other, thief := long(t, acme, 4), long(t, acme, 4), long(t, acme, 3)
	thief.charter(t, old, 99)
	for _, f := range []*forged{ours, other} {
		f.rotated(t, next, 1, "scheduled", nil)
	}
	ours.charter(t, next, 5)
	other.charter(t, next, 105)
	n := listener(t, knows(acme, beta), beta)
	ingest(t, n, ours.pack(t, next, 0, 6, 6))
	asked, ctx := 0, context.Background()
	if res, _ := n.Part(ctx, acme.did, other.head(t, next, 6).Bytes(), other.ranges(t, 6, &asked)); res.Verdict != recorder.Forked || !n.Forked(acme.did) {
		t.Fatal(res.Verdict)
	}
	_, _ = n.Ingest(ctx, thief.pack(t, old, 0, 4, 4))
	if got := n.branchKept(t, acme.did); len(got) != 0 {
		t.Errorf("%d entries of a thief are kept", len(got))
	}
	_, _ = n.Ingest(ctx, other.pack(t, next, 5, 6, 6))
	if got := n.branchKept(t, acme.did); len(got) != 1 {
		t.Errorf("%d entries of the branch are kept", len(got))
	}
}

// TestABranchIsBounded: of a branch that goes on and on as much is kept as fits, and no more is
// asked for, not even after a restart.
func TestABranchIsBounded(t *testing.T) {
	acme, ctx := newParty("acme", 0x11), context.Background()
	ours, other := branched(t, acme, 5, 8, 5)
	k := acme.keys[0]
	for i := range 1024 {
		body := make([]byte, attestation.MaxEntry-65)
		body[0] = byte(i)
		other.raw(k, body)
	}
	for i := range 20 {
		other.charter(t, k, i)
	}
	n, size := parted(t, ours, other), len(other.entries)
	for from := 5; from < size; from += 200 {
		if res, err := n.Ingest(ctx, other.pack(t, k, from, min(size, from+200), size)); from < 1000 && res.Verdict != recorder.Forked {
			t.Fatal(from, res.Verdict, err)
		}
	}
	for range 2 {
		b, err := n.events.Branch(ctx, acme.did)
		if err != nil || !b.Full() || b.Bytes > store.MaxBranch || b.To < 5+1024 {
			t.Errorf("%d bytes are kept, up to %d, %v", b.Bytes, b.To, err)
		}
		n.lacks(t, other, -1)
		n.start(t)
	}
}
