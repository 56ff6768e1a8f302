package member

import (
	"context"
	"errors"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/federation/gossip"
	"trustnode/node/fault"
)

// Seams are what gossip needs of a Member.
type Seams struct {
	Members  gossip.Members
	Greeter  gossip.Greeter
	Charters gossip.Charters
	Bindings gossip.Bindings
	Beacons  gossip.Beacons
}

// Seams returns m as gossip sees it.
func (m *Member) Seams() Seams {
	return Seams{Members: members{m}, Greeter: greeter{m}, Charters: charters{m}, Bindings: bindings{m}, Beacons: beacons{m}}
}

type (
	members  struct{ *Member }
	greeter  struct{ m *Member }
	charters struct{ m *Member }
	bindings struct{ m *Member }
	beacons  struct{ m *Member }
)

// outcome sorts an error; nil is Taken or Held. What is this node's own stays an error.
func outcome(fresh bool, err error) (gossip.Outcome, error) {
	var form *envelope.FormError
	var typ *envelope.TypeError
	switch {
	case err == nil && fresh:
		return gossip.Taken, nil
	case err == nil, errors.Is(err, ErrOld), errors.Is(err, ErrInactive):
		return gossip.Held, nil
	case errors.Is(err, ErrPending):
		return gossip.Parked, nil
	case errors.Is(err, ErrForeign), errors.Is(err, envelope.ErrSignature), errors.Is(err, envelope.ErrTooLarge),
		errors.Is(err, federation.ErrOneKey), errors.As(err, &form), errors.As(err, &typ):
		return gossip.False, nil
	}
	return 0, err
}

// Head implements gossip.Members.
func (s members) Head() (gossip.Head, bool) {
	c, ok := s.Charter()
	if !ok {
		return gossip.Head{}, false
	}
	h := c.Head()
	return gossip.Head{Federation: c.Federation(), Charter: federation.CharterRef{ID: h.ID, Seq: h.Seq},
		BeaconEvery: seconds(h.Policy.BeaconEveryS), Skew: seconds(h.Policy.ClockSkewS), Spec: spec}, true
}

// spec is the range of versions of the rules this node knows.
var spec = federation.Spec{Min: 1, Max: charter.SpecVersion}

// Status implements gossip.Members.
func (s members) Status(org did.DID) string { return s.StatusOf(org) }

// Peers implements gossip.Members. While the clock cannot be trusted nobody is bound.
func (s members) Peers() []federation.Peer {
	at, err := s.now()
	if err != nil {
		return nil
	}
	return s.Member.Peers(at)
}

// Hello implements gossip.Greeter.
func (s greeter) Hello(ctx context.Context, to did.DID) (federation.Hello, error) {
	version, err := s.m.version(ctx)
	var below *keyring.Below
	if err != nil && !errors.As(err, &below) { // below the pins no head is claimed, and peers are asked for it
		return federation.Hello{}, err
	}
	h := federation.Hello{AboutYou: s.m.About(to), DIDHead: version, LogSize: s.m.cfg.Size(s.m.n.Org), Org: s.m.n.Org, Spec: spec}
	if c, ok := s.m.Charter(); ok {
		h.Federation = c.Federation()
		h.Charter = &federation.CharterRef{ID: c.Head().ID, Seq: c.Head().Seq}
	}
	if e, ok := s.m.OwnBinding(); ok {
		h.Binding = string(e.DSSE())
	}
	return h, nil
}

// Shown implements gossip.Greeter.
func (s greeter) Shown(ctx context.Context, by did.DID, h federation.Hello) {
	if at, err := s.m.now(); err == nil {
		s.m.confirm(ctx, by, h.DIDHead, keyring.ByOwn, at)
	}
	if err := s.m.Shown(ctx, by, h.AboutYou); err != nil {
		s.m.n.Log.ErrorContext(ctx, "what a peer holds of us is not taken in", "peer", by.String(), "error", err)
	}
}

// After implements gossip.Charters.
func (s charters) After(_ context.Context, seq uint64) ([]envelope.Envelope, error) {
	return s.m.ChartersFrom(seq + 1), nil
}

// Offer implements gossip.Charters.
func (s charters) Offer(ctx context.Context, e envelope.Envelope) (gossip.Outcome, error) {
	fresh, err := s.m.OfferCharter(ctx, e)
	var refused *charter.Refused
	var unsupported *charter.Unsupported
	var parked *charter.Parked
	var sibling *charter.Sibling
	switch {
	case errors.As(err, &sibling):
		return gossip.Forked, nil
	case errors.As(err, &parked):
		return gossip.Parked, nil
	case errors.As(err, &unsupported), errors.As(err, &refused) && refused.Short():
		return gossip.Held, nil // another node may know more, or less
	case errors.As(err, &refused):
		return gossip.False, nil
	}
	return outcome(fresh, err)
}

// All implements gossip.Bindings.
func (s bindings) All(context.Context) ([]envelope.Envelope, error) { return s.m.Bindings(), nil }

// Offer implements gossip.Bindings.
func (s bindings) Offer(ctx context.Context, e envelope.Envelope) (gossip.Outcome, error) {
	return outcome(s.m.OfferBinding(ctx, e))
}

// Make implements gossip.Beacons.
func (s beacons) Make(ctx context.Context) (envelope.Envelope, error) {
	e, err := s.m.MakeBeacon(ctx)
	var denied *fault.Denied
	if errors.As(err, &denied) {
		return e, gossip.ErrAbsent
	}
	return e, err
}

// Newest implements gossip.Beacons.
func (s beacons) Newest(context.Context) ([]envelope.Envelope, error) { return s.m.Beacons(), nil }

// Take implements gossip.Beacons.
func (s beacons) Take(ctx context.Context, e envelope.Envelope) (gossip.Outcome, error) {
	err := s.m.TakeBeacon(ctx, e)
	return outcome(err == nil, err)
}

// Synced implements gossip.Beacons.
func (s beacons) Synced(org did.DID) {
	ctx := context.Background()
	if err := s.m.Synced(ctx, org); err != nil {
		s.m.n.Log.ErrorContext(ctx, "the node does not leave recovering", "error", err)
	}
}

var (
	_ gossip.Members  = members{}
	_ gossip.Greeter  = greeter{}
	_ gossip.Charters = charters{}
	_ gossip.Bindings = bindings{}
	_ gossip.Beacons  = beacons{}
)
