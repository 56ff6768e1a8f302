package log_test

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	attlog "trustnode/attestation/log"
)

// parted are two branches of 300 leaves that part at a size.
func parted(at int) (own, other branch) {
	for i := range 300 {
		own = append(own, tlog.RecordHash([]byte{1, byte(i), byte(i >> 8)}))
		other = append(other, own[i])
		if i >= at {
			other[i] = tlog.RecordHash([]byte{2, byte(i), byte(i >> 8)})
		}
	}
	return own, other
}

// TestPartingIsFound: for any sizes and any place, in few questions; what extends is said to.
// What evidence alone shows is never above it.
func TestPartingIsFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 3))
	for range 300 {
		at, held, size := rng.IntN(40), 1+rng.IntN(60), 1+rng.IntN(60)
		if rng.IntN(4) == 0 {
			at, held, size = rng.IntN(300), 1+rng.IntN(300), 1+rng.IntN(300)
		}
		own, other := parted(at)
		asked := 0
		got, err := attlog.Parting(own[:held], uint64(held), other.head(size), func(at uint64) (attlog.Range, attlog.Range, error) {
			asked++
			left, right := rangeOf(t, other, int(at), size)
			return left, right, nil
		})
		if min(held, size) <= at {
			if !errors.Is(err, attlog.ErrConsistent) {
				t.Fatalf("parted at %d, %d held, size %d: %d, %v", at, held, size, got, err)
			}
		} else if err != nil || got != uint64(at) {
			t.Fatalf("parted at %d, %d held, size %d: %d, %v", at, held, size, got, err)
		}
		if most := 2*bits.Len(uint(held)) + 1; asked > most {
			t.Fatalf("%d questions, %d at most", asked, most)
		}
		for _, f := range []attlog.Fork{
			{A: attlog.Note{Head: own.head(held)}, B: attlog.Note{Head: other.head(300)}},
			{A: attlog.Note{Head: other.head(size)}, B: attlog.Note{Head: own.head(300)}},
		} {
			tree := other
			if f.B.Head == own.head(300) {
				tree = own
			}
			f.Left, f.Right = rangeOf(t, tree, int(f.A.Head.Size), 300)
			if c, err := f.Common(own[:held], uint64(held)); f.Check() == nil && (err != nil || c > uint64(at)) {
				t.Fatalf("the evidence shows %d in common, %v, they part at %d", c, err, at)
			}
		}
	}
}

// TestPartingBelievesNoRanges: those of another tree, or at another place, are refused.
func TestPartingBelievesNoRanges(t *testing.T) {
	own, other := parted(20)
	for name, lie := range map[string]func(at int) (attlog.Range, attlog.Range){
		"of the own tree":  func(at int) (attlog.Range, attlog.Range) { return rangeOf(t, own, at, 50) },
		"at another place": func(at int) (attlog.Range, attlog.Range) { return rangeOf(t, other, at-1, 50) },
		"of another size":  func(at int) (attlog.Range, attlog.Range) { return rangeOf(t, other, at, 51) },
		"none":             func(int) (attlog.Range, attlog.Range) { return attlog.Range{}, attlog.Range{} },
		"the left one own": func(at int) (l, r attlog.Range) {
			l, _ = rangeOf(t, own, at, 50)
			_, r = rangeOf(t, other, at, 50)
			return
		},
		"the right one twice": func(at int) (l, r attlog.Range) { _, r = rangeOf(t, other, at, 50); return r, r },
	} {
		_, err := attlog.Parting(own, 40, other.head(50), func(at uint64) (attlog.Range, attlog.Range, error) {
			l, r := lie(int(at))
			return l, r, nil
		})
		if !errors.Is(err, attlog.ErrProof) {
			t.Errorf("%s: %v", name, err)
		}
	}
	refuse := errors.New("no")
	if _, err := attlog.Parting(own, 40, other.head(50), func(uint64) (attlog.Range, attlog.Range, error) {
		return attlog.Range{}, attlog.Range{}, refuse
	}); !errors.Is(err, refuse) {
		t.Errorf("who gives none: %v", err)
	}
}
