package member

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/node/fault"
	"trustnode/node/store"
)

// Apply verifies a charter file alone, with no network, and puts it in force: charters,
// members' DID logs and bindings are durable, and the head is pinned, before it returns.
// A first charter needs an own signature on one of this federation, or the fingerprint
// that people compared; a fingerprint that is given is always checked. Applying what is
// in force changes nothing.
func (m *Member) Apply(ctx context.Context, file []byte, fingerprint string) (Applied, error) {
	f, err := readFile(file)
	if err != nil {
		return Applied{}, err
	}
	at, err := m.now()
	if err != nil {
		return Applied{}, err
	}
	m.own.Lock()
	defer m.own.Unlock()
	_, head, err := f.Draft()
	if err != nil {
		return Applied{}, refusal(err)
	}
	why, err := m.trusted(federationOf(head), fingerprint)
	if err != nil {
		return Applied{}, err
	}
	// The fingerprint was compared, or this organization signed itself: the genesis
	// stands, whichever keys were retired since.
	res, err := m.review(ctx, f, at, federationOf(head))
	if err != nil {
		m.foundFork(ctx, f, err)
		return Applied{}, m.noteSibling(ctx, f, err)
	}
	if res.Outcome != nil {
		return Applied{}, refusal(res.Outcome)
	}
	if _, ok := res.Chain.Head().Member(m.n.Org); !ok {
		return Applied{}, refusal(charter.ErrNotNamed)
	}
	return m.enforce(ctx, f, at, why)
}

// trusted says why a file of a federation may be believed here.
func (m *Member) trusted(fed envelope.ID, fingerprint string) (string, error) {
	if fingerprint != "" {
		switch err := charter.CheckFingerprint(fingerprint, fed); {
		case errors.Is(err, charter.ErrOtherFingerprint):
			return "", fault.Wrap(fault.Refused, "fingerprint", err).WithHint("the file is of another federation than the one you were told of; do not apply it")
		case err != nil:
			return "", fault.Wrap(fault.Invalid, "fingerprint", err).WithHint("a fingerprint begins with fed1- and has nine groups of four")
		}
		return "the fingerprint given is that of this federation", nil
	}
	chain, ok := m.Charter()
	if ok && chain.Federation() == fed {
		return "this node follows this federation", nil
	}
	if _, _, signed := m.cfg.Pins.Highest(pins.KindSlot, fed.String()); signed {
		return "this organization signed a charter of this federation itself", nil
	}
	return "", fault.New(fault.Refused, "fingerprint", "this node signed no charter of this federation").
		WithHint("ask a member for its fingerprint, over another way than the file came, and give it: --fingerprint fed1-…")
}

// enforce verifies the file once more on what is kept for good, and commits it. Only logs
// of organizations the charters name are kept. The caller holds own.
func (m *Member) enforce(ctx context.Context, f charter.File, at time.Time, why string) (Applied, error) {
	base, _ := m.Charter()
	_, head, err := f.Draft()
	if err != nil {
		return Applied{}, err
	}
	f.Logs = slices.DeleteFunc(slices.Clone(f.Logs), func(l bundle.DIDLog) bool {
		_, named := head.Member(l.DID)
		return !named
	})
	f.Joins = nil // verified before; of no use any more
	p := m.positions(federationOf(head), federationOf(head))
	res, err := charter.Apply(ctx, base, f, charter.NewRing(m.n.Ring, p), at)
	if err != nil {
		m.foundFork(ctx, f, err)
		return Applied{}, m.noteSibling(ctx, f, err)
	}
	bound, skipped := m.openBindings(ctx, f.Bindings, res.Chain, at)
	if err := m.adopt(ctx, base, res.Chain, f, bound); err != nil {
		return Applied{}, err
	}
	m.confirmImport(ctx, f.Logs, at)
	a := Applied{ID: res.Chain.Head().ID, Seq: res.Chain.Head().Seq, Fingerprint: charter.Fingerprint(res.Chain.Federation()), Changed: base.Head().ID != res.Chain.Head().ID}
	for _, r := range res.Chain.Head().ActiveMembers() {
		a.Members = append(a.Members, r.DID)
	}
	a.Walk = m.walked(ctx, f, res.Chain, bound, skipped, why, at)
	return a, nil
}

// openBindings verifies the bindings of a file against a chain; the others are told of.
func (m *Member) openBindings(ctx context.Context, list []envelope.Envelope, chain charter.Chain, at time.Time) (good []bound, skipped []string) {
	for _, e := range list {
		b, err := m.openBinding(ctx, e, chain, at)
		if err != nil {
			skipped = append(skipped, fmt.Sprintf("a binding is left out: %v", err))
			continue
		}
		good = append(good, b)
	}
	return good, skipped
}

// adopt makes chain the one in force: one transaction, then the pin, then memory.
func (m *Member) adopt(ctx context.Context, base, chain charter.Chain, f charter.File, list []bound) error {
	fresh := map[uint64]envelope.Envelope{}
	for _, e := range f.Charters {
		h, ok := chain.Find(e.ID())
		if _, held := base.Find(e.ID()); ok && !held {
			fresh[h.Seq] = e
		}
	}
	err := m.n.DB.Update(ctx, func(tx store.Tx) error {
		if err := putChain(tx, base, chain, fresh, f.Abandons); err != nil {
			return err
		}
		for _, b := range list {
			if _, err := b.put(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := m.pinHead(ctx, chain); err != nil {
		return err
	}
	m.mu.Lock()
	for seq := uint64(len(m.charters)); fresh[seq].Body != nil; seq++ {
		m.charters = append(slices.Clip(m.charters), fresh[seq])
	}
	m.view() // what held up to here is remembered before the head moves
	m.chain = chain
	m.changed()
	m.mu.Unlock()
	for _, b := range list {
		m.showBinding(b)
	}
	m.proven(ctx) // of an organization that is a member only now
	return nil
}

// putChain writes what chain has and base has not, if base is what is on record.
func putChain(tx store.Tx, base, chain charter.Chain, fresh map[uint64]envelope.Envelope, abandons []envelope.Envelope) error {
	row, held, err := get[headRow](tx, keyHead)
	if err != nil {
		return err
	}
	if held && row.ID != base.Head().ID {
		return fault.New(fault.Conflict, "moved", "the head moved to charter %d meanwhile", row.Seq).WithHint("try again")
	}
	for seq, e := range fresh {
		if err := tx.Set([]byte(charterKey(seq)), e.DSSE()); err != nil {
			return err
		}
		h, _ := chain.At(seq)
		for _, a := range abandons {
			if !slices.Contains(h.Released, a.ID()) {
				continue
			}
			if err := tx.Set([]byte(keyAbandon+a.ID().String()), a.DSSE()); err != nil {
				return err
			}
		}
	}
	row.Federation, row.ID, row.Seq = chain.Federation(), chain.Head().ID, chain.Head().Seq
	return put(tx, keyHead, row)
}

// OfferCharter takes a charter of this federation from a peer; the DID logs it rests on
// have come before. It reports whether the head moved. Errors beside this package's are
// those of package charter.
func (m *Member) OfferCharter(ctx context.Context, e envelope.Envelope) (bool, error) {
	b, err := envelope.Decode[charter.Body](e)
	if err != nil {
		return false, err
	}
	at, err := m.now()
	if err != nil {
		return false, err
	}
	m.own.Lock()
	defer m.own.Unlock()
	base, ok := m.Charter()
	head := charter.Head{ID: e.ID(), Body: b}
	switch _, held := base.Find(head.ID); {
	case !ok:
		return false, fmt.Errorf("no charter is in force: %w", ErrPending)
	case federationOf(head) != base.Federation():
		return false, fmt.Errorf("charter of %s: %w", federationOf(head), ErrForeign)
	case held:
		return false, nil
	}
	f := charter.File{Charters: []envelope.Envelope{e}}
	res, err := charter.Apply(ctx, base, f, charter.NewRing(m.n.Ring, m.positions(base.Federation())), at)
	var pending *charter.Pending
	if errors.As(err, &pending) {
		return false, fmt.Errorf("%v: %w", err, ErrPending)
	}
	if err != nil {
		if noted := m.noteSibling(ctx, f, err); fault.Of(noted) == fault.Internal {
			return false, noted
		}
		return false, err
	}
	return true, m.adopt(ctx, base, res.Chain, f, nil)
}

// noteSibling keeps a charter that excludes one of the chain, which makes the node
// forked, and returns the refusal of err.
func (m *Member) noteSibling(ctx context.Context, f charter.File, err error) error {
	var sibling *charter.Sibling
	if !errors.As(err, &sibling) {
		return refusal(err)
	}
	for _, e := range f.Charters {
		if e.ID() != sibling.Other {
			continue
		}
		if err := m.n.DB.Update(ctx, func(tx store.Tx) error { return tx.Set([]byte(keySibling), e.DSSE()) }); err != nil {
			return err
		}
		m.n.Log.ErrorContext(ctx, "two charters of one place are signed", "seq", sibling.Seq, "held", sibling.Held.String(), "other", sibling.Other.String())
		m.mu.Lock()
		m.sibling = true
		m.changed()
		m.mu.Unlock()
	}
	return refusal(err)
}

// logWords says how far the DID log in a file goes, and the one that is held here where that goes on.
func logWords(last bundle.DIDLog, held keyring.Version) string {
	all := bytes.Split(bytes.TrimSuffix(last.Log, []byte("\n")), []byte("\n"))
	end := didwebvh.VersionID(all[len(all)-1])
	if end == "" || end == held.ID { // a did:web has no entries
		return fmt.Sprintf("DID log of %s verifies up to %s", place(last.DID), held.ID)
	}
	return fmt.Sprintf("DID log of %s verifies up to %s, the one held here goes on to %s", place(last.DID), end, held.ID)
}

// walked says line by line what was checked.
func (m *Member) walked(ctx context.Context, f charter.File, chain charter.Chain, list []bound, skipped []string, why string, at time.Time) []string {
	var lines []string
	for i, l := range f.Logs {
		if i+1 < len(f.Logs) && f.Logs[i+1].DID == l.DID {
			continue // the last part of each says how far the file goes
		}
		if v, err := m.n.Ring.Head(ctx, l.DID); err == nil {
			lines = append(lines, logWords(l, v))
		}
	}
	for seq := uint64(0); seq <= chain.Head().Seq; seq++ {
		h, _ := chain.At(seq)
		lines = append(lines, fmt.Sprintf("charter %d %s verifies: %d members, threshold %d of %d voters", seq, h.ID, len(h.ActiveMembers()), h.Governance.Threshold, len(h.Voters())))
	}
	lines = append(lines, why)
	for _, b := range list {
		lines = append(lines, fmt.Sprintf("node %s is bound to %s until %s", b.body.PeerID, place(b.body.Org), b.body.ExpiresAt))
	}
	lines = append(lines, skipped...)
	if chain.Head().Expired(at) {
		lines = append(lines, fmt.Sprintf("it expired at %s: no loan is issued or read until a newer charter is in force", chain.Head().ExpiresAt))
	}
	return lines
}
