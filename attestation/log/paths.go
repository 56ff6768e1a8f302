package log

import "golang.org/x/mod/sumdb/tlog"

// Paths is a small tree that is held whole, each node hashed once: for more than one path.
type Paths struct{ levels []hashList }

// NewPaths hashes the tree over leaves.
func NewPaths(leaves []tlog.Hash) *Paths {
	t := &Paths{levels: []hashList{leaves}}
	for l := hashList(leaves); len(l) > 1; {
		up := make(hashList, len(l)/2)
		for i := range up {
			up[i] = tlog.NodeHash(l[2*i], l[2*i+1])
		}
		t.levels = append(t.levels, up)
		l = up
	}
	return t
}

// Path returns the inclusion path of leaf index.
func (t *Paths) Path(index uint64) ([]tlog.Hash, error) {
	return Include(index, uint64(len(t.levels[0])), t)
}

// ReadHashes implements tlog.HashReader.
func (t *Paths) ReadHashes(at []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(at))
	for i, x := range at {
		level, n := tlog.SplitStoredHashIndex(x)
		out[i] = t.levels[level][n]
	}
	return out, nil
}
