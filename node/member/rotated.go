package member

import (
	"context"
	"maps"
	"slices"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/node/recorder"
)

// rotation is one key.rotated of a log that counts.
type rotation struct {
	index uint64
	data  attestation.KeyRotated
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
		out = append(out, rotation{f.Index, r})
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
