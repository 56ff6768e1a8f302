package resolution_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"trustnode/did"
	"trustnode/did/resolution"
)

// TestCaps: what is too long is refused for its length, before it is looked at.
func TestCaps(t *testing.T) {
	const a = "did:example:a"
	for _, c := range []struct{ name, identifier, query, accept string }{
		{"a DID", "did:example:" + strings.Repeat("a", did.MaxDID), "", ""},
		{"a DID of the long method", "did:peer:4" + strings.Repeat("a", did.MaxLongDID), "", ""},
		{"an encoded identifier, whatever it holds", "did%3A" + strings.Repeat("%", 3*(did.MaxLongDID+did.MaxURLTail)), "", ""},
		{"a query", a, strings.Repeat("%", did.MaxURLTail+1), ""},
		{"options", a, strings.Repeat("&", 16), ""},
		{"a version", a, "versionId=" + strings.Repeat("a", 257), ""},
		{"an Accept", a, "", strings.Repeat("\xff", 1025)},
	} {
		if _, err := resolution.ParseHTTP(c.identifier, c.query, c.accept); !errors.Is(err, did.ErrTooLarge) {
			t.Errorf("%s: %.200v", c.name, err)
		}
	}
	for _, c := range []struct{ name, identifier, query, accept string }{
		{"a DID", "did:example:" + strings.Repeat("a", did.MaxDID-12), "", ""},
		{"a version", a, "versionId=" + strings.Repeat("a", 256), ""},
		{"an Accept", a, "", "*/*" + strings.Repeat(" ", 1021)},
	} {
		if _, err := resolution.ParseHTTP(c.identifier, c.query, c.accept); err != nil {
			t.Errorf("as long as may be, %s: %.200v", c.name, err)
		}
	}
}

func TestDetailIsCut(t *testing.T) {
	s := failing(&did.ResolutionError{Name: did.InvalidDID, Detail: "x" + strings.Repeat("é", 400)})
	_, _, got := problem(t, s.Text(t.Context(), example).Body)
	if len(got) != 511 || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

// TestAgeIsNeverNegative: a clock that was set back must not make a statement of the future out of an old one.
func TestAgeIsNeverNegative(t *testing.T) {
	r := held(t, "did:example:a", small)
	r.Age = -5 * time.Second
	if a := service(stored(r)).Text(t.Context(), "did:example:a"); !strings.Contains(string(a.Body), `"age_s":"0"`) {
		t.Errorf("got %s", a.Body)
	}
}
