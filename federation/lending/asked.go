package lending

import (
	"time"

	"trustnode/did/envelope"
)

// AskState is how a loan request stands at its lender.
type AskState string

// States of a request.
const (
	AskRequested AskState = "requested" // nobody answered yet
	AskDeclined  AskState = "declined"
	AskIssued    AskState = "issued"
	AskLapsed    AskState = "lapsed" // nobody answered within RequestLifeS of its arrival
)

// AskAt returns the state of a request at a moment: one that waits lapses until.
func (s AskState) AskAt(until envelope.Time, at time.Time) AskState {
	if s == AskRequested && !at.Before(until.Time()) {
		return AskLapsed
	}
	return s
}

// Asked is what a lender tells a borrower of its request, in canonical JSON. It is not
// signed: nothing is owed by a request, and a permission in it is signed by itself.
type Asked struct {
	ID         envelope.ID   `json:"id"`                   // of the loanrequest
	Permission string        `json:"permission,omitempty"` // compact, of an issued one
	Reason     string        `json:"reason,omitempty"`     // of a declined one, the lender's words
	Round      uint64        `json:"round"`                // 1 for a first request
	State      AskState      `json:"state"`
	Until      envelope.Time `json:"until"` // when one that waits lapses
}

// Bytes returns the canonical bytes.
func (a Asked) Bytes() ([]byte, error) { return envelope.Marshal(a) }

// ParseAsked reads the canonical bytes. Errors are *envelope.FormError.
func ParseAsked(b []byte) (Asked, error) {
	var a Asked
	if len(b) > MaxFrame {
		return Asked{}, form("", "%d bytes, at most %d", len(b), MaxFrame)
	}
	if err := envelope.Unmarshal(b, &a); err != nil {
		return Asked{}, err
	}
	err := first(
		oneOf("state", a.State, AskRequested, AskDeclined, AskIssued, AskLapsed),
		bytesIn("reason", a.Reason, 0, MaxReason),
		bytesIn("permission", a.Permission, 0, maxCompact),
		when((a.State == AskIssued) != (a.Permission != ""), "permission", "goes with state issued"),
		when(a.Round == 0 || a.Round > MaxRounds, "round", "%d, 1 to %d are possible", a.Round, MaxRounds),
	)
	if err != nil {
		return Asked{}, err
	}
	return a, nil
}

// CheckArrival holds a request to its date: it arrives within ClockSkewS of it. Errors are
// a *Denial.
func (r LoanRequest) CheckArrival(at time.Time) error {
	if at.Sub(r.At.Time()).Abs() > ClockSkewS*time.Second {
		return denySkew(at, r.At)
	}
	return nil
}
