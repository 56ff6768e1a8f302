package importers

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"trustnode/did/strictjson"
)

// get returns the first of the members that is there and not null. Exports spell
// names in snake_case or camelCase, by the language of who wrote them.
func get(v strictjson.Value, names ...string) (strictjson.Value, bool) {
	for _, n := range names {
		if m, ok := v.Get(n); ok && m.Kind() != strictjson.Null {
			return m, true
		}
	}
	return strictjson.Value{}, false
}

// text returns a member that is a text, in Unicode form NFC; empty if there is
// none.
func text(v strictjson.Value, names ...string) string {
	m, _ := get(v, names...)
	s, _ := m.Text()
	return norm.NFC.String(s)
}

// texts returns a member that is a list of texts; nil where it is absent, false
// where it is anything else.
func texts(v strictjson.Value, names ...string) (out []string, ok bool) {
	m, there := get(v, names...)
	if !there {
		return nil, true
	}
	for _, e := range m.Elements() {
		s, isText := e.Text()
		if !isText {
			return nil, false
		}
		out = append(out, norm.NFC.String(s))
	}
	return out, m.Kind() == strictjson.Array
}

// statement is a text as it is stored: NFC, line ends LF.
func statement(s string) string {
	return norm.NFC.String(strings.ReplaceAll(s, "\r\n", "\n"))
}

// layouts are the spellings of times that these programs write. A time without
// zone is UTC, as they mean it.
var layouts = []string{
	time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z07", "2006-01-02 15:04:05", time.DateOnly,
}

// when reads a time, or seconds since 1970; zero where it is absent. The error
// names what cannot be read.
func when(v strictjson.Value, names ...string) (time.Time, error) {
	m, ok := get(v, names...)
	if !ok {
		return time.Time{}, nil
	}
	if s, isText := m.Text(); isText {
		s, _, _ = strings.Cut(s, "[") // Neo4j adds the name of the zone
		for _, l := range layouts {
			if t, err := time.Parse(l, s); err == nil && t.Year() >= 1970 && t.Year() <= 9999 {
				return t.UTC(), nil
			}
		}
		return time.Time{}, fmt.Errorf("%s %.40q", names[0], s)
	}
	s, err := strconv.ParseFloat(string(m.Raw()), 64)
	if err != nil || s < 0 || s > 1<<33 {
		return time.Time{}, fmt.Errorf("%s %.40s", names[0], m.Raw())
	}
	return time.Unix(int64(s), 0).UTC(), nil
}

// join joins what identifies an item, so that no two lists give one text.
func join(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strconv.Itoa(len(p)))
		b.WriteByte(':')
		b.WriteString(p)
	}
	return b.String()
}
