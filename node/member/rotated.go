package member

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/node/recorder"
	"trustnode/node/self"
	"trustnode/node/store"
)

// rotation is one key.rotated of a log that counts.
type rotation struct {
	id    envelope.ID
	index uint64
	data  attestation.KeyRotated
}

// announced finds the event that announces an own version; false for none that counts.
func (m *Member) announced(ctx context.Context, version string) (rotation, bool, error) {
	list, err := m.rotations(ctx, m.n.Org)
	i := slices.IndexFunc(list, func(r rotation) bool { return r.data.DidVersion == version })
	if err != nil || i < 0 {
		return rotation{}, false, err
	}
	return list[i], true, nil
}

// unannounced lists own versions that the own log does not announce and no entry under way
// will. There are some where an older state came back, and either the log is not whole yet or
// their key.rotated had reached nobody.
func (m *Member) unannounced(ctx context.Context) ([]string, error) {
	v, err := m.n.Ring.Head(ctx, m.n.Org)
	if err != nil || v.DID.Method() != didwebvh.Method || v.State == did.Frozen || v.Number == 1 {
		return nil, err
	}
	if logged, err := m.toldIn(ctx, m.n.Rec.Logged); err != nil || logged >= v.Number {
		return nil, err // as always, but while a rotation is on its way
	}
	row, _, err := m.underWay(ctx)
	if err != nil {
		return nil, err
	}
	all, err := m.n.Ring.Versions(ctx, m.n.Org)
	if err != nil {
		return nil, err
	}
	last, err := m.lastTold(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, v := range all {
		if v.Number > last && v.ID != row.Version {
			out = append(out, v.ID)
		}
	}
	return out, nil
}

// lastTold is the number of the newest own version that a key.rotated names, logged or
// drafted; a rotation that came in doubt later was told all the same.
func (m *Member) lastTold(ctx context.Context) (int, error) {
	release := m.n.Rec.Hold() // what leaves the outbox is in neither place for a moment
	defer release()
	drafted, err := m.toldIn(ctx, m.n.Rec.Drafted)
	if err != nil {
		return 0, err
	}
	logged, err := m.toldIn(ctx, m.n.Rec.Logged)
	return max(drafted, logged), err
}

// toldIn is the number of the newest own version that a key.rotated of one place names; 1 for
// none, since what a log begins with needs no key.rotated.
func (m *Member) toldIn(ctx context.Context, place func(context.Context, attestation.Type) ([]attestation.Event, error)) (int, error) {
	list, err := place(ctx, "key.rotated")
	last := 1
	for _, ev := range list {
		var data attestation.KeyRotated
		if err := ev.Decode(&data); err != nil {
			return 0, err
		}
		if n, err := entryNumber(data.DidVersion); err == nil {
			last = max(last, int(n))
		}
	}
	return last, err
}

// announceMissed announces what is unannounced once the own log is whole. What such an entry
// was for is not known any more; of the reasons that need no index, the strictest stands for it.
func (m *Member) announceMissed(ctx context.Context) error {
	leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return m.announceAll(ctx)
}

// announceAll is announceMissed for who has entered.
func (m *Member) announceAll(ctx context.Context) error {
	m.own.Lock()
	defer m.own.Unlock()
	missed, err := m.unannounced(ctx)
	for _, version := range missed {
		if err := m.announceLate(ctx, version); err != nil {
			return fmt.Errorf("DID log entry %s is not announced: %w", version, err)
		}
		m.n.Log.WarnContext(ctx, "an entry of the own DID log was not announced, and is now", "version", version)
	}
	return err
}

// announceLate drafts the key.rotated of one version, under a key that it lists.
func (m *Member) announceLate(ctx context.Context, version string) error {
	data, err := m.rotationOf(ctx, entryRow{Version: version, Reason: "lost"})
	if err != nil {
		return err
	}
	keys, err := recorder.RingOf(m.n.Ring).Keys(ctx, m.n.Org, version)
	if err != nil {
		return err
	}
	kids := slices.Sorted(maps.Keys(keys))
	held := slices.IndexFunc(kids, func(kid string) bool { return m.cfg.Holds(ctx, keys[kid]) })
	if held < 0 {
		return self.ErrNoKey
	}
	return m.n.DB.Update(ctx, func(tx store.Tx) error {
		if err := m.n.Rec.SetKey(tx, kids[held]); err != nil {
			return err
		}
		_, err := m.n.Rec.Event(tx, attestation.Draft{Type: "key.rotated", Subject: m.n.Org.String(), Data: data})
		return err
	})
}

// rotations lists the key.rotated events of a log that count, in order.
func (m *Member) rotations(ctx context.Context, d did.DID) ([]rotation, error) {
	var out []rotation
	for f, err := range m.n.Rec.Facts(ctx, attestation.Query{Org: d, Type: "key.rotated"}) {
		if err != nil {
			return nil, err
		}
		var r attestation.KeyRotated
		if err := f.Event.Body().Decode(&r); err != nil {
			return nil, err
		}
		out = append(out, rotation{f.Event.ID(), f.Index, r})
	}
	return out, nil
}

// ended finds the rotation that retired a key. A key that the DID log no longer lists,
// with no rotation in the attestation log, is as good as retired at index 0: nothing can
// then show that something was signed before. What cannot be read counts as that too.
func (m *Member) ended(ctx context.Context, d did.DID, k did.PublicKey) (uint64, bool) {
	list, err := m.rotations(ctx, d)
	if err != nil {
		return 0, true
	}
	versions := recorder.RingOf(m.n.Ring)
	for _, r := range list {
		before, err := versions.Keys(ctx, d, r.data.Previous)
		if err != nil {
			continue
		}
		for _, kid := range r.data.Retired {
			if before[kid] == k {
				return r.index, true
			}
		}
	}
	return 0, m.unlisted(ctx, d, k)
}

// unlisted tells whether some version of d lists a key that the newest does not.
func (m *Member) unlisted(ctx context.Context, d did.DID, k did.PublicKey) bool {
	versions := recorder.RingOf(m.n.Ring)
	known, err := versions.Known(ctx, d)
	if err != nil {
		return true
	}
	once, last := false, false
	for _, v := range known {
		keys, err := versions.Keys(ctx, d, v)
		last = err == nil && slices.Contains(slices.Collect(maps.Values(keys)), k)
		once = once || last
	}
	return once && !last
}

// signedAt finds the charter.signed of a slot.
func (m *Member) signedAt(ctx context.Context, d did.DID, s pins.Slot, body envelope.ID) (uint64, bool) {
	q := attestation.Query{Org: d, Type: "charter.signed", Subject: body.String()}
	for f, err := range m.n.Rec.Facts(ctx, q) {
		if err != nil {
			return 0, false
		}
		var c attestation.CharterSigned
		if f.Event.Body().Decode(&c) == nil && c.Seq*8+c.Round == s.N {
			return f.Index, true
		}
	}
	return 0, false
}
