package casefile

import (
	"trustnode/attestation"
	"trustnode/attestation/history"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/mediation"
)

// fold gives the case of the file and what its exhibits show.
func (s *Set) fold() (mediation.Case, mediation.Report) {
	s.rules, s.answers = s.terms(), map[envelope.ID][]row{}
	for _, r := range s.sortedRows() {
		if id := requestOf(r.Row); !id.IsZero() {
			s.answers[id] = append(s.answers[id], r)
		}
	}
	c := mediation.Fold(s.rules, s.Facts(), s.asOf)
	return c, mediation.Weigh(c, func(by did.DID, it mediation.Item) mediation.Exhibit { return s.exhibit(c, by, it) })
}

// Facts gives the events of the case.
func (s Set) Facts() (out []attestation.Fact) {
	for _, e := range s.Entries {
		if e.event().Subject == s.Case.String() && ofCase(e.event().Type) {
			out = append(out, e.Fact)
		}
	}
	return out
}

// terms are those of the charter that the dispute names.
func (s Set) terms() mediation.Terms {
	for _, e := range s.Entries {
		if e.event().Type != "dispute.filed" || e.event().Subject != s.Case.String() {
			continue
		}
		if d, err := mediation.ParseDispute(e.Body); err == nil && envelope.IDOf(e.Body) == s.Case {
			t := TermsOf(s.Chain, d.Charter.Seq)
			t.Parties = s.parties(d)
			return t
		}
	}
	return mediation.Terms{}
}

// parties names the organizations of each loan a dispute is about, where the file shows
// them.
func (s Set) parties(d mediation.Dispute) map[envelope.ID][2]did.DID {
	out := map[envelope.ID][2]did.DID{}
	for _, c := range d.Claims {
		o, ok := s.objects[c.Perm]
		p, isPerm := o.body.(lending.Permission)
		if !ok || !isPerm {
			continue
		}
		for _, org := range s.agentOrgs(p.Borrower) {
			if org != o.org {
				out[c.Perm] = [2]did.DID{o.org, org}
			}
		}
	}
	return out
}

// finding is an exhibit while it is made.
type finding struct {
	Set
	c mediation.Case
	mediation.Exhibit
}

func (f *finding) grade(g mediation.Grade, why string) mediation.Exhibit {
	f.Grade, f.Why = g, why
	return f.Exhibit
}

// exhibit says what an item is and how far the file proves it.
func (s Set) exhibit(c mediation.Case, _ did.DID, it mediation.Item) mediation.Exhibit {
	f := &finding{Set: s, c: c}
	if o, ok := s.objects[it.ID]; ok {
		if what := kindOf(o); what != it.Kind {
			return f.grade(mediation.Contradicted, "the object is a "+what)
		}
		f.At, f.Org = dated(o), o.org
		return f.object(o, it)
	}
	switch it.Kind {
	case "row":
		return f.row(it)
	case "document":
		if _, ok := s.bodies[it.ID]; ok {
			return f.grade(mediation.Attested, "a text, signed by nothing but the manifest")
		}
	case "event":
		if e, ok := s.byID[it.ID]; ok {
			f.Org, f.Place = e.event().Org, &mediation.Where{Index: e.Index, Org: e.event().Org}
			return f.under(*e, it)
		}
	case "agent":
		if a, ok := s.agents[it.ID]; ok {
			f.Org = a.Body().Org
			return f.grade(mediation.Proven, "")
		}
	}
	if _, ok := s.byID[it.ID]; ok {
		return f.grade(mediation.Contradicted, "the id is that of an event")
	}
	return f.absent(it)
}

// absent is an item whose bytes the file lacks.
func (f *finding) absent(it mediation.Item) mediation.Exhibit {
	if org, ok := f.index.cited[it.ID]; ok {
		return f.grade(mediation.HashOnly, "only its id is in the file, in the log of "+f.org(org))
	}
	return f.grade(mediation.Unproven, "it is not in the file")
}

// under grades what lies at an entry: witnessed by an organization outside both parties,
// and where the item says it lies.
func (f *finding) under(e Entry, it mediation.Item) mediation.Exhibit {
	org := e.event().Org
	if w := it.Where; w != nil && (w.Org != org || w.Index != e.Index) {
		return f.grade(mediation.Contradicted, "it lies at "+f.org(org)+" "+number(e.Index))
	}
	outside := func(o did.DID) bool { return o != org && f.rules.Neither(o, f.c.Claimant, f.c.Respondent) }
	if _, ok := e.SeenOutside(outside); !ok {
		return f.grade(mediation.Attested, "nobody outside both parties cosigned "+f.org(org)+" "+number(e.Index))
	}
	return f.grade(mediation.Proven, "")
}

func (f *finding) row(it mediation.Item) mediation.Exhibit {
	r, ok := f.rows[it.ID]
	if !ok {
		return f.absent(it)
	}
	index := r.index
	f.Place = &mediation.Where{Index: r.entry.Index, Org: r.entry.event().Org, Row: &index}
	f.Org = r.entry.event().Org
	if w := it.Where; w != nil && w.Row != nil && *w.Row != index {
		return f.grade(mediation.Contradicted, "it is row "+number(index)+" there")
	}
	switch b := r.Row.(type) {
	case lending.GrantedRow:
		f.Perm, f.Request, f.Borrower, f.Op, f.At = b.Perm, b.Request, b.Borrower, b.Op, b.At.Time()
	case lending.DeniedRow:
		f.Perm, f.Request, f.Borrower, f.Op, f.At, f.Refused = b.Perm, b.Request, b.Borrower, b.Op, b.At.Time(), b.Code
	case lending.ReplayRow:
		f.Perm, f.Request, f.Borrower, f.Op, f.At = b.Perm, b.Request, b.Borrower, b.Op, b.At.Time()
	case lending.IssueRow:
		f.Perm, f.Borrower, f.Op, f.At = b.Perm, b.Borrower, b.Op, b.At.Time()
	case lending.RevokeRow:
		f.Op, f.At = b.Op, b.At.Time()
	}
	return f.under(*r.entry, it)
}

func kindOf(o object) string {
	switch o.body.(type) {
	case lending.Permission:
		return "permission"
	case lending.Revocation:
		return "revocation"
	case lending.ReadRequest:
		return "readrequest"
	}
	return "receipt"
}

// object grades a signed object by what anchors it.
func (f *finding) object(o object, it mediation.Item) mediation.Exhibit {
	switch b := o.body.(type) {
	case lending.Permission:
		f.Perm, f.Lender, f.Borrower = o.id, b.Lender, b.Borrower
		return f.anchored(o, "loan.issued", it)
	case lending.Revocation:
		f.Perm, f.Lender = f.ends(b), b.Issuer
		return f.anchored(o, "loan.revoked", it)
	case lending.ReadRequest:
		f.Perm, f.Request, f.Lender, f.Borrower, f.Op = b.Perm, o.id, b.Aud, b.Borrower, b.Op
		return f.request(o, it)
	case lending.Receipt:
		f.Perm, f.Request, f.Lender, f.Op, f.Granted = b.Perm, b.Request, b.Lender, b.Op, b.Granted()
		return f.receipt(o, b, it)
	}
	return f.grade(mediation.Unproven, "of a kind not known here")
}

// ends gives the permission a revocation ends: its target, or the only one of the file
// that its target has from its issuer.
func (f *finding) ends(r lending.Revocation) envelope.ID {
	if id, err := envelope.ParseID(r.Target); r.TargetKind == lending.TargetPermission && err == nil {
		return id
	}
	var out envelope.ID
	for _, o := range f.objects {
		p, ok := o.body.(lending.Permission)
		if !ok || p.Lender != r.Issuer || r.TargetKind != lending.TargetBorrower || !f.targets(p.Borrower, r.Target) {
			continue
		}
		if !out.IsZero() {
			return envelope.ID{}
		}
		out = o.id
	}
	return out
}

func (s Set) targets(borrower did.DID, target string) bool {
	if borrower.String() == target {
		return true
	}
	for _, org := range s.agentOrgs(borrower) {
		if org.String() == target {
			return true
		}
	}
	return false
}

// anchored grades an object of the log's own agent: the event that names it decides.
func (f *finding) anchored(o object, typ attestation.Type, it mediation.Item) mediation.Exhibit {
	for _, i := range f.index.anchors[anchor{typ, o.id}] {
		e := f.Entries[i]
		if e.event().Org != o.org {
			continue
		}
		f.Place = &mediation.Where{Index: e.Index, Org: o.org}
		if err := f.stood(o, func(t history.Term) error { return t.Holds(e.Index) }); err != nil {
			return f.grade(mediation.Unproven, err.Error())
		}
		return f.under(e, it)
	}
	return f.grade(mediation.Attested, "no "+string(typ)+" of "+f.org(o.org)+" names it")
}

// request grades what the borrower signed: it lies under the lender's audit.rows, and its
// key is judged at the time another organization first saw that.
func (f *finding) request(o object, it mediation.Item) mediation.Exhibit {
	out := f.grade(mediation.Attested, "no row in the file answers it")
	for _, r := range f.answers[o.id] {
		at, seen := seenFirst(*r.entry)
		if !seen {
			out = f.grade(mediation.Attested, "nobody has seen the row that answers it")
			continue
		}
		if err := f.stood(o, func(t history.Term) error { return t.AsOf(at, f.times(o.org)) }); err != nil {
			return f.grade(mediation.Unproven, err.Error())
		}
		it.Where = nil // a request has no place of its own
		if out = f.under(*r.entry, it); out.Grade == mediation.Proven {
			return out
		}
	}
	return out
}

// receipt grades what the lender signed: it names a row of the lender's log.
func (f *finding) receipt(o object, b lending.Receipt, it mediation.Item) mediation.Exhibit {
	r, ok := f.rows[b.Row]
	if !ok || r.entry.event().Org != o.org {
		return f.grade(mediation.Attested, "its row is not in the file")
	}
	if err := f.stood(o, func(t history.Term) error { return t.Holds(r.entry.Index) }); err != nil {
		return f.grade(mediation.Unproven, err.Error())
	}
	it.Where = nil
	return f.under(*r.entry, it)
}
