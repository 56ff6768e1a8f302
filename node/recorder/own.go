package recorder

import (
	"bytes"
	"context"
	"fmt"

	"trustnode/attestation"
)

// opened are entries of one log that were verified before they were appended, so that they
// need not be once more when they are judged at their place.
type opened struct {
	first  uint64 // index of the first
	moves  uint64 // of the log, when they were verified; see Recorder.moves
	claims []claim
}

// at returns what was verified at an index, if the entry read back is that.
func (o opened) at(i uint64, en attestation.Entry) (claim, bool) {
	if i < o.first || i-o.first >= uint64(len(o.claims)) {
		return claim{}, false
	}
	c := o.claims[i-o.first]
	return c, bytes.Equal(c.entry, en)
}

// verify checks the signatures of a batch on all cores: what a fault signed would stand in
// the log for ever, void, and its item be gone. Under the key of its place as far as that is
// known by now, else under that of its signer.
func (p *plan) verify(ctx context.Context) (opened, error) {
	r, d := p.r, p.batch.Org
	out := opened{first: p.batch.From, moves: r.movesOf(d), claims: claimsOf(p.batch.Entries)}
	if len(out.claims) == 0 {
		return out, nil
	}
	k, err := r.Keys(ctx, d)
	if err != nil {
		return opened{}, err
	}
	j := r.judgingOf(ctx, k, out.first, out.claims)
	j.openFirst(ctx)
	for i := range out.claims {
		c := &out.claims[i]
		if c.tried && c.err == nil {
			continue
		}
		s, err := r.signer(ctx, c.event.Kid)
		if err != nil {
			return opened{}, err
		}
		if err := s.Public().Verify(c.said.Envelope().Preimage().Bytes(), c.entry.Signature()); err != nil {
			return opened{}, fmt.Errorf("own event: %w", err)
		}
		c.tried = false // it is judged at its place
	}
	return out, nil
}
