package lending

import (
	"trustnode/did"
	"trustnode/did/envelope"
)

// ReceiptType labels a receipt.
var ReceiptType = envelope.TypeOf("receipt")

// PermState is the state of a permission at one moment: valid, or the first
// that holds in the order of the constants.
type PermState string

// States of a permission.
const (
	Valid           PermState = "valid"
	Revoked         PermState = "revoked"
	Expired         PermState = "expired"
	NotYet          PermState = "not_yet"
	Exhausted       PermState = "exhausted"
	BudgetExhausted PermState = "budget_exhausted"
	Lapsed          PermState = "lapsed" // its pact has ended
	Stale           PermState = "stale"  // the lender's node may not lend now
)

// Receipt is the lender's signed answer to one authenticated request (body of
// ReceiptType, at most MaxReceipt bytes). A granted answer has Count, Hash and
// Row; one denied for the permission's state has Row alone; one of op status has
// none of them.
type Receipt struct {
	At         envelope.Time `json:"at"`
	CacheUntil envelope.Time `json:"cache_until,omitempty"`
	Cost       string        `json:"cost,omitempty"`
	Count      uint64        `json:"count,omitempty"`
	Hash       envelope.ID   `json:"hash,omitempty"` // of the canonical bytes of {"entries","salt"}
	Kid        string        `json:"kid"`
	Left       uint64        `json:"left"` // granted answers that remain
	Lender     did.DID       `json:"lender"`
	Op         string        `json:"op"`
	Perm       envelope.ID   `json:"perm"`
	Request    envelope.ID   `json:"request"`
	Row        envelope.ID   `json:"row,omitempty"`
	Seq        uint64        `json:"seq"` // granted answers so far, this one included
	Signed     did.DID       `json:"signer"`
	State      PermState     `json:"state"`
}

// Payload returns ReceiptType.
func (Receipt) Payload() envelope.Type { return ReceiptType }

// Signer returns who signed: the lender, or for a human lender an agent of the
// same organization with capability receipts.
func (r Receipt) Signer() (did.DID, string) { return r.Signed, r.Kid }

// MaxBytes returns MaxReceipt.
func (Receipt) MaxBytes() int { return MaxReceipt }

// Granted reports whether the receipt is one of a granted answer.
func (r Receipt) Granted() bool { return r.Count > 0 }

// Check holds the body to its form.
func (r Receipt) Check() error {
	err := first(
		bytesIn("kid", r.Kid, 1, maxKid),
		oneOf("op", r.Op, OpRead, OpDiscover, OpWrite, OpStatus, OpAudit),
		oneOf("state", r.State, Valid, Revoked, Expired, NotYet, Exhausted, BudgetExhausted, Lapsed, Stale),
	)
	if err == nil && r.Cost != "" {
		err = digits("cost", r.Cost)
	}
	if err != nil {
		return err
	}
	switch {
	case r.Granted():
		return r.checkGranted()
	case r.Op == OpStatus || r.Op == OpAudit:
		return first(r.checkUncounted(), when(!r.Row.IsZero(), "row", "does not fit op %s", r.Op))
	default:
		return first(r.checkUncounted(),
			when(r.State == Valid, "count", "missing from a granted answer"),
			when(r.Row.IsZero(), "row", "missing from a denied answer"))
	}
}

func (r Receipt) checkGranted() error {
	return first(
		when(r.Count != 1, "count", "%d, want 1", r.Count),
		when(r.State != Valid, "state", "%s, but an answer was granted", r.State),
		when(r.Op == OpStatus || r.Op == OpAudit, "count", "does not fit op %s", r.Op),
		when(r.Hash.IsZero(), "hash", "missing from a granted answer"),
		when(r.Row.IsZero(), "row", "missing from a granted answer"),
		when(r.Seq == 0, "seq", "counts from 1"),
	)
}

func (r Receipt) checkUncounted() error {
	return first(
		when(!r.Hash.IsZero(), "hash", "nothing was granted"),
		when(!r.CacheUntil.IsZero(), "cache_until", "nothing was granted"),
		when(r.Cost != "", "cost", "nothing was granted"),
	)
}
