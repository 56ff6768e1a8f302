package party

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/mediation"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/store"
)

// keyFiled holds what this organization filed against another one: filedRow.
const keyFiled = "fil/" // fil/<respondent>

// filedRow guards the number of open cases of a pair: a filing writes it in its own
// transaction, so two at once cannot both be the last one that fits.
type filedRow struct {
	Cases []envelope.ID `json:"cases"` // that were open when it was written
}

// File opens a case over a loan of this organization, with the evidence that this node
// holds attached, and returns it. Refusals are *fault.Denied: invalid/item where nothing
// provable is held, conflict/open_cases, conflict/joined with the case in the hint,
// refused/no_mediator, refused/one_house, refused/not_a_party.
func (p *Party) File(ctx context.Context, in Filing) (View, error) {
	relief, err := reliefOf(in)
	if err != nil {
		return View{}, err
	}
	l, err := p.loanOf(ctx, in.Loan)
	if err != nil {
		return View{}, err
	}
	if err := p.hear(ctx, l.Borrower); err != nil {
		return View{}, err
	}
	if err := p.n.Rec.Flush(ctx); err != nil { // rows get their places
		return View{}, err
	}
	p.filing.Lock()
	defer p.filing.Unlock()
	for range 3 {
		id, last, err := p.file(ctx, l, relief)
		if errors.Is(err, errMoved) {
			continue
		}
		if err != nil {
			return View{}, err
		}
		f, err := p.settled(ctx, id, last, last)
		if err != nil {
			return View{}, err
		}
		return p.view(ctx, f)
	}
	return View{}, fault.New(fault.Conflict, "busy", "the open cases changed while this one was filed")
}

// reliefOf holds a filing to what this version knows.
func reliefOf(in Filing) ([]string, error) {
	if in.Reason != "R1" {
		d := fault.New(fault.Invalid, "reason", "no evidence is attached for %.20q", in.Reason)
		if m := mediation.Meaning(in.Reason); m != "" {
			return nil, d.WithHint("%s (%s) cannot be filed by this version; R1 is %s", in.Reason, m, mediation.Meaning("R1"))
		}
		return nil, d.WithHint("R1: %s", mediation.Meaning("R1"))
	}
	if len(in.Relief) == 0 {
		return []string{"score"}, nil
	}
	out := slices.Clone(in.Relief)
	slices.Sort(out)
	out = slices.Compact(out)
	for _, r := range out {
		if r != "score" {
			return nil, fault.New(fault.Invalid, "relief", "relief %.20q cannot be carried out by this version", r).WithHint("ask for: score")
		}
	}
	return out, nil
}

// file decides over a filing and commits it: id of the case, and of its last event.
func (p *Party) file(ctx context.Context, l loan, relief []string) (id, last envelope.ID, err error) {
	d := draft{loan: l, relief: relief}
	if d.respondent, err = p.respondent(l); err != nil {
		return id, last, err
	}
	if d.terms, err = p.termsOf(l); err != nil {
		return id, last, err
	}
	if err := d.allowed(p.n.Org); err != nil {
		return id, last, err
	}
	if d.evidence, err = p.afterEnd(ctx, l); err != nil {
		return id, last, err
	}
	if err := p.room(ctx, &d); err != nil {
		return id, last, err
	}
	if err := d.write(); err != nil {
		return id, last, err
	}
	err = p.n.DB.Update(ctx, func(tx store.Tx) error {
		last, err = p.commit(tx, d)
		return err
	})
	return d.id, last, err
}

// draft is a filing before it is committed.
type draft struct {
	loan
	evidence
	relief     []string
	respondent did.DID
	terms      mediation.Terms

	was  []byte        // row of keyFiled as it was read; nil: none
	open []envelope.ID // of it, what is still open

	id       envelope.ID
	dispute  []byte
	manifest []byte
}

func (p *Party) respondent(l loan) (did.DID, error) {
	switch p.n.Org {
	case l.lender:
		return l.borrower, nil
	case l.borrower:
		return l.lender, nil
	}
	return did.DID{}, fault.New(fault.Refused, "not_a_party", "the loan is between %s and %s", l.lender, l.borrower)
}

// termsOf are those of the charter that the permission pins.
func (p *Party) termsOf(l loan) (mediation.Terms, error) {
	chain, ok := p.n.Standing.Charter()
	if !ok || l.GoverningCharter == nil {
		return mediation.Terms{}, fault.New(fault.Refused, "no_charter", "no charter governs the loan")
	}
	t := termsIn(chain, mediation.CharterRef{ID: l.GoverningCharter.ID, Seq: l.GoverningCharter.Seq})
	if t.Charter.ID.IsZero() {
		return t, fault.New(fault.Refused, "no_charter", "charter %d, which governs the loan, is not in the chain here", l.GoverningCharter.Seq)
	}
	return t, nil
}

// allowed says whether the terms let this organization file against the other.
func (d draft) allowed(org did.DID) error {
	if why := d.terms.MayFile(org, d.respondent); why != "" {
		return fault.New(fault.Refused, why, "%s cannot file against %s", org, d.respondent)
	}
	if len(mediators(d.terms, org, d.respondent)) == 0 && !drawn(d.terms, org, d.respondent) {
		return fault.New(fault.Refused, "no_mediator", "nobody can judge between the two").
			WithHint("charter %d has no candidate for %s and %s; name one: trustnode fed propose --add MEDIATOR.join --no-vote", d.terms.Charter.Seq, org, d.respondent)
	}
	return nil
}

// drawn says whether a rung other than neutral has somebody outside both houses.
func drawn(t mediation.Terms, a, b did.DID) bool {
	if !slices.ContainsFunc(t.Ladder, func(r string) bool { return r == "rotating" || r == "panel" || r == "contract" }) {
		return false
	}
	return slices.ContainsFunc(t.Members, func(m mediation.Member) bool { return m.Active && t.Neither(m.Org, a, b) })
}

// room counts the open cases of the pair and refuses what would join one of them.
func (p *Party) room(ctx context.Context, d *draft) error {
	err := p.n.DB.View(ctx, func(r store.Reader) error {
		b, err := r.Get([]byte(keyFiled + d.respondent.String()))
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		d.was = bytes.Clone(b)
		return err
	})
	if err != nil {
		return err
	}
	ids, err := p.known(ctx)
	if err != nil {
		return err
	}
	var row filedRow
	if d.was != nil {
		if err := envelope.Unmarshal(d.was, &row); err != nil {
			return err
		}
	}
	count := 0
	for _, id := range union(ids, row.Cases) {
		f, err := p.look(ctx, id)
		if err != nil {
			return err
		}
		mine := f.Claimant == p.n.Org && f.Respondent == d.respondent
		if f.ID.IsZero() {
			// Committed here and not yet in the log; of anybody else it is no case.
			if !slices.Contains(row.Cases, id) {
				continue
			}
			mine = true
		} else if !open(f.State) || !mine && !(f.Claimant == d.respondent && f.Respondent == p.n.Org) {
			continue
		}
		if count++; mine {
			d.open = append(d.open, id)
		}
		if c, ok := same(f, d.Borrower); ok && mine {
			return joined(id, c, d.loan.id)
		}
	}
	if count >= mediation.MaxOpen {
		return fault.New(fault.Conflict, "open_cases", "%d cases are open between the two", count).WithHint("%d of %d open", count, mediation.MaxOpen)
	}
	return nil
}

func union(a, b []envelope.ID) []envelope.ID {
	out := slices.Clone(a)
	for _, id := range b {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// same finds the claim of a case that is on this subject and on R1.
func same(f folded, subject did.DID) (mediation.Claim, bool) {
	for _, c := range f.Dispute.Claims {
		if c.Code == "R1" && c.Subject == subject {
			return c, true
		}
	}
	return mediation.Claim{}, false
}

// joined refuses a second filing on what a case is already about. Another loan of the
// same agent would be a claim of its own, and a case takes none after it was filed.
func joined(id envelope.ID, c mediation.Claim, perm envelope.ID) error {
	d := fault.New(fault.Conflict, "joined", "case %s is open on the same subject and code", id)
	if c.Perm == perm {
		return d.WithHint("joined %s as claim %d", id, c.N)
	}
	return d.WithHint("claim %d of it is about another loan, and a case takes no further claims: file again when it is decided", c.N)
}

// write makes the bodies: the manifest first, for the dispute names it.
func (d *draft) write() (err error) {
	if d.manifest, err = envelope.Marshal(d.evidence.manifest); err != nil {
		return err
	}
	if _, err := mediation.ParseManifest(d.manifest); err != nil {
		return err
	}
	body := mediation.Dispute{Against: d.respondent, Charter: d.terms.Charter, Claims: []mediation.Claim{d.claim},
		Evidence: envelope.IDOf(d.manifest), Nonce: random16(), Relief: d.relief, Track: "normal"}
	if d.dispute, err = envelope.Marshal(body); err != nil {
		return err
	}
	d.id = envelope.IDOf(d.dispute)
	_, err = mediation.ParseDispute(d.dispute)
	return err
}

// commit writes a filing in one transaction: guard, events with their bodies, grants.
func (p *Party) commit(tx store.Tx, d draft) (envelope.ID, error) {
	if err := guard(tx, d); err != nil {
		return envelope.ID{}, err
	}
	subject := d.id.String()
	if _, err := p.n.Rec.Event(tx, attestation.Draft{Type: "dispute.filed", Subject: subject, Body: d.dispute}); err != nil {
		return envelope.ID{}, err
	}
	facts := attestation.DisputeEvidence{Facts: []attestation.Facts{d.facts}}
	if _, err := p.n.Rec.Event(tx, attestation.Draft{Type: "dispute.evidence", Subject: subject, Data: facts, Body: d.manifest}); err != nil {
		return envelope.ID{}, err
	}
	if err := p.grant(tx, d); err != nil {
		return envelope.ID{}, err
	}
	return p.ready(tx, d.id)
}

// guard writes the row of open cases, if it is still what was read.
func guard(tx store.Tx, d draft) error {
	key := []byte(keyFiled + d.respondent.String())
	now, err := tx.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		now, err = nil, nil
	}
	if err != nil {
		return err
	}
	if !bytes.Equal(now, d.was) {
		return errMoved
	}
	b, err := envelope.Marshal(filedRow{Cases: append(slices.Clone(d.open), d.id)})
	if err != nil {
		return err
	}
	return tx.Set(key, b)
}

// grant lets the other party and whoever may be asked to judge have the manifest and
// every item, and every member the dispute.
func (p *Party) grant(tx store.Tx, d draft) error {
	if err := p.n.Lib.GrantAll(tx, d.id); err != nil {
		return err
	}
	readers := append(mediators(d.terms, p.n.Org, d.respondent), d.respondent)
	return grantAll(tx, p.n.Lib, envelope.IDOf(d.manifest), d.evidence.manifest, readers)
}

func grantAll(tx store.Tx, lib *library.Library, manifest envelope.ID, m mediation.Manifest, readers []did.DID) error {
	if err := lib.Grant(tx, manifest, readers...); err != nil {
		return err
	}
	for _, it := range m.Items {
		if err := lib.Grant(tx, it.ID, readers...); err != nil {
			return err
		}
	}
	return nil
}

// ready says that this party has nothing to add before a mediator sits.
func (p *Party) ready(tx store.Tx, id envelope.ID) (envelope.ID, error) {
	return p.n.Rec.Event(tx, attestation.Draft{Type: "dispute.readied", Subject: id.String(), Data: attestation.DisputeReadied{State: string(mediation.Drawing)}})
}
