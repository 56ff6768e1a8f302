package lending

import (
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Labels of what a borrower signs.
var (
	ReadRequestType = envelope.TypeOf("readrequest")
	LoanRequestType = envelope.TypeOf("loanrequest")
)

// Ops of a readrequest; each must fit the path it is sent to.
const (
	OpRead     = "read"
	OpDiscover = "discover"
	OpWrite    = "write"
	OpStatus   = "status"
	OpAudit    = "audit"
)

// ReadRequest is the borrower's proof and claimed purpose of one call (body of
// ReadRequestType, at most MaxRequest bytes).
type ReadRequest struct {
	At       envelope.Time `json:"at"`
	Aud      did.DID       `json:"aud"` // the permission's lender
	Borrower did.DID       `json:"borrower"`
	Cursor   string        `json:"cursor,omitempty"`
	Filter   Scope         `json:"filter,omitempty"` // intersected with the permission's scope
	Kid      string        `json:"kid"`
	Limit    uint64        `json:"limit,omitempty"` // 1..100 entries; absent is DefaultLimit
	Nonce    Salt          `json:"nonce"`
	Op       string        `json:"op"`
	Perm     envelope.ID   `json:"perm"`
	Purpose  string        `json:"purpose,omitempty"` // as claimed; read, discover and write need one
	Query    string        `json:"query,omitempty"`
}

// Payload returns ReadRequestType.
func (ReadRequest) Payload() envelope.Type { return ReadRequestType }

// Signer returns the borrower and its key.
func (r ReadRequest) Signer() (did.DID, string) { return r.Borrower, r.Kid }

// MaxBytes returns MaxRequest.
func (ReadRequest) MaxBytes() int { return MaxRequest }

// Check holds the body to its form. A missing purpose is a matter of Decide,
// which leaves a row of it.
func (r ReadRequest) Check() error {
	return first(
		bytesIn("kid", r.Kid, 1, maxKid),
		oneOf("op", r.Op, OpRead, OpDiscover, OpWrite, OpStatus, OpAudit),
		bytesIn("purpose", r.Purpose, 0, MaxPurpose),
		bytesIn("query", r.Query, 0, MaxQuery),
		bytesIn("cursor", r.Cursor, 0, maxCursor),
		when(r.Limit > MaxLimit, "limit", "%d entries, at most %d", r.Limit, MaxLimit),
		when(r.Query != "" && r.Cursor != "", "cursor", "a ranked answer has none"),
		r.checkOp(),
	)
}

// checkOp refuses members that say what to return where nothing is returned.
func (r ReadRequest) checkOp() error {
	if r.Op == OpRead || r.Op == OpDiscover {
		return nil
	}
	return first(
		when(r.Limit != 0, "limit", "does not fit op %s", r.Op),
		when(r.Cursor != "", "cursor", "does not fit op %s", r.Op),
		when(r.Query != "", "query", "does not fit op %s", r.Op),
		when(!r.Filter.IsZero(), "filter", "does not fit op %s", r.Op),
	)
}

// Entries returns how many entries the answer may hold.
func (r ReadRequest) Entries() int {
	if r.Limit == 0 {
		return DefaultLimit
	}
	return int(r.Limit)
}

// NonceUntil returns when the nonce may be forgotten: this long it is the
// request's date that counts, whenever it arrived.
func (r ReadRequest) NonceUntil() time.Time { return r.At.Time().Add(NonceLifeS * time.Second) }

// needsPurpose reports whether the op is one that nobody may do without saying
// what for.
func (r ReadRequest) needsPurpose() bool {
	return r.Op == OpRead || r.Op == OpDiscover || r.Op == OpWrite
}

// LoanRequest asks a lender for a permission (body of LoanRequestType, at most
// MaxRequest bytes).
type LoanRequest struct {
	At        envelope.Time `json:"at"`
	Aud       did.DID       `json:"aud"`
	Borrower  did.DID       `json:"borrower"`
	CostCap   *Money        `json:"cost_cap,omitempty"`
	ExpiresAt envelope.Time `json:"expires_at"`
	For       did.DID       `json:"for,omitempty"` // third agent of a wish to sub-lend; with Parent
	InReplyTo envelope.ID   `json:"in_reply_to,omitempty"`
	Kid       string        `json:"kid"`
	MaxReads  uint64        `json:"max_reads"`
	Nonce     Salt          `json:"nonce"`
	Parent    envelope.ID   `json:"parent,omitempty"`
	Patterns  []string      `json:"patterns"`
	Purpose   string        `json:"purpose"`
	Scope     Scope         `json:"scope,omitempty"`
}

// Payload returns LoanRequestType.
func (LoanRequest) Payload() envelope.Type { return LoanRequestType }

// Signer returns the borrower and its key.
func (r LoanRequest) Signer() (did.DID, string) { return r.Borrower, r.Kid }

// MaxBytes returns MaxRequest.
func (LoanRequest) MaxBytes() int { return MaxRequest }

// Check holds the body to its form.
func (r LoanRequest) Check() error {
	err := first(
		bytesIn("kid", r.Kid, 1, maxKid),
		bytesIn("purpose", r.Purpose, 1, MaxPurpose),
		when(r.MaxReads == 0, "max_reads", "no reads are asked for"),
		checkPatterns(r.Patterns),
		when(!r.ExpiresAt.Time().After(r.At.Time()), "expires_at", "not after at"),
		when(r.For.IsZero() != r.Parent.IsZero(), "for", "goes with parent"),
	)
	if err == nil && r.CostCap != nil {
		err = r.CostCap.check("cost_cap")
	}
	return err
}
