package federation

import (
	"fmt"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Admission is what a node answers to another's hello.
type Admission string

// The admissions.
const (
	AdmitOK              Admission = "ok"
	AdmitNotAMember      Admission = "not_a_member"
	AdmitOtherFederation Admission = "other_federation"
	AdmitUpgradeRequired Admission = "upgrade_required"
	AdmitBusy            Admission = "busy"
)

// Hello is the first word on each link, said by both ends on one stream of
// ProtocolHello: the opener first. It is not signed; what admits is the binding
// in it and the key of the channel. SPEC.md, section 7.
type Hello struct {
	AboutYou   AboutYou      `json:"about_you"`
	Binding    string        `json:"binding,omitempty"` // DSSE JSON of the own Binding; absent: none yet
	Charter    *CharterRef   `json:"charter,omitempty"` // own head; absent: none
	DIDHead    string        `json:"did_head,omitempty"`
	Federation envelope.ID   `json:"federation,omitempty"`
	LogSize    uint64        `json:"log_size"`
	Now        envelope.Time `json:"now"`
	Org        did.DID       `json:"org"`
	Spec       Spec          `json:"spec"`
	Verdict    Admission     `json:"verdict"`
}

// Spec is the range of versions of the federation's rules a node knows.
type Spec struct {
	Max uint64 `json:"max"`
	Min uint64 `json:"min"`
}

// AboutYou is what the sender holds of the receiver: how a member learns that it
// was expelled, and how a restored node learns its own last numbers.
type AboutYou struct {
	BeaconN    uint64 `json:"beacon_n"`         // greatest n heard from you
	CharterSeq uint64 `json:"charter_seq"`      // the charter the status is of
	Commit     *Slot  `json:"commit,omitempty"` // your newest signature on a charter
	DIDN       uint64 `json:"did_n,omitempty"`  // version number of your DID log's newest entry held
	LogSize    uint64 `json:"log_size"`
	Reason     string `json:"reason,omitempty"`
	Status     string `json:"status,omitempty"` // your status at my head; absent: not listed
}

// ParseHello reads one frame of ProtocolHello. Errors are those of
// envelope.Unmarshal, or name the member that is wrong.
func ParseHello(b []byte) (Hello, error) {
	var h Hello
	if err := envelope.Unmarshal(b, &h); err != nil {
		return Hello{}, err
	}
	if err := h.Check(); err != nil {
		return Hello{}, err
	}
	return h, nil
}

// Encode returns the frame of h, or what is wrong with it.
func (h Hello) Encode() ([]byte, error) {
	if err := h.Check(); err != nil {
		return nil, err
	}
	return envelope.Marshal(h)
}

// Check returns what is wrong with the form of h.
func (h Hello) Check() error {
	if err := checkDID("org", h.Org); err != nil {
		return err
	}
	if h.Now.IsZero() {
		return fmt.Errorf("now is missing")
	}
	if (h.Charter == nil) != h.Federation.IsZero() {
		return fmt.Errorf("federation and charter stand together or not at all")
	}
	if h.Charter != nil && h.Charter.ID.IsZero() {
		return fmt.Errorf("charter.id is missing")
	}
	if h.Spec.Min == 0 || h.Spec.Min > h.Spec.Max {
		return fmt.Errorf("spec %d..%d is not a range from 1", h.Spec.Min, h.Spec.Max)
	}
	if err := optional("did_head", h.DIDHead, MaxVersion); err != nil {
		return err
	}
	if err := h.AboutYou.check(); err != nil {
		return err
	}
	switch h.Verdict {
	case AdmitOK, AdmitNotAMember, AdmitOtherFederation, AdmitUpgradeRequired, AdmitBusy:
		return nil
	}
	return fmt.Errorf("verdict %q is unknown", h.Verdict)
}

func (a AboutYou) check() error {
	switch a.Status {
	case "", "active", "suspended", "expelled", "left", "replaced":
	default:
		return fmt.Errorf("about_you.status %q is unknown", a.Status)
	}
	if err := optional("about_you.reason", a.Reason, MaxReason); err != nil {
		return err
	}
	return a.Commit.check("about_you.commit")
}
