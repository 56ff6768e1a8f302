package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trustnode/attestation"
	"trustnode/did/envelope"
)

// Query implements attestation.Store.
func (e *Events) Query(ctx context.Context, q attestation.Query) (attestation.Page, error) {
	p := &pager{ctx: ctx, q: q, window: windowOf(q), limit: q.Limit, logs: e.states()}
	if q.Limit <= 0 || q.Limit > attestation.MaxPage {
		p.limit = defaultPage
	}
	err := e.db.View(ctx, func(r Reader) (err error) {
		p.r = r
		if p.c, err = p.parseCursor(q.Cursor); err != nil {
			return err
		}
		if q.Order == attestation.ByIngest {
			return p.byIngest()
		}
		return p.byLog()
	})
	if err != nil {
		return attestation.Page{}, err
	}
	return p.page, nil
}

// pager makes one page.
type pager struct {
	ctx    context.Context
	r      Reader
	q      attestation.Query
	window window
	limit  int
	logs   []logState // by name
	c      cursor     // behind what was looked at
	looked int
	page   attestation.Page
}

// byLog goes over the logs as they were at the first page.
func (p *pager) byLog() error {
	after, fresh := p.c.place, p.q.Cursor == ""
	if fresh {
		p.c.sizes = sizesOf(p.logs)
	}
	for i := range p.logs {
		s := &p.logs[i]
		from, to := uint64(0), p.c.size(s.num)
		if !p.q.Org.IsZero() && s.org != p.q.Org || from == to {
			continue
		}
		if !fresh {
			switch c := strings.Compare(s.org.String(), after.org.String()); {
			case c < 0:
				continue
			case c == 0:
				from = after.index + 1
			}
		}
		more, err := s.walk(p.r, p.q, p.window, from, to, func(i uint64) (bool, error) { return p.look(s, i, 0) })
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// byIngest goes over events as they came. It ends at one that is not for readers yet.
func (p *pager) byIngest() error {
	byNum := map[uint32]*logState{}
	for i := range p.logs {
		byNum[p.logs[i].num] = &p.logs[i]
	}
	err := arrivals(p.r, p.c.next, func(a arrival) (bool, error) {
		s := byNum[a.num]
		if s == nil {
			return false, nil // it is being made known
		}
		return p.arrival(s, a)
	})
	if err == nil {
		p.page.Tail, err = p.format(p.c)
	}
	return err
}

// arrival looks at the events of one append.
func (p *pager) arrival(s *logState, a arrival) (bool, error) {
	from, end := a.base+(max(p.c.next, a.first)-a.first), min(a.base+a.count, s.head.Size)
	if !p.q.Accepts(unjudged) {
		end = min(end, s.judged)
	}
	touched := p.q.Org.IsZero() || s.org == p.q.Org
	for i := from; i < end; {
		next, meets, err := end, false, error(nil)
		if touched {
			next, meets, err = s.block(p.r, p.window, i)
		}
		if err != nil {
			return false, err
		}
		if meets {
			more, err := p.look(s, i, a.first+(i-a.base)+1)
			if err != nil || !more {
				return false, err
			}
			i++
			continue
		}
		if p.enough() {
			return false, cmp.Or(p.ctx.Err(), p.goesOn())
		}
		i = min(next, end)
		p.c.place, p.c.next = place{s.num, s.org, i - 1}, a.first+(i-a.base)
	}
	return end == a.base+a.count, nil
}

// enough counts what was looked at, and reports whether it is as much as one page may, or
// nobody waits for it any more.
func (p *pager) enough() bool {
	p.looked++
	return p.looked > maxLooked || p.looked%256 == 0 && p.ctx.Err() != nil
}

// look takes an event into the page if it is one that is asked for. False ends the page
// before it. next is the number after it, in the order of arrival.
func (p *pager) look(s *logState, i, next uint64) (bool, error) {
	if p.enough() {
		return false, cmp.Or(p.ctx.Err(), p.goesOn())
	}
	f, ok, err := s.found(p.r, p.q, p.window, i)
	if err != nil {
		return false, err
	}
	if ok && p.q.Order == attestation.ByIngest {
		if ok, err = s.standsAt(p.r, i, next-1); err != nil {
			return false, err
		}
	}
	if ok && len(p.page.Found) == p.limit {
		return false, p.goesOn()
	}
	p.c.place, p.c.next = place{s.num, s.org, i}, next
	if !ok {
		return true, nil
	}
	if p.q.Order == attestation.ByIngest {
		f.Cursor = p.formatAt(p.c, tagOf(f.Entry))
	}
	p.page.Found = append(p.page.Found, f)
	return true, nil
}

// goesOn says where the next page begins.
func (p *pager) goesOn() (err error) {
	p.page.Next, err = p.format(p.c)
	return err
}

// states returns all logs by name. It is taken before a snapshot of the
// database, which then holds at least what the states speak of.
func (e *Events) states() []logState {
	e.mu.RLock()
	defer e.mu.RUnlock()
	out := make([]logState, 0, len(e.logs))
	for _, s := range e.logs {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b logState) int { return strings.Compare(a.org.String(), b.org.String()) })
	return out
}

// narrowest returns the posting list to walk; dim 0 is every entry.
func narrowest(q attestation.Query) (dim byte, value string) {
	switch {
	case !q.Ref.IsZero():
		return dimRef, q.Ref.String()
	case q.Subject != "":
		return dimSubject, q.Subject
	case !q.Actor.IsZero():
		return dimActor, q.Actor.String()
	case strings.HasSuffix(string(q.Type), "."):
		family, _, _ := strings.Cut(string(q.Type), ".")
		return dimFamily, family
	case q.Type != "":
		return dimType, string(q.Type)
	}
	return 0, ""
}

// walk yields the indexes in [from, to) of one log that may fit q, in order.
func (s *logState) walk(r Reader, q attestation.Query, w window, from, to uint64, yield func(uint64) (bool, error)) (bool, error) {
	dim, value := narrowest(q)
	return s.spans(r, w, from, to, func(from, to uint64) (bool, error) {
		switch {
		case dim != 0:
			return s.walkPostings(r, logKey(string(postingPrefix(dim, value)), s.num), from, to, yield)
		case q.Standing > attestation.Valid:
			return s.walkStandings(r, q.Standing, from, to, yield)
		}
		return every(from, to, yield)
	})
}

func every(from, to uint64, yield func(uint64) (bool, error)) (bool, error) {
	for i := from; i < to; i++ {
		if more, err := yield(i); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// walkStandings yields the indexes in [from, to) whose standing is st, which is not Valid.
func (s *logState) walkStandings(r Reader, st attestation.Standing, from, to uint64, yield func(uint64) (bool, error)) (bool, error) {
	prefix, more := logKey(keyStanding, s.num), true
	var after []byte
	if from > 0 {
		after = indexKey(keyStanding, s.num, from-1)
	}
	var bad error
	err := r.Scan(prefix, after, func(k, v []byte) bool {
		i := binary.BigEndian.Uint64(k[len(k)-8:])
		if i < to && len(v) > 0 && v[0] == byte(st) {
			more, bad = yield(i)
		}
		return i < to && more && bad == nil
	})
	if err = errors.Join(err, bad); err != nil || !more || st != unjudged.Standing {
		return more, err
	}
	return every(max(from, s.judged), to, yield)
}

// walkPostings yields the indexes in [from, to) that the rows under a prefix name.
func (s *logState) walkPostings(r Reader, prefix []byte, from, to uint64, yield func(uint64) (bool, error)) (bool, error) {
	more := true
	var bad error
	var after []byte
	if from >= attestation.MaxBatch { // a posting names indexes less than one append above its base
		after = binary.BigEndian.AppendUint64(slices.Clone(prefix), from-attestation.MaxBatch)
	}
	err := r.Scan(prefix, after, func(k, v []byte) bool {
		base := binary.BigEndian.Uint64(k[len(k)-8:])
		for len(v) > 0 && base < to && more && bad == nil {
			off, n := binary.Uvarint(v)
			if n <= 0 {
				bad = fmt.Errorf("%w: posting", ErrCorrupt)
				break
			}
			v = v[n:]
			if i := base + off; i >= from && i < to {
				more, bad = yield(i)
			}
		}
		return base < to && more && bad == nil
	})
	return more, errors.Join(err, bad)
}

// at reads one event, whatever became of it.
func (s *logState) at(r Reader, i uint64) (attestation.Found, error) {
	f := attestation.Found{Org: s.org, Index: i}
	var err error
	if f.Verdict, err = s.verdict(r, i); err != nil {
		return attestation.Found{}, err
	}
	if f.Entry, err = s.entry(r, i); err != nil {
		return attestation.Found{}, err
	}
	return f, nil
}

func (s *logState) entry(r Reader, i uint64) (attestation.Entry, error) {
	b, err := r.Get(indexKey(keyEntry, s.num, i))
	if err != nil {
		return nil, fmt.Errorf("%w: entry %d: %v", ErrCorrupt, i, err)
	}
	return b, nil
}

// found reads one candidate and reports whether it is one that is asked for.
func (s *logState) found(r Reader, q attestation.Query, w window, i uint64) (attestation.Found, bool, error) {
	v, err := s.verdict(r, i)
	if err != nil || !q.Accepts(v) {
		return attestation.Found{}, false, err
	}
	en, err := s.entry(r, i)
	if err != nil {
		return attestation.Found{}, false, err
	}
	f := attestation.Found{Org: s.org, Index: i, Entry: en, Verdict: v}
	if everything(q) && w == always {
		return f, true, nil
	}
	ev, ok := indexed(s.org, en)
	return f, ok && fits(q, w, ev), nil
}

func everything(q attestation.Query) bool {
	return q.Type == "" && q.Subject == "" && q.Actor.IsZero() && q.Ref.IsZero()
}

func fits(q attestation.Query, w window, ev attestation.Event) bool {
	prefix := strings.HasSuffix(string(q.Type), ".")
	switch {
	case prefix && !strings.HasPrefix(string(ev.Type), string(q.Type)):
		return false
	case !prefix && q.Type != "" && ev.Type != q.Type:
		return false
	case q.Subject != "" && ev.Subject != q.Subject:
		return false
	case !q.Actor.IsZero() && ev.Actor != q.Actor:
		return false
	case !q.Ref.IsZero() && !slices.Contains(ev.Refs, q.Ref):
		return false
	}
	return w.holds(ev.At)
}

// collect returns every event of all logs that one posting list names and keep
// accepts, counting or not.
func (e *Events) collect(ctx context.Context, dim byte, value string, keep func(attestation.Event) bool) ([]attestation.Found, error) {
	var out []attestation.Found
	logs := e.states()
	err := e.db.View(ctx, func(r Reader) error {
		for _, s := range logs {
			prefix := logKey(string(postingPrefix(dim, value)), s.num)
			_, err := s.walkPostings(r, prefix, 0, s.head.Size, func(i uint64) (bool, error) {
				f, err := s.at(r, i)
				if err != nil {
					return false, err
				}
				if ev, ok := indexed(s.org, f.Entry); ok && keep(ev) {
					out = append(out, f)
				}
				return len(out) < attestation.MaxPage, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// Find returns the events with an id over all logs, the origin's own first.
func (e *Events) Find(ctx context.Context, id envelope.ID) ([]attestation.Found, error) {
	var out []attestation.Found
	logs := e.states()
	err := e.db.View(ctx, func(r Reader) error {
		for _, s := range logs {
			b, err := getOr(r, idKey(id, s.num), nil)
			if err != nil {
				return err
			}
			if b == nil || binary.BigEndian.Uint64(b) >= s.head.Size {
				continue
			}
			f, err := s.at(r, binary.BigEndian.Uint64(b))
			if err != nil {
				return err
			}
			if f.Entry.ID() == id {
				out = append(out, f)
			}
		}
		return nil
	})
	slices.SortStableFunc(out, func(a, b attestation.Found) int { return rank(b) - rank(a) })
	return out, err
}

// rank puts the log whose organization the event names before all others.
func rank(f attestation.Found) int {
	if _, ev, err := f.Entry.Envelope(); err == nil && ev.Org == f.Org {
		return 1
	}
	return 0
}
