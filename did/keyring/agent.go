package keyring

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
)

// AgentType is the payload type of agent objects. SPEC.md is their format.
var AgentType = envelope.TypeOf("agent")

// Kind says whether an agent is a program or a person.
type Kind string

// The kinds.
const (
	KindAgent Kind = "agent"
	KindHuman Kind = "human"
)

// Capability is what an organization lets an agent do in its name.
type Capability string

// The known capabilities. Others may be listed; they are shown and grant nothing.
const (
	Lend     Capability = "lend"     // permission, revocation
	Borrow   Capability = "borrow"   // loanrequest, readrequest
	Receipts Capability = "receipts" // receipt for a human lender
	Propose  Capability = "propose"
	Approve  Capability = "approve" // humans only
)

// Known reports whether the capability grants anything.
func (c Capability) Known() bool {
	switch c {
	case Lend, Borrow, Receipts, Propose, Approve:
		return true
	}
	return false
}

const (
	// maxLife is how long an agent object may hold, in seconds: 30 days.
	maxLife = 2_592_000
	// skew is how far clocks may differ at the beginning of an object's life,
	// in seconds. There is none at its end: a skew there would prolong it.
	skew = 300
)

// Agent is the body of an agent object: an organization says that this DID
// acts for it. The organization signs it, and so does Key.Pub, which proves
// that whoever asked holds that key. SPEC.md.
type Agent struct {
	Agent        did.DID       `json:"agent"`
	Capabilities []Capability  `json:"capabilities"`          // 1 to 16, ascending
	DIDVersion   string        `json:"did_version,omitempty"` // of Org's DID, whose document lists Kid; absent for did:key
	Display      string        `json:"display,omitempty"`     // a role, up to 64 bytes; not looked at
	Ext          envelope.Raw  `json:"ext,omitempty"`         // an object of free keys; hashed, not looked at
	IssuedAt     envelope.Time `json:"issued_at"`
	Key          AgentKey      `json:"key"`
	Kid          string        `json:"kid"` // fragment of the organization's signing key
	Kind         Kind          `json:"kind"`
	Name         string        `json:"name"` // unique in the organization: a handle, not a person's name
	NotAfter     envelope.Time `json:"not_after"`
	NotBefore    envelope.Time `json:"not_before"`
	Org          did.DID       `json:"org"`
	Serial       uint64        `json:"serial"` // rises with each object of one name, from 1
}

// AgentKey is the agent's signing key. Verification uses Pub, never the agent's document.
type AgentKey struct {
	Kid string        `json:"kid"` // fragment under the agent's DID
	Pub did.PublicKey `json:"pub"`
}

var _ envelope.Body = Agent{}

// Payload returns AgentType.
func (Agent) Payload() envelope.Type { return AgentType }

// Signer returns the organization and the fragment of its key.
func (a Agent) Signer() (did.DID, string) { return a.Org, a.Kid }

// MaxBytes returns 4,096.
func (Agent) MaxBytes() int { return maxAgent }

// Check holds the rules of SPEC.md that the body alone decides. Errors are *envelope.FormError.
func (a Agent) Check() error {
	for _, rule := range []func() *envelope.FormError{a.checkOrg, a.checkKey, a.checkNames, a.checkCapabilities, a.checkTimes} {
		if f := rule(); f != nil {
			return f
		}
	}
	return nil
}

func form(path, format string, args ...any) *envelope.FormError {
	return &envelope.FormError{Path: path, What: fmt.Sprintf(format, args...)}
}

func (a Agent) checkOrg() *envelope.FormError {
	if a.Org.IsZero() || a.Org == a.Agent {
		return form("org", "no organization of its own")
	}
	if a.Kid == "" || len(a.Kid) > maxKid {
		return form("kid", "not 1 to %d bytes", maxKid)
	}
	static := a.Org.Method() == didkey.Method
	if static != (a.DIDVersion == "") || len(a.DIDVersion) > maxVersion {
		return form("did_version", "present exactly for an organization whose DID has versions")
	}
	return nil
}

// checkKey ties the key to the DID where the DID is the key. A small set of
// methods may name agents here; others are read by no part that could use them.
func (a Agent) checkKey() *envelope.FormError {
	if a.Key.Pub.Algorithm() != did.Ed25519 {
		return form("key.pub", "not an Ed25519 key")
	}
	if a.Key.Kid == "" || len(a.Key.Kid) > maxKid {
		return form("key.kid", "not 1 to %d bytes", maxKid)
	}
	switch a.Agent.Method() {
	case didkey.Method:
		if k, err := didkey.Key(a.Agent); err != nil || k != a.Key.Pub || a.Key.Kid != k.Multikey() {
			return form("key", "not the key that %s is", a.Agent)
		}
	case didwebvh.Method, "web":
	default:
		return form("agent", "DID method %q names no agent", a.Agent.Method())
	}
	return nil
}

func (a Agent) checkNames() *envelope.FormError {
	if !isName(a.Name, '-') {
		return form("name", "not [a-z][a-z0-9-]{0,31}")
	}
	if len(a.Display) > maxDisplay {
		return form("display", "more than %d bytes", maxDisplay)
	}
	if len(a.Ext) > 0 && a.Ext[0] != '{' {
		return form("ext", "not an object")
	}
	if a.Kind != KindAgent && a.Kind != KindHuman {
		return form("kind", "neither agent nor human")
	}
	if a.Serial == 0 {
		return form("serial", "not from 1")
	}
	return nil
}

func (a Agent) checkCapabilities() *envelope.FormError {
	if n := len(a.Capabilities); n < 1 || n > maxCapabilities {
		return form("capabilities", "%d, not 1 to %d", n, maxCapabilities)
	}
	for i, c := range a.Capabilities {
		if !isName(string(c), '_', '.') {
			return form("capabilities", "%q is not [a-z][a-z0-9_.]{0,31}", c)
		}
		if i > 0 && a.Capabilities[i-1] >= c {
			return form("capabilities", "not ascending, or not unique")
		}
		if c == Approve && a.Kind != KindHuman {
			return form("capabilities", "only a human may approve")
		}
	}
	return nil
}

func (a Agent) checkTimes() *envelope.FormError {
	issued, begin, end := a.IssuedAt.Time(), a.NotBefore.Time(), a.NotAfter.Time()
	if begin.Before(issued.Add(-skew * time.Second)) {
		return form("not_before", "more than %d s before issued_at", skew)
	}
	if !end.After(begin) || end.Sub(begin) > maxLife*time.Second {
		return form("not_after", "not within %d s after not_before", maxLife)
	}
	return nil
}

// isName matches [a-z][a-z0-9…]{0,31} with the given marks.
func isName(s string, marks ...byte) bool {
	if s == "" || len(s) > maxName || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for _, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || slices.Contains(marks, c)) {
			return false
		}
	}
	return true
}

// Can reports whether the organization listed the capability and it is known
// here. It does not ask whether the agent is live or its organization a member.
func (a Agent) Can(c Capability) bool { return c.Known() && slices.Contains(a.Capabilities, c) }

// Live reports whether the object may be used at a time: from 300 s before
// not_before, for clocks that differ, and never from not_after on.
func (a Agent) Live(at time.Time) bool { return a.LiveError(at) == nil }

// Errors of Agent.LiveError.
var (
	ErrNotYet = errors.New("agent object is not yet valid")
	ErrEnded  = errors.New("agent object has ended")
)

// LiveError says why Live is false. Errors: ErrNotYet, ErrEnded.
func (a Agent) LiveError(at time.Time) error {
	if !at.Before(a.NotAfter.Time()) {
		return fmt.Errorf("agent %s of %s at %s: %w", a.Name, a.Org, a.NotAfter, ErrEnded)
	}
	if at.Before(a.NotBefore.Time().Add(-skew * time.Second)) {
		return fmt.Errorf("agent %s of %s before %s: %w", a.Name, a.Org, a.NotBefore, ErrNotYet)
	}
	return nil
}

// ErrHolder is wrapped when a signer is not the one the body names.
var ErrHolder = errors.New("signer is not the one the body names")

// SealAgent signs an agent object: the organization's key first, then the agent's own.
func SealAgent(ctx context.Context, a Agent, org, agent envelope.Signer) (envelope.Envelope, error) {
	if agent.Public() != a.Key.Pub {
		return envelope.Envelope{}, fmt.Errorf("agent key %s: %w", agent.Public().Multikey(), ErrHolder)
	}
	if org.Public() == agent.Public() {
		return envelope.Envelope{}, fmt.Errorf("one key for the organization and its agent: %w", ErrHolder)
	}
	return envelope.Seal(ctx, a, org, agent)
}

// checkSignatures wants two signatures under the keyids SealAgent writes. No signature
// covers a keyid: under any other the same object would have a second spelling.
func (a Agent) checkSignatures(sigs []envelope.Signature) *envelope.FormError {
	if n := len(sigs); n != 2 {
		return form("signatures", "%d, not the organization's and the agent's", n)
	}
	org, agent := a.Kid, a.Key.Pub.Multikey()
	x, y := sigs[0].KeyID, sigs[1].KeyID
	if x == org && y == agent || x == agent && y == org {
		return nil
	}
	return form("signatures", "not under the kid the body names and the text of the agent's key")
}

// OpenAgent verifies an agent object: both signatures, the organization's under
// a key that src answers for its place, the agent's own under key.pub, each with
// its keyid, and no third one. It does not look at the time: Live does. Errors: those of
// envelope.Decode and of src, *envelope.FormError, envelope.ErrSignature.
func OpenAgent(ctx context.Context, e envelope.Envelope, src envelope.KeySource) (envelope.Verified[Agent], error) {
	a, err := envelope.Decode[Agent](e)
	if err != nil {
		return envelope.Verified[Agent]{}, err
	}
	org, err := src.Key(ctx, a.Org, a.Kid)
	if err != nil {
		return envelope.Verified[Agent]{}, err
	}
	if org.Public == a.Key.Pub {
		return envelope.Verified[Agent]{}, form("key.pub", "the organization's own key")
	}
	if f := a.checkSignatures(e.Signatures); f != nil {
		return envelope.Verified[Agent]{}, f
	}
	v, _, err := envelope.OpenSet[Agent](e, []did.PublicKey{org.Public, a.Key.Pub}, func(signed []did.PublicKey) error {
		if !slices.Contains(signed, org.Public) {
			return fmt.Errorf("agent object lacks the signature of %s#%s: %w", a.Org, a.Kid, envelope.ErrSignature)
		}
		if !slices.Contains(signed, a.Key.Pub) {
			return fmt.Errorf("agent object lacks the signature of the agent's own key: %w", envelope.ErrSignature)
		}
		return nil
	})
	return v, err
}
