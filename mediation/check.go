package mediation

import (
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Fault is one reason why a ruling is void.
type Fault struct {
	Reason string // bounds, claim, outcome, remedy, seat
	Detail string
}

// Check says what is wrong with a ruling of the sitting mediator; empty: in force. Any
// fault voids the whole ruling, and the seat still owes one.
func (c Case) Check(r Ruling) []Fault {
	var out []Fault
	add := func(reason, format string, args ...any) {
		out = append(out, Fault{reason, fmt.Sprintf(format, args...)})
	}
	if r.Case != c.ID || r.Rung != c.Rung || r.Place != c.Place {
		add("seat", "the ruling is for another seat")
	}
	if len(r.Claims) != len(c.Dispute.Claims) {
		add("claim", "%d findings for %d claims", len(r.Claims), len(c.Dispute.Claims))
		return out
	}
	proven := 0
	for i, f := range r.Claims {
		cl := c.Dispute.Claims[i]
		if f.Result == "proven" {
			proven++
		}
		if why := finding(cl, f); why != "" {
			add("bounds", "%s", why)
		} else if why := c.admitted(cl, f); why != "" {
			add("bounds", "%s", why)
		}
	}
	if !r.Verdict.IsZero() {
		add("verdict", "the ruling cites a verdict, and no jury sat")
	}
	if why := outcomeFits(r.Outcome, proven, len(r.Claims)); why != "" {
		add("outcome", "%s", why)
	}
	for _, f := range c.checkRemedies(r) {
		add("remedy", "%s", f)
	}
	return out
}

// finding checks one finding against its claim and band.
func finding(cl Claim, f Finding) string {
	b, err := band(cl.Code, f.Acts)
	switch {
	case err != nil:
		return err.Error()
	case f.N != cl.N:
		return fmt.Sprintf("finding %d stands where claim %d is", f.N, cl.N)
	case f.Acts > cl.Acts:
		return fmt.Sprintf("claim %d has %d acts, the ruling finds %d", cl.N, cl.Acts, f.Acts)
	case f.Result != "proven" && (f.Severity != 0 || f.Acts != 0):
		return fmt.Sprintf("claim %d is %s and yet weighs something", cl.N, f.Result)
	case f.Result == "proven" && f.Acts == 0:
		return fmt.Sprintf("claim %d is proven without an act", cl.N)
	case f.Result == "proven" && !b.inside(f.Severity):
		return fmt.Sprintf("claim %d (%s, %d acts) allows %d..%d, the ruling says %d", cl.N, cl.Code, f.Acts, b.Lo, b.Hi, f.Severity/1000)
	}
	return ""
}

// admitted holds a finding to what the answer admits: proven, at the lower edge.
func (c Case) admitted(cl Claim, f Finding) string {
	if c.Replies[cl.N] != "admit" {
		return ""
	}
	b, err := band(cl.Code, cl.Acts)
	if err != nil || f.Result == "proven" && f.Acts == cl.Acts && f.Severity == b.Lo*1000 {
		return ""
	}
	return fmt.Sprintf("claim %d was admitted: %d acts, proven at %d", cl.N, cl.Acts, b.Lo)
}

func outcomeFits(o string, proven, all int) string {
	ok := false
	switch o {
	case "claimant":
		ok = proven == all
	case "partial":
		ok = proven > 0
	case "respondent", "undecided", "abusive":
		ok = proven == 0
	}
	if ok {
		return ""
	}
	return fmt.Sprintf("outcome %s does not fit %d of %d claims proven", o, proven, all)
}

func (c Case) checkRemedies(r Ruling) (out []string) {
	for i, m := range r.Remedies {
		j := slices.IndexFunc(r.Claims, func(f Finding) bool { return f.N == m.Claim })
		switch {
		case m.N != uint64(i)+1:
			out = append(out, "remedies are not numbered from 1")
		case j < 0 || r.Claims[j].Result != "proven":
			out = append(out, fmt.Sprintf("remedy %d rests on a claim that is not proven", m.N))
		case m.Do != "score":
			out = append(out, fmt.Sprintf("remedy %d is %q, which this version does not carry out", m.N, m.Do))
		case !slices.Contains(c.Dispute.Relief, m.Do):
			out = append(out, fmt.Sprintf("remedy %d was not asked for", m.N))
		}
	}
	return out
}

// Effect is what a final ruling does to a score.
type Effect struct {
	Event        envelope.ID // of the ruling
	At           time.Time   // of the ruling
	Code         string
	Perm         envelope.ID
	Subject, Org did.DID
	Other        did.DID
	Severity     uint64 // thousandths of a point
	Acts         uint64
}

// Effects are the score effects of a case that is final: of proven claims with a score
// remedy, counted from the time of the ruling.
func (c Case) Effects() []Effect {
	d := c.Decision
	if d == nil || c.State != Final && c.State != Enforced {
		return nil
	}
	var out []Effect
	for i, f := range d.Claims {
		scored := slices.ContainsFunc(d.Remedies, func(r Remedy) bool { return r.Claim == f.N && r.Do == "score" })
		if f.Result != "proven" || !scored {
			continue
		}
		cl := c.Dispute.Claims[i]
		out = append(out, Effect{Event: d.Event, At: d.At, Code: cl.Code, Perm: cl.Perm, Subject: cl.Subject, Org: c.Respondent, Other: c.Claimant, Severity: f.Severity, Acts: f.Acts})
	}
	return out
}
