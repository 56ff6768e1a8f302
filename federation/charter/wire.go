package charter

import (
	"trustnode/did"
	"trustnode/did/envelope"
)

// Type is the payload type of a charter.
var Type = envelope.TypeOf("charter")

// Body is the signed body of a charter: the full state each time. Arrays and ext
// are always present; an optional member is absent where it is zero. Frozen.
type Body struct {
	Authority  string        `json:"authority"` // governance, recovery or resolution
	ExpiresAt  envelope.Time `json:"expires_at"`
	Ext        envelope.Raw  `json:"ext"`                  // free object, hashed, ignored
	Federation envelope.ID   `json:"federation,omitempty"` // id of the genesis; absent in the genesis
	Governance Governance    `json:"governance"`
	IssuedAt   envelope.Time `json:"issued_at"`
	Mediation  Mediation     `json:"mediation"`
	Members    []Member      `json:"members"` // every organization ever admitted, sorted by did
	Name       string        `json:"name"`
	Nonce      string        `json:"nonce,omitempty"` // genesis only: 16 bytes, base64url
	NotBefore  envelope.Time `json:"not_before"`
	Policy     Policy        `json:"policy"`
	Prev       envelope.ID   `json:"prev,omitempty"` // id of the parent; absent in the genesis
	Recovery   Recovery      `json:"recovery"`
	Released   []envelope.ID `json:"released"`           // abandons that release the rounds below, sorted
	Resolves   envelope.ID   `json:"resolves,omitempty"` // authority resolution only: the losing sibling
	Round      uint64        `json:"round"`
	Seq        uint64        `json:"seq"`
	Spec       Spec          `json:"spec"`
}

// Governance says how many voters must sign.
type Governance struct {
	Threshold uint64 `json:"threshold"`
}

// Key is a public key under the name its owner's document gives it.
type Key struct {
	Kid string        `json:"kid"`
	Pub did.PublicKey `json:"pub"`
}

// Member is the record of one organization.
type Member struct {
	BindingsMax uint64  `json:"bindings_max"` // nodes it may bind, 1..8
	Contact     string  `json:"contact"`
	Cutoff      *Cutoff `json:"cutoff,omitempty"`
	DID         did.DID `json:"did"`
	DIDHead     string  `json:"did_head,omitempty"` // versionId; absent for did:key
	Gaps        []Gap   `json:"gaps"`               // log indexes never accepted
	Generation  uint64  `json:"generation"`         // from 1
	Key         Key     `json:"key"`                // an assertion key at DIDHead
	Name        string  `json:"name"`
	ReplacedBy  did.DID `json:"replaced_by,omitempty"`
	SCID        string  `json:"scid,omitempty"` // did:webvh only
	SinceSeq    uint64  `json:"since_seq"`
	Status      string  `json:"status"` // active, suspended, expelled, left or replaced
	Votes       bool    `json:"votes"`
}

// Gap is a run of log indexes, To excluded.
type Gap struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// Cutoff ends an organization's log: events below Log.Size under Log.Root stand.
type Cutoff struct {
	DIDHead   string  `json:"did_head"`
	Log       LogHead `json:"log"`
	Reason    string  `json:"reason"` // conduct, lost, compromise, left or other
	TaintFrom *uint64 `json:"taint_from,omitempty"`
}

// LogHead is a size of a log and the root at that size.
type LogHead struct {
	Root envelope.ID `json:"root"`
	Size uint64      `json:"size"`
}

// Policy limits what two parties may agree; they may only narrow it. Names ending
// in S are seconds.
type Policy struct {
	BeaconEveryS    uint64      `json:"beacon_every_s"`
	ClockSkewS      uint64      `json:"clock_skew_s"`
	FreshQuorum     uint64      `json:"fresh_quorum"`
	FreshWithinS    uint64      `json:"fresh_within_s"`
	MaxLoanTTLS     uint64      `json:"max_loan_ttl_s"`
	MaxReadsPerLoan uint64      `json:"max_reads_per_loan"`
	OfflineGraceS   uint64      `json:"offline_grace_s"`
	TrustPolicy     envelope.ID `json:"trust_policy,omitempty"` // absent: the built-in score policy
}

// Recovery names the keys that can repair a federation whose voters cannot.
type Recovery struct {
	DelayS    uint64 `json:"delay_s"`
	Keys      []Key  `json:"keys"`
	Threshold uint64 `json:"threshold"` // 0 with no keys: never
}

// Spec says which versions of these rules a node must know.
type Spec struct {
	Critical []string `json:"critical"`
	Max      uint64   `json:"max"`
	Min      uint64   `json:"min"`
}

// Mediation is how disputes are settled, fixed before the first loan. Neutral,
// Contract and Jury are present exactly when their rung is on the ladder.
type Mediation struct {
	AckWithinS      uint64    `json:"ack_within_s"`
	AppealWithinS   uint64    `json:"appeal_within_s"`
	Contract        *Contract `json:"contract,omitempty"`
	DecideWithinS   uint64    `json:"decide_within_s"`
	EnforceWithinS  uint64    `json:"enforce_within_s"`
	EvidenceWithinS uint64    `json:"evidence_within_s"`
	Jury            *Jury     `json:"jury,omitempty"`
	Ladder          []string  `json:"ladder"` // of jury, neutral, rotating, contract, panel; none twice
	Neutral         *Neutral  `json:"neutral,omitempty"`
	RespondWithinS  uint64    `json:"respond_within_s"`
	Rotating        Rotating  `json:"rotating"`
	VoteWithinS     uint64    `json:"vote_within_s"`
}

// Rotating is the pool of the draw and the affiliates that never judge each other.
type Rotating struct {
	Pool []did.DID `json:"pool"` // empty: every active member
	Ties []Tie     `json:"ties"`
}

// Tie names two affiliates.
type Tie struct {
	A did.DID `json:"a"`
	B did.DID `json:"b"`
}

// Neutral is the mediator asked first, and who is asked after it, in order.
type Neutral struct {
	Alternates []did.DID `json:"alternates"`
	DID        did.DID   `json:"did"`
}

// Contract is a mediator that is a smart contract.
type Contract struct {
	Address           string `json:"address"`
	AttestorKeys      []Key  `json:"attestor_keys"`
	AttestorThreshold uint64 `json:"attestor_threshold"`
	ChainID           uint64 `json:"chain_id"`
	CodeHash          string `json:"code_hash"`
}

// Jury says who grades and how many.
type Jury struct {
	Mode string `json:"mode"` // rules, members or bench
	Size uint64 `json:"size"` // 3..15
}

// Payload is Type.
func (b Body) Payload() envelope.Type { return Type }

// Signer is nobody in particular: a charter is signed by many, each with the key
// the charter names for it.
func (b Body) Signer() (did.DID, string) { return did.DID{}, "" }

// MaxBytes is MaxBody.
func (b Body) MaxBytes() int { return MaxBody }

// Check tests the form of the body, the part of A1 and A8 that needs neither
// parent nor keys. It returns a *Fault.
func (b Body) Check() error { return checkForm(b) }
