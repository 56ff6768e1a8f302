package casefile

import (
	"errors"
	"iter"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
	"trustnode/federation/lending"
	"trustnode/mediation"
)

// item adds an exhibit by its kind. Kinds without a form here are left to their id.
func (b *builder) item(it mediation.Item) error {
	switch it.Kind {
	case "permission", "revocation", "readrequest", "receipt":
		if ok, err := b.sharedObject(it.ID); !ok || err != nil {
			return err
		}
		return b.object(it.ID)
	case "row":
		return b.row(it.ID)
	case "document":
		return b.text(it.ID)
	case "agent":
		return b.agents(attestation.Query{Type: "agent.", Ref: it.ID})
	case "event":
		return b.cited(it)
	}
	return nil
}

// cited adds an event that an item names by its place.
func (b *builder) cited(it mediation.Item) error {
	if it.Where == nil {
		return nil
	}
	index, err := b.find(it.Where.Org, it.ID)
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	e, err := b.entry(it.Where.Org, index, it.ID, b.outside)
	if err != nil || e == nil {
		return err
	}
	_, ev, err := e.Envelope()
	if err != nil {
		return err
	}
	if ok, err := b.sharedBody(ev); !ok || err != nil {
		return err
	}
	return b.body(ev.Body)
}

// text adds a text that a party handed in.
func (b *builder) text(id envelope.ID) error {
	body, err := b.s.Body(b.ctx, id)
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := mediation.ParseDocument(body); err != nil {
		return nil // the private body of some event, under a false name
	}
	if foreign, err := b.foreignText(id); foreign || err != nil {
		return err
	}
	return b.body(id)
}

// find gives the index of an event in the log of an organization.
func (b *builder) find(org did.DID, id envelope.ID) (uint64, error) {
	log, err := b.s.Log(b.ctx, org)
	if err != nil {
		return 0, err
	}
	return log.Find(b.ctx, id)
}

// object adds a signed object, the events that anchor it and the agents it names.
func (b *builder) object(id envelope.ID) error {
	if id.IsZero() || !b.first("object", id) {
		return nil
	}
	e, err := b.s.Object(b.ctx, id)
	if absent(err) { // what names it shows its id
		return errors.Join(b.anchors(attestation.Query{Type: "loan.issued", Ref: id}), b.anchors(attestation.Query{Type: "loan.revoked", Ref: id}))
	}
	if err != nil {
		return err
	}
	switch e.Type {
	case lending.PermissionType:
		err = b.permission(e)
	case lending.RevocationType:
		err = errors.Join(b.agent(signerOf(e)), b.anchors(attestation.Query{Type: "loan.revoked", Ref: id}))
	case lending.ReadRequestType:
		err = b.agent(signerOf(e))
	case lending.ReceiptType:
		err = b.receipt(e)
	default:
		return nil
	}
	if err != nil || !b.known[signerOf(e)] {
		return err // nobody could check an object of an agent that is not held
	}
	b.lines = append(b.lines, bundle.Envelope{Envelope: e})
	return nil
}

// signerOf is the agent that an object says signed it.
func signerOf(e envelope.Envelope) (d did.DID) {
	switch e.Type {
	case lending.PermissionType:
		d = claimedBy[lending.Permission](e)
	case lending.RevocationType:
		d = claimedBy[lending.Revocation](e)
	case lending.ReadRequestType:
		d = claimedBy[lending.ReadRequest](e)
	case lending.ReceiptType:
		d = claimedBy[lending.Receipt](e)
	}
	return d
}

func claimedBy[T envelope.Body](e envelope.Envelope) did.DID {
	body, err := envelope.Decode[T](e)
	if err != nil {
		return did.DID{}
	}
	d, _ := body.Signer()
	return d
}

func (b *builder) permission(e envelope.Envelope) error {
	p, err := envelope.Decode[lending.Permission](e)
	if err != nil {
		return err
	}
	return errors.Join(b.agent(p.Lender), b.agent(p.Borrower), b.anchors(attestation.Query{Type: "loan.issued", Ref: e.ID()}))
}

func (b *builder) receipt(e envelope.Envelope) error {
	r, err := envelope.Decode[lending.Receipt](e)
	if err != nil {
		return err
	}
	if err := b.agent(r.Signed); err != nil || r.Row.IsZero() {
		return err
	}
	return b.row(r.Row)
}

// anchors adds the events a query selects, at a head that an organization outside both
// parties saw as early as any.
func (b *builder) anchors(q attestation.Query) error {
	facts, err := b.facts(q)
	if err != nil {
		return err
	}
	for _, f := range facts {
		if err := b.fact(f, b.outside); err != nil {
			return err
		}
	}
	return nil
}

// row adds an audit row with its audit.rows event.
func (b *builder) row(id envelope.ID) error {
	if !b.first("row", id) {
		return nil
	}
	p, err := b.s.Row(b.ctx, id)
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if ok, err := b.sharedRow(p.Row); !ok || err != nil {
		return err
	}
	found := false
	for org := range b.members() {
		index, err := b.find(org, p.Event)
		if absent(err) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := b.entry(org, index, p.Event, b.outside); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return nil
	}
	b.lines = append(b.lines, RowLine(p))
	return nil
}

// RowLine is the line of a row with its path.
func RowLine(p audit.RowProof) bundle.Row {
	path := []byte{}
	for _, h := range p.Path {
		path = append(path, h[:]...)
	}
	return bundle.Row{Event: p.Event, Index: p.Index, Path: path, Row: p.Row, Size: p.Size}
}

// members yields every organization the charters name.
func (b *builder) members() iter.Seq[did.DID] {
	return func(yield func(did.DID) bool) {
		seen := map[did.DID]bool{}
		for _, c := range b.bodies {
			for _, m := range c.Members {
				if !seen[m.DID] && !yield(m.DID) {
					return
				}
				seen[m.DID] = true
			}
		}
	}
}

// agent adds all that is said of an agent: objects, agent.issued, agent.revoked.
func (b *builder) agent(d did.DID) error {
	if !b.first("agent", d) {
		return nil
	}
	return b.agents(attestation.Query{Type: "agent.", Subject: d.String()})
}

func (b *builder) agents(q attestation.Query) error {
	facts, err := b.facts(q)
	if err != nil {
		return err
	}
	for _, f := range facts {
		if err := b.fact(f, others); err != nil {
			return err
		}
		var d attestation.AgentIssued
		if f.Event.Body().Type != "agent.issued" || f.Event.Body().Decode(&d) != nil || !b.first("agent object", d.ID) {
			continue
		}
		e, err := b.s.Object(b.ctx, d.ID)
		if absent(err) {
			continue
		}
		if err != nil {
			return err
		}
		b.known[d.Agent] = true
		b.lines = append(b.lines, bundle.Envelope{Envelope: e})
	}
	return nil
}
