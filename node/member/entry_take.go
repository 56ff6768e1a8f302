package member

import (
	"cmp"
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
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/node/fault"
	"trustnode/node/recorder"
	"trustnode/node/self"
	"trustnode/node/store"
)

// commitEntry pins the number of a built entry. From here no other entry of that number is
// ever signed here, and its witnesses may be asked.
func (m *Member) commitEntry(ctx context.Context, row entryRow) (entryRow, error) {
	if row.step() >= stepCommitted {
		return row, nil
	}
	at, err := m.now()
	if err != nil {
		return row, err
	}
	h, err := m.n.Ring.History(ctx, m.n.Org)
	if err != nil {
		return row, err
	}
	n, err := entryNumber(row.Version)
	if err != nil {
		return row, err
	}
	if err := m.cfg.Pins.Put(ctx, pins.Slot{Kind: pins.KindEntry, Key: h.SCID(), N: n}, row.Version); err != nil {
		return row, entryTaken(err)
	}
	row.Since = envelope.TimeOf(at)
	return row, m.keepEntry(context.WithoutCancel(ctx), row) // the caller may have left, the pin stays
}

// isPinned reports whether the number of an entry is pinned to it: then no other of that
// number will ever be signed here.
func (m *Member) isPinned(ctx context.Context, row entryRow) (bool, error) {
	if err := self.Behind(ctx, m.n.Ring, m.n.Org); err != nil {
		return false, err
	}
	h, err := m.n.Ring.History(ctx, m.n.Org)
	if err != nil {
		return false, err
	}
	if _, held := h.ByID(row.Version); held {
		return true, nil // an older state came back, and forgot how far it was
	}
	_, version, ok := m.cfg.Pins.Highest(pins.KindEntry, h.SCID())
	return ok && version == row.Version, nil
}

func entryNumber(version string) (uint64, error) {
	var n uint64
	if _, err := fmt.Sscanf(version, "%d-", &n); err != nil || n < 2 {
		return 0, fmt.Errorf("entry under way has version %.80q", version)
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

// activate brings a ready entry into the own ring, and in one transaction makes its key
// that of the own log and drafts key.rotated.
func (m *Member) activate(ctx context.Context, row entryRow) (entryRow, error) {
	if row.step() == stepActive {
		return row, nil
	}
	m.own.Lock()
	defer m.own.Unlock()
	h, err := m.n.Ring.History(ctx, m.n.Org)
	if err != nil {
		return row, err
	}
	if _, held := h.ByID(row.Version); !held { // else an older state came back
		err = row.offer(ctx, m.n.Ring, m.n.Org)
	}
	if errors.Is(err, keyring.ErrFrozen) {
		m.proven(ctx)
	}
	if err != nil {
		return row, err
	}
	if r, ok, err := m.announced(ctx, row.Version); err != nil || ok {
		row.Event = r.id
		return row, cmp.Or(err, m.keepEntry(ctx, row))
	}
	return m.announce(ctx, row)
}

// offer gives a ready entry to the ring of the node.
func (r entryRow) offer(ctx context.Context, ring *keyring.Ring, org did.DID) error {
	line, err := r.line()
	if err != nil {
		return err
	}
	witness, err := b64.DecodeString(r.Witness)
	if err != nil {
		return fmt.Errorf("entry under way is damaged: %v", err)
	}
	if len(witness) == 0 {
		witness = nil
	}
	if _, err := ring.Offer(ctx, org, append(line, '\n'), witness); err != nil {
		return refusal(err)
	}
	return nil
}

// announce drafts key.rotated with what follows from it. The caller holds own.
func (m *Member) announce(ctx context.Context, row entryRow) (entryRow, error) {
	data, err := m.rotationOf(ctx, row)
	if err != nil {
		return row, err
	}
	issuer, err := m.newIssuer(ctx, row, data.Added)
	if err != nil {
		return row, err
	}
	if row.Reissue, err = m.doubtful(ctx, row); err != nil {
		return row, err
	}
	err = m.n.DB.Update(ctx, func(tx store.Tx) error {
		if issuer != "" {
			if err := m.n.Rec.SetKey(tx, issuer); err != nil {
				return err
			}
		}
		event, err := m.n.Rec.Event(tx, attestation.Draft{Type: "key.rotated", Subject: m.n.Org.String(), Data: data})
		if err != nil {
			return err
		}
		row.Event = event
		return put(tx, keyEntry, row)
	})
	return row, err
}

// newIssuer is the kid of the issuer key that an entry brought, "" where it brought none:
// one of the keys that were made here for it and that it lists.
func (m *Member) newIssuer(ctx context.Context, row entryRow, added []string) (string, error) {
	keys, err := recorder.RingOf(m.n.Ring).Keys(ctx, m.n.Org, row.Version)
	if err != nil {
		return "", err
	}
	for _, kid := range added {
		if slices.Contains(row.NewKeys, keys[kid]) {
			return kid, nil
		}
	}
	return "", nil
}

// rotationOf says what an entry changed, as key.rotated puts it.
func (m *Member) rotationOf(ctx context.Context, row entryRow) (attestation.KeyRotated, error) {
	number, err := entryNumber(row.Version)
	if err != nil {
		return attestation.KeyRotated{}, err
	}
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
	data.TaintFrom = row.Taint
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

// finish does what an active entry leaves to do, each time it is tried again: what the
// new key has to sign at once, and the end of spent update keys.
func (m *Member) finish(ctx context.Context, row entryRow, keys UpdateKeys) error {
	if keys != nil {
		if err := m.deleteSpent(ctx, keys); err != nil {
			return err
		}
	}
	if s, _ := m.n.Rec.State(); s != recorder.Open {
		return nil // the background does the rest once the own log goes on
	}
	if err := m.signAnew(ctx, row); err != nil {
		return err
	}
	return m.n.DB.Update(ctx, func(tx store.Tx) error { return tx.Delete([]byte(keyEntry)) })
}

// signAnew signs again what only the key before has signed: after a compromise the agent
// objects that are not surely the organization's, and always the binding.
func (m *Member) signAnew(ctx context.Context, row entryRow) error {
	v, err := m.n.Ring.Head(ctx, m.n.Org)
	switch {
	case err != nil:
		return err
	case v.State == did.Deactivated:
		return nil // the entry ended the DID: nothing is signed any more
	case v.State == did.Frozen:
		return m.n.Contested(ctx, m.n.Org) // the rest is done once it is decided which branch is the own one
	}
	at, err := m.now()
	if err != nil {
		return err
	}
	m.own.Lock()
	defer m.own.Unlock()
	binding := m.renewBinding(ctx, at)
	if binding != nil && !passes(ctx, binding) {
		m.n.Log.WarnContext(ctx, "the own binding was not renewed; that is tried again each hour", "error", binding)
		binding = nil
	}
	return errors.Join(m.reissue(ctx, row.Reissue, at), binding)
}

// doubtful lists the own live agents that the thief of a key may have issued: whose
// agent.issued lies above the last index that is surely the organization's, or is not in
// the log yet. The log ends them with the compromise.
func (m *Member) doubtful(ctx context.Context, row entryRow) ([]issued, error) {
	if row.Taint == nil {
		return nil, nil
	}
	list, err := m.Agents(ctx)
	if err != nil {
		return nil, err
	}
	at, err := m.now()
	if err != nil {
		return nil, err
	}
	var out []issued
	for _, a := range list {
		if !a.Revoked && at.Before(a.NotAfter.Time()) && (a.Index == 0 || a.Index > *row.Taint) {
			out = append(out, issued{a.Agent, a.Object})
		}
	}
	return out, nil
}

// reissue issues agents anew that were not yet. One that cannot be ends: nobody else takes
// its object for good any more, and no entry waits for it.
func (m *Member) reissue(ctx context.Context, list []issued, at time.Time) error {
	var errs []error
	for _, x := range list {
		if err := m.reissueOne(ctx, x, at); err != nil {
			errs = append(errs, fmt.Errorf("agent %s: %w", x.Agent, err))
		}
	}
	return errors.Join(errs...)
}

// afterCompromise names the agents of a list that were issued anew, and those that ended.
func (m *Member) afterCompromise(ctx context.Context, list []issued) (reissued, ended []string, err error) {
	for _, x := range list {
		a, err := self.Agent(self.ViewGetter(ctx, m.n.DB), x.Agent)
		switch {
		case err != nil:
			return nil, nil, err
		case a.Revoked:
			ended = append(ended, a.Name)
		case a.Object != x.Object:
			reissued = append(reissued, a.Name)
		}
	}
	return reissued, ended, nil
}

// reissueOne issues an agent anew, or ends it. Errors are those that another try may not meet.
func (m *Member) reissueOne(ctx context.Context, x issued, at time.Time) error {
	a, err := m.tainted(ctx, x)
	if err != nil || a.Agent.IsZero() {
		return err
	}
	why := m.renewAgent(ctx, a, at)
	if passes(ctx, why) {
		return why
	}
	if a, err = m.tainted(ctx, x); err != nil || a.Agent.IsZero() {
		return err
	}
	return m.endTainted(ctx, a, why)
}

// tainted is the row of an agent that still has its object in doubt; the zero row once it
// was issued anew, or was revoked here.
func (m *Member) tainted(ctx context.Context, x issued) (self.AgentRow, error) {
	g := self.ViewGetter(ctx, m.n.DB)
	a, err := self.Agent(g, x.Agent)
	if errors.Is(err, self.ErrNoAgent) || err == nil && a.Object != x.Object {
		return self.AgentRow{}, nil
	}
	if err != nil {
		return self.AgentRow{}, err
	}
	_, ended, err := get[endedRow](g, endedKey(x.Agent))
	if err != nil || ended && a.Revoked {
		return self.AgentRow{}, err
	}
	return a, nil
}

// passes reports whether an error is of the moment, not of what was to be done.
func passes(ctx context.Context, err error) bool {
	if err == nil {
		return false
	}
	code := fault.Of(err)
	return ctx.Err() != nil || code == fault.Unavailable || code == fault.Conflict || errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrBroken)
}

// endTainted ends an agent that was not issued anew: why is nil where its key is not here. What may have been copied is the
// organization's key, not the agent's.
func (m *Member) endTainted(ctx context.Context, a self.AgentRow, why error) error {
	const ended = "an agent has ended with the compromised key that issued it; its holder must ask for it anew"
	if why != nil {
		m.n.Log.WarnContext(ctx, ended, "agent", a.Name, "err", why)
	} else {
		m.n.Log.WarnContext(ctx, ended, "agent", a.Name)
	}
	err := m.n.DB.Update(ctx, func(tx store.Tx) error {
		_, err := m.putRevoked(tx, AgentRevokeInput{Agent: a.Agent.String(), Reason: "ended", kept: true})
		return err
	})
	if err == nil {
		m.cfg.AgentEnded(context.WithoutCancel(ctx), a.Agent)
	}
	return undrafted(err)
}

// deleteSpent deletes the update keys that an entry has shown, and all that were ever
// committed to once the DID has ended: they can do nothing more.
func (m *Member) deleteSpent(ctx context.Context, keys UpdateKeys) error {
	h, err := m.n.Ring.History(ctx, m.n.Org)
	if err != nil {
		return err
	}
	list, err := keys.List(ctx)
	if err != nil {
		return err
	}
	for _, k := range list {
		if !spent(h, k) {
			continue
		}
		if err := keys.Delete(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

func spent(h didwebvh.History, k did.PublicKey) bool {
	for n := 1; n <= h.Len(); n++ {
		v, _ := h.At(n)
		if slices.Contains(v.Parameters.UpdateKeys, k) || h.Deactivated() && slices.Contains(v.Parameters.NextKeyHashes, didwebvh.KeyHash(k)) {
			return true
		}
	}
	return false
}

// finishEntry goes on, at a start, with an entry that needs nobody else any more.
func (m *Member) finishEntry(ctx context.Context) error {
	leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	row, ok, err := m.underWay(ctx)
	if err != nil || !ok || row.step() == stepBuilt {
		return err
	}
	if row, err = m.count(ctx, row); err != nil || row.step() < stepReady {
		return err
	}
	if _, err := m.activate(ctx, row); err != nil {
		return fmt.Errorf("DID log entry %s: %w", row.Version, err)
	}
	m.n.Log.InfoContext(ctx, "an entry of the own DID log was finished", "version", row.Version)
	return nil
}
