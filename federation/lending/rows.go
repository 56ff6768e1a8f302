package lending

import (
	"fmt"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Ops of rows that are not ops of a request.
const (
	OpIssue    = "issue"
	OpImport   = "import" // entries were brought in
	OpReplay   = "replay"
	OpRevoke   = "revoke"
	OpReceived = "received" // the borrower's: an answer was handed out
	OpEnded    = "ended"    // the borrower's: access was seen to have ended
)

// Decisions of a row.
const (
	DecisionGranted = "granted"
	DecisionDenied  = "denied"
)

// Row is one line of an audit trail: a canonical JSON object that a receipt and
// the log bind by its hash. It is one of GrantedRow, DeniedRow, ReplayRow,
// IssueRow, RevokeRow, ImportRow, ReceivedRow, EndedRow and GrowthRow.
type Row interface {
	// Check holds the row to its form.
	Check() error
	row()
}

// GrantedRow tells what one granted answer returned, and under what. Scope and
// AgeFrom are what was evaluated at At: the permission's scope, met with the
// request's filter where it had one.
type GrantedRow struct {
	AgeFrom  envelope.Time `json:"age_from,omitempty"` // where the age term began
	At       envelope.Time `json:"at"`
	Borrower did.DID       `json:"borrower"`
	Cost     string        `json:"cost,omitempty"`
	Count    uint64        `json:"count"`
	Decision string        `json:"decision"`
	Entries  []Ref         `json:"entries"`
	Hash     envelope.ID   `json:"hash"` // as in the receipt
	Op       string        `json:"op"`
	Perm     envelope.ID   `json:"perm"`
	Purpose  string        `json:"purpose"` // as claimed
	Request  envelope.ID   `json:"request"`
	Salt     Salt          `json:"salt"`
	Scope    string        `json:"scope"`
	Seq      uint64        `json:"seq"`
	Side     envelope.ID   `json:"side"` // hash of what the lender alone sees
}

// DeniedRow tells that one request was denied. Op is the request's, or replay
// where its very bytes had been answered before.
type DeniedRow struct {
	At       envelope.Time `json:"at"`
	Borrower did.DID       `json:"borrower"`
	Code     string        `json:"code"`
	Decision string        `json:"decision"`
	Op       string        `json:"op"`
	Perm     envelope.ID   `json:"perm"`
	Purpose  string        `json:"purpose,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	Request  envelope.ID   `json:"request"`
	Salt     Salt          `json:"salt"`
	Scope    string        `json:"scope,omitempty"` // the permission's; absent where there is none
}

// ReplayRow tells that an answer, lost on its way, was given again to the same
// request. It counts nothing: Seq and Hash are those of the first.
type ReplayRow struct {
	At       envelope.Time `json:"at"`
	Borrower did.DID       `json:"borrower"`
	Decision string        `json:"decision"`
	Hash     envelope.ID   `json:"hash"`
	Op       string        `json:"op"`
	Perm     envelope.ID   `json:"perm"`
	Purpose  string        `json:"purpose"`
	Request  envelope.ID   `json:"request"`
	Salt     Salt          `json:"salt"`
	Seq      uint64        `json:"seq"`
}

// IssueRow tells that a permission was signed.
type IssueRow struct {
	Approval  envelope.ID   `json:"approval,omitempty"`
	At        envelope.Time `json:"at"`
	Borrower  did.DID       `json:"borrower"`
	By        string        `json:"by"` // the person or agent who acted
	ExpiresAt envelope.Time `json:"expires_at"`
	Hygiene   []string      `json:"hygiene"` // sorted codes of Lint
	Matches   uint64        `json:"matches"` // entries in scope at issue
	MaxReads  uint64        `json:"max_reads"`
	Op        string        `json:"op"`
	Patterns  []string      `json:"patterns"`
	Perm      envelope.ID   `json:"perm"`
	Purpose   string        `json:"purpose"` // as granted
	Salt      Salt          `json:"salt"`
	Scope     Scope         `json:"scope"`
}

// TargetSubject is the kind of a row that tells of a revoked data subject, by its
// pseudonym. No signed object goes with it: it stays on the lender's node (04 section 7).
const TargetSubject = "subject"

// RevokeRow tells that a revocation was committed.
type RevokeRow struct {
	At         envelope.Time `json:"at"`
	By         string        `json:"by"`
	Op         string        `json:"op"`
	Reason     string        `json:"reason"`
	Revocation envelope.ID   `json:"revocation,omitempty"` // absent with TargetSubject alone
	Salt       Salt          `json:"salt"`
	Target     string        `json:"target"`
	TargetKind string        `json:"target_kind"`
}

// ImportRow tells that entries were brought into a place, in one transaction of an
// import.
type ImportRow struct {
	At     envelope.Time `json:"at"`
	By     string        `json:"by"`     // the agent in whose place
	Count  uint64        `json:"count"`  // entries brought in
	Format string        `json:"format"` // name of the importer
	Op     string        `json:"op"`
	Place  string        `json:"place"` // "tenant/project"
	Salt   Salt          `json:"salt"`
}

// ReceivedRow is the borrower's: an answer with this receipt was handed out.
type ReceivedRow struct {
	At      envelope.Time `json:"at"`
	Hash    envelope.ID   `json:"hash"`
	Op      string        `json:"op"`
	Perm    envelope.ID   `json:"perm"`
	Receipt envelope.ID   `json:"receipt"`
	Request envelope.ID   `json:"request"`
	Salt    Salt          `json:"salt"`
	Seq     uint64        `json:"seq"`
}

// EndedRow is the borrower's: a request found access ended. Receipt is what
// proves it; without one the lender did not confirm the loan.
type EndedRow struct {
	At      envelope.Time `json:"at"`
	Op      string        `json:"op"`
	Perm    envelope.ID   `json:"perm"`
	Receipt envelope.ID   `json:"receipt,omitempty"`
	Request envelope.ID   `json:"request"`
	Salt    Salt          `json:"salt"`
	State   PermState     `json:"state"`
}

func (GrantedRow) row()  {}
func (DeniedRow) row()   {}
func (ReplayRow) row()   {}
func (IssueRow) row()    {}
func (RevokeRow) row()   {}
func (ImportRow) row()   {}
func (ReceivedRow) row() {}
func (EndedRow) row()    {}

// Check holds the row to its form.
func (r GrantedRow) Check() error {
	return first(
		oneOf("op", r.Op, OpRead, OpDiscover, OpWrite),
		oneOf("decision", r.Decision, DecisionGranted),
		when(r.Count != 1, "count", "%d, want 1", r.Count),
		when(r.Seq == 0, "seq", "counts from 1"),
		when(len(r.Entries) > MaxLimit, "entries", "%d, at most %d", len(r.Entries), MaxLimit),
		bytesIn("purpose", r.Purpose, 1, MaxPurpose),
		bytesIn("scope", r.Scope, 1, 2*MaxScopeBytes+1),
	)
}

// Check holds the row to its form.
func (r DeniedRow) Check() error {
	return first(
		oneOf("op", r.Op, OpRead, OpDiscover, OpWrite, OpStatus, OpAudit, OpReplay),
		oneOf("decision", r.Decision, DecisionDenied),
		bytesIn("code", r.Code, 1, maxKid),
		bytesIn("reason", r.Reason, 0, maxKid),
		bytesIn("purpose", r.Purpose, 0, MaxPurpose),
		bytesIn("scope", r.Scope, 0, 2*MaxScopeBytes+1),
	)
}

// Check holds the row to its form.
func (r ReplayRow) Check() error {
	return first(
		oneOf("op", r.Op, OpReplay),
		oneOf("decision", r.Decision, DecisionGranted),
		when(r.Seq == 0, "seq", "counts from 1"),
		bytesIn("purpose", r.Purpose, 1, MaxPurpose),
	)
}

// Check holds the row to its form.
func (r IssueRow) Check() error {
	return first(
		oneOf("op", r.Op, OpIssue),
		bytesIn("by", r.By, 1, did.MaxLongDID),
		when(r.MaxReads == 0, "max_reads", "no reads are granted"),
		checkPatterns(r.Patterns),
		sortedSet("hygiene", r.Hygiene),
		bytesIn("purpose", r.Purpose, 1, MaxPurpose),
	)
}

// Check holds the row to its form.
func (r RevokeRow) Check() error {
	return first(
		oneOf("op", r.Op, OpRevoke),
		bytesIn("by", r.By, 1, did.MaxLongDID),
		oneOf("reason", r.Reason, reasons...),
		oneOf("target_kind", r.TargetKind, TargetPermission, TargetBorrower, TargetApproval, TargetDelegation, TargetSubject),
		when(r.Revocation.IsZero() != (r.TargetKind == TargetSubject), "revocation", "does not fit target_kind %s", r.TargetKind),
		Target{r.TargetKind, r.Target}.check(),
	)
}

// Check holds the row to its form.
func (r ImportRow) Check() error {
	return first(
		oneOf("op", r.Op, OpImport),
		bytesIn("by", r.By, 1, did.MaxLongDID),
		bytesIn("format", r.Format, 1, maxKid),
		bytesIn("place", r.Place, 1, maxKid),
		when(r.Count == 0, "count", "nothing was brought in"),
	)
}

// Check holds the row to its form.
func (r ReceivedRow) Check() error {
	return first(oneOf("op", r.Op, OpReceived), when(r.Seq == 0, "seq", "counts from 1"))
}

// Check holds the row to its form.
func (r EndedRow) Check() error {
	return first(
		oneOf("op", r.Op, OpEnded),
		oneOf("state", r.State, Revoked, Expired, NotYet, Exhausted, BudgetExhausted, Lapsed, Stale),
	)
}

// MarshalRow returns the canonical bytes of a row and their id, which a receipt
// and the log name.
func MarshalRow(r Row) ([]byte, envelope.ID, error) {
	if err := r.Check(); err != nil {
		return nil, envelope.ID{}, fmt.Errorf("audit row: %w", err)
	}
	b, err := envelope.Marshal(r)
	if err != nil {
		return nil, envelope.ID{}, fmt.Errorf("audit row: %w", err)
	}
	if len(b) > MaxRow {
		return nil, envelope.ID{}, fmt.Errorf("audit row of %d bytes, at most %d", len(b), MaxRow)
	}
	return b, envelope.IDOf(b), nil
}

// ParseRow reads the canonical bytes of a row. Errors are *envelope.FormError.
func ParseRow(b []byte) (Row, error) {
	if len(b) > MaxRow {
		return nil, form("", "row of %d bytes, at most %d", len(b), MaxRow)
	}
	op, decision, err := rowKind(b)
	if err != nil {
		return nil, err
	}
	switch {
	case decision == DecisionDenied:
		return rowOf[DeniedRow](b)
	case op == OpRead || op == OpDiscover || op == OpWrite:
		return rowOf[GrantedRow](b)
	case op == OpReplay:
		return rowOf[ReplayRow](b)
	case op == OpIssue:
		return rowOf[IssueRow](b)
	case op == OpRevoke:
		return rowOf[RevokeRow](b)
	case op == OpImport:
		return rowOf[ImportRow](b)
	case op == OpForget:
		return rowOf[ForgetRow](b)
	case op == OpMove:
		return rowOf[MoveRow](b)
	case op == OpReceived:
		return rowOf[ReceivedRow](b)
	case op == OpEnded:
		return rowOf[EndedRow](b)
	case op == OpGrowth:
		return rowOf[GrowthRow](b)
	}
	return nil, form("op", "%.64q is not known", op)
}

func rowOf[T Row](b []byte) (Row, error) {
	var r T
	if err := envelope.Unmarshal(b, &r); err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	return r, nil
}

// Side is the part of a granted row that the lender alone sees; the row holds
// its hash. Subjects are the pseudonyms the entries carried at read time, sorted.
type Side struct {
	AnswerSalt Salt     `json:"answer_salt"`
	Place      string   `json:"place"` // "tenant/project"
	Subjects   []string `json:"subjects"`
}

// ParseSide reads the canonical bytes of a side. Errors are *envelope.FormError.
func ParseSide(b []byte) (Side, error) {
	var s Side
	if len(b) > MaxRow {
		return Side{}, form("", "side of %d bytes, at most %d", len(b), MaxRow)
	}
	if err := envelope.Unmarshal(b, &s); err != nil {
		return Side{}, err
	}
	return s, nil
}

// Bytes returns the canonical bytes of the side and their id.
func (s Side) Bytes() ([]byte, envelope.ID, error) {
	if s.Subjects == nil {
		s.Subjects = []string{}
	}
	b, err := envelope.Marshal(s)
	if err != nil {
		return nil, envelope.ID{}, fmt.Errorf("side of a row: %w", err)
	}
	return b, envelope.IDOf(b), nil
}
