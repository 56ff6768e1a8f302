package lending

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/did/envelope"
)

// ErrMoved means that what was found is not what the decision would release:
// visibility changed since, or the same request was answered meanwhile. Nothing
// is to be written; evaluate again.
var ErrMoved = errors.New("memory changed since it was evaluated")

// errCall is wrapped where the caller handed over what does not go together: a
// bug of the caller.
var errCall = errors.New("lending decision called wrongly")

// Verdict is what a decision came to. The zero Verdict is none.
type Verdict uint8

// Verdicts.
const (
	Granted  Verdict = iota + 1 // content may leave, once Next is durable
	Denied                      // no content
	Replayed                    // the content of the first answer may leave again
)

// Next is a decision: what is to be written in its transaction, and, once that
// is durable, sent.
type Next struct {
	Verdict Verdict
	// Denial says why, for Denied.
	Denial *Denial
	// Loan and Parents are the new values, to be written for Granted. Parents are
	// in the order of State.Parents.
	Loan    Loan
	Parents []Loan
	// Nonce is the record to write, for Granted.
	Nonce *NonceRecord
	// Row are the canonical bytes of the audit row and RowID their id: to be
	// written with every verdict.
	Row   []byte
	RowID envelope.ID
	// Side are the bytes whose hash the row of a Granted names.
	Side []byte
	// Receipt is the body to seal and send; nil where a denial is not for the
	// permission's state.
	Receipt *Receipt
	// Cursor belongs in the answer; empty at the end.
	Cursor string
}

// Effective returns the scope that a read evaluates: the permission's, met with
// the request's filter. Errors are a *Denial, outside_scope, where the two have
// provably nothing in common.
func Effective(p Permission, rq ReadRequest) (Scope, error) {
	if rq.Filter.IsZero() {
		return p.Scope, nil
	}
	s, err := p.Scope.And(rq.Filter)
	if err != nil {
		return Scope{}, deny(CodeRefused, ReasonOutsideScope, fmt.Sprintf("the loan covers %s, ask for a second one", p.Scope),
			"filter %s has nothing in common with the scope", rq.Filter)
	}
	return s, nil
}

// Decide judges one read (op read) under a permission. st was read in the
// transaction that will write the result; f was evaluated before; at is trusted
// time. A denial is a decision like any other, with a row: it is in Next, not in
// the error. The error is ErrMoved, or tells of a wrong call; then nothing is to
// be written and nothing sent.
//
// What is asked in this order, the first that fails decides: audience, date,
// borrower and loan of the request; the state of the permission in the order of
// PermState; agents and membership; nonce; kind of use, purpose, filter;
// visibility.
func Decide(st State, rq envelope.Verified[ReadRequest], p envelope.Verified[Permission], f Found, at time.Time) (Next, error) {
	return decide(OpRead, st, rq, p, f, at)
}

// decide is Decide for the op that the path is for.
func decide(op string, st State, rq envelope.Verified[ReadRequest], p envelope.Verified[Permission], f Found, at time.Time) (Next, error) {
	d := newDecision(op, st, rq, p, at)
	d.f = f
	replayed := st.Nonce.Replays(rq, at)
	if next, done, err := d.before(replayed); done || err != nil {
		return next, err
	}
	if f.Replay != replayed {
		return Next{}, ErrMoved
	}
	if replayed {
		return d.replay()
	}
	return d.grant()
}

// DecideFailed is Decide for a read that could not be evaluated, for the reason that den
// tells, such as a cursor of another question: what Decide asks before it looks at what
// was found decides first, then den.
func DecideFailed(st State, rq envelope.Verified[ReadRequest], p envelope.Verified[Permission], den *Denial, at time.Time) (Next, error) {
	return decideFailed(OpRead, st, rq, p, den, at)
}

func decideFailed(op string, st State, rq envelope.Verified[ReadRequest], p envelope.Verified[Permission], den *Denial, at time.Time) (Next, error) {
	d := newDecision(op, st, rq, p, at)
	if next, done, err := d.before(st.Nonce.Replays(rq, at)); done || err != nil {
		return next, err
	}
	return d.deny(den, nil)
}

func newDecision(want string, st State, rq envelope.Verified[ReadRequest], p envelope.Verified[Permission], at time.Time) *decision {
	return &decision{want: want, st: st, rq: rq.Body(), p: p.Body(), rqID: rq.ID(), pID: p.ID(), at: at, op: rq.Body().Op}
}

// before judges all that does not depend on what was found; done says that it denied.
func (d *decision) before(replayed bool) (next Next, done bool, err error) {
	if err := d.called(); err != nil {
		return Next{}, false, err
	}
	if den := d.request(d.want); den != nil {
		next, err = d.deny(den, nil)
		return next, true, err
	}
	if replayed {
		d.op = OpReplay
	}
	den, r := d.permission(replayed)
	if den == nil {
		den = d.use(replayed)
	}
	if den == nil {
		return Next{}, false, nil
	}
	next, err = d.deny(den, r)
	return next, true, err
}

// Status answers a request of op status: the state of the permission at at, as
// a receipt to seal. It counts nothing and leaves no row. Errors are a *Denial,
// or tell of a wrong call.
func Status(st State, rq envelope.Verified[ReadRequest], p envelope.Verified[Permission], at time.Time) (Receipt, error) {
	d := newDecision(OpStatus, st, rq, p, at)
	if err := d.called(); err != nil {
		return Receipt{}, err
	}
	if den := d.request(d.want); den != nil {
		return Receipt{}, den
	}
	den, r := d.permission(false)
	if den == nil {
		valid := d.receipt(Valid)
		return valid, nil
	}
	if r == nil {
		return Receipt{}, den
	}
	return *r, nil
}

// Refuse makes the decision of a denial that fell elsewhere, such as for a
// permission that this node does not know, or a queue that is full. scope is the
// permission's, or zero.
func Refuse(rq envelope.Verified[ReadRequest], den *Denial, scope Scope, at time.Time, rowSalt Salt) (Next, error) {
	d := decision{st: State{RowSalt: rowSalt}, rq: rq.Body(), rqID: rq.ID(), pID: rq.Body().Perm, at: at, op: rq.Body().Op}
	d.p.Scope = scope
	return d.deny(den, nil)
}

// Stranger makes the decision over a request for a permission that this node does not
// know, or that is not the caller's: the two look alike. ours says that the request is
// addressed to an agent of this node.
func Stranger(rq envelope.Verified[ReadRequest], ours, timeTrusted bool, at time.Time, rowSalt Salt) (Next, error) {
	d := decision{st: State{RowSalt: rowSalt, TimeTrusted: timeTrusted}, rq: rq.Body(), rqID: rq.ID(), pID: rq.Body().Perm, at: at, op: rq.Body().Op}
	if ours {
		d.p.Lender = d.rq.Aud
	}
	return d.deny(d.request(d.rq.Op), nil)
}

// Unknown is the denial for a permission that is not known, or not the
// caller's: the two look alike.
func Unknown() *Denial {
	return deny(CodeNotFound, "", "check the permission's id and its lender", "no such permission")
}

// Busy is the denial for a read whose evaluation was overtaken each time.
func Busy() *Denial {
	return deny(CodeUnavailable, ReasonMoved, "try again", "memory changed at each attempt to read it")
}

// decision is one call of Decide.
type decision struct {
	st    State
	rq    ReadRequest
	p     Permission
	rqID  envelope.ID
	pID   envelope.ID
	f     Found
	at    time.Time
	want  string // op that the path is for
	op    string // of a denied row
	scope Scope  // what is evaluated
}

// called refuses what no lender hands over.
func (d *decision) called() error {
	switch {
	case d.rq.Perm != d.pID:
		return fmt.Errorf("%w: request names permission %s, got %s", errCall, d.rq.Perm, d.pID)
	case !d.st.RevocationsRead:
		return fmt.Errorf("%w: revocations were not looked up", errCall)
	case d.st.Signer.IsZero() || d.st.Kid == "":
		return fmt.Errorf("%w: nobody signs the receipt", errCall)
	case len(d.st.Parents) > MaxParents:
		return fmt.Errorf("%w: %d parents, at most %d", errCall, len(d.st.Parents), MaxParents)
	}
	return d.chain()
}

// chain holds the parents handed over to those that the permission names: one
// left out would lend what its lender has ended.
func (d *decision) chain() error {
	want := d.p.Parent
	for _, up := range d.st.Parents {
		if up.Perm.ID() != want {
			return fmt.Errorf("%w: parent %s, want %s", errCall, up.Perm.ID(), want)
		}
		want = up.Perm.Body().Parent
	}
	if !want.IsZero() {
		return fmt.Errorf("%w: parent %s is missing", errCall, want)
	}
	return nil
}

// request judges what the request says of itself.
func (d *decision) request(op string) *Denial {
	switch {
	case d.rq.Aud != d.p.Lender:
		return deny(CodeUnauthenticated, ReasonAudience, "send it to the lender it names", "request is addressed to %s", d.rq.Aud)
	case d.st.TimeTrusted && d.skewed():
		return denySkew(d.at, d.rq.At)
	case d.rq.Borrower != d.p.Borrower || !d.st.Known:
		return Unknown()
	case d.rq.Op != op:
		return deny(CodeInvalid, ReasonOp, "", "op %s does not fit, want %s", d.rq.Op, op)
	}
	return nil
}

func (d *decision) skewed() bool {
	return d.at.Sub(d.rq.At.Time()).Abs() > ClockSkewS*time.Second
}

// permission judges the permission and who stands behind it. A denial for the
// permission's state comes with the receipt that proves it.
func (d *decision) permission(replayed bool) (*Denial, *Receipt) {
	s := d.st.permState(d.p, d.at, replayed)
	if !d.st.TimeTrusted && s != Revoked {
		return deny(CodeUnavailable, ReasonClock, "the lender's operator has to set its clock", "the lender's node does not trust its clock"), nil
	}
	if s != Valid {
		r := d.receipt(s)
		return denyState(s, d.st, d.p), &r
	}
	const ask = "ask the lender for a new loan once this is settled"
	switch {
	case !d.st.LenderLive:
		return deny(CodeRefused, ReasonLender, ask, "agent %s may not lend now", d.p.Lender), nil
	case !d.st.BorrowerLive:
		return deny(CodeRefused, ReasonBorrower, ask, "agent %s may not borrow now", d.p.Borrower), nil
	case !d.st.Member:
		return deny(CodeRefused, ReasonNotMember, ask, "the borrower's organization is no active member"), nil
	case d.st.Forked == ReasonLog:
		return deny(CodeForked, ReasonLog, "the loan goes on once a charter names the branch that stands", "%s signed two heads of its log that exclude each other", d.st.Forker), nil
	case d.st.Forked != "":
		return deny(CodeForked, d.st.Forked, "the loan goes on once it is decided which branch stands", "the DID log of %s has two branches", d.st.Forker), nil
	case d.priced():
		return deny(CodeRefused, ReasonTerms, "ask the lender for a loan without prices", "the prices of this permission are not known here"), nil
	}
	return nil, nil
}

// patternOf is the kind of use that each counted op is.
var patternOf = map[string]string{OpRead: PatternRead, OpDiscover: PatternDiscover}

// priced reports whether the permission, or one above it, has prices.
func (d *decision) priced() bool {
	return !d.p.Terms.IsZero() || slices.ContainsFunc(d.st.Parents, func(up Parent) bool { return !up.Perm.Body().Terms.IsZero() })
}

// use judges what the request wants under a valid permission.
func (d *decision) use(replayed bool) *Denial {
	if d.st.Nonce.holds(d.at) && !replayed {
		return deny(CodeReplay, "", "sign a new request with a new nonce", "the nonce was used by request %s", d.st.Nonce.Request)
	}
	if pattern := patternOf[d.want]; !d.p.Allows(pattern) {
		return deny(CodeRefused, ReasonPattern, "ask for a loan with pattern "+pattern, "the permission covers %v", d.p.Patterns)
	}
	if d.rq.Purpose == "" && d.rq.needsPurpose() {
		return deny(CodeRefused, ReasonPurposeMissing, "give --purpose", "the request claims no purpose")
	}
	s, err := Effective(d.p, d.rq)
	if den := (*Denial)(nil); errors.As(err, &den) {
		return den
	}
	d.scope = s
	return nil
}

// grant makes the decision of a counted answer.
func (d *decision) grant() (Next, error) {
	if d.f.Vis != d.st.Vis {
		return Next{}, ErrMoved
	}
	if err := d.evaluated(); err != nil {
		return Next{}, err
	}
	side, sideID, err := Side{AnswerSalt: d.f.Content.Salt, Place: d.st.Loan.Place, Subjects: d.f.Subjects}.Bytes()
	if err != nil {
		return Next{}, err
	}
	n := Next{Verdict: Granted, Loan: d.st.Loan, Side: side, Cursor: d.f.Cursor}
	n.Loan.Reads++
	for _, up := range d.st.Parents {
		up.Loan.Reads++
		up.Loan.Under++
		n.Parents = append(n.Parents, up.Loan)
	}
	if n.Row, n.RowID, err = MarshalRow(d.grantedRow(n.Loan.Own(), sideID)); err != nil {
		return Next{}, err
	}
	r := d.receipt(Valid)
	r.Count, r.Hash, r.Row, r.Seq, r.Left = 1, d.f.Content.Hash, n.RowID, n.Loan.Own(), r.Left-1
	r.CacheUntil = d.cacheUntil()
	n.Receipt = &r
	n.Nonce = &NonceRecord{Cursor: d.f.Cursor, Receipt: r, Refs: refs(d.f.Refs), Request: d.rqID, Salt: d.f.Content.Salt, Until: envelope.TimeOf(d.rq.NonceUntil())}
	return n, nil
}

// evaluated refuses a Found that is none of this request, and sends one back
// that is too old for a scope that moves with the clock.
func (d *decision) evaluated() error {
	switch {
	case d.f.Content.Hash.IsZero() || d.f.Content.Salt.IsZero():
		return fmt.Errorf("%w: nothing was rendered", errCall)
	case len(d.f.Refs) > d.rq.Entries():
		return fmt.Errorf("%w: %d entries found, at most %d asked for", errCall, len(d.f.Refs), d.rq.Entries())
	case d.f.At.After(d.at) || d.at.Sub(d.f.At) > maxFoundAge:
		return ErrMoved
	}
	return nil
}

func (d *decision) grantedRow(seq uint64, side envelope.ID) GrantedRow {
	row := GrantedRow{
		At: envelope.TimeOf(d.at), Borrower: d.rq.Borrower, Count: 1, Decision: DecisionGranted, Entries: refs(d.f.Refs),
		Hash: d.f.Content.Hash, Op: d.rq.Op, Perm: d.pID, Purpose: d.rq.Purpose, Request: d.rqID, Salt: d.st.RowSalt,
		Scope: d.scope.String(), Seq: seq, Side: side,
	}
	if from, ok := d.scope.AgeFrom(d.f.At); ok {
		row.AgeFrom = envelope.TimeOf(from)
	}
	return row
}

// refs returns a list that is never nil: a row without entries says so.
func refs(r []Ref) []Ref { return append([]Ref{}, r...) }

func (d *decision) cacheUntil() envelope.Time {
	if d.p.CacheS == 0 || d.want != OpRead {
		return envelope.Time{}
	}
	until := envelope.TimeOf(d.at).Add(time.Duration(d.p.CacheS) * time.Second)
	if end := d.st.expiry(d.p); end.Before(until) {
		return end
	}
	return until
}

// replay makes the decision of an answer given once more. That an entry had
// left when it was looked for is enough to deny, whatever happened since.
func (d *decision) replay() (Next, error) {
	rec := d.st.Nonce
	same := slices.Equal(d.f.Refs, rec.Refs)
	if !same || d.f.Content.Hash != rec.Receipt.Hash {
		return d.deny(deny(CodeStale, ReasonEntryLeft, "sign a new request", "an entry of that answer is no longer in scope"), &rec.Receipt)
	}
	if d.f.Vis != d.st.Vis {
		return Next{}, ErrMoved
	}
	row, id, err := MarshalRow(ReplayRow{
		At: envelope.TimeOf(d.at), Borrower: d.rq.Borrower, Decision: DecisionGranted, Hash: rec.Receipt.Hash, Op: OpReplay,
		Perm: d.pID, Purpose: d.rq.Purpose, Request: d.rqID, Salt: d.st.RowSalt, Seq: rec.Receipt.Seq,
	})
	if err != nil {
		return Next{}, err
	}
	return Next{Verdict: Replayed, Loan: d.st.Loan, Row: row, RowID: id, Receipt: &rec.Receipt, Cursor: rec.Cursor}, nil
}

// deny makes the decision of a denial. A receipt of its own names the row; that
// of an earlier answer stays as it was signed. The row of a permission that is not the
// caller's tells no more of it than one of a permission that is not there.
func (d *decision) deny(den *Denial, r *Receipt) (Next, error) {
	scope := d.p.Scope.String()
	if den.Code == CodeNotFound {
		scope = ""
	}
	row, id, err := MarshalRow(DeniedRow{
		At: envelope.TimeOf(d.at), Borrower: d.rq.Borrower, Code: string(den.Code), Decision: DecisionDenied, Op: d.op,
		Perm: d.pID, Purpose: d.rq.Purpose, Reason: den.Reason, Request: d.rqID, Salt: d.st.RowSalt, Scope: scope,
	})
	if err != nil {
		return Next{}, err
	}
	if r != nil && !r.Granted() {
		r.Row = id
	}
	out := *den
	out.Perm = d.pID
	return Next{Verdict: Denied, Denial: &out, Loan: d.st.Loan, Row: row, RowID: id, Receipt: r}, nil
}

// receipt states the permission's state, before anything is counted.
func (d *decision) receipt(s PermState) Receipt {
	return Receipt{
		At: envelope.TimeOf(d.at), Kid: d.st.Kid, Left: d.st.left(d.p), Lender: d.p.Lender, Op: d.rq.Op, Perm: d.pID,
		Request: d.rqID, Seq: d.st.Loan.Own(), Signed: d.st.Signer, State: s,
	}
}
