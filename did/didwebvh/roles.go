package didwebvh

import (
	"fmt"
	"slices"
	"strings"

	"trustnode/did"
)

// The service of a document that names the organization's own witness key.
const (
	WitnessService = "witness"          // its fragment
	WitnessType    = "TrustnodeWitness" // its type
)

const didKey = "did:key:"

// Roles are the keys a document names, by what they do. Zero: none.
type Roles struct {
	Issuer     did.PublicKey // assertionMethod and authentication: signs the organization's objects
	Governance did.PublicKey // assertionMethod alone: signs what the charter asks its members for
	Witness    did.PublicKey // did:key of the service "#witness": proves the DID logs of others
}

// RolesOf reads the roles out of a document as Create and Rotate write it. Keys
// that are no Ed25519 keys, or unusable, have no role. Of several keys of one
// role it answers the first.
func RolesOf(doc did.Document) Roles {
	var r Roles
	for _, id := range doc.Listed(did.AssertionMethod) {
		kid, ok := strings.CutPrefix(id, doc.ID().String()+"#")
		m, err := doc.Method(kid)
		if !ok || err != nil || m.Err != nil || m.Public.Algorithm() != did.Ed25519 {
			continue
		}
		role := &r.Governance
		if doc.Lists(kid, did.Authentication) {
			role = &r.Issuer
		}
		if role.IsZero() {
			*role = m.Public
		}
	}
	if s, ok := doc.Service("#" + WitnessService); ok && len(s.Endpoints) > 0 {
		r.Witness, _ = witnessOf(s.Endpoints[0])
	}
	return r
}

// WitnessKeys are the own witness keys that any version names, the newest first: a
// cosignature stays what it was when the key is replaced.
func (h History) WitnessKeys() (out []did.PublicKey) {
	for _, n := range slices.Backward(h.nodes) {
		if k := RolesOf(n.Document).Witness; !k.IsZero() && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// witnessOf reads the key out of the endpoint of a witness service.
func witnessOf(endpoint string) (did.PublicKey, error) {
	text, ok := strings.CutPrefix(endpoint, didKey)
	if !ok {
		return did.PublicKey{}, fmt.Errorf("the service #%s names no did:key", WitnessService)
	}
	return signingKey(text)
}

// fresh refuses a key in two roles, for whoever steals it from one would have
// the other, and a key that h knows in any role: ErrReused. Zero keys are left out.
func (h History) fresh(keys ...did.PublicKey) error {
	keys = slices.DeleteFunc(keys, did.PublicKey.IsZero)
	if err := distinct(keys...); err != nil {
		return err
	}
	for _, k := range keys {
		if h.knows(k) {
			return fmt.Errorf("%s: %w", k.Multikey(), ErrReused)
		}
	}
	return nil
}

// knows reports whether any version listed, showed or committed to this key.
func (h History) knows(k did.PublicKey) bool {
	hash := KeyHash(k)
	return slices.ContainsFunc(h.nodes, func(n *node) bool {
		return slices.Contains(n.Parameters.UpdateKeys, k) || slices.Contains(n.Parameters.NextKeyHashes, hash) ||
			RolesOf(n.Document).Witness == k ||
			slices.ContainsFunc(n.Document.Methods(), func(m did.Method) bool { return m.Public == k })
	})
}

// distinct refuses what is no Ed25519 key and a key that is there twice.
func distinct(keys ...did.PublicKey) error {
	for i, k := range keys {
		if k.Algorithm() != did.Ed25519 {
			return fmt.Errorf("key %d of %d is no Ed25519 key", i+1, len(keys))
		}
		if slices.Contains(keys[:i], k) {
			return fmt.Errorf("key %s serves two roles", k.Multikey())
		}
	}
	return nil
}
