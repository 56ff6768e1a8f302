package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
)

// Judgement is the verdict on one event.
type Judgement struct {
	Index   uint64
	Verdict attestation.Verdict
	Body    envelope.ID // named by an event that counts; zero for none
}

// Settled is what became known of a log: a note, verdicts, or both.
type Settled struct {
	Note   []byte
	Seen   []attestation.Seen
	Judged []Judgement
	Upto   uint64 // size up to which every event has been judged; it never falls
	// Then is called once it is durable and before anybody sees it. It must not call an
	// Events. Optional.
	Then func()
}

// Settle makes it durable, all of it or nothing.
func (e *Events) Settle(ctx context.Context, d did.DID, c Settled) error {
	defer e.lock(d)()
	was, ok := e.state(d)
	if !ok {
		return fmt.Errorf("log of %s: %w", d, attestation.ErrNotFound)
	}
	s := was
	var note noteChange
	if c.Note != nil {
		var err error
		if note, err = s.noteChange(c.Note, c.Seen); err != nil {
			return err
		}
	}
	s.judged = c.upto(&s)
	err := e.db.Update(ctx, func(tx Tx) error {
		if err := note.commit(tx, s.num); err != nil {
			return err
		}
		return c.commit(tx, &was, &s)
	})
	if err != nil {
		return err
	}
	note.adopt(&s)
	e.mu.Lock()
	defer e.mu.Unlock()
	c.tell()
	e.logs[d] = &s
	return nil
}

// upto is the size up to which a log is judged with c, which is not more than it has.
func (c Settled) upto(s *logState) uint64 { return max(s.judged, min(c.Upto, s.head.Size)) }

func (c Settled) tell() {
	if c.Then != nil {
		c.Then()
	}
}

// commit writes the verdicts, and how far a log is judged with them.
func (c Settled) commit(tx Tx, was, will *logState) error {
	for _, j := range c.Judged {
		if err := j.commit(tx, will.num, j.Index < was.judged); err != nil {
			return err
		}
	}
	if was.judged == will.judged {
		return nil
	}
	return tx.Set(logKey(keyLevel, will.num), u64(will.judged))
}

// commit writes one verdict, in place of another if there was one.
func (j Judgement) commit(tx Tx, o uint32, again bool) error {
	k := indexKey(keyStanding, o, j.Index)
	v := j.Verdict
	if v.Standing != attestation.Valid {
		return tx.Set(k, append([]byte{byte(v.Standing), byte(v.Level)}, v.Reason...))
	}
	if again {
		was, err := getOr(tx, k, nil)
		if err == nil && was != nil {
			err = errors.Join(tx.Delete(k), countsNow(tx, o, j.Index))
		}
		if err != nil {
			return err
		}
	}
	if j.Body.IsZero() {
		return nil
	}
	if wanted, err := wants(tx, o, j.Index, j.Body); err != nil || !wanted {
		return err
	}
	sum := j.Body.Sum()
	return tx.Set(indexKey(keyWanted, o, j.Index), sum[:])
}

// Judged returns the size up to which every event of a log has been judged.
func (e *Events) Judged(d did.DID) uint64 {
	s, _ := e.state(d)
	return s.judged
}

// Verdict returns what is known about one event of a log.
func (e *Events) Verdict(ctx context.Context, d did.DID, index uint64) (attestation.Verdict, error) {
	s, ok := e.state(d)
	if !ok || index >= s.head.Size {
		return attestation.Verdict{}, attestation.ErrNotFound
	}
	var v attestation.Verdict
	err := e.db.View(ctx, func(r Reader) error {
		var err error
		v, err = s.verdict(r, index)
		return err
	})
	return v, err
}

// unjudged is the verdict on what nobody has judged yet.
var unjudged = attestation.Verdict{Level: attestation.Logged, Standing: attestation.Pending}

func (s *logState) verdict(g getter, index uint64) (attestation.Verdict, error) {
	if index >= s.judged {
		return unjudged, nil
	}
	b, err := getOr(g, indexKey(keyStanding, s.num, index), nil)
	if err != nil {
		return attestation.Verdict{}, err
	}
	if b == nil {
		return attestation.Verdict{Level: attestation.Authored, Standing: attestation.Valid}, nil
	}
	if len(b) < 2 {
		return attestation.Verdict{}, fmt.Errorf("%w: standing of %d", ErrCorrupt, index)
	}
	return attestation.Verdict{Standing: attestation.Standing(b[0]), Level: attestation.Level(b[1]), Reason: attestation.Reason(b[2:])}, nil
}

// Standings yields the indexes of a log that are judged and not valid, in order.
func (e *Events) Standings(ctx context.Context, d did.DID, yield func(uint64, attestation.Verdict) bool) error {
	s, ok := e.state(d)
	if !ok {
		return nil
	}
	return e.db.View(ctx, func(r Reader) error {
		return r.Scan(logKey(keyStanding, s.num), nil, func(k, b []byte) bool {
			v := attestation.Verdict{Standing: attestation.Standing(b[0]), Level: attestation.Level(b[1]), Reason: attestation.Reason(b[2:])}
			return yield(binary.BigEndian.Uint64(k[len(k)-8:]), v)
		})
	})
}

// Wanted is a body that an event which counts names, and that is not held.
type Wanted struct {
	Org   did.DID
	Index uint64
	ID    envelope.ID
}

// Wanted returns up to max bodies that are named and not held: of each log in turn, and of
// each log where the call before left off. What nobody has, or a member made up, so keeps
// nothing else from being asked for.
func (e *Events) Wanted(ctx context.Context, max int) ([]Wanted, error) {
	logs := e.states()
	lists := make([][]Wanted, len(logs))
	err := e.db.View(ctx, func(r Reader) (err error) {
		for i := range logs {
			if lists[i], err = logs[i].wanted(r, e.lastWanted(logs[i].org), max); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []Wanted
	for n := 0; n < max; n++ {
		before := len(out)
		for _, list := range lists {
			if n < len(list) && len(out) < max {
				out = append(out, list[n])
			}
		}
		if len(out) == before {
			break
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range out {
		e.wanted[w.Org] = w.Index
	}
	return out, nil
}

func (e *Events) lastWanted(d did.DID) uint64 {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.wanted[d]
}

// wanted lists up to max bodies that a log wants: after an index, then up to it.
func (s *logState) wanted(r Reader, after uint64, max int) (out []Wanted, err error) {
	prefix, last := logKey(keyWanted, s.num), indexKey(keyWanted, s.num, after)
	add := func(k, v []byte) bool {
		out = append(out, Wanted{s.org, binary.BigEndian.Uint64(k[len(k)-8:]), envelope.IDFromSum([32]byte(v))})
		return len(out) < max
	}
	if err = r.Scan(prefix, last, add); err != nil || len(out) >= max {
		return out, err
	}
	err = r.Scan(prefix, nil, func(k, v []byte) bool { return bytes.Compare(k, last) <= 0 && add(k, v) })
	return out, err
}

// Body returns an attached body held in this database, or
// attestation.ErrNotFound.
func (e *Events) Body(ctx context.Context, id envelope.ID) ([]byte, error) {
	var out []byte
	err := e.db.View(ctx, func(r Reader) error {
		var err error
		out, err = r.Get(bodyKey(id))
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("body %s: %w", id, attestation.ErrNotFound)
	}
	return out, err
}

// Naming returns the events that name a body, by organization and index.
func (e *Events) Naming(ctx context.Context, body envelope.ID) ([]attestation.Found, error) {
	return e.collect(ctx, dimBody, body.String(), func(ev attestation.Event) bool { return ev.Body == body })
}

// PutBody keeps a body that an event held here names; attestation.ErrNotFound
// when none does, attestation.ErrErased for one that was erased.
func (e *Events) PutBody(ctx context.Context, body []byte) (envelope.ID, error) {
	id := envelope.IDOf(body)
	// Held before it is read who names it: an event that came in between would go on wanting
	// what is held, and one that was cut off would take the wish of what took its place.
	e.write.Lock()
	defer e.write.Unlock()
	by, err := e.Naming(ctx, id)
	if err != nil {
		return envelope.ID{}, err
	}
	if len(by) == 0 {
		return envelope.ID{}, fmt.Errorf("no event names body %s: %w", id, attestation.ErrNotFound)
	}
	err = e.db.Update(ctx, func(tx Tx) error {
		if gone, err := erasedBody(tx, id); err != nil || gone {
			return errors.Join(err, erasedErr(id, gone))
		}
		for _, f := range by {
			s, _ := e.state(f.Org)
			if err := tx.Delete(indexKey(keyWanted, s.num, f.Index)); err != nil {
				return err
			}
		}
		return tx.Set(bodyKey(id), bytes.Clone(body))
	})
	return id, err
}
