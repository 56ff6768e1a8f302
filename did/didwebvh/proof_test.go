package didwebvh

import (
	"strings"
	"testing"

	"trustnode/did/strictjson"
)

// TestProofOfALogIsNarrow: what eddsa-jcs-2022 allows beyond the seven members has no place in a log.
func TestProofOfALogIsNarrow(t *testing.T) {
	const k = "z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S"
	const good = `{"id":"urn:x","type":"DataIntegrityProof","cryptosuite":"eddsa-jcs-2022","created":"2026-12-01T10:00:00Z",` +
		`"verificationMethod":"did:key:` + k + `#` + k + `","proofPurpose":"assertionMethod",` +
		`"proofValue":"z2HnFSSPPBzR36zdDgK8PbEHeXbR56YF24jwMpt3R1eHXQzJDMWS93FCzpvJpwTWd3GAVFuUfjoJdcnTMuVor51aX"}`
	for _, c := range []struct {
		name, old, next string
		ok              bool
	}{
		{"nothing", "", "", true},
		{"created left out", `"created":"2026-12-01T10:00:00Z",`, "", true},
		{"created with a fraction", ":00Z", ":00.25Z", true},
		{"created at an offset of zero", ":00Z", ":00+00:00", false},
		{"created at an offset", ":00Z", ":00+01:00", false},
		{"created empty", "2026-12-01T10:00:00Z", "", false},
		{"an end", `"id"`, `"expires":"2027-01-01T00:00:00Z","id"`, false},
		{"a nonce", `"id"`, `"nonce":"n","id"`, false},
		{"a context", `"id"`, `"@context":[],"id"`, false},
		{"a domain", `"id"`, `"domain":"example.org","id"`, false},
		{"an earlier proof", `"id"`, `"previousProof":"urn:y","id"`, false},
		{"an id that is no string", `"urn:x"`, `1`, false},
		{"another purpose", "assertionMethod", "authentication", false},
		{"a key of another name", "#" + k, "#key-1", false},
		{"no fragment", "#" + k, "", false},
		{"another method", "did:key:", "did:web:", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := strictjson.Parse([]byte(strings.Replace(good, c.old, c.next, 1)), 8)
			if err != nil {
				t.Fatal(err)
			}
			p, err := parseProof(v)
			if (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
			if c.ok && (p.key != k || string(p.raw.Raw()) != string(v.Raw())) {
				t.Errorf("key %s, raw %s", p.key, p.raw.Raw())
			}
		})
	}
}
