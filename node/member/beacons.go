package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/node/fault"
	"trustnode/node/store"
)

// heard is the newest beacon of one organization. What is live came in this run.
type heard struct {
	env    envelope.Envelope
	body   federation.Beacon
	live   bool
	first  time.Duration // first sight, by the monotonic clock
	delta  time.Duration // its at minus the clock here, at first sight
	synced bool          // a sync with its sender has ended since
}

// MakeBeacon makes the next own beacon and keeps it as the newest; its n is durable before
// it is returned. Refused where the state allows none.
func (m *Member) MakeBeacon(ctx context.Context) (envelope.Envelope, error) {
	at, err := m.now()
	if err != nil {
		return envelope.Envelope{}, err
	}
	m.own.Lock()
	defer m.own.Unlock()
	chain, ok := m.Charter()
	if state, _, may := m.State(at); !ok || !may.Beacon {
		return envelope.Envelope{}, fault.New(fault.Refused, state.String(), "no beacon is sent in the state %s", state)
	}
	signer, kid, err := m.n.Signers.Issuer(ctx)
	if err != nil {
		return envelope.Envelope{}, err
	}
	b, err := m.draftBeacon(ctx, chain, kid, at)
	if err != nil {
		return envelope.Envelope{}, err
	}
	raw, err := envelope.Marshal(b)
	if err != nil {
		return envelope.Envelope{}, err
	}
	if err := m.cfg.Pins.Put(ctx, beaconSlot(chain, b.N), envelope.IDOf(raw).String()); err != nil {
		return envelope.Envelope{}, err
	}
	e, err := envelope.Seal(ctx, b, signer)
	if err != nil {
		return envelope.Envelope{}, err
	}
	return e, m.keepBeacon(ctx, heard{env: e, body: b, live: true, first: m.cfg.Mono()})
}

func beaconSlot(chain charter.Chain, n uint64) pins.Slot {
	return pins.Slot{Kind: pins.KindBeacon, Key: chain.Federation().String(), N: n}
}

func (m *Member) draftBeacon(ctx context.Context, chain charter.Chain, kid string, at time.Time) (federation.Beacon, error) {
	version, err := m.version(ctx)
	if err != nil {
		return federation.Beacon{}, err
	}
	head := chain.Head()
	r, _ := head.Member(m.n.Org)
	b := federation.Beacon{At: envelope.TimeOf(at), Charter: federation.CharterRef{ID: head.ID, Seq: head.Seq}, Committed: m.committed(chain),
		DIDVersion: version, Federation: chain.Federation(), Generation: r.Generation, Heads: []federation.BeaconHead{}, Kid: kid,
		N: m.pinned(pins.KindBeacon, chain.Federation().String()) + 1, Org: m.n.Org, Software: m.cfg.Software, SpecMax: charter.SpecVersion}
	for _, o := range head.Members {
		if !o.Active() && o.Status != charter.StatusSuspended {
			continue
		}
		h := federation.BeaconHead{DID: o.DID, Size: m.cfg.Size(o.DID)}
		if v, err := m.versionOf(ctx, o.DID); err == nil {
			h.DIDHead = v
		}
		b.Heads = append(b.Heads, h)
	}
	return b, nil
}

// committed is the own signature above the head; nil without one.
func (m *Member) committed(chain charter.Chain) *federation.Slot {
	s, value, ok := m.cfg.Pins.Highest(pins.KindSlot, chain.Federation().String())
	body, err := envelope.ParseID(value)
	if !ok || err != nil || s.N/8 <= chain.Head().Seq {
		return nil
	}
	return &federation.Slot{Body: body, Round: s.N % 8, Seq: s.N / 8}
}

// maxAhead is how far above the last own beacon known here one may lie that a key retired
// since has signed: more than 100 years of them, and not the end of all numbers.
const maxAhead = 1 << 32

// JudgeBeacon verifies a beacon from memory alone: an active member's, under its newest
// key, of this federation, with a new n. While this node is recovering its own beacons count
// under the version they name too: what was the last before the newest rotation is all that
// peers may have of the number.
func (m *Member) JudgeBeacon(ctx context.Context, e envelope.Envelope) (envelope.Verified[federation.Beacon], error) {
	var none envelope.Verified[federation.Beacon]
	b, err := envelope.Decode[federation.Beacon](e)
	if err != nil {
		return none, err
	}
	chain, _ := m.Charter()
	m.mu.Lock()
	held, ok := m.beacons[b.Org]
	again := b.Org == m.n.Org && len(m.causes()) > 0
	m.mu.Unlock()
	version, keys := b.DIDVersion, m.n.Ring.HeadSource()
	if again && b.N <= m.pinned(pins.KindBeacon, b.Federation.String())+maxAhead {
		if version, err = m.version(ctx); err != nil {
			return none, err
		}
		keys = m.n.Ring.AtSource(cmp.Or(b.DIDVersion, did.StaticVersion))
	}
	if err := m.standing(ctx, chain, b.Org, b.Federation, b.Generation, version); err != nil {
		return none, err
	}
	if ok && held.body.Federation == b.Federation && b.N <= held.body.N {
		return none, fmt.Errorf("beacon %d of %s, %d is held: %w", b.N, b.Org, held.body.N, ErrOld)
	}
	v, err := envelope.Open[federation.Beacon](ctx, e, keys)
	return v, sourceError(err)
}

// TakeBeacon judges a beacon and remembers it durably as its sender's newest, with the
// moment it was first seen. An own beacon above the last one made here shows that a number
// of ours was used elsewhere, or lost here: it is pinned, so that no n comes twice.
func (m *Member) TakeBeacon(ctx context.Context, e envelope.Envelope) error {
	first := m.cfg.Mono()
	v, err := m.JudgeBeacon(ctx, e)
	if err != nil {
		return err
	}
	at, err := m.now()
	if err != nil {
		return err
	}
	b := v.Body()
	if b.Org == m.n.Org {
		return m.ownBeacon(ctx, e, b)
	}
	if err := m.keepBeacon(ctx, heard{env: e, body: b, live: true, first: first, delta: b.At.Time().Sub(at)}); err != nil {
		return err
	}
	m.confirmHeads(ctx, b)
	return nil
}

// keepBeacon makes a beacon the newest of its organization, and remembers the first
// quorum that came of it.
func (m *Member) keepBeacon(ctx context.Context, h heard) error {
	kept := false
	err := m.n.DB.Update(ctx, func(tx store.Tx) error {
		kept = false
		old, ok, err := getObject(tx, beaconKey(h.body.Org))
		if err != nil {
			return err
		}
		if ok {
			b, err := envelope.Decode[federation.Beacon](old)
			if err != nil || b.Federation == h.body.Federation && b.N >= h.body.N {
				return err
			}
		}
		kept = true
		return tx.Set([]byte(beaconKey(h.body.Org)), h.env.DSSE())
	})
	if err != nil {
		return err
	}
	if !kept {
		return fmt.Errorf("beacon %d of %s: %w", h.body.N, h.body.Org, ErrOld)
	}
	m.mu.Lock()
	m.beacons[h.body.Org] = h
	m.changed()
	m.mu.Unlock()
	return m.firstQuorum(ctx)
}

// firstQuorum keeps for good that a quorum was heard since the charter was taken.
func (m *Member) firstQuorum(ctx context.Context) error {
	m.mu.Lock()
	v := m.view()
	have, need := federation.Quorum(v)
	done := v.Head == nil || v.Confirmed || have < need
	m.mu.Unlock()
	if done {
		return nil
	}
	if err := m.n.DB.Update(ctx, confirmIn); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.confirmed = true
	m.changed()
	return nil
}

// ownBeacon takes an own beacon that somebody else brought.
func (m *Member) ownBeacon(ctx context.Context, e envelope.Envelope, b federation.Beacon) error {
	m.own.Lock()
	defer m.own.Unlock()
	chain, _ := m.Charter()
	above := b.N > m.pinned(pins.KindBeacon, chain.Federation().String())
	if above {
		if err := m.noteAged(ctx); err != nil {
			return err
		}
	}
	err := m.cfg.Pins.Put(ctx, beaconSlot(chain, b.N), e.ID().String())
	var taken *pins.Taken
	var below *pins.Below
	switch {
	case errors.As(err, &below):
		return fmt.Errorf("own beacon %d: %w", b.N, ErrOld)
	case errors.As(err, &taken):
		m.n.Log.ErrorContext(ctx, "two own beacons of one number are signed", "n", b.N, "held", taken.Value, "shown", e.ID().String())
		return fmt.Errorf("own beacon %d: %w", b.N, ErrOld)
	case err != nil:
		return err
	}
	if s := b.Committed; s != nil { // what was signed on a charter then is signed
		slot := pins.Slot{Kind: pins.KindSlot, Key: chain.Federation().String(), N: s.Seq*8 + s.Round}
		if err := m.cfg.Pins.Put(ctx, slot, s.Body.String()); err != nil && !errors.As(err, &below) && !errors.As(err, &taken) {
			return err
		}
	}
	if above {
		m.elsewhere(ctx, b.N)
	}
	return m.keepBeacon(ctx, heard{env: e, body: b, live: true, first: m.cfg.Mono()})
}

// elsewhere makes the node recovering: a number of ours was used that this node did not
// know of, so it is a restored or a second one.
func (m *Member) elsewhere(ctx context.Context, n uint64) {
	m.n.Log.WarnContext(ctx, "a peer holds a newer own beacon", "n", n)
	m.mu.Lock()
	m.recovery.elsewhere = true
	m.cause()
	m.mu.Unlock()
	m.cfg.Again()
}

// Beacons returns the newest beacon of each member of the federation, own included, by DID.
func (m *Member) Beacons() []envelope.Envelope {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []heard
	for org, h := range m.beacons {
		if _, ok := m.chain.Head().Member(org); ok && h.body.Federation == m.chain.Federation() {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b heard) int { return cmp.Compare(a.body.Org.String(), b.body.Org.String()) })
	out := make([]envelope.Envelope, len(list))
	for i := range list {
		out[i] = list[i].env
	}
	return out
}

// Synced says that a sync with a node of org has ended well: what its beacon hinted at is
// here, or does not exist.
func (m *Member) Synced(ctx context.Context, org did.DID) error {
	m.mu.Lock()
	if h, ok := m.beacons[org]; ok && !h.synced {
		h.synced = true
		m.beacons[org] = h
		m.changed()
	}
	shown, recovering := m.recovery.shown[org], len(m.causes()) > 0
	m.mu.Unlock()
	// A sync that ended well shows all that the other holds of ours, as a hello does.
	if recovering && m.above(shown) == "" {
		return m.Confirmed(ctx, org)
	}
	return m.leave(ctx)
}

// About is what this node holds of another member, for the hello to it.
func (m *Member) About(d did.DID) federation.AboutYou {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.chain.IsZero() || d.IsZero() {
		return federation.AboutYou{}
	}
	head := m.chain.Head()
	a := federation.AboutYou{CharterSeq: head.Seq, DIDN: m.entryOf(d), LogSize: m.cfg.Size(d)}
	r, ok := head.Member(d)
	if !ok {
		return a
	}
	a.Status = r.Status
	if r.Cutoff != nil {
		a.Reason = r.Cutoff.Reason
	}
	if h, ok := m.beacons[d]; ok && h.body.Federation == m.chain.Federation() {
		a.BeaconN, a.Commit = h.body.N, h.body.Committed
	}
	return a
}
