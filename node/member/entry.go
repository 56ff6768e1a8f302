package member

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
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
	last         bool // nothing is committed to any more
	// Wait is how long witnesses are waited for before the entry is left to the
	// background.
	Wait time.Duration
}

func (a Authority) check() error {
	switch {
	case a.Update == nil:
		return fault.New(fault.Invalid, "update_key", "no store of update keys is named")
	case !a.last && (a.Recovery == nil) != a.NextRecovery.IsZero():
		return fault.New(fault.Invalid, "recovery", "a spent recovery key needs a new one in its place, and only then").WithHint("trustnode did rotate --recovery makes it and shows it")
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

	Reason    string  // of key.rotated
	TaintFrom *uint64 // own events above it, up to Index, are in doubt; nil: none is
	// After a compromise, names of own agents: those that were issued anew, and those that
	// ended with the key because theirs is not held here. None before Logged.
	Reissued, Ended []string
}

// draft makes the line of the next entry.
type draft func(ctx context.Context, h didwebvh.History, s signing) (line []byte, err error)

// signing is who signs an entry, and the keys it may bring. What newKey and nextKey make is
// deleted if the entry is not made.
type signing struct {
	update   envelope.Signer
	recovery did.PublicKey // zero: it stays
	at       time.Time
	nextKey  func() (did.PublicKey, error) // the update key to commit to, in the update store
	newKey   func() (did.PublicKey, error) // a key of the organization, in the node's store
}

// enter waits for its turn with the entry under way.
func (m *Member) enter(ctx context.Context) (leave func(), err error) {
	select {
	case m.entering <- struct{}{}:
		return func() { <-m.entering }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// nextEntry builds the next entry of the own DID log and brings it as far as it goes now.
func (m *Member) nextEntry(ctx context.Context, a Authority, reason string, taint *uint64, compose draft) (Entry, error) {
	if err := a.check(); err != nil {
		return Entry{}, err
	}
	leave, err := m.enter(ctx)
	if err != nil {
		return Entry{}, err
	}
	row, keys, err := m.newEntry(ctx, a, reason, taint, compose)
	leave()
	if err != nil {
		return Entry{}, err
	}
	return m.push(ctx, row, keys, a.Wait)
}

// newEntry builds an entry where none is under way. The caller has entered.
func (m *Member) newEntry(ctx context.Context, a Authority, reason string, taint *uint64, compose draft) (entryRow, UpdateKeys, error) {
	at, err := m.now()
	if err != nil {
		return entryRow{}, nil, err
	}
	if err := m.alive(ctx); err != nil {
		return entryRow{}, nil, err
	}
	if err := self.Behind(ctx, m.n.Ring, m.n.Org); err != nil {
		return entryRow{}, nil, err
	}
	if state, reasons, may := m.State(at); !may.OwnLog {
		return entryRow{}, nil, m.notNow(state, reasons, "no entry of the DID log is signed")
	}
	if err := m.settleEntry(ctx); err != nil {
		return entryRow{}, nil, err
	}
	if err := m.recognize(ctx, a); err != nil {
		return entryRow{}, nil, err
	}
	keys, err := a.Update(ctx)
	if err != nil {
		return entryRow{}, nil, err
	}
	row, err := m.build(ctx, a, keys, at, compose)
	if err != nil {
		return entryRow{}, nil, err
	}
	row.Reason, row.Taint = reason, taint
	return row, keys, m.keepEntry(ctx, row)
}

// recognize refuses a recovery key that the head does not commit to, before a store is made
// for the key that is to follow.
func (m *Member) recognize(ctx context.Context, a Authority) error {
	if a.Recovery == nil {
		return nil
	}
	h, err := m.changeable(ctx)
	if err != nil {
		return err
	}
	if k := a.Recovery.Public(); !slices.Contains(h.Head().Parameters.NextKeyHashes, didwebvh.KeyHash(k)) {
		return entryRefusal(fmt.Errorf("%s: %w", k.Multikey(), didwebvh.ErrKey))
	}
	return nil
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

// underWay reads the entry under way. The pin goes before the row: an entry whose number is
// pinned is committed, whatever kept its row from saying so.
func (m *Member) underWay(ctx context.Context) (entryRow, bool, error) {
	row, ok, err := get[entryRow](self.ViewGetter(ctx, m.n.DB), keyEntry)
	if err != nil || !ok || row.step() != stepBuilt {
		return row, ok, err
	}
	if pinned, err := m.isPinned(ctx, row); err != nil || !pinned {
		return row, ok, err
	}
	at, err := m.now()
	if err != nil {
		return row, ok, err
	}
	version := row.Version
	err = m.n.DB.Update(ctx, func(tx store.Tx) (err error) {
		if row, ok, err = get[entryRow](tx, keyEntry); err != nil || !ok || row.Version != version || row.step() != stepBuilt {
			return err
		}
		row.Since = envelope.TimeOf(at)
		return put(tx, keyEntry, row)
	})
	return row, ok, err
}

func (m *Member) keepEntry(ctx context.Context, row entryRow) error {
	return m.n.DB.Update(ctx, func(tx store.Tx) error { return put(tx, keyEntry, row) })
}

// build makes the next entry: its new keys are durable, its line is signed.
func (m *Member) build(ctx context.Context, a Authority, keys UpdateKeys, at time.Time, compose draft) (entryRow, error) {
	h, err := m.changeable(ctx)
	if err != nil {
		return entryRow{}, err
	}
	var row entryRow
	s := signing{update: a.Recovery, recovery: a.NextRecovery, at: at}
	if s.update == nil {
		if s.update, err = nextUpdate(ctx, h, keys); err != nil {
			return entryRow{}, err
		}
	}
	s.nextKey = func() (did.PublicKey, error) {
		k, err := keys.Generate(ctx)
		if err == nil {
			row.Next = k.Public()
		}
		return row.Next, err
	}
	s.newKey = func() (did.PublicKey, error) {
		k, err := m.cfg.NewKey(ctx)
		if err != nil {
			return did.PublicKey{}, err
		}
		row.NewKeys = append(row.NewKeys, k.Public())
		return k.Public(), nil
	}
	line, err := compose(ctx, h, s)
	if err != nil {
		return entryRow{}, errors.Join(entryRefusal(err), m.forgetKeys(ctx, row, keys))
	}
	row.Line, row.Version = b64.EncodeToString(line), didwebvh.VersionID(line)
	return row, nil
}

// alive refuses what only an organization can do whose DID has not ended.
func (m *Member) alive(ctx context.Context) error {
	_, err := m.n.Ring.Document(ctx, m.n.Org)
	if errors.Is(err, keyring.ErrDeactivated) {
		return identityRefusal(err)
	}
	return nil
}

// changeable returns the own history, or says why it takes no entry.
func (m *Member) changeable(ctx context.Context) (didwebvh.History, error) {
	if m.n.Org.Method() != didwebvh.Method {
		return didwebvh.History{}, fault.New(fault.Invalid, "method", "a did:%s identity has no history to change", m.n.Org.Method())
	}
	if err := self.Behind(ctx, m.n.Ring, m.n.Org); err != nil {
		return didwebvh.History{}, err
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
	return nil, fault.New(fault.Refused, "update_key", "no update key in %s matches nextKeyHashes of entry %d", keys.Place(), h.Len()).
		WithHint("name the store of the last entry with --update-keys DIR; if it is lost, use the recovery key: trustnode did rotate --recovery --reason lost --update-keys NEWDIR")
}

// entryRefusal says what is wrong with what an entry was asked to say.
func entryRefusal(err error) error {
	var wrong *didwebvh.Error
	switch {
	case errors.Is(err, didwebvh.ErrKey):
		return fault.Wrap(fault.Refused, "recovery_key", err).WithHint("this DID commits to another recovery key: each use of one brings a new one, shown then")
	case errors.Is(err, didwebvh.ErrReused):
		return fault.Wrap(fault.Invalid, "key_reused", err).WithHint("a key that was listed or committed to once may have been stolen since; use a new one")
	case errors.Is(err, didwebvh.ErrIdentifier):
		return fault.Wrap(fault.Invalid, "domain", err).WithHint("a host name such as acme.example, without scheme or path")
	case errors.As(err, &wrong):
		return fault.Wrap(fault.Invalid, wrong.Reason.String(), err)
	}
	return err
}

// forgetKeys deletes the keys that were made for an entry that will not be.
func (m *Member) forgetKeys(ctx context.Context, row entryRow, keys UpdateKeys) error {
	var errs []error
	if !row.Next.IsZero() {
		errs = append(errs, keys.Delete(ctx, row.Next))
	}
	for _, k := range row.NewKeys {
		errs = append(errs, m.cfg.DropKey(ctx, k))
	}
	return errors.Join(errs...)
}

// ResumeEntry goes on with the entry that is under way, with witness proofs that were
// carried here by hand. update opens the update store, to delete the spent key; nil
// leaves that to the next entry. Errors: not_found under_way, invalid proof, those of Rotate.
func (m *Member) ResumeEntry(ctx context.Context, update func(context.Context) (UpdateKeys, error), proofs [][]byte, wait time.Duration) (Entry, error) {
	row, err := m.bringProofs(ctx, proofs)
	if err != nil {
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

// bringProofs adds proofs to the entry under way and returns it.
func (m *Member) bringProofs(ctx context.Context, proofs [][]byte) (entryRow, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return entryRow{}, err
	}
	defer leave()
	row, err := m.mustBeUnderWay(ctx)
	if err != nil || len(proofs) == 0 {
		return row, err
	}
	return m.addProofs(ctx, row, proofs)
}

func (m *Member) mustBeUnderWay(ctx context.Context) (entryRow, error) {
	row, ok, err := m.underWay(ctx)
	if err == nil && !ok {
		err = fault.New(fault.NotFound, "under_way", "no entry of the own DID log is under way").WithHint("trustnode did show tells where it stands")
	}
	return row, err
}

// AbandonEntry forgets an entry that no witness was asked about, and deletes the keys that
// were made for it. Errors: not_found under_way, conflict committed.
func (m *Member) AbandonEntry(ctx context.Context, update func(context.Context) (UpdateKeys, error)) error {
	leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	row, err := m.mustBeUnderWay(ctx)
	if err != nil {
		return err
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
	leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	row, ok, err := m.underWay(ctx)
	if err != nil || self.Behind(ctx, m.n.Ring, m.n.Org) != nil {
		return err
	}
	if s, _ := m.n.Rec.State(); !ok && s == recorder.Open {
		return m.announceAll(ctx) // what could not be announced when the log went on
	}
	if !ok || row.step() == stepBuilt {
		return nil
	}
	_, _, err = m.advance(ctx, row, nil)
	return err
}

// push brings an entry as far as it goes within wait. keys may be nil. Between two rounds
// others may enter, such as who carries a proof here.
func (m *Member) push(ctx context.Context, row entryRow, keys UpdateKeys, wait time.Duration) (Entry, error) {
	reason, taint := row.Reason, row.Taint
	for end := m.cfg.Mono() + wait; ; {
		out, row, said, err := m.round(ctx, row.Version, keys)
		out.Reason, out.TaintFrom = reason, taint
		if err != nil || out.Active {
			return out, err
		}
		if m.cfg.Mono()+askAgain > end {
			return out, m.waiting(ctx, row, said)
		}
		select {
		case <-ctx.Done():
			return out, ctx.Err()
		case <-time.After(askAgain):
		}
	}
}

// round is one step of push.
func (m *Member) round(ctx context.Context, version string, keys UpdateKeys) (Entry, entryRow, []said, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return Entry{Version: version}, entryRow{}, nil, err
	}
	defer leave()
	row, ok, err := m.underWay(ctx)
	if err != nil {
		return Entry{Version: version}, row, nil, err
	}
	if !ok || row.Version != version { // the background has brought it to its end
		return Entry{Version: version, Active: true, Logged: true}, row, nil, nil
	}
	out, said, err := m.advance(ctx, row, keys)
	if err == nil && !out.Active {
		row, err = m.mustBeUnderWay(ctx) // with what this round has brought
	}
	return out, row, said, err
}

// advance brings an entry as far as it goes now. The caller has entered.
func (m *Member) advance(ctx context.Context, row entryRow, keys UpdateKeys) (out Entry, list []said, err error) {
	out.Version = row.Version
	if row, err = m.commitEntry(ctx, row); err != nil {
		return out, nil, err
	}
	if err = rememberNext(ctx, row, keys); err != nil {
		return out, nil, err
	}
	if row.step() < stepReady {
		if row, list, err = m.collect(ctx, row); err != nil || row.step() < stepReady {
			return out, list, err
		}
	}
	if row, err = m.activate(ctx, row); err != nil {
		return out, nil, err
	}
	out.Event, out.Active = row.Event, true
	if err := m.settled(ctx, out.Event); err != nil {
		return out, nil, err
	}
	if s, _ := m.n.Rec.State(); s == recorder.Open {
		if out.Index, err = m.n.Rec.WaitAppended(ctx, out.Event); err != nil {
			return out, nil, err
		}
		out.Logged = true
	}
	if err := m.finish(ctx, row, keys); err != nil || !out.Logged {
		return out, nil, err
	}
	out.Reissued, out.Ended, err = m.afterCompromise(ctx, row.Reissue)
	return out, nil, err
}

// rememberNext has a store remembered if it holds the key that a pinned entry commits to.
func rememberNext(ctx context.Context, row entryRow, keys UpdateKeys) error {
	if keys == nil {
		return nil
	}
	list, err := keys.List(ctx)
	if err != nil || !slices.Contains(list, row.Next) {
		return err
	}
	return keys.Remember()
}

// Pending is an entry of the own DID log that is not active.
type Pending struct {
	Version   string
	Line      []byte        // its signed line, to be carried to witnesses by hand; nil while it may be abandoned
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
	if row.step() >= stepReady {
		return p, true, nil
	}
	if row.step() == stepCommitted {
		if p.Line, err = row.line(); err != nil {
			return p, true, err
		}
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
