package log

import (
	"errors"
	"fmt"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/did/envelope"
)

// ErrProof is wrapped by the error for a proof that does not prove.
var ErrProof = errors.New("proof does not verify")

var ranges = &compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}

// maxSize is the largest tree: sizes travel as JSON integers.
const maxSize = 1<<53 - 1

// Range is a compact range: the roots of the largest complete subtrees that
// cover the leaves [Begin, End) of a tree. The range from 0 is the edge of a
// tree, all that appending needs.
type Range struct{ r *compact.Range }

// NewRange returns the empty range at begin.
func NewRange(begin uint64) Range { return Range{ranges.NewEmptyRange(begin)} }

// ParseRange makes a range of hashes received or stored; their number must be
// the one that [begin, end) has.
func ParseRange(begin, end uint64, hashes []tlog.Hash) (Range, error) {
	if end < begin || end > maxSize {
		return Range{}, fmt.Errorf("range [%d, %d) is none", begin, end)
	}
	if want := compact.RangeSize(begin, end); len(hashes) != want {
		return Range{}, fmt.Errorf("range [%d, %d) of %d hashes, wanted %d", begin, end, len(hashes), want)
	}
	list := make([][]byte, len(hashes))
	for i := range hashes {
		list[i] = append([]byte(nil), hashes[i][:]...)
	}
	r, err := ranges.NewRange(begin, end, list)
	if err != nil {
		return Range{}, err
	}
	return Range{r}, nil
}

// Begin returns the first index of the range.
func (r Range) Begin() uint64 { return r.r.Begin() }

// End returns the index after the last of the range.
func (r Range) End() uint64 { return r.r.End() }

// Hashes returns the hashes from left to right.
func (r Range) Hashes() []tlog.Hash {
	list := r.r.Hashes()
	out := make([]tlog.Hash, len(list))
	for i := range list {
		out[i] = tlog.Hash(list[i])
	}
	return out
}

// Clone returns a range that can grow apart from r.
func (r Range) Clone() Range {
	c, err := ParseRange(r.Begin(), r.End(), r.Hashes())
	if err != nil {
		panic(err) // r was made by this package
	}
	return c
}

// Append adds one leaf hash at the end.
func (r Range) Append(leaf tlog.Hash) error {
	return r.r.Append(append([]byte(nil), leaf[:]...), nil)
}

// Join adds the leaves of next, which must begin where r ends.
func (r Range) Join(next Range) error { return r.r.AppendRange(next.Clone().r, nil) }

// Root returns the root of the tree whose leaves r covers; r must begin at 0.
func (r Range) Root() (envelope.ID, error) {
	if r.End() == 0 {
		return envelope.IDFromSum([32]byte(rfc6962.DefaultHasher.EmptyRoot())), nil
	}
	h, err := r.r.GetRootHash(nil)
	if err != nil {
		return envelope.ID{}, err
	}
	return envelope.IDFromSum([32]byte(h)), nil
}

// ReadRange returns the compact range [begin, end) of the tree behind r.
func ReadRange(begin, end uint64, r tlog.HashReader) (Range, error) {
	if end < begin || end > maxSize {
		return Range{}, fmt.Errorf("range [%d, %d) is none", begin, end)
	}
	nodes := compact.RangeNodes(begin, end, nil)
	at := make([]int64, len(nodes))
	for i, n := range nodes {
		at[i] = tlog.StoredHashIndex(int(n.Level), int64(n.Index))
	}
	if len(at) == 0 {
		return NewRange(begin), nil
	}
	hashes, err := r.ReadHashes(at)
	if err != nil {
		return Range{}, err
	}
	return ParseRange(begin, end, hashes)
}

// RootAt returns the head at size of the tree behind r, which holds at least
// as many leaves.
func RootAt(size uint64, r tlog.HashReader) (attestation.Head, error) {
	h, err := tlog.TreeHash(int64(size), r)
	if err != nil {
		return attestation.Head{}, err
	}
	return attestation.Head{Size: size, Root: envelope.IDFromSum(h)}, nil
}

// Include returns the inclusion proof of an index in the tree of size.
func Include(index, size uint64, r tlog.HashReader) ([]tlog.Hash, error) {
	if size > maxSize || index >= size {
		return nil, fmt.Errorf("index %d is not below size %d", index, size)
	}
	return tlog.ProveRecord(int64(size), int64(index), r)
}

// CheckInclusion verifies that leaf is at index under head.
func CheckInclusion(head attestation.Head, index uint64, leaf tlog.Hash, p []tlog.Hash) error {
	if head.Size > maxSize || index >= head.Size || len(p) > MaxProof {
		return fmt.Errorf("%w: index %d, size %d, %d hashes", ErrProof, index, head.Size, len(p))
	}
	root := head.Root.Sum()
	if err := tlog.CheckRecord(p, int64(head.Size), root, int64(index), leaf); err != nil {
		return fmt.Errorf("%w: index %d is not under the root of size %d", ErrProof, index, head.Size)
	}
	return nil
}

// Extend returns the consistency proof between two sizes of the tree behind r.
func Extend(old, size uint64, r tlog.HashReader) ([]tlog.Hash, error) {
	if size > maxSize || old > size {
		return nil, fmt.Errorf("size %d is above %d", old, size)
	}
	if old == 0 || old == size {
		return nil, nil
	}
	nodes, err := proof.Consistency(old, size)
	if err != nil {
		return nil, err
	}
	return readNodes(nodes, r)
}

func readNodes(nodes proof.Nodes, r tlog.HashReader) ([]tlog.Hash, error) {
	at := make([]int64, len(nodes.IDs))
	for i, n := range nodes.IDs {
		at[i] = tlog.StoredHashIndex(int(n.Level), int64(n.Index))
	}
	hashes, err := r.ReadHashes(at)
	if err != nil {
		return nil, err
	}
	list := make([][]byte, len(hashes))
	for i := range hashes {
		list[i] = hashes[i][:]
	}
	out, err := nodes.Rehash(list, rfc6962.DefaultHasher.HashChildren)
	if err != nil {
		return nil, err
	}
	return toHashes(out), nil
}

func toHashes(list [][]byte) []tlog.Hash {
	out := make([]tlog.Hash, len(list))
	for i := range list {
		out[i] = tlog.Hash(list[i])
	}
	return out
}

// CheckExtension verifies that the tree of head begins with that of old.
func CheckExtension(old, head attestation.Head, p []tlog.Hash) error {
	if old.Size > head.Size || head.Size > maxSize || len(p) > MaxProof+1 {
		return fmt.Errorf("%w: sizes %d and %d, %d hashes", ErrProof, old.Size, head.Size, len(p))
	}
	if old.Size == 0 {
		if len(p) != 0 {
			return fmt.Errorf("%w: hashes for an empty tree", ErrProof)
		}
		return nil
	}
	list := make([][]byte, len(p))
	for i := range p {
		list[i] = p[i][:]
	}
	a, b := old.Root.Sum(), head.Root.Sum()
	if err := proof.VerifyConsistency(rfc6962.DefaultHasher, old.Size, head.Size, list, a[:], b[:]); err != nil {
		return fmt.Errorf("%w: size %d is no beginning of size %d", ErrProof, old.Size, head.Size)
	}
	return nil
}
