package bundle

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"trustnode/did"
	"trustnode/did/envelope"
)

// The wire forms. Frozen: a change is version 2 of the header.
type (
	headerWire struct {
		About     []envelope.ID `json:"about,omitempty"`
		Pin       *Pin          `json:"pin,omitempty"`
		Trustnode string        `json:"trustnode"`
		V         uint64        `json:"v"`
	}
	didLogWire struct {
		DID     did.DID `json:"did"`
		Log     string  `json:"did_log"`
		Witness string  `json:"did_witness,omitempty"`
		From    uint64  `json:"from"`
	}
	entryWire struct {
		Entry string `json:"entry"`
		Proof string `json:"proof"`
	}
	bodyWire struct {
		Body string      `json:"body"`
		ID   envelope.ID `json:"id"`
	}
	rowWire struct {
		Event envelope.ID `json:"event"`
		Index uint64      `json:"index"`
		Path  string      `json:"path"`
		Row   string      `json:"row"`
		Size  uint64      `json:"size"`
	}
	compactWire struct {
		Compact string `json:"compact"`
		What    string `json:"what"`
	}
)

var b64 = base64.RawURLEncoding.Strict()

// unbase64 decodes unpadded base64url; one text per value.
func unbase64(member, text string) ([]byte, error) {
	// The standard decoder skips line breaks; here they would be bytes that do not count.
	if strings.ContainsAny(text, "\r\n") {
		return nil, fmt.Errorf("%s is not base64url", member)
	}
	b, err := b64.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%s is not base64url", member)
	}
	return b, nil
}

// ParseLine reads one line without its newline. The line must be its own
// canonical form. A canonical object of an unknown shape is an Unknown; anything
// else that does not parse is an error. The result shares no memory with b.
func ParseLine(b []byte) (Line, error) {
	if len(b) > MaxLine {
		return nil, ErrTooLong
	}
	switch s := prefix(b); {
	case strings.HasPrefix(s, `{"payload":`):
		return parsed(parseEnvelope, b, "payload", "payloadType", "signatures")
	case strings.HasPrefix(s, `{"did":`):
		return parsed(parseDIDLog, b, "did", "did_log", "did_witness", "from")
	case strings.HasPrefix(s, `{"entry":`):
		return parsed(parseEntry, b, "entry", "proof")
	case strings.HasPrefix(s, `{"body":`):
		return parsed(parseBody, b, "body", "id")
	case strings.HasPrefix(s, `{"event":`):
		return parsed(parseRow, b, "event", "index", "path", "row", "size")
	case strings.HasPrefix(s, `{"compact":`):
		return parsed(parseCompact, b, "compact", "what")
	}
	return parsed(func([]byte) (Line, error) { return nil, errNotCanonical }, b)
}

// EncodeLine gives the canonical bytes of a line, without the newline.
// ErrTooLong if they exceed MaxLine.
func EncodeLine(l Line) ([]byte, error) {
	b, err := l.encode()
	if err != nil {
		return nil, err
	}
	if len(b) > MaxLine {
		return nil, ErrTooLong
	}
	return b, nil
}

// prefix is the start of a line, enough to tell the first member.
func prefix(b []byte) string { return string(b[:min(len(b), 16)]) }

// parsed runs one parser and tells a faulty line of a known shape (an error)
// from a sound one of an unknown shape (Unknown).
func parsed(parse func([]byte) (Line, error), b []byte, members ...string) (Line, error) {
	l, err := parse(b)
	if err == nil {
		return l, nil
	}
	if len(b) == 0 || b[0] != '{' || envelope.Canonical(b, maxUnknownDepth) != nil {
		return nil, err
	}
	if subset(topLevel(b), members) {
		return nil, err
	}
	return Unknown{Raw: append([]byte(nil), b...)}, nil
}

func subset(keys, of []string) bool {
	known := make(map[string]bool, len(of))
	for _, m := range of {
		known[m] = true
	}
	for _, k := range keys {
		if !known[k] {
			return false
		}
	}
	return true
}

// topLevel lists the keys of a canonical JSON object.
func topLevel(b []byte) []string {
	var keys []string
	depth, key := 0, true
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			key = depth == 1
		case ':':
			key = false
		case '"':
			end := stringEnd(b, i)
			if key && depth == 1 {
				keys = append(keys, string(b[i+1:end]))
			}
			i = end
		}
	}
	return keys
}

// stringEnd is the index of the quote that closes the string opened at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return min(i, len(b))
}

func parseEnvelope(b []byte) (Line, error) {
	e, err := envelope.ParseDSSE(b, MaxLine)
	if err != nil {
		return nil, err
	}
	return Envelope{e}, nil
}

func (e Envelope) encode() ([]byte, error) { return e.DSSE(), nil }

func (e Envelope) order() string { return string(e.Type) + "\x00" + e.ID().String() }

func parseDIDLog(b []byte) (Line, error) {
	var w didLogWire
	if err := envelope.Unmarshal(b, &w); err != nil {
		return nil, err
	}
	log, err := unbase64("did_log", w.Log)
	if err != nil {
		return nil, err
	}
	witness, err := unbase64("did_witness", w.Witness)
	if err != nil {
		return nil, err
	}
	l := DIDLog{DID: w.DID, From: w.From, Log: log}
	if len(witness) > 0 {
		l.Witness = witness
	}
	return l, l.check()
}

func (l DIDLog) check() error {
	if l.From == 0 || len(l.Log) == 0 || l.DID.IsZero() {
		return fmt.Errorf("did_log needs a DID, at least one line and from 1 or more")
	}
	return nil
}

func (l DIDLog) encode() ([]byte, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return envelope.Marshal(didLogWire{DID: l.DID, Log: b64.EncodeToString(l.Log), Witness: b64.EncodeToString(l.Witness), From: l.From})
}

func (l DIDLog) order() string { return fmt.Sprintf("%s\x00%020d", l.DID, l.From) }

func parseEntry(b []byte) (Line, error) {
	var w entryWire
	if err := envelope.Unmarshal(b, &w); err != nil {
		return nil, err
	}
	entry, err := unbase64("entry", w.Entry)
	if err != nil {
		return nil, err
	}
	proof, err := unbase64("proof", w.Proof)
	if err != nil {
		return nil, err
	}
	l := Entry{Entry: entry, Proof: proof}
	return l, l.check()
}

// entryHead is what stands before the body in an entry: 0x01 and a signature.
const entryHead = 65

func (l Entry) check() error {
	if len(l.Entry) <= entryHead || l.Entry[0] != 1 {
		return fmt.Errorf("entry is not 0x01, 64 signature bytes and a body")
	}
	if len(l.Proof) == 0 {
		return fmt.Errorf("entry without proof")
	}
	return nil
}

func (l Entry) encode() ([]byte, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return envelope.Marshal(entryWire{Entry: b64.EncodeToString(l.Entry), Proof: b64.EncodeToString(l.Proof)})
}

func (l Entry) order() string {
	if len(l.Entry) <= entryHead {
		return ""
	}
	return envelope.IDOf(l.Entry[entryHead:]).String()
}

func parseBody(b []byte) (Line, error) {
	var w bodyWire
	if err := envelope.Unmarshal(b, &w); err != nil {
		return nil, err
	}
	body, err := unbase64("body", w.Body)
	if err != nil {
		return nil, err
	}
	if got := envelope.IDOf(body); got != w.ID {
		return nil, fmt.Errorf("body has id %s, the line says %s", got, w.ID)
	}
	l := Body{Body: body}
	return l, l.check()
}

func (b Body) check() error {
	if len(b.Body) == 0 {
		return fmt.Errorf("body is empty")
	}
	return nil
}

func (b Body) encode() ([]byte, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	return envelope.Marshal(bodyWire{Body: b64.EncodeToString(b.Body), ID: b.ID()})
}

func (b Body) order() string { return b.ID().String() }

func parseRow(b []byte) (Line, error) {
	var w rowWire
	if err := envelope.Unmarshal(b, &w); err != nil {
		return nil, err
	}
	path, err := unbase64("path", w.Path)
	if err != nil {
		return nil, err
	}
	row, err := unbase64("row", w.Row)
	if err != nil {
		return nil, err
	}
	l := Row{Event: w.Event, Index: w.Index, Row: row, Size: w.Size}
	if len(path) > 0 {
		l.Path = path
	}
	return l, l.check()
}

func (l Row) check() error {
	switch {
	case len(l.Row) == 0:
		return fmt.Errorf("row is empty")
	case len(l.Path)%sha256.Size != 0:
		return fmt.Errorf("path of %d bytes is not a run of 32 byte hashes", len(l.Path))
	case l.Index >= l.Size:
		return fmt.Errorf("row index %d is not below size %d", l.Index, l.Size)
	}
	return nil
}

func (l Row) encode() ([]byte, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return envelope.Marshal(rowWire{Event: l.Event, Index: l.Index, Path: b64.EncodeToString(l.Path), Row: b64.EncodeToString(l.Row), Size: l.Size})
}

func (l Row) order() string { return fmt.Sprintf("%s\x00%020d", l.Event, l.Index) }

func parseCompact(b []byte) (Line, error) {
	var w compactWire
	if err := envelope.Unmarshal(b, &w); err != nil {
		return nil, err
	}
	l := Compact{What: w.What, Text: w.Compact}
	return l, l.check()
}

func (c Compact) check() error {
	if !isName(c.What) {
		return fmt.Errorf("what %q is not the name of an object", c.What)
	}
	_, err := c.Envelope()
	return err
}

// isName tells whether s can stand in a type: [a-z]+, at most 32 bytes.
func isName(s string) bool {
	for _, r := range s {
		if r < 'a' || r > 'z' {
			return false
		}
	}
	return s != "" && len(s) <= 32
}

func (c Compact) encode() ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return envelope.Marshal(compactWire{Compact: c.Text, What: c.What})
}

func (c Compact) order() string {
	e, err := c.Envelope()
	if err != nil {
		return ""
	}
	return c.What + "\x00" + e.ID().String()
}

func (u Unknown) encode() ([]byte, error) {
	if err := envelope.Canonical(u.Raw, maxUnknownDepth); err != nil {
		return nil, err
	}
	return u.Raw, nil
}

func (u Unknown) order() string { return string(u.Raw) }
