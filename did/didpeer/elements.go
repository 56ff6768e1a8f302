package didpeer

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"trustnode/did"
	"trustnode/did/strictjson"
)

// purposes are the codes that stand before a key in numalgo 2, each with the relationship it means.
var purposes = [...]struct {
	code byte
	rel  did.Relationship
}{
	{'A', did.AssertionMethod},
	{'D', did.CapabilityDelegation},
	{'E', did.KeyAgreement},
	{'I', did.CapabilityInvocation},
	{'V', did.Authentication},
}

// serviceCode stands before a service in numalgo 2.
const serviceCode = 'S'

// serves reports whether a key of algorithm a can be used under rel.
func serves(a did.Algorithm, rel did.Relationship) bool {
	if rel == did.KeyAgreement {
		return a != did.Ed25519
	}
	return a != did.X25519
}

// draft is the document of numalgo 0 or 2 while it is put together.
type draft struct {
	id       string
	methods  []strictjson.Value
	rels     map[did.Relationship][]strictjson.Value
	services []strictjson.Value
	unnamed  int // services that were given an id here
	aka      []string
}

// ofKey returns the document of numalgo 0: one key, for all it can serve. The method is named as in did:key.
func ofKey(d did.DID, text string) ([]byte, error) {
	key, err := did.DecodeKey(text)
	if err != nil {
		return nil, err
	}
	f := draft{id: d.String(), rels: map[did.Relationship][]strictjson.Value{}}
	ref := f.id + "#" + text
	f.method(ref, text)
	for _, p := range purposes {
		if serves(key.Algorithm(), p.rel) {
			f.rels[p.rel] = []strictjson.Value{strictjson.StringOf(ref)}
		}
	}
	return f.bytes()
}

// ofElements returns the document of numalgo 2: keys and services in the order they were written.
func ofElements(d did.DID, text string) ([]byte, error) {
	f := draft{id: d.String(), rels: map[did.Relationship][]strictjson.Value{}}
	elements, ok := strings.CutPrefix(text, ".")
	if !ok {
		return nil, fmt.Errorf("%w: numalgo 2 without elements", ErrForm)
	}
	for e := range strings.SplitSeq(elements, ".") {
		if err := f.element(e); err != nil {
			return nil, err
		}
	}
	f.aka = []string{"did:peer:3" + hashOf(text)}
	return f.bytes()
}

// element adds what one element says.
func (f *draft) element(e string) error {
	if e == "" {
		return fmt.Errorf("%w: empty element", ErrForm)
	}
	if e[0] == serviceCode {
		return f.serviceText(e[1:])
	}
	for _, p := range purposes {
		if p.code == e[0] {
			return f.key(p.rel, e[1:])
		}
	}
	return fmt.Errorf("%w: unknown purpose code %q", ErrForm, e[0])
}

func (f *draft) key(rel did.Relationship, text string) error {
	ref := "#key-" + strconv.Itoa(len(f.methods)+1)
	key, err := did.DecodeKey(text)
	if err != nil {
		return fmt.Errorf("%s: %w", ref, err)
	}
	if !serves(key.Algorithm(), rel) {
		return fmt.Errorf("%s: %v key under %s: %w", ref, key.Algorithm(), rel, did.ErrKeyInvalid)
	}
	f.method(ref, text)
	f.rels[rel] = append(f.rels[rel], strictjson.StringOf(ref))
	return nil
}

func (f *draft) method(ref, text string) {
	f.methods = append(f.methods, strictjson.ObjectOf(
		strictjson.Member{Name: "controller", Value: strictjson.StringOf(f.id)},
		strictjson.Member{Name: "id", Value: strictjson.StringOf(ref)},
		strictjson.Member{Name: "publicKeyMultibase", Value: strictjson.StringOf(text)},
		strictjson.Member{Name: "type", Value: strictjson.StringOf("Multikey")},
	))
}

// bytes writes the document. A service may hold a number that has no RFC 8785 form, which is ErrForm.
func (f *draft) bytes() ([]byte, error) {
	v := strictjson.ObjectOf(
		strictjson.Member{Name: "@context", Value: strictjson.StringsOf(
			"https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1")},
		strictjson.Member{Name: "id", Value: strictjson.StringOf(f.id)},
	)
	if len(f.aka) > 0 {
		v = v.With("alsoKnownAs", strictjson.StringsOf(f.aka...))
	}
	v = withList(v, "verificationMethod", f.methods)
	for _, p := range purposes {
		v = withList(v, string(p.rel), f.rels[p.rel])
	}
	b, err := withList(v, "service", f.services).Canonical()
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrForm, err)
	}
	return b, nil
}

// withList adds a list to v; an empty one is left out.
func withList(v strictjson.Value, name string, list []strictjson.Value) strictjson.Value {
	if len(list) == 0 {
		return v
	}
	return v.With(name, strictjson.ArrayOf(list...))
}

// hashOf is the base58btc multibase text of the sha2-256 multihash of s.
func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return did.Multibase(append([]byte{sha256Code, sha256.Size}, sum[:]...))
}

// sha256Code is sha2-256 in the multicodec table.
const sha256Code = 0x12
