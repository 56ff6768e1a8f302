package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/federation/lending"
	"trustnode/node/store"
)

// Query is what a reader asks beside the scope.
type Query struct {
	Limit  int    // 1..MaxLimit; 0 is DefaultLimit
	Cursor string // Cursor of the page before; empty at the start
	// Bind is what a cursor must not leave: a permission's id, say. The place
	// and the scope bind it anyway.
	Bind string
	// Count asks for the number of all matches too, which costs a walk over
	// every candidate.
	Count bool
	// Text orders the matches by how well they answer it, 1 to MaxQuery bytes;
	// empty: newest first.
	Text string
	// Asker is the own agent that asks for itself: what is personal or regulated
	// and not its own is counted in Found.Withheld, and not shown. Zero: a loan,
	// whose scope was judged when it was issued.
	Asker did.DID
}

// Found is what an evaluation saw on one snapshot.
type Found struct {
	lending.Found
	Views [][]byte // RFC 8785 bytes of each of Refs
	Total int      // all matches, where Query.Count asked for it
	// Withheld is how many matches were not shown to Query.Asker.
	Withheld int
}

// Find evaluates a scope on current state: the active, unexpired entries of
// the place that match at time at, newest first, then by id. The answer ends
// at the limit or at lending.MaxEntriesBytes of views with their separators;
// Cursor is empty where nothing follows. With Query.Text the order is that of
// the ranker, and there is no cursor. Vis was read from the same snapshot.
// Errors: *Invalid, ErrCursor, ErrTooMany.
func (e *Entries) Find(ctx context.Context, in Place, s lending.Scope, q Query, at time.Time) (Found, error) {
	v, err := newEvaluation(in, s, q, at)
	if err != nil {
		return Found{}, err
	}
	if q.Text != "" {
		return e.ranked(ctx, v)
	}
	question := question{in, s.String(), v.q.Limit, string(v.after), q.Bind}
	known, turn := e.hot.get(question)
	if q.Count {
		known = nil
	}
	var w *warm
	err = e.db.View(ctx, func(r store.Reader) error {
		v.out, w = Found{}, nil
		if v.out.Vis, err = visible(r, v.in); err != nil {
			return err
		}
		n, err := getNumber(r, in.changesKey())
		if err != nil {
			return err
		}
		if known != nil && known.vis == v.out.Vis && known.changes == n && known.fits(s, at) {
			v.out = known.out.copy()
			return nil
		}
		w = &warm{q: question, vis: v.out.Vis, changes: n, at: at}
		return v.run(ctx, r, w)
	})
	if err != nil {
		return Found{}, err
	}
	if w != nil {
		for _, ref := range v.out.Refs {
			e.touched.add(in, ref.Entry)
		}
	}
	if w != nil && !q.Count {
		w.out = v.out.copy()
		e.hot.put(w, turn)
	}
	return v.out, nil
}

// copy returns f with lists of its own; the views are shared and never change.
func (f Found) copy() Found {
	f.Refs, f.Views, f.Subjects = slices.Clone(f.Refs), slices.Clone(f.Views), slices.Clone(f.Subjects)
	return f
}

// evaluation is one Find.
type evaluation struct {
	in      Place
	s       lending.Scope
	q       Query
	at      time.Time
	after   []byte
	bytes   int
	out     Found
	subject map[string]bool
}

func newEvaluation(in Place, s lending.Scope, q Query, at time.Time) (*evaluation, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if s.IsZero() {
		return nil, invalid("scope", "missing")
	}
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	if q.Limit < 1 || q.Limit > MaxLimit {
		return nil, invalid("limit", "%d, 1 to %d are allowed", q.Limit, MaxLimit)
	}
	if len(q.Text) > lending.MaxQuery || q.Text != "" && q.Cursor != "" {
		return nil, invalid("query", "%d bytes, at most %d, and no cursor", len(q.Text), lending.MaxQuery)
	}
	v := &evaluation{in: in, s: s, q: q, at: at}
	if q.Cursor != "" {
		after, err := v.openCursor(q.Cursor)
		if err != nil {
			return nil, err
		}
		v.after = after
	}
	return v, nil
}

func (v *evaluation) run(ctx context.Context, r store.Reader, w *warm) error {
	last, full := "", false
	err := candidates(ctx, r, v.in, v.s, v.at, v.after, !v.q.Asker.IsZero(), func(c *card) (bool, error) {
		if ok, err := v.mayShow(r, c); err != nil || !ok {
			return true, err
		}
		v.out.Total++
		if full {
			return v.q.Count, nil
		}
		took, err := v.take(r, c)
		if err != nil {
			return false, err
		}
		w.cards = append(w.cards, c.clone())
		if !took {
			full = true
			v.out.Cursor = v.cursor(last)
			return v.q.Count, nil
		}
		last = c.position
		return true, nil
	})
	if err != nil {
		return err
	}
	return v.finish(ctx, r)
}

// finish counts what lies before the cursor and lists the subjects.
func (v *evaluation) finish(ctx context.Context, r store.Reader) error {
	v.out.Subjects = sortedKeys(v.subject)
	if !v.q.Count {
		v.out.Total = 0
		return nil
	}
	if v.after == nil {
		return nil
	}
	v.out.Total, v.out.Withheld = 0, 0
	return candidates(ctx, r, v.in, v.s, v.at, nil, !v.q.Asker.IsZero(), func(c *card) (bool, error) {
		ok, err := v.mayShow(r, c)
		if ok {
			v.out.Total++
		}
		return true, err
	})
}

// take adds a match to the answer and reports false if there is no room.
func (v *evaluation) take(r store.Reader, c *card) (bool, error) {
	if len(v.out.Refs) == v.q.Limit {
		return false, nil
	}
	view, err := view(r, v.in, c.id, c.rev)
	if err != nil {
		return false, err
	}
	if v.bytes+len(view)+1 > lending.MaxEntriesBytes {
		return false, nil
	}
	v.bytes += len(view) + 1
	v.out.Refs = append(v.out.Refs, lending.Ref{Entry: c.id, Rev: c.rev})
	v.out.Views = append(v.out.Views, view)
	for _, s := range c.subjects {
		if v.subject == nil {
			v.subject = map[string]bool{}
		}
		v.subject[s] = true
	}
	return true, nil
}

// candidates calls yield for each entry that matches, in order, from a
// position on, until it returns false; own says that an agent of the place
// itself asks.
func candidates(ctx context.Context, r store.Reader, in Place, s lending.Scope, at time.Time, after []byte, own bool, yield func(*card) (bool, error)) error {
	lists, err := plan(r, in, s)
	if err != nil || len(lists) == 0 {
		return err
	}
	sp, some := bounds(s, at)
	if !some {
		return nil
	}
	sp.after = later(sp.after, after)
	f, err := newFilter(r, in, s, at)
	if err != nil {
		return err
	}
	f.own = own
	return sift(walk(ctx, r, in, lists, sp), f, yield)
}

// sift calls yield for each step of a walk that passes a filter, until it returns false.
func sift(w *walker, f *filter, yield func(*card) (bool, error)) error {
	for {
		c, err := w.step()
		if err != nil || c == nil {
			return err
		}
		if ok, err := f.passes(c.id, c); err != nil {
			return err
		} else if !ok {
			continue
		}
		if more, err := yield(c); err != nil || !more {
			return err
		}
	}
}

// plan picks the lists to walk: the tag that must be there, or the group of
// which one must, with the fewest postings. None: nothing can match.
func plan(r store.Reader, in Place, s lending.Scope) ([]string, error) {
	groups := s.Any()
	for _, t := range s.All() {
		groups = append(groups, []string{t})
	}
	var best []string
	least := uint64(0)
	for _, g := range groups {
		var there []string
		sum := uint64(0)
		for _, t := range g {
			n, err := getNumber(r, in.countKey(t))
			if err != nil {
				return nil, err
			}
			if n > 0 {
				there, sum = append(there, t), sum+n
			}
		}
		if sum == 0 {
			return nil, nil
		}
		if best == nil || sum < least {
			best, least = there, sum
		}
	}
	return best, nil
}

// bounds returns the creation times that a scope allows as a span, and false
// if there are none.
func bounds(s lending.Scope, at time.Time) (span, bool) {
	w := s.Created()
	sp := span{from: w.From}
	if from, ok := s.AgeFrom(at); ok && from.After(sp.from) {
		sp.from = from
	}
	if !w.To.IsZero() {
		if w.To.Unix() <= 0 {
			return span{}, false
		}
		// The newest second allowed, without an id: below its first entry.
		sp.after = position(w.To.Add(-time.Second), "")
	}
	return sp, w.To.IsZero() || sp.from.Before(w.To)
}

// cursor names the last entry of a page. It opens nothing: every page is asked
// for and decided anew.
func (v *evaluation) cursor(last string) string {
	return base64.RawURLEncoding.EncodeToString(append(v.binding(), last...))
}

func (v *evaluation) openCursor(text string) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 17 || len(b) > 64 || !bytes.Equal(b[:8], v.binding()) {
		return nil, ErrCursor
	}
	return b[8:], nil
}

func (v *evaluation) binding() []byte {
	h := sha256.Sum256([]byte(v.in.String() + "\x00" + v.s.String() + "\x00" + v.q.Bind))
	return h[:8:8]
}

// Render returns the views of revisions that an answer held, byte for byte as
// they were. ErrGone: one is no longer there, or never was in this place.
func (e *Entries) Render(ctx context.Context, in Place, refs []lending.Ref) ([][]byte, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	var views [][]byte
	err := e.db.View(ctx, func(r store.Reader) (err error) {
		views, err = render(r, in, refs)
		return err
	})
	if err != nil {
		return nil, err
	}
	return views, nil
}

func render(r store.Reader, in Place, refs []lending.Ref) ([][]byte, error) {
	views := make([][]byte, 0, len(refs))
	for _, ref := range refs {
		b, err := view(r, in, ref.Entry, ref.Rev)
		if err != nil {
			return nil, err
		}
		views = append(views, b)
	}
	return views, nil
}

// Recall renders the revisions of an earlier answer for a replay, if all these
// entries, as they are now, still match the scope. Found carries Vis of the
// same snapshot. Errors: ErrGone; ErrLeft.
func (e *Entries) Recall(ctx context.Context, in Place, s lending.Scope, refs []lending.Ref, at time.Time) (Found, error) {
	if err := in.check(); err != nil {
		return Found{}, err
	}
	var out Found
	err := e.db.View(ctx, func(r store.Reader) (err error) {
		out = Found{Found: lending.Found{Refs: refs}}
		if out.Vis, err = visible(r, in); err != nil {
			return err
		}
		if out.Views, err = render(r, in, refs); err != nil {
			return err
		}
		out.Subjects, err = recallSubjects(r, in, s, refs, at)
		return err
	})
	if err != nil {
		return Found{}, err
	}
	return out, nil
}

func recallSubjects(r store.Reader, in Place, s lending.Scope, refs []lending.Ref, at time.Time) ([]string, error) {
	subjects := map[string]bool{}
	f, err := newFilter(r, in, s, at)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		now, err := load(r, in, ref.Entry)
		if err != nil {
			return nil, err
		}
		if ok, err := f.passes(now.ID, now.newCard()); err != nil {
			return nil, err
		} else if now.State != Active || !ok {
			return nil, ErrLeft
		}
		for _, p := range now.Subjects {
			subjects[p] = true
		}
	}
	return sortedKeys(subjects), nil
}
