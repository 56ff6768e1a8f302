package lender

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/fault"
)

// Methods of a frame.
const (
	MethodRead   = "read"
	MethodStatus = "status"
)

// Frame is what a borrower's node sends over /trustnode/lend/1, canonical JSON.
type Frame struct {
	Method     string `json:"method"`
	Permission string `json:"permission,omitempty"` // compact, if the lender may lack it
	Request    string `json:"request"`              // compact readrequest
}

// Bytes returns the canonical bytes of the frame.
func (f Frame) Bytes() ([]byte, error) { return envelope.Marshal(f) }

// A reply frame has one of three forms; the status is that of HTTP.
var (
	answerHead  = []byte(`{"answer":`)
	answerTail  = []byte(`,"status":200}`)
	receiptHead = []byte(`{"receipt":"`)
	receiptTail = []byte(`","status":200}`)
	problemHead = []byte(`{"problem":`)
)

// Reply is what came back in a frame: one of its members.
type Reply struct {
	Answer  []byte // JSON of an answer, as the lender wrote it
	Receipt string // compact
	Problem []byte // JSON of a problem object
}

// ParseReply tells the three forms of a reply apart. It judges nothing inside: whoever
// reads a part reads it as foreign bytes. ok is false for what is no reply.
func ParseReply(frame []byte) (r Reply, ok bool) {
	if in, ok := between(frame, answerHead, answerTail); ok {
		return Reply{Answer: in}, true
	}
	if in, ok := between(frame, receiptHead, receiptTail); ok {
		return Reply{Receipt: string(in)}, true
	}
	in, ok := bytes.CutPrefix(frame, problemHead)
	if !ok {
		return Reply{}, false
	}
	end := bytes.LastIndex(in, []byte(`,"status":`))
	if end < 0 || !status(in[end:]) {
		return Reply{}, false
	}
	return Reply{Problem: in[:end]}, true
}

func between(frame, head, tail []byte) ([]byte, bool) {
	in, ok := bytes.CutPrefix(frame, head)
	if !ok {
		return nil, false
	}
	return bytes.CutSuffix(in, tail)
}

// status reports whether b is `,"status":NNN}`.
func status(b []byte) bool {
	digits, ok := between(b, []byte(`,"status":`), []byte("}"))
	return ok && len(digits) == 3 && len(bytes.Trim(digits, "0123456789")) == 0
}

// Serve is one exchange of /trustnode/lend/1: a frame in, a frame out by send. from is
// the organization of the peer: no authority, the request's signature alone is one.
// Errors are those of send.
func (l *Lender) Serve(ctx context.Context, from did.DID, frame []byte, send func([]byte) error, abort func()) error {
	s := &frameSender{send: send, abort: abort}
	err := l.exchange(ctx, frame, s)
	if s.used {
		return s.err
	}
	d := fault.From(err)
	if d.Code == fault.Internal {
		l.n.Log.ErrorContext(ctx, "a lending call failed", "from", from.String(), "error", err)
	}
	b, err := problemFrame(d)
	if err != nil {
		return err
	}
	return send(b)
}

// exchange answers by s, or returns the refusal that is to be sent.
func (l *Lender) exchange(ctx context.Context, frame []byte, s *frameSender) error {
	var f Frame
	if err := envelope.Unmarshal(frame, &f); err != nil {
		return err
	}
	if len(f.Request) > maxCompact || len(f.Permission) > maxCompact {
		return fault.New(fault.TooLarge, "request", "a compact object of over %d bytes", maxCompact)
	}
	c := Call{Request: f.Request, Permission: f.Permission, Send: s}
	switch f.Method {
	case MethodRead:
		return l.Read(ctx, c)
	case MethodStatus:
		receipt, err := l.Status(ctx, c)
		if err != nil {
			return err
		}
		return s.write(bytes.Join([][]byte{receiptHead, []byte(receipt), receiptTail}, nil))
	}
	return fault.New(fault.Invalid, "method", "method %.40q is not known", f.Method).WithHint("read or status")
}

func problemFrame(d *fault.Denied) ([]byte, error) {
	p, err := json.Marshal(fault.ProblemOf(d))
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `%s%s,"status":%d}`, problemHead, p, d.Code.Status()), nil
}

// frameSender puts an answer into a frame, byte for byte.
type frameSender struct {
	send  func([]byte) error
	abort func()
	used  bool
	err   error
}

// Send implements Sender.
func (s *frameSender) Send(answer []byte) error {
	return s.write(bytes.Join([][]byte{answerHead, answer, answerTail}, nil))
}

// Abort implements Sender.
func (s *frameSender) Abort() { s.abort() }

func (s *frameSender) write(frame []byte) error {
	s.used = true
	s.err = s.send(frame)
	return s.err
}
