package member

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/node/fault"
	"trustnode/node/self"
)

// Config is what a Member needs beside the shared node.
type Config struct {
	Pins    pins.Pins
	HostKey envelope.Signer // the node key: what the peer id names
	Listen  []string        // multiaddrs the node listens on, as configured
	Contact string          // "" or where people reach the organization, for the join
	// Software is the name and version told in beacons, at most 64 bytes.
	Software string
	// Mono is time since some fixed moment of this process; it never goes back and
	// does not follow the wall clock.
	Mono func() time.Duration
	// Size tells how many entries of an organization's log are held here.
	Size func(d did.DID) uint64
	// NewKey makes and keeps a new key of the organization in the node's own store;
	// DropKey deletes one that was made for nothing.
	NewKey  func(ctx context.Context) (envelope.Signer, error)
	DropKey func(ctx context.Context, pub did.PublicKey) error
	// Holds reports whether the private key of one is in that store.
	Holds func(ctx context.Context, pub did.PublicKey) bool
	// Witness is the signer of a witness key of this organization, self.ErrNoKey for a
	// key that is not one.
	Witness func(ctx context.Context, pub did.PublicKey) (envelope.Signer, error)
	// Endorse asks another member's node. Optional: then proofs come by hand alone.
	Endorse Endorse
	// AgentEnded is called when an own agent is revoked, once that is durable: it returns
	// when nothing begun in the agent's name before can happen any more, and says how many
	// loans ended. Optional.
	AgentEnded func(ctx context.Context, d did.DID) int
	// Credential makes the Verifiable Credential of an agent object, signed by the key of the
	// organization that signed the object. Optional: without it none is served.
	Credential func(ctx context.Context, v envelope.Verified[keyring.Agent], org envelope.Signer) ([]byte, error)
	// Again is called when a peer has shown a number of ours above what is here: only what
	// the peers say after that can end recovering, so they are to be asked soon. Optional.
	Again func()
	// Resuming is called before the node leaves recovering, when its own log is as long as
	// peers have shown it: what the state lacks of it is taken over. Its error keeps the
	// node recovering. Optional.
	Resuming func(ctx context.Context) error
	// Doubted is called when a member's log says that a DID log has forked and the lines
	// are not here: its nodes are to be asked soon. Optional.
	Doubted func(by did.DID)
	// Resumed is called when the node leaves recovering, after the own log takes
	// what waits; it may be called more than once. Optional.
	Resumed func()
}

// Member is an organization's place among others. It is safe for concurrent use.
type Member struct {
	n   *self.Node
	cfg Config

	// own is held by whoever signs or decides in this organization's name, so that
	// key, version and numbers of one object fit each other. It is taken before mu.
	own sync.Mutex
	// entering is held while an entry of the own DID log moves on. Taken before own.
	entering chan struct{} // of one place
	// projecting is held while events are brought into the state. Taken before own.
	projecting sync.Mutex

	mu        sync.Mutex // guards what follows
	chain     charter.Chain
	charters  []envelope.Envelope // of chain, by seq
	confirmed bool                // headRow.Confirmed
	sibling   bool
	bindings  map[did.DID]bound
	serial    uint64 // greatest of an own binding
	listen    []string
	beacons   map[did.DID]heard
	quorum    quorum
	recovery  recovery
	asked     map[did.DID]envelope.ID // by log, the agent object that Wants named last
	refused   map[string]uint64       // entries that were not witnessed, by reason
	claims    map[did.DID][]claim     // by log, the forks of DID logs it tells of
	unproven  bool                    // a fork may be held that is not logged
	pulse     chan struct{}           // closed and replaced at each change
}

var _ self.Standing = (*Member)(nil)

// New loads chain, bindings and beacons of n, verifies them again, and goes on
// with an entry of the own DID log that a crash interrupted. All fields of n but Standing and Peers must be set;
// Standing is the caller's to set to the result. With other active members the node is
// recovering until a peer confirms what it holds, and the own log is paused.
func New(ctx context.Context, n *self.Node, cfg Config) (*Member, error) {
	if n.Rec == nil || n.Ring == nil || n.Lib == nil || n.Clock == nil || n.Signers == nil || n.DB == nil || n.Log == nil {
		return nil, errors.New("member: the node is not complete")
	}
	if cfg.Pins == nil || cfg.HostKey == nil || cfg.Mono == nil || cfg.Size == nil || cfg.NewKey == nil || cfg.DropKey == nil || cfg.Holds == nil || cfg.Witness == nil {
		return nil, errors.New("member: a required field of the configuration is missing")
	}
	if cfg.Software == "" || len(cfg.Software) > federation.MaxSoftware {
		return nil, errors.New("member: no software name, or one that is too long")
	}
	if cfg.AgentEnded == nil {
		cfg.AgentEnded = func(context.Context, did.DID) int { return 0 }
	}
	if cfg.Again == nil {
		cfg.Again = func() {}
	}
	if cfg.Resuming == nil {
		cfg.Resuming = func(context.Context) error { return nil }
	}
	if cfg.Doubted == nil {
		cfg.Doubted = func(did.DID) {}
	}
	if cfg.Resumed == nil {
		cfg.Resumed = func() {}
	}
	m := &Member{n: n, cfg: cfg, listen: slices.Clone(cfg.Listen), bindings: map[did.DID]bound{}, beacons: map[did.DID]heard{},
		recovery: newRecovery(), asked: map[did.DID]envelope.ID{}, refused: map[string]uint64{}, claims: map[did.DID][]claim{}, entering: make(chan struct{}, 1), pulse: make(chan struct{})}
	if err := m.load(ctx); err != nil {
		return nil, err
	}
	if len(m.others()) > 0 {
		m.recovery.start = true
		n.Rec.Pause(pauseStart)
	}
	if behind := self.Behind(ctx, n.Ring, n.Org); behind != nil {
		n.Rec.Pause(strings.TrimPrefix(fault.From(behind).Detail, "recovering: ")) // it is said of a log that is recovering
		return m, nil
	}
	if err := m.finishEntry(ctx); err != nil {
		return nil, err
	}
	m.proven(ctx) // a crash may have come between a freeze and its event
	return m, nil
}

// Charter implements self.Standing.
func (m *Member) Charter() (charter.Chain, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.chain, !m.chain.IsZero()
}

// ChartersFrom returns the accepted charters from seq on, in order.
func (m *Member) ChartersFrom(seq uint64) []envelope.Envelope {
	m.mu.Lock()
	defer m.mu.Unlock()
	if seq >= uint64(len(m.charters)) {
		return nil
	}
	return slices.Clone(m.charters[seq:])
}

// IsMember reports whether d is an active member at the head.
func (m *Member) IsMember(d did.DID) bool { return m.StatusOf(d) == charter.StatusActive }

// StatusOf returns the status of an organization at the head, "" where it is not listed.
func (m *Member) StatusOf(d did.DID) string {
	c, _ := m.Charter()
	r, _ := c.Head().Member(d)
	return r.Status
}

// Changed returns a channel that is closed when chain, bindings, beacons or the causes of
// recovering next change.
func (m *Member) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pulse
}

// changed wakes who waits on Changed. The caller holds mu.
func (m *Member) changed() {
	close(m.pulse)
	m.pulse = make(chan struct{})
}

// others lists the other active members at the head, by DID.
func (m *Member) others() []charter.Member {
	c, _ := m.Charter()
	return slices.DeleteFunc(c.Head().ActiveMembers(), func(r charter.Member) bool { return r.DID == m.n.Org })
}

// now is trusted time, or the refusal of a clock that runs behind what was committed.
func (m *Member) now() (time.Time, error) {
	at, err := m.n.Clock.Now()
	if err != nil {
		return at, fault.Wrap(fault.ClockSkew, "clock", err).WithHint("set the clock of this host, for instance by NTP")
	}
	return at, nil
}

// version is where the own DID stands, and "" for a did:key, which has no versions.
func (m *Member) version(ctx context.Context) (string, error) { return m.versionOf(ctx, m.n.Org) }

func (m *Member) versionOf(ctx context.Context, d did.DID) (string, error) {
	v, err := m.n.Ring.Head(ctx, d)
	if err != nil || v.ID == did.StaticVersion {
		return "", err
	}
	return v.ID, nil
}
