package store_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/node/store"
)

// longEntries are n entries of the greatest size.
func longEntries(n int) (out []attestation.Entry) {
	for i := range n {
		en := make(attestation.Entry, attestation.MaxEntry)
		en[0], en[65], en[66] = 1, byte(i), byte(i>>8)
		out = append(out, en)
	}
	return out
}

func branchOf(t *testing.T, e *store.Events) (out []attestation.Entry) {
	t.Helper()
	filler{t, e}.must(e.BranchEntries(context.Background(), beta, func(_ uint64, en attestation.Entry) error { out = append(out, en); return nil }))
	return out
}

// TestABranchEndsWhereNoMoreFits: no short entry follows one that was too long, and what was
// read of a branch stays as it was when it grows, and is as after a restart.
func TestABranchEndsWhereNoMoreFits(t *testing.T) {
	ctx, db := context.Background(), store.Memory()
	defer db.Close()
	e, err := store.OpenEvents(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	f := filler{t, e}
	f.log(beta, 1, 3)
	f.must(e.KeepBranch(ctx, beta, 3, longEntries(10)))
	ten, err := e.Branch(ctx, beta)
	f.must(err)
	f.must(e.KeepBranch(ctx, beta, 13, append(longEntries(23*48), longEntries(1)[0][:100])))
	l, err := e.Log(ctx, beta)
	f.must(err)
	shared, err := attlog.ReadRange(0, 3, l)
	f.must(err)
	for _, anew := range []bool{false, true} {
		if anew {
			if e, err = store.OpenEvents(ctx, db); err != nil {
				t.Fatal(err)
			}
		}
		b, err := e.Branch(ctx, beta)
		f.must(err)
		if b.From != 3 || b.To != 3+1024 || !b.Full() || len(branchOf(t, e)) != 1024 {
			t.Errorf("kept [%d, %d), %d bytes", b.From, b.To, b.Bytes)
		}
		for _, x := range []store.Branch{ten, b} {
			want := shared.Clone()
			for _, en := range branchOf(t, e)[:x.To-3] {
				f.must(want.Append(en.Hash()))
			}
			if got, err := x.Tree(shared); err != nil || !slices.Equal(got.Hashes(), want.Hashes()) || got.End() != x.To || shared.End() != 3 {
				t.Errorf("the tree of [%d, %d) is another, up to %d, %v", x.From, x.To, got.End(), err)
			}
		}
	}
	if _, err := e.BranchRun(ctx, beta, 1026, 1028); err == nil {
		t.Error("an entry above the branch is given")
	}
}

// TestACutSetsLongEntriesAside: however long they are, one transaction takes some of them.
func TestACutSetsLongEntriesAside(t *testing.T) {
	ctx, db := context.Background(), store.Memory()
	defer db.Close()
	e, err := store.OpenEvents(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	f := filler{t, e}
	f.log(beta, 1, 3)
	long := longEntries(120)
	for i := 0; i < len(long); i += 40 {
		f.must(e.Append(ctx, attestation.Batch{Org: beta, From: uint64(3 + i), Entries: long[i : i+40]}))
	}
	f.must(e.Cut(ctx, beta, 3))
	if got := branchOf(t, e); !slices.EqualFunc(got, long, func(a, b attestation.Entry) bool { return bytes.Equal(a, b) }) {
		t.Errorf("%d entries are set aside", len(got))
	}
}
