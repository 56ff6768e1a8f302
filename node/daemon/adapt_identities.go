package daemon

import (
	"context"
	"errors"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/keyring"
	"trustnode/federation/gossip"
)

// identities keeps DID logs for gossip.
type identities struct {
	ring  *keyring.Ring
	moved func(ctx context.Context, d did.DID) // what waited for a key is judged again
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

func (a identities) Offer(ctx context.Context, d did.DID, _ uint64, log, witness []byte) (gossip.Outcome, error) {
	res, err := a.ring.Offer(ctx, d, log, witness)
	var bad *didwebvh.Error
	var fork *keyring.Fork
	var back *keyring.Rollback
	var changed *keyring.Changed
	switch {
	case err == nil && res.Advanced:
		a.moved(ctx, d)
		return gossip.Taken, nil
	case err == nil, errors.As(err, &back), errors.As(err, &changed): // a did.json from a peer proves nothing, and blames nobody
		return gossip.Held, nil
	case errors.As(err, &fork):
		return gossip.Forked, nil
	case errors.As(err, &bad) && bad.Reason == didwebvh.ReasonGap:
		return gossip.Behind, nil
	case errors.As(err, &bad), errors.Is(err, keyring.ErrOtherDID), errors.Is(err, keyring.ErrMethod):
		return gossip.False, nil
	}
	return 0, err
}
