package resolution_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/resolution"
)

func TestRequestsTaken(t *testing.T) {
	at := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	long := "did:peer:4" + strings.Repeat("z", did.MaxLongDID-10)
	for _, c := range []struct {
		name, identifier, query string
		did, frag               string
		options                 did.Options
	}{
		{"a DID as it is", "did:web:acme.example", "", "did:web:acme.example", "", did.Options{}},
		{"an escape that is part of the DID", "did:web:domain%3A1100:api:v1", "", "did:web:domain%3A1100:api:v1", "", did.Options{}},
		{"an escape in lower case stays in lower case", "did:web:domain%3a1100", "", "did:web:domain%3a1100", "", did.Options{}},
		{"the same DID encoded as a whole", "did%3Aweb%3Adomain%253A1100%3Aapi%3Av1", "", "did:web:domain%3A1100:api:v1", "", did.Options{}},
		{"encoded in lower case", "did%3aweb%3adomain%253a1100", "", "did:web:domain%3a1100", "", did.Options{}},
		{"an escaped slash is a byte of the DID", "did:web:a.example%2Fb", "", "did:web:a.example%2Fb", "", did.Options{}},
		{"an escape twice encoded is decoded once", "did%3Aweb%3Aa%25253A1", "", "did:web:a%253A1", "", did.Options{}},
		{"a fragment", "did%3Aexample%3Aa%23keys-1", "", "did:example:a", "keys-1", did.Options{}},
		{"an escape in a fragment stays", "did%3Aexample%3Aa%23k%252D1", "", "did:example:a", "k%2D1", did.Options{}},
		{"a version in the query", "did:example:a", "versionId=2-QmB", "did:example:a", "", did.Options{VersionID: "2-QmB"}},
		{"a version in the query of the DID URL", "did%3Aexample%3Aa%3FversionId%3D2-QmB%23k", "", "did:example:a", "k", did.Options{VersionID: "2-QmB"}},
		{"a time", "did:example:a", "versionTime=2026-12-01T10:00:00Z", "did:example:a", "", did.Options{VersionTime: at}},
		{"a time, encoded", "did:example:a", "versionTime=2026-12-01T10%3A00%3A00Z", "did:example:a", "", did.Options{VersionTime: at}},
		{"a number", "did:example:a", "versionNumber=7", "did:example:a", "", did.Options{VersionNumber: 7}},
		{"the greatest number", "did:example:a", "versionNumber=18446744073709551615", "did:example:a", "", did.Options{VersionNumber: 1<<64 - 1}},
		{"a name that is encoded", "did:example:a", "version%49d=x", "did:example:a", "", did.Options{VersionID: "x"}},
		{"a plus is a plus", "did:example:a", "versionId=a+b", "did:example:a", "", did.Options{VersionID: "a+b"}},
		{"an equals sign in a value", "did:example:a", "versionId=a=b", "did:example:a", "", did.Options{VersionID: "a=b"}},
		{"an ampersand in a value", "did:example:a", "versionId=a%26versionNumber=3", "did:example:a", "", did.Options{VersionID: "a&versionNumber=3"}},
		{"flags that decline", "did:example:a", "noCache=false&expandRelativeUrls=false", "did:example:a", "", did.Options{}},
		{"a relationship", "did%3Aexample%3Aa%23k", "verificationRelationship=assertionMethod", "did:example:a", "k", did.Options{}},
		{"the longest DID", long, "", long, "", did.Options{}},
	} {
		r, err := resolution.ParseHTTP(c.identifier, c.query, "")
		if err != nil || r.DID().String() != c.did || r.Fragment() != c.frag || r.Options() != c.options {
			t.Errorf("%s: got %v #%s %+v, %v", c.name, r.DID(), r.Fragment(), r.Options(), err)
		}
	}
}

func TestRequestsRefused(t *testing.T) {
	const a = "did:example:a"
	pairs := func(n int) string { return strings.TrimSuffix(strings.Repeat("x=y&", n), "&") }
	for _, c := range []struct {
		name, identifier, query, accept string
		want                            did.ErrorName
	}{
		{"nothing", "", "", "", did.InvalidDID},
		{"no DID", "not-a-did", "", "", did.InvalidDID},
		{"no identifier in it", "did:example", "", "", did.InvalidDID},
		{"a scheme in capitals", "DID:example:a", "", "", did.InvalidDID},
		{"a scheme in capitals, encoded", "DID%3Aexample%3Aa", "", "", did.InvalidDID},
		{"an encoded letter in the scheme", "%64id%3Aexample%3Aa", "", "", did.InvalidDID},
		{"encoded twice", "did%253Aexample%253Aa", "", "", did.InvalidDID},
		{"encoded but for a stray percent", "did%3Aexample%3Aa%", "", "", did.InvalidDID},
		{"an encoding that is none", "did%3Aexample%3Aa%zz", "", "", did.InvalidDID},
		{"an escape that is none in a DID as it is", "did:example:a%zz", "", "", did.InvalidDID},
		{"NUL", "did%3Aexample%3Aa%00", "", "", did.InvalidDID},
		{"a new line", "did%3Aexample%3Aa%0d%0aX-Y%3A%20z", "", "", did.InvalidDID},
		{"a space", "did%3Aexample%3Aa%20", "", "", did.InvalidDID},
		{"a letter that is not ASCII", "did%3Aexample%3A%C3%A9", "", "", did.InvalidDID},
		{"a byte that is no letter", "did%3Aexample%3A%ff", "", "", did.InvalidDID},
		{"10 KB", "did:example:" + strings.Repeat("a", 10<<10), "", "", did.InvalidDID},
		{"10 KB encoded", "did%3Aexample%3A" + strings.Repeat("a", 10<<10), "", "", did.InvalidDID},
		{"longer than any encoded DID URL", "did%3Aexample%3A" + strings.Repeat("a", 1<<20), "", "", did.InvalidDID},
		{"a bad DID with a fragment", "did%3Aexample%23k", "", "", did.InvalidDIDURL},
		{"two fragments", "did%3Aexample%3Aa%23k%23k", "", "", did.InvalidDIDURL},
		{"an empty fragment", "did%3Aexample%3Aa%23", "", "", did.InvalidDIDURL},
		{"a fragment after an escape that is none", "did%3Aexample%3Aa%23k%25zz", "", "", did.InvalidDIDURL},
		{"a query too long to be one", "did%3Aexample%3Aa%3F" + strings.Repeat("a", 8<<10), "", "", did.InvalidDIDURL},
		{"a path", a + "/some/path", "", "", did.FeatureNotSupported},
		{"a path, encoded", "did%3Aexample%3Aa%2Fwhois", "", "", did.FeatureNotSupported},
		{"a slash at the end", a + "/", "", "", did.FeatureNotSupported},
		{"dots", a + "/../../b", "", "", did.FeatureNotSupported},
		{"a service", a, "service=files", "", did.FeatureNotSupported},
		{"a service and a reference", a, "service=files&relativeRef=%2Fresume.pdf", "", did.FeatureNotSupported},
		{"a reference in the DID URL", "did%3Aexample%3Aa%3FrelativeRef%3Dx", "", "", did.FeatureNotSupported},
		{"a type of service", a, "serviceType=Files", "", did.FeatureNotSupported},
		{"a hash link", a, "hl=zQm", "", did.FeatureNotSupported},
		{"no cache", a, "noCache=true", "", did.FeatureNotSupported},
		{"absolute ids", a, "expandRelativeUrls=true", "", did.FeatureNotSupported},
		{"a flag that is neither", a, "noCache=yes", "", did.InvalidOptions},
		{"a name nobody knows", a, "version=2", "", did.InvalidOptions},
		{"a name in another case", a, "versionid=2", "", did.InvalidOptions},
		{"a name with a NUL", a, "versionId%00=2", "", did.InvalidOptions},
		{"no value", a, "versionId", "", did.InvalidOptions},
		{"an empty value", a, "versionId=", "", did.InvalidOptions},
		{"no name", a, "=2", "", did.InvalidOptions},
		{"an empty pair", a, "versionId=2&", "", did.InvalidOptions},
		{"a bad escape in a value", a, "versionId=%zz", "", did.InvalidOptions},
		{"a bad escape in a name", a, "%zz=2", "", did.InvalidOptions},
		{"a value with a NUL", a, "versionId=2%00", "", did.InvalidOptions},
		{"a value with a line end", a, "versionId=2%0a", "", did.InvalidOptions},
		{"a value that is not ASCII", a, "versionId=%F0%9F%94%A5", "", did.InvalidOptions},
		{"a service that is not ASCII", a, "service=%F0%9F%94%A5", "", did.InvalidOptions},
		{"a space before a value", a, "versionId=%202", "", did.InvalidOptions},
		{"a semicolon between options", a, "versionNumber=2;versionTime=x", "", did.InvalidOptions},
		{"a version too long", a, "versionId=" + strings.Repeat("a", 300), "", did.InvalidOptions},
		{"a query too long", a, "versionId=" + strings.Repeat("a", 5000), "", did.InvalidOptions},
		{"too many options", a, pairs(17), "", did.InvalidOptions},
		{"one option twice", a, "versionId=2&versionId=2", "", did.InvalidOptions},
		{"one option in both queries", "did%3Aexample%3Aa%3FversionId%3D2", "versionId=2", "", did.InvalidOptions},
		{"an id and a time", a, "versionId=2&versionTime=2026-12-01T10:00:00Z", "", did.InvalidOptions},
		{"an id and a number, in two queries", "did%3Aexample%3Aa%3FversionId%3D2", "versionNumber=2", "", did.InvalidOptions},
		{"number 0", a, "versionNumber=0", "", did.InvalidOptions},
		{"a number with a leading zero", a, "versionNumber=02", "", did.InvalidOptions},
		{"a number with a sign", a, "versionNumber=+2", "", did.InvalidOptions},
		{"a number below all", a, "versionNumber=-1", "", did.InvalidOptions},
		{"a number beyond all", a, "versionNumber=18446744073709551616", "", did.InvalidOptions},
		{"a time that the zero time is", a, "versionTime=0001-01-01T00:00:00Z", "", did.InvalidOptions},
		{"a relationship that is none", "did%3Aexample%3Aa%23k", "verificationRelationship=owner", "", did.InvalidOptions},
		{"a relationship of a document", a, "verificationRelationship=authentication", "", did.InvalidOptions},
		{"an Accept that is none", a, "", "fast", did.InvalidOptions},
		{"an accept option that is none", a, "accept=fast", "application/did", did.InvalidOptions},
		{"a type that is not had", a, "", "text/html", did.RepresentationNotSupported},
		{"a result of resolving for a fragment", "did%3Aexample%3Aa%23k", "", "application/did-resolution", did.RepresentationNotSupported},
		{"the DID is looked at before its options", "did:example", "versionId=", "fast", did.InvalidDID},
		{"options before what is accepted", a, "versionId=", "text/html", did.InvalidOptions},
	} {
		r, err := resolution.ParseHTTP(c.identifier, c.query, c.accept)
		var e *did.ResolutionError
		if !errors.As(err, &e) || e.Name != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		if r != (resolution.Request{}) {
			t.Errorf("%s: left %+v", c.name, r)
		}
	}
}

// TestTimesRefused: one spelling, and no reading that differs between two of them.
func TestTimesRefused(t *testing.T) {
	for _, s := range []string{
		"2025-10-07 12:30:45", "2025/10/07T12:30:45", "2025-13-07T12:30:45Z", "2025-10-32T12:30:45Z", "2025-10-07T25:00:00Z",
		"2025-10-07T12:30:60Z", "2025-10-07T12:30:45%2B24:00", "2025-10-07", "2025-10-07T12:30:45abc", "T12:30:45",
		"2025-10-07T00:00:00%2B02:00", "2025-10-07T00:00:00-05:00", "2025-10-07T00:00:00", "2025-10-07T00:00:00.123Z",
		"2025-10-07T00:00:00%2B00:00", "2025-10-07t00:00:00z", "2025-10-07T00:00:00,5Z", "2025-02-29T00:00:00Z", "99999-10-07T00:00:00Z",
	} {
		_, err := resolution.ParseHTTP("did:example:a", "versionTime="+s, "")
		var e *did.ResolutionError
		if !errors.As(err, &e) || e.Name != did.InvalidOptions {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestParseText(t *testing.T) {
	r, err := resolution.Parse("did:web:domain%3A1100?versionNumber=2#k")
	if err != nil || r.DID().String() != "did:web:domain%3A1100" || r.Fragment() != "k" || r.Options().VersionNumber != 2 {
		t.Errorf("got %+v, %v", r, err)
	}
	for text, want := range map[string]did.ErrorName{
		"did%3Aexample%3Aa": did.InvalidDID, // nobody types this; a text is not encoded
		"did:example:a?x=1": did.InvalidOptions,
		"did:example:a/b":   did.FeatureNotSupported,
		"did:example#k":     did.InvalidDIDURL,
	} {
		r, err := resolution.Parse(text)
		var e *did.ResolutionError
		if !errors.As(err, &e) || e.Name != want || !reflect.DeepEqual(r, resolution.Request{}) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
