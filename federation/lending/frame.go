package lending

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"trustnode/did/envelope"
)

// Methods of a frame.
const (
	MethodRead     = "read"
	MethodStatus   = "status"
	MethodDiscover = "discover"
	MethodAsk      = "ask"   // request is a loanrequest
	MethodAsked    = "asked" // request is a readrequest of op status that names a loanrequest
)

// Frame is what a borrower's node sends over the lending protocol, in canonical JSON.
type Frame struct {
	FromSeq    uint64 `json:"from_seq,omitempty"` // with MethodAudit: which row to begin with, from 1
	Method     string `json:"method"`
	Permission string `json:"permission,omitempty"` // compact, if the lender may lack it
	Request    string `json:"request"`              // compact readrequest or loanrequest
}

// Bytes returns the canonical bytes of the frame.
func (f Frame) Bytes() ([]byte, error) { return envelope.Marshal(f) }

// ParseFrame reads the canonical bytes of a frame. Errors are *envelope.FormError.
func ParseFrame(b []byte) (Frame, error) {
	var f Frame
	if len(b) > MaxFrame {
		return Frame{}, form("", "frame of %d bytes, at most %d", len(b), MaxFrame)
	}
	if err := envelope.Unmarshal(b, &f); err != nil {
		return Frame{}, err
	}
	err := first(when(f.FromSeq != 0 && f.Method != MethodAudit, "from_seq", "does not fit method %.20q", f.Method), oneOf("method", f.Method, MethodRead, MethodStatus, MethodAudit, MethodDiscover, MethodAsk, MethodAsked), bytesIn("request", f.Request, 1, maxCompact), bytesIn("permission", f.Permission, 0, maxCompact))
	if err != nil {
		return Frame{}, err
	}
	return f, nil
}

// maxCompact is the longest compact form of a permission or request.
var maxCompact = base64.RawURLEncoding.EncodedLen(MaxRequest) + 1 + base64.RawURLEncoding.EncodedLen(64)

// ReplyFrame is what came back in a frame: exactly one of its members.
type ReplyFrame struct {
	Answer  []byte // JSON of an answer or of an Asked, as its lender wrote it
	Receipt string // compact
	Problem []byte // JSON of a problem object
}

var (
	answerHead  = []byte(`{"answer":`)
	answerTail  = []byte(`,"status":200}`)
	receiptHead = []byte(`{"receipt":"`)
	receiptTail = []byte(`","status":200}`)
	problemHead = []byte(`{"problem":`)
	problemTail = []byte(`,"status":`)
)

// AnswerFrame puts an answer into a frame, byte for byte.
func AnswerFrame(answer []byte) []byte {
	return bytes.Join([][]byte{answerHead, answer, answerTail}, nil)
}

// ReceiptFrame puts a compact receipt into a frame.
func ReceiptFrame(compact string) []byte {
	return bytes.Join([][]byte{receiptHead, []byte(compact), receiptTail}, nil)
}

// ProblemFrame puts the JSON of a problem object and its HTTP status into a frame.
func ProblemFrame(problem []byte, status int) []byte {
	return fmt.Appendf(nil, `%s%s%s%03d}`, problemHead, problem, problemTail, status)
}

// ParseReply tells the forms of a reply apart; false for what is none. It judges nothing
// inside: whoever reads a part reads it as foreign bytes, which must be one JSON value.
func ParseReply(b []byte) (ReplyFrame, bool) {
	if in, ok := between(b, answerHead, answerTail); ok {
		return ReplyFrame{Answer: in}, true
	}
	if in, ok := between(b, receiptHead, receiptTail); ok && plain(string(in)) {
		return ReplyFrame{Receipt: string(in)}, true
	}
	in, ok := bytes.CutPrefix(b, problemHead)
	at := bytes.LastIndex(in, problemTail)
	if !ok || at < 0 {
		return ReplyFrame{}, false
	}
	status, ok := between(in[at:], problemTail, []byte("}"))
	if !ok || len(status) != 3 || len(bytes.Trim(status, "0123456789")) > 0 {
		return ReplyFrame{}, false
	}
	return ReplyFrame{Problem: in[:at]}, true
}

func between(b, head, tail []byte) ([]byte, bool) {
	in, ok := bytes.CutPrefix(b, head)
	if !ok {
		return nil, false
	}
	in, ok = bytes.CutSuffix(in, tail)
	return in, ok && len(in) > 0
}
