package memory

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"trustnode/node/store"
)

// Change is what the operator does to the metadata of entries. Adding a class
// replaces the one that is there; a class cannot be removed.
type Change struct {
	Add, Remove []string
	Release     bool // out of quarantine
}

// check returns the change with sorted lists.
func (c Change) check() (Change, error) {
	c.Add, c.Remove = unique(c.Add), unique(c.Remove)
	classed := 0
	for _, t := range c.Add {
		if err := checkTag(t, true); err != nil {
			return Change{}, err
		}
		if strings.HasPrefix(t, classPrefix) {
			classed++
		}
		if slices.Contains(c.Remove, t) {
			return Change{}, invalid("tags", "%q both added and removed", t)
		}
	}
	if classed > 1 {
		return Change{}, invalid("tags", "%d classes, one is allowed", classed)
	}
	for _, t := range c.Remove {
		if err := checkTag(t, true); err != nil {
			return Change{}, err
		}
		if strings.HasPrefix(t, classPrefix) {
			return Change{}, invalid("tags", "a class is replaced, not removed")
		}
	}
	if len(c.Add)+len(c.Remove) == 0 && !c.Release {
		return Change{}, invalid("change", "empty")
	}
	return c, nil
}

// on returns an entry's tags and state after the change.
func (c Change) on(e Entry) ([]string, State) {
	tags := slices.DeleteFunc(slices.Clone(e.Tags), func(t string) bool { return slices.Contains(c.Remove, t) })
	for _, t := range c.Add {
		if class, ok := strings.CutPrefix(t, classPrefix); ok {
			tags = withClass(tags, class)
			continue
		}
		tags = append(tags, t)
	}
	state := e.State
	if c.Release {
		state = Active
	}
	return unique(tags), state
}

// Tag changes entries of a place inside the caller's transaction and returns
// those that changed, in their new revision; a raised class raises what was
// derived from them too. Vis rises if one of them was active. Errors: *Invalid,
// ErrNotFound, ErrTooMany; store.ErrTooLarge if the transaction gets too big
// (TagAll splits).
func (e *Entries) Tag(tx store.Tx, in Place, ids []string, c Change) ([]Entry, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	c, err := c.check()
	if err != nil {
		return nil, err
	}
	t := tagging{tx: tx, in: in, now: second(e.now()), budget: maxRaised}
	for _, id := range ids {
		if err := t.change(id, c); err != nil {
			return nil, err
		}
	}
	if !t.wasActive {
		return t.changed, nil
	}
	return t.changed, raiseVis(tx, in)
}

// tagging is one Tag.
type tagging struct {
	tx        store.Tx
	in        Place
	now       time.Time
	budget    int
	wasActive bool
	changed   []Entry
}

func (t *tagging) change(id string, c Change) error {
	old, err := load(t.tx, t.in, id)
	if err != nil {
		return err
	}
	tags, state := c.on(old)
	if slices.Equal(tags, old.Tags) && state == old.State {
		return nil
	}
	e := old
	e.Tags, e.State, e.Rev, e.Updated = tags, state, old.Rev+1, t.now
	if err := e.checkLists(); err != nil {
		return err
	}
	t.wasActive = t.wasActive || old.State == Active
	t.changed = append(t.changed, e)
	if err := save(t.tx, &old, e); err != nil {
		return err
	}
	if higher(old.Class(), e.Class()) == old.Class() {
		return nil
	}
	return t.raise(e)
}

// raise gives what was derived from an entry at least its class.
func (t *tagging) raise(parent Entry) error {
	ids, err := children(t.tx, t.in, parent.ID)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if t.budget--; t.budget < 0 {
			return ErrTooMany
		}
		child, err := load(t.tx, t.in, id)
		if err != nil {
			return err
		}
		if higher(child.Class(), parent.Class()) == child.Class() {
			continue
		}
		if err := t.change(id, Change{Add: []string{classPrefix + parent.Class()}}); err != nil {
			return err
		}
	}
	return nil
}

// tagBatch is how many entries TagAll tries to change in one transaction.
const tagBatch = 256

// TagAll changes every active and quarantined entry of a place, or with
// release and nothing else those in quarantine, in transactions of a few
// hundred each. also is called in each transaction with what changed, and
// writes the audit rows; nil is allowed. It returns how many entries changed.
// A second run goes on where a first one failed.
func (e *Entries) TagAll(ctx context.Context, in Place, c Change, also func(store.Tx, []Entry) error) (int, error) {
	c, err := c.check()
	if err != nil {
		return 0, err
	}
	ids, err := e.targets(ctx, in, c)
	if err != nil {
		return 0, err
	}
	total := 0
	for batch := range slices.Chunk(ids, tagBatch) {
		n, err := e.tagBatch(ctx, in, batch, c, also)
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}

// targets lists the ids first: the changes move entries between lists.
func (e *Entries) targets(ctx context.Context, in Place, c Change) ([]string, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	lists := []string{stateList(Quarantined)}
	if len(c.Add)+len(c.Remove) > 0 {
		lists = append(lists, stateList(Active))
	}
	var ids []string
	err := e.db.View(ctx, func(r store.Reader) error {
		ids = nil
		w := walk(ctx, r, in, lists, span{})
		for {
			p, err := w.step()
			if err != nil || p == nil {
				return err
			}
			ids = append(ids, p.id)
		}
	})
	return ids, err
}

// tagBatch changes entries in one transaction, or in halves where one would be
// too large.
func (e *Entries) tagBatch(ctx context.Context, in Place, ids []string, c Change, also func(store.Tx, []Entry) error) (int, error) {
	n := 0
	err := e.db.Update(ctx, func(tx store.Tx) error {
		changed, err := e.Tag(tx, in, ids, c)
		if n = len(changed); err != nil || n == 0 || also == nil {
			return err
		}
		return also(tx, changed)
	})
	if err == nil {
		return n, nil
	}
	if !errors.Is(err, store.ErrTooLarge) || len(ids) == 1 {
		return 0, err
	}
	half := len(ids) / 2
	first, err := e.tagBatch(ctx, in, ids[:half], c, also)
	if err != nil {
		return first, err
	}
	second, err := e.tagBatch(ctx, in, ids[half:], c, also)
	return first + second, err
}
