package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"trustnode/attestation"
	"trustnode/did"
)

// MaxBranch is how many entry bytes are kept of a branch beside the held log: 64 MiB.
const MaxBranch = 64 << 20

// Branch is the run of entries [From, To) kept of another branch of a log; empty for none.
type Branch struct {
	From, To uint64
	Bytes    int
}

// Branch returns what is kept of another branch of the log of d.
func (e *Events) Branch(ctx context.Context, d did.DID) (Branch, error) {
	var b Branch
	err := e.eachBranched(ctx, d, func(i uint64, en attestation.Entry) error {
		if b.To == 0 {
			b.From = i
		}
		b.To, b.Bytes = i+1, b.Bytes+len(en)
		return nil
	})
	return b, err
}

// BranchEntries yields the entries kept of another branch of the log of d, in order.
func (e *Events) BranchEntries(ctx context.Context, d did.DID, yield func(uint64, attestation.Entry) error) error {
	return e.eachBranched(ctx, d, yield)
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
	have, err := e.Branch(ctx, d)
	if err != nil {
		return err
	}
	e.write.Lock()
	defer e.write.Unlock()
	s, ok := e.state(d)
	if !ok {
		return attestation.ErrNotFound
	}
	if have.To != 0 && have.To != at {
		return fmt.Errorf("%w: the branch of %s ends at %d, entries from %d", attestation.ErrConflict, d, have.To, at)
	}
	return e.db.Update(ctx, func(tx Tx) error {
		size := have.Bytes
		for i, en := range list {
			if size += len(en); size > MaxBranch {
				return nil
			}
			if err := tx.Set(indexKey(keyBranch, s.num, at+uint64(i)), en); err != nil {
				return err
			}
		}
		return nil
	})
}
