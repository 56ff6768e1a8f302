package daemon

import (
	"context"
	"errors"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/federation/gossip"
	"trustnode/node/member"
)

// spec is the range of versions of the federation's rules this program knows.
var spec = federation.Spec{Min: 1, Max: 1}

// members shows charter and bindings to gossip.
type members struct {
	m   *member.Member
	now func() time.Time
}

var _ gossip.Members = members{}

func (a members) Head() (gossip.Head, bool) {
	c, ok := a.m.Charter()
	if !ok {
		return gossip.Head{}, false
	}
	h := c.Head()
	return gossip.Head{Federation: c.Federation(), Charter: federation.CharterRef{ID: h.ID, Seq: h.Seq},
		BeaconEvery: time.Duration(h.Policy.BeaconEveryS) * time.Second, Skew: time.Duration(h.Policy.ClockSkewS) * time.Second, Spec: spec}, true
}

func (a members) Status(org did.DID) string {
	c, ok := a.m.Charter()
	if !ok {
		return ""
	}
	m, _ := c.Head().Member(org)
	return m.Status
}

func (a members) Peers() []federation.Peer { return a.m.Peers(a.now()) }

func (a members) Changed() <-chan struct{} { return a.m.Changed() }

// charters keeps the chain for gossip.
type charters struct{ m *member.Member }

var _ gossip.Charters = charters{}

func (a charters) After(_ context.Context, seq uint64) ([]envelope.Envelope, error) {
	return a.m.ChartersFrom(seq + 1), nil
}

func (a charters) Offer(ctx context.Context, e envelope.Envelope) (gossip.Outcome, error) {
	moved, err := a.m.TakeCharters(ctx, charter.File{Charters: []envelope.Envelope{e}})
	if err == nil && moved {
		return gossip.Taken, nil
	}
	return judged(err)
}

// bindings keeps the bindings for gossip.
type bindings struct{ m *member.Member }

var _ gossip.Bindings = bindings{}

func (a bindings) All(context.Context) ([]envelope.Envelope, error) { return a.m.Bindings(), nil }

func (a bindings) Offer(ctx context.Context, e envelope.Envelope) (gossip.Outcome, error) {
	fresh, err := a.m.OfferBinding(ctx, e)
	if err == nil && fresh {
		return gossip.Taken, nil
	}
	return judged(err)
}

// beacons keeps the newest beacons for gossip.
type beacons struct{ m *member.Member }

var _ gossip.Beacons = beacons{}

func (a beacons) Make(ctx context.Context) (envelope.Envelope, error) {
	now := time.Now()
	if _, _, allowed := a.m.State(now); !allowed.Beacon {
		return envelope.Envelope{}, gossip.ErrAbsent
	}
	return a.m.MakeBeacon(ctx)
}

func (a beacons) Newest(context.Context) ([]envelope.Envelope, error) { return a.m.Beacons(), nil }

func (a beacons) Take(ctx context.Context, e envelope.Envelope) (gossip.Outcome, error) {
	if err := a.m.TakeBeacon(ctx, e); err != nil {
		return judged(err)
	}
	return gossip.Taken, nil
}

func (a beacons) Synced(org did.DID) { a.m.Synced(org) }

// judged sorts what a use case says of what a peer brought.
func judged(err error) (gossip.Outcome, error) {
	var form *envelope.FormError
	var kind *envelope.TypeError
	var refused *charter.Refused
	var pending *charter.Pending
	var parked *charter.Parked
	switch {
	case err == nil, errors.Is(err, member.ErrOld), errors.Is(err, member.ErrInactive), errors.Is(err, charter.ErrHeld):
		return gossip.Held, nil
	case errors.Is(err, member.ErrPending), errors.As(err, &pending), errors.As(err, &parked),
		errors.Is(err, envelope.ErrUnknownKey), errors.Is(err, envelope.ErrPending):
		return gossip.Parked, nil
	case errors.Is(err, member.ErrForeign), errors.Is(err, envelope.ErrSignature), errors.Is(err, envelope.ErrTooLarge),
		errors.As(err, &form), errors.As(err, &kind), errors.As(err, &refused), errors.Is(err, envelope.ErrRetired):
		return gossip.False, nil
	}
	return 0, err
}

// greeter makes hellos and hears them.
type greeter struct{ n *Node }

var _ gossip.Greeter = greeter{}

func (a greeter) Hello(ctx context.Context, to did.DID) (federation.Hello, error) {
	h := federation.Hello{Org: a.n.self.Org, Spec: spec}
	if !to.IsZero() {
		h.AboutYou = a.n.member.About(to)
	}
	if b, ok := a.n.member.OwnBinding(); ok {
		h.Binding = string(b.DSSE())
	}
	if c, ok := a.n.member.Charter(); ok {
		h.Federation = c.Federation()
		h.Charter = &federation.CharterRef{ID: c.Head().ID, Seq: c.Head().Seq}
	}
	v, err := a.n.self.Ring.Head(ctx, a.n.self.Org)
	if err != nil {
		return federation.Hello{}, err
	}
	h.DIDHead = v.ID
	h.LogSize = a.n.logSize(a.n.self.Org)
	return h, nil
}

func (a greeter) Shown(ctx context.Context, by did.DID, h federation.Hello) {
	if err := a.n.member.Shown(ctx, by, h.AboutYou); err != nil {
		a.n.log.WarnContext(ctx, "a member's word about us could not be kept", "member", by, "err", err)
		return
	}
	if err := a.n.member.Confirmed(ctx, by); err != nil {
		a.n.log.WarnContext(ctx, "recovery goes on", "member", by, "err", err)
	}
}

// identities keeps DID logs for gossip.
type identities struct {
	ring  *keyring.Ring
	moved func(ctx context.Context, d did.DID) // what waited for a key is judged again
}

var _ gossip.Identities = identities{}

func (a identities) Heads(ctx context.Context) (map[did.DID]string, error) {
	vs, err := a.ring.List(ctx)
	if err != nil {
		return nil, err
	}
	out := map[did.DID]string{}
	for _, v := range vs {
		if v.Number > 0 {
			out[v.DID] = v.ID
		}
	}
	return out, nil
}

func (a identities) Log(ctx context.Context, d did.DID, after uint64) (log, witness []byte, err error) {
	if log, err = a.ring.Log(ctx, d, int(after)); err != nil {
		if errors.Is(err, keyring.ErrAbsent) {
			return nil, nil, nil
		}
		return nil, nil, err
	}
	witness, err = a.ring.Witness(ctx, d)
	return log, witness, err
}

func (a identities) Offer(ctx context.Context, d did.DID, _ uint64, log, witness []byte) (gossip.Outcome, error) {
	res, err := a.ring.Offer(ctx, d, log, witness)
	var bad *didwebvh.Error
	var fork *keyring.Fork
	var back *keyring.Rollback
	switch {
	case err == nil && res.Advanced:
		a.moved(ctx, d)
		return gossip.Taken, nil
	case err == nil, errors.As(err, &back):
		return gossip.Held, nil
	case errors.As(err, &fork):
		return gossip.Forked, nil
	case errors.As(err, &bad) && bad.Reason == didwebvh.ReasonGap:
		return gossip.Behind, nil
	case errors.As(err, &bad), errors.Is(err, keyring.ErrOtherDID), errors.Is(err, keyring.ErrMethod):
		return gossip.False, nil
	}
	return 0, err
}
