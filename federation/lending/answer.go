package lending

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"trustnode/did/envelope"
	"trustnode/did/strictjson"
)

// ErrAnswer is wrapped where the bytes of an answer are no answer.
var ErrAnswer = errors.New("invalid answer")

// Content is what a receipt's hash covers: the canonical bytes of
// {"entries","salt"}.
type Content struct {
	Bytes []byte
	Hash  envelope.ID
	Salt  Salt
}

// Join makes the content of an answer from the stored views of its entries,
// each the canonical bytes of one JSON object, in the order of the answer. They
// are joined, not encoded again.
func Join(views [][]byte, salt Salt) (Content, error) {
	return JoinArray(array(views), salt)
}

// JoinArray is Join for views that are one canonical JSON array already.
func JoinArray(entries []byte, salt Salt) (Content, error) {
	if salt.IsZero() {
		return Content{}, fmt.Errorf("answer: %w: salt never drawn", ErrRandom)
	}
	if len(entries) > MaxEntriesBytes {
		return Content{}, fmt.Errorf("answer: entries of %d bytes, at most %d", len(entries), MaxEntriesBytes)
	}
	b := make([]byte, 0, len(entries)+64)
	b = append(b, `{"entries":`...)
	b = append(b, entries...)
	b = fmt.Appendf(b, `,"salt":"%s"}`, salt)
	return Content{Bytes: b, Hash: envelope.IDOf(b), Salt: salt}, nil
}

func array(views [][]byte) []byte {
	b := append([]byte{'['}, bytes.Join(views, []byte{','})...)
	return append(b, ']')
}

// Reply makes the answer's bytes: the content with the compact receipt and,
// where they apply, cursor and caching window.
func Reply(c Content, receipt, cursor string, cacheUntil envelope.Time) ([]byte, error) {
	if !plain(cursor) || !plain(receipt) || receipt == "" {
		return nil, fmt.Errorf("%w: cursor or receipt is not plain text", ErrAnswer)
	}
	b := append([]byte{'{'}, member("cache_until", cacheUntil.String(), cacheUntil.IsZero())...)
	b = append(b, member("cursor", cursor, cursor == "")...)
	body, ok := bytes.CutPrefix(c.Bytes, []byte("{"))
	entries, found := bytes.CutSuffix(body, fmt.Appendf(nil, `,"salt":"%s"}`, c.Salt))
	if !ok || !found {
		return nil, fmt.Errorf("%w: content was not made by Join", ErrAnswer)
	}
	b = append(append(b, entries...), ',')
	b = append(b, member("receipt", receipt, false)...)
	return fmt.Appendf(b, `"salt":"%s"}`, c.Salt), nil
}

// plain reports whether a text needs no escaping: base64url, dots and the like.
func plain(text string) bool {
	return strings.Trim(text, "-._~:ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// member prints a plain text, with a comma after it.
func member(name, text string, absent bool) []byte {
	if absent {
		return nil
	}
	return fmt.Appendf(nil, `"%s":"%s",`, name, text)
}

// Answer is an answer as a borrower reads it; nothing in it is verified until
// Expect.Answer accepted it together with its receipt.
type Answer struct {
	Entries    [][]byte // canonical bytes of each entry's view
	Refs       []Ref    // id and revision of each, as the view states them
	Salt       Salt
	Receipt    string // compact
	Cursor     string
	CacheUntil envelope.Time
	hash       envelope.ID
}

// Hash returns the hash of the answer's content.
func (a Answer) Hash() envelope.ID { return a.hash }

// ParseAnswer reads an answer. A carrier may have spelled the JSON anew, so what
// counts is its canonical form; a member that is unknown or there twice is
// refused. Errors wrap ErrAnswer.
func ParseAnswer(b []byte) (Answer, error) {
	if len(b) > MaxAnswer {
		return Answer{}, fmt.Errorf("%w: %d bytes, at most %d", ErrAnswer, len(b), MaxAnswer)
	}
	doc, err := strictjson.Parse(b, answerDepth)
	if err != nil {
		return Answer{}, fmt.Errorf("%w: %v", ErrAnswer, err)
	}
	var a Answer
	for _, m := range doc.Members() {
		if err := a.take(m); err != nil {
			return Answer{}, fmt.Errorf("%w: %s: %v", ErrAnswer, m.Name, err)
		}
	}
	if a.Entries == nil || a.Salt.IsZero() || a.Receipt == "" {
		return Answer{}, fmt.Errorf("%w: entries, salt or receipt is missing", ErrAnswer)
	}
	c, err := Join(a.Entries, a.Salt)
	if err != nil {
		return Answer{}, fmt.Errorf("%w: %v", ErrAnswer, err)
	}
	a.hash = c.Hash
	return a, nil
}

// take reads one member of an answer.
func (a *Answer) take(m strictjson.Member) error {
	if m.Name == "entries" {
		return a.takeEntries(m.Value)
	}
	text, ok := m.Value.Text()
	if !ok || text == "" {
		return errors.New("not a text")
	}
	switch m.Name {
	case "salt":
		return a.Salt.UnmarshalText([]byte(text))
	case "receipt":
		a.Receipt = text
	case "cursor":
		a.Cursor = text
		return bytesIn("cursor", text, 1, maxCursor)
	case "cache_until":
		return a.CacheUntil.UnmarshalText([]byte(text))
	default:
		return errors.New("unknown member")
	}
	return nil
}

func (a *Answer) takeEntries(v strictjson.Value) error {
	if v.Kind() != strictjson.Array || len(v.Elements()) > MaxLimit {
		return fmt.Errorf("not a list of at most %d", MaxLimit)
	}
	a.Entries = [][]byte{}
	for _, e := range v.Elements() {
		ref, err := refOf(e)
		if err != nil {
			return err
		}
		b, err := canonical(e)
		if err != nil {
			return err
		}
		a.Entries, a.Refs = append(a.Entries, b), append(a.Refs, ref)
	}
	return nil
}

// canonical returns the RFC 8785 form of a view. A view that nobody spelled anew
// is in that form already, and most are.
func canonical(view strictjson.Value) ([]byte, error) {
	if raw := view.Raw(); envelope.CanonicalMultiline(raw, answerDepth) == nil {
		return raw, nil
	}
	return view.Canonical()
}

// refOf reads id and rev of a view.
func refOf(view strictjson.Value) (Ref, error) {
	id, _ := view.Get("id")
	rev, _ := view.Get("rev")
	text, _ := id.Text()
	n, _ := rev.Uint()
	ref := Ref{Entry: text, Rev: n}
	_, err := ParseRef(ref.String())
	return ref, err
}

// rowKind reads op and decision of a row, without judging the rest.
func rowKind(b []byte) (op, decision string, err error) {
	doc, err := strictjson.Parse(b, rowDepth)
	if err != nil {
		return "", "", form("", "%v", err)
	}
	o, _ := doc.Get("op")
	d, _ := doc.Get("decision")
	op, _ = o.Text()
	decision, _ = d.Text()
	return op, decision, nil
}
