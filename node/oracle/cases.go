package oracle

import (
	"slices"
	"time"

	"trustnode/attestation/trust"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/mediation"
)

// byBorrower are the codes whose proof says that a borrower broke a loan.
var byBorrower = []string{"C1", "P1", "R1", "S1", "S2", "T1", "T2"}

// withCases adds the signals of cases to those of loans.
func (f found) withCases(cases []mediation.Case) []trust.Signal {
	out := slices.Clip(f.loans)
	for _, c := range cases {
		out = append(out, f.counters(c)...)
		out = append(out, f.effects(c)...)
	}
	return out
}

func final(c mediation.Case) bool {
	return c.Decision != nil && (c.State == mediation.Final || c.State == mediation.Enforced)
}

// ruled names the permissions on which a final ruling found that the borrower broke them.
func ruled(cases []mediation.Case) map[envelope.ID]bool {
	out := map[envelope.ID]bool{}
	for _, c := range cases {
		if !final(c) {
			continue
		}
		for i, x := range c.Decision.Claims {
			if cl := c.Dispute.Claims[i]; x.Result == "proven" && slices.Contains(byBorrower, cl.Code) {
				out[cl.Perm] = true
			}
		}
	}
	return out
}

// counters say of a case that it was opened and how it ended, for both sides. A case that
// was withdrawn says nothing of anybody.
func (f found) counters(c mediation.Case) []trust.Signal {
	if c.State == mediation.Withdrawn {
		return nil
	}
	both := func(id envelope.ID, at time.Time, claimant, respondent trust.Code) []trust.Signal {
		return []trust.Signal{
			{ID: id, At: at.Unix(), Subject: c.Claimant, Org: c.Claimant, Other: c.Respondent, Code: claimant},
			{ID: id, At: at.Unix(), Subject: f.accused(c), Org: c.Respondent, Other: c.Claimant, Code: respondent},
		}
	}
	filed := c.Events[0].ID
	out := both(filed, c.Filed(), trust.Opened, trust.Opened)
	switch {
	case c.State == mediation.Unresolved:
		out = append(out, both(filed, c.Since, trust.Undecided, trust.Undecided)...)
	case final(c):
		won, lost := ended(c)
		out = append(out, both(c.Decision.Event, c.Decision.At, won, lost)...)
	}
	return out
}

// ended says how a final case ended for claimant and respondent.
func ended(c mediation.Case) (claimant, respondent trust.Code) {
	switch c.Decision.Outcome {
	case "claimant", "partial":
		if c.Defaulted {
			return trust.Won, trust.Defaulted
		}
		return trust.Won, trust.Lost
	case "respondent", "abusive":
		return trust.Lost, trust.Won
	}
	return trust.Undecided, trust.Undecided
}

// accused is whom a case is about: the agent of the first claim, if the respondent's own
// log issued it, else the respondent.
func (f found) accused(c mediation.Case) did.DID {
	if s := c.Dispute.Claims[0].Subject; f.issued[claim{c.Respondent, s}] {
		return s
	}
	return c.Respondent
}

// effects are what a final case does to scores. A claim on somebody else's agent does
// nothing: whoever files and whoever admits could agree on it.
func (f found) effects(c mediation.Case) []trust.Signal {
	var out []trust.Signal
	for i, e := range c.Effects() {
		if e.Subject != e.Org && !f.issued[claim{e.Org, e.Subject}] {
			continue
		}
		out = append(out, trust.Signal{ID: e.Event, At: e.At.Unix(), Subject: e.Subject, Org: e.Org, Other: e.Other,
			Code: trust.Code(e.Code), Severity: int64(e.Severity), Acts: int64(e.Acts), Part: int64(i)})
	}
	if final(c) && !c.Decision.Admitted {
		d := c.Decision
		out = append(out, trust.Signal{ID: d.Event, At: d.At.Unix(), Subject: d.By, Org: d.By, Code: "judged"})
	}
	return out
}
