package resolution

import (
	"strconv"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/strictjson"
)

// names are the members of a result: those of DID Resolution 1.0, section 9 or 10.
type names struct{ context, content, contentMetadata, metadata string }

var (
	resultNames        = names{"", "didDocument", "didDocumentMetadata", "didResolutionMetadata"}
	dereferencingNames = names{"", "content", "contentMetadata", "dereferencingMetadata"}
	legacyNames        = names{`"@context":"https://w3id.org/did-resolution/v1",`, "didDocument", "didDocumentMetadata", "didResolutionMetadata"}
)

func namesOf(f form) names {
	switch {
	case f == formDereferencing:
		return dereferencingNames
	case f.legacy():
		return legacyNames
	}
	return resultNames
}

// appendFound writes a result around content, which is JSON, or nil of a DID that is deactivated.
func appendFound(b []byte, f form, content []byte, r did.Resolution, confirmedBy string) []byte {
	n, media := namesOf(f), MediaDocument
	if f.legacy() {
		media = MediaLegacyLD
	}
	b = append(b, `{`+n.context+`"`+n.content+`":`...)
	if content == nil {
		content = []byte("null")
	}
	b = append(b, content...)
	b = append(b, `,"`+n.contentMetadata+`":`...)
	b = appendDocumentMetadata(b, r)
	b = append(b, `,"`+n.metadata+`":{`...)
	if r.State != did.Deactivated {
		b = append(b, `"contentType":"`+media+`",`...)
	}
	b = append(b, `"trustnode":`...)
	b = appendTrust(b, r, confirmedBy)
	return append(b, `}}`...)
}

// appendError writes a result that holds an error object (RFC 9457), or its one word of old.
func appendError(b []byte, f form, e *did.ResolutionError) []byte {
	n := namesOf(f)
	b = append(b, `{`+n.context+`"`+n.content+`":null,"`+n.contentMetadata+`":{},"`+n.metadata+`":{"error":`...)
	row := rowOf(e.Name)
	if f.legacy() {
		return append(b, `"`+row.legacy+`"}}`...)
	}
	o := object{b: b}
	o.text("type", e.Name.URI())
	o.text("title", row.title)
	o.textIf("detail", clean(detail(e)))
	return append(o.close(), `}}`...)
}

// clean cuts s to maxDetail bytes of valid UTF-8.
func clean(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxDetail)], "")
}

// appendDocumentMetadata writes metadata of DID Resolution 1.0, section 4.3, in the order of did:webvh. A document that
// has one version for ever has no versionId.
func appendDocumentMetadata(b []byte, r did.Resolution) []byte {
	o := object{b: b}
	if r.Version != did.StaticVersion {
		o.textIf("versionId", r.Version)
	}
	o.time("created", r.Created)
	o.time("updated", r.Updated)
	if r.State == did.Deactivated {
		o.name("deactivated")
		o.b = append(o.b, "true"...)
	}
	if !r.Canonical.IsZero() {
		o.text("canonicalId", r.Canonical.String())
	}
	return o.close()
}

// appendTrust writes what this node knows of the result: how old its view is, and the chain it rests on.
func appendTrust(b []byte, r did.Resolution, confirmedBy string) []byte {
	o := object{b: b}
	o.text("age_s", strconv.FormatInt(max(0, int64(r.Age/time.Second)), 10))
	o.textIf("confirmed_by", confirmedBy)
	o.text("state", r.State.String())
	o.time("verified_at", r.VerifiedAt)
	o.textIf("version", r.Version)
	o.name("warnings")
	o.b = appendList(o.b, r.Warnings, appendWarning)
	o.name("evidence")
	o.b = appendList(o.b, r.Evidence, appendEvidence)
	return o.close()
}

func appendWarning(b []byte, w did.Warning) []byte {
	o := object{b: b}
	o.text("where", w.Where)
	o.text("what", w.What)
	return o.close()
}

func appendEvidence(b []byte, e did.Evidence) []byte {
	o := object{b: b}
	o.text("step", e.Step)
	o.textIf("kid", e.Kid)
	o.textIf("id", e.ID)
	o.textIf("version", e.Version)
	if e.Line != 0 {
		o.text("line", strconv.FormatUint(e.Line, 10))
	}
	return o.close()
}

func appendList[T any](b []byte, list []T, each func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, x := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = each(b, x)
	}
	return append(b, ']')
}

// object writes the members of one JSON object after b.
type object struct {
	b    []byte
	open bool
}

func (o *object) name(s string) {
	if o.open {
		o.b = append(o.b, ',')
	} else {
		o.b, o.open = append(o.b, '{'), true
	}
	o.b = append(o.b, `"`+s+`":`...)
}

// text writes a string; what is not UTF-8 in it is left out.
func (o *object) text(name, s string) {
	o.name(name)
	o.b = append(o.b, strictjson.StringOf(strings.ToValidUTF8(s, "")).Raw()...)
}

func (o *object) textIf(name, s string) {
	if s != "" {
		o.text(name, s)
	}
}

// time writes UTC in whole seconds: DID Resolution 1.0, section 3.1.
func (o *object) time(name string, t time.Time) {
	if !t.IsZero() {
		o.text(name, t.UTC().Format("2006-01-02T15:04:05Z"))
	}
}

func (o *object) close() []byte {
	if !o.open {
		o.b = append(o.b, '{')
	}
	return append(o.b, '}')
}
