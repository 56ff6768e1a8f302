package party

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/node/casefile"
	"trustnode/node/fault"
	"trustnode/node/verifier"
)

// Prove returns the file that proves one event, which anyone verifies offline. It is
// refused if it does not verify by itself.
func (p *Party) Prove(ctx context.Context, id string) ([]byte, error) {
	event, err := envelope.ParseID(id)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "event", err)
	}
	found, err := p.n.Rec.Find(ctx, event)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fault.New(fault.NotFound, "event", "no event %s is held here", id).WithHint("trustnode event list --json names each by its id")
	}
	b, err := casefile.Prove(ctx, source{p.n}, found[0].Org, event)
	if err != nil {
		return nil, unfit(err)
	}
	r := verifier.Verify(ctx, bytes.NewReader(b), verifier.Options{Name: "proof", Now: time.Now()})
	if !r.OK {
		return nil, fault.Wrap(fault.Unavailable, "unproven", fmt.Errorf("event %s (%s): %s", id, standing(found[0]), r.Why)).WithHint("the file would not verify: %s", r.Why)
	}
	return b, nil
}

// standing says how an event stands here.
func standing(f attestation.Found) string {
	return f.Verdict.Level.String() + ", " + f.Verdict.Standing.String()
}
