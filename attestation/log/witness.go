package log

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// ErrRequest is wrapped by the error for a witness request that is none.
var ErrRequest = errors.New("not a witness request")

// The statuses of a witness's answer, as of C2SP tlog-witness.
const (
	StatusCosigned  = 200
	StatusMalformed = 400
	StatusForbidden = 403 // not an active member, or not its key
	StatusUnknown   = 404 // a log the witness does not know
	StatusConflict  = 409 // the body is the size the witness holds
	StatusProof     = 422 // the consistency proof does not verify
)

// Request asks a witness to cosign Note, the successor of the head of size Old
// that it cosigned last.
type Request struct {
	Old   uint64
	Proof []tlog.Hash // consistency between Old and the note's size
	Note  Note
}

// Bytes returns r as the body of a C2SP tlog-witness request.
func (r Request) Bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "old %d\n", r.Old)
	for _, h := range r.Proof {
		b.WriteString(h.String() + "\n")
	}
	b.WriteByte('\n')
	b.Write(r.Note.Bytes())
	return b.Bytes()
}

// ParseRequest reads what Bytes returns, and nothing else.
func ParseRequest(b []byte) (Request, error) {
	if len(b) > MaxText {
		return Request{}, fmt.Errorf("%w: %d bytes", ErrRequest, len(b))
	}
	head, note, ok := strings.Cut(string(b), "\n\n")
	if !ok {
		return Request{}, fmt.Errorf("%w: no note", ErrRequest)
	}
	lines := strings.Split(head, "\n")
	var r Request
	var err error
	if r.Old, err = parseOld(lines[0]); err != nil {
		return Request{}, err
	}
	if r.Proof, err = parseHashLines(lines[1:]); err != nil {
		return Request{}, fmt.Errorf("%w: %v", ErrRequest, err)
	}
	if r.Note, err = ParseNote([]byte(note)); err != nil {
		return Request{}, fmt.Errorf("%w: %v", ErrRequest, err)
	}
	return r, nil
}

func parseOld(line string) (uint64, error) {
	text, ok := strings.CutPrefix(line, "old ")
	n, err := parseSize(text)
	if !ok || err != nil {
		return 0, fmt.Errorf("%w: no old size", ErrRequest)
	}
	return n, nil
}

func parseSize(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > maxSize || strconv.FormatUint(n, 10) != text {
		return 0, fmt.Errorf("%.30q is no size", text)
	}
	return n, nil
}

func parseHashLines(lines []string) ([]tlog.Hash, error) {
	if len(lines) > MaxProof {
		return nil, fmt.Errorf("%d hashes", len(lines))
	}
	var out []tlog.Hash
	for _, text := range lines {
		b, err := base64.StdEncoding.Strict().DecodeString(text)
		if err != nil || len(b) != tlog.HashSize || strings.ContainsAny(text, "\r\n") {
			return nil, errors.New("line is no hash")
		}
		out = append(out, tlog.Hash(b))
	}
	return out, nil
}

// FormatSize returns the body of a StatusConflict answer.
func FormatSize(n uint64) []byte { return []byte(strconv.FormatUint(n, 10) + "\n") }

// ParseConflict reads the body of a StatusConflict answer.
func ParseConflict(body []byte) (uint64, error) {
	text, ok := strings.CutSuffix(string(body), "\n")
	if !ok {
		return 0, fmt.Errorf("%w: size without newline", ErrRequest)
	}
	return parseSize(text)
}
