package daemon

import (
	"context"
	"errors"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/keyring"
	"trustnode/federation/gossip"
	"trustnode/node/member"
)

// identities keeps DID logs for gossip.
type identities struct {
	ring   *keyring.Ring
	member *member.Member
	offer  func(ctx context.Context, d did.DID, log, witness []byte) (keyring.Result, error) // counted; what waited for a key is judged again
	forked func(ctx context.Context)                                                         // a fork is held that may not be logged yet
}

var _ gossip.Identities = identities{}

func (a identities) Heads(ctx context.Context) (map[did.DID]string, error) {
	vs, err := a.ring.List(ctx)
	if err != nil {
		return nil, err
	}
	out := map[did.DID]string{}
	for _, v := range vs {
		if v.Number > 0 {
			out[v.DID] = v.ID
		}
	}
	return out, nil
}

func (a identities) Log(ctx context.Context, d did.DID, after uint64) (log, witness []byte, err error) {
	log, witness, err = a.ring.Files(ctx, d, int(after))
	if errors.Is(err, keyring.ErrAbsent) {
		return nil, nil, nil
	}
	return log, witness, err
}

func (a identities) Knows(_ context.Context, d did.DID, version string) bool {
	return a.ring.Knows(d, version)
}

// Branches implements gossip.Identities. What was decided against is given to nobody: who
// meets it with a node that has not decided keeps it, and decides for itself.
func (a identities) Branches(ctx context.Context, d did.DID) ([]gossip.Branch, error) {
	if v, err := a.ring.Head(ctx, d); err != nil || v.State != did.Frozen {
		return nil, nil
	}
	list, err := a.ring.Branches(ctx, d)
	if err != nil {
		return nil, err
	}
	var out []gossip.Branch
	for _, b := range list {
		if b.Decided == "" {
			out = append(out, gossip.Branch{After: uint64(b.Parent), Log: b.Lines, Witness: b.Witness})
		}
	}
	return out, nil
}

// Doubted implements gossip.Identities.
func (a identities) Doubted(_ context.Context, by did.DID) ([]did.DID, error) {
	return a.member.Doubted(by), nil
}

func (a identities) Offer(ctx context.Context, d did.DID, _ uint64, log, witness []byte) (gossip.Outcome, error) {
	res, err := a.offer(ctx, d, log, witness)
	var bad *didwebvh.Error
	var fork *keyring.Fork
	var back *keyring.Rollback
	var changed *keyring.Changed
	switch {
	case err == nil && res.Advanced:
		return gossip.Taken, nil
	case err == nil, errors.As(err, &back), errors.As(err, &changed): // a did.json from a peer proves nothing, and blames nobody
		return gossip.Held, nil
	case errors.As(err, &fork):
		a.forked(ctx)
		return gossip.Forked, nil
	case d.Method() == "web" && (errors.Is(err, keyring.ErrMethod) || errors.Is(err, keyring.ErrUnapproved)):
		return gossip.Held, nil // a first document needs somebody who approves it
	case errors.Is(err, did.ErrDocument), errors.Is(err, did.ErrTooLarge):
		return gossip.False, nil
	case errors.As(err, &bad) && bad.Reason == didwebvh.ReasonGap:
		return gossip.Behind, nil
	case errors.As(err, &bad), errors.Is(err, keyring.ErrOtherDID), errors.Is(err, keyring.ErrMethod):
		return gossip.False, nil
	}
	return 0, err
}
