package lender

import (
	"context"
	"maps"
	"slices"
	"time"

	"trustnode/did/envelope"
	"trustnode/federation/charter"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
	"trustnode/node/recorder"
	"trustnode/node/self"
)

// issuing is one Issue.
type issuing struct {
	l        *Lender
	at       time.Time
	asked    *asking            // the request it answers, or nil
	parent   *known             // the permission it is a part of, or nil
	old      *replacement       // the permission it replaces, or nil
	signed   *envelope.Envelope // what a person signed elsewhere, or nil
	lender   self.AgentRow
	borrower self.AgentRow
	place    memory.Place
	stand    standing
	p        lending.Permission
	stats    memory.Stats
	hygiene  []string
}

// Issue signs a permission, or with Preview only says what it would lend. It returns
// once the loan is durable, and its event in the own log where that is open. A permission
// that replaces another one ends that in the same transaction.
func (l *Lender) Issue(ctx context.Context, in IssueInput) (Loan, error) {
	at, err := l.n.Clock.Now()
	if err != nil {
		return Loan{}, fault.Wrap(fault.ClockSkew, lending.ReasonClock, err).WithHint("set this host's clock")
	}
	i := issuing{l: l, at: at}
	if err := i.prepare(ctx, in); err != nil {
		return Loan{}, refusal(err)
	}
	if in.Preview {
		out, err := i.preview(ctx)
		return out, refusal(err)
	}
	loan, err := i.commit(ctx)
	if err != nil {
		return Loan{}, refusal(err)
	}
	l.awaitAppended(ctx, loan.Issued)
	return loan, nil
}

// prepare makes the permission's body and judges it.
func (i *issuing) prepare(ctx context.Context, in IssueInput) error {
	if in.As != "" {
		return i.l.needsGate(ctx, in.As)
	}
	if in.Signed != "" {
		if err := i.fillSigned(&in); err != nil {
			return err
		}
	}
	if err := i.fill(ctx, &in); err != nil {
		return err
	}
	if err := i.parties(ctx, in); err != nil {
		return err
	}
	if err := i.body(in); err != nil {
		return err
	}
	if err := i.lint(ctx); err != nil {
		return err
	}
	return i.judge(ctx)
}

// body is drafted here, or came signed.
func (i *issuing) body(in IssueInput) error {
	if i.signed != nil {
		return i.checkSigned()
	}
	return i.draft(in)
}

// needsGate refuses what an agent may do only once a person approved it: the authority
// gate (05) that would ask one is not in this version, and nothing goes round it.
func (l *Lender) needsGate(ctx context.Context, agent string) error {
	if _, err := l.agent(self.ViewGetter(ctx, l.n.DB), agent); err != nil {
		return err
	}
	return fault.New(fault.NeedsApproval, "no_gate", "agents issue no loans: a person has to approve each, and this version has no way to ask one").
		WithHint("issue it as the operator, without --as")
}

// lint asks the memory what the scope reaches, and says what could be narrower.
func (i *issuing) lint(ctx context.Context) (err error) {
	if i.stats, err = i.l.n.Entries.Stats(ctx, i.place, i.p.Scope, i.at); err != nil {
		return err
	}
	split, err := i.l.splits(ctx, i.place, i.p.Scope)
	if err != nil {
		return err
	}
	personal := i.stats.Classes["personal"]+i.stats.Classes["regulated"] > 0
	i.hygiene = lending.Lint(i.p, lending.Stats{Matches: uint64(i.stats.Matches), Project: uint64(i.stats.Size), Personal: personal, InImport: split}, i.stand.cross)
	return nil
}

// census is what the scope matches now.
func (i *issuing) census() lending.Census { return censusOf(i.stats) }

func censusOf(s memory.Stats) lending.Census {
	return lending.Census{Matches: uint64(s.Matches), Classes: slices.Sorted(maps.Keys(s.Classes))}
}

// judge holds the permission to what charter and operator allow.
func (i *issuing) judge(ctx context.Context) error {
	s := i.stand
	if err := s.newLoan(i.borrower.Org); err != nil {
		return err
	}
	rules := lending.IssueRules{Cross: s.cross, Mediator: true}
	if s.cross {
		rules.Charter = lending.CharterPin{ID: s.head.ID, Seq: s.head.Seq}
		rules.MaxTTLS, rules.MaxReads = s.head.Policy.MaxLoanTTLS, s.head.Policy.MaxReadsPerLoan
		rules.Mediator = charter.CanMediate(s.head.Body, i.l.n.Org, i.borrower.Org)
	}
	if i.l.cfg.RequirePact {
		rules.Refused = []string{lending.H10NoPact}
	}
	rules.Refused = append(rules.Refused, i.l.cfg.RefuseHygiene...)
	if err := lending.CheckIssue(i.p, rules, i.hygiene, i.at); err != nil {
		return err
	}
	return i.narrow(ctx)
}

// awaitAppended waits a while for an event to be in the own log, if that is open.
func (l *Lender) awaitAppended(ctx context.Context, event envelope.ID) {
	if s, _ := l.n.Rec.State(); s != recorder.Open {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, appendTime)
	defer cancel()
	if _, err := l.n.Rec.WaitAppended(ctx, event); err != nil {
		l.n.Log.WarnContext(ctx, "an event is not in the log yet", "event", event.String(), "error", err)
	}
}
