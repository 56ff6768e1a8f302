package attestation

import (
	"errors"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Empty is the data of a type that says all it has to say by its subject and body.
type Empty struct{}

// KeyRotated ties a version of the organization's DID document to an index.
type KeyRotated struct {
	Added      []string `json:"added"` // kids the new version lists and the one before did not
	Did        did.DID  `json:"did"`
	DidVersion string   `json:"did_version"`
	Previous   string   `json:"previous"`
	Reason     string   `json:"reason"`               // scheduled, compromise, lost
	Retired    []string `json:"retired"`              // kids the new version no longer lists
	TaintFrom  *uint64  `json:"taint_from,omitempty"` // last index that is surely the organization's
}

func (d *KeyRotated) check(e Event) error {
	if d.Did != e.Org || e.Subject != d.Did.String() {
		return errors.New("subject, did and org differ")
	}
	if d.DidVersion == "" || d.Previous == "" || d.DidVersion == d.Previous {
		return errors.New("did_version and previous are not two versions")
	}
	return checkRotation(d.Reason, d.TaintFrom)
}

func checkRotation(reason string, taint *uint64) error {
	switch reason {
	case "compromise":
		return nil
	case "scheduled", "lost":
		if taint == nil {
			return nil
		}
		return errors.New("taint_from without a compromise")
	}
	return errors.New("reason is none of scheduled, compromise, lost")
}

// AgentIssued names the agent object that takes effect.
type AgentIssued struct {
	Agent  did.DID     `json:"agent"`
	ID     envelope.ID `json:"id"` // of the agent object
	Name   string      `json:"name"`
	Serial uint64      `json:"serial"`
}

func (d *AgentIssued) check(e Event) error {
	if e.Subject != d.Agent.String() || e.Refs[0] != d.ID {
		return errors.New("subject and ref are not the agent and its object")
	}
	return nil
}

// AgentRevoked ends all objects of an agent up to a serial.
type AgentRevoked struct {
	Agent         did.DID `json:"agent"`
	Name          string  `json:"name"`
	Reason        string  `json:"reason"`
	TaintFrom     *uint64 `json:"taint_from,omitempty"`
	ThroughSerial uint64  `json:"through_serial"`
}

func (d *AgentRevoked) check(e Event) error {
	if e.Subject != d.Agent.String() {
		return errors.New("subject is not the agent")
	}
	return nil
}

// CharterSigned says which charter body the organization signed in which slot.
type CharterSigned struct {
	Body  envelope.ID `json:"body"`
	Round uint64      `json:"round"`
	Seq   uint64      `json:"seq"`
}

func (d *CharterSigned) check(e Event) error {
	if e.Subject != d.Body.String() || e.Refs[0] != d.Body {
		return errors.New("subject and ref are not the charter body")
	}
	return nil
}

// LogOpened is the data of index 0: the version whose keys sign from there.
type LogOpened struct {
	DidVersion string `json:"did_version"`
}

// The causes of a LogGap, append-only.
const (
	GapOutbox = "outbox" // items of the outbox, by number
	GapRows   = "rows"   // audit rows, by number: their bytes or their audit.rows are lost
)

// LogGap names what is lost for good: From to To, both of them lost.
type LogGap struct {
	Cause string `json:"cause"`
	From  uint64 `json:"from"`
	To    uint64 `json:"to"`
}

// The causes of a LogErased, append-only. Another one is kept and moves nothing.
const (
	ErasedBody = "body" // the private body of the event at Index
	ErasedRow  = "row"  // one of the rows under the audit.rows at Index
)

// LogErased says that the origin has erased something private: entries, leaves and
// proofs stay as they are.
type LogErased struct {
	Cause string `json:"cause"`
	Index uint64 `json:"index"` // of an event of the same log, below this one
}

// ForkProven names two signed things that exclude each other.
type ForkProven struct {
	A    envelope.ID `json:"a"`
	B    envelope.ID `json:"b"`
	Kind string      `json:"kind"`
}

// AuditRows puts the rows since the one before it into the log. Its body is
// audit.Rows.
type AuditRows struct {
	Root envelope.ID `json:"root"` // RFC 6962 root over the rows alone
}

// LoanIssued is what every member sees of a new loan.
type LoanIssued struct {
	Borrower   did.DID       `json:"borrower,omitempty"` // absent when blinded: then in the body
	ExpiresAt  envelope.Time `json:"expires_at"`
	Hygiene    []string      `json:"hygiene"`
	Lender     did.DID       `json:"lender"`
	MaxReads   uint64        `json:"max_reads"`
	Pact       envelope.ID   `json:"pact,omitempty"`
	Patterns   []string      `json:"patterns"`
	Permission envelope.ID   `json:"permission"`
}

func (d *LoanIssued) check(e Event) error { return samePermission(e, d.Permission, true) }

func samePermission(e Event, perm envelope.ID, ref bool) error {
	if e.Subject != perm.String() || ref && e.Refs[0] != perm {
		return errors.New("subject or ref is not the permission")
	}
	return nil
}

// LoanEnded is the data of loan.revoked and of loan.ended.
type LoanEnded struct {
	Cause      string `json:"cause"`
	Target     string `json:"target"`      // a permission's id or a borrower's DID
	TargetKind string `json:"target_kind"` // permission, borrower
}

func (d *LoanEnded) check(e Event) error {
	if e.Subject != d.Target {
		return errors.New("subject is not the target")
	}
	switch d.TargetKind {
	case "permission":
		return SubjectID.check(d.Target)
	case "borrower":
		return SubjectDID.check(d.Target)
	}
	return errors.New("target_kind is neither permission nor borrower")
}

// LoanViolation counts a borrower's signed requests against a loan.
type LoanViolation struct {
	Borrower   did.DID     `json:"borrower"`
	Class      string      `json:"class"` // read_after_end, outside_scope, over_count, wrong_purpose
	Number     uint64      `json:"number"`
	Permission envelope.ID `json:"permission"`
}

func (d *LoanViolation) check(e Event) error {
	switch d.Class {
	case "read_after_end", "outside_scope", "over_count", "wrong_purpose":
		return samePermission(e, d.Permission, false)
	}
	return errors.New("class is not one of a violation")
}

// LoanTaken is the borrower's word that it uses a loan.
type LoanTaken struct {
	Permission envelope.ID `json:"permission"`
}

func (d *LoanTaken) check(e Event) error { return samePermission(e, d.Permission, false) }

// LoanEndSeen is the borrower's word that it knows a loan is over.
type LoanEndSeen struct {
	Permission envelope.ID   `json:"permission"`
	SeenAt     envelope.Time `json:"seen_at"`
	Verified   bool          `json:"verified"` // by a signed answer, not by its own clock
}

func (d *LoanEndSeen) check(e Event) error { return samePermission(e, d.Permission, false) }

// LoanDeleted is the borrower's word that it deleted what it got under a loan.
type LoanDeleted struct {
	DeletedAt  envelope.Time `json:"deleted_at"`
	Permission envelope.ID   `json:"permission"`
	Verified   bool          `json:"verified"` // the end was, by a signed answer, not by its own clock
}

func (d *LoanDeleted) check(e Event) error { return samePermission(e, d.Permission, false) }

// Facts are the numbers of one claim of a case, computed from the evidence.
type Facts struct {
	Acts        uint64 `json:"acts"`
	AfterNotice uint64 `json:"after_notice"`
	AmountBP    uint64 `json:"amount_bp"`
	Distinct    uint64 `json:"distinct"`
	Entries     uint64 `json:"entries"`
	N           uint64 `json:"n"` // the claim
	Prior       uint64 `json:"prior"`
	SpanS       uint64 `json:"span_s"`
	Surfaced    uint64 `json:"surfaced"`
}

// DisputeEvidence is the public part of a manifest: numbers, one per claim.
type DisputeEvidence struct {
	Facts []Facts `json:"facts"`
}

// DisputeReadied says up to which state a party has nothing to add.
type DisputeReadied struct {
	State string `json:"state"`
}
