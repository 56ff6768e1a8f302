package keyring

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/envelope"
)

// retirements maps every assertion key that was listed and then not any more
// to the number of the version that dropped it first. A key that is listed
// again later stays retired: whoever had stolen it could have it listed.
func retirements(versions []version) map[did.PublicKey]int {
	out := map[did.PublicKey]int{}
	var listed []did.PublicKey
	for _, v := range versions {
		now := assertionKeys(v.doc)
		for _, k := range listed {
			if _, gone := out[k]; !gone && !slices.Contains(now, k) {
				out[k] = v.number
			}
		}
		listed = now
	}
	return out
}

// assertionKeys answers the Ed25519 keys a document lists under assertionMethod.
func assertionKeys(doc did.Document) []did.PublicKey {
	var out []did.PublicKey
	for _, id := range doc.Listed(did.AssertionMethod) {
		kid, ok := strings.CutPrefix(id, doc.ID().String()+"#")
		if !ok {
			continue
		}
		if m, err := doc.Method(kid); err == nil && m.Err == nil && m.Public.Algorithm() == did.Ed25519 {
			out = append(out, m.Public)
		}
	}
	return out
}

// refusal is a key source's error: what envelope branches on, what this package knows, and a sentence.
type refusal struct {
	kind, cause error
}

func (e *refusal) Error() string   { return e.cause.Error() }
func (e *refusal) Unwrap() []error { return []error{e.kind, e.cause} }

func refuse(kind, cause error) (did.Key, error) { return did.Key{}, &refusal{kind, cause} }

// HeadSource answers the keys that count for something new: listed under
// assertionMethod in the newest version held, and never retired. Errors match
// envelope.ErrUnknownKey (no version held lists such a key), envelope.ErrRetired
// (retired, or ErrDeactivated) or envelope.ErrPending (ErrAbsent, ErrFrozen, *Below).
func (r *Ring) HeadSource() envelope.KeySource {
	return envelope.KeySourceFunc(func(_ context.Context, signer did.DID, kid string) (did.Key, error) {
		if signer.Method() == didkey.Method {
			return staticKey(signer, kid)
		}
		m, err := r.get(signer)
		if err != nil {
			return refuse(envelope.ErrPending, err)
		}
		if err := m.usable(); errors.Is(err, ErrFrozen) {
			return refuse(envelope.ErrPending, err)
		} else if err != nil {
			return refuse(envelope.ErrRetired, err)
		}
		return m.key(m.head(), kid, r.now())
	})
}

// AtSource answers the keys that one version of a DID lists under
// assertionMethod: the place of a charter signature. Versions past a fork do
// not count; a later deactivation takes nothing back, at its own version nothing counts. Errors are those of
// HeadSource; a version that is not held is envelope.ErrPending with ErrUnknownVersion.
func (r *Ring) AtSource(version string) envelope.KeySource {
	return envelope.KeySourceFunc(func(_ context.Context, signer did.DID, kid string) (did.Key, error) {
		if signer.Method() == didkey.Method {
			if err := staticVersion(signer, version); err != nil {
				return refuse(envelope.ErrUnknownKey, err)
			}
			return staticKey(signer, kid)
		}
		m, v, err := r.version(signer, version)
		if err != nil {
			return refuse(envelope.ErrPending, err)
		}
		if v.ended {
			return refuse(envelope.ErrRetired, fmt.Errorf("%s at %s: %w", signer, v.id, ErrDeactivated))
		}
		return m.key(v, kid, r.now())
	})
}

// key answers the key a version lists, for something signed there.
func (m *member) key(v version, kid string, now time.Time) (did.Key, error) {
	k, err := v.doc.KeyAt(kid, did.AssertionMethod, now)
	if err != nil {
		return did.Key{}, m.absence(v, kid, err)
	}
	if k.Algorithm() != did.Ed25519 {
		return refuse(envelope.ErrUnknownKey, fmt.Errorf("%s of %s is no Ed25519 key", kid, m.did()))
	}
	if gone, ok := m.retired[k]; ok && gone <= v.number {
		return did.Key{}, m.left(kid, gone)
	}
	return did.Key{Public: k, Version: v.id}, nil
}

func (m *member) left(kid string, entry int) error {
	return &refusal{envelope.ErrRetired, fmt.Errorf("%s left the document of %s in entry %d", kid, m.did(), entry)}
}

// absence tells a key that another version lists from one that none does, and from one that ended by itself.
func (m *member) absence(at version, kid string, err error) error {
	d := m.did()
	if errors.Is(err, did.ErrUnusable) {
		return &refusal{envelope.ErrRetired, fmt.Errorf("%s at %s: %w", d, at.id, err)}
	}
	for _, v := range slices.Backward(m.versions) {
		k, err := v.doc.Key(kid, did.AssertionMethod)
		if err != nil {
			continue
		}
		if gone, ok := m.retired[k]; ok && gone <= at.number {
			return m.left(kid, gone)
		}
		return &refusal{envelope.ErrRetired, fmt.Errorf("%s is listed by %s at %s, not at %s", kid, d, v.id, at.id)}
	}
	return &refusal{envelope.ErrUnknownKey, fmt.Errorf("%s at %s: %w", d, at.id, err)}
}

// staticKey answers the key a did:key is.
func staticKey(d did.DID, kid string) (did.Key, error) {
	k, err := didkey.Key(d)
	if err != nil {
		return refuse(envelope.ErrUnknownKey, err)
	}
	if kid != k.Multikey() || k.Algorithm() != did.Ed25519 {
		return refuse(envelope.ErrUnknownKey, fmt.Errorf("%s has no signing key %q", d, kid))
	}
	return did.Key{Public: k, Version: did.StaticVersion}, nil
}

// staticVersion accepts the one version of a did:key, which objects may leave out.
func staticVersion(d did.DID, version string) error {
	if version != "" && version != did.StaticVersion {
		return fmt.Errorf("%s of %s: %w", version, d, ErrUnknownVersion)
	}
	return nil
}
