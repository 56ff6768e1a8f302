package recorder

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

// Facts yields the events that count and that q selects, by organization and
// index, each with its body when that is held and with every organization's
// earliest cosignature. q.Any, q.Level, q.Standing, q.Limit and q.Cursor are ignored. What
// no longer opens, since a DID log forked, is left out. After an error nothing follows.
func (r *Recorder) Facts(ctx context.Context, q attestation.Query) iter.Seq2[attestation.Fact, error] {
	q.Any, q.Level, q.Standing, q.Limit, q.Cursor = false, 0, 0, attestation.MaxPage, ""
	return func(yield func(attestation.Fact, error) bool) {
		for {
			page, err := r.cfg.Events.Query(ctx, q)
			if err != nil {
				yield(attestation.Fact{}, err)
				return
			}
			for _, found := range page.Found {
				f, err := r.fact(ctx, found)
				if isUndecided(err) {
					continue
				}
				if !yield(f, err) || err != nil {
					return
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				return
			}
		}
	}
}

func isUndecided(err error) bool {
	return errors.Is(err, envelope.ErrUnknownKey) || errors.Is(err, envelope.ErrPending) || errors.Is(err, envelope.ErrRetired)
}

// Fact returns one event by id, or attestation.ErrNotFound when it is not held
// or does not count.
func (r *Recorder) Fact(ctx context.Context, id envelope.ID) (attestation.Fact, error) {
	found, err := r.cfg.Events.Find(ctx, id)
	if err != nil {
		return attestation.Fact{}, err
	}
	for _, f := range found {
		if f.Verdict.Counts() {
			return r.fact(ctx, f)
		}
	}
	return attestation.Fact{}, fmt.Errorf("event %s: %w", id, attestation.ErrNotFound)
}

// Find returns the events with an id over all logs, whatever their standing;
// that of the log its body names comes first.
func (r *Recorder) Find(ctx context.Context, id envelope.ID) ([]attestation.Found, error) {
	return r.cfg.Events.Find(ctx, id)
}

func (r *Recorder) fact(ctx context.Context, f attestation.Found) (attestation.Fact, error) {
	v, err := r.reopen(ctx, f)
	if err != nil {
		return attestation.Fact{}, err
	}
	out := attestation.Fact{Event: v, Index: f.Index, Witnessed: r.cfg.Events.Witnessed(f.Org, f.Index)}
	if id := v.Body().Body; !id.IsZero() {
		if out.Body, err = r.Body(ctx, id); err != nil && !errors.Is(err, attestation.ErrNotFound) {
			return attestation.Fact{}, err
		}
	}
	return out, nil
}

// reopen returns a counting event as verified; its signature is checked once
// in a while only.
func (r *Recorder) reopen(ctx context.Context, f attestation.Found) (envelope.Verified[attestation.Event], error) {
	at := place{f.Org, f.Index}
	if v, ok := r.opened.get(at); ok && v.ID() == f.Entry.ID() { // else it is of a branch that was given up
		return v, nil
	}
	k, err := r.Keys(ctx, f.Org)
	if err != nil {
		return envelope.Verified[attestation.Event]{}, err
	}
	env, _, err := f.Entry.Envelope()
	if err != nil {
		return envelope.Verified[attestation.Event]{}, err
	}
	v, err := envelope.Open[attestation.Event](ctx, env, k.At(f.Index))
	if err != nil {
		return envelope.Verified[attestation.Event]{}, fmt.Errorf("%s, index %d: %w", f.Org, f.Index, err)
	}
	r.opened.put(at, v)
	return v, nil
}

type place struct {
	org   did.DID
	index uint64
}

// openedCache keeps opened events: a young half and an old one.
type openedCache struct{ *openedHalves }

type openedHalves struct {
	mu         sync.Mutex
	young, old map[place]envelope.Verified[attestation.Event]
}

func newOpenedCache() openedCache {
	return openedCache{&openedHalves{young: map[place]envelope.Verified[attestation.Event]{}}}
}

// clear forgets all: something else may lie at a place now.
func (c openedCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old = map[place]envelope.Verified[attestation.Event]{}, nil
}

func (c openedCache) get(p place) (envelope.Verified[attestation.Event], bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.young[p]; ok {
		return v, true
	}
	v, ok := c.old[p]
	return v, ok
}

func (c openedCache) put(p place, v envelope.Verified[attestation.Event]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= maxOpened {
		c.old, c.young = c.young, map[place]envelope.Verified[attestation.Event]{}
	}
	c.young[p] = v
}

// Proof is an event with what shows where it lies: its entry, and a C2SP
// tlog-proof.
type Proof struct {
	Org   did.DID
	Index uint64
	Entry attestation.Entry
	Text  []byte // tlog-proof under the newest cosigned head that covers it, else the newest head
}

// Proof proves one event, whatever its standing: attestation.ErrNotFound when
// it is not held, ErrNoHead while no signed head covers it.
func (r *Recorder) Proof(ctx context.Context, id envelope.ID) (Proof, error) {
	found, err := r.cfg.Events.Find(ctx, id)
	if err != nil {
		return Proof{}, err
	}
	if len(found) == 0 {
		return Proof{}, fmt.Errorf("event %s: %w", id, attestation.ErrNotFound)
	}
	return r.ProofAt(ctx, found[0].Org, found[0].Index)
}

// ProofAt is Proof by position.
func (r *Recorder) ProofAt(ctx context.Context, d did.DID, index uint64) (Proof, error) {
	l, err := r.cfg.Events.Log(ctx, d)
	if err != nil {
		return Proof{}, err
	}
	note, err := r.covering(d, index)
	if err != nil {
		return Proof{}, err
	}
	p := Proof{Org: d, Index: index}
	err = l.Entries(ctx, index, index+1, func(_ uint64, en attestation.Entry) error {
		p.Entry = en
		return nil
	})
	if err != nil {
		return Proof{}, err
	}
	path, err := attlog.Include(index, note.Head.Size, l)
	if err != nil {
		return Proof{}, err
	}
	p.Text = attlog.Proof{Index: index, Path: path, Note: note}.Bytes()
	return p, nil
}

// covering returns the newest note with a cosignature that covers index, else
// the newest that does.
func (r *Recorder) covering(d did.DID, index uint64) (attlog.Note, error) {
	newest, cosigned, _ := r.cfg.Events.Newest(d)
	for _, b := range [][]byte{cosigned, newest} {
		if n, err := attlog.ParseNote(b); err == nil && n.Head.Size > index {
			return n, nil
		}
	}
	return attlog.Note{}, fmt.Errorf("index %d of %s: %w", index, d, ErrNoHead)
}

// RowsOf yields the own audit rows that a key finds, such as a permission's
// id, in the order they were committed.
func (r *Recorder) RowsOf(ctx context.Context, key string, yield func(n uint64, row audit.Row) error) error {
	return r.cfg.Events.Rows(ctx, audit.Filter{Key: key}, yield)
}

// RowsOfAfter is RowsOf from the rows on that are numbered above after.
func (r *Recorder) RowsOfAfter(ctx context.Context, key string, after uint64, yield func(n uint64, row audit.Row) error) error {
	return r.cfg.Events.Rows(ctx, audit.Filter{Key: key, After: after}, yield)
}

// ProveRow proves one own row under its audit.rows event, and says at which
// index that lies; attestation.ErrNotFound for a row not held or not yet in
// the log (Flush puts it there).
func (r *Recorder) ProveRow(ctx context.Context, row envelope.ID) (audit.RowProof, uint64, error) {
	return r.RowProver().ProveRow(ctx, row)
}

// RowProver proves own rows one after the other, and looks at what rows that follow each
// other have in common once. It is for one goroutine.
type RowProver struct {
	r *Recorder
	p *store.RowProver
}

// RowProver returns one that has looked at nothing yet.
func (r *Recorder) RowProver() *RowProver { return &RowProver{r, r.cfg.Events.RowProver()} }

// ProveRow is Recorder.ProveRow.
func (x *RowProver) ProveRow(ctx context.Context, row envelope.ID) (audit.RowProof, uint64, error) {
	p, c, err := x.p.ProveRow(ctx, row)
	if err != nil {
		return audit.RowProof{}, 0, err
	}
	l, err := x.r.cfg.Events.Log(ctx, x.r.cfg.Org)
	if err != nil {
		return audit.RowProof{}, 0, err
	}
	err = l.Entries(ctx, c.Index, c.Index+1, func(_ uint64, en attestation.Entry) error {
		p.Event = en.ID()
		return nil
	})
	return p, c.Index, err
}
