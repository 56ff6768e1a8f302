package history

import (
	"context"
	"fmt"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
)

// At returns the source for what stands at one index of the log, below Size or
// right at it: a key counts when the version in force there lists it and it
// was not retired before. The source answers for the log's organization alone.
func (k Keys) At(index uint64) envelope.KeySource {
	return envelope.KeySourceFunc(func(_ context.Context, signer did.DID, kid string) (did.Key, error) {
		if signer != k.org {
			return did.Key{}, fmt.Errorf("%w: %s in the log of %s", envelope.ErrUnknownKey, signer, k.org)
		}
		s, ok := k.span(index)
		if !ok {
			return did.Key{}, fmt.Errorf("%w: the log was not opened", envelope.ErrPending)
		}
		return s.key(kid)
	})
}

// Next returns the source for the event that comes at index i, right after
// what the history covers. It differs from At where the event itself says
// which version is in force: a log.opened stands under the version it names, a
// key.rotated under the new one, or the old one where the new one lists no key. claimed is unverified and only names them;
// what it names must follow what is in force.
func (k Keys) Next(ctx context.Context, v Versions, i uint64, claimed attestation.Event) (envelope.KeySource, error) {
	switch claimed.Type {
	case "log.opened":
		n, err := k.open(ctx, v, i, claimed)
		if err != nil {
			return nil, err
		}
		return n.At(i), nil
	case "key.rotated":
		n, err := k.rotate(ctx, v, i, claimed)
		if err != nil {
			return nil, err
		}
		return n.At(i), nil
	}
	return k.At(i), nil
}

// Times says when the event at an index of the log was first seen by an
// organization that counts; false while none has seen it.
type Times func(index uint64) (envelope.Time, bool)

// AsOf returns the source for what another organization's log anchors at the
// time at: a key counts when an event with a time not after at introduced it
// and none with a time before at removed it.
func (k Keys) AsOf(at envelope.Time, when Times) envelope.KeySource {
	return envelope.KeySourceFunc(func(_ context.Context, signer did.DID, kid string) (did.Key, error) {
		if signer != k.org {
			return did.Key{}, fmt.Errorf("%w: %s in the log of %s", envelope.ErrUnknownKey, signer, k.org)
		}
		for i, s := range k.spans {
			if pub, ok := s.keys[kid]; ok && !s.gone[kid] {
				return k.spans[i].asOf(at, when, k.removed(kid, i), did.Key{Public: pub, Version: s.version})
			}
		}
		return did.Key{}, fmt.Errorf("%w: %.80s", envelope.ErrUnknownKey, kid)
	})
}

// removed returns the index that removed kid, introduced by span i.
func (k Keys) removed(kid string, i int) *uint64 {
	for _, s := range k.spans[i:] {
		if s.gone[kid] {
			return &s.from
		}
	}
	return nil
}

func (s span) asOf(at envelope.Time, when Times, removed *uint64, key did.Key) (did.Key, error) {
	if err := within(at, when, s.from, removed); err != nil {
		return did.Key{}, err
	}
	return key, nil
}

func within(at envelope.Time, when Times, from uint64, removed *uint64) error {
	in, ok := when(from)
	switch {
	case !ok:
		return fmt.Errorf("%w: index %d was seen by nobody yet", envelope.ErrPending, from)
	case in.After(at):
		return fmt.Errorf("%w: in force from %s, anchored at %s", envelope.ErrUnknownKey, in, at)
	}
	if removed == nil {
		return nil
	}
	if out, ok := when(*removed); ok && out.Before(at) {
		return fmt.Errorf("%w: removed at %s, anchored at %s", envelope.ErrRetired, out, at)
	}
	return nil
}
