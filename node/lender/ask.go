package lender

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/charter"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Keys of loan requests.
const (
	keyAsk      = "lr/"
	keyOpenAsks = "lq/"
	keyKeptAsks = "lk/"
)

// askRow is what the lender keeps of a loan request beside its bytes.
type askRow struct {
	Arrived  envelope.Time    `json:"arrived"`
	Borrower did.DID          `json:"borrower"`
	Counted  bool             `json:"counted,omitempty"` // among the keptAsks of Org
	Decided  envelope.Time    `json:"decided,omitempty"`
	Lender   did.DID          `json:"lender"`
	Org      did.DID          `json:"org"`
	Perm     envelope.ID      `json:"perm,omitempty"`    // that was issued
	Reason   string           `json:"reason,omitempty"`  // why it was declined
	Replied  envelope.ID      `json:"replied,omitempty"` // the request that replies to it
	Round    uint64           `json:"round"`
	State    lending.AskState `json:"state"` // requested while nobody answered, lapsed or not
	Until    envelope.Time    `json:"until"`
}

// open refuses a request that waits no longer.
func (r askRow) open(at time.Time) error {
	if s := r.State.AskAt(r.Until, at); s != lending.AskRequested {
		return fault.New(fault.Conflict, string(s), "the request is %s already", s).WithHint("the borrower may ask anew; trustnode loan list --requests shows what waits")
	}
	return nil
}

// keptAsks counts the requests of one organization that are kept and led to nothing yet.
type keptAsks struct {
	Kept uint64 `json:"kept"`
}

// openAsks are the requests of one organization that wait.
type openAsks struct {
	Asks []openAsk `json:"asks"`
}

type openAsk struct {
	Borrower did.DID       `json:"borrower"`
	ID       envelope.ID   `json:"id"`
	Until    envelope.Time `json:"until"`
}

// Ask takes a loan request, in its compact form. What it proves is who asks: nothing is
// owed by it, and until somebody answers nothing changes but that it waits, for
// lending.RequestLifeS. The same bytes again are the same request. Refusals are
// *fault.Denied; none leaves a trace.
func (l *Lender) Ask(ctx context.Context, compact string) (lending.Asked, error) {
	ctx, leave, err := l.enter(ctx)
	if err != nil {
		return lending.Asked{}, err
	}
	defer leave()
	get := self.ViewGetter(ctx, l.n.DB)
	e, err := envelope.ParseCompact(compact, lending.LoanRequestType, lending.MaxRequest)
	if err != nil {
		return lending.Asked{}, refusal(err)
	}
	rq, err := envelope.Open[lending.LoanRequest](ctx, e, self.SignerSource(get))
	if err != nil {
		return lending.Asked{}, refusal(err)
	}
	a := arrival{l: l, rq: rq}
	var trusted bool
	if a.at, trusted = l.clock(); !trusted {
		return lending.Asked{}, fault.New(fault.Unavailable, lending.ReasonClock, "the lender's node does not trust its clock").WithHint("the lender's operator has to set its clock")
	}
	if err := l.limits.take(rq.Body().Borrower, a.at); err != nil {
		return lending.Asked{}, err
	}
	out, err := a.take(ctx)
	return out, refusal(err)
}

// arrival is one Ask.
type arrival struct {
	l     *Lender
	rq    envelope.Verified[lending.LoanRequest]
	at    time.Time
	asker self.AgentRow
	row   askRow
}

func (a *arrival) take(ctx context.Context) (lending.Asked, error) {
	if err := a.rq.Body().CheckArrival(a.at); err != nil {
		return lending.Asked{}, err
	}
	asker, err := self.Agent(self.ViewGetter(ctx, a.l.n.DB), a.rq.Body().Borrower)
	if err != nil {
		return lending.Asked{}, err
	}
	stand := a.l.standing(asker.Org, a.at)
	err = a.l.n.DB.Update(ctx, func(tx store.Tx) error {
		was, there, err := store.GetRow[askRow](tx, idKey(keyAsk, a.rq.ID()))
		if err != nil {
			return err
		}
		if there { // the same bytes again
			a.row = was
			return nil
		}
		return a.new(tx, stand)
	})
	if err != nil {
		return lending.Asked{}, err
	}
	return a.l.told(ctx, a.rq.ID(), a.row, a.at)
}

// new judges a request that was not here before, and writes it.
func (a *arrival) new(tx store.Tx, stand standing) error {
	if err := a.parties(tx); err != nil {
		return err
	}
	if err := stand.newLoan(a.asker.Org); err != nil {
		return err
	}
	if stand.cross && !charter.CanMediate(stand.head.Body, a.l.n.Org, a.asker.Org) {
		return fault.New(fault.Refused, lending.ReasonNoMediator, "nobody could settle a dispute between the two organizations").
			WithHint("agree a charter with a neutral mediator")
	}
	b := a.rq.Body()
	key := append(nonceKey(b.Borrower, b.Nonce), "/ask"...)
	if used, err := tx.Get(key); err == nil && len(used) > 8 {
		return fault.New(fault.Replay, "", "the nonce was used by request %s", used[8:]).WithHint("sign a new request with a new nonce")
	} else if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err := a.parent(tx); err != nil {
		return err
	}
	a.row = askRow{Arrived: envelope.TimeOf(a.at), Borrower: b.Borrower, Counted: true, Lender: b.Aud, Org: a.asker.Org, State: lending.AskRequested,
		Until: envelope.TimeOf(a.at).Add(lending.RequestLifeS * time.Second)}
	if err := a.reply(tx); err != nil {
		return err
	}
	if err := a.wait(tx); err != nil {
		return err
	}
	if err := a.keep(tx); err != nil {
		return err
	}
	until := binary.BigEndian.AppendUint64(nil, uint64(b.At.Unix()+lending.NonceLifeS))
	return errors.Join(
		tx.Set(key, append(until, a.rq.ID().String()...)),
		store.PutRow(tx, idKey(keyAsk, a.rq.ID()), a.row),
		a.l.n.Lib.Put(tx, library.Object{ID: a.rq.ID(), What: "loanrequest", Bytes: a.rq.Envelope().DSSE()}),
		a.l.n.Lib.Grant(tx, a.rq.ID(), a.asker.Org),
	)
}

// parties are both agents, as they are now: who asks may borrow, who is asked is ours and
// may lend.
func (a *arrival) parties(tx store.Tx) (err error) {
	b := a.rq.Body()
	if a.asker, err = self.Agent(tx, b.Borrower); err != nil {
		return err
	}
	if err := a.asker.May("borrow", a.at); err != nil {
		return fault.Wrap(fault.Refused, lending.ReasonBorrower, err).WithHint("the borrower's organization has to issue an agent object with capability borrow")
	}
	if err := revokedBorrower(tx, a.asker.Agent, a.asker.Org); err != nil {
		return fault.From(err).WithHint("the lender ended all loans to it, for good")
	}
	asked, err := self.Agent(tx, b.Aud)
	if err != nil && !errors.Is(err, self.ErrNoAgent) {
		return err
	}
	if err != nil || asked.Org != a.l.n.Org {
		return fault.New(fault.Unauthenticated, lending.ReasonAudience, "the request is addressed to %s, which is no agent of this organization", b.Aud).WithHint("send it to the lender it names")
	}
	if err := asked.May("lend", a.at); err != nil {
		return fault.New(fault.Refused, lending.ReasonLender, "agent %s may not lend now", b.Aud).WithHint("ask another agent of that organization")
	}
	return nil
}

// parent judges a wish to let a third agent in: whoever asks has that permission, and it
// provides for it.
func (a *arrival) parent(tx store.Tx) error {
	b := a.rq.Body()
	if b.Parent.IsZero() {
		return nil
	}
	up := &known{}
	signer, err := up.load(tx, b.Parent)
	if errors.Is(err, store.ErrNotFound) {
		return lending.Unknown()
	}
	if err != nil {
		return err
	}
	e, err := envelope.ParseCompact(up.compact, lending.PermissionType, lending.MaxPermission)
	if err != nil {
		return err
	}
	if up.perm, err = envelope.Open[lending.Permission](context.Background(), e, anyTime(signer)); err != nil {
		return err
	}
	p := up.perm.Body()
	switch {
	case p.Borrower != b.Borrower || p.Lender != b.Aud:
		return lending.Unknown()
	case p.Sublend != lending.SublendAsk:
		return fault.New(fault.Refused, lending.ReasonParent, "permission %s does not provide for sub-lending", b.Parent).WithHint("ask for a loan that does, or let %s ask for one of its own", b.For)
	}
	if err := a.l.mayHaveParts(context.Background(), up); err != nil {
		return err
	}
	return a.l.alive(tx, up, a.at)
}

// reply makes a counter follow what it replies to: a request of the same two agents, to
// which no other one replied. One that still waited waits no longer.
func (a *arrival) reply(tx store.Tx) (err error) {
	b := a.rq.Body()
	a.row.Round = 1
	if b.InReplyTo.IsZero() {
		return nil
	}
	was, there, err := store.GetRow[askRow](tx, idKey(keyAsk, b.InReplyTo))
	if err != nil {
		return err
	}
	if !there || was.Borrower != b.Borrower || was.Lender != b.Aud {
		return fault.New(fault.NotFound, "in_reply_to", "no such request").WithHint("reply to a request of the same agent to the same lender")
	}
	if !was.Replied.IsZero() {
		return fault.New(fault.Conflict, "in_reply_to", "request %s has a reply, %s", b.InReplyTo, was.Replied).WithHint("reply to that one")
	}
	if a.row.Round, err = lending.NextRound(was.Round); err != nil {
		return err
	}
	was.Replied = a.rq.ID()
	if was.open(a.at) == nil {
		was.State, was.Reason, was.Decided = lending.AskDeclined, "the borrower asked anew", envelope.TimeOf(a.at)
		if err := forgetOpen(tx, was.Org, b.InReplyTo); err != nil {
			return err
		}
	}
	return store.PutRow(tx, idKey(keyAsk, b.InReplyTo), was)
}

// wait puts the request among those of its organization that wait, within the caps.
func (a *arrival) wait(tx store.Tx) error {
	key := []byte(keyOpenAsks + a.asker.Org.String())
	all, _, err := store.GetRow[openAsks](tx, key)
	if err != nil {
		return err
	}
	mine := 0
	kept := []openAsk{}
	for _, o := range all.Asks {
		if !a.at.Before(o.Until.Time()) {
			continue
		}
		kept = append(kept, o)
		if o.Borrower == a.asker.Agent {
			mine++
		}
	}
	if mine >= MaxAsks || len(kept) >= MaxAsksOfOrg {
		return fault.New(fault.RateLimited, "requests", "%d requests of this agent and %d of its organization wait for an answer, %d and %d are the most", mine, len(kept), MaxAsks, MaxAsksOfOrg).
			WithHint("wait for an answer; a request lapses after 24 hours")
	}
	kept = append(kept, openAsk{Borrower: a.asker.Agent, ID: a.rq.ID(), Until: a.row.Until})
	return store.PutRow(tx, key, openAsks{kept})
}

// keep counts the request among those of its organization that are kept: a counter frees the
// place of what it replies to among those that wait, and that stays here for a while.
func (a *arrival) keep(tx store.Tx) error {
	key := []byte(keyKeptAsks + a.asker.Org.String())
	n, _, err := store.GetRow[keptAsks](tx, key)
	if err != nil {
		return err
	}
	if n.Kept >= MaxAsksKept {
		return fault.New(fault.RateLimited, "requests_kept", "%d requests of this organization are kept, %d are the most", n.Kept, MaxAsksKept).
			WithHint("those that were countered go after %d hours, those that were declined after %d days", keepCountered/time.Hour, keepDeclined/(24*time.Hour))
	}
	n.Kept++
	return store.PutRow(tx, key, n)
}

// uncount takes a request from those that count as kept.
func uncount(tx store.Tx, r *askRow) error {
	if !r.Counted {
		return nil
	}
	r.Counted = false
	key := []byte(keyKeptAsks + r.Org.String())
	n, _, err := store.GetRow[keptAsks](tx, key)
	if err != nil {
		return err
	}
	n.Kept -= min(n.Kept, 1)
	return store.PutRow(tx, key, n)
}

// forgetOpen takes a request from those of its organization that wait.
func forgetOpen(tx store.Tx, org did.DID, id envelope.ID) error {
	key := []byte(keyOpenAsks + org.String())
	all, ok, err := store.GetRow[openAsks](tx, key)
	if err != nil || !ok {
		return err
	}
	kept := []openAsk{}
	for _, o := range all.Asks {
		if o.ID != id {
			kept = append(kept, o)
		}
	}
	return store.PutRow(tx, key, openAsks{kept})
}
