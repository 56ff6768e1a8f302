package trust

import (
	"errors"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Answer is the body of a signed `score`: what the answering organization computes
// about subject as of a moment. Score fills all but the four members that belong to
// the answering node: kid, org, charter, stale_logs.
type Answer struct {
	AsOf         envelope.Time `json:"as_of"`
	Charter      CharterRef    `json:"charter"`
	Composite    int64         `json:"composite"`     // 0..1000
	ConfidenceBP int64         `json:"confidence_bp"` // basis points
	Dimensions   Twelve        `json:"dimensions"`
	Disputes     Disputes      `json:"disputes"`
	Gates        Gates         `json:"gates"`
	KID          string        `json:"kid"`
	Lending      Lending       `json:"lending"`
	Of           did.DID       `json:"of"` // the subject's organization
	Org          did.DID       `json:"org"`
	Perspective  string        `json:"perspective"` // federation, or a DID
	Policy       envelope.ID   `json:"policy"`
	Root         envelope.ID   `json:"root"` // RFC 6962 root over the sorted ids of the events used
	StaleLogs    []string      `json:"stale_logs"`
	Subject      did.DID       `json:"subject"`
	Tier         string        `json:"tier"`
}

// CharterRef names the charter a node stood at.
type CharterRef struct {
	ID  envelope.ID `json:"id"`
	Seq uint64      `json:"seq"`
}

// Dim is one dimension: pools and value in milli (thousandths of a point).
type Dim struct {
	Bonus   int64 `json:"bonus"`
	Events  int64 `json:"events"`
	Milli   int64 `json:"milli"`
	Penalty int64 `json:"penalty"`
}

// Twelve holds every dimension; none is ever absent.
type Twelve struct {
	Accuracy          Dim `json:"accuracy"`
	Bond              Dim `json:"bond"`
	CostEfficiency    Dim `json:"cost_efficiency"`
	Latency           Dim `json:"latency"`
	Reliability       Dim `json:"reliability"`
	RuntimeCompliance Dim `json:"runtime_compliance"`
	Safety            Dim `json:"safety"`
	ScopeHonesty      Dim `json:"scope_honesty"`
	Security          Dim `json:"security"`
	SelfAudit         Dim `json:"self_audit"`
	Transparency      Dim `json:"transparency"`
	Trustworthiness   Dim `json:"trustworthiness"`
}

// Disputes counts cases. An open allegation shows here and nowhere else.
type Disputes struct {
	Defaulted int64 `json:"defaulted"`
	Lost      int64 `json:"lost"`
	Open      int64 `json:"open"`
	Undecided int64 `json:"undecided"`
	Won       int64 `json:"won"`
}

// Gates is the distance to the next tier.
type Gates struct {
	Have Have   `json:"have"`
	Need Need   `json:"need"`
	Next string `json:"next,omitempty"` // absent at the highest tier
}

// Have is what counts towards a tier: days since the first signal, loans ended, other organizations.
type Have struct {
	Days  int64 `json:"days"`
	Ended int64 `json:"ended"`
	Orgs  int64 `json:"orgs"`
}

// Need is what the next tier asks.
type Need struct {
	Days  int64 `json:"days,omitempty"`
	Ended int64 `json:"ended"`
	Orgs  int64 `json:"orgs"`
}

// Lending counts what is proven in each role.
type Lending struct {
	AsBorrower Borrowed `json:"as_borrower"`
	AsLender   Lent     `json:"as_lender"`
}

// Borrowed counts a borrower's loans and proven violations.
type Borrowed struct {
	Clean        int64 `json:"clean"`
	Ended        int64 `json:"ended"`
	OutsideScope int64 `json:"outside_scope"`
	OverCount    int64 `json:"over_count"`
	ReadAfterEnd int64 `json:"read_after_end"`
	Sublent      int64 `json:"sublent"`
	Surfaced     int64 `json:"surfaced"`
	WrongPurpose int64 `json:"wrong_purpose"`
}

// Lent counts a lender's loans.
type Lent struct {
	Enforced int64 `json:"enforced"`
	Issued   int64 `json:"issued"`
	Leaks    int64 `json:"leaks"`
	Narrow   int64 `json:"narrow"`
	Revoked  int64 `json:"revoked"`
}

// MaxAnswerBytes caps a score body.
const MaxAnswerBytes = 16 << 10

var errAnswer = errors.New("score out of range")

// Payload is the type of a signed score.
func (Answer) Payload() envelope.Type { return envelope.TypeOf("score") }

// Signer is the answering organization.
func (a Answer) Signer() (did.DID, string) { return a.Org, a.KID }

// MaxBytes is the size cap of the body.
func (Answer) MaxBytes() int { return MaxAnswerBytes }

// Check holds what the decoder cannot see.
func (a Answer) Check() error {
	if a.Composite > 1000 || a.ConfidenceBP > 10_000 || a.KID == "" {
		return errAnswer
	}
	return nil
}

// public is an Answer without what differs from node to node.
type public struct {
	AsOf         envelope.Time `json:"as_of"`
	Charter      CharterRef    `json:"charter"`
	Composite    int64         `json:"composite"`
	ConfidenceBP int64         `json:"confidence_bp"`
	Dimensions   Twelve        `json:"dimensions"`
	Disputes     Disputes      `json:"disputes"`
	Gates        Gates         `json:"gates"`
	Lending      Lending       `json:"lending"`
	Of           did.DID       `json:"of"`
	Perspective  string        `json:"perspective"`
	Policy       envelope.ID   `json:"policy"`
	Root         envelope.ID   `json:"root"`
	Subject      did.DID       `json:"subject"`
	Tier         string        `json:"tier"`
}

// Public is the canonical form that two honest nodes agree on byte for byte: the body
// without kid, org and stale_logs.
func (a Answer) Public() ([]byte, error) {
	return envelope.Marshal(public{a.AsOf, a.Charter, a.Composite, a.ConfidenceBP, a.Dimensions, a.Disputes, a.Gates, a.Lending, a.Of, a.Perspective, a.Policy, a.Root, a.Subject, a.Tier})
}

// at is the place of one dimension; nil for a name that is none.
func (t *Twelve) at(d Dimension) *Dim {
	switch d {
	case Safety:
		return &t.Safety
	case Trustworthiness:
		return &t.Trustworthiness
	case Reliability:
		return &t.Reliability
	case ScopeHonesty:
		return &t.ScopeHonesty
	case Security:
		return &t.Security
	case SelfAudit:
		return &t.SelfAudit
	case Accuracy:
		return &t.Accuracy
	case Bond:
		return &t.Bond
	case Transparency:
		return &t.Transparency
	case Latency:
		return &t.Latency
	case CostEfficiency:
		return &t.CostEfficiency
	case RuntimeCompliance:
		return &t.RuntimeCompliance
	}
	return nil
}

// Of returns one dimension; the zero Dim for a name that is none.
func (t Twelve) Of(d Dimension) Dim {
	if x := t.at(d); x != nil {
		return *x
	}
	return Dim{}
}

// String names the view as answers carry it: "federation", or the organization's DID.
func (v View) String() string {
	if v.Org.IsZero() {
		return "federation"
	}
	return v.Org.String()
}

// asOfTime floors a moment to whole seconds.
func asOfTime(t time.Time) (envelope.Time, int64) {
	at := envelope.TimeOf(t)
	return at, at.Time().Unix()
}
