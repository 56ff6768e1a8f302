package lending

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

func TestAnswerRoundTrip(t *testing.T) {
	views := [][]byte{read(t, "view"), []byte(`{"id":"eNNwwULWXND4p4p8n1Ew1Ew","rev":1,"statement":"\u000f😀 <&>"}`)}
	c, err := Join(views, salt(3))
	if err != nil {
		t.Fatal(err)
	}
	until := stamp("2026-12-02T09:16:30Z")
	b, err := Reply(c, "abc.def-_", "c-1_.~:", until)
	if err != nil {
		t.Fatal(err)
	}
	a, err := ParseAnswer(b)
	want := Answer{
		Entries: views, Refs: []Ref{{"eQtocYooukJ5AQqCkZsHcHY", 2}, {"eNNwwULWXND4p4p8n1Ew1Ew", 1}},
		Salt: salt(3), Receipt: "abc.def-_", Cursor: "c-1_.~:", CacheUntil: until, hash: c.Hash,
	}
	if err != nil || !reflect.DeepEqual(a, want) {
		t.Errorf("got %+v, %v, want %+v", a, err, want)
	}
	empty, err := Join(nil, salt(3))
	if err != nil {
		t.Fatal(err)
	}
	b, err = Reply(empty, "abc.def", "", envelope.Time{})
	if want := fmt.Sprintf(`{"entries":[],"receipt":"abc.def","salt":"%s"}`, salt(3)); err != nil || string(b) != want {
		t.Errorf("no entries: got %s, %v, want %s", b, err, want)
	}
	if a, err := ParseAnswer(b); err != nil || a.Hash() != empty.Hash || len(a.Entries) != 0 {
		t.Errorf("no entries: got %+v, %v", a, err)
	}
}

// A carrier may spell the JSON anew without breaking the hash.
func TestAnswerSpelledAnew(t *testing.T) {
	c, err := Join([][]byte{read(t, "view")}, salt(3))
	if err != nil {
		t.Fatal(err)
	}
	var view strings.Builder
	for _, r := range string(read(t, "view")) {
		if view.WriteRune(r); r == ',' || r == '{' {
			view.WriteString("\n  ")
		}
	}
	text := fmt.Sprintf("{ \"salt\" : \"%s\",\n\"receipt\":\"r\\u0031.s\",\t\"entries\" : [ %s ] }\n", salt(3), strings.Replace(view.String(), "Berth", `\u0042erth`, 1))
	a, err := ParseAnswer([]byte(text))
	if err != nil || a.Hash() != c.Hash || a.Receipt != "r1.s" || !bytes.Equal(a.Entries[0], read(t, "view")) {
		t.Errorf("got %+v, %v, want hash %s", a, err, c.Hash)
	}
}

func TestParseAnswerRefuses(t *testing.T) {
	s, view := salt(3).String(), string(read(t, "view"))
	good := fmt.Sprintf(`{"entries":[%s],"receipt":"a.b","salt":"%s"}`, view, s)
	if _, err := ParseAnswer([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text string }{
		{"nothing", ""},
		{"a page of a portal", "<html>"},
		{"a list", "[" + good + "]"},
		{"no entries", fmt.Sprintf(`{"receipt":"a.b","salt":"%s"}`, s)},
		{"no receipt", fmt.Sprintf(`{"entries":[],"salt":"%s"}`, s)},
		{"no salt", `{"entries":[],"receipt":"a.b"}`},
		{"a short salt", `{"entries":[],"receipt":"a.b","salt":"AAAA"}`},
		{"a member twice", strings.Replace(good, `"receipt"`, `"receipt":"x.y","receipt"`, 1)},
		{"a member in upper case", strings.Replace(good, `"receipt"`, `"Receipt"`, 1)},
		{"an unknown member", strings.Replace(good, `"receipt"`, `"more":"x","receipt"`, 1)},
		{"a receipt that is no text", strings.Replace(good, `"a.b"`, `7`, 1)},
		{"entries that are no list", strings.Replace(good, "["+view+"]", `{}`, 1)},
		{"an entry that is no object", strings.Replace(good, view, `7`, 1)},
		{"an entry without id", strings.Replace(good, `"id"`, `"ix"`, 1)},
		{"an entry with a member twice", strings.Replace(good, `"rev":2`, `"rev":2,"rev":3`, 1)},
		{"an entry of revision zero", strings.Replace(good, `"rev":2`, `"rev":0`, 1)},
		{"an entry of half a revision", strings.Replace(good, `"rev":2`, `"rev":2.5`, 1)},
		{"101 entries", fmt.Sprintf(`{"entries":[%s],"receipt":"a.b","salt":"%s"}`, strings.Repeat(view+",", 100)+view, s)},
		{"something after it", good + "{}"},
		{"over 1 MiB", good + strings.Repeat(" ", MaxAnswer)},
		{"an abyss", strings.Repeat("[", 100_000)},
		{"a lone surrogate", strings.Replace(good, "Berth", `\ud800`, 1)},
		{"a text that is not UTF-8", strings.Replace(good, "Berth", "\xff", 1)},
	} {
		if a, err := ParseAnswer([]byte(c.text)); !errors.Is(err, ErrAnswer) || !reflect.DeepEqual(a, Answer{}) {
			t.Errorf("%s: got %+v, %v, want ErrAnswer", c.name, a, err)
		}
	}
}

func TestJoinAndReplyRefuse(t *testing.T) {
	if _, err := Join(nil, Salt{}); !errors.Is(err, ErrRandom) {
		t.Errorf("a salt never drawn: got %v", err)
	}
	if _, err := Join([][]byte{make([]byte, MaxEntriesBytes)}, salt(1)); err == nil {
		t.Error("too many bytes: joined")
	}
	c, err := Join(nil, salt(1))
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func() ([]byte, error){
		"a cursor with a quote":  func() ([]byte, error) { return Reply(c, "a.b", `x"`, envelope.Time{}) },
		"a receipt with a quote": func() ([]byte, error) { return Reply(c, `a".b`, "", envelope.Time{}) },
		"no receipt":             func() ([]byte, error) { return Reply(c, "", "", envelope.Time{}) },
		"content made elsewhere": func() ([]byte, error) {
			return Reply(Content{Bytes: []byte(`{}`), Salt: salt(1)}, "a.b", "", envelope.Time{})
		},
	} {
		if b, err := f(); !errors.Is(err, ErrAnswer) {
			t.Errorf("%s: got %s, %v", name, b, err)
		}
	}
}

// granted is one read as its borrower sees it.
type granted struct {
	expect  Expect
	answer  Answer
	receipt Receipt
	at      time.Time
}

func newGranted(t *testing.T) *granted {
	t.Helper()
	c := newCall(t)
	c.p.CacheS = 60
	rq, p := c.sealed(t)
	n, err := Decide(c.st, rq, p, c.f, c.at)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Reply(c.f.Content, "a.b", n.Cursor, n.Receipt.CacheUntil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := ParseAnswer(b)
	if err != nil {
		t.Fatal(err)
	}
	return &granted{Expect{Perm: p, Request: rq.ID(), Op: OpRead}, a, *n.Receipt, c.at}
}

func TestExpectAnswer(t *testing.T) {
	other := mustID(goldenRow)
	for _, c := range []struct {
		name   string
		change func(g *granted)
		ok     bool
	}{
		{"what was asked", func(*granted) {}, true},
		{"60 s later", func(g *granted) { g.at = g.at.Add(60 * time.Second) }, true},
		{"60 s earlier", func(g *granted) { g.at = g.at.Add(-60 * time.Second) }, true},
		{"61 s later", func(g *granted) { g.at = g.at.Add(61 * time.Second) }, false},
		{"61 s earlier", func(g *granted) { g.at = g.at.Add(-61 * time.Second) }, false},
		{"an answer to another request", func(g *granted) { g.receipt.Request = other }, false},
		{"another permission", func(g *granted) { g.receipt.Perm = other }, false},
		{"another lender", func(g *granted) { g.receipt.Lender = stranger }, false},
		{"signed by a stranger", func(g *granted) { g.receipt.Signed = stranger }, false},
		{"signed by who may sign for the lender", func(g *granted) {
			g.receipt.Signed = stranger
			g.expect.MaySign = func(d did.DID) bool { return d == stranger }
		}, true},
		{"another op", func(g *granted) { g.receipt.Op = OpDiscover }, false},
		{"a status, which grants nothing", func(g *granted) {
			g.receipt.Op, g.expect.Op = OpStatus, OpStatus
			g.receipt.Count, g.receipt.Hash, g.receipt.Row, g.receipt.CacheUntil = 0, envelope.ID{}, envelope.ID{}, envelope.Time{}
		}, false},
		{"other content", func(g *granted) { g.receipt.Hash = other }, false},
		{"more reads than there are", func(g *granted) { g.receipt.Left++ }, false},
		{"a caching window that only the answer has", func(g *granted) { g.receipt.CacheUntil = envelope.Time{} }, false},
		{"a caching window that was not agreed", func(g *granted) {
			g.receipt.CacheUntil = g.receipt.CacheUntil.Add(time.Second)
			g.answer.CacheUntil = g.receipt.CacheUntil
		}, false},
	} {
		g := newGranted(t)
		c.change(g)
		err := g.expect.Answer(g.answer, opened(t, g.receipt), g.at)
		if c.ok != (err == nil) || err != nil && !errors.Is(err, ErrNotOurs) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

func TestExpectReceiptOfAnEnd(t *testing.T) {
	for _, s := range []PermState{Revoked, Expired, NotYet, Exhausted, BudgetExhausted, Lapsed, Stale} {
		g := newGranted(t)
		g.receipt.Count, g.receipt.Hash, g.receipt.CacheUntil, g.receipt.State = 0, envelope.ID{}, envelope.Time{}, s
		var end *EndedError
		if err := g.expect.Receipt(opened(t, g.receipt), g.at); !errors.As(err, &end) || *end != (EndedError{g.receipt.Perm, s, g.receipt.At}) {
			t.Errorf("%s: got %v", s, err)
		}
		g.receipt.Request = mustID(goldenRow)
		if err := g.expect.Receipt(opened(t, g.receipt), g.at); !errors.Is(err, ErrNotOurs) {
			t.Errorf("%s, of another request: got %v", s, err)
		}
	}
}
