package recorder

import (
	"context"

	"trustnode/attestation"
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

// ContestedBy names an organization of which a contested entry is of a type and about a
// subject: it was said on a branch of its log, above where that parted. False if none is.
func (r *Recorder) ContestedBy(ctx context.Context, t attestation.Type, subject did.DID) (did.DID, bool, error) {
	p, err := r.cfg.Events.Query(ctx, attestation.Query{Type: t, Subject: subject.String(), Level: attestation.Logged, Standing: attestation.Contested, Limit: 1})
	if err != nil || len(p.Found) == 0 {
		return did.DID{}, false, err
	}
	return p.Found[0].Org, true, nil
}
