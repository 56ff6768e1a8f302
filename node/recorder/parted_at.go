package recorder

import (
	"context"

	"trustnode/did"
)

// PartedAt is the size of an organization's log up to which all its branches are one, as far
// as is known here; false where it has not forked, or a charter has named the branch that stands.
func (r *Recorder) PartedAt(ctx context.Context, d did.DID) (uint64, bool, error) {
	if !r.Forked(d) {
		return 0, false, nil
	}
	p, err := r.parting(ctx, d)
	return p.at, err == nil, err
}
