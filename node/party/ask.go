package party

import (
	"context"
	"errors"
	"slices"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/trust"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/mediation"
	"trustnode/node/library"
)

// load returns a case as it stands now. What this node lacks of it, or holds as pending,
// is asked of all members once; then not_found.
func (p *Party) load(ctx context.Context, id envelope.ID) (folded, error) {
	f, err := p.look(ctx, id)
	if err != nil {
		return folded{}, err
	}
	lacks, err := p.lacks(ctx, f)
	if err != nil {
		return folded{}, err
	}
	if lacks {
		if f, err = p.ask(ctx, id); err != nil {
			return folded{}, err
		}
	}
	if f.ID.IsZero() {
		return folded{}, unknown(id)
	}
	return f, nil
}

// lacks says whether a case is unknown, pending, incomplete, or known to go on in a log
// of somebody who has a part in it.
func (p *Party) lacks(ctx context.Context, f folded) (bool, error) {
	if f.ID.IsZero() || f.State == Pending {
		return true, nil
	}
	ids, err := p.missing(ctx, f)
	if err != nil || len(ids) > 0 {
		return len(ids) > 0, err
	}
	for _, o := range []did.DID{f.Claimant, f.Respondent, f.Candidate, f.Mediator} {
		if h, err := p.n.Rec.Head(ctx, o); err == nil && h.Known > h.Size {
			return true, nil
		}
	}
	return false, nil
}

// ask asks all members once for the logs, and then for what they name: bodies first, then
// what those name. That nobody could be asked is no error: what is held then decides.
func (p *Party) ask(ctx context.Context, id envelope.ID) (folded, error) {
	soon, stop := context.WithTimeout(ctx, askFor)
	defer stop()
	p.sync(soon)
	var asked []envelope.ID
	for {
		f, err := p.look(ctx, id)
		if err != nil {
			return folded{}, err
		}
		ids, err := p.missing(ctx, f)
		if err != nil {
			return folded{}, err
		}
		ids = slices.DeleteFunc(ids, func(x envelope.ID) bool { return slices.Contains(asked, x) })
		if len(ids) == 0 || soon.Err() != nil {
			return f, ctx.Err()
		}
		asked = append(asked, ids...)
		if err := p.n.Peers.Fetch(soon, ids...); err != nil {
			return f, ctx.Err()
		}
	}
}

// sync asks all members for their logs, once and within askFor. That nobody could be
// asked is no error: what is held then decides.
func (p *Party) sync(ctx context.Context) {
	soon, stop := context.WithTimeout(ctx, askFor)
	defer stop()
	if err := p.n.Peers.Sync(soon); err != nil && ctx.Err() == nil {
		p.n.Log.DebugContext(ctx, "no member could be asked", "error", err)
	}
}

// hear makes sure that the issue of an agent is known here and seen by somebody outside
// its organization: only what is anchored after that proves that its key was in force. For
// as long as waitFor it asks the members again; what is held then decides.
func (p *Party) hear(ctx context.Context, agent did.DID) error {
	soon, stop := context.WithTimeout(ctx, waitFor)
	defer stop()
	for {
		changed := p.n.Rec.Changed()
		facts, err := p.gather(ctx, attestation.Query{Type: "agent.issued", Subject: agent.String()})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(facts, func(f attestation.Fact) bool { _, seen := trust.When(f); return seen }) {
			return nil
		}
		p.sync(soon)
		again := time.NewTimer(hearEvery)
		select {
		case <-soon.Done():
			again.Stop()
			return ctx.Err()
		case <-changed:
		case <-again.C:
		}
		again.Stop()
	}
}

// missing lists what a case names, is for this organization, and is not held here; at
// most maxWants ids. What lies behind a missing body is not known yet.
func (p *Party) missing(ctx context.Context, f folded) ([]envelope.ID, error) {
	var out []envelope.ID
	mine := !f.ID.IsZero() && f.reads(p.n.Org)
	for _, x := range f.facts {
		id := x.Event.Body().Body
		if id.IsZero() {
			continue
		}
		if x.Body == nil {
			rule, _ := attestation.RuleOf(x.Event.Body().Type)
			if rule.Readers == attestation.ReadersPublic || mine {
				out = append(out, id)
			}
			continue
		}
		if mine {
			named, err := p.absent(ctx, names(x))
			if err != nil {
				return nil, err
			}
			out = append(out, named...)
		}
	}
	return out[:min(len(out), maxWants)], nil
}

// names lists what the body of a case's event names by id.
func names(f attestation.Fact) []envelope.ID {
	switch f.Event.Body().Type {
	case "dispute.evidence":
		m, err := mediation.ParseManifest(f.Body)
		if err != nil {
			return nil
		}
		out := make([]envelope.ID, len(m.Items))
		for i, it := range m.Items {
			out[i] = it.ID
		}
		return out
	case "ruling.issued":
		if r, err := mediation.ParseRuling(f.Body); err == nil {
			return []envelope.ID{r.Reasons}
		}
	}
	return nil
}

// absent keeps those ids under which nothing is held here.
func (p *Party) absent(ctx context.Context, ids []envelope.ID) (out []envelope.ID, err error) {
	for _, id := range ids {
		held, err := p.holds(ctx, id)
		if err != nil {
			return nil, err
		}
		if !held {
			out = append(out, id)
		}
	}
	return out, nil
}

// holds says whether an id is that of an object, body, own row or event held here.
func (p *Party) holds(ctx context.Context, id envelope.ID) (bool, error) {
	if _, err := p.n.Lib.Get(ctx, id); err == nil || !errors.Is(err, library.ErrAbsent) {
		return err == nil, err
	}
	if _, err := p.n.Rec.Body(ctx, id); err == nil || !errors.Is(err, attestation.ErrNotFound) {
		return err == nil, err
	}
	if _, _, err := p.n.Rec.ProveRow(ctx, id); err == nil || !errors.Is(err, attestation.ErrNotFound) {
		return err == nil, err
	}
	found, err := p.n.Rec.Find(ctx, id)
	return len(found) > 0, err
}
