package casefile

import (
	"fmt"
	"strings"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/mediation"
)

// words gathers the lines of a report.
type words struct {
	Report
	s Set
	c mediation.Case
}

// Words says what a set proves of its case: trust, ok, claim and unsaid lines, without
// file and result.
func (s Set) Words(c mediation.Case, r mediation.Report) []Line {
	w := &words{s: s, c: c}
	w.trust()
	w.entries()
	w.filing()
	w.loans(r)
	w.machine(r)
	w.steps()
	w.ruling()
	w.unsaid(r)
	return w.Lines
}

func (w *words) trust() {
	head := w.s.Chain.Head()
	from := "the genesis in this file only, compare " + fingerprint(w.s)
	if w.s.Vouched != "" {
		from = w.s.Vouched
	}
	w.add("trust", "%s: charter %d, walked 0..%d from %s; newest statement in the file %s", quote(head.Name), head.Seq, head.Seq, from, w.s.Newest)
}

func (w *words) entries() {
	for _, e := range w.s.Entries {
		w.entry(e)
	}
	for _, o := range w.s.sortedObjects() {
		w.object(o)
	}
	for _, r := range w.s.sortedRows() {
		w.row(r)
	}
}

// witnessed counts who has seen an entry, of how many the charter asks for. Without a charter
// nobody has to, which is said; how many others should have is then not known.
func (w *words) witnessed(e Entry) string {
	if w.s.Chain.IsZero() {
		if len(e.Witnessed) == 0 {
			return "witnessed 0 of 0" // nobody has to
		}
		return haveNeed(len(e.Witnessed), -1)
	}
	return haveNeed(len(e.Witnessed), int(min(w.s.Chain.Head().Policy.FreshQuorum, maxNotes)))
}

// haveNeed says how many organizations cosigned, and how many are asked for; below 0 that is not known.
func haveNeed(have, need int) string {
	switch {
	case need >= 0:
		return fmt.Sprintf("witnessed by %d, %d needed", have, need)
	case have == 0:
		return "witnessed by nobody"
	}
	return fmt.Sprintf("witnessed by %d", have)
}

func (w *words) entry(e Entry) {
	key := e.kid
	if len(key) > 10 {
		key = key[:10] + "…"
	}
	w.add("ok", "%s %d  %s  %s  key %s %s; head %d, %s%s", w.s.org(e.event().Org), e.Index, e.event().Type,
		e.Event.ID(), key, w.stands(e), e.Head.Size, w.witnessed(e), w.seen(e))
}

func (w *words) object(o object) {
	w.add("ok", "%s %s  signed by %s", kindOf(o), o.id, w.s.agentName(o.signer))
}

func (w *words) row(r row) {
	w.add("ok", "row %s  leaf %d of %s %d", r.id, r.index, w.s.org(r.entry.event().Org), r.entry.Index)
}

// stands says how long the key of an entry stood in its log.
func (w *words) stands(e Entry) string {
	for _, o := range w.s.index.rotated {
		var d attestation.KeyRotated
		if o.event().Org != e.event().Org || o.Index <= e.Index || o.event().Decode(&d) != nil {
			continue
		}
		for _, kid := range d.Retired {
			if kid == e.kid {
				return fmt.Sprintf("stood up to %d, rotated at %d", o.Index-1, o.Index)
			}
		}
	}
	return "stands"
}

func (w *words) seen(e Entry) string {
	var out []string
	for _, s := range e.Witnessed {
		out = append(out, w.s.org(s.Org)+" "+s.At.String())
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.Join(out, ", ")
}

func (w *words) filing() {
	w.add("claim", "%s filed case %s against %s at %s, under charter %d", w.s.org(w.c.Claimant), w.c.ID, w.s.org(w.c.Respondent), Stamp(w.c.Filed()), w.c.Dispute.Charter.Seq)
	for _, cl := range w.c.Dispute.Claims {
		w.add("claim", "claim %d alleges %s: %s by %s%s", cl.N, cl.Code, mediation.Meaning(cl.Code), w.s.agentName(cl.Subject), about(cl))
	}
}

func about(cl mediation.Claim) string {
	out := ", " + Count(int(min(cl.Acts, 1<<31)), "act")
	if !cl.Perm.IsZero() {
		out += fmt.Sprintf(", loan %s", cl.Perm)
	}
	return out
}

// loans says what is proven of each loan: its making, its reads, its end.
func (w *words) loans(r mediation.Report) {
	for _, o := range w.s.sortedObjects() {
		if b, ok := o.body.(lending.Permission); ok {
			if x := w.proven(r, o, "permission"); x != nil {
				w.add("claim", "%s lent to %s by permission %s, until %s, for %s, at %s", w.s.agentName(b.Lender), w.s.agentName(b.Borrower), o.id, b.ExpiresAt,
					Count(int(min(b.MaxReads, 1<<31)), "read"), w.where(x.Place))
			}
		}
	}
	end := map[string]*mediation.Where{}
	for _, o := range w.s.sortedObjects() {
		b, ok := o.body.(lending.Revocation)
		if !ok {
			continue
		}
		if x := w.proven(r, o, "revocation"); x != nil {
			w.add("claim", "%s revoked %s %s at %s, for the reason %s", w.s.agentName(b.Issuer), b.TargetKind, b.Target, w.where(x.Place), b.Reason)
			end[x.Perm.String()] = x.Place
		}
	}
	asked := map[askedBy]bool{}
	for _, it := range r.Items {
		if it.Kind == "readrequest" && it.Grade == mediation.Proven {
			asked[askedBy{it.ID, it.Borrower}] = true
		}
	}
	for _, it := range r.Items {
		if it.Kind == "row" && it.Grade == mediation.Proven && !it.Request.IsZero() {
			w.add("claim", "%s", w.read(asked[askedBy{it.Request, it.Borrower}], it, end[it.Perm.String()]))
		}
	}
}

// proven gives the exhibit of an object, if it is proven: as the permission of a claim is
// in the file without being handed in, it is judged on its own.
func (w *words) proven(r mediation.Report, o object, kind string) *mediation.Exhibit {
	for _, it := range r.Items {
		if it.ID == o.id && it.Grade == mediation.Proven {
			return &it.Exhibit
		}
	}
	x := w.s.exhibit(w.c, did.DID{}, mediation.Item{ID: o.id, Kind: kind})
	if kindOf(o) != kind || x.Grade != mediation.Proven {
		return nil
	}
	return &x
}

// askedBy is a request with who signed it.
type askedBy struct {
	request  envelope.ID
	borrower did.DID
}

// read says what one row of a loan shows, and on which side of the revocation it lies.
// Without the borrower's own signed request it is the lender's word.
func (w *words) read(signed bool, it mediation.ItemReport, end *mediation.Where) string {
	who, how := w.s.agentName(it.Borrower), ""
	if !signed {
		who, how = w.s.org(it.Place.Org)+" wrote down that "+who, " (no request signed by the borrower proves it)"
	}
	place := fmt.Sprintf("row %d at %s", *it.Place.Row, w.where(it.Place))
	granted := "was given an answer"
	if it.Refused != "" {
		granted = "was refused as " + quote(it.Refused)
	}
	switch {
	case end != nil && it.Place.Org == end.Org && it.Place.Index > end.Index:
		return fmt.Sprintf("%s read after the end of loan %s and %s: %s, after the revocation at %d%s", who, it.Perm, granted, place, end.Index, how)
	case end != nil && it.Place.Org == end.Org:
		return fmt.Sprintf("%s read under loan %s and %s: %s, before the revocation at %d%s", who, it.Perm, granted, place, end.Index, how)
	}
	return fmt.Sprintf("%s read under loan %s and %s: %s%s", who, it.Perm, granted, place, how)
}

func (w *words) where(p *mediation.Where) string { return w.s.org(p.Org) + " " + number(p.Index) }

// machine says what the logs show by themselves, before anybody's opinion.
func (w *words) machine(r mediation.Report) {
	for _, cl := range r.Claims {
		switch cl.Finding {
		case "proven":
			w.add("claim", "claim %d (%s) is proven by the logs alone: %s, each with the borrower's own signed request", cl.N, cl.Code, Count(int(min(cl.Acts, 1<<31)), "act"))
		default:
			w.add("unsaid", "whether claim %d (%s) is true: %s", cl.N, cl.Code, cl.Why)
		}
	}
}

// steps says what the parties and mediators did.
func (w *words) steps() {
	for _, e := range w.c.Events {
		switch e.Type {
		case "dispute.answered":
			w.add("claim", "%s answered at %s: %s", w.s.org(e.Org), Stamp(e.At), w.replies())
		case "dispute.withdrawn":
			w.add("claim", "%s withdrew the case at %s", w.s.org(e.Org), Stamp(e.At))
		case "ruling.seated":
			w.add("claim", "%s took the seat of mediator at %s, as charter %d names it", w.s.org(e.Org), Stamp(e.At), w.c.Dispute.Charter.Seq)
		case "ruling.recused":
			w.add("claim", "%s declined the seat of mediator at %s", w.s.org(e.Org), Stamp(e.At))
		}
	}
	if w.c.Defaulted {
		w.add("claim", "%s did not answer in time", w.s.org(w.c.Respondent))
	}
}

func (w *words) replies() string {
	var out []string
	for _, cl := range w.c.Dispute.Claims {
		verb := map[string]string{"deny": "denied", "admit": "admitted"}[w.c.Replies[cl.N]]
		out = append(out, fmt.Sprintf("claim %d %s", cl.N, verb))
	}
	return strings.Join(out, ", ")
}

// ruling says in words what is in force, and where the case stands.
func (w *words) ruling() {
	if d := w.c.Decision; d != nil {
		by := w.s.org(d.By) + " ruled " + forWhom(d.Outcome)
		if d.Admitted {
			by = "everything was admitted by " + w.s.org(d.By)
		}
		w.add("claim", "%s at %s: %s", by, Stamp(d.At), w.findings(*d))
		if !d.Admitted {
			w.add("claim", "the ruling says %s", quote(d.Summary))
		}
	}
	for _, id := range w.c.Void {
		w.add("claim", "ruling event %s is void: its seat signed two", id)
	}
	to, at := w.c.Next()
	next := ""
	if !at.IsZero() {
		next = fmt.Sprintf("; if nobody moves it is %s after %s", to, Stamp(at))
	}
	w.add("claim", "as of %s the case is %s%s", Stamp(w.s.asOf), w.c.State, next)
}

func forWhom(outcome string) string {
	switch outcome {
	case "claimant", "respondent":
		return "for the " + outcome
	case "partial":
		return "partly for the claimant"
	case "abusive":
		return "that the filing is abusive"
	}
	return "that it is undecided"
}

func (w *words) findings(d mediation.Decision) string {
	var out []string
	for i, f := range d.Claims {
		text := fmt.Sprintf("claim %d %s", f.N, strings.ReplaceAll(f.Result, "_", " "))
		if f.Result == "proven" && i < len(w.c.Dispute.Claims) {
			b, _ := mediation.BandOf(w.c.Dispute.Claims[i].Code, f.Acts)
			text += fmt.Sprintf(", %s, severity %s of the %d..%d it allows", Count(int(min(f.Acts, 1<<31)), "act"), points(f.Severity), b.Lo, b.Hi)
		}
		out = append(out, text)
	}
	for _, r := range d.Remedies {
		out = append(out, fmt.Sprintf("remedy %d is %s for claim %d", r.N, r.Do, r.Claim))
	}
	return strings.Join(out, "; ")
}

func (w *words) unsaid(r mediation.Report) {
	for _, it := range r.Items {
		if it.Grade != mediation.Proven {
			w.add("unsaid", "item %d of %s (%s) is %s: %s", it.N, w.s.org(it.By), it.Kind, it.Grade, it.Why)
		}
	}
	for _, h := range w.c.Manifests {
		if h.Body == nil {
			w.add("unsaid", "what %s handed in as %s, its list is not in the file", w.s.org(h.By), h.ID)
		}
	}
	for _, i := range w.c.Ignored {
		w.add("unsaid", "nothing by %s of %s: %s", i.Type, w.s.org(i.Org), i.Why)
	}
	if d := w.c.Decision; d != nil && d.Omitted {
		w.add("unsaid", "whether the ruling considered all: it does not rest on exactly the events before it")
	}
	if w.c.Unwitnessed {
		w.add("unsaid", "when steps were taken that no member outside both parties could witness: their time is their signer's word")
	}
	if w.c.Beyond != "" {
		w.add("unsaid", "how the case goes on: %s is not decided by these rules", w.c.Beyond)
	}
	w.add("unsaid", "what happened after %s, and whether keys and agents are valid now", w.s.Newest)
}
