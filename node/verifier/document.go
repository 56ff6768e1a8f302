package verifier

import (
	"trustnode/did"
	"trustnode/did/didwebvh"
)

// document looks at a DID document, which nobody signed.
func (s *session) document(b []byte) error {
	d, err := subject(b)
	if err != nil {
		return broken("%v", err)
	}
	doc, err := did.ParseDocument(b, d)
	if err != nil {
		return broken("%v", err)
	}
	for _, k := range keysOf(doc) {
		s.line("unsaid", "whether %s of %s is its own: the document says so", k.words(), d)
	}
	for _, w := range doc.Warnings() {
		s.line("unsaid", "what %s is for: %s", quote(w.Where), quote(w.What))
	}
	r := &refusal{outcome: Unproven, what: "the document of " + d.String() + " is self-asserted and proves nothing by itself"}
	switch d.Method() {
	case "web":
		return r.hinted("a did:web is pinned by its join or by the operator (did resolve --accept-head); compare its keys by voice")
	case didwebvh.Method:
		return r.hinted("verify its log instead: did.jsonl proves every version of this document")
	}
	return r.hinted("trustnode did resolve %s gives the document its DID stands for", d)
}

// witnessFile is a did-witness.json on its own.
func (s *session) witnessFile([]byte) error {
	return (&refusal{outcome: Unproven, what: "a witness file says which versions of a log were witnessed, and nothing without that log"}).
		hinted("verify did.jsonl with this file beside it, or with --witness FILE")
}
