package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/self"
	"trustnode/node/store"
)

// AskInput asks a lender for a permission, as an own agent.
type AskInput struct {
	As       string   // own agent, by name or DID
	Lender   string   // DID of the agent that is asked; empty with From, Parent or InReplyTo
	Purpose  string   // 1..200 bytes; signed, shown to the lender and logged
	Expires  string   // duration such as 720h or 30d, or a time
	MaxReads uint64   // granted answers
	Patterns []string // of read, discover, downstream_write; empty: read
	Scope    string   // as people type it; empty leaves it to the lender
	CostCap  *lending.Money

	From string   // id of the receipt of a discovery: what it found is asked for
	Tags []string // with From: entries that have one of these

	Parent string // id of an own permission that provides for sub-lending
	For    string // with Parent: DID of the agent to be let in

	InReplyTo string // id of an own request that this one counters
	Preview   bool   // say what would be asked, send nothing
}

// Asked is a request of an own agent, and how it stands by the lender's last word.
type Asked struct {
	ID        envelope.ID // zero in a preview
	Body      lending.LoanRequest
	LenderOrg did.DID
	State     lending.AskState
	Reason    string      // of a declined one, in the lender's words
	Perm      envelope.ID // of an issued one; verified and kept here
	Round     uint64
	Until     time.Time // when it lapses, if nobody answers
	Heard     bool      // the lender said so; else nobody has answered this node yet
}

// Ask sends a loan request. It is kept here before it is sent: whether an answer came or
// not, Asked asks again how it stands. A refusal leaves nothing behind, and is a
// *fault.Denied.
func (c *Client) Ask(ctx context.Context, in AskInput) (Asked, error) {
	w := wish{c: c}
	if err := w.prepare(ctx, in); err != nil {
		return Asked{}, fault.From(err)
	}
	if in.Preview {
		return Asked{Body: w.body, LenderOrg: w.lender.Org}, nil
	}
	out, err := w.send(ctx)
	if err != nil {
		return Asked{}, fault.From(err)
	}
	return out, nil
}

// wish is one Ask.
type wish struct {
	c      *Client
	at     time.Time
	as     self.AgentRow
	lender self.AgentRow
	body   lending.LoanRequest
}

func (w *wish) prepare(ctx context.Context, in AskInput) (err error) {
	if w.at, err = w.c.n.Clock.Now(); err != nil {
		return fault.Wrap(fault.ClockSkew, lending.ReasonClock, err).WithHint("set this host's clock")
	}
	if w.as, err = w.c.agent(viewOf(ctx, w.c), in.As); err != nil {
		return err
	}
	if err := mayBorrow(w.as, w.at); err != nil {
		return err
	}
	w.body = lending.LoanRequest{At: envelope.TimeOf(w.at), Borrower: w.as.Agent, CostCap: in.CostCap, Kid: w.as.KID, MaxReads: in.MaxReads,
		Nonce: lending.NewSalt(), Patterns: []string{lending.PatternRead}, Purpose: in.Purpose}
	for _, step := range []func(context.Context, *AskInput) error{w.reply, w.found, w.part, w.words} {
		if err := step(ctx, &in); err != nil {
			return err
		}
	}
	return w.whom(ctx, in.Lender)
}

// reply takes over lender and, where nothing else is said, scope of the request that is countered.
func (w *wish) reply(ctx context.Context, in *AskInput) error {
	if in.InReplyTo == "" {
		return nil
	}
	id, err := askID(in.InReplyTo)
	if err != nil {
		return err
	}
	was, err := w.c.readAsked(ctx, id)
	if err != nil {
		return err
	}
	if was.Body.Borrower != w.as.Agent {
		return errNoAsk(id)
	}
	w.body.InReplyTo = id
	if in.Scope == "" && in.From == "" {
		in.Scope = was.Body.Scope.String()
	}
	return sameLender(in, was.Body.Aud)
}

// found makes the scope of what a discovery found.
func (w *wish) found(ctx context.Context, in *AskInput) error {
	if in.From == "" {
		if len(in.Tags) > 0 {
			return fault.New(fault.Invalid, "tags", "tags go with the receipt of a discovery").WithHint("give --from, or a --scope")
		}
		return nil
	}
	if in.Scope != "" {
		return fault.New(fault.Invalid, "scope", "the discovery gives the scope").WithHint("leave --scope out, or --from and --tags")
	}
	rc, scope, err := w.c.looked(ctx, w.as.Agent, in.From)
	if err != nil {
		return err
	}
	got, err := lending.FoundScope(scope, in.Tags)
	if err != nil {
		return fault.Wrap(fault.Invalid, "tags", err).WithHint("name tags that the discovery told: --tags a,b")
	}
	in.Scope = got.String()
	return sameLender(in, rc.Lender)
}

// part makes it a wish to let a third agent in under an own permission.
func (w *wish) part(ctx context.Context, in *AskInput) (err error) {
	if (in.Parent == "") != (in.For == "") {
		return fault.New(fault.Invalid, "for", "a part of a loan names both the loan and the agent to be let in").WithHint("give --parent and --for")
	}
	if in.Parent == "" {
		return nil
	}
	v, _, err := w.c.permissionOf(ctx, w.as, in.Parent)
	if err != nil {
		return err
	}
	if w.body.For, err = did.Parse(in.For); err != nil {
		return fault.Wrap(fault.Invalid, "for", err).WithHint("give the DID of the agent to be let in")
	}
	w.body.Parent = v.ID()
	return sameLender(in, v.Body().Lender)
}

func sameLender(in *AskInput, d did.DID) error {
	if in.Lender != "" && in.Lender != d.String() {
		return fault.New(fault.Invalid, "lender", "the lender is %s already", d).WithHint("leave --lender out")
	}
	in.Lender = d.String()
	return nil
}

// words reads what a person typed.
func (w *wish) words(_ context.Context, in *AskInput) (err error) {
	if in.Purpose == "" || len(in.Purpose) > lending.MaxPurpose || envelope.CheckText(in.Purpose, false) != nil {
		return fault.New(fault.Invalid, "purpose", "the purpose is not 1 to %d bytes of plain text on one line", lending.MaxPurpose).WithHint("give --purpose, without line breaks")
	}
	if w.body.ExpiresAt, err = lending.ParseEnd(in.Expires, w.at); err != nil {
		return fault.Wrap(fault.Invalid, "expires", err).WithHint("e.g. --expires 720h or --expires 2026-12-31T00:00:00Z")
	}
	if in.Scope != "" {
		if w.body.Scope, err = lending.Parse(in.Scope); err != nil {
			return fault.Wrap(fault.Invalid, "scope", err).WithHint("say what is included, e.g. tag:client:acme")
		}
	}
	if len(in.Patterns) > 0 {
		w.body.Patterns = slices.Compact(slices.Sorted(slices.Values(in.Patterns)))
	}
	return nil
}

// whom finds the lending agent, and judges the body.
func (w *wish) whom(ctx context.Context, text string) (err error) {
	if w.body.Aud, err = did.Parse(text); err != nil {
		return fault.New(fault.Invalid, "lender", "%.80q is no DID of a lending agent", text).WithHint("give --lender did:…, as its organization told you")
	}
	if w.lender, err = w.c.lender(ctx, w.body.Aud); err != nil {
		return err
	}
	if err := w.c.n.Contested(ctx, w.lender.Org); err != nil {
		return err
	}
	if err := w.c.n.Ended(ctx, w.lender.Org); err != nil {
		return err
	}
	return w.body.Check()
}

// seal signs the request, unless the agent ended meanwhile.
func (w *wish) seal(ctx context.Context) (rq envelope.Verified[lending.LoanRequest], err error) {
	w.c.signing.RLock()
	defer w.c.signing.RUnlock()
	now, err := self.Agent(viewOf(ctx, w.c), w.as.Agent)
	if err == nil {
		err = mayBorrow(now, w.at)
	}
	if err != nil {
		return rq, err
	}
	key, kid, err := w.c.n.Signers.Agent(ctx, w.as.Agent)
	if errors.Is(err, self.ErrNoKey) {
		return rq, fault.Wrap(fault.Unavailable, "no_key", err).WithHint("the key of agent %s has to be on this node", w.as.Name)
	}
	if err != nil {
		return rq, err
	}
	w.body.Kid = kid
	e, err := envelope.Seal(ctx, w.body, key)
	if err != nil {
		return rq, err
	}
	return envelope.Open[lending.LoanRequest](ctx, e, anyTime(now))
}

// send keeps the request, sends it, and keeps what came back.
func (w *wish) send(ctx context.Context) (Asked, error) {
	rq, err := w.seal(ctx)
	if err != nil {
		return Asked{}, err
	}
	id := rq.ID()
	row := askedRow{Asked: w.body.At, LenderOrg: w.lender.Org, Round: 1, State: lending.AskRequested, Until: w.body.At.Add(lending.RequestLifeS * time.Second)}
	err = w.c.n.DB.Update(ctx, func(tx store.Tx) error {
		return errors.Join(w.c.admit(tx, w.as.Agent, id, w.at), store.PutRow(tx, idKey(keyAsked, id), row),
			w.c.n.Lib.Put(tx, library.Object{ID: id, What: "loanrequest", Bytes: rq.Envelope().DSSE()}))
	})
	if err != nil {
		return Asked{}, err
	}
	compact, err := rq.Envelope().Compact()
	if err != nil {
		return Asked{}, err
	}
	told, err := w.c.tellOf(ctx, w.lender.Org, lending.MethodAsk, compact)
	var silent *silence
	switch {
	case errors.As(err, &silent):
		return Asked{}, fault.New(fault.Unavailable, "unanswered", "request %s was signed, and %s", id, silent.why).
			WithHint("it may have arrived: trustnode loan show %s asks again; a new request is a new one", id)
	case err != nil:
		return Asked{}, errors.Join(err, w.c.dropAsked(ctx, id))
	}
	return w.c.heardOf(ctx, id, told)
}

// silence says that a lender did not answer in a way that counts.
type silence struct{ why string }

func (s *silence) Error() string { return s.why }

// tellOf is one exchange about a request: the lender's word, its refusal, or *silence.
func (c *Client) tellOf(ctx context.Context, org did.DID, method, compact string) (lending.Asked, error) {
	frame, err := lending.Frame{Method: method, Request: compact}.Bytes()
	if err != nil {
		return lending.Asked{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	b, err := c.n.Peers.Lend(ctx, org, frame)
	if errors.Is(err, self.ErrOffline) {
		return lending.Asked{}, fault.New(fault.Unavailable, "offline", "this node does not run, so the lender cannot be asked").WithHint("start it: trustnode run")
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return lending.Asked{}, &silence{inWords(err, org)}
	}
	reply, ok := lending.ParseReply(b)
	if ok && reply.Problem != nil {
		d := fault.ParseProblem(reply.Problem)
		if d.Code == fault.Unavailable || d.Code == fault.Internal { // whether it took the request is open
			return lending.Asked{}, &silence{fmt.Sprintf("%s answered: %s", org, d)}
		}
		return lending.Asked{}, d
	}
	told, err := lending.ParseAsked(reply.Answer)
	if !ok || err != nil {
		return lending.Asked{}, &silence{fmt.Sprintf("what %s sent is no answer", org)}
	}
	return told, nil
}
