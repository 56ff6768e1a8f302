package lender

import (
	"bytes"
	"cmp"
	"context"
	"errors"
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

// Request is a loan request that this node received, and how it stands.
type Request struct {
	ID      envelope.ID
	Body    lending.LoanRequest
	Org     did.DID // the borrower's organization
	State   lending.AskState
	Reason  string      // why it was declined
	Perm    envelope.ID // the permission that answers it, or zero
	Replied envelope.ID // the request that replies to it, or zero
	Round   uint64
	Arrived time.Time
	Until   time.Time // when it lapses, if nobody answers
	// Beyond says that its scope goes beyond all that discoveries opened to the borrower.
	Beyond bool
	Past   Past
}

// Past are the loans of this organization to agents of one other organization.
type Past struct {
	Loans, Valid, Revoked uint64
	Reads                 uint64 // granted, under all of them
	Broken                uint64 // loans under which an act was denied as a violation
}

// Asked tells a borrower how its request stands, by a readrequest of op status that names
// the request in place of a permission. Unknown and not the caller's are the same
// not_found. Of an issued one the permission comes along.
func (l *Lender) Asked(ctx context.Context, compact string) (lending.Asked, error) {
	ctx, leave, err := l.enter(ctx)
	if err != nil {
		return lending.Asked{}, err
	}
	defer leave()
	rq, _, err := l.authenticate(ctx, compact)
	if err != nil {
		return lending.Asked{}, refusal(err)
	}
	out, err := l.tellAsk(ctx, rq.Body())
	return out, refusal(err)
}

func (l *Lender) tellAsk(ctx context.Context, b lending.ReadRequest) (lending.Asked, error) {
	at, _ := l.clock()
	row, _, err := l.asked(ctx, b.Perm)
	if err != nil {
		return lending.Asked{}, err
	}
	switch {
	case row.Borrower != b.Borrower || row.Lender != b.Aud:
		return lending.Asked{}, unknownAsk()
	case b.Op != lending.OpStatus:
		return lending.Asked{}, fault.New(fault.Invalid, lending.ReasonOp, "op %s does not fit, want status", b.Op)
	}
	if err := (lending.LoanRequest{At: b.At}).CheckArrival(at); err != nil {
		return lending.Asked{}, err
	}
	return l.told(ctx, b.Perm, row, at)
}

// told is what a borrower is told of a request of its own.
func (l *Lender) told(ctx context.Context, id envelope.ID, r askRow, at time.Time) (lending.Asked, error) {
	out := lending.Asked{ID: id, Reason: r.Reason, Round: r.Round, State: r.State.AskAt(r.Until, at), Until: r.Until}
	if out.State != lending.AskIssued {
		return out, nil
	}
	k, err := l.permission(ctx, r.Perm)
	if err != nil {
		return lending.Asked{}, err
	}
	out.Permission = k.compact
	return out, nil
}

// asked reads a request and its bytes, or unknownAsk.
func (l *Lender) asked(ctx context.Context, id envelope.ID) (askRow, lending.LoanRequest, error) {
	var row askRow
	var body lending.LoanRequest
	err := l.n.DB.View(ctx, func(r store.Reader) (err error) {
		row, body, err = l.readAsk(r, id)
		return err
	})
	return row, body, err
}

func (l *Lender) readAsk(r store.Reader, id envelope.ID) (askRow, lending.LoanRequest, error) {
	row, ok, err := store.GetRow[askRow](r, idKey(keyAsk, id))
	if err != nil || !ok {
		return row, lending.LoanRequest{}, cmp.Or(err, unknownAsk())
	}
	o, err := l.n.Lib.Read(r, id)
	if errors.Is(err, library.ErrAbsent) {
		return row, lending.LoanRequest{}, unknownAsk()
	}
	if err != nil {
		return row, lending.LoanRequest{}, err
	}
	e, err := envelope.ParseDSSE(o.Bytes, maxObject)
	if err != nil {
		return row, lending.LoanRequest{}, err
	}
	body, err := envelope.Decode[lending.LoanRequest](e)
	return row, body, err
}

func unknownAsk() error {
	return fault.New(fault.NotFound, "request", "no such loan request").WithHint("trustnode loan list --requests shows them")
}

// requestID reads what a person calls a request.
func requestID(text string) (envelope.ID, error) {
	id, err := envelope.ParseID(text)
	if err != nil {
		return id, fault.New(fault.Invalid, "request", "%.60q is no id of a loan request", text).WithHint("trustnode loan list --requests shows the ids")
	}
	return id, nil
}

// Decline ends a request that waits, with a reason in the lender's words, which the
// borrower reads.
func (l *Lender) Decline(ctx context.Context, id, reason string) (Request, error) {
	rid, err := requestID(id)
	if err != nil {
		return Request{}, err
	}
	if reason == "" || len(reason) > lending.MaxReason || envelope.CheckText(reason, false) != nil {
		return Request{}, fault.New(fault.Invalid, "reason", "the reason is not 1 to %d bytes of plain text on one line", lending.MaxReason).WithHint("say in --reason what would have to be different")
	}
	at, err := l.n.Clock.Now()
	if err != nil {
		return Request{}, fault.Wrap(fault.ClockSkew, lending.ReasonClock, err).WithHint("set this host's clock")
	}
	err = l.n.DB.Update(ctx, func(tx store.Tx) error {
		return l.decideAsked(tx, rid, at, func(r *askRow) { r.State, r.Reason = lending.AskDeclined, reason })
	})
	if err != nil {
		return Request{}, refusal(err)
	}
	return l.Request(ctx, id)
}

// decideAsked answers, in a transaction, a request that waits.
func (l *Lender) decideAsked(tx store.Tx, id envelope.ID, at time.Time, answer func(*askRow)) error {
	row, ok, err := store.GetRow[askRow](tx, idKey(keyAsk, id))
	if err != nil || !ok {
		return cmp.Or(err, unknownAsk())
	}
	if err := row.open(at); err != nil {
		return err
	}
	row.Decided = envelope.TimeOf(at)
	answer(&row)
	if row.State == lending.AskIssued { // it stays with the permission
		if err := uncount(tx, &row); err != nil {
			return err
		}
	}
	return errors.Join(store.PutRow(tx, idKey(keyAsk, id), row), forgetOpen(tx, row.Org, id))
}

// Request gives one loan request with what is known of who asks.
func (l *Lender) Request(ctx context.Context, id string) (Request, error) {
	rid, err := requestID(id)
	if err != nil {
		return Request{}, err
	}
	row, body, err := l.asked(ctx, rid)
	if err != nil {
		return Request{}, refusal(err)
	}
	loans, err := l.Loans(ctx)
	if err != nil {
		return Request{}, err
	}
	out, err := l.request(ctx, rid, row, body, loans)
	return out, refusal(err)
}

// Requests lists the loan requests that this node received, newest first, at most MaxLoans.
func (l *Lender) Requests(ctx context.Context) ([]Request, error) {
	ids, err := l.scanIDs(ctx, keyAsk, MaxLoans)
	if err != nil {
		return nil, refusal(err)
	}
	loans, err := l.Loans(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Request, 0, len(ids))
	for _, id := range ids {
		row, body, err := l.asked(ctx, id)
		if fault.Of(err) == fault.NotFound { // forgotten meanwhile
			continue
		}
		if err != nil {
			return nil, refusal(err)
		}
		r, err := l.request(ctx, id, row, body, loans)
		if err != nil {
			return nil, refusal(err)
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b Request) int {
		return cmp.Or(b.Arrived.Compare(a.Arrived), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	return out, nil
}

func (l *Lender) request(ctx context.Context, id envelope.ID, row askRow, body lending.LoanRequest, loans []Loan) (Request, error) {
	at, _ := l.clock()
	past, err := l.past(ctx, row.Org, loans)
	if err != nil {
		return Request{}, err
	}
	return Request{ID: id, Body: body, Org: row.Org, State: row.State.AskAt(row.Until, at), Reason: row.Reason, Perm: row.Perm, Replied: row.Replied, Round: row.Round,
		Arrived: row.Arrived.Time(), Until: row.Until.Time(), Beyond: beyond(body, loans), Past: past}, nil
}

// beyond says whether a request names a scope outside of every discovery that was opened to
// its borrower; where there was none, nothing is said.
func beyond(rq lending.LoanRequest, loans []Loan) bool {
	discovered := false
	for _, l := range loans {
		p := l.Permission
		if p.Borrower != rq.Borrower || p.Lender != rq.Aud || !p.Allows(lending.PatternDiscover) {
			continue
		}
		if !rq.Scope.IsZero() && rq.Scope.Within(p.Scope) {
			return false
		}
		discovered = true
	}
	return discovered && !rq.Scope.IsZero()
}

// past sums the loans to one organization up.
func (l *Lender) past(ctx context.Context, org did.DID, loans []Loan) (Past, error) {
	var out Past
	for _, x := range loans {
		if x.BorrowerOrg != org {
			continue
		}
		out.Loans++
		out.Reads += x.Reads - x.Under
		switch x.State {
		case lending.Valid:
			out.Valid++
		case lending.Revoked:
			out.Revoked++
		}
		broken, err := l.broken(ctx, x.ID)
		if err != nil {
			return Past{}, err
		}
		if broken {
			out.Broken++
		}
	}
	return out, nil
}

// broken says whether an act under a loan was denied as a violation.
func (l *Lender) broken(ctx context.Context, perm envelope.ID) (bool, error) {
	for _, class := range []string{lending.ViolationReadAfterEnd, lending.ViolationOutsideScope, lending.ViolationOverCount} {
		_, ok, err := store.GetRow[breachRow](self.ViewGetter(ctx, l.n.DB), breachKey(perm, class))
		if err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

// old says whether a request that led to nothing is kept no longer.
func (r askRow) old(at time.Time) bool {
	switch {
	case r.State == lending.AskIssued:
		return false
	case !r.Replied.IsZero() && !r.Decided.IsZero():
		return r.Decided.Time().Before(at.Add(-keepCountered))
	case r.State == lending.AskDeclined:
		return r.Decided.Time().Before(at.Add(-keepDeclined))
	}
	return r.Arrived.Time().Before(at.Add(-keepAsks))
}

// sweepAsks forgets requests that led to nothing: soon those to which another one replied or
// that were declined, keepAsks after they came those that have lapsed. What a permission
// answers stays with it.
func (l *Lender) sweepAsks(ctx context.Context, at time.Time) error {
	for {
		keys, err := l.scan(ctx, keyAsk, func(_, v []byte) bool {
			var r askRow
			return envelope.Unmarshal(v, &r) == nil && r.old(at)
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		if err := l.forgetAsks(ctx, keys, at); err != nil {
			return err
		}
	}
}

func (l *Lender) forgetAsks(ctx context.Context, keys [][]byte, at time.Time) error {
	return l.n.DB.Update(ctx, func(tx store.Tx) error {
		for _, k := range keys {
			r, ok, err := store.GetRow[askRow](tx, k)
			if err != nil {
				return err
			}
			if !ok || !r.old(at) {
				continue
			}
			id, err := envelope.ParseID(string(bytes.TrimPrefix(k, []byte(keyAsk))))
			if err := errors.Join(err, tx.Delete(k), uncount(tx, &r), l.n.Lib.Remove(tx, id, r.Org)); err != nil {
				return err
			}
		}
		return nil
	})
}
