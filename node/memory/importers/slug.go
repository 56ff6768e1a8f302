package importers

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"trustnode/federation/lending"
)

// slugs makes tags of pairs of a prefix and a foreign name, and reports false
// if one of them makes none.
func slugs(pairs ...string) (tags []string, ok bool) {
	for i := 0; i < len(pairs); i += 2 {
		t, ok := slug(pairs[i], pairs[i+1])
		if !ok {
			return nil, false
		}
		tags = append(tags, t)
	}
	return tags, true
}

// slug makes a tag of a foreign name (04 section 2): NFKD, marks dropped, lower
// case, each run of other characters one "-", cut to what a tag may have. A name
// that leaves neither letter nor digit makes no tag: all names of another script
// would share it.
func slug(prefix, name string) (string, bool) {
	var b strings.Builder
	b.WriteString(prefix)
	said, gap := false, false
	for _, r := range norm.NFKD.String(name) {
		if unicode.IsMark(r) {
			continue
		}
		switch r = unicode.ToLower(r); {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			said = true
		case r < utf8.RuneSelf && strings.ContainsRune(":_-./", r):
		default:
			if !gap {
				b.WriteByte('-')
			}
			gap = true
			continue
		}
		gap = false
		b.WriteRune(r)
	}
	tag := b.String()
	return tag[:min(len(tag), lending.MaxTag)], said
}
