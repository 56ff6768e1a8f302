package casefile

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/attestation/history"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/federation/lending"
)

// bodiesOf gathers the bodies and gives each event its own.
func (p *opener) bodiesOf() error {
	for l, b := range of[bundle.Body](p) {
		p.bodies[b.ID()] = held{b.Body, l.n}
	}
	for i := range p.Entries {
		if b, ok := p.bodies[p.Entries[i].event().Body]; ok {
			p.Entries[i].Body = b.body
		}
	}
	return nil
}

// agentObjects opens every agent object under the organization's key at the index of the
// agent.issued that names it.
func (p *opener) agentObjects() error {
	for l, e := range of[bundle.Envelope](p) {
		if e.Type != keyring.AgentType {
			continue
		}
		if a, err := envelope.Decode[keyring.Agent](e.Envelope); p.lenient && err == nil {
			if _, issued := p.keys[a.Org].Term(e.ID()); !issued {
				p.alone = append(p.alone, Numbered{e, l.n})
				continue
			}
		}
		v, err := p.openAgent(e.Envelope)
		if err != nil {
			return fault(l.n, "agent object %s: %v", e.ID(), err)
		}
		p.agents[v.ID()] = agent{v, l.n}
	}
	return nil
}

func (p *opener) openAgent(e envelope.Envelope) (envelope.Verified[keyring.Agent], error) {
	a, err := envelope.Decode[keyring.Agent](e)
	if err != nil {
		return envelope.Verified[keyring.Agent]{}, err
	}
	t, ok := p.keys[a.Org].Term(e.ID())
	if !ok {
		return envelope.Verified[keyring.Agent]{}, fmt.Errorf("no agent.issued of %s in the file names it", p.org(a.Org))
	}
	if t.Agent != a.Agent || t.Name != a.Name || t.Serial != a.Serial {
		return envelope.Verified[keyring.Agent]{}, fmt.Errorf("%s %d issued another agent, name or serial under its id", p.org(a.Org), t.From)
	}
	return keyring.OpenAgent(p.ctx, e, p.keys[a.Org].At(t.From))
}

// auditRows holds every row to the root of its audit.rows event.
func (p *opener) auditRows() error {
	return judge(p, p.auditRow, func(r row) error {
		if other, twice := p.rows[r.id]; twice {
			return fault(r.line, "row %s stands in line %d already", r.id, other.line)
		}
		p.rows[r.id] = r
		return nil
	})
}

func (p *opener) auditRow(l line, r bundle.Row) (row, error) {
	id := envelope.IDOf(r.Row)
	e, ok := p.byID[r.Event]
	var d attestation.AuditRows
	if !ok || e.event().Type != "audit.rows" || e.event().Decode(&d) != nil {
		return row{}, pending(l.n, "row %s: no audit.rows event %s is in the file", id, r.Event)
	}
	proof := audit.RowProof{Row: r.Row, Event: r.Event, Index: r.Index, Size: r.Size, Path: hashes(r.Path)}
	if err := proof.Check(d.Root); err != nil {
		return row{}, fault(l.n, "row %s does not lead to the root of %s %d: %v", id, p.org(e.event().Org), e.Index, err)
	}
	content, err := lending.ParseRow(r.Row)
	if err != nil {
		return row{}, fault(l.n, "row %s: %v", id, err)
	}
	return row{content, id, e, r.Index, l.n}, nil
}

func hashes(b []byte) []tlog.Hash {
	var out []tlog.Hash
	for ; len(b) >= tlog.HashSize; b = b[tlog.HashSize:] {
		out = append(out, tlog.Hash(b[:tlog.HashSize]))
	}
	return out
}

// signed opens every other object under the key of the agent that signed it.
func (p *opener) signed() error {
	return judge(p, p.object, func(o object) error {
		if o.body == nil {
			return nil // charters and agent objects are judged elsewhere
		}
		if other, twice := p.objects[o.id]; twice {
			return fault(o.line, "%s stands in line %d already", o.id, other.line)
		}
		p.objects[o.id] = o
		return nil
	})
}

// object opens what an agent signed; the zero object for what organizations did.
func (p *opener) object(l line, e bundle.Envelope) (o object, err error) {
	switch e.Type {
	case charter.Type, keyring.AgentType:
		return object{}, nil
	case lending.PermissionType:
		o, err = openObject[lending.Permission](p, e.Envelope)
	case lending.RevocationType:
		o, err = openObject[lending.Revocation](p, e.Envelope)
	case lending.ReadRequestType:
		o, err = openObject[lending.ReadRequest](p, e.Envelope)
	case lending.ReceiptType:
		o, err = openObject[lending.Receipt](p, e.Envelope)
	default:
		return object{}, fault(l.n, "%s is no part of a case file", e.Type)
	}
	if errors.Is(err, errNobody) || errors.Is(err, errUnheld) {
		return object{}, pending(l.n, "%s %s: %v", e.Type.What(), e.ID(), err)
	}
	if err != nil {
		return object{}, fault(l.n, "%s %s: %v", e.Type.What(), e.ID(), err)
	}
	o.line = l.n
	return o, nil
}

// errNobody: without the agent.issued and the object of an agent its key is not known.
var errNobody = errors.New("no agent of anybody in the file")

// openObject opens an object under the key of its signer, in whatever term: whether the
// place of the object lies in that term is part of its grade.
func openObject[T envelope.Body](p *opener, e envelope.Envelope) (object, error) {
	body, err := envelope.Decode[T](e)
	if err != nil {
		return object{}, err
	}
	signer, kid := body.Signer()
	last := fmt.Errorf("its signer %s is %w", signer, errNobody)
	for _, org := range p.agentOrgs(signer) {
		v, err := envelope.Open[T](p.ctx, e, p.keys[org].Agents(p.agentKey, func(history.Term) error { return nil }))
		if err == nil {
			return object{id: v.ID(), body: v.Body(), signer: signer, org: org, kid: kid}, nil
		}
		last = err
	}
	return object{}, last
}

// agentOrgs lists the organizations that issued an agent object for d.
func (s Set) agentOrgs(d did.DID) []did.DID { return s.index.issuers[d] }

// errUnheld: an agent.issued names an agent object that is not in the file.
var errUnheld = errors.New("its key is not known")

// agentKey implements history.Object over the agent objects of the file.
func (s Set) agentKey(_ context.Context, id envelope.ID) (string, did.PublicKey, error) {
	a, ok := s.agents[id]
	if !ok {
		return "", did.PublicKey{}, fmt.Errorf("agent object %s is not in the file: %w", id, errUnheld)
	}
	return a.Body().Key.Kid, a.Body().Key.Pub, nil
}

// stood says whether the key of an object's signer stood in a term that holds.
func (s Set) stood(o object, holds func(history.Term) error) error {
	_, err := s.keys[o.org].Agents(s.agentKey, holds).Key(context.Background(), o.signer, o.kid)
	return err
}

// seenFirst is when an organization other than the log's own first saw an entry: the
// time of what it anchors.
func seenFirst(e Entry) (envelope.Time, bool) {
	return e.SeenOutside(func(o did.DID) bool { return o != e.event().Org })
}

// times says when the entries of a log were first seen by another organization.
func (s Set) times(org did.DID) history.Times {
	return func(index uint64) (envelope.Time, bool) {
		e, ok := s.at(org, index)
		if !ok {
			return envelope.Time{}, false
		}
		return seenFirst(e)
	}
}
