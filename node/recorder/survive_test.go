package recorder_test

import (
	"context"
	"slices"
	"testing"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/node/recorder"
)

// TestTheBranchThatStandsIsFetched: who holds the branch that a charter does not name keeps
// what both share, takes the other from peers as soon as one shows it, and judges it as who
// held it from the start; what was held is kept. Nobody brings the lost branch back for good.
func TestTheBranchThatStandsIsFetched(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	ours, other := branched(t, acme, 5, 10, 14)
	k, ctx := acme.keys[0], context.Background()
	for name, size := range map[string]int{"cut inside of what is held": 7, "cut above it": 12, "cut at the head that is shown": 14} {
		for _, forked := range []bool{true, false} {
			var now charterOf
			n := newNode(t, beta, knows(acme, beta))
			n.bounds = now.bounds
			n.start(t)
			ingest(t, n, ours.pack(t, k, 0, 10, 10))
			if forked {
				asked := 0
				if res, _ := n.Part(ctx, acme.did, other.head(t, k, 14).Bytes(), other.ranges(t, 14, &asked)); res.Verdict != recorder.Forked {
					t.Fatal(res.Verdict)
				}
			}
			before := n.counting(t, acme.did)
			now.Store(cutAt(other, size))
			if err := n.Rebound(ctx); err != nil {
				t.Fatal(err)
			}
			if got := n.counting(t, acme.did); len(got) > len(before) || size < 10 && len(got) > 5 {
				t.Errorf("%s, forked %v: the lost branch counts at %v", name, forked, got)
			}
			n.lacks(t, other, -1) // it is to be held, not to be kept beside
			asked := 0
			show := func() {
				t.Helper()
				if res, _ := n.Part(ctx, acme.did, other.head(t, k, 14).Bytes(), other.ranges(t, 14, &asked)); res.Verdict != recorder.Forked {
					t.Fatalf("%s: %s", name, res.Verdict)
				}
				if got := n.entries(t, acme.did); len(got) != 5 {
					t.Fatalf("%s: %d entries are left", name, len(got))
				}
			}
			show()
			for _, to := range []int{6, 10} { // not even what ends below the cutoff
				if res, err := n.Ingest(ctx, ours.pack(t, k, 5, to, 10)); err != nil || res.Verdict != recorder.Behind || len(n.entries(t, acme.did)) != 5 {
					t.Errorf("%s: up to %d of the lost branch again: %s, %v", name, to, res.Verdict, err)
				}
			}
			n.start(t)
			var lost []attestation.Entry
			if err := n.events.BranchEntries(ctx, acme.did, func(_ uint64, en attestation.Entry) error { lost = append(lost, en); return nil }); err != nil || len(lost) != 5 || !slices.Equal(lost[0], ours.entries[5]) {
				t.Errorf("%s: %d entries of the lost branch are kept, %v", name, len(lost), err)
			}
			if res, err := n.Ingest(ctx, ours.pack(t, k, 5, 10, 10)); err != nil || size <= 10 && res.Verdict != recorder.Behind {
				t.Errorf("%s: the lost branch again: %s, %v", name, res.Verdict, err)
			}
			if len(n.entries(t, acme.did)) > 5 { // nothing told yet that it is the lost one
				show()
			}
			ingest(t, n, other.pack(t, k, 5, 9, 14))
			ingest(t, n, other.pack(t, k, 9, 14, 14))
			want := map[int]string{7: "7 valid, 7 void:cutoff", 12: "12 valid, 2 void:cutoff", 14: "14 valid"}[size]
			for range 2 {
				if got := runs(n.standings(t, acme.did)); got != want || n.Forked(acme.did) {
					t.Errorf("%s, forked %v: %s, want %s; forked still: %v", name, forked, got, want, n.Forked(acme.did))
				}
				if n.Parted() != 1 {
					t.Errorf("%s: a fork that a charter ended is counted %d times", name, n.Parted())
				}
				n.start(t)
				if err := n.Recheck(ctx, acme.did); err != nil {
					t.Fatal(err)
				}
			}
			asked = 0
			if res, _ := n.Part(ctx, acme.did, ours.head(t, k, 10).Bytes(), ours.ranges(t, 10, &asked)); res.Verdict != recorder.Forked || len(n.entries(t, acme.did)) != 14 {
				t.Errorf("%s: the lost branch, shown again: %s, %d entries", name, res.Verdict, len(n.entries(t, acme.did)))
			}
		}
	}
}

// TestTheOwnLogIsNotGivenUp: a node whose own branch a charter does not name keeps what it
// signed; what both share stands.
func TestTheOwnLogIsNotGivenUp(t *testing.T) {
	acme := newParty("acme", 0x11)
	k, ctx := acme.keys[0], context.Background()
	var now charterOf
	n := newNode(t, acme, knows(acme))
	n.bounds = now.bounds
	n.start(t)
	n.run(t)
	for i := range 5 {
		n.event(t, plain(i))
	}
	flush(t, n)
	own := n.entries(t, acme.did)
	other := &forged{p: acme, entries: slices.Clone(own[:4])}
	for i := range 6 {
		other.charter(t, k, 100+i)
	}
	now.Store(cutAt(other, 6))
	if err := n.Rebound(ctx); err != nil {
		t.Fatal(err)
	}
	asked := 0
	if res, _ := n.Part(ctx, acme.did, other.head(t, k, 10).Bytes(), other.ranges(t, 10, &asked)); res.Verdict != recorder.Forked {
		t.Error(res.Verdict)
	}
	if got := n.entries(t, acme.did); len(got) != len(own) {
		t.Errorf("%d of %d own entries are left", len(got), len(own))
	}
	if got := runs(n.standings(t, acme.did)); got != "4 valid, 2 void:cutoff" {
		t.Error(got)
	}
}

// TestABranchIsGivenUpOnce: two peers show the branch that stands at once. Who comes second
// takes nothing of what the first made room for, and the lost branch stays the one beside.
func TestABranchIsGivenUpOnce(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	ours, other := branched(t, acme, 5, 10, 14)
	k, ctx := acme.keys[0], context.Background()
	note := other.head(t, k, 14).Bytes()
	last, meanwhile := 0, (func(*node))(nil)
	part := func(now *charterOf) (*node, recorder.Result, int) {
		n := newNode(t, beta, knows(acme, beta))
		n.bounds = now.bounds
		n.start(t)
		ingest(t, n, ours.pack(t, k, 0, 10, 10))
		now.Store(cutAt(other, 12))
		if err := n.Rebound(ctx); err != nil {
			t.Fatal(err)
		}
		asked, ignored := 0, 0
		ranges := other.ranges(t, 14, &ignored)
		res, _ := n.Part(ctx, acme.did, note, func(at uint64) (attlog.Range, attlog.Range, error) {
			if asked++; asked == last {
				meanwhile(n)
			}
			return ranges(at)
		})
		return n, res, asked
	}
	_, res, all := part(new(charterOf))
	if res.Verdict != recorder.Forked || all < 2 {
		t.Fatalf("%s, asked %d times", res.Verdict, all)
	}
	first := func(n *node) {
		asked := 0
		if res, _ := n.Part(ctx, acme.did, note, other.ranges(t, 14, &asked)); res.Verdict != recorder.Forked {
			t.Fatal(res.Verdict)
		}
	}
	var now *charterOf
	for name, c := range map[string]struct {
		meanwhile func(*node)
		want      recorder.Verdict
		entries   int
		lost      *forged
	}{
		"cut":                  {first, recorder.Behind, 5, ours},
		"cut and fetched":      {func(n *node) { first(n); ingest(t, n, other.pack(t, k, 5, 14, 14)) }, recorder.Behind, 14, ours},
		"cut and part of it":   {func(n *node) { first(n); ingest(t, n, other.pack(t, k, 5, 9, 14)) }, recorder.Behind, 9, ours},
		"the charter is other": {func(*node) { now.Store(cutAt(ours, 12)) }, recorder.Behind, 10, nil},
		"there is no charter":  {func(*node) { now.Store(&recorder.Bounds{}) }, recorder.Behind, 10, nil},
		"nothing":              {func(*node) {}, recorder.Forked, 5, ours},
	} {
		last, meanwhile, now = all, c.meanwhile, new(charterOf)
		n, res, _ := part(now)
		if got := len(n.entries(t, acme.did)); res.Verdict != c.want || got != c.entries {
			t.Errorf("%s: %s, %d entries, want %s and %d", name, res.Verdict, got, c.want, c.entries)
		}
		if c.lost == nil {
			continue
		}
		var lost []attestation.Entry
		if err := n.events.BranchEntries(ctx, acme.did, func(_ uint64, en attestation.Entry) error { lost = append(lost, en); return nil }); err != nil || !slices.EqualFunc(lost, c.lost.entries[5:10], slices.Equal) {
			t.Errorf("%s: %d other entries lie beside the log, %v", name, len(lost), err)
		}
	}
}
