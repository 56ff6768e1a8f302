package charter

import (
	"fmt"
	"strings"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Words says in plain words what a charter lays down: who, votes, threshold,
// recovery, mediators and deadlines, limits, validity, and every rung of the
// ladder on which nobody could sit. Text from members is quoted.
func Words(b Body) []string {
	lines := []string{fmt.Sprintf("charter %d of the federation %q", b.Seq, b.Name)}
	if raw, err := envelope.Marshal(b); err == nil {
		id := envelope.IDOf(raw)
		lines = append(lines, "id "+id.String())
		if b.Seq == 0 {
			lines = append(lines, "fingerprint "+Fingerprint(id))
		}
	}
	lines = append(lines, memberWords(b)...)
	lines = append(lines, governanceWords(b)...)
	lines = append(lines, recoveryWords(b.Recovery)...)
	lines = append(lines, mediationWords(b)...)
	lines = append(lines, emptyRungs(b)...)
	lines = append(lines, policyWords(b.Policy)...)
	lines = append(lines, specWords(b)...)
	return append(lines, fmt.Sprintf("valid from %s to %s; without a newer charter no loan is issued or read after that", b.NotBefore, b.ExpiresAt))
}

// DiffWords says in plain words what child c changes in its parent p.
func DiffWords(p, c Body) ([]string, error) {
	ops, err := Diff(p, c)
	if err != nil {
		return nil, err
	}
	lines := []string{fmt.Sprintf("charter %d of the federation %q, after charter %d", c.Seq, c.Name, p.Seq)}
	for _, o := range ops {
		lines = append(lines, o.String())
	}
	if len(ops) == 0 {
		lines = append(lines, "nothing changes")
	}
	return append(lines, emptyRungs(c)...), nil
}

func memberWords(b Body) []string {
	var lines []string
	for _, m := range b.Members {
		s := fmt.Sprintf("member %s: %q, %s, signs with %s", m.DID, m.Name, votes(m), m.Key.Pub.Multikey())
		if m.DIDHead != "" {
			s += " at version " + m.DIDHead
		}
		s += fmt.Sprintf(", at most %s", plural(m.BindingsMax, "node"))
		if m.Contact != "" {
			s += fmt.Sprintf(", contact %q", m.Contact)
		}
		if !m.Active() {
			s += ", " + m.Status
		}
		lines = append(lines, s)
	}
	return lines
}

func governanceWords(b Body) []string {
	n, t := uint64(len(b.Voters())), b.Governance.Threshold
	s := fmt.Sprintf("a change needs %d of %s", t, plural(n, "voter"))
	if n > t {
		s += fmt.Sprintf("; %d may be away", n-t)
	}
	if 2*t > n && n > 1 {
		s += fmt.Sprintf("; %d could split the federation by signing twice", 2*t-n)
	}
	return []string{s}
}

func recoveryWords(r Recovery) []string {
	if len(r.Keys) == 0 {
		return []string{"no recovery keys: if too many voters are lost, nothing can be changed any more"}
	}
	lines := []string{fmt.Sprintf("recovery by %d of %s, in effect %s after it is seen", r.Threshold, plural(uint64(len(r.Keys)), "key"), seconds(r.DelayS))}
	for _, k := range r.Keys {
		lines = append(lines, "recovery key "+k.Kid+" "+k.Pub.Multikey())
	}
	return lines
}

func mediationWords(b Body) []string {
	m := b.Mediation
	lines := []string{"a dispute goes to, in this order: " + strings.Join(m.Ladder, ", ")}
	if m.Jury != nil {
		lines = append(lines, fmt.Sprintf("jury: %d jurors, %s", m.Jury.Size, m.Jury.Mode))
	}
	if m.Neutral != nil {
		s := "neutral mediator: " + called(b, m.Neutral.DID)
		for _, d := range m.Neutral.Alternates {
			s += ", then " + called(b, d)
		}
		lines = append(lines, s)
	}
	if c := m.Contract; c != nil {
		lines = append(lines, fmt.Sprintf("contract %s on chain %d, code %s, %d of %s attest; its draw is weaker than that of the members: who orders blocks may influence it",
			c.Address, c.ChainID, c.CodeHash, c.AttestorThreshold, plural(uint64(len(c.AttestorKeys)), "key")))
	}
	lines = append(lines, drawWords(b)...)
	return append(lines, fmt.Sprintf("deadlines: answer %s, evidence %s, mediator accepts %s, decides %s, votes %s, appeal %s, carry out %s",
		seconds(m.RespondWithinS), seconds(m.EvidenceWithinS), seconds(m.AckWithinS), seconds(m.DecideWithinS),
		seconds(m.VoteWithinS), seconds(m.AppealWithinS), seconds(m.EnforceWithinS)))
}

func drawWords(b Body) []string {
	s := "draw from every active member"
	if pool := b.Mediation.Rotating.Pool; len(pool) > 0 {
		var names []string
		for _, d := range pool {
			names = append(names, called(b, d))
		}
		s = "draw from " + strings.Join(names, ", ")
	}
	lines := []string{s + ", never a party or its affiliates"}
	for _, t := range b.Mediation.Rotating.Ties {
		lines = append(lines, fmt.Sprintf("affiliates: %s and %s", called(b, t.A), called(b, t.B)))
	}
	return lines
}

func called(b Body, d did.DID) string {
	if m, ok := b.Member(d); ok {
		return fmt.Sprintf("%q (%s)", m.Name, d)
	}
	return d.String()
}

// emptyRungs says for each rung between which members nobody could sit on it.
func emptyRungs(b Body) []string {
	var lines []string
	s, members := seatsOf(b), b.ActiveMembers()
	for _, name := range b.Mediation.Ladder {
		if name == RungJury {
			continue
		}
		for i, x := range members {
			var with []string
			for _, y := range members[i+1:] {
				if s.rung(b.Mediation, name, x.DID, y.DID).Empty() {
					with = append(with, y.DID.String())
				}
			}
			if len(with) > 0 {
				lines = append(lines, fmt.Sprintf("rung %s is empty between %s and %s", name, x.DID, strings.Join(with, ", ")))
			}
		}
	}
	return lines
}

func policyWords(p Policy) []string {
	lines := []string{
		fmt.Sprintf("a loan lasts at most %s and has at most %s", seconds(p.MaxLoanTTLS), plural(p.MaxReadsPerLoan, "read")),
		fmt.Sprintf("signs of life every %s; new loans need one of the last %s from %s", seconds(p.BeaconEveryS), seconds(p.FreshWithinS), plural(p.FreshQuorum, "other voter")),
		fmt.Sprintf("cut off from the others, running loans are read for %s more; clocks may differ by %s", seconds(p.OfflineGraceS), seconds(p.ClockSkewS)),
	}
	if !p.TrustPolicy.IsZero() {
		lines = append(lines, "trust is scored by policy "+p.TrustPolicy.String())
	}
	return lines
}

func specWords(b Body) []string {
	var lines []string
	for _, c := range b.Spec.Critical {
		lines = append(lines, "a node must know "+c)
	}
	if b.Spec.Min > 1 {
		lines = append(lines, fmt.Sprintf("a node must know version %d of these rules", b.Spec.Min))
	}
	if string(b.Ext) != "{}" {
		lines = append(lines, "carries extra data without effect: "+string(b.Ext))
	}
	return lines
}

func plural(n uint64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// seconds writes a duration in the largest unit that divides it.
func seconds(s uint64) string {
	switch {
	case s == 0:
		return "0 seconds"
	case s%day == 0:
		return plural(s/day, "day")
	case s%hour == 0:
		return plural(s/hour, "hour")
	case s%60 == 0:
		return plural(s/60, "minute")
	}
	return plural(s, "second")
}
