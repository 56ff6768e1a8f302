package didwebvh

import (
	"crypto/sha256"
	"slices"
	"strings"

	"trustnode/did"
	"trustnode/did/strictjson"
)

// methodVersion is the one version of the method that is known. Another one
// might mean other rules, so it is refused and never read as this one.
const methodVersion = "did:webvh:1.0"

// Parameters are the settings in force after an entry.
type Parameters struct {
	SCID          string
	Portable      bool
	UpdateKeys    []did.PublicKey // keys that may sign; empty: none may, ever again
	NextKeyHashes []string        // not empty: the next update keys are committed to
	Witness       WitnessList     // zero: nobody witnesses
	Watchers      []string        // read, never used
	Deactivated   bool            // no entry may follow
	TTL           uint64          // seconds a resolver may cache, 0 to 2^31

	texts []string // UpdateKeys as multikey text
}

// WitnessList is who must approve an entry, and how many of them.
type WitnessList struct {
	Threshold int // 1 to len(Keys)
	Keys      []did.PublicKey
}

// None reports whether nobody witnesses.
func (w WitnessList) None() bool { return len(w.Keys) == 0 }

const (
	defaultTTL = 3600    // seconds: did:webvh 1.0, parameter ttl
	maxTTL     = 1 << 31 // seconds, the same
)

// KeyHash is how an update key is committed to before it is shown.
func KeyHash(k did.PublicKey) string { return hashText(sha256.Sum256([]byte(k.Multikey()))) }

// change is the parameters member of one entry, applied to those in force.
type change struct {
	next  Parameters
	prev  Parameters
	first bool
	seen  map[string]bool
}

// apply reads the parameters of an entry on top of those before it.
func apply(prev Parameters, first bool, v strictjson.Value) (Parameters, error) {
	if v.Kind() != strictjson.Object {
		return Parameters{}, refuse(ReasonForm, "parameters is not an object")
	}
	c := change{next: prev, prev: prev, first: first, seen: map[string]bool{}}
	if first {
		c.next.TTL = defaultTTL
	}
	for _, m := range v.Members() {
		c.seen[m.Name] = true
		if err := c.set(m.Name, m.Value); err != nil {
			return Parameters{}, err
		}
	}
	if err := c.complete(); err != nil {
		return Parameters{}, err
	}
	return c.next, nil
}

func (c *change) set(name string, v strictjson.Value) (err error) {
	switch name {
	case "method":
		err = c.method(v)
	case "scid":
		err = c.scid(v)
	case "portable":
		err = c.portable(v)
	case "updateKeys":
		err = c.updateKeys(v)
	case "nextKeyHashes":
		c.next.NextKeyHashes, err = uniqueTexts(name, v, maxUpdate)
	case "witness":
		c.next.Witness, err = parseWitnessList(v)
	case "watchers":
		c.next.Watchers, err = uniqueTexts(name, v, maxWatchers)
	case "deactivated":
		c.next.Deactivated, err = boolean(name, v)
	case "ttl":
		n, ok := v.Uint()
		if !ok || n > maxTTL {
			return refuse(ReasonParameters, "ttl is not a number of seconds up to 2^31")
		}
		c.next.TTL = n
	default:
		err = refuse(ReasonParameters, "parameter %q is not of %s", name, methodVersion)
	}
	return err
}

// complete holds the rules that need all members: what must be there, and pre-rotation.
func (c *change) complete() error {
	if c.first {
		for _, name := range []string{"method", "scid", "updateKeys"} {
			if !c.seen[name] {
				return refuse(ReasonParameters, "the first entry lacks %s", name)
			}
		}
		if len(c.next.UpdateKeys) == 0 {
			return refuse(ReasonParameters, "the first entry has no update key")
		}
		return nil
	}
	return c.preRotation()
}

// preRotation: did:webvh 1.0, "Pre-Rotation Key Hash Generation and
// Verification". An entry that left its update keys out would fall back on the
// old ones, which is what a thief of an old key wants.
func (c *change) preRotation() error {
	if len(c.prev.NextKeyHashes) == 0 {
		return nil
	}
	if !c.seen["updateKeys"] || !c.seen["nextKeyHashes"] || len(c.next.UpdateKeys) == 0 {
		return refuse(ReasonKey, "pre-rotation asks for updateKeys and nextKeyHashes in this entry")
	}
	for _, k := range c.next.UpdateKeys {
		if !slices.Contains(c.prev.NextKeyHashes, KeyHash(k)) {
			return refuse(ReasonKey, "update key %s was not committed to", k.Multikey())
		}
	}
	return nil
}

func (c *change) method(v strictjson.Value) error {
	if s, _ := v.Text(); s != methodVersion {
		return refuse(ReasonParameters, "method is not %s", methodVersion)
	}
	return nil
}

func (c *change) scid(v strictjson.Value) error {
	s, _ := v.Text()
	if !c.first || !isHash(s) {
		return refuse(ReasonParameters, "scid is not a sha2-256 multihash of the first entry")
	}
	c.next.SCID = s
	return nil
}

func (c *change) portable(v strictjson.Value) error {
	on, err := boolean("portable", v)
	if err == nil && on && !c.first && !c.prev.Portable {
		err = refuse(ReasonParameters, "portable is turned on after the first entry")
	}
	c.next.Portable = on
	return err
}

func (c *change) updateKeys(v strictjson.Value) error {
	names, err := uniqueTexts("updateKeys", v, maxUpdate)
	if err != nil {
		return err
	}
	keys := make([]did.PublicKey, len(names))
	for i, s := range names {
		// The same text is the same key; decoding it again costs a point decompression.
		if j := slices.Index(c.prev.texts, s); j >= 0 {
			keys[i] = c.prev.UpdateKeys[j]
			continue
		}
		if keys[i], err = signingKey(s); err != nil {
			return caused(ReasonParameters, "update key", err)
		}
	}
	c.next.UpdateKeys, c.next.texts = keys, names
	return nil
}

// signingKey decodes a key that must sign log entries or witness proofs.
func signingKey(s string) (did.PublicKey, error) {
	k, err := did.DecodeKey(s)
	if err != nil {
		return did.PublicKey{}, err
	}
	if k.Algorithm() != did.Ed25519 {
		return did.PublicKey{}, refuse(ReasonParameters, "%s is no Ed25519 key", s)
	}
	return k, nil
}

func parseWitnessList(v strictjson.Value) (WitnessList, error) {
	if v.Kind() != strictjson.Object {
		return WitnessList{}, refuse(ReasonParameters, "witness is not an object")
	}
	if len(v.Members()) == 0 {
		return WitnessList{}, nil
	}
	threshold, _ := v.Get("threshold")
	members, _ := v.Get("witnesses")
	n, ok := threshold.Uint()
	if !ok || members.Kind() != strictjson.Array || len(v.Members()) != 2 {
		return WitnessList{}, refuse(ReasonParameters, "witness is not a threshold and a list")
	}
	if len(members.Elements()) > maxWitnesses || n < 1 || n > uint64(len(members.Elements())) {
		return WitnessList{}, refuse(ReasonParameters, "witness threshold %d of %d", n, len(members.Elements()))
	}
	list := WitnessList{Threshold: int(n)}
	for _, m := range members.Elements() {
		k, err := witnessKey(m)
		if err != nil {
			return WitnessList{}, err
		}
		if slices.Contains(list.Keys, k) {
			return WitnessList{}, refuse(ReasonParameters, "witness %s is listed twice", k.Multikey())
		}
		list.Keys = append(list.Keys, k)
	}
	return list, nil
}

func witnessKey(v strictjson.Value) (did.PublicKey, error) {
	id, _ := v.Get("id")
	s, _ := id.Text()
	key, ok := strings.CutPrefix(s, "did:key:")
	if !ok || len(v.Members()) != 1 {
		return did.PublicKey{}, refuse(ReasonParameters, "a witness is not one did:key")
	}
	k, err := signingKey(key)
	if err != nil {
		return did.PublicKey{}, caused(ReasonParameters, "witness", err)
	}
	return k, nil
}

func boolean(name string, v strictjson.Value) (bool, error) {
	if v.Kind() != strictjson.Bool {
		return false, refuse(ReasonParameters, "%s is not a boolean", name)
	}
	return v.IsTrue(), nil
}

// uniqueTexts reads an array of at most limit different strings.
func uniqueTexts(name string, v strictjson.Value, limit int) ([]string, error) {
	if v.Kind() != strictjson.Array {
		return nil, refuse(ReasonParameters, "%s is not an array", name)
	}
	if len(v.Elements()) > limit {
		return nil, refuse(ReasonTooLarge, "%s has more than %d members", name, limit)
	}
	var out []string
	for _, e := range v.Elements() {
		s, ok := e.Text()
		if !ok || s == "" || len(s) > maxText || slices.Contains(out, s) {
			return nil, refuse(ReasonParameters, "%s holds something else than different strings", name)
		}
		out = append(out, s)
	}
	return out, nil
}
