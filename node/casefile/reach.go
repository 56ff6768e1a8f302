package casefile

import (
	"strings"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
	"trustnode/federation/lending"
	"trustnode/mediation"
)

// reach marks what the case uses, from its events on, and fails the first line that is
// left: a file holds nothing that the case does not need.
func (p *opener) reach() error {
	filed := false
	for i := range p.Entries {
		if e := &p.Entries[i]; e.event().Subject == p.Case.String() && ofCase(e.event().Type) {
			filed = filed || e.event().Type == "dispute.filed"
			p.useEvent(e)
		}
	}
	if !filed {
		return fault(1, "the case %s is filed by no event in the file", p.Case)
	}
	p.useSupport()
	for _, l := range p.lines {
		if !p.used[l.n] {
			return fault(l.n, "%s is not used by the case", p.describe(l))
		}
	}
	return nil
}

// ofCase says whether events of a type belong to a case.
func ofCase[T ~string](t T) bool {
	for _, prefix := range []string{"dispute.", "ruling.", "jury."} {
		if strings.HasPrefix(string(t), prefix) {
			return true
		}
	}
	return false
}

// describe names a line for a person.
func (p *opener) describe(l line) string {
	switch k := l.Line.(type) {
	case bundle.Entry:
		for _, e := range p.Entries {
			if e.line == l.n {
				return p.org(e.event().Org) + " " + number(e.Index) + " " + string(e.event().Type)
			}
		}
	case bundle.Envelope:
		return k.Type.What() + " " + k.ID().String()
	case bundle.Body:
		return "body " + k.ID().String()
	case bundle.Row:
		return "row " + envelope.IDOf(k.Row).String()
	}
	return "a line of kind " + l.Kind().String()
}

// useEvent uses an entry with its body, and for an event of the case what the body names.
func (p *opener) useEvent(e *Entry) {
	if p.used[e.line] {
		return
	}
	p.used[e.line] = true
	p.useBody(e.event().Body)
	switch e.event().Type {
	case "dispute.filed":
		if d, err := mediation.ParseDispute(e.Body); err == nil {
			for _, c := range d.Claims {
				p.useObject(c.Perm)
			}
		}
	case "dispute.evidence":
		if m, err := mediation.ParseManifest(e.Body); err == nil {
			for _, it := range m.Items {
				p.useItem(it)
			}
		}
	case "ruling.issued":
		if r, err := mediation.ParseRuling(e.Body); err == nil {
			p.useBody(r.Reasons)
			p.useBody(r.Dissent)
		}
	}
}

func (p *opener) useBody(id envelope.ID) {
	if b, ok := p.bodies[id]; ok {
		p.used[b.line] = true
	}
}

// useItem uses whatever the file holds under an item's id.
func (p *opener) useItem(it mediation.Item) {
	p.useBody(it.ID)
	p.useObject(it.ID)
	p.useRow(it.ID)
	if e, ok := p.byID[it.ID]; ok {
		p.useEvent(e)
	}
	if a, ok := p.agents[it.ID]; ok {
		p.useAgent(a.Body().Agent)
	}
}

func (p *opener) useRow(id envelope.ID) {
	if r, ok := p.rows[id]; ok {
		p.used[r.line] = true
		p.useEvent(r.entry)
	}
}

// useObject uses an object, the events that anchor it and the agents it names.
func (p *opener) useObject(id envelope.ID) {
	o, ok := p.objects[id]
	if !ok { // its id is all there is, and what names it
		p.useAnchors("loan.issued", id)
		p.useAnchors("loan.revoked", id)
	}
	if !ok || p.used[o.line] {
		return
	}
	p.used[o.line] = true
	p.useAgent(o.signer)
	switch b := o.body.(type) {
	case lending.Permission:
		p.useAgent(b.Borrower)
		p.useAnchors("loan.issued", id)
	case lending.Revocation:
		p.useAnchors("loan.revoked", id)
	case lending.Receipt:
		p.useRow(b.Row)
	}
}

// useAnchors uses the events of a type that rest on an object.
func (p *opener) useAnchors(typ attestation.Type, id envelope.ID) {
	for _, i := range p.index.anchors[anchor{typ, id}] {
		p.useEvent(&p.Entries[i])
	}
}

// useAgent uses all that the file says of an agent.
func (p *opener) useAgent(d did.DID) {
	if p.agentsUsed[d] {
		return
	}
	p.agentsUsed[d] = true
	for _, i := range p.index.agents[d.String()] {
		p.used[p.Entries[i].line] = true
	}
	for _, a := range p.agents {
		if a.Body().Agent == d {
			p.used[a.line] = true
		}
	}
}

// useSupport uses what judging the entries of a log takes: its beginning, its rotations,
// and where it rotated, which charters of the chain it signed before.
func (p *opener) useSupport() {
	spoke, rotated := map[did.DID]bool{}, map[did.DID]bool{}
	for _, e := range p.Entries {
		if p.used[e.line] {
			spoke[e.event().Org] = true
		}
		rotated[e.event().Org] = rotated[e.event().Org] || e.event().Type == "key.rotated"
	}
	for _, e := range p.Entries {
		org, t := e.event().Org, e.event().Type
		signed := t == "charter.signed" && rotated[org] && p.inChain(e.event().Subject)
		if spoke[org] && (t == "log.opened" || t == "key.rotated" || signed) {
			p.used[e.line] = true
		}
	}
}

func (p *opener) inChain(id string) bool {
	body, err := envelope.ParseID(id)
	if err != nil {
		return false
	}
	_, ok := p.Chain.Find(body)
	return ok
}
