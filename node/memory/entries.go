package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"trustnode/node/store"
)

// Entries is the memory of a node, all places of it. It holds no state of its
// own and is safe for concurrent use.
type Entries struct {
	db  store.DB
	now func() time.Time
}

// New returns the memory kept in db, the node's state. now gives the time of
// ingestion.
func New(db store.DB, now func() time.Time) *Entries {
	return &Entries{db: db, now: now}
}

// Put makes an entry of a draft inside the caller's transaction. What is an
// addition never raises Vis. Errors: *Invalid, which names the field;
// ErrNotFound for a parent that is not in the writer's place.
func (e *Entries) Put(tx store.Tx, by Writer, d Draft) (Entry, error) {
	if err := by.place.check(); err != nil {
		return Entry{}, err
	}
	n, err := ingest(by, d, e.now())
	if err != nil {
		return Entry{}, err
	}
	if err := inherit(tx, &n); err != nil {
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
