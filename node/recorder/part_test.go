package recorder_test

import (
	"context"
	"errors"
	"testing"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/node/recorder"
)

// ranges answers as a peer that holds f does.
func (f *forged) ranges(t *testing.T, size int, asked *int) recorder.Ranges {
	return func(at uint64) (attlog.Range, attlog.Range, error) {
		*asked++
		tree := list(f.leaves(size))
		left, err := attlog.ReadRange(0, at, tree)
		if err != nil {
			t.Fatal(err)
		}
		right, err := attlog.ReadRange(at, uint64(size), tree)
		if err != nil {
			t.Fatal(err)
		}
		return left, right, nil
	}
}

// TestAPeersRangesShowWhereTheyPart: who holds one branch alone and is shown a head of the
// other, smaller, equal or larger, makes evidence with the ranges that a peer gives, contests
// from the exact place on, and convinces others.
func TestAPeersRangesShowWhereTheyPart(t *testing.T) {
	acme, beta, gamma := newParty("acme", 0x11), newParty("beta", 0x21), newParty("gamma", 0x31)
	ours, other := branched(t, acme, 5, 8, 20)
	k, ctx := acme.keys[0], context.Background()
	for _, size := range []int{6, 7, 8, 9, 20} {
		for _, told := range []bool{false, true} { // of another head of that branch before
			n := listener(t, knows(acme, beta, gamma), beta)
			ingest(t, n, ours.pack(t, k, 0, 8, 8))
			if told {
				_, _ = n.MergeNote(ctx, acme.did, other.head(t, k, 6).Bytes())
				if got := runs(n.standings(t, acme.did)); got != "8 contested:fork" {
					t.Fatalf("told of a head alone: %s", got)
				}
			}
			asked := 0
			res, err := n.Part(ctx, acme.did, other.head(t, k, size).Bytes(), other.ranges(t, size, &asked))
			var fork *recorder.Fork
			if res.Verdict != recorder.Forked || !errors.As(err, &fork) || asked > 9 {
				t.Fatalf("size %d: %s, %v, asked %d times", size, res.Verdict, err, asked)
			}
			for range 2 {
				if got := runs(n.standings(t, acme.did)); got != "5 valid, 3 contested:fork" || !n.Forked(acme.did) {
					t.Errorf("size %d, told %v: %s", size, told, got)
				}
				n.start(t)
			}
			proofs, err := n.Forks(ctx, acme.did)
			if err != nil || len(proofs) != 1 {
				t.Fatalf("size %d: %d proofs, %v", size, len(proofs), err)
			}
			far := listener(t, knows(acme, beta, gamma), gamma)
			ingest(t, far, ours.pack(t, k, 0, 8, 8))
			if fresh, err := far.TakeFork(ctx, proofs[0]); err != nil || !fresh {
				t.Errorf("size %d: the proof convinces nobody: %v", size, err)
			}
		}
	}
}

// TestRangesThatShowNothing: what is one log is no fork; a false head or ranges that are not
// of it are the peer's fault; what a retired key signs is a report.
func TestRangesThatShowNothing(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	ours, other := branched(t, acme, 5, 8, 20)
	k, ctx := acme.keys[0], context.Background()
	asked, gone := 0, errors.New("the stream ended")
	more := long(t, acme, 12)
	for name, c := range map[string]struct {
		note   attlog.Note
		ranges recorder.Ranges
		want   recorder.Verdict
		err    error
	}{
		"the held log, further on":     {more.head(t, k, 12), more.ranges(t, 12, &asked), recorder.Held, nil},
		"the held log, less of it":     {ours.head(t, k, 6), ours.ranges(t, 6, &asked), recorder.Held, nil},
		"ranges of the held log":       {other.head(t, k, 12), more.ranges(t, 12, &asked), recorder.Rejected, recorder.ErrRejected},
		"a head of somebody else's":    {other.head(t, beta.keys[0], 12), other.ranges(t, 12, &asked), recorder.Rejected, recorder.ErrRejected},
		"a peer that goes away":        {other.head(t, k, 12), func(uint64) (l, r attlog.Range, err error) { return l, r, gone }, 0, gone},
		"a head without a key":         {attlog.Note{Org: acme.did, Head: other.head(t, k, 12).Head}, other.ranges(t, 12, &asked), recorder.Rejected, recorder.ErrRejected},
		"a head of another's log":      {long(t, beta, 9).head(t, beta.keys[0], 9), other.ranges(t, 9, &asked), recorder.Rejected, recorder.ErrRejected},
		"the empty log":                {attlog.Note{Org: acme.did, Head: attestation.Head{Root: ours.head(t, k, 0).Head.Root}}, nil, recorder.Rejected, recorder.ErrRejected},
		"the head of the held log":     {ours.head(t, k, 8), nil, recorder.Held, nil},
		"a branch that has not parted": {other.head(t, k, 5), other.ranges(t, 5, &asked), recorder.Held, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n := listener(t, knows(acme, beta), beta)
			ingest(t, n, ours.pack(t, k, 0, 8, 8))
			res, err := n.Part(ctx, acme.did, c.note.Bytes(), c.ranges)
			if res.Verdict != c.want || !errors.Is(err, c.err) || n.Forked(acme.did) {
				t.Errorf("%s, %v, forked %v", res.Verdict, err, n.Forked(acme.did))
			}
			if got := runs(n.standings(t, acme.did)); got != "8 valid" {
				t.Error(got)
			}
		})
	}
	t.Run("nothing held", func(t *testing.T) {
		n := listener(t, knows(acme, beta), beta)
		if res, err := n.Part(ctx, acme.did, other.head(t, k, 12).Bytes(), nil); res.Verdict != recorder.Behind || err != nil {
			t.Errorf("%s, %v", res.Verdict, err)
		}
	})
}
