package member

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"trustnode/attestation/history"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/node/library"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Project brings what logged events say of agents and keys into the state, for every log
// held: agent.issued and agent.revoked become agent rows, a rotation for compromise or
// loss ends the organization's bindings, a fork.proven about unknown lines has them asked
// for. What names an object that is not held is parked
// and tried again. It may run at any time and any number of times.
func (m *Member) Project(ctx context.Context) error {
	m.projecting.Lock()
	defer m.projecting.Unlock()
	heads, err := m.n.Rec.Heads(ctx)
	if err != nil {
		return err
	}
	var errs []error
	if m.isUnproven() {
		errs = append(errs, m.ProveForks(ctx))
	}
	for _, h := range heads { // what is wrong with one log holds up no other
		if err := m.projectAgents(ctx, h.Org); err != nil {
			errs = append(errs, fmt.Errorf("agents of %s: %w", h.Org, err))
		}
		if err := m.endBindings(ctx, h.Org); err != nil {
			errs = append(errs, fmt.Errorf("bindings of %s: %w", h.Org, err))
		}
		if err := m.projectForks(ctx, h.Org); err != nil {
			errs = append(errs, fmt.Errorf("forks told of by %s: %w", h.Org, err))
		}
	}
	return errors.Join(errs...)
}

// projectOwn applies the agent history of the own log.
func (m *Member) projectOwn(ctx context.Context) error {
	m.projecting.Lock()
	defer m.projecting.Unlock()
	return m.projectAgents(ctx, m.n.Org)
}

// projectAgents applies the agent history of one log where it changed, and what is parked.
// The caller holds projecting.
func (m *Member) projectAgents(ctx context.Context, org did.DID) error {
	k, err := m.n.Rec.Keys(ctx, org)
	if err != nil {
		return err
	}
	if m.n.Rec.Short(org) {
		return nil // an agent that is not in what can be read of it may be in the rest
	}
	terms := k.Terms(did.DID{})
	if org == m.n.Org {
		keepOwn(terms)
	}
	now := cursorOf(k.Size(), terms)
	had, parked, err := m.progress(ctx, org)
	if err != nil {
		return err
	}
	part, moved := unsettled(terms, had, parked)
	if len(part) == 0 && !moved && now == had {
		return nil
	}
	at, err := m.now()
	if err != nil {
		return err
	}
	work := projection{m: m, org: org, keys: k, at: at, parked: len(parked)}
	if moved {
		if err := work.anew(ctx, terms); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(part, projectBatch) {
		if err := work.apply(ctx, part); err != nil {
			return err
		}
	}
	if now == had {
		return nil
	}
	return m.n.DB.Update(ctx, func(tx store.Tx) error { return put(tx, cursorKey(org), now) })
}

// keepOwn takes back, for the own agents, what a compromise of the own key ended: this node
// issues them anew itself, or revokes them.
func keepOwn(terms []history.Term) {
	for i := range terms {
		if terms[i].Reason == history.ReasonCompromise {
			terms[i].Revoked, terms[i].Reason = nil, ""
		}
	}
}

// progress reads how far a log is projected, and the objects it waits for.
func (m *Member) progress(ctx context.Context, org did.DID) (cursorRow, map[envelope.ID]bool, error) {
	var c cursorRow
	parked := map[envelope.ID]bool{}
	err := m.n.DB.View(ctx, func(r store.Reader) (err error) {
		if c, _, err = get[cursorRow](r, cursorKey(org)); err != nil {
			return err
		}
		ids, err := parkedOf(r, org, envelope.ID{}, math.MaxInt)
		for _, id := range ids {
			parked[id] = true
		}
		return err
	})
	return c, parked, err
}

// unsettled picks the terms that are not projected yet: those that came or were revoked
// beyond the cursor, and those whose object is missing. Where events below the cursor have
// come to count since, or count no more, it is all of them, and moved is true.
func unsettled(all []history.Term, had cursorRow, parked map[envelope.ID]bool) (out []history.Term, moved bool) {
	var below []history.Term
	for _, t := range all {
		came, ended := t.From >= had.Size, t.Revoked != nil && *t.Revoked >= had.Size
		if came || ended || parked[t.ID] {
			out = append(out, t)
		}
		if !came {
			if ended {
				t.Revoked = nil
			}
			below = append(below, t)
		}
	}
	if cursorOf(had.Size, below) != had {
		return all, true
	}
	return out, false
}

// projection is one pass over the agents of one log.
type projection struct {
	m      *Member
	org    did.DID
	keys   history.Keys
	at     time.Time
	parked int
}

// opened is a term with its object, if that is held and says what the event says.
type opened struct {
	history.Term
	row  self.AgentRow
	held bool
	bad  bool // the object will never count
}

// apply opens outside of the transaction, where signatures cost nobody else time, and
// commits some terms in one.
func (p *projection) apply(ctx context.Context, terms []history.Term) error {
	var list []opened
	for _, t := range terms {
		o, err := p.open(ctx, t)
		if err != nil {
			return err
		}
		list = append(list, o)
	}
	parked := p.parked
	err := p.m.n.DB.Update(ctx, func(tx store.Tx) error {
		p.parked = parked
		for _, o := range list {
			if err := p.settle(ctx, tx, o); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// open verifies the object of a term under the key that was in force where it was issued.
func (p *projection) open(ctx context.Context, t history.Term) (opened, error) {
	o := opened{Term: t}
	obj, err := p.m.n.Lib.Get(ctx, t.ID)
	if errors.Is(err, library.ErrAbsent) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	e, err := envelope.ParseDSSE(obj.Bytes, maxStored)
	if err != nil {
		return o, err
	}
	v, err := p.m.openAgent(ctx, e, p.keys, t)
	o.held, o.bad = true, err != nil
	if err != nil {
		p.m.n.Log.WarnContext(ctx, "an agent object does not count", "org", p.org.String(), "id", t.ID.String(), "error", err)
		return o, nil
	}
	o.row = self.RowOf(v, t.From)
	return o, nil
}

// openAgent verifies an agent object against the event that names it.
func (m *Member) openAgent(ctx context.Context, e envelope.Envelope, k history.Keys, t history.Term) (envelope.Verified[keyring.Agent], error) {
	v, err := keyring.OpenAgent(ctx, e, k.At(t.From))
	if err != nil {
		return v, err
	}
	if a := v.Body(); v.ID() != t.ID || a.Org != k.Org() || a.Agent != t.Agent || a.Name != t.Name || a.Serial != t.Serial {
		return envelope.Verified[keyring.Agent]{}, &envelope.FormError{Path: "agent", What: "differs from what agent.issued says"}
	}
	return v, nil
}

// settle applies one term in a transaction.
func (p *projection) settle(ctx context.Context, tx store.Tx, o opened) error {
	if !o.held {
		if err := p.park(ctx, tx, o.Term); err != nil {
			return err
		}
	} else if err := tx.Delete([]byte(parkedKey(p.org, o.ID))); err != nil {
		return err
	}
	named, _, err := get[namedRow](tx, namedKey(p.org, o.Name))
	if err != nil {
		return err
	}
	was := named
	if o.Revoked != nil {
		named.Through = max(named.Through, o.Serial)
	}
	switch {
	case !o.held:
	case o.bad:
		err = p.disown(tx, o)
	case o.Serial >= named.Serial:
		err = p.enter(ctx, tx, o, &named)
	default:
		err = p.past(tx, o, named)
	}
	if err != nil {
		return err
	}
	if err := p.end(tx, o, named); err != nil || named == was {
		return err
	}
	return put(tx, namedKey(p.org, o.Name), named)
}

// park remembers that an object is missing.
func (p *projection) park(ctx context.Context, tx store.Tx, t history.Term) error {
	key := []byte(parkedKey(p.org, t.ID))
	if _, err := tx.Get(key); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if p.parked++; p.parked > maxParked {
		p.m.n.Log.ErrorContext(ctx, "too many agent objects of an organization are missing", "org", p.org.String())
		return errParked
	}
	return tx.Set(key, []byte(strconv.FormatUint(t.From, 10)))
}

var errParked = errors.New("projection of agents stops: too many objects are missing")

// enter makes a term the newest of its name, unless its DID or serial is another's.
func (p *projection) enter(ctx context.Context, tx store.Tx, o opened, named *namedRow) error {
	if o.Serial == named.Serial && named.Object != o.ID {
		// Neither of two objects of one serial holds.
		named.Through = max(named.Through, o.Serial)
		p.m.n.Log.WarnContext(ctx, "two agent objects of one serial", "org", p.org.String(), "name", o.Name, "serial", o.Serial)
		return p.revoke(tx, named.Agent)
	}
	cur, err := self.Agent(tx, o.Agent)
	if err != nil && !errors.Is(err, self.ErrNoAgent) {
		return err
	}
	if err == nil && cur.Org != p.org && (cur.Revoked || p.at.Before(cur.NotAfter.Time())) {
		// A live agent has one organization. A revoked one has none any more: whoever has
		// its key could else take its loans along to a second organization.
		p.m.n.Log.WarnContext(ctx, "conflict: a second organization claims an agent", "agent", o.Agent.String(), "org", p.org.String(), "held_by", cur.Org.String())
		return nil
	}
	if named.Agent != o.Agent && !named.Agent.IsZero() {
		if err := p.revoke(tx, named.Agent); err != nil { // its name went on to another
			return err
		}
	}
	row := o.row
	if err == nil && cur.Org == p.org {
		row.Project = cur.Project
	}
	row.Revoked = o.Revoked != nil || o.Serial <= named.Through
	named.Agent, named.Object, named.Serial = o.Agent, o.ID, o.Serial
	return p.m.n.PutAgent(tx, row)
}

// past takes what is older than the newest object of its name: where that went on to
// another agent, the row of this one says so, in whatever order the objects came. It also
// learns where an own object was logged, of which the row was made before.
func (p *projection) past(tx store.Tx, o opened, named namedRow) error {
	cur, err := self.Agent(tx, o.Agent)
	switch {
	case err != nil && !errors.Is(err, self.ErrNoAgent):
		return err
	case err == nil && cur.Org == p.org && cur.Object == o.ID && cur.Index == 0:
		cur.Index = o.From
		return p.m.n.PutAgent(tx, cur)
	case o.Agent == named.Agent, err == nil && (cur.Org != p.org || cur.Name != o.Name || cur.Serial >= o.Serial):
		return nil
	}
	row := o.row
	row.Project, row.Revoked = cur.Project, true
	return p.m.n.PutAgent(tx, row)
}

// end revokes the row of a term that is revoked, whether its object came or not.
func (p *projection) end(tx store.Tx, o opened, named namedRow) error {
	cur, err := self.Agent(tx, o.Agent)
	if errors.Is(err, self.ErrNoAgent) || err == nil && (cur.Org != p.org || cur.Name != o.Name) {
		return nil
	}
	if err != nil || cur.Revoked || cur.Serial > named.Through {
		return err
	}
	return p.revoke(tx, o.Agent)
}

// disown revokes a peer's row that was made of an object which counts no more: another
// branch of the log may have another key in force where it was issued.
func (p *projection) disown(tx store.Tx, o opened) error {
	cur, err := self.Agent(tx, o.Agent)
	if errors.Is(err, self.ErrNoAgent) || err == nil && (p.org == p.m.n.Org || cur.Object != o.ID) {
		return nil
	}
	if err != nil {
		return err
	}
	return p.revoke(tx, o.Agent)
}

func (p *projection) revoke(tx store.Tx, d did.DID) error {
	row, err := self.Agent(tx, d)
	if errors.Is(err, self.ErrNoAgent) || err == nil && (row.Org != p.org || row.Revoked) {
		return nil
	}
	if err != nil {
		return err
	}
	row.Revoked = true
	return p.m.n.PutAgent(tx, row)
}

// Wants returns up to max ids of agent objects that events name and nobody brought yet,
// each with the organization to ask first: of each log in turn, and of each log where the
// call before left off. A member that names what does not exist so keeps no other's agents
// from being asked for.
func (m *Member) Wants(ctx context.Context, max int) (map[envelope.ID]did.DID, error) {
	heads, err := m.n.Rec.Heads(ctx)
	if err != nil {
		return nil, err
	}
	lists := make([][]envelope.ID, len(heads))
	err = m.n.DB.View(ctx, func(r store.Reader) (err error) {
		for i, h := range heads {
			if lists[i], err = parkedOf(r, h.Org, m.lastAsked(h.Org), max); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[envelope.ID]did.DID{}
	for n := range max {
		for i, list := range lists {
			if n < len(list) && len(out) < max {
				out[list[n]], m.asked[heads[i].Org] = heads[i].Org, list[n]
			}
		}
	}
	return out, nil
}

func (m *Member) lastAsked(org did.DID) envelope.ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[org]
}

// parkedOf lists up to max objects that the agents of one log wait for: those behind an
// id, then those up to it.
func parkedOf(r store.Reader, org did.DID, after envelope.ID, max int) (out []envelope.ID, err error) {
	prefix := []byte(parkedKey(org, envelope.ID{}))
	last := []byte(parkedKey(org, after))
	add := func(k, _ []byte) bool {
		if id, err := envelope.ParseID(string(k[len(prefix):])); err == nil {
			out = append(out, id)
		}
		return len(out) < max
	}
	if err = r.Scan(prefix, last, add); err != nil || len(out) >= max {
		return out, err
	}
	err = r.Scan(prefix, nil, func(k, v []byte) bool { return bytes.Compare(k, last) <= 0 && add(k, v) })
	return out, err
}

// Parked counts the agent objects that each log names and nobody has given yet: the effect of
// their events waits.
func (m *Member) Parked(ctx context.Context) (map[did.DID]int, error) {
	heads, err := m.n.Rec.Heads(ctx)
	if err != nil {
		return nil, err
	}
	out := map[did.DID]int{}
	err = m.n.DB.View(ctx, func(r store.Reader) error {
		for _, h := range heads {
			ids, err := parkedOf(r, h.Org, envelope.ID{}, maxParked)
			if err != nil {
				return err
			}
			out[h.Org] = len(ids)
		}
		return nil
	})
	return out, err
}

// TakeAgent takes an agent object that an event names, verified at that event's place,
// and projects it. It reports whether it was wanted; another one is not kept.
func (m *Member) TakeAgent(ctx context.Context, e envelope.Envelope) (bool, error) {
	a, err := envelope.Decode[keyring.Agent](e)
	if err != nil {
		return false, err
	}
	if _, err := self.ViewGetter(ctx, m.n.DB).Get([]byte(parkedKey(a.Org, e.ID()))); errors.Is(err, store.ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	k, err := m.n.Rec.Keys(ctx, a.Org)
	if err != nil {
		return false, err
	}
	t, ok := k.Term(e.ID())
	if !ok {
		return false, nil
	}
	v, err := m.openAgent(ctx, e, k, t)
	if err != nil {
		return false, sourceError(err)
	}
	if err := m.n.DB.Update(ctx, func(tx store.Tx) error { return m.putObject(tx, v) }); err != nil {
		return false, err
	}
	m.projecting.Lock()
	defer m.projecting.Unlock()
	return true, m.projectAgents(ctx, a.Org)
}

// endBindings ends the binding of an organization whose key was compromised or lost after
// it was made: whoever has that key may have made it.
func (m *Member) endBindings(ctx context.Context, org did.DID) error {
	b, ok := m.binding(org)
	if !ok {
		return nil
	}
	if v, err := m.versionOf(ctx, org); err != nil || v == b.body.DIDVersion {
		return nil // nothing newer is held
	}
	list, err := m.rotations(ctx, org)
	if err != nil {
		return err
	}
	for _, r := range list {
		after, err := m.n.Ring.Extends(org, b.body.DIDVersion, r.data.DidVersion)
		if r.data.Reason == "scheduled" || err != nil || !after || r.data.DidVersion == b.body.DIDVersion {
			continue
		}
		return m.dropBinding(ctx, b)
	}
	return nil
}

func (m *Member) dropBinding(ctx context.Context, b bound) error {
	err := m.n.DB.Update(ctx, func(tx store.Tx) error {
		e, ok, err := getObject(tx, bindingKey(b.body.Org))
		if err != nil || !ok || e.ID() != b.env.ID() {
			return err
		}
		return tx.Delete([]byte(bindingKey(b.body.Org)))
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bindings[b.body.Org].env.ID() == b.env.ID() {
		delete(m.bindings, b.body.Org)
		m.changed()
	}
	return nil
}
