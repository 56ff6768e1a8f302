package party

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/node/casefile"
	"trustnode/node/fault"
	"trustnode/node/recorder"
	"trustnode/node/verifier"
)

// Prove returns the file that proves an event or an audit row, and what else is named: events, rows, and bodies of these
// events. Anyone verifies it offline. what is an id, or the index of an event of the own log. It is refused if it does not
// verify by itself.
func (p *Party) Prove(ctx context.Context, what string, with ...string) ([]byte, error) {
	var places []casefile.Place
	for i, text := range append([]string{what}, with...) {
		at, err := p.place(ctx, text, i > 0)
		if err != nil {
			return nil, err
		}
		places = append(places, at)
	}
	b, err := casefile.Prove(ctx, source{p.n}, places...)
	if errors.Is(err, attestation.ErrNotFound) {
		for _, at := range places {
			if err := p.erasedBody(ctx, at.ID); err != nil {
				return nil, err
			}
		}
		return nil, fault.Wrap(fault.NotFound, "event", err).WithHint("a body is proven with the event that names it: trustnode event prove ID --with BODY")
	}
	if err != nil {
		return nil, unfit(err)
	}
	r := verifier.Verify(ctx, bytes.NewReader(b), verifier.Options{Name: "proof", Now: time.Now()})
	if !r.OK {
		return nil, fault.Wrap(fault.Unavailable, "unproven", fmt.Errorf("%s%s: %s", what, p.standing(ctx, places[0].ID), r.Why)).WithHint("the file would not verify: %s", r.Why)
	}
	return b, nil
}

// ProveOpenly is Prove of one event for somebody who is nobody's reader. What is no event, such as a row, is answered as
// what is not held here.
func (p *Party) ProveOpenly(ctx context.Context, what string) ([]byte, error) {
	found, err := p.Event(ctx, what)
	if err != nil {
		return nil, err
	}
	return p.Prove(ctx, found[0].Entry.ID().String())
}

// Event finds the event that an id, or an index of the own log, names: every place of it, the one that counts first. The
// id of a row or a body is that of no event.
func (p *Party) Event(ctx context.Context, text string) ([]attestation.Found, error) {
	id, err := p.Named(ctx, text)
	if err != nil {
		return nil, err
	}
	found, err := p.n.Rec.Find(ctx, id)
	if err == nil && len(found) == 0 {
		err = noEvent(text)
	}
	return found, err
}

// Named reads what names an event, a row or a body: its id, or the index of an event of the own log. Whether it is held
// is not looked at.
func (p *Party) Named(ctx context.Context, text string) (envelope.ID, error) {
	if index, err := strconv.ParseUint(text, 10, 64); err == nil {
		return p.at(ctx, index)
	}
	id, err := envelope.ParseID(text)
	if err != nil {
		return envelope.ID{}, fault.New(fault.Invalid, "event", "%.80q is neither an id nor an index", text).WithHint("trustnode event list --ids names each event by its id, one of the own log by its index too")
	}
	return id, nil
}

func noEvent(text string) error {
	return fault.New(fault.NotFound, "event", "no event %s is held here", text).WithHint(listIDs)
}

// place finds what an id or an index of the own log names. What is neither an event nor a row may be the body of one.
func (p *Party) place(ctx context.Context, text string, body bool) (casefile.Place, error) {
	id, err := p.Named(ctx, text)
	if err != nil {
		return casefile.Place{}, err
	}
	event := id
	row, err := source{p.n}.Row(ctx, id)
	if err == nil {
		event = row.Event
	} else if !errors.Is(err, attestation.ErrNotFound) {
		return casefile.Place{}, err
	}
	found, err := p.n.Rec.Find(ctx, event)
	switch {
	case err != nil:
		return casefile.Place{}, err
	case len(found) > 0:
		return casefile.Place{Org: found[0].Org, ID: id}, nil
	case body:
		return casefile.Place{ID: id}, nil
	}
	return casefile.Place{}, p.Absent(ctx, id)
}

// at is the event of the own log at an index.
func (p *Party) at(ctx context.Context, index uint64) (id envelope.ID, err error) {
	log, err := p.n.Rec.Log(ctx, p.n.Org)
	if err != nil {
		return id, err
	}
	if head, _ := log.Head(); index >= head.Size {
		return id, fault.New(fault.NotFound, "event", "the own log has %d events, none of index %d", head.Size, index).WithHint("trustnode event list --org self names each by its index")
	}
	err = log.Entries(ctx, index, index+1, func(_ uint64, e attestation.Entry) error {
		id = e.ID()
		return nil
	})
	if err != nil {
		return id, err
	}
	// What lies there and is not known by its id is not what was written.
	if found, err := p.n.Rec.Find(ctx, id); err != nil || len(found) > 0 {
		return id, err
	}
	return envelope.ID{}, &recorder.Corruption{Why: fmt.Sprintf("%d does not hash to the pinned tree", index)}
}

// standing says in parentheses how an event stands here, nothing of a row.
func (p *Party) standing(ctx context.Context, id envelope.ID) string {
	found, err := p.n.Rec.Find(ctx, id)
	if err != nil || len(found) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s, %s)", found[0].Verdict.Level, found[0].Verdict.Standing)
}
