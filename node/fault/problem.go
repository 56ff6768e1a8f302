package fault

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"trustnode/did/envelope"
)

// Limits on what a foreign problem may bring to a screen, in bytes.
const (
	// MaxProblem is the longest problem object read.
	MaxProblem = 16 << 10
	// maxText is the longest reason, hint or detail kept of it.
	maxText = 512
)

// Problem is a refusal as RFC 9457 shapes it (media type
// application/problem+json); code, reason, hint, perm and receipt are extension
// members. Its type is always about:blank: programs look at code.
type Problem struct {
	Type    string `json:"type"`
	Title   string `json:"title"`
	Status  int    `json:"status"`
	Code    Code   `json:"code"`
	Reason  string `json:"reason"` // never empty: the code where there is no narrower word
	Hint    string `json:"hint"`
	Detail  string `json:"detail,omitempty"`
	Perm    string `json:"perm,omitempty"`
	Receipt string `json:"receipt,omitempty"`
}

// ProblemOf returns what a caller may see of err. Internal carries no detail,
// reason or hint off this machine.
func ProblemOf(err error) Problem {
	d := From(err)
	if d == nil {
		d = New(Internal, "", "")
	}
	code := d.Code.known()
	p := Problem{Type: "about:blank", Title: http.StatusText(code.Status()), Status: code.Status(), Code: code, Reason: string(code)}
	if code == Internal {
		return p
	}
	p.Hint, p.Detail, p.Receipt = d.Hint, d.Detail, d.Receipt
	if d.Reason != "" {
		p.Reason = d.Reason
	}
	if !d.Perm.IsZero() {
		p.Perm = d.Perm.String()
	}
	return p
}

// JSON returns the problem object as it is sent.
func (p Problem) JSON() []byte {
	b, err := json.Marshal(p)
	if err != nil {
		panic("fault: " + err.Error()) // strings and a number
	}
	return b
}

// ParseProblem reads what another node answered with an HTTP status ≥ 400. Its
// texts are cut to a line a screen can show. What is no problem object, or has a
// code outside the set, is Unavailable: nothing was learned. The result is never
// Verified; that takes the receipt.
func ParseProblem(b []byte) *Denied {
	var p Problem
	if len(b) > MaxProblem || json.Unmarshal(b, &p) != nil || !p.Code.Valid() {
		return New(Unavailable, "no_answer", "the other side answered with something else than a refusal")
	}
	d := &Denied{Code: p.Code, Reason: line(p.Reason), Hint: line(p.Hint), Detail: line(p.Detail), Receipt: p.Receipt}
	if id, err := envelope.ParseID(p.Perm); err == nil {
		d.Perm = id
	}
	return d
}

// line makes a foreign text safe to print: no control or format characters
// (which could move a cursor or reorder what is read), valid UTF-8, bounded.
func line(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return -1
		}
		return r
	}, s)
	for len(s) > maxText {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}
