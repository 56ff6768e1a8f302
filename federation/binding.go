package federation

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// BindingType is the payload type of a Binding.
var BindingType = envelope.TypeOf("binding")

// Role is what a node does for its organization.
type Role string

// The roles. Among the bindings of one organization the one with the greatest
// serial and the role writer is its writer.
const (
	RoleRelay  Role = "relay"
	RoleWriter Role = "writer"
)

// ErrOneKey: a binding ties a key to itself, where the organization's key could
// have been kept off the node's port.
var ErrOneKey = errors.New("node key is the organization key")

// Binding ties a node key to the organization whose node it is. Both keys sign
// the same body: the organization, so that nobody else speaks for it; the node
// key, so that an organization cannot claim another's node. SPEC.md, section 5.
type Binding struct {
	Addrs      []string      `json:"addrs"` // multiaddrs without /p2p
	At         envelope.Time `json:"at"`
	DIDVersion string        `json:"did_version,omitempty"`
	ExpiresAt  envelope.Time `json:"expires_at"`
	Federation envelope.ID   `json:"federation"`
	Generation uint64        `json:"generation"`
	Kid        string        `json:"kid"`
	NotBefore  envelope.Time `json:"not_before"`
	Org        did.DID       `json:"org"`
	PeerID     PeerID        `json:"peer_id"`
	Roles      []Role        `json:"roles"` // at least one, ascending
	Serial     uint64        `json:"serial"`
}

var _ envelope.Body = Binding{}

// Payload returns BindingType.
func (b Binding) Payload() envelope.Type { return BindingType }

// Signer returns the organization and the fragment of its key.
func (b Binding) Signer() (did.DID, string) { return b.Org, b.Kid }

// MaxBytes returns the cap of the body in bytes.
func (b Binding) MaxBytes() int { return maxBinding }

// Check returns what is wrong with the form of b.
func (b Binding) Check() error {
	if err := checkSender(b.Org, b.Kid, b.DIDVersion, b.Federation, b.At); err != nil {
		return err
	}
	if b.PeerID.IsZero() {
		return fmt.Errorf("peer_id is missing")
	}
	if b.Generation == 0 || b.Serial == 0 {
		return fmt.Errorf("generation and serial begin at 1")
	}
	if err := b.checkLife(); err != nil {
		return err
	}
	if err := checkRoles(b.Roles); err != nil {
		return err
	}
	return checkAddrs(b.Addrs)
}

func (b Binding) checkLife() error {
	if b.NotBefore.IsZero() || b.ExpiresAt.IsZero() {
		return fmt.Errorf("not_before or expires_at is missing")
	}
	if life := b.ExpiresAt.Time().Sub(b.NotBefore.Time()); life <= 0 || life > maxBindingLife {
		return fmt.Errorf("life of %v is not within 0..%v", life, maxBindingLife)
	}
	return nil
}

func checkRoles(rs []Role) error {
	if len(rs) == 0 {
		return fmt.Errorf("roles is empty")
	}
	for i, r := range rs {
		if r != RoleRelay && r != RoleWriter {
			return fmt.Errorf("role %q is unknown", r)
		}
		if i > 0 && rs[i-1] >= r {
			return fmt.Errorf("roles are not in ascending order")
		}
	}
	return nil
}

func checkAddrs(as []string) error {
	if len(as) > MaxAddrs {
		return fmt.Errorf("addrs has %d elements, cap %d", len(as), MaxAddrs)
	}
	for i, a := range as {
		if err := checkAddr(a); err != nil {
			return err
		}
		if slices.Contains(as[:i], a) {
			return fmt.Errorf("addrs names %s twice", a)
		}
	}
	return nil
}

// Is reports whether b has role r.
func (b Binding) Is(r Role) bool { return slices.Contains(b.Roles, r) }

// Valid reports whether at lies in [not_before, expires_at), the first bound
// moved by skew.
func (b Binding) Valid(at time.Time, skew time.Duration) bool {
	return !at.Before(b.NotBefore.Time().Add(-skew)) && at.Before(b.ExpiresAt.Time())
}

// Peer returns b as a transport takes it.
func (b Binding) Peer() Peer {
	return Peer{ID: b.PeerID, Addrs: slices.Clone(b.Addrs), Org: b.Org}
}

// SealBinding signs b with the organization's key, then with the node's.
func SealBinding(ctx context.Context, b Binding, org, node envelope.Signer) (envelope.Envelope, error) {
	if id, err := PeerIDOf(node.Public()); err != nil || id != b.PeerID {
		return envelope.Envelope{}, fmt.Errorf("peer_id %s is not the node key: %w", b.PeerID, ErrPeerID)
	}
	if org.Public() == node.Public() {
		if b.Org.Method() != "key" {
			return envelope.Envelope{}, ErrOneKey
		}
		return envelope.Seal(ctx, b, org)
	}
	return envelope.Seal(ctx, b, org, node)
}

// OpenBinding checks that e is a binding signed by the key of its organization,
// which keys names, and by the node key it ties to it. It judges no time and no
// membership. It returns ErrOneKey where both are one key and the organization
// is not a did:key, *envelope.FormError where the signatures are not exactly
// those two, errors of keys, and those of envelope.OpenSet.
func OpenBinding(ctx context.Context, e envelope.Envelope, keys envelope.KeySource) (envelope.Verified[Binding], error) {
	var none envelope.Verified[Binding]
	b, err := envelope.Decode[Binding](e)
	if err != nil {
		return none, err
	}
	org, err := keys.Key(ctx, b.Org, b.Kid)
	if err != nil {
		return none, err
	}
	node, err := b.PeerID.Key()
	if err != nil {
		return none, err
	}
	both := []did.PublicKey{org.Public, node}
	if org.Public == node {
		if b.Org.Method() != "key" {
			return none, ErrOneKey
		}
		both = both[:1]
	}
	if err := checkKeyIDs(e.Signatures, b.Kid, both[1:]); err != nil {
		return none, err
	}
	v, _, err := envelope.OpenSet[Binding](e, both, func(signed []did.PublicKey) error {
		if len(signed) != len(both) {
			return fmt.Errorf("%d of %d signatures are good: %w", len(signed), len(both), envelope.ErrSignature)
		}
		return nil
	})
	return v, err
}

// checkKeyIDs refuses every second spelling of the signatures: OpenSet overlooks
// bad ones, so that anybody could add one on the way.
func checkKeyIDs(sigs []envelope.Signature, kid string, node []did.PublicKey) error {
	want := []string{kid}
	for _, k := range node {
		want = append(want, k.Multikey())
	}
	slices.Sort(want)
	var got []string
	for _, s := range sigs {
		got = append(got, s.KeyID)
	}
	if !slices.Equal(got, want) {
		return &envelope.FormError{Path: "signatures", What: fmt.Sprintf("keyids are %q instead of %q", got, want)}
	}
	return nil
}

// nodeSigner signs with the key of a node.
type nodeSigner struct{ key ed25519.PrivateKey }

// NodeSigner returns the signer of the node key made from a seed of 32 bytes,
// and the peer id it has.
func NodeSigner(seed []byte) (envelope.Signer, PeerID, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, PeerID{}, fmt.Errorf("node key seed of %d bytes instead of %d", len(seed), ed25519.SeedSize)
	}
	s := nodeSigner{ed25519.NewKeyFromSeed(seed)}
	pub, err := did.NewEd25519(s.key.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, PeerID{}, err
	}
	id, err := PeerIDOf(pub)
	return s, id, err
}

// Public returns the public half.
func (s nodeSigner) Public() did.PublicKey {
	pub, err := did.NewEd25519(s.key.Public().(ed25519.PublicKey))
	if err != nil {
		panic("federation: " + err.Error()) // NodeSigner checked it
	}
	return pub
}

// Sign signs what envelope built.
func (s nodeSigner) Sign(_ context.Context, p envelope.Preimage) (sig did.Signature, err error) {
	copy(sig[:], ed25519.Sign(s.key, p.Bytes()))
	return sig, nil
}
