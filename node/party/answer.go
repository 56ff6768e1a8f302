package party

import (
	"context"
	"slices"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/mediation"
	"trustnode/node/fault"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// Answer answers a case as its respondent. The text, if any, is handed in as a document
// for the other party and the mediators. Refusals are *fault.Denied.
func (p *Party) Answer(ctx context.Context, id string, in Reply) (View, error) {
	f, err := p.turn(ctx, id, "dispute.answered")
	if err != nil {
		return View{}, err
	}
	a, err := replies(f.Case, in)
	if err != nil {
		return View{}, err
	}
	w := answering{admitsAll: !slices.ContainsFunc(a.Claims, func(r mediation.Reply) bool { return r.Reply == "deny" })}
	if w.answer, err = envelope.Marshal(a); err != nil {
		return View{}, err
	}
	if in.Text != "" {
		if w.text, err = textIn(f.Case, in.Text); err != nil {
			return View{}, err
		}
	}
	var last, decisive envelope.ID
	err = p.n.DB.Update(ctx, func(tx store.Tx) error {
		decisive, last, err = p.answer(tx, f, w)
		return err
	})
	if err != nil {
		return View{}, err
	}
	if f, err = p.effective(ctx, f.ID, decisive, last); err != nil {
		return View{}, err
	}
	return p.view(ctx, f)
}

// turn loads the case a verb names and makes sure that a move is this node's to make now,
// asking the members once before it refuses.
func (p *Party) turn(ctx context.Context, text string, kind attestation.Type) (folded, error) {
	f, err := p.named(ctx, text)
	if err != nil {
		return folded{}, err
	}
	if p.may(f, kind) == nil {
		return f, nil
	}
	if f, err = p.ask(ctx, f.ID); err != nil {
		return folded{}, err
	}
	return f, p.may(f, kind)
}

// replies makes one reply for each claim.
func replies(c mediation.Case, in Reply) (mediation.Answer, error) {
	a := mediation.Answer{Case: c.ID, Nonce: random16()}
	for _, n := range in.Admit {
		if !slices.ContainsFunc(c.Dispute.Claims, func(cl mediation.Claim) bool { return n > 0 && cl.N == uint64(n) }) {
			return a, fault.New(fault.Invalid, "claim", "the case has no claim %d", n).WithHint("it has claims 1..%d", len(c.Dispute.Claims))
		}
	}
	if in.Deny && len(in.Admit) >= len(c.Dispute.Claims) {
		return a, fault.New(fault.Invalid, "reply", "every claim is admitted, so none is left to deny").WithHint("an answer is given once; leave out --deny to admit")
	}
	for _, cl := range c.Dispute.Claims {
		switch {
		case slices.Contains(in.Admit, int(cl.N)):
			a.Claims = append(a.Claims, mediation.Reply{N: cl.N, Reply: "admit"})
		case in.Deny:
			a.Claims = append(a.Claims, mediation.Reply{N: cl.N, Reply: "deny"})
		default:
			return a, fault.New(fault.Invalid, "reply", "claim %d is neither admitted nor denied", cl.N).
				WithHint("deny the rest: trustnode dispute answer %s --deny", c.ID)
		}
	}
	return a, nil
}

// handed is a text with the manifest that hands it in.
type handed struct {
	document, manifest []byte
	items              mediation.Manifest
}

func textIn(c mediation.Case, text string) (*handed, error) {
	doc, err := document(text)
	if err != nil {
		return nil, err
	}
	it := mediation.Item{Bytes: uint64(len(doc)), ID: envelope.IDOf(doc), Kind: "document", N: 1}
	for _, cl := range c.Dispute.Claims {
		it.Claims = append(it.Claims, cl.N)
	}
	h := &handed{document: doc, items: mediation.Manifest{Items: []mediation.Item{it}, Salt: random16()}}
	h.manifest, err = envelope.Marshal(h.items)
	return h, err
}

// document makes the private body of a text.
func document(text string) ([]byte, error) {
	b, err := envelope.Marshal(mediation.Document{Salt: random16(), Text: text})
	if err == nil {
		_, err = mediation.ParseDocument(b)
	}
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "text", err).WithHint("plain text of 1..%d bytes", mediation.MaxText)
	}
	return b, nil
}

// answering is an answer before it is committed.
type answering struct {
	answer    []byte
	admitsAll bool
	text      *handed // nil: none
}

// answer commits text, answer and readiness. Where everything is admitted the case is
// final with the answer, and nobody needs to be ready.
func (p *Party) answer(tx store.Tx, f folded, w answering) (decisive, last envelope.ID, err error) {
	subject := f.ID.String()
	if id, err := said(tx, keyAnswered+subject, f.Case); err != nil {
		return id, id, err
	} else if !id.IsZero() {
		return id, id, already("answered", "answered", f.Case)
	}
	if w.text != nil {
		if err := p.hand(tx, f, *w.text); err != nil {
			return decisive, last, err
		}
	}
	decisive, err = p.n.Rec.Event(tx, attestation.Draft{Type: "dispute.answered", Subject: subject, Body: w.answer})
	if err != nil {
		return decisive, last, err
	}
	if err := remember(tx, keyAnswered+subject, decisive); err != nil {
		return decisive, last, err
	}
	if err := p.n.Lib.GrantAll(tx, envelope.IDOf(w.answer)); err != nil || w.admitsAll {
		return decisive, decisive, err
	}
	last, err = p.ready(tx, f.ID)
	return decisive, last, err
}

// hand hands a text in.
func (p *Party) hand(tx store.Tx, f folded, h handed) error {
	if _, err := recorder.PutObject(tx, recorder.ObjectBody, h.document); err != nil {
		return err
	}
	d := attestation.Draft{Type: "dispute.evidence", Subject: f.ID.String(), Data: attestation.DisputeEvidence{}, Body: h.manifest}
	if _, err := p.n.Rec.Event(tx, d); err != nil {
		return err
	}
	return grantAll(tx, p.n.Lib, envelope.IDOf(h.manifest), h.items, f.readers(p.n.Org))
}

// readers are the organizations that private bodies of a case are for, but one.
func (f folded) readers(but did.DID) []did.DID {
	all := append([]did.DID{f.Claimant, f.Respondent, f.Mediator, f.Candidate}, mediators(f.terms, f.Claimant, f.Respondent)...)
	var out []did.DID
	for _, o := range all {
		if !o.IsZero() && o != but && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}
