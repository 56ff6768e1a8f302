package didwebvh

import (
	"slices"
	"strings"

	"trustnode/did"
	"trustnode/did/strictjson"
)

// Service is one service of a document, under a fragment of its DID.
type Service struct {
	Name     string // fragment: "lending"
	Type     string // "TrustnodeLending"
	Endpoint string // a URL, or a DID
}

// assertion and authentication are the relationships the keys of our documents have.
const (
	assertion      = string(did.AssertionMethod)
	authentication = string(did.Authentication)
)

// relationships are all members of a document that may refer to a method.
var relationships = []string{
	assertion, authentication, string(did.KeyAgreement), string(did.CapabilityInvocation), string(did.CapabilityDelegation),
}

// editor changes a document and leaves alone what it is not asked about.
type editor struct {
	id  string // the document's DID
	doc strictjson.Value
}

func newDocument(id, alias string) editor {
	return editor{id, strictjson.ObjectOf(
		member("@context", strictjson.StringsOf("https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1")),
		member("id", strictjson.StringOf(id)),
		member("alsoKnownAs", strictjson.StringsOf(alias)),
		member("verificationMethod", strictjson.ArrayOf()),
		member(assertion, strictjson.ArrayOf()),
		member(authentication, strictjson.ArrayOf()),
		member("service", strictjson.ArrayOf()),
	)}
}

// key lists a new key under the relationships, in the places of an old one; a
// zero old key has none. The fragment is the key's own text, so that a kid
// names its key.
func (d *editor) key(old, next did.PublicKey, rels ...string) {
	kid := d.id + "#" + next.Multikey()
	method := strictjson.ObjectOf(
		member("id", strictjson.StringOf(kid)),
		member("type", strictjson.StringOf("Multikey")),
		member("controller", strictjson.StringOf(d.id)),
		member("publicKeyMultibase", strictjson.StringOf(next.Multikey())),
	)
	was := d.ids(old)
	isOld := func(v strictjson.Value) bool { return slices.Contains(was, d.reference(v)) }
	d.put("verificationMethod", method, true, isOld)
	for _, rel := range relationships {
		d.put(rel, strictjson.StringOf(kid), slices.Contains(rels, rel), isOld)
	}
}

// ids are the absolute ids of the methods that hold the key, wherever in the document they are.
func (d *editor) ids(k did.PublicKey) []string {
	if k.IsZero() {
		return nil
	}
	parsed, err := did.Parse(d.id)
	if err != nil {
		return nil
	}
	doc, err := did.ParseDocument(d.doc.Raw(), parsed)
	if err != nil {
		return nil
	}
	var out []string
	for _, m := range doc.Methods() {
		if m.Public == k {
			out = append(out, m.ID)
		}
	}
	return out
}

// put sets x where the elements of a list are that match, once; at the end,
// where wanted, if none does. Further ones that match go.
func (d *editor) put(list string, x strictjson.Value, wanted bool, match func(strictjson.Value) bool) {
	old, had := d.doc.Get(list)
	var out []strictjson.Value
	placed := false
	for _, e := range old.Elements() {
		if !match(e) {
			out = append(out, e)
			continue
		}
		if !placed {
			out, placed = append(out, x), true
		}
	}
	if !placed && wanted {
		out = append(out, x)
	} else if !had || !placed {
		return
	}
	d.doc = d.doc.With(list, strictjson.ArrayOf(out...))
}

// reference is the absolute id of a method, service, or reference to one.
func (d *editor) reference(v strictjson.Value) string {
	s, ok := v.Text()
	if !ok {
		id, _ := v.Get("id")
		s, _ = id.Text()
	}
	if strings.HasPrefix(s, "#") {
		return d.id + s
	}
	return s
}

// services sets each service in the place of the one with its name, or at the
// end. Other members of a service that was there stay.
func (d *editor) services(list ...Service) {
	for _, s := range list {
		id := d.id + "#" + s.Name
		isOld := func(v strictjson.Value) bool { return d.reference(v) == id }
		v := strictjson.ObjectOf(member("id", strictjson.StringOf(id)))
		all, _ := d.doc.Get("service")
		if i := slices.IndexFunc(all.Elements(), isOld); i >= 0 {
			v = all.Elements()[i]
		}
		v = v.With("type", strictjson.StringOf(s.Type)).With("serviceEndpoint", strictjson.StringOf(s.Endpoint))
		d.put("service", v, true, isOld)
	}
}

// rename writes every reference to the document's DID, whole or with what
// follows it in a DID URL, as one to next. A DID below it, with a further path
// segment, is another DID and stays. Other names are not references and stay too.
func (d *editor) rename(next string) {
	aliases, had := d.doc.Get("alsoKnownAs")
	text := func(s string) string {
		rest, ok := strings.CutPrefix(s, d.id)
		if ok && (rest == "" || strings.ContainsRune("#/?;", rune(rest[0]))) {
			return next + rest
		}
		return s
	}
	d.doc = rewritten(d.doc, text, func(name string) string { return name })
	if had {
		d.doc = d.doc.With("alsoKnownAs", aliases)
	}
	d.id = next
}

// aliases puts names at the head of alsoKnownAs and takes others out.
func (d *editor) aliases(first, out []string) {
	names := slices.Clone(first)
	old, _ := d.doc.Get("alsoKnownAs")
	for _, e := range elementsOrOne(old) {
		if s, ok := e.Text(); ok && !slices.Contains(names, s) && !slices.Contains(out, s) {
			names = append(names, s)
		}
	}
	d.doc = d.doc.With("alsoKnownAs", strictjson.StringsOf(names...))
}

// elementsOrOne reads a member that may hold one value where others have a list.
func elementsOrOne(v strictjson.Value) []strictjson.Value {
	if v.Kind() == strictjson.String {
		return []strictjson.Value{v}
	}
	return v.Elements()
}
