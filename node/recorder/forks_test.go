package recorder_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	attlog "trustnode/attestation/log"
	"trustnode/node/recorder"
)

// TestAForkConvincesOthers: what one node found of two branches of acme's log is proof, once
// and across a restart, at another node that has met neither the second branch nor its sender.
func TestAForkConvincesOthers(t *testing.T) {
	acme, beta, gamma := newParty("acme", 0x11), newParty("beta", 0x21), newParty("gamma", 0x31)
	ours, other := long(t, acme, 8), long(t, acme, 5)
	for i := range 7 {
		other.charter(t, acme.keys[0], 100+i)
	}
	k, ctx := acme.keys[0], context.Background()
	for name, c := range map[string]struct{ from, to, size int }{
		"same size":                 {0, 8, 8},
		"smaller":                   {0, 6, 6},
		"larger, from the start":    {0, 12, 12},
		"larger, from the parting":  {5, 12, 12},
		"larger, with what is left": {5, 8, 12},
	} {
		t.Run(name, func(t *testing.T) {
			n := listener(t, knows(acme, beta, gamma), beta)
			if _, err := n.Ingest(ctx, ours.pack(t, k, 0, 8, 8)); err != nil {
				t.Fatal(err)
			}
			if res, _ := n.Ingest(ctx, other.pack(t, k, c.from, c.to, c.size)); res.Verdict != recorder.Forked || !n.Forked(acme.did) || n.Forked(beta.did) {
				t.Fatalf("%s, forked %v", res.Verdict, n.Forked(acme.did))
			}
			if _, err := n.Ingest(ctx, other.pack(t, k, 0, 7, 7)); err == nil {
				t.Error("another head of the branch is taken")
			}
			n.start(t)
			list, err := n.Forks(ctx, acme.did)
			if err != nil || len(list) != 1 || !n.Forked(acme.did) {
				t.Fatalf("%d proofs after a restart, %v", len(list), err)
			}
			far := listener(t, knows(acme, beta, gamma), gamma)
			if fresh, err := far.TakeFork(ctx, list[0]); fresh || err != nil {
				t.Errorf("without a line of the log: %v %v", fresh, err)
			}
			if _, err := far.Ingest(ctx, ours.pack(t, k, 0, 8, 8)); err != nil {
				t.Fatal(err)
			}
			forged := list[0]
			forged.A = forged.A.With()
			forged.A.Lines[0].Sig = append([]byte(nil), forged.A.Lines[0].Sig...)
			forged.A.Lines[0].Sig[3] ^= 1
			if fresh, err := far.TakeFork(ctx, forged); fresh || err != nil || far.Forked(acme.did) {
				t.Errorf("under a false signature: %v %v", fresh, err)
			}
			for i, want := range []bool{true, false} {
				if fresh, err := far.TakeFork(ctx, list[0]); fresh != want || err != nil || !far.Forked(acme.did) {
					t.Errorf("told %d times: %v %v", i+1, fresh, err)
				}
			}
		})
	}
}

// TestARetiredKeyFramesNobody is I-12 for heads: whoever steals a key after it was retired can
// sign another branch of its time. That counts only with the cosignatures of a quorum.
func TestARetiredKeyFramesNobody(t *testing.T) {
	acme, beta, gamma := newParty("acme", 0x11), newParty("beta", 0x21), newParty("gamma", 0x31)
	old, next := acme.keys[0], seeded(0x15)
	acme.keys = append(acme.keys, next)
	f := long(t, acme, 4)
	f.rotated(t, next, 1, "scheduled", nil)
	thief := long(t, acme, 3)
	thief.charter(t, old, 99)
	stolen := thief.head(t, old, 4)
	ctx := context.Background()
	vouched := stolen
	for _, w := range []*party{beta, gamma} {
		line, err := attlog.Cosign(ctx, w.witness, w.did, stolen, time.Unix(1_800_000_000, 0))
		if err != nil {
			t.Fatal(err)
		}
		vouched = vouched.With(line)
	}
	for _, c := range []struct {
		name string
		note attlog.Note
		want bool
	}{
		{"alone", stolen, false},
		{"with a cosignature on a line that is false", stolen.With(func() attlog.Line {
			l := vouched.Lines[1]
			l.Sig = append([]byte(nil), l.Sig...)
			l.Sig[20] ^= 1
			return l
		}()), false},
		{"vouched for by two", vouched, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			delta := newParty("delta", 0x41)
			n := newNode(t, delta, knows(acme, beta, gamma, delta))
			n.quorum = func() int { return 2 }
			n.start(t)
			if res, err := n.Ingest(ctx, f.pack(t, next, 0, 5, 5)); err != nil || res.Size != 5 {
				t.Fatalf("%+v %v", res, err)
			}
			if _, err := n.MergeNote(ctx, acme.did, c.note.Bytes()); err == nil {
				t.Error("the head is taken")
			}
			if got := n.Forked(acme.did); got != c.want {
				t.Errorf("forked: %v", got)
			}
			kept, err := n.events.Evidence(ctx, acme.did)
			if err != nil || len(kept) == 0 {
				t.Errorf("the report is not kept: %v", err)
			}
		})
	}
}

// TestJunkKeepsNoProofBack: whoever forks pads its head with lines of nobody's key, and rotates
// afterwards. The proof is as short as ever, and counts where the rotation is known.
func TestJunkKeepsNoProofBack(t *testing.T) {
	acme, beta, gamma, delta, far := newParty("acme", 0x11), newParty("beta", 0x21), newParty("gamma", 0x31), newParty("delta", 0x41), newParty("far", 0x51)
	old, next := acme.keys[0], seeded(0x15)
	f, other := long(t, acme, 4), long(t, acme, 3)
	other.charter(t, old, 99)
	ctx := context.Background()
	all := knows(acme, beta, gamma, delta, far)
	vouched := func(n attlog.Note) attlog.Note {
		for _, w := range []*party{beta, gamma} {
			line, err := attlog.Cosign(ctx, w.witness, w.did, n, time.Unix(1_800_000_000, 0))
			if err != nil {
				t.Fatal(err)
			}
			n = n.With(line)
		}
		return n
	}
	at := func(p *party) *node {
		n := newNode(t, p, all)
		n.quorum = func() int { return 2 }
		n.start(t)
		return n
	}
	n := at(delta)
	p := f.pack(t, old, 0, 4, 4)
	p.Note = vouched(f.head(t, old, 4)).Bytes()
	if _, err := n.Ingest(ctx, p); err != nil {
		t.Fatal(err)
	}
	b := vouched(other.head(t, old, 4))
	for i := range 8 {
		b = b.With(attlog.Line{Name: attlog.Origin(acme.did), Hash: uint32(i), Sig: make([]byte, 2000)})
	}
	_, _ = n.MergeNote(ctx, acme.did, b.Bytes())
	list, err := n.Forks(ctx, acme.did)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d proofs, %v", len(list), err)
	}
	if x, y, _, _ := list[0].Texts(); len(x)+len(y) > 4096 {
		t.Errorf("notes of %d and %d bytes", len(x), len(y))
	}
	acme.keys = append(acme.keys, next)
	all.learn(acme)
	f.rotated(t, next, 1, "scheduled", nil)
	there := at(far)
	if _, err := there.Ingest(ctx, f.pack(t, next, 0, 5, 5)); err != nil {
		t.Fatal(err)
	}
	if fresh, err := there.TakeFork(ctx, list[0]); !fresh || err != nil {
		t.Errorf("after the rotation: %v %v", fresh, err)
	}
}

// TestEvidenceIsBounded: heads that prove nothing are kept as reports, up to a number.
func TestEvidenceIsBounded(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	old, next := acme.keys[0], seeded(0x15)
	acme.keys = append(acme.keys, next)
	f, thief := long(t, acme, 4), long(t, acme, 3)
	f.rotated(t, next, 1, "scheduled", nil)
	thief.charter(t, old, 99)
	ctx := context.Background()
	n := listener(t, knows(acme, beta), beta)
	if _, err := n.Ingest(ctx, f.pack(t, next, 0, 5, 5)); err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		_, _ = n.MergeNote(ctx, acme.did, thief.head(t, old, 4).With(attlog.Line{Name: fmt.Sprint("x", i), Hash: 1, Sig: make([]byte, 20)}).Bytes())
	}
	if kept, err := n.events.Evidence(ctx, acme.did); err != nil || len(kept) < 2 || len(kept) > 32 || n.Forked(acme.did) {
		t.Errorf("%d notes kept, %v", len(kept), err)
	}
}
