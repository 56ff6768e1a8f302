package lender

import (
	"context"
	"slices"

	"trustnode/did"
	"trustnode/federation/lending"
)

// AgentEnded makes the end of an own agent felt: its row, durable before this is called,
// already refuses every decision to come; what was decided before and is on its way is
// drained, as a revocation of the loan drains it. After it returned no byte of a loan
// leaves that the agent lent, or borrowed within the organization. Each loan it lent then
// gets its loan.ended; what a crash leaves without one, a sweep finds. It returns how many.
func (l *Lender) AgentEnded(ctx context.Context, d did.DID) int {
	drain(drainTime, l.gatesOf(d)...)
	return l.endAll(ctx, func(k *known) bool { return k.perm.Body().Lender == d })
}

// endAll drafts the loan.ended of each open loan of which over says that it is revoked, and
// returns of how many. What it could not, a sweep finds.
func (l *Lender) endAll(ctx context.Context, over func(*known) bool) int {
	ids, err := l.scanIDs(ctx, keyOpen, MaxLoans)
	if err != nil {
		l.n.Log.WarnContext(ctx, "the ends of loans are not told yet", "error", err)
		return 0
	}
	n := 0
	for _, id := range ids {
		k, err := l.permission(ctx, id)
		if err == nil && !over(k) {
			continue
		}
		if err == nil {
			err = l.end(ctx, k, string(lending.Revoked))
		}
		if err != nil {
			l.n.Log.WarnContext(ctx, "the end of a loan is not in the log yet", "loan", id.String(), "error", err)
			continue
		}
		n++
	}
	return n
}

// gatesOf are the gates, held now, of loans to which an agent is a party, or the
// organization that borrows. Whoever comes
// later decides by the agent's row.
func (l *Lender) gatesOf(d did.DID) (out []*gate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.gates {
		if slices.Contains(g.parties[:], d) {
			out = append(out, g)
		}
	}
	return out
}

// lenderEnded is the denial of a loan whose lending agent is revoked. No receipt goes with
// it: the only key that could sign one counts no longer.
func lenderEnded(k *known) *lending.Denial {
	return &lending.Denial{Code: lending.CodeRefused, Reason: lending.ReasonLender, Perm: k.perm.ID(),
		Hint: "ask the lender for a new loan, by another agent", Detail: "agent " + k.perm.Body().Lender.String() + " does not act for its organization any more"}
}
