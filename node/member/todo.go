package member

import (
	"context"
	"errors"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/node/self"
)

// The errors by which what a peer brought is sorted. Errors of envelope (ErrSignature,
// *FormError, ErrTooLarge) are the sender's fault as ErrForeign is; what is no such error
// is this node's own.
var (
	ErrForeign  = errors.New("of another federation")             // reject
	ErrPending  = errors.New("what it rests on is not held here") // park it, sync with the sender
	ErrInactive = errors.New("signer is not an active member")    // ignore
	ErrOld      = errors.New("not newer than what is held")       // ignore
	errTodo     = errors.New("not there yet")
)

// New loads chain, bindings and beacons of n, verifies them again and finishes a rotation
// that a crash interrupted. n.Rec, n.Ring, n.Lib, n.Clock and n.Signers must be set;
// n.Standing is the caller's to set to the result. With other active members the node is
// recovering until a peer confirms what it holds, and the own log is paused.
func New(ctx context.Context, n *self.Node, cfg Config) (*Member, error) { return &Member{n, cfg}, nil }

// JoinRequest makes this organization's join file and its org1-… fingerprint.
func (m *Member) JoinRequest(ctx context.Context, votes bool) (Draft, error) { return Draft{}, errTodo }

// Create drafts the genesis of a federation; nobody has signed it.
func (m *Member) Create(ctx context.Context, in CreateInput) (Draft, error) { return Draft{}, errTodo }

// Diff says what a draft lays down or changes, and who has signed.
func (m *Member) Diff(ctx context.Context, file []byte) (Reviewed, error) { return Reviewed{}, errTodo }

// Merge unites copies of one draft in any order.
func (m *Member) Merge(ctx context.Context, files ...[]byte) (Draft, error) { return Draft{}, errTodo }

// Sign adds the own signature and the own binding to a draft.
func (m *Member) Sign(ctx context.Context, file []byte) (Draft, error) { return Draft{}, errTodo }

// Apply verifies a charter file alone and puts it in force; fingerprint may be "" where
// this node signed a charter of the federation, or follows it already.
func (m *Member) Apply(ctx context.Context, file []byte, fingerprint string) (Applied, error) {
	return Applied{}, errTodo
}

// TakeCharters takes what a peer sent of the federation this node is in: charters with
// DID logs, joins and bindings. It reports whether the head moved.
func (m *Member) TakeCharters(ctx context.Context, f charter.File) (bool, error) {
	return false, errTodo
}

// Charter implements self.Standing.
func (m *Member) Charter() (charter.Chain, bool) { return charter.Chain{}, false }

// State implements self.Standing.
func (m *Member) State(at time.Time) (federation.State, []federation.Reason, federation.Allowed) {
	return 0, nil, federation.Allowed{}
}

// ChartersFrom returns the accepted charters from seq on, in order.
func (m *Member) ChartersFrom(seq uint64) []envelope.Envelope { return nil }

// IsMember reports whether d is an active member at the head.
func (m *Member) IsMember(d did.DID) bool { return false }

// Changed returns a channel that is closed when chain, bindings, beacons or state next change.
func (m *Member) Changed() <-chan struct{} { return nil }

// About is what this node holds of another member, for the hello to it.
func (m *Member) About(d did.DID) federation.AboutYou { return federation.AboutYou{} }

// Shown takes what a member said it holds of this organization. A number above ours makes
// the node recovering until what is missing is here.
func (m *Member) Shown(ctx context.Context, from did.DID, a federation.AboutYou) error {
	return errTodo
}

// Confirmed says that hello and one sync with a member have ended; unless it showed a
// number above ours, the node may leave recovering.
func (m *Member) Confirmed(ctx context.Context, from did.DID) error { return errTodo }

// AcceptUnconfirmed leaves recovering and unconfirmed by the operator's word; it is audited.
func (m *Member) AcceptUnconfirmed(ctx context.Context) error { return errTodo }

// OwnBinding is the binding of this node; false while it has none that holds.
func (m *Member) OwnBinding() (envelope.Envelope, bool) { return envelope.Envelope{}, false }

// Bindings returns the newest binding of each active member, own included, by DID.
func (m *Member) Bindings() []envelope.Envelope { return nil }

// OfferBinding takes a binding from anywhere; it reports whether it is new.
func (m *Member) OfferBinding(ctx context.Context, e envelope.Envelope) (bool, error) {
	return false, errTodo
}

// Peers returns the nodes of other active members whose bindings hold at a moment.
func (m *Member) Peers(at time.Time) []federation.Peer { return nil }

// OrgOf names the organization that a bound node belongs to.
func (m *Member) OrgOf(p federation.PeerID) (did.DID, bool) { return did.DID{}, false }

// Relisten says on which addresses the node really listens; where they differ from those
// of the own binding, it is renewed.
func (m *Member) Relisten(ctx context.Context, addrs []string) error { return errTodo }

// MakeBeacon makes the next own beacon; its n is durable before it is returned.
func (m *Member) MakeBeacon(ctx context.Context) (envelope.Envelope, error) {
	return envelope.Envelope{}, errTodo
}

// JudgeBeacon verifies a beacon from memory alone: signer, key, federation, and that its n
// is new.
func (m *Member) JudgeBeacon(ctx context.Context, e envelope.Envelope) (envelope.Verified[federation.Beacon], error) {
	return envelope.Verified[federation.Beacon]{}, errTodo
}

// TakeBeacon judges a beacon and remembers it durably as its sender's newest.
func (m *Member) TakeBeacon(ctx context.Context, e envelope.Envelope) error { return errTodo }

// Beacons returns the newest beacon of each member, own included.
func (m *Member) Beacons() []envelope.Envelope { return nil }

// Synced says that a sync with a member has ended.
func (m *Member) Synced(org did.DID) {}

// AddAgent makes an agent: key, object, row and event.
func (m *Member) AddAgent(ctx context.Context, in AgentInput) (self.AgentRow, error) {
	return self.AgentRow{}, errTodo
}

// Agents lists the own agents, by name.
func (m *Member) Agents(ctx context.Context) ([]self.AgentRow, error) { return nil, errTodo }

// Renew renews own agents and the own binding where a third of their time is left.
func (m *Member) Renew(ctx context.Context, at time.Time) error { return errTodo }

// Project brings what logged events say of agents and keys into the state.
func (m *Member) Project(ctx context.Context) error { return errTodo }

// Wants returns up to max ids of agent objects that events name and nobody brought yet.
func (m *Member) Wants(ctx context.Context, max int) ([]envelope.ID, error) { return nil, errTodo }

// TakeAgent takes an agent object that an event names; it reports whether it was wanted.
func (m *Member) TakeAgent(ctx context.Context, e envelope.Envelope) (bool, error) {
	return false, errTodo
}

// Rotate replaces the organization's issuer key, or continues a rotation.
func (m *Member) Rotate(ctx context.Context, in RotateInput) (Rotated, error) {
	return Rotated{}, errTodo
}

// Status tells of the node's place in its federation.
func (m *Member) Status(ctx context.Context, at time.Time) (Status, error) { return Status{}, errTodo }
