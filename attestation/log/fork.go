package log

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/did"
)

// ErrConsistent says that two heads do not exclude each other: one log may have both.
var ErrConsistent = errors.New("the two heads can be of one log")

// Fork is the evidence that two heads of one log exclude each other, for whoever has nothing
// but it. A is the smaller one. Where the sizes differ, Left and Right are the compact ranges
// [0, A) and [A, B) of the tree of B: together they give the root of B, Left alone another
// than that of A. It says nothing of signatures; By and Witnesses do.
type Fork struct {
	A, B        Note
	Left, Right Range // zero for equal sizes
}

// ProveFork makes the evidence from two notes of one log, in any order. branch is the tree
// behind the larger of them; it is not read for equal sizes. Errors: ErrConsistent,
// ErrProof if branch is not the tree of the larger one, and those of branch.
func ProveFork(a, b Note, branch tlog.HashReader) (Fork, error) {
	if a.Head.Size > b.Head.Size || a.Head.Size == b.Head.Size && string(a.Bytes()) > string(b.Bytes()) {
		a, b = b, a
	}
	f := Fork{A: a, B: b}
	if a.Head.Size < b.Head.Size {
		var err error
		if f.Left, err = ReadRange(0, a.Head.Size, branch); err != nil {
			return Fork{}, err
		}
		if f.Right, err = ReadRange(a.Head.Size, b.Head.Size, branch); err != nil {
			return Fork{}, err
		}
	}
	return f, f.Check()
}

// Check returns nil if the heads exclude each other. Errors: ErrConsistent; ErrProof where
// the ranges are not those of B, or the notes are of two logs or of none.
func (f Fork) Check() error {
	switch a, b := f.A.Head, f.B.Head; {
	case f.A.Org != f.B.Org || a.Size == 0 || a.Size > b.Size:
		return fmt.Errorf("%w: heads of %s at %d and of %s at %d", ErrProof, f.A.Org, a.Size, f.B.Org, b.Size)
	case a == b:
		return fmt.Errorf("size %d: %w", a.Size, ErrConsistent)
	case a.Size == b.Size && (f.Left != Range{} || f.Right != Range{}):
		return fmt.Errorf("%w: ranges beside two heads of one size", ErrProof)
	case a.Size == b.Size:
		return nil
	}
	return f.checkRanges()
}

func (f Fork) checkRanges() error {
	size, end := f.A.Head.Size, f.B.Head.Size
	if err := CheckSplit(f.Left, f.Right, size, f.B.Head); err != nil {
		return err
	}
	left, err := f.Left.Root()
	if err != nil {
		return err
	}
	if left == f.A.Head.Root {
		return fmt.Errorf("sizes %d and %d: %w", size, end, ErrConsistent)
	}
	return nil
}

// By returns nil if the log's own line on both notes verifies under a key that may sign a head
// of that size. keys answers for a size. Errors: those of Check, ErrUnsigned.
func (f Fork) By(keys func(size uint64) []did.PublicKey) error {
	if err := f.Check(); err != nil {
		return err
	}
	for _, n := range []Note{f.A, f.B} {
		if n.Under(keys(n.Head.Size)) != LineGood {
			return fmt.Errorf("size %d of %s: %w", n.Head.Size, n.Org, ErrUnsigned)
		}
	}
	return nil
}

// Witnesses are the organizations whose true cosignature stands on both notes: they said of
// two branches that they extend one another. Empty where the heads do not exclude each other.
func (f Fork) Witnesses(keys KeysOf) []did.DID {
	if f.Check() != nil {
		return nil
	}
	one, _ := f.A.Cosignatures(keys)
	other, _ := f.B.Cosignatures(keys)
	var out []did.DID
	for _, c := range one {
		if slices.ContainsFunc(other, func(o Cosignature) bool { return o.Witness == c.Witness }) {
			out = append(out, c.Witness)
		}
	}
	return out
}

// Texts are the four members of the evidence as it travels: the notes, and the hashes of the
// ranges in unpadded base64url, empty for equal sizes.
func (f Fork) Texts() (a, b, left, right string) {
	return string(f.A.Bytes()), string(f.B.Bytes()), hashText(f.Left), hashText(f.Right)
}

func hashText(r Range) string {
	if (r == Range{}) {
		return ""
	}
	return attestation.FormatHashes(r.Hashes())
}

// ParseFork reads what Texts writes, and checks it. Errors: ErrNote, and those of Check.
func ParseFork(a, b, left, right string) (Fork, error) {
	var f Fork
	var err error
	if f.A, err = ParseNote([]byte(a)); err != nil {
		return Fork{}, err
	}
	if f.B, err = ParseNote([]byte(b)); err != nil {
		return Fork{}, err
	}
	if left != "" || right != "" {
		if f.Left, err = parseHashText(0, f.A.Head.Size, left); err != nil {
			return Fork{}, err
		}
		if f.Right, err = parseHashText(f.A.Head.Size, f.B.Head.Size, right); err != nil {
			return Fork{}, err
		}
	}
	return f, f.Check()
}

func parseHashText(begin, end uint64, text string) (Range, error) {
	hashes, err := attestation.ParseHashes(text)
	if err != nil {
		return Range{}, fmt.Errorf("%w: %v", ErrProof, err)
	}
	r, err := ParseRange(begin, end, hashes)
	if err != nil {
		return Range{}, fmt.Errorf("%w: %v", ErrProof, err)
	}
	return r, nil
}

// Common returns the size up to which the evidence itself shows the two branches to be one,
// for whoever holds own, of size held: they part there or above. It is 0 where nothing shows
// it: for two heads of one size, and where own is not the branch of A. Errors: those of own.
func (f Fork) Common(own tlog.HashReader, held uint64) (uint64, error) {
	size := f.A.Head.Size
	if (f.Left == Range{}) || held < size {
		return 0, nil
	}
	mine, err := ReadRange(0, size, own)
	if err != nil {
		return 0, err
	}
	if root, err := mine.Root(); err != nil || root != f.A.Head.Root {
		return 0, err
	}
	return sharedTrees(mine, f.Left), nil
}

// sharedTrees is the end of the last subtree, from the left, that two ranges [0, size) share.
func sharedTrees(a, b Range) (end uint64) {
	theirs := b.Hashes()
	for i, h := range a.Hashes() {
		if h != theirs[i] {
			break
		}
		end += 1 << (bits.Len64(a.End()-end) - 1) // the largest complete one that fits
	}
	return end
}
