package casefile

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/federation/lending"
	"trustnode/mediation"
)

// Build writes the file of a case whole, and verifies it before it is handed out: what
// it returns, Open accepts. What is not held here is left out, and the file then proves
// less. Errors: attestation.ErrNotFound where the dispute or its charter is not held,
// those of s, and *Fault for what would not verify.
func Build(ctx context.Context, s Source, id envelope.ID) ([]byte, error) {
	b := &builder{ctx: ctx, s: s, id: id, ring: newRing(), done: map[string]bool{}, orgs: map[did.DID]bool{}, known: map[did.DID]bool{}}
	for _, step := range []func() error{b.charters, b.didLogs, b.events, b.support} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	out, err := encode(id, b.lines)
	if err != nil {
		return nil, err
	}
	if len(out) > MaxFile {
		return nil, fmt.Errorf("case file of %d bytes, limit %d: %w", len(out), MaxFile, attestation.ErrTooLarge)
	}
	if _, _, _, err := Open(ctx, out, Options{}); err != nil {
		return nil, err
	}
	return out, nil
}

type builder struct {
	ctx    context.Context
	s      Source
	id     envelope.ID
	bodies []charter.Head // charters by seq
	ring   *ring
	terms  mediation.Terms
	c      mediation.Case
	lines  []bundle.Line
	done   map[string]bool  // what was added, by kind and id
	orgs   map[did.DID]bool // whose logs have entries in the file
	known  map[did.DID]bool // agents whose object is in the file
}

// first says whether something is added for the first time.
func (b *builder) first(kind string, id fmt.Stringer) bool {
	key := kind + " " + id.String()
	was := b.done[key]
	b.done[key] = true
	return !was
}

func absent(err error) bool { return errors.Is(err, attestation.ErrNotFound) }

func (b *builder) charters() error {
	list, err := b.s.Charters(b.ctx)
	if err != nil {
		return err
	}
	for _, e := range list {
		c, err := envelope.Decode[charter.Body](e)
		if err != nil {
			return err
		}
		b.bodies = append(b.bodies, charter.Head{ID: e.ID(), Body: c})
		if e, err = trueSignatures(e, c); err != nil {
			return err
		}
		b.lines = append(b.lines, bundle.Envelope{Envelope: e})
	}
	if len(b.bodies) == 0 {
		return fmt.Errorf("charter: %w", attestation.ErrNotFound)
	}
	return nil
}

// trueSignatures leaves out what a stranger added to a charter: signatures that are false
// or under no key it names.
func trueSignatures(e envelope.Envelope, c charter.Body) (envelope.Envelope, error) {
	var keys []did.PublicKey
	for _, m := range c.Members {
		keys = append(keys, m.Key.Pub)
	}
	_, report, err := envelope.OpenSet[charter.Body](e, keys, func([]did.PublicKey) error { return nil })
	if err != nil {
		return envelope.Envelope{}, err
	}
	e.Signatures = nil
	for _, r := range report {
		if r.Verdict == envelope.Good {
			e.Signatures = append(e.Signatures, r.Signature)
		}
	}
	return e, nil
}

// didLogs adds the DID log of every organization the charters name.
func (b *builder) didLogs() error {
	for _, c := range b.bodies {
		for _, m := range c.Members {
			if m.DID.Method() != didwebvh.Method || !b.first("did", m.DID) {
				continue
			}
			log, witness, err := b.s.DIDLog(b.ctx, m.DID)
			if err != nil {
				return fmt.Errorf("DID log of %s: %w", m.DID, err)
			}
			if _, err := b.ring.Offer(b.ctx, m.DID, log, witness); err != nil {
				return fmt.Errorf("DID log of %s: %w", m.DID, err)
			}
			for _, part := range bundle.DIDLogs(m.DID, 1, log, witness) {
				b.lines = append(b.lines, part)
			}
		}
	}
	return nil
}

// facts gives all events that a query selects.
func (b *builder) facts(q attestation.Query) ([]attestation.Fact, error) {
	var out []attestation.Fact
	for f, err := range b.s.Facts(b.ctx, q) {
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// events adds the events of the case, and from each what its body names.
func (b *builder) events() error {
	facts, err := b.facts(attestation.Query{Subject: b.id.String()})
	if err != nil {
		return err
	}
	var ours []attestation.Fact
	for _, f := range facts {
		if ofCase(f.Event.Body().Type) {
			ours = append(ours, f)
		}
	}
	if err := b.govern(ours); err != nil {
		return err
	}
	for _, f := range ours {
		if err := b.fact(f, b.outside); err != nil {
			return err
		}
		if err := b.body(f.Event.Body().Body); err != nil {
			return err
		}
		if err := b.named(f); err != nil {
			return err
		}
	}
	return nil
}

// govern finds the charter of the dispute and folds the case, for its parties.
func (b *builder) govern(facts []attestation.Fact) error {
	for _, f := range facts {
		d, err := mediation.ParseDispute(f.Body)
		if f.Event.Body().Type != "dispute.filed" || err != nil || envelope.IDOf(f.Body) != b.id {
			continue
		}
		if d.Charter.Seq >= uint64(len(b.bodies)) {
			return fmt.Errorf("charter %d: %w", d.Charter.Seq, attestation.ErrNotFound)
		}
		b.terms = termsOf(b.bodies[d.Charter.Seq], b.bodies[len(b.bodies)-1].Body)
		b.c = mediation.Fold(b.terms, facts, endOfTime)
	}
	if b.c.State == "" {
		return fmt.Errorf("dispute %s: %w", b.id, attestation.ErrNotFound)
	}
	return nil
}

// counts says whose cosignature gives an entry of own its time.
type counts func(own, witness did.DID) bool

// outside is that of a step of the case: organizations that belong to neither party.
func (b *builder) outside(own, o did.DID) bool {
	return o != own && b.terms.Neither(o, b.c.Claimant, b.c.Respondent)
}

// others is that of what a log anchors: everybody but its owner.
func others(own, o did.DID) bool { return o != own }

// named adds what the body of an event of the case names.
func (b *builder) named(f attestation.Fact) error {
	switch f.Event.Body().Type {
	case "dispute.filed":
		d, err := mediation.ParseDispute(f.Body)
		if err != nil {
			return nil // without form it names nothing
		}
		for _, c := range d.Claims {
			if err := b.object(c.Perm); err != nil {
				return err
			}
		}
	case "dispute.evidence":
		m, err := mediation.ParseManifest(f.Body)
		if err != nil {
			return nil
		}
		for _, it := range m.Items {
			if err := b.item(it); err != nil {
				return err
			}
		}
	case "ruling.issued":
		r, err := mediation.ParseRuling(f.Body)
		if err != nil {
			return nil
		}
		return errors.Join(b.body(r.Reasons), b.body(r.Dissent))
	}
	return nil
}

func (b *builder) body(id envelope.ID) error {
	if id.IsZero() || !b.first("body", id) {
		return nil
	}
	body, err := b.s.Body(b.ctx, id)
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	b.lines = append(b.lines, bundle.Body{Body: body})
	return nil
}

// item adds an exhibit by its kind. Kinds without a form here are left to their id.
func (b *builder) item(it mediation.Item) error {
	switch it.Kind {
	case "permission", "revocation", "readrequest", "receipt":
		return b.object(it.ID)
	case "row":
		return b.row(it.ID)
	case "document":
		return b.body(it.ID)
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
	return b.body(ev.Body)
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
	if _, err := lending.ParseRow(p.Row); err != nil {
		return nil // no row of a loan
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
	path := []byte{}
	for _, h := range p.Path {
		path = append(path, h[:]...)
	}
	b.lines = append(b.lines, bundle.Row{Event: p.Event, Index: p.Index, Path: path, Row: p.Row, Size: p.Size})
	return nil
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
