package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
)

// MaxBranch is how many entry bytes are kept of a branch beside the held log: 64 MiB.
const MaxBranch = 64 << 20

// Branch is the run of entries [From, To) kept of another branch of a log; empty for none.
type Branch struct {
	From, To uint64
	Bytes    int
	tree     attlog.Range // over them
}

// Full reports whether there may be no room for one more entry.
func (b Branch) Full() bool { return b.Bytes > MaxBranch-attestation.MaxEntry }

// Tree is the compact range [0, To) of the branch, where shared is [0, From), which both
// branches have. It changes neither.
func (b Branch) Tree(shared attlog.Range) (attlog.Range, error) {
	out := shared.Clone()
	return out, out.Join(b.tree)
}

// with is b and one entry more. It leaves b as it is but for its tree.
func (b Branch) with(at uint64, en attestation.Entry) (Branch, error) {
	if b.To == 0 {
		b = Branch{From: at, To: at, tree: attlog.NewRange(at)}
	}
	b.To, b.Bytes = b.To+1, b.Bytes+len(en)
	return b, b.tree.Append(en.Hash())
}

// Branch returns what is kept of another branch of the log of d; the entries are read for it
// once only.
func (e *Events) Branch(ctx context.Context, d did.DID) (b Branch, err error) {
	e.mu.RLock()
	b, known := e.branches[d]
	was := e.branched
	e.mu.RUnlock()
	if known {
		return b, nil
	}
	err = e.eachBranched(ctx, d, func(i uint64, en attestation.Entry) error {
		var err error
		b, err = b.with(i, en)
		return err
	})
	if err != nil {
		return Branch{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, held := e.logs[d]; held && e.branched == was { // else it may have changed while it was read
		e.branches[d] = b
	}
	return b, nil
}

// setBranch takes in that the branch of a log is another now; nil: as it will be read.
func (e *Events) setBranch(d did.DID, b *Branch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.branched++
	delete(e.branches, d)
	if b != nil {
		e.branches[d] = *b
	}
}

// BranchEntries yields the entries kept of another branch of the log of d, in order.
func (e *Events) BranchEntries(ctx context.Context, d did.DID, yield func(uint64, attestation.Entry) error) error {
	return e.eachBranched(ctx, d, yield)
}

// BranchRun returns the entries [from, to) kept of another branch of the log of d;
// attestation.ErrNotFound where one of them is not.
func (e *Events) BranchRun(ctx context.Context, d did.DID, from, to uint64) (out []attestation.Entry, err error) {
	s, ok := e.state(d)
	if !ok {
		return nil, attestation.ErrNotFound
	}
	err = e.db.View(ctx, func(r Reader) error {
		for i := from; i < to; i++ {
			b, err := r.Get(indexKey(keyBranch, s.num, i))
			if errors.Is(err, ErrNotFound) {
				return attestation.ErrNotFound
			}
			if err != nil {
				return err
			}
			out = append(out, bytes.Clone(b))
		}
		return nil
	})
	return out, err
}

func (e *Events) eachBranched(ctx context.Context, d did.DID, yield func(uint64, attestation.Entry) error) error {
	s, ok := e.state(d)
	if !ok {
		return nil
	}
	var bad error
	err := e.db.View(ctx, func(r Reader) error {
		return r.Scan(logKey(keyBranch, s.num), nil, func(k, v []byte) bool {
			bad = yield(binary.BigEndian.Uint64(k[len(k)-8:]), bytes.Clone(v))
			return bad == nil
		})
	})
	if bad != nil {
		return bad
	}
	return err
}

// KeepBranch keeps entries of another branch from index at on, which must be where what is
// kept of it ends, if anything is: as many as fit into MaxBranch.
func (e *Events) KeepBranch(ctx context.Context, d did.DID, at uint64, list []attestation.Entry) error {
	now, err := e.Branch(ctx, d)
	if err != nil {
		return err
	}
	e.write.Lock()
	defer e.write.Unlock()
	s, ok := e.state(d)
	if !ok {
		return attestation.ErrNotFound
	}
	if now.To != 0 && now.To != at {
		return fmt.Errorf("%w: the branch of %s ends at %d, entries from %d", attestation.ErrConflict, d, now.To, at)
	}
	for full := false; len(list) > 0 && !full; {
		part := firstRun(list)
		if now, err = e.keepRun(ctx, s.num, now, at, part); err != nil {
			e.setBranch(d, nil)
			return err
		}
		list, at = list[len(part):], at+uint64(len(part))
		full = now.To < at
		if now.Bytes > 0 {
			e.setBranch(d, &now)
		}
	}
	return nil
}

// keepRun adds as many entries from index at on as fit, in one transaction.
func (e *Events) keepRun(ctx context.Context, num uint32, have Branch, at uint64, list []attestation.Entry) (now Branch, err error) {
	err = e.db.Update(ctx, func(tx Tx) error {
		if now = have; now.To != 0 {
			now.tree = have.tree.Clone() // the transaction may run twice, and others read it
		}
		for i, en := range list {
			if now.Bytes+len(en) > MaxBranch {
				break
			}
			if err := tx.Set(indexKey(keyBranch, num, at+uint64(i)), en); err != nil {
				return err
			}
			var err error
			if now, err = now.with(at, en); err != nil {
				return err
			}
		}
		return nil
	})
	return now, err
}

// firstRun returns as many entries as one transaction takes.
func firstRun(list []attestation.Entry) []attestation.Entry {
	size := 0
	for i, en := range list {
		if size += len(en); i > 0 && size > attestation.MaxBatchBytes {
			return list[:i]
		}
	}
	return list
}
