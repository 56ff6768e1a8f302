package casefile

import (
	"fmt"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
)

// said says in a sentence what an event says, unless it is one that others rest on: those tell whose key stood where,
// which their ok line shows, and rows speak for their audit.rows.
func (w *words) said(e Entry) {
	ev := e.event()
	switch ev.Type {
	case "log.opened", "key.rotated", "charter.signed", "audit.rows", "agent.issued":
		return
	}
	w.add("claim", "%s said at %d: %s", w.s.org(ev.Org), e.Index, attestation.Words(ev))
}

// wrote says in a sentence what a row holds and where it lies. It is the word of the organization whose log binds
// it: no agent's signature is part of a row.
func (w *words) wrote(r row) {
	what, perm := w.act(r.Row)
	if what == "" {
		return
	}
	w.add("claim", "%s wrote down that %s: row %d, committed at %d%s", w.s.org(r.entry.event().Org), what, r.index, r.entry.Index, w.beside(r, perm))
}

// act tells what a row of a kind that is known here says, and of which loan.
func (w *words) act(r lending.Row) (what string, perm envelope.ID) {
	switch r := r.(type) {
	case lending.GrantedRow:
		return fmt.Sprintf("%s was given answer %d, of %s, under loan %s", w.s.agentName(r.Borrower), r.Seq, Count(len(r.Entries), "entry|entries"), r.Perm), r.Perm
	case lending.ReplayRow:
		return fmt.Sprintf("%s was given answer %d under loan %s once more", w.s.agentName(r.Borrower), r.Seq, r.Perm), r.Perm
	case lending.DeniedRow:
		return fmt.Sprintf("%s asked under loan %s and was refused as %s", w.s.agentName(r.Borrower), r.Perm, quote(r.Code)), r.Perm
	case lending.ReceivedRow:
		return fmt.Sprintf("it received answer %d under loan %s, by receipt %s", r.Seq, r.Perm, r.Receipt), r.Perm
	case lending.EndedRow:
		return fmt.Sprintf("it learned that loan %s is %s", r.Perm, r.State), r.Perm
	case lending.IssueRow:
		return fmt.Sprintf("loan %s to %s was issued by %s", r.Perm, w.s.agentName(r.Borrower), quote(r.By)), r.Perm
	case lending.RevokeRow:
		return fmt.Sprintf("%s %s was revoked by %s, for the reason %s", r.TargetKind, quote(r.Target), quote(r.By), r.Reason), envelope.ID{}
	case lending.ImportRow:
		return fmt.Sprintf("%s came into its memory in the format %s", Count(int(min(r.Count, 1<<31)), "entry|entries"), quote(r.Format)), envelope.ID{}
	case lending.ForgetRow:
		return fmt.Sprintf("%s of %s were forgotten, cause %s", Count(len(r.Entries), "entry|entries"), quote(r.Place), r.Cause), r.Perm
	case lending.MoveRow:
		return fmt.Sprintf("agent %s works in %s from then on", w.s.agentName(r.Agent), quote(r.To)), envelope.ID{}
	}
	return "", envelope.ID{}
}

// beside says on which side of the end of its loan a row lies, where that stands in the same log and in the file. What
// lies under a later audit.rows was written later only if the end was a barrier: then all before it is before it.
func (w *words) beside(r row, perm envelope.ID) string {
	for _, e := range w.s.Entries {
		ev := e.event()
		if ev.Org != r.entry.event().Org || perm.IsZero() || ev.Subject != perm.String() {
			continue
		}
		switch before := r.entry.Index < e.Index; {
		case ev.Type == "loan.revoked" && before:
			return fmt.Sprintf(", before the revocation at %d", e.Index)
		case ev.Type == "loan.revoked":
			return fmt.Sprintf(", after the revocation at %d", e.Index)
		case ev.Type == "loan.end_seen" && before:
			return fmt.Sprintf(", before it saw the end at %d", e.Index)
		}
	}
	return ""
}
