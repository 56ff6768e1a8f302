package memory

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"trustnode/federation/lending"
	"trustnode/node/store"
)

// Selector says what is forgotten: entries by id, or those that carry a
// subject, or all of these tags, whatever their state. Exactly one is given.
type Selector struct {
	IDs     []string
	Subject string // pseudonym
	Tags    []string
}

func (s Selector) check() error {
	given := 0
	for _, yes := range []bool{len(s.IDs) > 0, s.Subject != "", len(s.Tags) > 0} {
		if yes {
			given++
		}
	}
	if given != 1 {
		return invalid("selector", "either ids, a subject or tags")
	}
	for _, t := range s.Tags {
		if err := checkTag(t, true); err != nil {
			return err
		}
	}
	if s.Subject != "" && lending.CheckSubject(s.Subject) != nil {
		return invalid("subject", "not a pseudonym")
	}
	return nil
}

// picks says whether an entry is one of those selected, as it is now.
func (s Selector) picks(e Entry) bool {
	switch {
	case s.Subject != "":
		return slices.Contains(e.Subjects, s.Subject)
	case len(s.Tags) > 0:
		return containsAll(e.Tags, s.Tags)
	}
	return true
}

func containsAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(t string) bool { return !slices.Contains(have, t) })
}

// Forgotten says what Forget did.
type Forgotten struct {
	Erased int
	Absent []string // ids of a selector by id that the place does not have
}

const (
	// forgetBatch is how many entries one transaction forgets.
	forgetBatch = 128
	// forgetRounds bounds how often a selection is looked at anew while others
	// keep adding to it.
	forgetRounds = 1000
)

// Forget removes entries from a place: record, every revision, postings, word
// counts and what lists them, in transactions of some hundred each, and the
// answers kept in memory. Vis rises in each that removes an active entry. also
// is called in each transaction with what goes, to write the audit rows; it may
// run again, nil is allowed. When it returns nil, nothing in the place is
// selected any more, and what a raise had left for Settle is done; interrupted, it has forgotten a part, and running it again
// forgets the rest. Errors: *Invalid; store.ErrTooLarge where a single entry
// has too many revisions for one transaction.
func (e *Entries) Forget(ctx context.Context, in Place, sel Selector, also func(store.Tx, []Entry) error) (Forgotten, error) {
	if err := in.check(); err != nil {
		return Forgotten{}, err
	}
	if err := sel.check(); err != nil {
		return Forgotten{}, err
	}
	defer e.hot.clear()
	var out Forgotten
	for range forgetRounds {
		ids, err := e.selected(ctx, in, sel)
		if err != nil || len(ids) == 0 {
			return out, err
		}
		before := out.Erased
		for batch := range slices.Chunk(ids, forgetBatch) {
			if err := e.forgetBatch(ctx, in, sel, batch, also, &out); err != nil {
				return out, err
			}
		}
		if len(sel.IDs) > 0 || out.Erased == before {
			return out, nil
		}
	}
	return out, &coded{"unavailable", "entries are added as fast as they are forgotten"}
}

// selected lists candidates of a selection; which are forgotten is decided in
// the transaction.
func (e *Entries) selected(ctx context.Context, in Place, sel Selector) (ids []string, err error) {
	switch {
	case len(sel.IDs) > 0:
		return unique(sel.IDs), nil
	case sel.Subject != "":
		err = e.OfSubject(ctx, in.tenant, sel.Subject, in, func(_ Place, id string) bool {
			ids = append(ids, id)
			return true
		})
		return ids, errors.Join(err, ctx.Err())
	}
	err = e.db.View(ctx, func(r store.Reader) error {
		ids = nil
		lists := []string{sel.Tags[0], stateList(Quarantined), stateList(Superseded)}
		return everything(ctx, r, in, lists, func(c *card) {
			if containsAll(c.tags, sel.Tags) {
				ids = append(ids, c.id)
			}
		})
	})
	return ids, err
}

// forgetBatch forgets some in one transaction, or in halves where that would be
// too large.
func (e *Entries) forgetBatch(ctx context.Context, in Place, sel Selector, ids []string, also func(store.Tx, []Entry) error, out *Forgotten) error {
	var gone []Entry
	var absent []string
	err := e.whenSettled(ctx, in, func(tx store.Tx) (err error) {
		gone, absent, err = e.forgetSome(tx, in, sel, ids)
		if err != nil || len(gone) == 0 || also == nil {
			return err
		}
		return also(tx, gone)
	})
	if errors.Is(err, store.ErrTooLarge) && len(ids) > 1 {
		half := len(ids) / 2
		if err := e.forgetBatch(ctx, in, sel, ids[:half], also, out); err != nil {
			return err
		}
		return e.forgetBatch(ctx, in, sel, ids[half:], also, out)
	}
	if err != nil {
		return err
	}
	out.Erased += len(gone)
	if len(sel.IDs) > 0 {
		out.Absent = append(out.Absent, absent...)
	}
	return nil
}

// whenSettled runs an update of a place in which nothing is held back: what a
// raise has yet to read of an entry must not go before.
func (e *Entries) whenSettled(ctx context.Context, in Place, do func(store.Tx) error) error {
	for range forgetRounds {
		waits := false
		err := e.db.Update(ctx, func(tx store.Tx) (err error) {
			if waits, err = held(tx, in); err != nil || waits {
				return err
			}
			return do(tx)
		})
		if err != nil || !waits {
			return err
		}
		if err := e.Settle(ctx, in); err != nil {
			return err
		}
	}
	return &coded{"unavailable", "classes, tags and subjects are raised as fast as they settle"}
}

func (e *Entries) forgetSome(tx store.Tx, in Place, sel Selector, ids []string) (gone []Entry, absent []string, err error) {
	active := false
	for _, id := range ids {
		x, err := load(tx, in, id)
		if errors.Is(err, ErrNotFound) {
			absent = append(absent, id)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if !sel.picks(x) {
			continue
		}
		if err := erase(tx, x); err != nil {
			return nil, nil, err
		}
		active = active || x.State == Active
		gone = append(gone, x)
	}
	if active {
		err = raiseVis(tx, in)
	}
	return gone, absent, err
}

// ByPlace is a part of what one sweep looks at.
type ByPlace map[Place][]string

// Expired lists at most so many entries whose end has come, by place.
func (e *Entries) Expired(ctx context.Context, at int64, most int) (ByPlace, error) {
	out := ByPlace{}
	err := e.db.View(ctx, func(r store.Reader) error {
		clear(out)
		n := 0
		return r.Scan([]byte(expirySpace), nil, func(k, _ []byte) bool {
			rest := k[len(expirySpace):]
			if len(rest) < 8 || int64(binary.BigEndian.Uint64(rest)) > at || n == most {
				return false
			}
			if out.add(string(rest[8:])) {
				n++
			}
			return true
		})
	})
	return out, err
}

// OfLoan lists at most so many entries that were learnt under a permission.
func (e *Entries) OfLoan(ctx context.Context, perm string, most int) (ByPlace, error) {
	out := ByPlace{}
	prefix := loanSpace + perm + "/"
	err := e.db.View(ctx, func(r store.Reader) error {
		clear(out)
		n := 0
		return r.Scan([]byte(prefix), nil, func(k, _ []byte) bool {
			if n == most {
				return false
			}
			if out.add(string(k[len(prefix):])) {
				n++
			}
			return true
		})
	})
	return out, err
}

// Loans calls yield with each permission under which an entry was learnt.
func (e *Entries) Loans(ctx context.Context, yield func(perm string) bool) error {
	return e.db.View(ctx, func(r store.Reader) error {
		var after []byte
		for {
			perm := ""
			err := r.Scan([]byte(loanSpace), after, func(k, _ []byte) bool {
				perm, _, _ = strings.Cut(string(k[len(loanSpace):]), "/")
				return false
			})
			if err != nil || perm == "" {
				return err
			}
			if !yield(perm) || ctx.Err() != nil {
				return ctx.Err()
			}
			after = []byte(loanSpace + perm + "0") // "0" follows "/"
		}
	})
}

// add reads "place\0id".
func (b ByPlace) add(text string) bool {
	where, id, ok := strings.Cut(text, "\x00")
	in, err := ParsePlace(where)
	if ok = ok && err == nil; ok {
		b[in] = append(b[in], id)
	}
	return ok
}
