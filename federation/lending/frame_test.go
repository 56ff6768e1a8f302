package lending

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"trustnode/did/envelope"
)

func TestFrames(t *testing.T) {
	f := Frame{Method: MethodRead, Permission: "a.b", Request: "c.d"}
	b, err := f.Bytes()
	if err != nil || string(b) != `{"method":"read","permission":"a.b","request":"c.d"}` {
		t.Errorf("got %s, %v", b, err)
	}
	if got, err := ParseFrame(b); err != nil || got != f {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, c := range []struct{ name, text, path string }{
		{"nothing", "", ""},
		{"another method", `{"method":"write","request":"c.d"}`, "method"},
		{"no request", `{"method":"read","request":""}`, "request"},
		{"a permission that is empty", `{"method":"read","permission":"","request":"c.d"}`, "permission"},
		{"a request too long", `{"method":"read","request":"` + strings.Repeat("a", maxCompact+1) + `"}`, "request"},
		{"an upper case", `{"METHOD":"read","request":"c.d"}`, "METHOD"},
		{"33 KiB", strings.Repeat(" ", MaxFrame+1), ""},
	} {
		got, err := ParseFrame([]byte(c.text))
		var form *envelope.FormError
		if got != (Frame{}) || !errors.As(err, &form) || form.Path != c.path {
			t.Errorf("%s: got %+v, %v, want a refusal of %q", c.name, got, err, c.path)
		}
	}
}

func TestReplies(t *testing.T) {
	for _, c := range []struct {
		name  string
		frame []byte
		want  ReplyFrame
		ok    bool
	}{
		{"an answer", AnswerFrame([]byte(`{"entries":[]}`)), ReplyFrame{Answer: []byte(`{"entries":[]}`)}, true},
		{"a receipt", ReceiptFrame("a.b"), ReplyFrame{Receipt: "a.b"}, true},
		{"a problem", ProblemFrame([]byte(`{"status":403}`), 403), ReplyFrame{Problem: []byte(`{"status":403}`)}, true},
		{"nothing", nil, ReplyFrame{}, false},
		{"an answer that is empty", AnswerFrame(nil), ReplyFrame{}, false},
		{"an answer with another status", []byte(`{"answer":{},"status":201}`), ReplyFrame{}, false},
		{"a receipt with a quote", ReceiptFrame(`a","x":"b`), ReplyFrame{}, false},
		{"a problem without status", []byte(`{"problem":{}}`), ReplyFrame{}, false},
		{"a problem with a status in words", []byte(`{"problem":{},"status":abc}`), ReplyFrame{}, false},
		{"a portal", []byte("<html>"), ReplyFrame{}, false},
		{"bytes after it", append(ReceiptFrame("a.b"), ' '), ReplyFrame{}, false},
	} {
		got, ok := ParseReply(c.frame)
		if ok != c.ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v", c.name, got, ok)
		}
	}
}

func FuzzParseReply(f *testing.F) {
	f.Add(AnswerFrame([]byte(`{"entries":[]}`)))
	f.Add(ReceiptFrame("a.b"))
	f.Add(ProblemFrame([]byte(`{"status":403}`), 403))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, ok := ParseReply(b)
		if !ok {
			return
		}
		var again []byte
		switch {
		case r.Answer != nil:
			again = AnswerFrame(r.Answer)
		case r.Receipt != "":
			again = ReceiptFrame(r.Receipt)
		default:
			return // the status is not kept
		}
		if !bytes.Equal(again, b) {
			t.Errorf("%q came back as %q", b, again)
		}
	})
}

func FuzzParseFrame(f *testing.F) {
	f.Add([]byte(`{"method":"read","permission":"a.b","request":"c.d"}`))
	f.Add([]byte(`{"method":"status","request":"c.d"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := ParseFrame(b)
		if err != nil {
			return
		}
		if again, err := got.Bytes(); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%q came back as %q, %v", b, again, err)
		}
	})
}
