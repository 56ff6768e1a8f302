package log

import (
	"golang.org/x/mod/sumdb/tlog"

	"trustnode/did/envelope"
)

// Leaves returns the RFC 6962 leaf hashes of a list of byte strings.
func Leaves[B ~[]byte](list []B) []tlog.Hash {
	out := make([]tlog.Hash, len(list))
	for i := range list {
		out[i] = tlog.RecordHash(list[i])
	}
	return out
}

// IDLeaves returns the leaf hashes of a list of ids: each leaf is the id's
// text, in the order given.
func IDLeaves(ids []envelope.ID) []tlog.Hash {
	out := make([]tlog.Hash, len(ids))
	for i := range ids {
		out[i] = tlog.RecordHash([]byte(ids[i].String()))
	}
	return out
}

// RootOf returns the RFC 6962 root over leaf hashes.
func RootOf(leaves []tlog.Hash) envelope.ID {
	r := NewRange(0)
	for _, l := range leaves {
		if err := r.Append(l); err != nil {
			panic(err) // 32 bytes, growing by one
		}
	}
	root, err := r.Root()
	if err != nil {
		panic(err) // the range begins at 0
	}
	return root
}

// PathOf returns the inclusion path of leaf index in the tree over leaves.
func PathOf(leaves []tlog.Hash, index uint64) ([]tlog.Hash, error) {
	return Include(index, uint64(len(leaves)), hashList(leaves))
}

// hashList reads the hashes of a tree that is held as its leaves alone.
type hashList []tlog.Hash

// ReadHashes implements tlog.HashReader.
func (l hashList) ReadHashes(at []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(at))
	for i, x := range at {
		level, n := tlog.SplitStoredHashIndex(x)
		out[i] = l.node(level, n)
	}
	return out, nil
}

func (l hashList) node(level int, n int64) tlog.Hash {
	if level == 0 {
		return l[n]
	}
	return tlog.NodeHash(l.node(level-1, 2*n), l.node(level-1, 2*n+1))
}
