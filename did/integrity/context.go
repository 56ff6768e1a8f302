package integrity

import (
	"bytes"
	"fmt"

	"trustnode/did/strictjson"
)

// Signed returns the RFC 8785 form of what p was made over: the object secured without its member proof and, where p has
// an @context, with that in place of its own. The document may have been given more contexts since, at the end of its
// list; those are not signed and not in the result. A proof whose @context does not begin the document's is ErrProof:
// VC Data Integrity EdDSA 1.0, section 3.3.2.
//
// Numbers beyond the precision of a double have one RFC 8785 form with their neighbours, so a document may differ from
// what was signed and verify: read claims from the result, not from secured.
func (p Proof) Signed(secured strictjson.Value) ([]byte, error) {
	doc := secured.Without("proof")
	if p.Context.Kind() != 0 {
		all, _ := secured.Get("@context")
		if !begins(all, p.Context) {
			return nil, fmt.Errorf("%w: its @context does not begin the document's", ErrProof)
		}
		doc = doc.With("@context", p.Context)
	}
	b, err := doc.Canonical()
	if err != nil {
		return nil, fmt.Errorf("%w: document: %v", ErrProof, err)
	}
	return b, nil
}

// begins reports whether part is all, or a list of its first elements.
func begins(all, part strictjson.Value) bool {
	whole, first := listOf(all), listOf(part)
	if len(first) > len(whole) {
		return false
	}
	for i := range first {
		if !same(first[i], whole[i]) {
			return false
		}
	}
	return true
}

// listOf takes a single context as a list of one: JSON-LD reads both alike.
func listOf(v strictjson.Value) []strictjson.Value {
	switch v.Kind() {
	case 0:
		return nil
	case strictjson.Array:
		return v.Elements()
	}
	return []strictjson.Value{v}
}

func same(a, b strictjson.Value) bool {
	if s, ok := a.Text(); ok {
		t, both := b.Text()
		return both && s == t
	}
	x, err := a.Canonical()
	if err != nil {
		return false
	}
	y, err := b.Canonical()
	return err == nil && bytes.Equal(x, y)
}
