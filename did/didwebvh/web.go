package didwebvh

import (
	"fmt"
	"slices"
	"strings"

	"trustnode/did"
	"trustnode/did/strictjson"
)

// Web is the parallel did:web of the head and its document, in RFC 8785 form:
// did:webvh 1.0, "Publishing a Parallel did:web DID". References to the DID are
// rewritten, the implicit services "#files" and "#whois" are written out, and
// alsoKnownAs starts with the did:webvh DID. Earlier names of the log stay as they
// are: rewritten as did:web, each would vouch for whoever has that domain now.
//
// Nothing in the document proves it. It is for readers that know no did:webvh, and
// no anchor for anybody who does. Errors: did.ErrAbsent for the zero History and for
// a log that has ended, which has no document any more.
func (h History) Web() (did.DID, []byte, error) {
	if h.Len() == 0 || h.Deactivated() {
		return did.DID{}, nil, fmt.Errorf("no newest document: %w", did.ErrAbsent)
	}
	id, err := ParseIdentifier(h.DID())
	if err != nil {
		return did.DID{}, nil, err
	}
	web, err := did.Parse(webAt(strings.TrimPrefix(h.DID().String(), "did:"+Method+":"+id.SCID+":")))
	if err != nil {
		return did.DID{}, nil, err
	}
	doc, err := h.state()
	if err != nil {
		return did.DID{}, nil, err
	}
	e := editor{h.DID().String(), doc}
	e.implicit(id)
	e.rename(web.String())
	e.aliases([]string{h.DID().String()}, []string{web.String()})
	raw, err := e.doc.Canonical()
	return web, raw, err
}

// implicit writes out the services that every did:webvh has unless its document says
// otherwise: did:webvh 1.0, "DID URL Resolution".
func (d *editor) implicit(id Identifier) {
	base := strings.TrimSuffix(strings.TrimSuffix(id.URL(), "/did.jsonl"), "/.well-known")
	had, _ := d.doc.Get("service")
	list := elementsOrSelf(had)
	for _, s := range []struct {
		name string
		rest []strictjson.Member
	}{
		{"#files", []strictjson.Member{member("type", strictjson.StringOf("relativeRef")), member("serviceEndpoint", strictjson.StringOf(base))}},
		{"#whois", []strictjson.Member{
			member("@context", strictjson.StringOf("https://identity.foundation/linked-vp/contexts/v1")),
			member("type", strictjson.StringOf("LinkedVerifiablePresentation")),
			member("serviceEndpoint", strictjson.StringOf(base+"/whois.vp"))}},
	} {
		if slices.ContainsFunc(list, func(v strictjson.Value) bool { return d.reference(v) == d.id+s.name }) {
			continue
		}
		list = append(list, strictjson.ObjectOf(append([]strictjson.Member{member("id", strictjson.StringOf(d.id+s.name))}, s.rest...)...))
	}
	d.doc = d.doc.With("service", strictjson.ArrayOf(list...))
}

// elementsOrSelf reads a member that may hold one object where others have a list.
func elementsOrSelf(v strictjson.Value) []strictjson.Value {
	if v.Kind() == strictjson.Object {
		return []strictjson.Value{v}
	}
	return slices.Clone(v.Elements())
}
