package member

import (
	"context"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/federation/charter"
	"trustnode/node/recorder"
)

// BoundsOf is what the charter in force says of the log of an organization; nothing of one
// that it does not list, or while there is none.
func (m *Member) BoundsOf(d did.DID) recorder.Bounds {
	c, ok := m.Charter()
	if !ok {
		return recorder.Bounds{}
	}
	r, _ := c.Head().Member(d)
	return boundsOf(r)
}

func boundsOf(r charter.Member) recorder.Bounds {
	var b recorder.Bounds
	for _, g := range r.Gaps {
		b.Gaps = append(b.Gaps, recorder.Gap{From: g.From, To: g.To})
	}
	if c := r.Cutoff; c != nil {
		b.Cut = &recorder.Cut{Head: attestation.Head{Size: c.Log.Size, Root: c.Log.Root}, TaintFrom: c.TaintFrom}
	}
	return b
}

// rebound has the logs judged by the charter that is in force now. What fails is done again
// at the next start.
func (m *Member) rebound(ctx context.Context) {
	if err := m.n.Rec.Rebound(ctx); err != nil {
		m.n.Log.ErrorContext(ctx, "events are not judged by the new charter yet", "error", err)
	}
}
