package party

import (
	"context"
	"slices"
	"sync"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/mediation"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// wants is what a node remembers of the things that its cases lack. All of it can be lost.
type wants struct {
	mu    sync.Mutex                  // guards what follows
	last  map[did.DID]citing          // by filer, what was named last
	whole map[envelope.ID]extent      // cases that lacked nothing when they were like this
	cited map[envelope.ID]envelope.ID // what was named, and the case that does
}

func newWants() wants {
	return wants{last: map[did.DID]citing{}, whole: map[envelope.ID]extent{}, cited: map[envelope.ID]envelope.ID{}}
}

// citing is something that a case names and this node lacks; a zero ID is the case itself.
type citing struct{ in, id envelope.ID }

// extent is how much of a case is held. It only grows, and what lacks nothing at one
// extent never will.
type extent struct {
	facts, bodies int
	mine          bool
}

func (p *Party) extent(f folded) extent {
	e := extent{facts: len(f.facts), mine: !f.ID.IsZero() && f.reads(p.n.Org)}
	for _, x := range f.facts {
		if x.Body != nil {
			e.bodies++
		}
	}
	return e
}

// Wants lists up to max ids that cases of this organization name and that are not held
// here: items of evidence, texts, reasons. It takes the filers in turn, and of each goes on
// where the call before left off: who files what nobody can give keeps nothing of another
// filer's from being asked for.
func (p *Party) Wants(ctx context.Context, max int) ([]envelope.ID, error) {
	filed, err := p.filings(ctx)
	if err != nil {
		return nil, err
	}
	lists := map[did.DID][]citing{}
	for o, cases := range filed {
		if lists[o], err = p.lacking(ctx, cases, p.wants.from(o), max); err != nil {
			return nil, err
		}
	}
	var out []envelope.ID
	for n := range max {
		for o, list := range lists {
			if n < len(list) && len(out) < max {
				out = append(out, p.wants.name(o, list[n])...)
			}
		}
	}
	return out, nil
}

// lacking lists up to max things that the cases of one filer lack, from the one behind
// another on and around. It ends with the case that it came to.
func (p *Party) lacking(ctx context.Context, cases []envelope.ID, from citing, max int) (out []citing, err error) {
	at, _ := slices.BinarySearchFunc(cases, from.in, compareIDs)
	reached, seen := from, map[envelope.ID]bool{}
	for n := range min(len(cases)+1, maxLooks) { // the first one comes again, whole, at the end
		in := cases[(at+n)%len(cases)]
		ids, err := p.lackedBy(ctx, in)
		if err != nil {
			return nil, err
		}
		if n == 0 && in == from.in {
			ids = ids[slices.Index(ids, from.id)+1:]
		}
		for _, id := range ids {
			if !seen[id] && len(out) < max {
				out = append(out, citing{in, id})
			}
			seen[id] = true
		}
		if len(out) == max {
			return out, nil
		}
		reached = citing{in: in}
	}
	return append(out, reached), nil
}

// lackedBy is missing, with nothing looked up for a case that is as it was when it lacked
// nothing.
func (p *Party) lackedBy(ctx context.Context, id envelope.ID) ([]envelope.ID, error) {
	f, err := p.look(ctx, id)
	if err != nil {
		return nil, err
	}
	e := p.extent(f)
	if p.wants.isWhole(id, e) {
		return nil, nil
	}
	ids, err := p.missing(ctx, f)
	if err == nil && len(ids) == 0 {
		p.wants.setWhole(id, e)
	}
	return ids, err
}

func (w *wants) from(filer did.DID) citing {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last[filer]
}

// name remembers what is asked for now, and returns its id, if it is a thing.
func (w *wants) name(filer did.DID, c citing) []envelope.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[filer] = c
	if c.id.IsZero() {
		return nil
	}
	if len(w.cited) >= maxRemembered {
		clear(w.cited)
	}
	w.cited[c.id] = c.in
	return []envelope.ID{c.id}
}

func (w *wants) isWhole(id envelope.ID, e extent) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	was, ok := w.whole[id]
	return ok && was == e
}

func (w *wants) setWhole(id envelope.ID, e extent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.whole) >= maxRemembered {
		clear(w.whole)
	}
	w.whole[id] = e
}

func (w *wants) citedBy(id envelope.ID) (in envelope.ID, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	in, ok = w.cited[id]
	return in, ok
}

// Keep takes a text that no event names itself: one that an item of evidence or a ruling
// of a case this organization has a part in names. Nothing here names it:
// attestation.ErrNotFound.
func (p *Party) Keep(ctx context.Context, body []byte) error {
	if _, err := mediation.ParseDocument(body); err != nil {
		return err
	}
	id := envelope.IDOf(body)
	if held, err := p.holds(ctx, id); held || err != nil {
		return err
	}
	if named, err := p.cites(ctx, id); err != nil {
		return err
	} else if !named {
		return attestation.ErrNotFound
	}
	return p.n.DB.Update(ctx, func(tx store.Tx) error {
		_, err := recorder.PutObject(tx, recorder.ObjectBody, body)
		return err
	})
}

// cites says whether a case whose private bodies are for this organization names an id.
func (p *Party) cites(ctx context.Context, id envelope.ID) (bool, error) {
	if in, ok := p.wants.citedBy(id); ok {
		if named, err := p.citesIn(ctx, in, id); named || err != nil {
			return named, err
		}
	}
	cases, err := p.known(ctx)
	if err != nil {
		return false, err
	}
	for _, in := range cases {
		if named, err := p.citesIn(ctx, in, id); named || err != nil {
			return named, err
		}
	}
	return false, nil
}

func (p *Party) citesIn(ctx context.Context, in, id envelope.ID) (bool, error) {
	facts, err := p.gather(ctx, attestation.Query{Subject: in.String()})
	if err != nil || !slices.ContainsFunc(facts, func(f attestation.Fact) bool { return slices.Contains(names(f), id) }) {
		return false, err
	}
	f, err := p.look(ctx, in)
	return err == nil && !f.ID.IsZero() && f.reads(p.n.Org), err
}
