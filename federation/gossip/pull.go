package gossip

import (
	"context"
	"errors"
	"fmt"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
)

// ask sends one ask and hands each line of the answer to take.
func (c *conversation) ask(a ask, take func(line []byte) error) (end, error) {
	b, err := marshalAsk(a)
	if err != nil {
		return end{}, err
	}
	if err := c.f.Write(b); err != nil {
		return end{}, err
	}
	for got := 0; ; {
		b, err := c.f.Read()
		if err != nil {
			return end{}, noEOF(err)
		}
		if isEnd(b) {
			return parseEnd(b)
		}
		if got > 0 && got+len(b) > maxReply {
			return end{}, blame("a reply of more than %d bytes", maxReply)
		}
		got += len(b)
		if err := take(b); err != nil {
			return end{}, err
		}
	}
}

// judged counts the outcome of an offer, and turns it into an error where the peer is to blame.
func (c *conversation) judged(what string, o Outcome, err error) error {
	c.n.stats.lines[o].Add(1)
	switch {
	case err != nil && o != False && o != Forked:
		return fmt.Errorf("%s: %w", what, err)
	case o == False && err == nil:
		return blame("%s is false", what)
	case o == False:
		return blame("%s: %v", what, err)
	}
	return nil
}

// pull asks for everything the other end has and this one lacks: what others
// depend on first.
func (c *conversation) pull(ctx context.Context) error {
	for _, step := range []func(context.Context) error{c.pullDIDs, c.pullCharters, c.pullDIDs, c.pullBindings, c.pullBeacons, c.pullLogs, c.pullWants} {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(ctx); err != nil {
			return err
		}
	}
	if c.fault != nil {
		return c.fault
	}
	c.n.cfg.Beacons.Synced(c.org)
	return nil
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (c *conversation) pullCharters(ctx context.Context) error {
	for {
		head, ok := c.n.cfg.Members.Head()
		if !ok || c.theirs.Charter.Seq <= head.Charter.Seq {
			return nil
		}
		var list []envelope.Envelope
		_, err := c.ask(ask{Charters: &afterAsk{After: head.Charter.Seq}}, func(b []byte) error {
			e, err := envelopeOf(b, charter.Type)
			list = append(list, e)
			return err
		})
		if err != nil {
			return err
		}
		news := false
		for _, e := range list {
			o, err := c.offerCharter(ctx, e)
			if err != nil {
				return err
			}
			news = news || o == Taken
		}
		if !news {
			return nil
		}
	}
}

// offerCharter offers a charter, and again with the DID logs it may have missed.
func (c *conversation) offerCharter(ctx context.Context, e envelope.Envelope) (Outcome, error) {
	o, err := c.n.cfg.Charters.Offer(ctx, e)
	if o == Parked {
		if err := c.pullMembers(ctx, e); err != nil {
			return o, err
		}
		o, err = c.n.cfg.Charters.Offer(ctx, e)
	}
	return o, c.judged("charter "+e.ID().String(), o, err)
}

// pullMembers asks for the DID logs of those a charter names and the head does not.
// Only a child of the head was looked at closely enough for that: one whose parent is
// not here may name anybody.
func (c *conversation) pullMembers(ctx context.Context, e envelope.Envelope) error {
	b, err := envelope.Decode[charter.Body](e)
	if err != nil {
		return blame("charter: %v", err)
	}
	if head, ok := c.n.cfg.Members.Head(); !ok || b.Prev != head.Charter.ID {
		return nil
	}
	held, err := c.n.cfg.Identities.Heads(ctx)
	if err != nil {
		return err
	}
	for _, m := range b.Members {
		after := versionNumber(held[m.DID])
		if versionNumber(m.DIDHead) <= after {
			continue
		}
		if c.n.cfg.Members.Status(m.DID) == "" && !c.n.judging.mayMeet(c.org, c.n.cfg.Now()) {
			continue
		}
		if _, err := c.pullDID(ctx, m.DID, after); err != nil {
			return err
		}
	}
	return nil
}

// envelopeOf reads a line that must be an envelope of one type.
func envelopeOf(b []byte, t envelope.Type) (envelope.Envelope, error) {
	l, err := bundle.ParseLine(b)
	if err != nil {
		return envelope.Envelope{}, blame("line: %v", err)
	}
	e, ok := l.(bundle.Envelope)
	if !ok || e.Type != t {
		return envelope.Envelope{}, blame("a line that is no envelope of %s", t)
	}
	return e.Envelope, nil
}

func (c *conversation) pullBindings(ctx context.Context) error {
	if c.theirs.Sets.Bindings == c.ours.Sets.Bindings {
		return nil
	}
	list, err := c.n.cfg.Bindings.All(ctx)
	if err != nil {
		return err
	}
	return c.pullSet(ctx, ask{Bindings: &haveAsk{Have: idsOf(list)}}, federation.BindingType, c.n.cfg.Bindings.Offer)
}

func (c *conversation) pullBeacons(ctx context.Context) error {
	list, err := c.n.cfg.Beacons.Newest(ctx)
	if err != nil {
		return err
	}
	if c.theirs.Sets.Beacons == digest(idsOf(list)) {
		return nil
	}
	return c.pullSet(ctx, ask{Beacons: &haveAsk{Have: idsOf(list)}}, federation.BeaconType, c.n.cfg.Beacons.Take)
}

func (c *conversation) pullSet(ctx context.Context, a ask, t envelope.Type, offer func(context.Context, envelope.Envelope) (Outcome, error)) error {
	_, err := c.ask(a, func(b []byte) error {
		e, err := envelopeOf(b, t)
		if err != nil {
			return err
		}
		o, err := offer(ctx, e)
		return c.judged(string(t), o, err)
	})
	return err
}

// pullLogs brings every log up to the other's head. Where an organization shows two
// logs, neither of two honest nodes fits the other's: that ends the sync, but only
// after all other logs.
func (c *conversation) pullLogs(ctx context.Context) error {
	for _, x := range c.theirs.DIDs {
		if x.Note == "" || c.n.cfg.Members.Status(x.DID) == "" {
			continue
		}
		if err := c.compareHead(ctx, x); err != nil {
			return err
		}
		if err := c.pullLog(ctx, x); err != nil {
			return err
		}
		if err := c.pullNotes(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// compareHead has a head of a held size compared with the log held here: one that
// contradicts it proves that the organization shows two logs, which neither end
// can find out alone.
func (c *conversation) compareHead(ctx context.Context, x didHead) error {
	n, err := attlog.ParseNote([]byte(x.Note))
	if err != nil {
		return blame("head of %s: %v", x.DID, err)
	}
	l, err := c.n.cfg.Logs.Log(ctx, x.DID)
	if errors.Is(err, attestation.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if h, _ := l.Head(); n.Head == h || n.Head.Size > h.Size {
		return nil
	}
	o, err := c.n.cfg.Intake.Merge(ctx, x.DID, []byte(x.Note))
	if err := c.judged("head of "+x.DID.String(), o, err); err != nil || o != Forked {
		return err
	}
	_, err = c.part(ctx, x, n.Head)
	return err
}

func (c *conversation) pullLog(ctx context.Context, x didHead) error {
	size := noteSize([]byte(x.Note))
	if held, _, err := c.n.head(ctx, x.DID); err != nil || held >= size {
		return err
	}
	if apart, err := c.standsApart(ctx, x); err != nil || apart {
		return err
	}
	defer c.n.takeTurn(ctx, turn{"log", x.DID})()
	for {
		held, _, err := c.n.head(ctx, x.DID)
		if err != nil || held >= size {
			return err
		}
		a := rangeAsk{DID: x.DID, From: held, To: size}
		var bad error
		stop, forked := false, false
		e, err := c.ask(ask{Events: &a}, func(b []byte) error {
			p, err := parseEntries(b, a, c.theirs.Federation, x.Note)
			if err != nil || stop {
				return err
			}
			o, err := c.n.cfg.Intake.Ingest(ctx, p)
			stop, forked = o != Taken && o != Held, o == Forked
			if err = c.judged("log of "+x.DID.String(), o, err); o == False {
				bad, err = err, nil
			}
			return err
		})
		if err != nil {
			return err
		}
		if bad != nil || forked {
			forked, err := c.partNote(ctx, x)
			if err == nil && !forked {
				c.fault = firstOf(c.fault, bad)
			}
			return err
		}
		if e.Code == "" && !stop {
			c.n.dropNoteSet(x.DID)
			c.n.wants.give()
		}
		now, _, err := c.n.head(ctx, x.DID)
		if err != nil || now <= held || stop {
			return err
		}
	}
}

// pullNotes asks for cosigned notes where both ends hold different ones: the
// recent ones first, then all.
func (c *conversation) pullNotes(ctx context.Context, x didHead) error {
	held, _, err := c.n.head(ctx, x.DID)
	if err != nil || held == 0 || x.Notes.IsZero() {
		return err
	}
	to := min(held, noteSize([]byte(x.Note)))
	for _, from := range []uint64{to - min(to, recentNotes), 0} {
		ours, err := c.n.noteSet(ctx, x.DID)
		if err != nil || ours == x.Notes {
			return err
		}
		if err := c.pullNotesFrom(ctx, x, from, to); err != nil {
			return err
		}
		if to <= recentNotes {
			return nil
		}
	}
	return nil
}

func (c *conversation) pullNotesFrom(ctx context.Context, x didHead, from, to uint64) error {
	d, forked := x.DID, false
	for more := true; more && from < to; {
		last := from
		e, err := c.ask(ask{Notes: &rangeAsk{DID: d, From: from, To: to}}, func(b []byte) error {
			list, err := parseNotes(b, d)
			if err != nil {
				return err
			}
			for _, note := range list {
				size := noteSize([]byte(note))
				if size <= last || size > to {
					return blame("a note of size %d of %s after %d", size, d, last)
				}
				last = size
				o, err := c.n.cfg.Intake.Merge(ctx, d, []byte(note))
				if err := c.judged("note of "+d.String(), o, err); err != nil {
					return err
				}
				forked = forked || o == Forked
			}
			return nil
		})
		if err != nil {
			return err
		}
		more = e.More && last > from
		from = last
	}
	c.n.dropNoteSet(d)
	if !forked {
		return nil
	}
	_, err := c.partNote(ctx, x)
	return err
}
