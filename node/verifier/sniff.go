package verifier

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/strictjson"
	"trustnode/federation/bundle"
	"trustnode/node/casefile"
)

// Kind is what a file is, told by its bytes. Values are printed: never reuse one.
type Kind string

// The kinds.
const (
	KindCase       Kind = "case"
	KindBundle     Kind = "bundle"
	KindDIDLog     Kind = "did_log"
	KindDocument   Kind = "did_document"
	KindWitness    Kind = "did_witness"
	KindResolution Kind = "did_resolution"
	KindObject     Kind = "object"
	KindCompact    Kind = "compact"
	KindCredential Kind = "credential"
	KindProof      Kind = "proof"
)

var kindWords = map[Kind]string{
	KindProof: "proof of an event or row", KindBundle: "bundle", KindDIDLog: "DID log", KindDocument: "DID document", KindWitness: "witness file of a DID log",
	KindResolution: "DID resolution result", KindObject: "signed object", KindCompact: "object in compact form", KindCredential: "credential",
}

func (k Kind) words() string { return kindWords[k] }

// IsDIDLog tells by its first bytes whether a file is a DID log: then a did-witness.json
// may belong to it.
func IsDIDLog(b []byte) bool { return sniff(b[:min(len(b), maxHead)]) == KindDIDLog }

// read tells what a file is and reads it as far as that kind may be long. Errors are *refusal.
func read(r io.Reader) (Kind, []byte, error) {
	in := bufio.NewReaderSize(r, maxHead)
	head, err := in.Peek(maxHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", nil, broken("the file cannot be read: %v", err)
	}
	kind := sniff(head)
	if kind == "" {
		if r := partOf(head); r != nil {
			return "", nil, r
		}
		return "", nil, broken("%s", looksLike(head))
	}
	limit := limitOf(kind)
	b, err := io.ReadAll(io.LimitReader(in, int64(limit)+1))
	if err != nil {
		return kind, nil, broken("the file cannot be read: %v", err)
	}
	if len(b) > limit {
		return kind, nil, broken("the file is longer than the %s bytes a %s may have", casefile.Thousands(limit), kindName(kind))
	}
	if kind == kindJSON {
		return tellJSON(b)
	}
	if kind == KindCase && provesEvent(b) {
		if kind = KindProof; len(b) > maxBundle {
			return kind, nil, broken("the file is longer than the %s bytes a %s may have", casefile.Thousands(maxBundle), kindName(kind))
		}
	}
	return kind, b, nil
}

// provesEvent tells the proof of events and rows from the file of a case, which have one header: the one
// is about what it holds, the other about a dispute, which is no line of it.
func provesEvent(b []byte) bool {
	head, rest, _ := bytes.Cut(b, []byte("\n"))
	h, err := bundle.ParseHeader(head)
	if err != nil || len(h.About) == 0 {
		return false
	}
	for raw := range bytes.Lines(rest) {
		if e, ok := member(raw, `{"entry":"`); ok && attestation.Entry(e).Check() == nil && attestation.Entry(e).ID() == h.About[0] {
			return true
		}
		if r, ok := member(raw, `,"row":"`); ok && envelope.IDOf(r) == h.About[0] {
			return true
		}
	}
	return false
}

// member reads what a line holds in base64url after mark. The line may be none: whoever verifies the file reads it again.
func member(raw []byte, mark string) ([]byte, bool) {
	_, rest, ok := bytes.Cut(raw, []byte(mark))
	text, _, closed := bytes.Cut(rest, []byte(`"`))
	b, err := base64.RawURLEncoding.DecodeString(string(text))
	return b, ok && closed && err == nil
}

// kindJSON is a file of which only the whole JSON tells what it is.
const kindJSON Kind = "json"

func kindName(k Kind) string {
	switch k {
	case KindCase:
		return "case file"
	case kindJSON:
		return "JSON file"
	}
	return k.words()
}

func limitOf(k Kind) int {
	switch k {
	case KindCase:
		return maxCase
	case KindBundle:
		return maxBundle
	case KindDIDLog:
		return maxLog
	case KindObject, KindCompact:
		return maxObject
	case KindCredential:
		return maxToken
	}
	return maxJSON
}

// sniff tells from its first bytes what a file is, "" if nothing that is known.
func sniff(head []byte) Kind {
	first, _, _ := bytes.Cut(head, []byte("\n"))
	switch form := bundle.Sniff(head); {
	case form == bundle.FormBundle:
		if h, err := bundle.ParseHeader(first); err == nil && len(h.About) > 0 {
			return KindCase
		}
		return KindBundle
	case form == bundle.FormObject:
		return KindObject
	case form == bundle.FormDIDLog && !bytes.Contains(first, []byte(`"didDocument"`)):
		return KindDIDLog
	case form == bundle.FormCompact:
		return KindCompact
	case isToken(first):
		return KindCredential
	}
	text := bytes.TrimLeft(head, " \t\r\n")
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') && !looksLikeBundle(first) {
		return kindJSON
	}
	return ""
}

// isToken tells whether a line reads as a JSON Web Token: three parts, the first of which
// is a JSON object in base64url.
func isToken(line []byte) bool {
	return bytes.HasPrefix(line, []byte("eyJ")) && bytes.Count(line, []byte(".")) >= 2 && !bytes.ContainsAny(line, " \t{\"")
}

func looksLikeBundle(first []byte) bool {
	return bytes.Contains(first, []byte(`"trustnode"`)) && bytes.Contains(first, []byte(`"bundle"`))
}

// tellJSON tells the kinds that are one JSON value apart.
func tellJSON(b []byte) (Kind, []byte, error) {
	v, err := strictjson.Parse(b, maxDepth)
	if err != nil {
		return "", nil, broken("it looks like JSON and is not: %v", err)
	}
	switch {
	case len(v.Members()) == 2 && has(v, "did") && has(v, "entry"):
		return "", nil, carried("it is an entry of a DID log that waits for its witnesses, as did witness request writes it: it is in force nowhere yet").
			hinted("its witness verifies it, and signs it with trustnode did witness sign FILE")
	case len(v.Members()) == 2 && has(v, "id") && has(v, "proof"):
		id, _ := v.Get("id")
		text, _ := id.Text()
		return "", nil, carried("it is a witness proof of entry %s of a DID log, as did witness sign writes it: it says nothing without that entry", quote(text)).
			hinted("its organization adds it with trustnode did rotate --resume --proof FILE, which verifies it")
	case v.Kind() == strictjson.Array && isWitnessFile(v):
		return KindWitness, b, nil
	case has(v, "didDocument"):
		return KindResolution, b, nil
	case has(v, "credentialSubject"), typed(v, "Verifiable"), has(v, "proof") && has(v, "issuer"):
		return KindCredential, b, nil
	case isDocument(v):
		return KindDocument, b, nil
	case v.Kind() == strictjson.Array:
		return "", nil, broken("it is a JSON array of %s, and no witness file", casefile.Count(len(v.Elements()), "element"))
	}
	if len(v.Members()) == 0 {
		return "", nil, broken("it is an empty JSON object")
	}
	var names []string
	for _, m := range v.Members()[:min(len(v.Members()), maxMembers)] {
		names = append(names, quote(m.Name))
	}
	return "", nil, broken("it is a JSON object of no kind that is known here, with the members %s", strings.Join(names, ", "))
}

// carried refuses what lies in files only on its way between an organization and its witnesses.
func carried(format string, args ...any) *refusal {
	r := broken(format, args...)
	r.outcome = Unproven
	return r
}

func has(v strictjson.Value, name string) bool { _, ok := v.Get(name); return ok }

// typed says whether a type of a JSON-LD object contains a word.
func typed(v strictjson.Value, word string) bool {
	t, _ := v.Get("type")
	for _, e := range append([]strictjson.Value{t}, t.Elements()...) {
		if s, ok := e.Text(); ok && strings.Contains(s, word) {
			return true
		}
	}
	return false
}

func isWitnessFile(v strictjson.Value) bool {
	for _, e := range v.Elements() {
		if !has(e, "versionId") || !has(e, "proof") {
			return false
		}
	}
	return len(v.Elements()) > 0
}

func isDocument(v strictjson.Value) bool {
	id, _ := v.Get("id")
	s, _ := id.Text()
	_, err := did.Parse(s)
	return err == nil
}

// magics are the beginnings of files that people hand in by mistake.
var magics = []struct{ start, what string }{
	{"\xef\xbb\xbf", "it starts with a byte order mark, which no file of these kinds has"},
	{"\x1f\x8b", "it looks compressed (gzip): unpack it first"},
	{"PK\x03\x04", "it looks like a ZIP archive: unpack it first"},
	{"%PDF", "it looks like a PDF"},
	{"-----BEGIN", "it looks like PEM"},
	{"\xff\xfe", "it looks like UTF-16 text"},
	{"\xfe\xff", "it looks like UTF-16 text"},
	{"SQLite format 3", "it looks like a database"},
}

// looksLike says what the bytes of a file that is of no known kind look like.
func looksLike(head []byte) string {
	const none = "neither a case file, a bundle, a DID log, a signed object nor a credential: "
	first, _, _ := bytes.Cut(head, []byte("\n"))
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.start)) {
			return none + m.what
		}
	}
	switch {
	case len(head) == 0:
		return "the file is empty"
	case looksLikeBundle(first) && bytes.HasSuffix(first, []byte("\r")):
		return none + "it looks like a bundle whose lines end with CR LF, so it was changed on the way"
	case looksLikeBundle(first):
		return none + "its first line is almost the header of a bundle, and one byte of it counts"
	case len(bytes.TrimSpace(head)) == 0:
		return none + "it holds nothing but white space"
	case !isText(head):
		return none + fmt.Sprintf("it looks binary, its first bytes are %x", head[:min(len(head), 8)])
	}
	if casefile.Secretive(string(head)) {
		return none + "it looks like a token or a recovery key, so nothing of it is shown. Keep it to yourself"
	}
	return none + "it looks like text that begins with " + quote(string(first[:min(len(first), 40)]))
}

// isText tells text from other bytes; head may end within a character.
func isText(head []byte) bool {
	if len(head) == maxHead {
		head = head[:len(head)-utf8.UTFMax]
		for len(head) > 0 && !utf8.RuneStart(head[len(head)-1]) {
			head = head[:len(head)-1]
		}
		head = head[:max(len(head)-1, 0)]
	}
	return utf8.Valid(head) && !bytes.ContainsFunc(head, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' })
}
