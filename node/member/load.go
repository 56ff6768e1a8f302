package member

import (
	"context"
	"errors"
	"fmt"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/node/fault"
	"trustnode/node/self"
	"trustnode/node/store"
)

// stored is what the state database holds of a federation.
type stored struct {
	head     headRow
	held     bool
	file     charter.File // charters and abandons
	sibling  bool
	serial   uint64
	bindings []envelope.Envelope
	beacons  []envelope.Envelope
}

// load reads and verifies again what is stored.
func (m *Member) load(ctx context.Context) error {
	var s stored
	if err := m.n.DB.View(ctx, s.read); err != nil {
		return err
	}
	m.serial = s.serial
	if err := m.loadPeers(s); err != nil {
		return err
	}
	if !s.held {
		return nil
	}
	chain, err := m.walk(ctx, s)
	if err != nil {
		return fmt.Errorf("stored charters of federation %s: %w", s.head.Federation, err)
	}
	m.chain, m.charters, m.confirmed, m.sibling = chain, s.file.Charters, s.head.Confirmed, s.sibling
	return m.pinHead(ctx, chain)
}

func (s *stored) read(r store.Reader) (err error) {
	if s.head, s.held, err = get[headRow](r, keyHead); err != nil {
		return err
	}
	row, _, err := get[serialRow](r, keySerial)
	if err != nil {
		return err
	}
	s.serial = row.Serial
	if _, s.sibling, err = getObject(r, keySibling); err != nil {
		return err
	}
	for seq := uint64(0); s.held && seq <= s.head.Seq; seq++ {
		e, ok, err := getObject(r, charterKey(seq))
		if err != nil || !ok {
			return fmt.Errorf("charter %d of %d: %w", seq, s.head.Seq, errors.Join(err, store.ErrNotFound))
		}
		s.file.Charters = append(s.file.Charters, e)
	}
	for prefix, list := range map[string]*[]envelope.Envelope{keyAbandon: &s.file.Abandons, keyBinding: &s.bindings, keyBeacon: &s.beacons} {
		if *list, err = scanObjects(r, prefix); err != nil {
			return err
		}
	}
	return nil
}

func scanObjects(r store.Reader, prefix string) ([]envelope.Envelope, error) {
	var out []envelope.Envelope
	var bad error
	err := r.Scan([]byte(prefix), nil, func(_, v []byte) bool {
		var e envelope.Envelope
		if e, bad = envelope.ParseDSSE(v, maxStored); bad == nil {
			out = append(out, e)
		}
		return bad == nil
	})
	return out, errors.Join(err, bad)
}

// loadPeers takes bindings and beacons as they were verified when they came: a beacon
// of an earlier run has no age and counts for nothing but its n.
func (m *Member) loadPeers(s stored) error {
	for _, e := range s.bindings {
		b, err := envelope.Decode[federation.Binding](e)
		if err != nil {
			return fmt.Errorf("stored binding: %w", err)
		}
		m.bindings[b.Org] = bound{e, b}
	}
	for _, e := range s.beacons {
		b, err := envelope.Decode[federation.Beacon](e)
		if err != nil {
			return fmt.Errorf("stored beacon: %w", err)
		}
		m.beacons[b.Org] = heard{env: e, body: b}
	}
	return nil
}

// walk verifies the stored chain from its genesis. Keys may have been retired since:
// what was accepted here before stays so. A clock that was set back refuses nothing
// that was in force before.
func (m *Member) walk(ctx context.Context, s stored) (charter.Chain, error) {
	at, err := m.now()
	if err != nil {
		return charter.Chain{}, err
	}
	accepted := map[envelope.ID]bool{}
	for _, e := range s.file.Charters {
		b, err := envelope.Decode[charter.Body](e)
		if err != nil {
			return charter.Chain{}, err
		}
		for _, t := range []envelope.Time{b.NotBefore, b.IssuedAt} {
			if t.Time().After(at) {
				at = t.Time()
			}
		}
		accepted[e.ID()] = true
	}
	res, err := charter.Apply(ctx, charter.Chain{}, s.file, charter.NewPast(m.n.Ring, positions{m, s.head.Federation, accepted}), at)
	if err != nil {
		return charter.Chain{}, err
	}
	if res.Chain.Head().ID != s.head.ID {
		return charter.Chain{}, fmt.Errorf("head is %s, %s is on record", res.Chain.Head().ID, s.head.ID)
	}
	return res.Chain, nil
}

func headSlot(chain charter.Chain) pins.Slot {
	return pins.Slot{Kind: pins.KindHead, Key: chain.Federation().String(), N: chain.Head().Seq}
}

// pinHead makes the head's pin durable. A pin above the head says that the state is
// older than what this node has followed: it is then behind.
func (m *Member) pinHead(ctx context.Context, chain charter.Chain) error {
	err := m.cfg.Pins.Put(ctx, headSlot(chain), chain.Head().ID.String())
	var below *pins.Below
	if errors.As(err, &below) {
		m.n.Log.WarnContext(ctx, "state is behind the pins", "charter", chain.Head().Seq, "pinned", below.Slot.N)
		return nil
	}
	return err
}

// behind tells whether the pins know a charter above the head. The caller holds mu.
func (m *Member) behind() bool {
	if m.chain.IsZero() {
		return false
	}
	s, _, ok := m.cfg.Pins.Highest(pins.KindHead, m.chain.Federation().String())
	return ok && s.N > m.chain.Head().Seq
}

// lacking refuses while something is missing here that the pins name: entries of the own DID
// log, or a charter. The caller holds mu.
func (m *Member) lacking() error {
	if err := self.Behind(context.Background(), m.n.Ring, m.n.Org); err != nil {
		return err
	}
	if m.behind() {
		return fault.New(fault.Refused, reasonRecovering, "a newer charter was in force here before").WithHint("apply the newest charter file: trustnode fed apply")
	}
	return nil
}

// positions answers from the logs held here what charters need of them.
type positions struct {
	m          *Member
	federation envelope.ID
	accepted   map[envelope.ID]bool // charters that stand here
}

var (
	_ charter.Positions = positions{}
	_ charter.Anchors   = positions{}
)

// Anchored implements charter.Anchors: accepted here before, named by the fingerprint
// that people compared, or the body this organization itself signed last.
func (p positions) Anchored(id envelope.ID) bool {
	if p.accepted[id] {
		return true
	}
	for _, key := range []envelope.ID{id, p.federation} {
		if _, value, ok := p.m.cfg.Pins.Highest(pins.KindSlot, key.String()); ok && value == id.String() {
			return true
		}
	}
	return false
}

// Ended implements charter.Positions: the index of the key.rotated that retired k.
func (p positions) Ended(d did.DID, k did.PublicKey) (uint64, bool) {
	return p.m.ended(context.Background(), d, k)
}

// Signed implements charter.Positions: the index of d's charter.signed.
func (p positions) Signed(d did.DID, s pins.Slot, body envelope.ID) (uint64, bool) {
	return p.m.signedAt(context.Background(), d, s, body)
}

// positions answers for the chain held now, and for a file of a federation with what
// vouches for its charters.
func (m *Member) positions(federation envelope.ID, anchors ...envelope.ID) positions {
	m.mu.Lock()
	defer m.mu.Unlock()
	accepted := map[envelope.ID]bool{}
	for _, e := range m.charters {
		accepted[e.ID()] = true
	}
	for _, id := range anchors {
		accepted[id] = true
	}
	return positions{m, federation, accepted}
}
