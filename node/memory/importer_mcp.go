package memory

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"trustnode/did/strictjson"
)

// mcp reads the JSONL of the Model Context Protocol's memory server, in two
// shapes: with "type" on each line, and an older one without. Neither has ids;
// an entry is known by what it says. Observations become entries, one each, and
// so does a relation.
type mcp struct{}

var _ Importer = mcp{}

func (mcp) Name() string { return "mcp" }

func (mcp) Sniff(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if !bytes.HasPrefix(head, []byte("{")) {
		return false
	}
	for _, member := range []string{`"entityType"`, `"observations"`, `"relationType"`} {
		if bytes.Contains(head, []byte(member)) {
			return true
		}
	}
	return false
}

func (m mcp) Lines(ctx context.Context, r io.Reader, emit func(Line) error) error {
	return lines(ctx, r, func(n int, text []byte) error {
		for _, l := range m.line(text) {
			l.Number = n
			if err := emit(l); err != nil {
				return err
			}
		}
		return nil
	})
}

// line reads one line: one document, or several glued together by a writer
// that lost a line end. nil is a line over the limit.
func (m mcp) line(text []byte) (out []Line) {
	switch {
	case text == nil:
		return []Line{{Reason: RejectTooLong}}
	case !utf8.Valid(text):
		return []Line{{Reason: RejectUTF8}}
	}
	for {
		doc, rest := cutDocument(text)
		if len(doc) == 0 {
			return out
		}
		v, err := strictjson.Parse(doc, maxDepth)
		if err != nil { // where the next document would begin is a guess
			return append(out, Line{Reason: RejectTorn, Detail: err.Error()})
		}
		out = append(out, m.document(v)...)
		text = rest
	}
}

// cutDocument cuts a text after its first object or array: by brackets outside
// strings alone, what is between them is for the parser. A text that begins
// with neither, or does not end, is all one document.
func cutDocument(text []byte) (doc, rest []byte) {
	text = bytes.Trim(text, " \t\r\n")
	depth, quoted, escaped := 0, false, false
	for i, c := range text {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth <= 0 && (c == '}' || c == ']') && !quoted {
			return text[:i+1], text[i+1:]
		}
	}
	return text, nil
}

func (m mcp) document(v strictjson.Value) []Line {
	typ, named := member(v, "type")
	_, from := v.Get("from")
	_, observed := v.Get("observations")
	switch {
	case v.Kind() != strictjson.Object:
	case typ == "entity" || !named && observed:
		return m.entity(v)
	case typ == "relation" || !named && from:
		return m.relation(v)
	}
	return []Line{{Reason: RejectShape}}
}

// entity makes an entry of each observation.
func (m mcp) entity(v strictjson.Value) []Line {
	name, _ := member(v, "name")
	typ, _ := member(v, "entityType")
	if checkText("name", name, MaxSourceID, false) != nil {
		return []Line{{Reason: RejectName}}
	}
	tags, ok := slugs("type:", typ, "entity:", name)
	if !ok {
		return []Line{{Reason: RejectTag, Detail: name}}
	}
	list, _ := v.Get("observations")
	if list.Kind() != strictjson.Array {
		return []Line{{Reason: RejectShape, Detail: "observations"}}
	}
	if len(list.Elements()) == 0 {
		return []Line{{Reason: RejectEmpty, Detail: name}}
	}
	source := Source{Type: SourceImport, ID: name, ObservedAt: m.observed(v)}
	var out []Line
	for _, o := range list.Elements() {
		text, ok := o.Text()
		if !ok {
			out = append(out, Line{Reason: RejectShape, Detail: "observation"})
			continue
		}
		out = append(out, statement(text, "entity\x00"+name+"\x00"+typ+"\x00"+text, source, tags))
	}
	return out
}

func (m mcp) relation(v strictjson.Value) []Line {
	from, _ := member(v, "from")
	to, _ := member(v, "to")
	typ, _ := member(v, "relationType")
	for _, s := range []string{from, to, typ} {
		if checkText("name", s, MaxSourceID/4, false) != nil {
			return []Line{{Reason: RejectName}}
		}
	}
	tags, ok := slugs("entity:", from, "entity:", to, "type:", "relation")
	if !ok {
		return []Line{{Reason: RejectTag, Detail: from + ", " + to}}
	}
	text := from + " " + typ + " " + to
	source := Source{Type: SourceImport, ID: text, ObservedAt: m.observed(v)}
	return []Line{statement(text, "relation\x00"+from+"\x00"+typ+"\x00"+to, source, tags)}
}

// observed reads the time that some writers of the older shape add, in seconds
// since 1970; anything else there is no time.
func (mcp) observed(v strictjson.Value) time.Time {
	at, _ := v.Get("createdAt")
	s, err := strconv.ParseInt(string(at.Raw()), 10, 64)
	if err != nil || s <= 0 || s > 1<<33 {
		return time.Time{}
	}
	return time.Unix(s, 0).UTC()
}

func statement(text, origin string, source Source, tags []string) Line {
	text = norm.NFC.String(strings.ReplaceAll(text, "\r\n", "\n"))
	if err := checkText("statement", text, MaxStatement, true); err != nil {
		return Line{Reason: RejectStatement, Detail: err.Error()}
	}
	return Line{Origin: origin, Draft: Draft{Kind: Observation, Statement: text, Source: source, Tags: tags}}
}

// member returns a member that is a text, in Unicode form NFC.
func member(v strictjson.Value, name string) (string, bool) {
	m, ok := v.Get(name)
	if !ok {
		return "", false
	}
	text, _ := m.Text()
	return norm.NFC.String(text), true
}
