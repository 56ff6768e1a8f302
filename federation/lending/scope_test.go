package lending

import (
	"errors"
	"testing"
)

func TestParsePrints(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"canonical text stays as it is", "tag:terminal:north -tag:customs:hold age<30d", "tag:terminal:north -tag:customs:hold age<30d"},
		{"terms are put in the order of the grammar", "age<90d -tag:z tag:b created>=2026-01-01T00:00:00Z any(y,x) tag:a", "tag:a tag:b any(x,y) -tag:z created>=2026-01-01T00:00:00Z age<90d"},
		{"upper side of a window sorts first", "tag:a created>=2026-01-01T00:00:00Z created<2026-02-01T00:00:00Z", "tag:a created<2026-02-01T00:00:00Z created>=2026-01-01T00:00:00Z"},
		{"repetitions fall away", "tag:a tag:a any(b,c,b) any(c,b) -tag:d -tag:d", "tag:a any(b,c) -tag:d"},
		{"a group of one is an inclusion", "any(a) any(b,b)", "tag:a tag:b"},
		{"white space is free", "  tag:a\t any( b , c )\n-tag:d ", "tag:a any(b,c) -tag:d"},
		{"weeks become days", "tag:a age<2w", "tag:a age<14d"},
		{"the largest unit that divides is used", "tag:a age<7200s", "tag:a age<2h"},
		{"a number that no larger unit divides stays", "tag:a age<90m", "tag:a age<90m"},
		{"leading zeros fall away", "tag:a age<007d", "tag:a age<7d"},
		{"of two ages the tighter counts", "tag:a age<7d age<1d", "tag:a age<1d"},
		{"of two windows the intersection counts", "tag:a updated<2026-02-01T00:00:00Z updated<2026-01-01T00:00:00Z", "tag:a updated<2026-01-01T00:00:00Z"},
		{"a tag may look like another term", "tag:age any(created,updated) -tag:tag:a", "tag:age any(created,updated) -tag:tag:a"},
	} {
		s, err := Parse(c.text)
		if err != nil || s.String() != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, s.String(), err, c.want)
		}
		if _, err := ParseCanonical(c.text); (err == nil) != (c.text == c.want) {
			t.Errorf("%s: as canonical: %v", c.name, err)
		} else if err != nil && !errors.Is(err, ErrNotCanonical) {
			t.Errorf("%s: got %v, want ErrNotCanonical", c.name, err)
		}
	}
}
