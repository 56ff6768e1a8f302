package resolution_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/resolution"
)

// TestDereference is identity B-10 (INVALID_RELATIONSHIP_FOR_VERIFICATION_METHOD).
func TestDereference(t *testing.T) {
	s := service(stored(held(t, example, document)))
	const inside = `{"id":"#inside","type":"Multikey","controller":"did:example:123456789abcdefghi","publicKeyMultibase":"z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"}`
	const messages = `{"id":"did:example:123456789abcdefghi#messages","type":"Messaging","serviceEndpoint":"https://example.com/messages/8377464"}`
	for _, c := range []struct {
		name, frag, rel string
		want            string        // the bytes
		err             did.ErrorName // or why not
	}{
		{"a method by its relative id", "keys-1", "", method1, ""},
		{"a method embedded in a relationship", "inside", "", inside, ""},
		{"a service", "messages", "", messages, ""},
		{"a method whose key is broken is still a part of the document", "broken", "", `"publicKeyMultibase":"z6Mk"}`, ""},
		{"a method of another controller likewise", "lent", "", `"controller":"did:example:other"`, ""},
		{"nothing of that name", "keys", "", "", did.NotFound},
		{"another case", "Keys-1", "", "", did.NotFound},
		{"an escape that would be the same text", "keys%2D1", "", "", did.NotFound},
		{"a method under the id of another DID", "keys-2", "", "", did.NotFound},
		{"a name that only begins alike", "keys-10", "", "", did.NotFound},
		{"a key for what it is listed for", "keys-1", "assertionMethod", method1, ""},
		{"an embedded key for its relationship", "inside", "authentication", inside, ""},
		{"a key for what it is not listed for", "keys-1", "authentication", "", did.InvalidRelationship},
		{"an embedded key for another relationship", "inside", "assertionMethod", "", did.InvalidRelationship},
		{"a key that has ended", "ended", "assertionMethod", "", did.InvalidVerificationMethod},
		{"a broken key", "broken", "assertionMethod", "", did.InvalidVerificationMethod},
		{"a key of another controller, listed", "lent", "assertionMethod", "", did.InvalidVerificationMethod},
		{"a service is no key", "messages", "assertionMethod", "", did.InvalidVerificationMethod},
		{"no key at all", "nobody", "assertionMethod", "", did.NotFound},
	} {
		query := ""
		if c.rel != "" {
			query = "verificationRelationship=" + c.rel
		}
		id := url.QueryEscape(example + "#" + c.frag)
		alone, full := s.Get(t.Context(), id, query, resolution.MediaDocument), s.Get(t.Context(), id, query, "")
		if c.err != "" {
			if alone.Err == nil || alone.Err.Name != c.err || full.Err == nil || full.Err.Name != c.err || full.Status == 200 {
				t.Errorf("%s: got %v, %v, want %s", c.name, alone.Err, full.Err, c.err)
			}
			continue
		}
		if alone.Err != nil || !strings.HasSuffix(string(alone.Body), c.want) && !strings.Contains(string(alone.Body), c.want) {
			t.Errorf("%s: got %v %s", c.name, alone.Err, alone.Body)
		}
		if strings.HasPrefix(c.want, "{") && string(alone.Body) != c.want {
			t.Errorf("%s: got %s\nwant %s", c.name, alone.Body, c.want)
		}
		if !strings.HasPrefix(string(full.Body), `{"content":`+string(alone.Body)+`,"contentMetadata":`) {
			t.Errorf("%s: in a result %s", c.name, full.Body)
		}
	}
}

// TestKeyThatEnds: the present of the service decides, to the second.
func TestKeyThatEnds(t *testing.T) {
	s := service(stored(held(t, example, document)))
	s.Now = func() time.Time { return present.Add(-time.Second) }
	id := url.QueryEscape(example + "#ended")
	if a := s.Get(t.Context(), id, "verificationRelationship=assertionMethod", ""); a.Err != nil {
		t.Errorf("one second before its end: %v", a.Err)
	}
	s.Now = now
	if a := s.Get(t.Context(), id, "verificationRelationship=assertionMethod", ""); a.Err == nil {
		t.Error("at its end the key is still given out")
	}
}

// TestMethodGoesBeforeService: where both have one id, a relying party gets the key the document's own readers see.
func TestMethodGoesBeforeService(t *testing.T) {
	const key = `{"id":"#a","type":"Multikey","controller":"did:example:a","publicKeyMultibase":"z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S"}`
	r := held(t, "did:example:a", `{"service":[{"id":"#a","type":"S","serviceEndpoint":"x"}],"id":"did:example:a","verificationMethod":[`+key+`],"authentication":["#a","#b"]}`)
	a := service(stored(r)).Get(t.Context(), "did%3Aexample%3Aa%23a", "", "application/did")
	if string(a.Body) != key {
		t.Errorf("got %s", a.Body)
	}
	if a := service(stored(r)).Get(t.Context(), "did%3Aexample%3Aa%23b", "", ""); a.Err == nil || a.Err.Name != did.NotFound {
		t.Errorf("a reference is no method: %v", a.Err)
	}
}
