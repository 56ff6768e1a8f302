package lending

import (
	"trustnode/did"
	"trustnode/did/envelope"
)

// Ops of rows about memory itself.
const (
	OpForget = "forget" // entries were removed
	OpMove   = "move"   // an agent works in another place from now on
)

// Causes of forgetting.
const (
	ForgetOperator = "operator"   // somebody asked for it
	ForgetExpired  = "expired"    // their end had come
	ForgetLoan     = "loan_ended" // the permission they were learnt under had ended
)

// MaxForgotten is how many entries one row names.
const MaxForgotten = 128

// ForgetRow tells that entries were forgotten, in one transaction. It keeps ids
// and a pseudonym, and nothing that was said.
type ForgetRow struct {
	At      envelope.Time `json:"at"`
	By      string        `json:"by"` // the organization, for its operator and its node
	Cause   string        `json:"cause"`
	Entries []string      `json:"entries"` // ids, sorted
	Op      string        `json:"op"`
	Perm    envelope.ID   `json:"perm,omitempty"` // that ended, with cause loan_ended
	Place   string        `json:"place"`          // "tenant/project"
	Salt    Salt          `json:"salt"`
	Subject string        `json:"subject,omitempty"` // pseudonym by which they were chosen
}

// MoveRow tells that the operator moved an agent to another place.
type MoveRow struct {
	Agent did.DID       `json:"agent"`
	At    envelope.Time `json:"at"`
	By    string        `json:"by"`
	From  string        `json:"from,omitempty"` // "tenant/project"; absent where it had none
	Op    string        `json:"op"`
	Salt  Salt          `json:"salt"`
	To    string        `json:"to"`
}

func (ForgetRow) row() {}
func (MoveRow) row()   {}

// Check holds the row to its form.
func (r ForgetRow) Check() error {
	for _, id := range r.Entries {
		if err := CheckEntryID(id); err != nil {
			return form("entries", "%v", err)
		}
	}
	if r.Subject != "" {
		if err := CheckSubject(r.Subject); err != nil {
			return form("subject", "%v", err)
		}
	}
	return first(
		oneOf("op", r.Op, OpForget),
		oneOf("cause", r.Cause, ForgetOperator, ForgetExpired, ForgetLoan),
		when(r.Perm.IsZero() == (r.Cause == ForgetLoan), "perm", "it goes with cause %s", ForgetLoan),
		bytesIn("by", r.By, 1, did.MaxLongDID),
		when(len(r.Entries) == 0 || len(r.Entries) > MaxForgotten, "entries", "%d, 1 to %d are allowed", len(r.Entries), MaxForgotten),
		sortedSet("entries", r.Entries),
		bytesIn("place", r.Place, 1, maxKid),
	)
}

// Check holds the row to its form.
func (r MoveRow) Check() error {
	return first(
		oneOf("op", r.Op, OpMove),
		bytesIn("by", r.By, 1, did.MaxLongDID),
		bytesIn("from", r.From, 0, maxKid),
		bytesIn("to", r.To, 1, maxKid),
		when(r.From == r.To, "to", "the agent is there already"),
	)
}
