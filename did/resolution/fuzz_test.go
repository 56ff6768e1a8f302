package resolution_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/resolution"
)

// FuzzAccept: no value panics; the answer is one of our types, 400 or 406; and what is not ASCII is 400.
func FuzzAccept(f *testing.F) {
	for _, s := range []string{
		"", "*/*", "application/did", "application/*;q=0.5, application/did-url-dereferencing;q=0.9, */*;q=0.1",
		`application/ld+json;profile="https://w3id.org/did-resolution"`, `a/b;x="\"`, "a/b;q=1.001", "foo\u200bbar", ",,;", "*/did",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	s := service(stored(held(f, example, document)))
	f.Fuzz(func(t *testing.T, accept string, part bool) {
		id := example
		if part {
			id = url.QueryEscape(example + "#keys-1")
		}
		a := s.Get(context.Background(), id, "", accept)
		if a.Status != 200 && a.Status != 400 && a.Status != 406 {
			t.Errorf("%q: %d", accept, a.Status)
		}
		foreign := strings.IndexFunc(accept, func(r rune) bool { return r > '~' }) >= 0
		if foreign && a.Status != 400 {
			t.Errorf("%q: %d", accept, a.Status)
		}
		if !json.Valid(a.Body) || a.ContentType == "" {
			t.Errorf("%q: %s %s", accept, a.ContentType, a.Body)
		}
	})
}

// FuzzRequest: no request panics; a refusal is typed and leaves nothing; what is taken names its DID byte for byte, and
// encoded as a whole it is the same request.
func FuzzRequest(f *testing.F) {
	for _, s := range [][2]string{
		{"did:web:domain%3A1100:api:v1", ""}, {"did%3Aweb%3Adomain%253A1100", "versionId=2-Qm"}, {"did:example:a", "versionTime=2026-12-01T10:00:00Z"},
		{"did%3Aexample%3Aa%3FversionNumber%3D2%23k", "verificationRelationship=assertionMethod"}, {"did:example:a/b", "service=x"},
		{"did:example", "accept=%F0%9F%94%A5"}, {"not-a-did", "a&b=&=c"}, {"did%3aexample%3aa%00", "versionId=%zz"}, {"", "&"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, identifier, query string) {
		r, err := resolution.ParseHTTP(identifier, query, "")
		var e *did.ResolutionError
		if err != nil {
			if !errors.As(err, &e) || r != (resolution.Request{}) {
				t.Errorf("%q ? %q: %v, left %+v", identifier, query, err, r)
			}
			return
		}
		bare := identifier
		if i := strings.IndexAny(bare, "?#"); i >= 0 {
			bare = bare[:i]
		}
		if strings.HasPrefix(identifier, "did:") && r.DID().String() != bare {
			t.Errorf("%q is asked for as %v", identifier, r.DID())
		}
		whole := r.DID().String()
		if r.Fragment() != "" {
			whole += "#" + r.Fragment()
		}
		again, err := resolution.ParseHTTP(url.QueryEscape(whole), "", "")
		if err != nil || again.DID() != r.DID() || again.Fragment() != r.Fragment() {
			t.Errorf("%q encoded: %v #%s, %v", whole, again.DID(), again.Fragment(), err)
		}
		o := r.Options()
		n := 0
		for _, set := range []bool{o.VersionID != "", !o.VersionTime.IsZero(), o.VersionNumber != 0} {
			if set {
				n++
			}
		}
		if n > 1 || !o.Now.IsZero() || o.VersionTime.Location() != time.UTC {
			t.Errorf("%q: %+v", query, o)
		}
	})
}

// FuzzResult: whatever a resolution holds, a result is JSON around the document's own bytes.
func FuzzResult(f *testing.F) {
	f.Add("2-Qm", "where", "what", "beacon", int64(412), uint64(17))
	f.Add("\xff\x00", "\"},{\"", "\\u0000\u2028", "</script>", int64(-1), uint64(1<<64-1))
	base := held(f, "did:example:a", small)
	f.Fuzz(func(t *testing.T, version, where, what, by string, seconds int64, line uint64) {
		r := base
		r.Version, r.Age, r.VerifiedAt = version, time.Duration(seconds), time.Unix(seconds%1e12, 0)
		r.Warnings = []did.Warning{{Where: where, What: what}}
		r.Evidence = []did.Evidence{{Step: where, Kid: what, ID: version, Version: by, Line: line}}
		s := service(stored(r))
		s.ConfirmedBy = func(did.Resolution) string { return by }
		a := s.Get(context.Background(), "did:example:a", "", "")
		if !json.Valid(a.Body) || !bytes.HasPrefix(a.Body, []byte(`{"didDocument":`+small+`,"didDocumentMetadata":{`)) {
			t.Errorf("got %s", a.Body)
		}
		a = failing(&did.ResolutionError{Name: did.InvalidDID, Detail: what, Err: errors.New(where)}).Get(context.Background(), "did:example:a", "", "")
		if !json.Valid(a.Body) || len(a.Body) > 6*512+512 {
			t.Errorf("refused with %s", a.Body)
		}
	})
}
