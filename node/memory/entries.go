package memory

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

	"trustnode/node/store"
)

// Entries is the memory of a node, all places of it. It is safe for concurrent
// use. Beside the database it holds answers given lately, which are used only
// while the place is what it was.
type Entries struct {
	db     store.DB
	now    func() time.Time
	sticky []string // tags that go to what is derived
	ranker Ranker
	hot    *hot
}

// New returns the memory kept in db, the node's state. now gives the time of
// ingestion.
func New(db store.DB, now func() time.Time) *Entries {
	return &Entries{db: db, now: now, sticky: []string{"confidential"}, ranker: BM25{}, hot: newHot(hotBytes)}
}

// Stick sets the tags that go to what is derived from an entry; [confidential]
// where it is not called. It is called before the first use, never beside it.
func (e *Entries) Stick(tags []string) error {
	for _, t := range tags {
		if err := checkTag(t, false); err != nil {
			return err
		}
	}
	e.sticky = unique(tags)
	return nil
}

// Put makes an entry of a draft inside the caller's transaction. What is an
// addition never raises Vis; what supersedes an active entry does. Errors:
// *Invalid, which names the field; ErrNotFound for a parent or a superseded
// entry that is not in the writer's place; ErrSuperseded.
func (e *Entries) Put(tx store.Tx, by Writer, d Draft) (Entry, error) {
	if err := by.place.check(); err != nil {
		return Entry{}, err
	}
	n, err := ingest(by, d, e.now())
	if err != nil {
		return Entry{}, err
	}
	if err := e.inherit(tx, &n); err != nil {
		return Entry{}, err
	}
	if err := e.supersede(tx, by, &n); err != nil {
		return Entry{}, err
	}
	if err := n.checkLists(); err != nil {
		return Entry{}, err
	}
	if err := save(tx, nil, n); err != nil {
		return Entry{}, err
	}
	return n, linkParents(tx, n)
}

// supersede takes the entry that n corrects out of every scope. The correction
// has at least its class, sticky tags and subjects. An agent corrects what it
// wrote itself; the operator corrects anything.
func (e *Entries) supersede(tx store.Tx, by Writer, n *Entry) error {
	if n.Supersedes == "" {
		return nil
	}
	old, err := load(tx, n.Place, n.Supersedes)
	if err != nil {
		return err
	}
	if by.surface != ByOperator && old.Writer != by.who {
		return ErrNotFound // another's entry
	}
	if old.State == Superseded {
		return ErrSuperseded
	}
	e.imposed(old).on(n)
	was := old
	old.State, old.SupersededBy, old.Rev, old.Updated = Superseded, n.ID, old.Rev+1, n.Created
	if err := save(tx, &was, old); err != nil || was.State != Active {
		return err
	}
	return raiseVis(tx, n.Place)
}

// Get returns an entry of a place, or ErrNotFound.
func (e *Entries) Get(ctx context.Context, in Place, id string) (Entry, error) {
	if err := in.check(); err != nil {
		return Entry{}, err
	}
	var out Entry
	err := e.db.View(ctx, func(r store.Reader) (err error) {
		out, err = load(r, in, id)
		return err
	})
	if err != nil {
		return Entry{}, err
	}
	return out, nil
}

// Filter selects entries for the operator's eyes.
type Filter struct {
	State State  // zero: active
	Tag   string // empty: any; only active entries can be asked for by tag
	After *Entry // the last entry of the page before
	Limit int    // 0 or more than MaxList: MaxList
}

// List returns entries of one state, newest first.
func (e *Entries) List(ctx context.Context, in Place, f Filter) ([]Entry, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if f.State == 0 {
		f.State = Active
	}
	list := stateList(f.State)
	if f.Tag != "" {
		if list = f.Tag; f.State != Active {
			return nil, invalid("tag", "only active entries are listed by tag")
		}
		if err := checkTag(f.Tag, true); err != nil {
			return nil, err
		}
	}
	if f.Limit <= 0 || f.Limit > MaxList {
		f.Limit = MaxList
	}
	var out []Entry
	err := e.db.View(ctx, func(r store.Reader) (err error) {
		out, err = page(ctx, r, in, list, f)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Review lists entries that are active and were to be looked at again by a
// moment, the longest overdue first, at most limit of them (0 or more than
// MaxList: MaxList).
func (e *Entries) Review(ctx context.Context, in Place, at time.Time, limit int) ([]Entry, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if limit <= 0 || limit > MaxList {
		limit = MaxList
	}
	var out []Entry
	prefix := in.key("rv", "")
	err := e.db.View(ctx, func(r store.Reader) error {
		out = nil
		var failed error
		err := r.Scan(prefix, nil, func(k, _ []byte) bool {
			rest := k[len(prefix):]
			if len(rest) < 8 || len(out) == limit || int64(binary.BigEndian.Uint64(rest)) > at.Unix() || ctx.Err() != nil {
				return false
			}
			x, err := load(r, in, string(rest[8:]))
			if failed = err; err == nil && x.State == Active {
				out = append(out, x)
			}
			return err == nil
		})
		return errors.Join(err, failed, ctx.Err())
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func page(ctx context.Context, r store.Reader, in Place, list string, f Filter) (out []Entry, err error) {
	var s span
	if f.After != nil {
		s.after = position(f.After.Created, f.After.ID)
	}
	w := walk(ctx, r, in, []string{list}, s)
	for len(out) < f.Limit {
		c, err := w.step()
		if err != nil {
			return nil, err
		}
		if c == nil {
			break
		}
		e, err := load(r, in, c.id)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// sortedKeys returns the members of a set in order, nil for none.
func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
