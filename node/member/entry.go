package member

import (
	"context"
	"errors"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/node/fault"
	"trustnode/node/recorder"
	"trustnode/node/self"
	"trustnode/node/store"
)

// An entry of the own DID log goes one way, each step durable before the next:
//
//	built      its keys and its signed line are kept here; it may be abandoned
//	committed  its number is pinned, and witnesses are asked: a witness signs one
//	           entry for each number, so there is no way back
//	ready      the governing witnesses have signed it; at once where none governs
//	active     the own ring holds it, the own log announces it, the spent key is gone
//
// A node that starts in between goes on from where it was; ResumeEntry does so on demand.

// Authority is what signs one entry: the next update key, or the recovery key.
type Authority struct {
	// Update opens the store of update keys; it is called at most once.
	Update func(ctx context.Context) (UpdateKeys, error)
	// Recovery signs instead of the next update key, when that is lost; it is spent by
	// it and NextRecovery takes its place.
	Recovery     envelope.Signer
	NextRecovery did.PublicKey
	// Wait is how long witnesses are waited for before the entry is left to the
	// background.
	Wait time.Duration
}

func (a Authority) check() error {
	switch {
	case a.Update == nil:
		return fault.New(fault.Invalid, "update_key", "no store of update keys is named")
	case (a.Recovery == nil) != a.NextRecovery.IsZero():
		return fault.New(fault.Invalid, "recovery", "a spent recovery key needs a new one in its place, and only then")
	}
	return nil
}

// Entry says where an entry of the own DID log stands.
type Entry struct {
	Version string      // versionId
	Active  bool        // false: built, or waiting for its witnesses
	Event   envelope.ID // key.rotated; zero until Active
	Index   uint64      // of key.rotated in the own log
	Logged  bool        // false: key.rotated waits in the outbox
}

// draft makes the line of the next entry. keys are the update keys it may use.
type draft func(ctx context.Context, h didwebvh.History, sign signing) (line []byte, err error)

// signing is who signs an entry, and what it commits to.
type signing struct {
	update   envelope.Signer
	next     did.PublicKey
	recovery did.PublicKey // zero: it stays
	at       time.Time
	newKey   func() (did.PublicKey, error) // a new key in the node's own store, kept with the entry
}

// nextEntry builds the next entry of the own DID log and brings it as far as it goes now.
func (m *Member) nextEntry(ctx context.Context, a Authority, reason string, taint *uint64, make draft) (Entry, error) {
	if err := a.check(); err != nil {
		return Entry{}, err
	}
	m.entering.Lock()
	defer m.entering.Unlock()
	at, err := m.now()
	if err != nil {
		return Entry{}, err
	}
	if state, reasons, may := m.State(at); !may.OwnLog {
		return Entry{}, m.notNow(state, reasons, "no entry of the DID log is signed")
	}
	if err := m.settleEntry(ctx); err != nil {
		return Entry{}, err
	}
	keys, err := a.Update(ctx)
	if err != nil {
		return Entry{}, err
	}
	row, err := m.build(ctx, a, keys, at, make)
	if err != nil {
		return Entry{}, err
	}
	row.Reason = reason
	if taint != nil {
		row.Taint = &tInt{*taint}
	}
	if err := m.keepEntry(ctx, row); err != nil {
		return Entry{}, err
	}
	return m.push(ctx, row, keys, a.Wait)
}

// settleEntry finishes an entry that is active, and refuses while another is under way.
func (m *Member) settleEntry(ctx context.Context) error {
	row, ok, err := m.underWay(ctx)
	if err != nil || !ok {
		return err
	}
	if row.step() == stepActive {
		return m.finish(ctx, row, nil)
	}
	hint := "trustnode did rotate --resume goes on with it"
	if row.step() == stepBuilt {
		hint += "; --abandon forgets it"
	}
	return fault.New(fault.Conflict, "under_way", "entry %s of the own DID log is under way", row.Version).WithHint("%s", hint)
}

func (m *Member) underWay(ctx context.Context) (entryRow, bool, error) {
	return get[entryRow](self.ViewGetter(ctx, m.n.DB), keyEntry)
}

func (m *Member) keepEntry(ctx context.Context, row entryRow) error {
	return m.n.DB.Update(ctx, func(tx store.Tx) error { return put(tx, keyEntry, row) })
}

// build makes the next entry: its new keys are durable, its line is signed.
func (m *Member) build(ctx context.Context, a Authority, keys UpdateKeys, at time.Time, make draft) (entryRow, error) {
	h, err := m.changeable(ctx)
	if err != nil {
		return entryRow{}, err
	}
	s := signing{update: a.Recovery, recovery: a.NextRecovery, at: at}
	if s.update == nil {
		if s.update, err = nextUpdate(ctx, h, keys); err != nil {
			return entryRow{}, err
		}
	}
	next, err := keys.Generate(ctx)
	if err != nil {
		return entryRow{}, err
	}
	row := entryRow{Next: next.Public()}
	s.next = row.Next
	s.newKey = func() (did.PublicKey, error) {
		k, err := m.cfg.NewKey(ctx)
		if err != nil {
			return did.PublicKey{}, err
		}
		row.Made = append(row.Made, k.Public())
		return k.Public(), nil
	}
	line, err := make(ctx, h, s)
	if err != nil {
		return entryRow{}, errors.Join(entryRefusal(err), m.forgetKeys(ctx, row, keys))
	}
	row.Line, row.Version = b64.EncodeToString(line), didwebvh.VersionID(line)
	return row, nil
}

// changeable returns the own history, or says why it takes no entry.
func (m *Member) changeable(ctx context.Context) (didwebvh.History, error) {
	if m.n.Org.Method() != didwebvh.Method {
		return didwebvh.History{}, fault.New(fault.Invalid, "method", "a did:%s identity has no history to change", m.n.Org.Method())
	}
	if _, err := m.n.Ring.Document(ctx, m.n.Org); err != nil {
		return didwebvh.History{}, refusal(err)
	}
	return m.n.Ring.History(ctx, m.n.Org)
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
		WithHint("name the store that init made with --update-keys; if it is lost, use the recovery key: did rotate --recovery")
}

// entryRefusal says what is wrong with what an entry was asked to say.
func entryRefusal(err error) error {
	var wrong *didwebvh.Error
	switch {
	case errors.Is(err, didwebvh.ErrKey):
		return fault.Wrap(fault.Refused, "recovery_key", err).WithHint("it is not the recovery key that this DID commits to; did show tells when that changed")
	case errors.Is(err, didwebvh.ErrIdentifier):
		return fault.Wrap(fault.Invalid, "domain", err).WithHint("a host name such as acme.example, without scheme or path")
	case errors.As(err, &wrong):
		return fault.Wrap(fault.Invalid, wrong.Reason.String(), err)
	}
	return err
}

// forgetKeys deletes the keys that were made for an entry that will not be.
func (m *Member) forgetKeys(ctx context.Context, row entryRow, keys UpdateKeys) error {
	errs := []error{keys.Delete(ctx, row.Next)}
	for _, k := range row.Made {
		errs = append(errs, m.cfg.DropKey(ctx, k))
	}
	return errors.Join(errs...)
}

// ResumeEntry goes on with the entry that is under way, with witness proofs that were
// carried here by hand. update opens the update store, to delete the spent key; nil
// leaves that to the next entry.
func (m *Member) ResumeEntry(ctx context.Context, update func(context.Context) (UpdateKeys, error), proofs [][]byte, wait time.Duration) (Entry, error) {
	m.entering.Lock()
	defer m.entering.Unlock()
	row, ok, err := m.underWay(ctx)
	if err != nil {
		return Entry{}, err
	}
	if !ok {
		return Entry{}, fault.New(fault.NotFound, "under_way", "no entry of the own DID log is under way").WithHint("trustnode did show tells where it stands")
	}
	if row, err = m.addProofs(ctx, row, proofs); err != nil {
		return Entry{}, err
	}
	var keys UpdateKeys
	if update != nil {
		if keys, err = update(ctx); err != nil {
			return Entry{}, err
		}
	}
	return m.push(ctx, row, keys, wait)
}

// AbandonEntry forgets an entry that no witness was asked about.
func (m *Member) AbandonEntry(ctx context.Context, update func(context.Context) (UpdateKeys, error)) error {
	m.entering.Lock()
	defer m.entering.Unlock()
	row, ok, err := m.underWay(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return fault.New(fault.NotFound, "under_way", "no entry of the own DID log is under way")
	}
	if row.step() != stepBuilt {
		return fault.New(fault.Conflict, "committed", "entry %s is pinned and may be known to a witness", row.Version).
			WithHint("a witness signs one entry for each number; go on: trustnode did rotate --resume")
	}
	keys, err := update(ctx)
	if err != nil {
		return err
	}
	if err := m.n.DB.Update(ctx, func(tx store.Tx) error { return tx.Delete([]byte(keyEntry)) }); err != nil {
		return err
	}
	return m.forgetKeys(ctx, row, keys)
}

// PushEntry goes on with a committed entry, if there is one: for the background. An entry
// that is only built waits for its operator.
func (m *Member) PushEntry(ctx context.Context) error {
	row, ok, err := m.underWay(ctx)
	if err != nil || !ok || row.step() == stepBuilt {
		return err
	}
	_, err = m.ResumeEntry(ctx, nil, nil, 0)
	var denied *fault.Denied
	if errors.As(err, &denied) && denied.Reason == reasonWitnesses {
		return nil // it still waits
	}
	return err
}

// push brings an entry as far as it goes. keys may be nil. The caller holds entering.
func (m *Member) push(ctx context.Context, row entryRow, keys UpdateKeys, wait time.Duration) (Entry, error) {
	out := Entry{Version: row.Version}
	var err error
	if row.step() < stepReady {
		if row, err = m.commitEntry(ctx, row); err != nil {
			return out, err
		}
		if row, err = m.collect(ctx, row, wait); err != nil {
			return out, err
		}
	}
	if row, err = m.activate(ctx, row); err != nil {
		return out, err
	}
	out.Event, out.Active = row.Event, true
	if err := m.settled(ctx, out.Event); err != nil {
		return out, err
	}
	if s, _ := m.n.Rec.State(); s == recorder.Open {
		if out.Index, err = m.n.Rec.WaitAppended(ctx, out.Event); err != nil {
			return out, err
		}
		out.Logged = true
	}
	return out, m.finish(ctx, row, keys)
}

// Pending is an entry of the own DID log that is not active.
type Pending struct {
	Version   string
	Line      []byte        // its signed line, to be carried to witnesses by hand
	Committed envelope.Time // when its number was pinned; zero while it may be abandoned
	Have      int           // distinct governing witnesses that signed it
	Need      int           // of them; 0 where none governs
	Missing   []did.DID     // members whose witness key governs and that have not signed
}

// Pending says which entry is under way; false for none, and for one that is in force and
// has only left something to be signed anew.
func (m *Member) Pending(ctx context.Context) (Pending, bool, error) {
	row, ok, err := m.underWay(ctx)
	if err != nil || !ok || row.step() == stepActive {
		return Pending{}, false, err
	}
	p := Pending{Version: row.Version, Committed: row.Since}
	if p.Line, err = row.line(); err != nil {
		return p, true, err
	}
	if row.step() >= stepReady {
		return p, true, nil
	}
	v, err := m.votes(ctx, row)
	if err != nil {
		return p, true, err
	}
	p.Have, p.Need = v.have, v.need
	for _, w := range v.missing {
		p.Missing = append(p.Missing, w.org)
	}
	return p, true, nil
}

func (r entryRow) line() ([]byte, error) {
	line, err := b64.DecodeString(r.Line)
	if err != nil {
		return nil, fmt.Errorf("entry under way is damaged: %v", err)
	}
	return line, nil
}
