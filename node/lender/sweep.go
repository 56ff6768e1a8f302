package lender

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Run sweeps at once and then each minute until ctx ends, and returns its error: loans
// that ended get their event, also those a crash left without one; denied acts that
// waited for their hour are told; nonces nobody can use any more are forgotten; who read
// what is taken up from the audit rows.
func (l *Lender) Run(ctx context.Context) error {
	t := time.NewTicker(sweepEvery)
	defer t.Stop()
	for {
		if err := l.sweep(ctx); err != nil && ctx.Err() == nil {
			l.n.Log.WarnContext(ctx, "a sweep over loans was not finished", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
}

// sweep does all that is due. Without trusted time nothing is.
func (l *Lender) sweep(ctx context.Context) error {
	at, trusted := l.clock()
	if !trusted {
		return nil
	}
	return errors.Join(l.sweepLoans(ctx, at), l.sweepBreaches(ctx, at), l.sweepNonces(ctx, at), l.sweepMemory(ctx, at), l.sweepRows(ctx, at), l.sweepAsks(ctx, at), l.sweepGrowth(ctx, at), l.sweepTiers(ctx, at))
}

// sweepLoans ends what is over. One loan that cannot be looked at keeps no other from it.
func (l *Lender) sweepLoans(ctx context.Context, at time.Time) error {
	ids, err := l.scanIDs(ctx, keyOpen, MaxLoans)
	if err != nil {
		return err
	}
	var all error
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.sweepLoan(ctx, id, at); err != nil {
			all = errors.Join(all, fmt.Errorf("loan %s: %w", id, err))
		}
	}
	return all
}

func (l *Lender) sweepLoan(ctx context.Context, id envelope.ID, at time.Time) error {
	k, err := l.permission(ctx, id)
	if err != nil {
		return err
	}
	cause, err := l.over(ctx, k, at)
	if err != nil || cause == "" {
		return err
	}
	return l.end(ctx, k, cause)
}

// over says what ended a loan for good; "" while nothing did. Each cause is final, so
// that a snapshot is enough to see it.
func (l *Lender) over(ctx context.Context, k *known, at time.Time) (string, error) {
	var st lending.State
	var lender self.AgentRow
	err := l.n.DB.View(ctx, func(r store.Reader) (err error) {
		st, lender, err = l.load(r, k, moment{at: at, trusted: true})
		return err
	})
	if err != nil {
		return "", err
	}
	if lender.Revoked {
		return string(lending.Revoked), nil
	}
	switch s := st.PermState(k.perm.Body(), at); s {
	case lending.Revoked, lending.Expired, lending.Exhausted:
		return string(s), nil
	}
	return "", nil
}

func (l *Lender) sweepBreaches(ctx context.Context, at time.Time) error {
	keys, err := l.scan(ctx, keyBreach, func(_, v []byte) bool {
		var b breachRow
		return envelope.Unmarshal(v, &b) == nil && b.due(at)
	})
	if err != nil {
		return err
	}
	for _, key := range keys {
		perm, class, _ := strings.Cut(strings.TrimPrefix(string(key), keyBreach), "/")
		id, err := envelope.ParseID(perm)
		if err != nil {
			return err
		}
		err = l.n.DB.Update(ctx, func(tx store.Tx) error {
			b, _, err := store.GetRow[breachRow](tx, key)
			if err != nil || !b.due(at) {
				return err
			}
			return l.tell(tx, key, id, class, b, at)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *Lender) sweepNonces(ctx context.Context, at time.Time) error {
	old := func(v []byte) bool { return len(v) >= 8 && int64(binary.BigEndian.Uint64(v)) <= at.Unix() }
	for {
		keys, err := l.scan(ctx, keyNonce, func(_, v []byte) bool { return old(v) })
		if err != nil || len(keys) == 0 {
			return err
		}
		err = l.n.DB.Update(ctx, func(tx store.Tx) error {
			for _, k := range keys {
				v, err := tx.Get(k)
				if errors.Is(err, store.ErrNotFound) {
					continue
				}
				if err == nil && old(v) {
					err = tx.Delete(k)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// scan lists at most sweepBatch keys under a prefix that want says yes to.
func (l *Lender) scan(ctx context.Context, prefix string, want func(k, v []byte) bool) ([][]byte, error) {
	var out [][]byte
	err := l.n.DB.View(ctx, func(r store.Reader) error {
		out = nil
		return r.Scan([]byte(prefix), nil, func(k, v []byte) bool {
			if want(k, v) {
				out = append(out, bytes.Clone(k))
			}
			return len(out) < sweepBatch
		})
	})
	return out, err
}

// sweepTiers moves content between its tiers, once an hour; a turn that failed is made up for
// by the next sweep.
func (l *Lender) sweepTiers(ctx context.Context, at time.Time) error {
	if !l.rested.IsZero() && at.Sub(l.rested) < restEvery {
		return nil
	}
	if err := l.n.Entries.Rest(ctx, at); err != nil {
		return err
	}
	l.rested = at
	return nil
}

// sweepRows takes up who read what before the salts of forgotten answers go: with them goes
// whom an answer was about.
func (l *Lender) sweepRows(ctx context.Context, at time.Time) error {
	if err := l.indexReaders(ctx); err != nil {
		return err
	}
	return errors.Join(l.sweepSalts(ctx, at), l.sweepSides(ctx))
}
