package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"trustnode/federation/lending"
	"trustnode/node/store"
)

// Change is what the operator does to the metadata of entries. Adding a class
// replaces the one that is there; a class cannot be removed.
type Change struct {
	Add, Remove                 []string // tags
	AddSubjects, RemoveSubjects []string // pseudonyms
	Release                     bool     // out of quarantine
	Quarantine                  bool     // into it
}

// check returns the change with sorted lists.
func (c Change) check() (Change, error) {
	c.Add, c.Remove = unique(c.Add), unique(c.Remove)
	c.AddSubjects, c.RemoveSubjects = unique(c.AddSubjects), unique(c.RemoveSubjects)
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
	for _, s := range slices.Concat(c.AddSubjects, c.RemoveSubjects) {
		if err := lending.CheckSubject(s); err != nil {
			return Change{}, invalid("subjects", "%v", err)
		}
	}
	if c.Release && c.Quarantine {
		return Change{}, invalid("change", "both into quarantine and out of it")
	}
	if !c.marks() && !c.Release && !c.Quarantine {
		return Change{}, invalid("change", "empty")
	}
	return c, nil
}

// marks reports whether tags or subjects change.
func (c Change) marks() bool {
	return len(c.Add)+len(c.Remove)+len(c.AddSubjects)+len(c.RemoveSubjects) > 0
}

// on makes the change.
func (c Change) on(e *Entry) {
	out := func(list []string) func(string) bool {
		return func(s string) bool { return slices.Contains(list, s) }
	}
	tags := slices.DeleteFunc(slices.Clone(e.Tags), out(c.Remove))
	for _, t := range c.Add {
		if class, ok := strings.CutPrefix(t, classPrefix); ok {
			tags = withClass(tags, class)
			continue
		}
		tags = append(tags, t)
	}
	e.Tags = unique(tags)
	e.Subjects = unique(append(slices.DeleteFunc(slices.Clone(e.Subjects), out(c.RemoveSubjects)), c.AddSubjects...))
	switch {
	case c.Release && e.State == Quarantined:
		e.State = Active
	case c.Quarantine && e.State == Active:
		e.State = Quarantined
	}
}

// Tag changes entries of a place inside the caller's transaction and returns
// those that changed, in their new revision; a raised class, a sticky tag or a
// subject goes to what was derived from them too. Where that is more than one
// transaction takes, everything derived in the place is held back from every
// scope until Settle has done the rest. Vis rises if one of them was active.
// Errors: *Invalid, ErrNotFound; store.ErrTooLarge if the transaction gets too
// big (TagAll splits).
func (e *Entries) Tag(tx store.Tx, in Place, ids []string, c Change) ([]Entry, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	c, err := c.check()
	if err != nil {
		return nil, err
	}
	t := tagging{e: e, tx: tx, in: in, now: second(e.now())}
	for _, id := range ids {
		if err := t.change(id, c); err != nil {
			return nil, err
		}
	}
	return t.changed, t.finish()
}

// tagging is one Tag, or a part of what one left to Settle.
type tagging struct {
	e         *Entries
	tx        store.Tx
	in        Place
	now       time.Time
	wasActive bool
	bytes     int
	passed    int // descendants changed or held to be right
	changed   []Entry
	todo      []raise
}

func (t *tagging) change(id string, c Change) error {
	old, err := load(t.tx, t.in, id)
	if err != nil {
		return err
	}
	n := old
	c.on(&n)
	if slices.Equal(n.Tags, old.Tags) && slices.Equal(n.Subjects, old.Subjects) && n.State == old.State {
		return nil
	}
	if err := n.checkLists(); err != nil {
		return err
	}
	if c.marks() || n.State != old.State && n.State == Active {
		if err := t.e.keeps(t.tx, n); err != nil {
			return err
		}
	}
	return t.save(old, n)
}

// save writes a new revision, and notes that what was derived from it has to
// follow.
func (t *tagging) save(old, n Entry) error {
	n.Rev, n.Updated = old.Rev+1, t.now
	t.wasActive = t.wasActive || old.State == Active
	t.changed = append(t.changed, n)
	t.bytes += n.weight()
	if n.cold {
		t.bytes += 2 * maxBlockBytes // the block is taken apart
	}
	if !t.e.imposed(n).within(t.e.imposed(old)) {
		t.todo = append(t.todo, raise{id: n.ID})
	}
	return save(t.tx, &old, n)
}

// weight is about what save writes of an entry, in bytes.
func (e Entry) weight() int {
	text := len(e.Statement) + len(e.Data)*4/3 + 1024
	return 2*text + (len(e.Tags)+2)*(len(e.card())+128)
}

// finish lets what is derived follow, and raises Vis if anything could have
// left a scope.
func (t *tagging) finish() error {
	left, err := t.follow(t.todo)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		if err := hold(t.tx, t.in, left); err != nil {
			return err
		}
		t.wasActive = true
	}
	if !t.wasActive {
		return nil
	}
	return raiseVis(t.tx, t.in)
}

// tagBatch is how many entries TagAll tries to change in one transaction.
const tagBatch = 256

// TagAll changes every active and quarantined entry of a place, or with
// release and nothing else those in quarantine, in transactions of a few
// hundred each. also is called in each transaction with what changed, and
// writes the audit rows; nil is allowed. It returns how many entries changed.
// A second run goes on where a first one failed. Of a release the entries that
// cannot leave quarantine stay there, and the first refusal is returned after
// all others are released.
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
	var first error
	for batch := range slices.Chunk(ids, tagBatch) {
		n, err := e.tagBatch(ctx, in, batch, c, also)
		total, first = total+n, cmp.Or(first, err)
		var refused *Invalid
		if err != nil && (!c.Release || !errors.As(err, &refused)) {
			return total, err
		}
	}
	return total, first
}

// targets lists the ids first: the changes move entries between lists.
func (e *Entries) targets(ctx context.Context, in Place, c Change) ([]string, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	lists := []string{stateList(Quarantined)}
	if c.marks() || c.Quarantine {
		lists = append(lists, stateList(Active))
	}
	var ids []string
	err := e.db.View(ctx, func(r store.Reader) error {
		ids = nil
		return everything(ctx, r, in, lists, func(c *card) { ids = append(ids, c.id) })
	})
	return ids, err
}

// everything calls yield with each posting of some lists.
func everything(ctx context.Context, r store.Reader, in Place, lists []string, yield func(*card)) error {
	w := walk(ctx, r, in, lists, span{})
	for {
		c, err := w.step()
		if err != nil || c == nil {
			return err
		}
		yield(c)
	}
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
	var refused *Invalid
	apart := c.Release && errors.As(err, &refused) // one that stays keeps no other in quarantine
	if !errors.Is(err, store.ErrTooLarge) && !apart || len(ids) == 1 {
		return 0, err
	}
	half := len(ids) / 2
	first, err := e.tagBatch(ctx, in, ids[:half], c, also)
	if err != nil && (!c.Release || !errors.As(err, &refused)) {
		return first, err
	}
	second, err2 := e.tagBatch(ctx, in, ids[half:], c, also)
	return first + second, cmp.Or(err, err2)
}
