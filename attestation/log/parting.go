package log

import (
	"fmt"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
)

// Parting finds the size up to which the tree of a head is own, a tree of size held, and from
// which they are two. ranges gives, for 0 < at < the head's size, the compact ranges [0, at)
// and [at, size) of the tree of the head, from whoever holds it: what it gives is checked
// against the head, so that it cannot lie. It is asked some 2·log2(held) times at most.
// Errors: ErrConsistent where one of the two extends the other, ErrProof for ranges that are
// not of the head, those of own and of ranges.
func Parting(own tlog.HashReader, held uint64, head attestation.Head, ranges func(at uint64) (left, right Range, err error)) (uint64, error) {
	// The sizes up to low are common, those from high on are not.
	low, high := uint64(0), min(held, head.Size)+1
	for at := high - 1; low+1 < high; at = low + (high-low)/2 {
		if at == 0 {
			break
		}
		mine, err := ReadRange(0, at, own)
		if err != nil {
			return 0, err
		}
		shared, width, err := compareAt(mine, at, head, ranges)
		if err != nil {
			return 0, err
		}
		if shared == at {
			low = at
			continue
		}
		low, high = max(low, shared), min(high, shared+width)
	}
	if low == min(held, head.Size) {
		return 0, fmt.Errorf("sizes %d and %d: %w", held, head.Size, ErrConsistent)
	}
	return low, nil
}

// compareAt says how far the subtrees of [0, at) are the same in both trees, and how wide the
// first is that is not.
func compareAt(mine Range, at uint64, head attestation.Head, ranges func(uint64) (Range, Range, error)) (shared, width uint64, err error) {
	if at == head.Size {
		root, err := mine.Root()
		if err != nil || root == head.Root {
			return at, 0, err
		}
		return 0, at, nil
	}
	left, right, err := ranges(at)
	if err != nil {
		return 0, 0, err
	}
	if err := CheckSplit(left, right, at, head); err != nil {
		return 0, 0, err
	}
	shared = sharedTrees(mine, left)
	if shared < at {
		width = 1 << (bits.Len64(at-shared) - 1)
	}
	return shared, width, nil
}

// CheckSplit returns ErrProof unless left and right are the compact ranges [0, at) and
// [at, size) of the tree of head.
func CheckSplit(left, right Range, at uint64, head attestation.Head) error {
	if (left == Range{}) || (right == Range{}) || left.Begin() != 0 || left.End() != at || right.Begin() != at || right.End() != head.Size {
		return fmt.Errorf("%w: ranges are not [0, %d) and [%d, %d)", ErrProof, at, at, head.Size)
	}
	all := left.Clone()
	if err := all.Join(right); err != nil {
		return err
	}
	root, err := all.Root()
	if err != nil {
		return err
	}
	if root != head.Root {
		return fmt.Errorf("%w: ranges do not give the root of size %d", ErrProof, head.Size)
	}
	return nil
}
