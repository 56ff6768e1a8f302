package recorder_test

import (
	"context"
	"fmt"
	"math/rand/v2"
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

// TestAQuorumIsOfDistinctOrganizations is I-14: whatever stands on a note, and how often, it is
// vouched for by true cosignatures of as many other active organizations, or by the own one.
func TestAQuorumIsOfDistinctOrganizations(t *testing.T) {
	ctx, rng := context.Background(), rand.New(rand.NewPCG(1, 14))
	acme, beta, stranger := newParty("acme", 0x11), newParty("beta", 0x21), newParty("stranger", 0x71)
	peers := []*party{newParty("core", 0x31), newParty("dora", 0x41), newParty("eve", 0x51)}
	old, next := acme.keys[0], seeded(0x15)
	acme.keys = append(acme.keys, next)
	f := long(t, acme, 4)
	f.rotated(t, next, 1, "scheduled", nil)
	thief := long(t, acme, 3)
	thief.charter(t, old, 99)
	for range 60 {
		quorum := 1 + rng.IntN(3)
		note, distinct := thief.head(t, old, 4), map[*party]bool{}
		sign := func(by *party, key seedSigner) {
			line, err := attlog.Cosign(ctx, key, by.did, note, time.Unix(1_800_000_000+int64(rng.IntN(5)), 0))
			if err != nil {
				t.Fatal(err)
			}
			note = note.With(line)
		}
		for range rng.IntN(7) {
			switch by := peers[rng.IntN(3)]; rng.IntN(6) {
			case 0:
				sign(acme, acme.witness) // the origin itself
			case 1:
				sign(stranger, stranger.witness)
			case 2:
				sign(by, stranger.witness) // its name, another's key
			default:
				sign(by, by.witness)
				distinct[by] = true
			}
		}
		if rng.IntN(10) == 0 {
			sign(beta, beta.witness)
			distinct[beta] = true
		}
		n := newNode(t, beta, knows(append(peers, acme, beta)...))
		n.quorum = func() int { return quorum }
		n.start(t)
		ingest(t, n, f.pack(t, next, 0, 5, 5))
		if _, err := n.MergeNote(ctx, acme.did, note.Bytes()); err == nil {
			t.Fatal("the head is taken")
		}
		if want := len(distinct) >= quorum || distinct[beta]; n.Forked(acme.did) != want {
			t.Fatalf("%d of %d, this one %v: forked %v", len(distinct), quorum, distinct[beta], !want)
		}
	}
}

// TestAHeadHeldBeforeARotationCounts: a retired key's head convicts if it was held here when the
// key was the newest one, unless a compromise taints its size; to others it is nothing.
func TestAHeadHeldBeforeARotationCounts(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		held  bool
		taint uint64 // of the rotation; 0 is a scheduled one
		want  bool
	}{
		"held before":                       {true, 0, true},
		"held before, below the taint":      {true, 7, true},
		"held before, above the taint":      {true, 2, false},
		"shown after":                       {false, 0, false},
		"shown after, for a compromise":     {false, 7, false},
		"shown after, above the compromise": {false, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
			old, next := acme.keys[0], seeded(0x15)
			ring := knows(acme, beta)
			ours, other := branched(t, acme, 3, 9, 6)
			acme.keys = append(acme.keys, next)
			reason, from := "scheduled", (*uint64)(nil)
			if c.taint > 0 {
				reason, from = "compromise", &c.taint
			}
			ours.rotated(t, next, 1, reason, from)
			n := listener(t, ring, beta)
			note := other.head(t, old, 6)
			if c.held { // the head came with the entries that both branches have
				ingest(t, n, other.pack(t, old, 0, 3, 6))
			} else {
				ingest(t, n, ours.pack(t, old, 0, 3, 3))
			}
			ingest(t, n, ours.pack(t, old, 3, 5, 5))
			ring.learn(acme)
			ingest(t, n, ours.pack(t, next, 5, 10, 10))
			if !c.held {
				if _, err := n.MergeNote(ctx, acme.did, note.Bytes()); err == nil {
					t.Error("the head is taken")
				}
			}
			if got := n.Forked(acme.did); got != c.want {
				t.Errorf("forked: %v", got)
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
