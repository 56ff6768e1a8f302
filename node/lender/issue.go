package lender

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/charter"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/memory"
	"trustnode/node/recorder"
	"trustnode/node/self"
	"trustnode/node/store"
)

// matchesBody is the private body of loan.issued.
type matchesBody struct {
	Matches uint64       `json:"matches"`
	Salt    lending.Salt `json:"salt"`
}

// issuing is one Issue.
type issuing struct {
	l        *Lender
	at       time.Time
	lender   self.AgentRow
	borrower self.AgentRow
	place    memory.Place
	stand    standing
	p        lending.Permission
	stats    memory.Stats
	hygiene  []string
}

// Issue signs a permission, or with Preview only says what it would lend. It returns
// once the loan is durable, and its event in the own log where that is open.
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
		return i.preview(), nil
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
	if err := i.parties(ctx, in); err != nil {
		return err
	}
	if err := i.draft(in); err != nil {
		return err
	}
	var err error
	if i.stats, err = i.l.n.Entries.Stats(ctx, i.place, i.p.Scope, i.at); err != nil {
		return err
	}
	personal := i.stats.Classes["personal"]+i.stats.Classes["regulated"] > 0
	i.hygiene = lending.Lint(i.p, lending.Stats{Matches: uint64(i.stats.Matches), Project: uint64(i.stats.Size), Personal: personal}, i.stand.cross)
	return i.judge()
}

// parties finds both agents, live and capable.
func (i *issuing) parties(ctx context.Context, in IssueInput) error {
	get := self.ViewGetter(ctx, i.l.n.DB)
	var err error
	if i.lender, err = i.l.agent(get, in.Lender); err != nil {
		return err
	}
	if err := i.lender.May("lend", i.at); err != nil {
		return fault.Wrap(fault.Refused, lending.ReasonLender, err).WithHint("add an agent with --can lend")
	}
	if i.place, err = place(i.lender); err != nil {
		return err
	}
	if i.borrower, err = i.l.borrower(ctx, in.Borrower); err != nil {
		return err
	}
	if err := i.borrower.May("borrow", i.at); err != nil {
		if forked := i.l.issuedAbove(ctx, i.borrower.Agent); forked != nil {
			return forked
		}
		return fault.Wrap(fault.Refused, lending.ReasonBorrower, err).WithHint("the borrower's organization has to issue an agent object with capability borrow")
	}
	i.stand = i.l.standing(i.borrower.Org, i.at)
	return nil
}

// issuedAbove refuses an agent whose agent.issued is contested; nil for any other.
func (l *Lender) issuedAbove(ctx context.Context, d did.DID) error {
	org, contested, err := l.n.Rec.ContestedBy(ctx, "agent.issued", d)
	if err != nil || !contested {
		return nil // refused all the same, in other words
	}
	return fault.New(fault.Forked, "log", "agent %s was issued by %s above where its log forked", d, org).
		WithHint("it counts once a charter names the branch that it is on: trustnode event list --org %s --any", org)
}

// borrower finds the borrowing agent. One that is not known here is asked of all members
// once.
func (l *Lender) borrower(ctx context.Context, text string) (self.AgentRow, error) {
	get := self.ViewGetter(ctx, l.n.DB)
	d, err := did.Parse(text)
	if err != nil {
		return l.agent(get, text)
	}
	row, err := self.Agent(get, d)
	if !errors.Is(err, self.ErrNoAgent) {
		return row, err
	}
	if l.n.Peers.Sync(ctx) == nil {
		if row, err = self.AwaitAgent(ctx, l.n.DB, d, arriveTime); !errors.Is(err, self.ErrNoAgent) {
			return row, err
		}
	}
	if forked := l.issuedAbove(ctx, d); forked != nil {
		return row, forked
	}
	return row, fault.New(fault.NotFound, "agent", "no member has shown an agent %.100q", text).
		WithHint("check the DID; the borrower's node has to run, trustnode status shows which are linked")
}

// draft makes the permission's body.
func (i *issuing) draft(in IssueInput) error {
	scope, err := lending.Parse(in.Scope)
	if err != nil {
		return fault.Wrap(fault.Invalid, "scope", err).WithHint("say what is included, e.g. tag:client:acme -tag:confidential age<90d")
	}
	end, err := parseEnd(in.Expires, i.at)
	if err != nil {
		return err
	}
	if len(in.Patterns) > 0 && !slices.Equal(in.Patterns, []string{lending.PatternRead}) {
		return fault.New(fault.Invalid, "patterns", "this node answers pattern read alone").WithHint("leave the patterns out")
	}
	if err := envelope.CheckText(in.Purpose, false); err != nil || in.Purpose == "" {
		return fault.New(fault.Invalid, "purpose", "the purpose is not 1 to %d bytes of plain text on one line", lending.MaxPurpose).WithHint("give --purpose, without line breaks")
	}
	i.p = lending.Permission{
		Lender: i.lender.Agent, Kid: i.lender.KID, Borrower: i.borrower.Agent, Scope: scope, Purpose: in.Purpose,
		IssuedAt: envelope.TimeOf(i.at), ExpiresAt: end, MaxReads: in.MaxReads, Patterns: []string{lending.PatternRead},
		Revocation: i.l.n.Org.String() + "#lending", Nonce: lending.NewNonce(),
	}
	if i.stand.cross && !i.stand.head.ID.IsZero() {
		i.p.GoverningCharter = &lending.CharterPin{ID: i.stand.head.ID, Seq: i.stand.head.Seq}
	}
	return nil
}

// judge holds the permission to what charter and operator allow.
func (i *issuing) judge() error {
	s := i.stand
	if s.forked != nil {
		return s.forked
	}
	if s.ended != nil {
		return s.ended
	}
	if !s.mayIssue() {
		return fault.New(fault.Refused, s.word, "in state %s this node issues no such loan", s.word).
			WithHint("trustnode fed status shows what is missing; trustnode status --wait fresh waits for it")
	}
	if !s.member {
		return fault.New(fault.Refused, lending.ReasonNotMember, "the borrower's organization %s is no active member", i.borrower.Org).
			WithHint("join a federation with it first")
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
	return lending.CheckIssue(i.p, rules, i.hygiene, i.at)
}

// commit signs the permission and writes the loan, all of it or nothing.
func (i *issuing) commit(ctx context.Context) (Loan, error) {
	key, err := i.l.signer(ctx, i.lender)
	if err != nil {
		return Loan{}, err
	}
	e, err := envelope.Seal(ctx, i.p, key)
	if err != nil {
		return Loan{}, err
	}
	compact, err := e.Compact()
	if err != nil {
		return Loan{}, err
	}
	perm, err := envelope.Open[lending.Permission](ctx, e, anyTime(i.lender))
	if err != nil {
		return Loan{}, err
	}
	body, err := envelope.Marshal(matchesBody{uint64(i.stats.Matches), lending.NewSalt()})
	if err != nil {
		return Loan{}, err
	}
	k := &known{perm: perm, compact: compact, place: i.place}
	err = i.l.n.DB.Update(ctx, func(tx store.Tx) error {
		if err := i.again(tx); err != nil {
			return err
		}
		return i.write(tx, k, body)
	})
	if err != nil {
		return Loan{}, err
	}
	i.l.remember(k)
	out := k.loan()
	out.Left, out.State, out.Words = i.p.MaxReads, lending.Valid, i.words()
	return out, nil
}

// again looks, inside the transaction, whether both agents still are what they were.
func (i *issuing) again(tx store.Tx) error {
	for _, was := range []self.AgentRow{i.lender, i.borrower} {
		now, err := self.Agent(tx, was.Agent)
		if err != nil {
			return err
		}
		if now.Object != was.Object || now.Revoked != was.Revoked || now.Project != was.Project {
			return fault.New(fault.Conflict, "agent", "agent %s changed meanwhile", was.Name).WithHint("try again")
		}
	}
	return revokedBorrower(tx, i.borrower.Agent, i.borrower.Org)
}

func (i *issuing) write(tx store.Tx, k *known, body []byte) error {
	id, org := k.perm.ID(), i.borrower.Org
	event, err := i.l.n.Rec.Event(tx, attestation.Draft{
		Type: "loan.issued", Subject: id.String(), Refs: []envelope.ID{id}, Actor: i.p.Lender, Body: body,
		Data: attestation.LoanIssued{Borrower: i.p.Borrower, ExpiresAt: i.p.ExpiresAt, Hygiene: i.hygiene, Lender: i.p.Lender,
			MaxReads: i.p.MaxReads, Patterns: i.p.Patterns, Permission: id},
	})
	if err != nil {
		return err
	}
	k.issued = issuedRow{BorrowerOrg: org, Event: event, Hygiene: i.hygiene, Matches: uint64(i.stats.Matches)}
	row, _, err := lending.MarshalRow(lending.IssueRow{
		At: envelope.TimeOf(i.at), Borrower: i.p.Borrower, By: i.p.Lender.String(), ExpiresAt: i.p.ExpiresAt, Hygiene: i.hygiene, Matches: uint64(i.stats.Matches),
		MaxReads: i.p.MaxReads, Op: lending.OpIssue, Patterns: i.p.Patterns, Perm: id, Purpose: i.p.Purpose, Salt: lending.NewSalt(), Scope: i.p.Scope,
	})
	if err != nil {
		return err
	}
	_, rowErr := i.l.n.Rec.Row(tx, audit.Row{Kind: lending.OpIssue, Body: row, For: []did.DID{org}, Keys: []string{id.String()}})
	return errors.Join(rowErr,
		tx.Set(idKey(keyPerm, id), []byte(k.compact)),
		store.PutRow(tx, idKey(keyLoan, id), lending.Loan{Place: i.place.String()}),
		store.PutRow(tx, idKey(keyIssued, id), k.issued),
		tx.Set(idKey(keyOpen, id), nil),
		i.l.n.Lib.Put(tx, library.Object{ID: id, What: "permission", Bytes: k.perm.Envelope().DSSE()}),
		i.l.n.Lib.Grant(tx, id, org),
		i.l.n.Lib.Grant(tx, envelope.IDOf(body), org),
	)
}

// preview is what would be lent.
func (i *issuing) preview() Loan {
	return Loan{Permission: i.p, BorrowerOrg: i.borrower.Org, Place: i.place.String(), Left: i.p.MaxReads, Matches: uint64(i.stats.Matches), Hygiene: i.hygiene, Words: i.words()}
}

// words says each hygiene code in a sentence, with the numbers behind it.
func (i *issuing) words() []string {
	out := words(i.hygiene)
	for n, code := range i.hygiene {
		switch code {
		case lending.H3Broad:
			out[n] = fmt.Sprintf("it reaches %d of %d entries of the project", i.stats.Matches, i.stats.Size)
		case lending.H7Nothing:
			out[n] = i.nothing()
		}
	}
	return out
}

func (i *issuing) nothing() string {
	text := "it matches nothing now"
	for n, tag := range i.stats.Unknown {
		text += fmt.Sprintf("; no entry has %s", tag)
		if near := i.stats.Nearest[n]; near != "" {
			text += fmt.Sprintf(", %s is near", near)
		}
	}
	return text
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

var inDays = regexp.MustCompile(`^([0-9]{1,5})([dw])$`)

// parseEnd reads a duration from at, or a time.
func parseEnd(text string, at time.Time) (envelope.Time, error) {
	if t, err := envelope.ParseTime(text); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return envelope.TimeOf(t), nil
	}
	if m := inDays.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		if m[2] == "w" {
			n *= 7
		}
		return envelope.TimeOf(at.AddDate(0, 0, n)), nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return envelope.TimeOf(at.Add(d)), nil
	}
	return envelope.Time{}, fault.New(fault.Invalid, "expires", "%.40q is neither a duration nor a time", text).
		WithHint("e.g. --expires 720h or --expires 2026-12-31T00:00:00Z")
}
