package member

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/node/fault"
	"trustnode/node/recorder"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Rotate replaces the organization's issuer key by one entry of its DID log, or continues
// a rotation that was interrupted. In this order, each step durable before the next: the
// entry is built and kept; its number is pinned; the own ring takes it; one transaction
// makes the new key that of the own log and drafts key.rotated, which the new key signs;
// the spent update key is deleted. A node that starts in between finishes by itself.
func (m *Member) Rotate(ctx context.Context, in RotateInput) (Rotated, error) {
	if err := in.check(); err != nil {
		return Rotated{}, err
	}
	at, err := m.now()
	if err != nil {
		return Rotated{}, err
	}
	r, err := m.rotate(ctx, in, at)
	if err != nil {
		return Rotated{}, err
	}
	if err := m.settled(ctx, r.Event); err != nil {
		return Rotated{}, err
	}
	if s, _ := m.n.Rec.State(); s == recorder.Open {
		if r.Index, err = m.n.Rec.WaitAppended(ctx, r.Event); err != nil {
			return Rotated{}, err
		}
		r.Logged = true
	}
	return r, m.rebind(ctx, at)
}

func (m *Member) rebind(ctx context.Context, at time.Time) error {
	m.own.Lock()
	defer m.own.Unlock()
	return m.renewBinding(ctx, at)
}

func (in RotateInput) check() error {
	switch in.Reason {
	case "scheduled", "lost":
		if in.TaintFrom != nil {
			return fault.New(fault.Invalid, "taint", "a taint goes with a compromise alone")
		}
	case "compromise":
	default:
		return fault.New(fault.Invalid, "reason", "reason %.40q is none of scheduled, compromise, lost", in.Reason)
	}
	if in.Update == nil {
		return fault.New(fault.Invalid, "update_key", "no store of update keys is named")
	}
	return nil
}

func (m *Member) rotate(ctx context.Context, in RotateInput, at time.Time) (Rotated, error) {
	m.own.Lock()
	defer m.own.Unlock()
	if state, reasons, may := m.State(at); !may.OwnLog {
		return Rotated{}, m.notNow(state, reasons, "no key is rotated")
	}
	keys, err := in.Update(ctx)
	if err != nil {
		return Rotated{}, err
	}
	row, under, err := get[rotateRow](self.ViewGetter(ctx, m.n.DB), keyRotate)
	if err != nil {
		return Rotated{}, err
	}
	if !under {
		if row, err = m.buildEntry(ctx, keys, in, at); err != nil {
			return Rotated{}, err
		}
	}
	r, err := m.takeEntry(ctx, row)
	if err != nil {
		return Rotated{}, err
	}
	return r, m.deleteSpent(ctx, keys)
}

// buildEntry makes and keeps the next entry of the own DID log.
func (m *Member) buildEntry(ctx context.Context, keys UpdateKeys, in RotateInput, at time.Time) (rotateRow, error) {
	h, err := m.rotatable(ctx)
	if err != nil {
		return rotateRow{}, err
	}
	update, err := nextUpdate(ctx, h, keys)
	if err != nil {
		return rotateRow{}, err
	}
	next, err := keys.Generate(ctx)
	if err != nil {
		return rotateRow{}, err
	}
	issuer, err := m.cfg.NewKey(ctx)
	if err != nil {
		return rotateRow{}, err
	}
	line, err := didwebvh.Rotate(ctx, h, didwebvh.RotateRequest{Update: update, Next: next.Public(), Issuer: issuer.Public(), At: at})
	if err != nil {
		return rotateRow{}, err
	}
	row := rotateRow{Line: b64.EncodeToString(line), Reason: in.Reason, Version: didwebvh.VersionID(line)}
	if in.TaintFrom != nil {
		row.Taint = &tInt{*in.TaintFrom}
	}
	return row, m.n.DB.Update(ctx, func(tx store.Tx) error { return put(tx, keyRotate, row) })
}

// rotatable returns the own history, or says why it takes no entry made here.
func (m *Member) rotatable(ctx context.Context) (didwebvh.History, error) {
	if m.n.Org.Method() != didwebvh.Method {
		return didwebvh.History{}, fault.New(fault.Invalid, "method", "a %s identity has no history to rotate in", m.n.Org.Method())
	}
	if _, err := m.n.Ring.Document(ctx, m.n.Org); err != nil {
		return didwebvh.History{}, refusal(err)
	}
	h, err := m.n.Ring.History(ctx, m.n.Org)
	if err == nil && !h.Head().Parameters.Witness.None() {
		err = fault.New(fault.Unavailable, "witnesses", "entry %d must be witnessed, and this version asks no witnesses", h.Len()+1)
	}
	return h, err
}

// nextUpdate finds the update key that the head commits to.
func nextUpdate(ctx context.Context, h didwebvh.History, keys UpdateKeys) (envelope.Signer, error) {
	list, err := keys.List(ctx)
	if err != nil {
		return nil, err
	}
	hashes := h.Head().Parameters.NextKeyHashes
	for _, k := range list {
		if len(hashes) > 0 && didwebvh.KeyHash(k) == hashes[0] {
			return keys.Signer(ctx, k)
		}
	}
	return nil, fault.New(fault.Refused, "update_key", "no update key there matches nextKeyHashes of entry %d", h.Len()).
		WithHint("name the store that init made with --update-keys; if it is lost, the recovery key signs instead")
}

// takeEntry brings a built entry everywhere it belongs. Each step may be repeated.
func (m *Member) takeEntry(ctx context.Context, row rotateRow) (Rotated, error) {
	line, err := b64.DecodeString(row.Line)
	if err != nil {
		return Rotated{}, fmt.Errorf("rotation under way is damaged: %v", err)
	}
	h, err := m.n.Ring.History(ctx, m.n.Org)
	if err != nil {
		return Rotated{}, err
	}
	number, err := entryNumber(row.Version)
	if err != nil {
		return Rotated{}, err
	}
	slot := pins.Slot{Kind: pins.KindEntry, Key: h.SCID(), N: number}
	if err := m.cfg.Pins.Put(ctx, slot, row.Version); err != nil {
		return Rotated{}, entryTaken(err)
	}
	if _, err := m.n.Ring.Offer(ctx, m.n.Org, append(line, '\n'), nil); err != nil {
		return Rotated{}, refusal(err)
	}
	return m.announce(ctx, row, number)
}

func entryNumber(version string) (uint64, error) {
	var n uint64
	if _, err := fmt.Sscanf(version, "%d-", &n); err != nil || n < 2 {
		return 0, fmt.Errorf("rotation under way has version %.80q", version)
	}
	return n, nil
}

func entryTaken(err error) error {
	var t *pins.Taken
	var b *pins.Below
	if errors.As(err, &t) || errors.As(err, &b) {
		return fault.Wrap(fault.Conflict, "already_signed", err).WithHint("another entry of that number was signed here; trustnode did show lists the head")
	}
	return err
}

// announce switches the key of the own log and drafts key.rotated, in one transaction.
func (m *Member) announce(ctx context.Context, row rotateRow, number uint64) (Rotated, error) {
	data, err := m.rotationOf(ctx, row, number)
	if err != nil {
		return Rotated{}, err
	}
	r := Rotated{Version: row.Version}
	if len(data.Added) != 1 {
		return Rotated{}, fmt.Errorf("entry %s adds %d issuer keys", row.Version, len(data.Added))
	}
	r.Kid = data.Added[0]
	err = m.n.DB.Update(ctx, func(tx store.Tx) error {
		if err := m.n.Rec.SetKey(tx, r.Kid); err != nil {
			return err
		}
		if r.Event, err = m.n.Rec.Event(tx, attestation.Draft{Type: "key.rotated", Subject: m.n.Org.String(), Data: data}); err != nil {
			return err
		}
		return tx.Delete([]byte(keyRotate))
	})
	return r, err
}

// rotationOf says what an entry changed, as key.rotated puts it.
func (m *Member) rotationOf(ctx context.Context, row rotateRow, number uint64) (attestation.KeyRotated, error) {
	h, err := m.n.Ring.History(ctx, m.n.Org)
	if err != nil {
		return attestation.KeyRotated{}, err
	}
	before, ok := h.At(int(number) - 1)
	if now, held := h.At(int(number)); !ok || !held || now.ID != row.Version {
		return attestation.KeyRotated{}, fmt.Errorf("entry %s is not in the own DID log", row.Version)
	}
	versions := recorder.RingOf(m.n.Ring)
	old, err := versions.Keys(ctx, m.n.Org, before.ID)
	if err != nil {
		return attestation.KeyRotated{}, err
	}
	fresh, err := versions.Keys(ctx, m.n.Org, row.Version)
	if err != nil {
		return attestation.KeyRotated{}, err
	}
	data := attestation.KeyRotated{Added: without(fresh, old), Did: m.n.Org, DidVersion: row.Version, Previous: before.ID, Reason: row.Reason, Retired: without(old, fresh)}
	if row.Taint != nil {
		data.TaintFrom = &row.Taint.From
	}
	return data, nil
}

// without lists the kids of a that b has not, sorted.
func without(a, b map[string]did.PublicKey) []string {
	out := []string{}
	for _, kid := range slices.Sorted(maps.Keys(a)) {
		if _, ok := b[kid]; !ok {
			out = append(out, kid)
		}
	}
	return out
}

// deleteSpent deletes the update keys that an entry has shown: they can do nothing more.
func (m *Member) deleteSpent(ctx context.Context, keys UpdateKeys) error {
	h, err := m.n.Ring.History(ctx, m.n.Org)
	if err != nil {
		return err
	}
	list, err := keys.List(ctx)
	if err != nil {
		return err
	}
	for n := 1; n <= h.Len(); n++ {
		v, _ := h.At(n)
		for _, k := range v.Parameters.UpdateKeys {
			if slices.Contains(list, k) {
				if err := keys.Delete(ctx, k); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// finishRotation finishes what a crash interrupted after the entry was built: the rest
// needs no update key.
func (m *Member) finishRotation(ctx context.Context) error {
	row, under, err := get[rotateRow](self.ViewGetter(ctx, m.n.DB), keyRotate)
	if err != nil || !under {
		return err
	}
	m.own.Lock()
	defer m.own.Unlock()
	r, err := m.takeEntry(ctx, row)
	if err != nil {
		return fmt.Errorf("rotation to %s: %w", row.Version, err)
	}
	m.n.Log.InfoContext(ctx, "a rotation was finished", "version", r.Version)
	return nil
}
