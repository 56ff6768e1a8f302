package member

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/node/store"
)

// bound is a binding that was verified when it came.
type bound struct {
	env  envelope.Envelope
	body federation.Binding
}

// standing checks that an organization may say something outside its log now: an active
// member of this federation, in the generation and version it names.
func (m *Member) standing(ctx context.Context, chain charter.Chain, org did.DID, fed envelope.ID, generation uint64, version string) error {
	if chain.IsZero() {
		return fmt.Errorf("no charter: %w", ErrPending)
	}
	if fed != chain.Federation() {
		return fmt.Errorf("%s: %w", fed, ErrForeign)
	}
	r, ok := chain.Head().Member(org)
	switch {
	case !ok:
		return fmt.Errorf("%s is not listed: %w", org, ErrPending)
	case !r.Active():
		return fmt.Errorf("%s is %s: %w", org, r.Status, ErrInactive)
	case generation > r.Generation:
		return fmt.Errorf("generation %d of %s, %d is in force: %w", generation, org, r.Generation, ErrPending)
	case generation < r.Generation:
		return fmt.Errorf("generation %d of %s is over: %w", generation, org, ErrOld)
	}
	return m.newest(ctx, org, version)
}

// newest checks that a version is the newest held of a DID: a newer one is not held yet,
// under an older one nothing new is accepted.
func (m *Member) newest(ctx context.Context, d did.DID, version string) error {
	held, err := m.versionOf(ctx, d)
	var below *keyring.Below
	if errors.Is(err, keyring.ErrAbsent) || errors.As(err, &below) {
		return fmt.Errorf("%v: %w", err, ErrPending)
	}
	if err != nil || held == version {
		return err
	}
	if _, err := m.n.Ring.At(d, version); errors.Is(err, keyring.ErrUnknownVersion) {
		return fmt.Errorf("%v: %w", err, ErrPending)
	}
	return fmt.Errorf("%s is at %s, it names %s: %w", d, held, version, ErrOld)
}

// sourceError sorts what a key source says.
func sourceError(err error) error {
	switch {
	case errors.Is(err, envelope.ErrUnknownKey), errors.Is(err, envelope.ErrPending):
		return fmt.Errorf("%v: %w", err, ErrPending)
	case errors.Is(err, envelope.ErrRetired):
		return fmt.Errorf("%v: %w", err, ErrOld)
	}
	return err
}

// OfferBinding takes a binding from anywhere: signed by the organization's newest key and
// by the node's, of this federation and the member's generation, in force, and with a
// greater serial than the one held. It reports whether it is new.
func (m *Member) OfferBinding(ctx context.Context, e envelope.Envelope) (bool, error) {
	at, err := m.now()
	if err != nil {
		return false, err
	}
	chain, _ := m.Charter()
	b, err := m.openBinding(ctx, e, chain, at)
	if err != nil {
		return false, err
	}
	m.confirm(ctx, b.body.Org, b.body.DIDVersion, keyring.ByOwn, b.body.At.Time())
	held, ok := m.binding(b.body.Org)
	switch {
	case ok && held.env.ID() == e.ID():
		return false, nil
	case b.body.Org == m.n.Org:
		return false, m.ownShown(ctx, b.body)
	}
	return m.keepBinding(ctx, b)
}

// openBinding verifies a binding against a chain.
func (m *Member) openBinding(ctx context.Context, e envelope.Envelope, chain charter.Chain, at time.Time) (bound, error) {
	b, err := envelope.Decode[federation.Binding](e)
	if err != nil {
		return bound{}, err
	}
	if err := m.standing(ctx, chain, b.Org, b.Federation, b.Generation, b.DIDVersion); err != nil {
		return bound{}, err
	}
	if _, err := federation.OpenBinding(ctx, e, m.n.Ring.HeadSource()); err != nil {
		return bound{}, sourceError(err)
	}
	if !b.Valid(at, seconds(chain.Head().Policy.ClockSkewS)) || !b.Is(federation.RoleWriter) {
		return bound{}, fmt.Errorf("binding of %s holds from %s to %s for %v: %w", b.Org, b.NotBefore, b.ExpiresAt, b.Roles, ErrOld)
	}
	return bound{e, b}, nil
}

func (m *Member) binding(org did.DID) (bound, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.bindings[org]
	return b, ok
}

// follows tells whether b may take the place of old: a binding of another federation is
// no predecessor.
func (b bound) follows(old bound) bool {
	return old.body.Federation != b.body.Federation || b.body.Serial > old.body.Serial
}

// keepBinding makes a verified binding the newest of its organization.
func (m *Member) keepBinding(ctx context.Context, b bound) (kept bool, err error) {
	err = m.n.DB.Update(ctx, func(tx store.Tx) error {
		kept, err = b.put(tx)
		return err
	})
	if err != nil {
		return false, err
	}
	if !kept {
		return false, fmt.Errorf("binding %d of %s: %w", b.body.Serial, b.body.Org, ErrOld)
	}
	m.showBinding(b)
	return true, nil
}

// put writes a binding in a transaction unless one is there that it does not follow.
func (b bound) put(tx store.Tx) (bool, error) {
	old, ok, err := getObject(tx, bindingKey(b.body.Org))
	if err != nil {
		return false, err
	}
	if ok {
		body, err := envelope.Decode[federation.Binding](old)
		if err != nil || !b.follows(bound{old, body}) {
			return false, err
		}
	}
	return true, tx.Set([]byte(bindingKey(b.body.Org)), b.env.DSSE())
}

// showBinding shows what is durable.
func (m *Member) showBinding(b bound) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, ok := m.bindings[b.body.Org]; !ok || b.follows(old) {
		m.bindings[b.body.Org] = b
		m.changed()
	}
}

// ownShown takes an own binding that a peer holds and this node does not: its serial was
// used, so the next one of this node goes above it.
func (m *Member) ownShown(ctx context.Context, b federation.Binding) error {
	m.own.Lock()
	defer m.own.Unlock()
	m.mu.Lock()
	known := m.serial
	m.mu.Unlock()
	if b.Serial <= known {
		return fmt.Errorf("own binding %d: %w", b.Serial, ErrOld)
	}
	if err := m.n.DB.Update(ctx, func(tx store.Tx) error { return put(tx, keySerial, serialRow{b.Serial}) }); err != nil {
		return err
	}
	m.mu.Lock()
	m.serial = b.Serial
	m.mu.Unlock()
	return nil
}

// Bindings returns the newest binding of each active member, the own included, by DID.
func (m *Member) Bindings() []envelope.Envelope {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []bound
	for org, b := range m.bindings {
		if r, ok := m.chain.Head().Member(org); ok && m.holds(b, r) {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b bound) int { return cmp.Compare(a.body.Org.String(), b.body.Org.String()) })
	envs := make([]envelope.Envelope, len(out))
	for i := range out {
		envs[i] = out[i].env
	}
	return envs
}

// holds tells whether a binding is of the record's place in this federation. The caller
// holds mu.
func (m *Member) holds(b bound, r charter.Member) bool {
	return r.Active() && b.body.Federation == m.chain.Federation() && b.body.Generation == r.Generation
}

// Peers returns the nodes of other active members whose bindings hold at a moment, by
// organization. A node that two organizations bound is left out with both.
func (m *Member) Peers(at time.Time) []federation.Peer {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []federation.Peer
	times := map[federation.PeerID]int{}
	skew := seconds(m.chain.Head().Policy.ClockSkewS)
	for org, b := range m.bindings {
		if r, ok := m.chain.Head().Member(org); ok && m.holds(b, r) && b.body.Valid(at, skew) {
			times[b.body.PeerID]++
			if org != m.n.Org {
				out = append(out, b.body.Peer())
			}
		}
	}
	out = slices.DeleteFunc(out, func(p federation.Peer) bool { return times[p.ID] > 1 })
	slices.SortFunc(out, func(a, b federation.Peer) int { return cmp.Compare(a.Org.String(), b.Org.String()) })
	return out
}

// OwnBinding is the binding of this node in the federation it is in; false while it has
// none.
func (m *Member) OwnBinding() (envelope.Envelope, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.bindings[m.n.Org]
	if !ok || m.chain.IsZero() || b.body.Federation != m.chain.Federation() {
		return envelope.Envelope{}, false
	}
	return b.env, true
}

// Relisten says on which addresses the node really listens; where they differ from those
// of the own binding, it is renewed.
func (m *Member) Relisten(ctx context.Context, addrs []string) error {
	m.mu.Lock()
	m.listen = slices.Clone(addrs)
	m.mu.Unlock()
	at, err := m.now()
	if err != nil {
		return err
	}
	m.own.Lock()
	defer m.own.Unlock()
	return m.renewBinding(ctx, at)
}

// renewBinding makes a new own binding where the held one does not say how this node is
// reached now, or where little of its life is left. The caller holds own.
func (m *Member) renewBinding(ctx context.Context, at time.Time) error {
	chain, ok := m.Charter()
	if !ok {
		return nil
	}
	r, ok := chain.Head().Member(m.n.Org)
	if _, _, may := m.State(at); !ok || !r.Active() || !may.OwnLog || m.ownDID() == did.Frozen {
		return nil
	}
	_, err := m.bind(ctx, chain.Federation(), r.Generation, at)
	return err
}

// rebind renews the own binding where the key that signed it has gone meanwhile: under that
// no peer knows this node any more.
func (m *Member) rebind(ctx context.Context) {
	at, err := m.now()
	m.own.Lock()
	if err == nil {
		err = m.renewBinding(ctx, at)
	}
	m.own.Unlock()
	if err != nil {
		m.n.Log.WarnContext(ctx, "the own binding was not renewed; that is tried again each hour", "error", err)
	}
}

// bind returns an own binding for a federation: the held one if it is good for a while,
// else a new one, durable with its serial before it is returned. The caller holds own.
func (m *Member) bind(ctx context.Context, fed envelope.ID, generation uint64, at time.Time) (envelope.Envelope, error) {
	want, err := m.draftBinding(ctx, fed, generation, at)
	if err != nil {
		return envelope.Envelope{}, err
	}
	m.mu.Lock()
	held, ok := m.bindings[m.n.Org]
	serial := m.serial
	m.mu.Unlock()
	if ok && held.body.Serial == serial && saysTheSame(held.body, want) && left(held.body.NotBefore, held.body.ExpiresAt, at) {
		return held.env, nil
	}
	want.Serial = serial + 1
	signer, _, err := m.n.Signers.Issuer(ctx)
	if err != nil {
		return envelope.Envelope{}, err
	}
	e, err := federation.SealBinding(ctx, want, signer, m.cfg.HostKey)
	if err != nil {
		return envelope.Envelope{}, err
	}
	err = m.n.DB.Update(ctx, func(tx store.Tx) error {
		if err := put(tx, keySerial, serialRow{want.Serial}); err != nil {
			return err
		}
		return tx.Set([]byte(bindingKey(m.n.Org)), e.DSSE())
	})
	if err != nil {
		return envelope.Envelope{}, err
	}
	m.mu.Lock()
	m.serial, m.bindings[m.n.Org] = want.Serial, bound{e, want}
	m.changed()
	m.mu.Unlock()
	return e, nil
}

func (m *Member) draftBinding(ctx context.Context, fed envelope.ID, generation uint64, at time.Time) (federation.Binding, error) {
	peer, err := federation.PeerIDOf(m.cfg.HostKey.Public())
	if err != nil {
		return federation.Binding{}, err
	}
	_, kid, err := m.n.Signers.Issuer(ctx)
	if err != nil {
		return federation.Binding{}, err
	}
	version, err := m.version(ctx)
	if err != nil {
		return federation.Binding{}, err
	}
	m.mu.Lock()
	addrs := dialable(m.listen, hostAddrs)
	m.mu.Unlock()
	now := envelope.TimeOf(at)
	return federation.Binding{Addrs: addrs, At: now, DIDVersion: version, ExpiresAt: now.Add(bindingLife), Federation: fed, Generation: generation,
		Kid: kid, NotBefore: now, Org: m.n.Org, PeerID: peer, Roles: []federation.Role{federation.RoleWriter}}, nil
}

// saysTheSame compares all but times and serial.
func saysTheSame(a, b federation.Binding) bool {
	a.At, a.NotBefore, a.ExpiresAt, a.Serial = b.At, b.NotBefore, b.ExpiresAt, b.Serial
	x, errX := envelope.Marshal(a)
	y, errY := envelope.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// left tells whether more than a third of a life is left.
func left(from, to envelope.Time, at time.Time) bool {
	return to.Time().Sub(at) > to.Time().Sub(from.Time())/renewShare
}
