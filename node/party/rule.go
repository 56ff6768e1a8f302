package party

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"trustnode/attestation"
	"trustnode/attestation/trust"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/mediation"
	"trustnode/node/fault"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// Rule rules on a case as its mediator; an offered seat is taken first, once the draft is
// known to be inside its bounds. Refusals are *fault.Denied: invalid/bounds,
// refused/left_out, refused/not_yours, expired/deadline.
func (p *Party) Rule(ctx context.Context, id string, in Verdict) (View, error) {
	f, err := p.seat(ctx, id)
	if err != nil {
		return View{}, err
	}
	report, err := p.report(ctx, f)
	if err != nil {
		return View{}, unfit(err)
	}
	if err := p.opened(ctx, f, opAccess); err != nil {
		return View{}, err
	}
	doc, err := document(in.Reasons)
	if err != nil {
		return View{}, err
	}
	r, err := draftRuling(f.Case, report, in, envelope.IDOf(doc))
	if err != nil {
		return View{}, err
	}
	if f.Mediator.IsZero() {
		if f, err = p.take(ctx, f); err != nil {
			return View{}, err
		}
	}
	if err := p.may(f, "ruling.issued"); err != nil {
		return View{}, err
	}
	r.Considered = f.Considered()
	return p.issue(ctx, f, r, doc)
}

// seat loads a case whose seat this node has, or is offered. Who may not sit is told
// before it does.
func (p *Party) seat(ctx context.Context, id string) (folded, error) {
	f, err := p.named(ctx, id)
	if err != nil {
		return folded{}, err
	}
	if !p.mayDecide(f) {
		if f, err = p.ask(ctx, f.ID); err != nil {
			return folded{}, err
		}
	}
	if f.State == mediation.Drawing && f.Candidate == p.n.Org && f.Mediator.IsZero() {
		return f, p.leftOut(ctx, f)
	}
	if f.State == mediation.Ruled && f.Mediator == p.n.Org {
		return f, already("ruled", "ruled on", f.Case)
	}
	return f, p.may(f, "ruling.issued")
}

func (p *Party) mayDecide(f folded) bool {
	return f.State != Pending && (f.May(p.n.Org, "ruling.seated") == nil && f.Mediator.IsZero() || f.May(p.n.Org, "ruling.issued") == nil)
}

// leftOut refuses a seat to whoever has an open case or much business with a party.
func (p *Party) leftOut(ctx context.Context, f folded) error {
	out := func(why string, args ...any) error {
		return fault.New(fault.Refused, "left_out", "%s may not sit in case %s", p.n.Org, f.ID).
			WithHint("%s; the seat is %s's%s", fmt.Sprintf(why, args...), f.Candidate, until(f.Case))
	}
	cases, err := p.Cases(ctx, f.Filed())
	if err != nil {
		return err
	}
	for _, c := range cases {
		if c.Party(p.n.Org) && open(c.State) && (c.Party(f.Claimant) || c.Party(f.Respondent)) {
			return out("%s has case %s open with a party", p.n.Org, c.ID)
		}
	}
	for _, o := range []did.DID{f.Claimant, f.Respondent} {
		share, err := p.dealings(ctx, f, o)
		if err != nil {
			return err
		}
		if share > dealingsShare {
			return out("%d %% of the loans of %s that ended in 90 days were with %s", share, o, p.n.Org)
		}
	}
	return nil
}

// dealings is the share, in percent, that this organization has in the loans of another
// that ended in the 90 days before the filing.
func (p *Party) dealings(ctx context.Context, f folded, with did.DID) (int, error) {
	facts, err := p.gather(ctx, attestation.Query{Type: "loan."})
	if err != nil {
		return 0, err
	}
	agents, err := p.gather(ctx, attestation.Query{Type: "agent.issued"})
	if err != nil {
		return 0, err
	}
	ours, all := 0, 0
	to := f.Filed().Unix()
	for _, s := range trust.Signals(append(facts, agents...), nil) {
		ended := s.Code == trust.Ended || s.Code == trust.EndedLent
		if !ended || s.Org != with || s.At > to || s.At <= to-int64(dealingsWindow.Seconds()) {
			continue
		}
		if all++; s.Other == p.n.Org {
			ours++
		}
	}
	if all == 0 {
		return 0, nil
	}
	return 100 * ours / all, nil
}

// draftRuling makes a ruling of what the evidence shows and the mediator says. Faults
// that would void it are refused here.
func draftRuling(c mediation.Case, rep mediation.Report, in Verdict, reasons envelope.ID) (mediation.Ruling, error) {
	if in.Severity < 0 || in.Severity > 100 {
		return mediation.Ruling{}, fault.New(fault.Invalid, "bounds", "severity %d is not 0..100 points", in.Severity)
	}
	r := mediation.Ruling{Case: c.ID, Outcome: in.Outcome, Place: c.Place, Reasons: reasons, Rung: c.Rung, Summary: in.Summary}
	for i, cl := range c.Dispute.Claims {
		f := finding(c, cl, rep.Claims[i], in)
		if f.Result == "proven" {
			if err := inBand(cl, f); err != nil {
				return r, err
			}
			if slices.Contains(c.Dispute.Relief, "score") {
				r.Remedies = append(r.Remedies, mediation.Remedy{Claim: cl.N, Do: "score", N: uint64(len(r.Remedies)) + 1})
			}
		}
		r.Claims = append(r.Claims, f)
	}
	if r.Summary == "" {
		r.Summary = summary(c, r)
	}
	return r, sound(c, r)
}

// finding is what a verdict makes of one claim. What was admitted stands at the lower
// edge of its band.
func finding(c mediation.Case, cl mediation.Claim, shown mediation.ClaimReport, in Verdict) mediation.Finding {
	out := mediation.Finding{N: cl.N, Items: shown.Items, Result: "not_proven"}
	if c.Replies[cl.N] == "admit" {
		if b, err := mediation.BandOf(cl.Code, cl.Acts); err == nil {
			out.Result, out.Acts, out.Severity = "proven", cl.Acts, b.Lo*1000
		}
		return out
	}
	acts := min(shown.Acts, cl.Acts)
	if in.Outcome == "claimant" || in.Outcome == "partial" && acts > 0 {
		out.Result, out.Acts, out.Severity = "proven", acts, uint64(in.Severity)*1000
	}
	return out
}

// inBand refuses a severity outside the band of what is proven.
func inBand(cl mediation.Claim, f mediation.Finding) error {
	if f.Acts == 0 {
		return fault.New(fault.Invalid, "bounds", "no act of claim %d verifies", cl.N).
			WithHint("claim %d (%s) has no proven act: rule undecided or respondent", cl.N, cl.Code)
	}
	b, err := mediation.BandOf(cl.Code, f.Acts)
	if err != nil {
		return err
	}
	if f.Severity < b.Lo*1000 || f.Severity > b.Hi*1000 {
		return fault.New(fault.Invalid, "bounds", "severity %d is outside what is proven", f.Severity/1000).
			WithHint("claim %d (%s, %s) allows %d..%d, the draft says %d", cl.N, cl.Code, acts(f.Acts), b.Lo, b.Hi, f.Severity/1000)
	}
	return nil
}

func acts(n uint64) string {
	if n == 1 {
		return "1 act"
	}
	return fmt.Sprintf("%d acts", n)
}

// summary says a finding in one public sentence per claim; it holds codes and numbers,
// never text of the parties.
func summary(c mediation.Case, r mediation.Ruling) string {
	var out []string
	for i, f := range r.Claims {
		code := c.Dispute.Claims[i].Code
		if f.Result == "proven" {
			out = append(out, fmt.Sprintf("Claim %d (%s, %s): %s proven, severity %d.", f.N, code, mediation.Meaning(code), acts(f.Acts), f.Severity/1000))
		} else {
			out = append(out, fmt.Sprintf("Claim %d (%s, %s): not proven.", f.N, code, mediation.Meaning(code)))
		}
	}
	s := strings.Join(out, " ")
	if len(s) > mediation.MaxSummary {
		return fmt.Sprintf("%s, %d claims.", r.Outcome, len(r.Claims))
	}
	return s
}

// sound holds a draft to the form of a ruling and to the rules of the case.
func sound(c mediation.Case, r mediation.Ruling) error {
	if faults := c.Check(r); len(faults) > 0 {
		return fault.New(fault.Invalid, faults[0].Reason, "%s", faults[0].Detail).WithHint("%s", faults[0].Detail)
	}
	r.Considered = c.Considered()
	b, err := envelope.Marshal(r)
	if err == nil {
		_, err = mediation.ParseRuling(b)
	}
	if err != nil {
		return fault.Wrap(fault.Invalid, "ruling", err)
	}
	return nil
}

// take takes the offered seat and declares to be free of ties, dealings and interest.
func (p *Party) take(ctx context.Context, f folded) (folded, error) {
	body, err := envelope.Marshal(mediation.Assignment{Case: f.ID, FreeOf: []string{"dealings", "interest", "ties"}, Place: f.Place, Rung: f.Rung})
	if err != nil {
		return folded{}, err
	}
	var seated envelope.ID
	err = p.n.DB.Update(ctx, func(tx store.Tx) error {
		key := seatKey(keySeated, f.Case)
		if seated, err = said(tx, key, f.Case); err != nil || !seated.IsZero() {
			return err
		}
		if seated, err = p.n.Rec.Event(tx, attestation.Draft{Type: "ruling.seated", Subject: f.ID.String(), Body: body}); err != nil {
			return err
		}
		if err := remember(tx, key, seated); err != nil {
			return err
		}
		return p.n.Lib.GrantAll(tx, envelope.IDOf(body))
	})
	if err != nil {
		return folded{}, err
	}
	if f, err = p.effective(ctx, f.ID, seated, seated); err != nil {
		return folded{}, err
	}
	if f.Mediator.IsZero() {
		return f, fault.New(fault.Unavailable, "pending", "the seat is taken, and nobody outside both parties has cosigned it yet").
			WithHint("try again when another member can be reached")
	}
	return f, nil
}

// issue commits a ruling with its reasons, for the parties alone.
func (p *Party) issue(ctx context.Context, f folded, r mediation.Ruling, doc []byte) (View, error) {
	body, err := envelope.Marshal(r)
	if err != nil {
		return View{}, err
	}
	var issued envelope.ID
	err = p.n.DB.Update(ctx, func(tx store.Tx) error {
		key := seatKey(keyRuled, f.Case)
		if id, err := said(tx, key, f.Case); err != nil {
			return err
		} else if !id.IsZero() {
			return already("ruled", "ruled on", f.Case)
		}
		if _, err := recorder.PutObject(tx, recorder.ObjectBody, doc); err != nil {
			return err
		}
		if issued, err = p.n.Rec.Event(tx, attestation.Draft{Type: "ruling.issued", Subject: f.ID.String(), Body: body}); err != nil {
			return err
		}
		if err := remember(tx, key, issued); err != nil {
			return err
		}
		if err := p.n.Lib.GrantAll(tx, envelope.IDOf(body)); err != nil {
			return err
		}
		return p.n.Lib.Grant(tx, r.Reasons, f.readers(p.n.Org)...)
	})
	if err != nil {
		return View{}, err
	}
	if f, err = p.effective(ctx, f.ID, issued, issued); err != nil {
		return View{}, err
	}
	return p.view(ctx, f)
}
