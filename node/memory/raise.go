package memory

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"trustnode/node/store"
)

// What an entry imposes reaches everything derived from it. A transaction takes
// so much and no more; the rest waits in a queue by place, and until that is
// empty nothing derived in the place matches anything:
//
//	hold/P        head and tail of the queue; there while something waits
//	hold/P/<n>    an entry whose children, from a number on, have to follow

// raise is one entry of the queue.
type raise struct {
	id   string
	from uint64 // number of the first child that has not followed
	// seal says that it could not carry what it had to: what is derived from it
	// goes into quarantine with it.
	seal bool
}

func (r raise) bytes() []byte {
	b := append(binary.BigEndian.AppendUint64(nil, r.from), 0)
	if r.seal {
		b[8] = 1
	}
	return append(b, r.id...)
}

func parseRaise(b []byte) (raise, error) {
	if len(b) < 9 || b[8] > 1 {
		return raise{}, errors.New("stored queue entry is malformed")
	}
	return raise{string(b[9:]), binary.BigEndian.Uint64(b), b[8] == 1}, nil
}

// Caps of what one transaction changes of descendants: of 4.5 MiB an Update
// may write, with what the change itself takes.
const (
	maxRaised      = 1000
	maxRaisedBytes = 2 << 20
)

// follow lets children follow their parents, breadth first, and returns what
// did not fit.
func (t *tagging) follow(todo []raise) (left []raise, err error) {
	for len(todo) > 0 && t.room() {
		r := todo[0]
		p, err := load(t.tx, t.in, r.id)
		if errors.Is(err, ErrNotFound) {
			todo = todo[1:]
			continue
		}
		if err != nil {
			return nil, err
		}
		t.todo = nil
		next, end, err := children(t.tx, t.in, r.id, r.from, func(c Entry) (bool, error) {
			if !t.room() {
				return false, nil
			}
			t.passed++
			return true, t.impose(t.e.imposed(p), c, r.seal)
		})
		if err != nil {
			return nil, err
		}
		if todo = todo[1:]; !end {
			todo = append([]raise{{r.id, next, r.seal}}, todo...)
		}
		todo = append(todo, t.todo...)
	}
	return todo, nil
}

func (t *tagging) room() bool { return t.passed < maxRaised && t.bytes < maxRaisedBytes }

// impose changes a child. One that has no room for what it has to carry goes
// into quarantine, with its class raised and all that is derived from it.
func (t *tagging) impose(i imposed, old Entry, seal bool) error {
	n := old
	i.on(&n)
	if n.checkLists() != nil {
		n.Tags, n.Subjects = withClass(old.Tags, higher(old.Class(), i.class)), old.Subjects
		seal = true
	}
	if seal && n.State == Active {
		n.State = Quarantined
	}
	if slices.Equal(n.Tags, old.Tags) && slices.Equal(n.Subjects, old.Subjects) && n.State == old.State {
		return nil
	}
	if seal {
		t.todo = append(t.todo, raise{id: n.ID, seal: true})
	}
	return t.save(old, n)
}

func (p Place) holdKey() []byte { return []byte("hold/" + p.String()) }

func (p Place) holdItem(n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(p.holdKey(), '/'), n)
}

// held reports whether what is derived in a place is held back.
func held(g Getter, in Place) (bool, error) {
	_, err := g.Get(in.holdKey())
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// queue is the span of numbers that wait.
type queue struct{ head, tail uint64 }

func loadQueue(g Getter, in Place) (q queue, err error) {
	b, err := g.Get(in.holdKey())
	if errors.Is(err, store.ErrNotFound) {
		return queue{}, nil
	}
	if err == nil && len(b) != 16 {
		err = fmt.Errorf("stored queue of %s is malformed", in)
	}
	if err != nil {
		return queue{}, err
	}
	return queue{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}, nil
}

func (q queue) store(tx store.Tx, in Place) error {
	if q.head == q.tail {
		return errors.Join(tx.Delete(in.holdKey()), changed(tx, in))
	}
	b := binary.BigEndian.AppendUint64(nil, q.head)
	return errors.Join(tx.Set(in.holdKey(), binary.BigEndian.AppendUint64(b, q.tail)), changed(tx, in))
}

// hold appends to the queue of a place.
func hold(tx store.Tx, in Place, rs []raise) error {
	q, err := loadQueue(tx, in)
	if err != nil {
		return err
	}
	for _, r := range rs {
		if err := tx.Set(in.holdItem(q.tail), r.bytes()); err != nil {
			return err
		}
		q.tail++
	}
	return q.store(tx, in)
}

// Settle does what Tag left: it returns when nothing in the place is held back
// any more. A crash between two of its transactions loses nothing.
func (e *Entries) Settle(ctx context.Context, in Place) error {
	if err := in.check(); err != nil {
		return err
	}
	for {
		more := false
		err := e.db.Update(ctx, func(tx store.Tx) (err error) {
			more, err = e.settleSome(tx, in)
			return err
		})
		if err != nil || !more {
			return err
		}
	}
}

// settleSome takes the first of the queue.
func (e *Entries) settleSome(tx store.Tx, in Place) (more bool, err error) {
	q, err := loadQueue(tx, in)
	if err != nil || q.head == q.tail {
		return false, err
	}
	v, err := tx.Get(in.holdItem(q.head))
	if err != nil {
		return false, err
	}
	r, err := parseRaise(v)
	if err != nil {
		return false, err
	}
	t := tagging{e: e, tx: tx, in: in, now: second(e.now())}
	left, err := t.follow([]raise{r})
	if err != nil {
		return false, err
	}
	if err := tx.Delete(in.holdItem(q.head)); err != nil {
		return false, err
	}
	q.head++
	if err := q.store(tx, in); err != nil {
		return false, err
	}
	if len(left) > 0 {
		err = hold(tx, in, left)
	}
	if err == nil && t.wasActive {
		err = raiseVis(tx, in)
	}
	return len(left) > 0 || q.head != q.tail, err
}

// Held lists the places in which Settle has something to do.
func (e *Entries) Held(ctx context.Context) ([]Place, error) {
	var out []Place
	const prefix = "hold/"
	err := e.db.View(ctx, func(r store.Reader) error {
		out = nil
		return r.Scan([]byte(prefix), nil, func(k, v []byte) bool {
			if p, err := ParsePlace(string(k[len(prefix):])); err == nil && len(v) == 16 {
				out = append(out, p)
			}
			return true
		})
	})
	return out, err
}
