package resolution_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/resolution"
)

const small = `{"id":"did:example:a"}`

// full has every member that a result can say.
func full(t testing.TB) did.Resolution {
	r := held(t, "did:example:a", small)
	r.Created = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	r.Updated = time.Date(2026, 12, 15, 10, 0, 0, 999, time.FixedZone("", 3600))
	r.VerifiedAt = present
	r.ConfirmedAt = present.Add(-412 * time.Second)
	r.Age = 412*time.Second + 999*time.Millisecond
	r.Evidence = []did.Evidence{
		{Step: "signature", Kid: "z6Mk"}, {Step: "agent", ID: "zQm"}, {Step: "key", Version: "2-QmB"}, {Step: "pin", Line: 17},
	}
	r.Warnings = []did.Warning{{Where: "did:example:a#\"k", What: "tab\tand \xff bad byte"}}
	return r
}

const (
	goldenMetadata = `{"versionId":"2-QmB","created":"2026-12-01T10:00:00Z","updated":"2026-12-15T09:00:00Z"}`
	goldenTrust    = `{"age_s":"412","confirmed_by":"beacon","state":"held","verified_at":"2026-12-20T00:00:00Z","version":"2-QmB",` +
		`"warnings":[{"where":"did:example:a#\"k","what":"tab\u0009and  bad byte"}],` +
		`"evidence":[{"step":"signature","kid":"z6Mk"},{"step":"agent","id":"zQm"},{"step":"key","version":"2-QmB"},{"step":"pin","line":"17"}]}`
	bareTrust = `{"age_s":"0","state":"held","version":"static","warnings":[],"evidence":[]}`
	endTrust  = `{"age_s":"0","state":"deactivated","version":"3-QmC","warnings":[],"evidence":[]}`
	legacyCtx = `"@context":"https://w3id.org/did-resolution/v1"`
)

func TestGoldenBodies(t *testing.T) {
	static := held(t, "did:example:a", small)
	static.Version = did.StaticVersion
	ended := did.Resolution{DID: did.MustParse("did:example:a"), Version: "3-QmC", State: did.Deactivated}
	frozen := full(t)
	frozen.State = did.Frozen
	refused := func(n did.ErrorName, detail string, err error) error {
		return &did.ResolutionError{Name: n, Detail: detail, Err: err}
	}
	const method = `{"id":"#k","type":"T"}`
	withMethod := held(t, "did:example:a", `{"id":"did:example:a","verificationMethod":[`+method+`]}`)
	withMethod.Warnings = nil
	withMethod.Version = did.StaticVersion
	for _, c := range []struct {
		name, ask, accept string
		found             did.Resolution
		err               error
		status            int
		media, body       string
	}{
		{"a result says all that is known", "did:example:a", "", full(t), nil, 200, "application/did-resolution",
			`{"didDocument":` + small + `,"didDocumentMetadata":` + goldenMetadata +
				`,"didResolutionMetadata":{"contentType":"application/did","trustnode":` + goldenTrust + `}}`},
		{"what is not known is left out", "did:example:a", "*/*", static, nil, 200, "application/did-resolution",
			`{"didDocument":` + small + `,"didDocumentMetadata":{},"didResolutionMetadata":{"contentType":"application/did","trustnode":` + bareTrust + `}}`},
		{"a document alone", "did:example:a", "application/did", full(t), nil, 200, "application/did", small},
		{"a document as a dereferenced resource", "did:example:a", "application/did-url-dereferencing", full(t), nil, 200, "application/did-url-dereferencing",
			`{"content":` + small + `,"contentMetadata":` + goldenMetadata +
				`,"dereferencingMetadata":{"contentType":"application/did","trustnode":` + goldenTrust + `}}`},
		{"a result of old", "did:example:a", `application/ld+json;profile="https://w3id.org/did-resolution"`, full(t), nil, 200, `application/ld+json;profile="https://w3id.org/did-resolution"`,
			`{` + legacyCtx + `,"didDocument":` + small + `,"didDocumentMetadata":` + goldenMetadata +
				`,"didResolutionMetadata":{"contentType":"application/did+ld+json","trustnode":` + goldenTrust + `}}`},
		{"a document of old", "did:example:a", "application/did+ld+json", full(t), nil, 200, "application/did+ld+json", small},
		{"a document of old without JSON-LD", "did:example:a", "application/did+json", full(t), nil, 200, "application/did+json", small},
		{"an escape in a DID that is not encoded belongs to the DID", "did:example:a%23k", "", withMethod, nil, 404, "application/did-resolution",
			`{"didDocument":null,"didDocumentMetadata":{},"didResolutionMetadata":{"error":{"type":"https://www.w3.org/ns/did#NOT_FOUND","title":"not found","detail":"a DID that begins \"did:\" is taken byte for byte, its %23 begins no fragment: encode it all, as did%3Aweb%3A…%23key"}}}`},
		{"a method, encoded", "did%3Aexample%3Aa%23k", "", withMethod, nil, 200, "application/did-url-dereferencing",
			`{"content":` + method + `,"contentMetadata":{},"dereferencingMetadata":{"contentType":"application/did","trustnode":` + bareTrust + `}}`},
		{"a method alone", "did%3Aexample%3Aa%23k", "application/did", withMethod, nil, 200, "application/did", method},
		{"no longer", "did:example:a", "", ended, nil, 410, "application/did-resolution",
			`{"didDocument":null,"didDocumentMetadata":{"versionId":"3-QmC","deactivated":true},"didResolutionMetadata":{"trustnode":` + endTrust + `}}`},
		{"no longer, where the document alone was asked for", "did:example:a", "application/did", ended, nil, 410, "application/did-resolution",
			`{"didDocument":null,"didDocumentMetadata":{"versionId":"3-QmC","deactivated":true},"didResolutionMetadata":{"trustnode":` + endTrust + `}}`},
		{"a method of what is no longer", "did%3Aexample%3Aa%23k", "", ended, nil, 410, "application/did-url-dereferencing",
			`{"content":null,"contentMetadata":{"versionId":"3-QmC","deactivated":true},"dereferencingMetadata":{"trustnode":` + endTrust + `}}`},
		{"no longer, for a client of old", "did:example:a", "application/did+json", ended, nil, 410, `application/ld+json;profile="https://w3id.org/did-resolution"`,
			`{` + legacyCtx + `,"didDocument":null,"didDocumentMetadata":{"versionId":"3-QmC","deactivated":true},"didResolutionMetadata":{"trustnode":` + endTrust + `}}`},
		{"two continuations", "did:example:a", "application/did", frozen, nil, 500, "application/did-resolution",
			`{"didDocument":null,"didDocumentMetadata":{},"didResolutionMetadata":{"error":{"type":"urn:trustnode:error:forked","title":"the log of the DID has two verified continuations"}}}`},
		{"an error with its cause", "did:example:a", "", did.Resolution{}, refused(did.InvalidDID, "why", errors.New("cause \x01")), 400, "application/did-resolution",
			`{"didDocument":null,"didDocumentMetadata":{},"didResolutionMetadata":{"error":{"type":"https://www.w3.org/ns/did#INVALID_DID","title":"invalid DID","detail":"why: cause \u0001"}}}`},
		{"an error about a method", "did%3Aexample%3Aa%23k", "application/did", did.Resolution{}, did.ErrAbsent, 404, "application/did-url-dereferencing",
			`{"content":null,"contentMetadata":{},"dereferencingMetadata":{"error":{"type":"https://www.w3.org/ns/did#NOT_FOUND","title":"not found","detail":"not held here"}}}`},
		{"an error for a client of old", "did:example:a", "application/did+ld+json", did.Resolution{}, did.ErrAbsent, 404, `application/ld+json;profile="https://w3id.org/did-resolution"`,
			`{` + legacyCtx + `,"didDocument":null,"didDocumentMetadata":{},"didResolutionMetadata":{"error":"notFound"}}`},
		{"an internal error tells nothing", "did:example:a", "", did.Resolution{}, errors.New("open /var/secret"), 500, "application/did-resolution",
			`{"didDocument":null,"didDocumentMetadata":{},"didResolutionMetadata":{"error":{"type":"https://www.w3.org/ns/did#INTERNAL_ERROR","title":"internal error"}}}`},
		{"no answer from anywhere", "did:example:a", "", did.Resolution{}, did.ErrUnavailable, 500, "application/did-resolution",
			`{"didDocument":null,"didDocumentMetadata":{},"didResolutionMetadata":{"error":{"type":"https://www.w3.org/ns/did#INTERNAL_ERROR","title":"internal error","detail":"no answer, and no copy here"}}}`},
		{"no answer from anywhere, and who asked may know why", "did:example:a", "", did.Resolution{}, refused(did.InternalError, "a.example does not exist", errors.Join(did.ErrUnavailable, errors.New("10.1.2.3"))), 500, "application/did-resolution",
			`{"didDocument":null,"didDocumentMetadata":{},"didResolutionMetadata":{"error":{"type":"https://www.w3.org/ns/did#INTERNAL_ERROR","title":"internal error","detail":"a.example does not exist"}}}`},
		{"an internal error with a detail tells nothing", "did:example:a", "", did.Resolution{}, refused(did.InternalError, "open /var/secret", errors.New("disk")), 500, "application/did-resolution",
			`{"didDocument":null,"didDocumentMetadata":{},"didResolutionMetadata":{"error":{"type":"https://www.w3.org/ns/did#INTERNAL_ERROR","title":"internal error"}}}`},
	} {
		resolve := stored(c.found)
		if c.err != nil {
			resolve = func(context.Context, did.DID, did.Options) (did.Resolution, error) { return did.Resolution{}, c.err }
		}
		s := resolution.Service{Resolve: resolve, Now: now, ConfirmedBy: func(r did.Resolution) string {
			if r.ConfirmedAt.IsZero() {
				return ""
			}
			return "beacon"
		}}
		w := get(s, resolution.Endpoint+c.ask, c.accept)
		if w.Code != c.status || w.Header().Get("Content-Type") != c.media || w.Body.String() != c.body {
			t.Errorf("%s: %d %s\n%s\nwant %d %s\n%s", c.name, w.Code, w.Header().Get("Content-Type"), w.Body, c.status, c.media, c.body)
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: not JSON", c.name)
		}
	}
}

// TestDocumentIsSentAsWritten: neither white space nor escapes nor the order of members change.
func TestDocumentIsSentAsWritten(t *testing.T) {
	s := service(stored(held(t, example, document)))
	for _, accept := range []string{"", "application/did-url-dereferencing", `application/ld+json`} {
		if w := get(s, "/"+example, accept); !bytes.Contains(w.Body.Bytes(), []byte(document)) {
			t.Errorf("%s: %s", accept, w.Body)
		}
	}
	if w := get(s, "/"+example, "application/did"); w.Body.String() != document {
		t.Errorf("alone: %s", w.Body)
	}
}
