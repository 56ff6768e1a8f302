package federation

import (
	"fmt"

	"trustnode/did"
	"trustnode/did/envelope"
)

// BeaconType is the payload type of a Beacon.
var BeaconType = envelope.TypeOf("beacon")

// Beacon says that an organization lives, which charter it follows, and how much
// of each member's log and DID log it holds. Its writer sends one every
// policy.beacon_every_s, and at once after what matters. SPEC.md, section 6.
type Beacon struct {
	At         envelope.Time `json:"at"`
	Charter    CharterRef    `json:"charter"`
	Committed  *Slot         `json:"committed,omitempty"` // an own signature on a charter above Charter
	DIDVersion string        `json:"did_version,omitempty"`
	Federation envelope.ID   `json:"federation"`
	Generation uint64        `json:"generation"`
	Heads      []BeaconHead  `json:"heads"` // active and suspended members, ascending by did
	Kid        string        `json:"kid"`
	N          uint64        `json:"n"` // rises strictly, durable before it leaves
	Org        did.DID       `json:"org"`
	Software   string        `json:"software"`
	SpecMax    uint64        `json:"spec_max"`
}

// BeaconHead is how far the sender of a beacon holds one member.
type BeaconHead struct {
	DID     did.DID `json:"did"`
	DIDHead string  `json:"did_head,omitempty"` // newest version held; absent for did:key
	Size    uint64  `json:"size"`               // entries of the log held
}

var _ envelope.Body = Beacon{}

// Payload returns BeaconType.
func (b Beacon) Payload() envelope.Type { return BeaconType }

// Signer returns the organization and the fragment of its key.
func (b Beacon) Signer() (did.DID, string) { return b.Org, b.Kid }

// MaxBytes returns the cap of the body in bytes.
func (b Beacon) MaxBytes() int { return maxBeacon }

// Check returns what is wrong with the form of b.
func (b Beacon) Check() error {
	if err := checkSender(b.Org, b.Kid, b.DIDVersion, b.Federation, b.At); err != nil {
		return err
	}
	if b.Charter.ID.IsZero() {
		return fmt.Errorf("charter.id is missing")
	}
	if err := b.Committed.check("committed"); err != nil {
		return err
	}
	if b.Committed != nil && b.Committed.Seq <= b.Charter.Seq {
		return fmt.Errorf("committed.seq %d is not above charter.seq %d", b.Committed.Seq, b.Charter.Seq)
	}
	if b.N == 0 || b.Generation == 0 || b.SpecMax == 0 {
		return fmt.Errorf("n, generation and spec_max begin at 1")
	}
	if err := text("software", b.Software, MaxSoftware); err != nil {
		return err
	}
	return checkHeads(b.Heads)
}

func checkHeads(hs []BeaconHead) error {
	if len(hs) > MaxHeads {
		return fmt.Errorf("heads has %d elements, cap %d", len(hs), MaxHeads)
	}
	for i, h := range hs {
		if err := checkDID("heads.did", h.DID); err != nil {
			return err
		}
		if err := optional("heads.did_head", h.DIDHead, MaxVersion); err != nil {
			return err
		}
		if i > 0 && hs[i-1].DID.String() >= h.DID.String() {
			return fmt.Errorf("heads are not in ascending order at %s", h.DID)
		}
	}
	return nil
}

func checkDID(name string, d did.DID) error {
	return text(name, d.String(), MaxDID)
}

// checkSender checks the members that all signed bodies have: SPEC.md, section 4.
func checkSender(org did.DID, kid, version string, fed envelope.ID, at envelope.Time) error {
	if err := checkDID("org", org); err != nil {
		return err
	}
	if err := text("kid", kid, MaxKid); err != nil {
		return err
	}
	if err := optional("did_version", version, MaxVersion); err != nil {
		return err
	}
	switch {
	case (version == "") != (org.Method() == "key"):
		return fmt.Errorf("did_version %q does not fit method %s", version, org.Method())
	case fed.IsZero():
		return fmt.Errorf("federation is missing")
	case at.IsZero():
		return fmt.Errorf("at is missing")
	}
	return nil
}
