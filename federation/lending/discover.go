package lending

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"trustnode/did/envelope"
	"trustnode/did/strictjson"
)

// MaxTags is the most tags of one discovery: with 64 bytes each they fit the frame of an
// answer.
const MaxTags = 10_000

// tagsContent is what the hash of a discovery covers.
type tagsContent struct {
	Salt     Salt     `json:"salt"`
	Tags     []string `json:"tags"`
	Withheld bool     `json:"withheld"`
}

// JoinTags makes the content of a discovery: sorted tags, and whether some were left out
// because too few entries have them.
func JoinTags(tags []string, withheld bool, salt Salt) (Content, error) {
	if len(tags) > MaxTags {
		return Content{}, fmt.Errorf("%w: %d tags, at most %d", ErrAnswer, len(tags), MaxTags)
	}
	if err := sortedSet("tags", tags); err != nil {
		return Content{}, fmt.Errorf("%w: %v", ErrAnswer, err)
	}
	b, err := envelope.Marshal(tagsContent{salt, append([]string{}, tags...), withheld})
	if err != nil {
		return Content{}, err
	}
	return Content{Bytes: b, Hash: envelope.IDOf(b), Salt: salt}, nil
}

// ReplyTags makes the bytes of an answer to a discovery: its content with the compact
// receipt.
func ReplyTags(c Content, receipt string) ([]byte, error) {
	rest, ok := bytes.CutPrefix(c.Bytes, []byte("{"))
	if !ok || receipt == "" || !plain(receipt) {
		return nil, fmt.Errorf("%w: content was not made by JoinTags, or the receipt is not plain text", ErrAnswer)
	}
	return slices.Concat([]byte("{"), member("receipt", receipt, false), rest), nil
}

// Tags is an answer to a discovery as a borrower reads it; nothing in it is verified
// until Expect.Tags accepted it together with its receipt.
type Tags struct {
	Tags     []string // sorted
	Withheld bool     // some were left out because too few entries have them
	Salt     Salt
	Receipt  string // compact
	hash     envelope.ID
}

// Hash returns the hash of the content.
func (t Tags) Hash() envelope.ID { return t.hash }

// ParseTags reads an answer to a discovery. A carrier may have spelled the JSON anew, so
// what counts is its canonical form; a member that is unknown or there twice is refused.
// Errors wrap ErrAnswer.
func ParseTags(b []byte) (Tags, error) {
	if len(b) > MaxAnswer {
		return Tags{}, fmt.Errorf("%w: %d bytes, at most %d", ErrAnswer, len(b), MaxAnswer)
	}
	doc, err := strictjson.Parse(b, rowDepth)
	if err != nil {
		return Tags{}, fmt.Errorf("%w: %v", ErrAnswer, err)
	}
	var t Tags
	seen := 0
	for _, m := range doc.Members() {
		if err := t.take(m); err != nil {
			return Tags{}, fmt.Errorf("%w: %s: %v", ErrAnswer, m.Name, err)
		}
		seen++
	}
	if seen != 4 || t.Tags == nil {
		return Tags{}, fmt.Errorf("%w: receipt, salt, tags or withheld is missing", ErrAnswer)
	}
	c, err := JoinTags(t.Tags, t.Withheld, t.Salt)
	if err != nil {
		return Tags{}, err
	}
	t.hash = c.Hash
	return t, nil
}

func (t *Tags) take(m strictjson.Member) (err error) {
	text, isText := m.Value.Text()
	switch {
	case m.Name == "salt" && isText:
		return t.Salt.UnmarshalText([]byte(text))
	case m.Name == "receipt" && isText && text != "":
		t.Receipt = text
	case m.Name == "withheld" && m.Value.Kind() == strictjson.Bool:
		t.Withheld = m.Value.IsTrue()
	case m.Name == "tags" && m.Value.Kind() == strictjson.Array:
		t.Tags, err = tagList(m.Value.Elements())
	default:
		return errors.New("unknown member, or of another kind")
	}
	return err
}

func tagList(vs []strictjson.Value) ([]string, error) {
	out := []string{}
	for _, v := range vs {
		text, ok := v.Text()
		if !ok {
			return nil, errors.New("not a list of texts")
		}
		if err := CheckTag(text); err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

// Tags judges an answer to a discovery together with its receipt, as Answer does for a
// read.
func (e Expect) Tags(t Tags, v envelope.Verified[Receipt], at time.Time) error {
	if err := e.content(t.hash, v, at); err != nil {
		return err
	}
	if !v.Body().CacheUntil.IsZero() {
		return fmt.Errorf("%w: a discovery has no caching window", ErrNotOurs)
	}
	return nil
}

// DecideDiscover is Decide for a request of op discover; f holds the content that JoinTags
// made, and no entries. A repeated request gets its answer again while the tags are what
// they were.
func DecideDiscover(st State, rq envelope.Verified[ReadRequest], p envelope.Verified[Permission], f Found, at time.Time) (Next, error) {
	return decide(OpDiscover, st, rq, p, f, at)
}

// DecideDiscoverFailed is DecideFailed for a request of op discover.
func DecideDiscoverFailed(st State, rq envelope.Verified[ReadRequest], p envelope.Verified[Permission], den *Denial, at time.Time) (Next, error) {
	return decideFailed(OpDiscover, st, rq, p, den, at)
}

// FoundScope is the scope that a loan request asks for after a discovery: what was looked
// through, and of that what has one of the tags that were found. Errors wrap ErrScope, or
// are ErrDisjoint.
func FoundScope(looked Scope, tags []string) (Scope, error) {
	if len(tags) == 0 {
		return Scope{}, fmt.Errorf("%w: no tags are named", ErrScope)
	}
	for _, t := range tags {
		if err := CheckTag(t); err != nil {
			return Scope{}, err
		}
	}
	want, err := Parse("any(" + strings.Join(tags, ",") + ")")
	if err != nil {
		return Scope{}, err
	}
	both, err := looked.And(want)
	if err != nil {
		return Scope{}, err
	}
	return ParseCanonical(both.String())
}
