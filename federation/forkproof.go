package federation

import (
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
)

// ForkKind says which two things of a ForkProof exclude each other.
type ForkKind string

// The kinds.
const (
	ForkCharter ForkKind = "charter" // two charters with one parent
	ForkAbandon ForkKind = "abandon" // a commit and an abandon of one slot
	ForkBeacon  ForkKind = "beacon"  // two beacons of one number
	ForkDIDLog  ForkKind = "did_log" // two entries of one DID log with one number
	ForkLog     ForkKind = "log"     // two heads of one attestation log
)

// ForkProof names two signed things that exclude each other. It is signed by nobody:
// the things themselves, which come by sync, prove it. As it stands it is a claim, and
// nothing follows from it alone. SPEC.md, section 8.
type ForkProof struct {
	A            ForkSide      `json:"a"` // the one with the lower id, by text
	B            ForkSide      `json:"b"`
	Equivocators []did.DID     `json:"equivocators"` // ascending; who signed both
	Evidence     *ForkEvidence `json:"evidence,omitempty"`
	Kind         ForkKind      `json:"kind"`
	Parent       *ForkParent   `json:"parent,omitempty"` // what both go on from
}

// ForkSide is one of the two things. A line of a DID log, and a note, have their
// signatures in themselves.
type ForkSide struct {
	ID         envelope.ID     `json:"id"`
	Signatures []ForkSignature `json:"signatures"` // ascending by org
}

// ForkSignature is a signature of an organization: 64 bytes in padded base64.
type ForkSignature struct {
	Org did.DID `json:"org"`
	Sig string  `json:"sig"`
}

// ForkParent is the last thing in common, and its number.
type ForkParent struct {
	ID  envelope.ID `json:"id"`
	Seq uint64      `json:"seq"`
}

// ForkEvidence shows of two heads of one log that they exclude each other.
type ForkEvidence struct {
	A     string `json:"a" text:"multiline"`
	B     string `json:"b" text:"multiline"`
	Left  string `json:"left,omitempty"`
	Right string `json:"right,omitempty"`
}

// ParseForkProof reads a proof of at most 32 KiB, whatever its kind. Errors:
// did.ErrTooLarge, those of envelope.Unmarshal, or one that names the member that is
// wrong.
func ParseForkProof(b []byte) (ForkProof, error) {
	if len(b) > maxForkProof {
		return ForkProof{}, fmt.Errorf("forkproof of %d bytes, cap %d: %w", len(b), maxForkProof, did.ErrTooLarge)
	}
	var p ForkProof
	if err := envelope.Unmarshal(b, &p); err != nil {
		return ForkProof{}, err
	}
	if err := p.Check(); err != nil {
		return ForkProof{}, err
	}
	return p, nil
}

// Encode returns the canonical bytes of p, or what is wrong with it.
func (p ForkProof) Encode() ([]byte, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	b, err := envelope.Marshal(p)
	if err == nil && len(b) > maxForkProof {
		err = fmt.Errorf("forkproof of %d bytes, cap %d: %w", len(b), maxForkProof, did.ErrTooLarge)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Check returns what is wrong with the form of p.
func (p ForkProof) Check() error {
	switch {
	case p.A.ID.IsZero() || p.B.ID.IsZero():
		return errors.New("a.id or b.id is missing")
	case p.A.ID.String() >= p.B.ID.String():
		return fmt.Errorf("a.id %s is not below b.id %s", p.A.ID, p.B.ID)
	case p.Parent != nil && p.Parent.ID.IsZero():
		return errors.New("parent.id is missing")
	case (p.Evidence != nil) != (p.Kind == ForkLog):
		return errors.New("evidence goes with kind log, and only with it")
	}
	if err := checkOrgs("equivocators", p.Equivocators, func(d did.DID) did.DID { return d }); err != nil {
		return err
	}
	if len(p.Equivocators) == 0 {
		return errors.New("equivocators is empty")
	}
	if err := p.A.check("a"); err != nil {
		return err
	}
	if err := p.B.check("b"); err != nil {
		return err
	}
	return p.checkKind()
}

func checkOrgs[T any](name string, list []T, org func(T) did.DID) error {
	if len(list) > MaxHeads {
		return fmt.Errorf("%s has %d elements, cap %d", name, len(list), MaxHeads)
	}
	for i, x := range list {
		if err := checkDID(name, org(x)); err != nil {
			return err
		}
		if i > 0 && org(list[i-1]).String() >= org(x).String() {
			return fmt.Errorf("%s are not in ascending order at %s", name, org(x))
		}
	}
	return nil
}

func (s ForkSide) check(name string) error {
	if err := checkOrgs(name+".signatures", s.Signatures, func(x ForkSignature) did.DID { return x.Org }); err != nil {
		return err
	}
	for _, x := range s.Signatures {
		b, err := base64.StdEncoding.Strict().DecodeString(x.Sig)
		// The decoder skips line breaks, which a second spelling could hide in.
		if err != nil || base64.StdEncoding.EncodeToString(b) != x.Sig {
			return fmt.Errorf("%s.signatures: sig of %s is not base64", name, x.Org)
		}
		if _, err := did.ParseSignature(b); err != nil {
			return fmt.Errorf("%s.signatures: %v", name, err)
		}
	}
	return nil
}

// checkKind checks what differs between the kinds.
func (p ForkProof) checkKind() error {
	bare := len(p.A.Signatures) == 0 && len(p.B.Signatures) == 0
	switch p.Kind {
	case ForkCharter, ForkAbandon, ForkBeacon:
		if len(p.A.Signatures) == 0 || len(p.B.Signatures) == 0 {
			return fmt.Errorf("kind %s without signatures", p.Kind)
		}
		if p.Kind == ForkCharter && p.Parent == nil {
			return errors.New("kind charter without parent")
		}
		return nil
	case ForkDIDLog:
		if p.Parent != nil && p.Parent.Seq == 0 {
			return errors.New("parent.seq begins at 1")
		}
	case ForkLog:
		if p.Parent != nil || p.Evidence.A == "" || p.Evidence.B == "" {
			return errors.New("kind log has two notes and no parent")
		}
	default:
		return fmt.Errorf("kind %.20q is unknown", p.Kind)
	}
	if !bare || len(p.Equivocators) != 1 {
		return fmt.Errorf("kind %s has one equivocator and no signatures of its own", p.Kind)
	}
	return nil
}

// ErrSameEntry says that two lines are one.
var ErrSameEntry = errors.New("the two entries are one")

// ProveDIDLog makes the proof that the log of d has two entries of one number, from
// their exact lines without newline, in any order. parent is the line before them and
// number its number; nil and 0 where the first entries differ. Error: ErrSameEntry.
func ProveDIDLog(d did.DID, number uint64, parent, one, other []byte) (ForkProof, error) {
	p := ForkProof{A: ForkSide{ID: envelope.IDOf(one)}, B: ForkSide{ID: envelope.IDOf(other)}, Equivocators: []did.DID{d}, Kind: ForkDIDLog}
	if p.A.ID == p.B.ID {
		return ForkProof{}, ErrSameEntry
	}
	if p.A.ID.String() > p.B.ID.String() {
		p.A, p.B = p.B, p.A
	}
	if parent != nil {
		p.Parent = &ForkParent{ID: envelope.IDOf(parent), Seq: number}
	}
	return p, p.Check()
}

// ProveLog makes the proof that an organization signed both heads of a log, from evidence that
// was checked: its notes have their signatures in themselves. Error: ErrSameEntry.
func ProveLog(by did.DID, e ForkEvidence) (ForkProof, error) {
	p := ForkProof{A: ForkSide{ID: envelope.IDOf([]byte(e.A))}, B: ForkSide{ID: envelope.IDOf([]byte(e.B))}, Equivocators: []did.DID{by}, Evidence: &e, Kind: ForkLog}
	if p.A.ID == p.B.ID {
		return ForkProof{}, ErrSameEntry
	}
	if p.A.ID.String() > p.B.ID.String() {
		p.A, p.B = p.B, p.A
	}
	return p, p.Check()
}

// Entry is the number of the two entries that a proof of kind did_log is about.
func (p ForkProof) Entry() uint64 {
	if p.Parent == nil {
		return 1
	}
	return p.Parent.Seq + 1
}

// DIDLogSide is one side of a fork of a DID log: its lines after the last common one,
// the contested one first, and the witness file that goes with them.
type DIDLogSide struct{ Lines, Witness []byte }

// ErrNotProven says that the lines do not prove what a proof claims.
var ErrNotProven = errors.New("the lines do not prove the fork")

// CheckDIDLog returns nil if the lines prove p, a proof of kind did_log: common is the
// verified log up to the parent, zero without one, and each side verifies as what comes
// next. It needs no network. The error wraps ErrNotProven, and *didwebvh.Error for lines
// that do not verify.
func (p ForkProof) CheckDIDLog(common didwebvh.History, a, b DIDLogSide, now time.Time) error {
	if err := p.Check(); err != nil || p.Kind != ForkDIDLog {
		return fmt.Errorf("%w: no proof of kind %s: %v", ErrNotProven, ForkDIDLog, err)
	}
	if p.Parent != nil && (uint64(common.Len()) != p.Parent.Seq || envelope.IDOf(common.Head().Line) != p.Parent.ID) ||
		p.Parent == nil && common.Len() != 0 {
		return fmt.Errorf("%w: the log does not end at the parent", ErrNotProven)
	}
	var ids []string
	for _, side := range []struct {
		DIDLogSide
		id envelope.ID
	}{{a, p.A.ID}, {b, p.B.ID}} {
		h, err := common.Extend(side.Lines, side.Witness, now)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNotProven, err)
		}
		v, ok := h.At(common.Len() + 1)
		if !ok || envelope.IDOf(v.Line) != side.id {
			return fmt.Errorf("%w: the lines are not those of %s", ErrNotProven, side.id)
		}
		if !h.Names(p.Equivocators[0]) {
			return fmt.Errorf("%w: the log is not that of %s", ErrNotProven, p.Equivocators[0])
		}
		ids = append(ids, v.ID)
	}
	if ids[0] == ids[1] { // the same entry under other proofs excludes nothing
		return fmt.Errorf("%w: %w", ErrNotProven, ErrSameEntry)
	}
	return nil
}
