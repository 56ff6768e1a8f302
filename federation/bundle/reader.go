package bundle

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"trustnode/did/envelope"
)

// ErrNotBundle is returned where the first line is not the header of a bundle.
var ErrNotBundle = errors.New("not a trustnode bundle")

// ErrTooLong is returned for a line above MaxLine; nothing after it is read.
var ErrTooLong = errors.New("line longer than 2 MiB")

var errNotCanonical = errors.New("line is not one canonical JSON object")

// LineError says which line is not well formed. Reading may go on after it.
type LineError struct {
	Line int // from 1; the header is line 1
	Err  error
}

// Error names the line and what is wrong.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap gives what is wrong with the line.
func (e *LineError) Unwrap() error { return e.Err }

// Reader reads a bundle line by line and holds one line at a time. Not safe for
// concurrent use.
type Reader struct {
	in     *bufio.Reader
	header Header
	line   int
	bytes  int64
	done   error // set once: io.EOF, or what ended reading
}

// NewReader reads the header. ErrNotBundle if the first line is none; errors of
// r as they are.
func NewReader(r io.Reader) (*Reader, error) {
	n := &Reader{in: bufio.NewReaderSize(r, 64<<10)}
	b, err := n.read(MaxHeader)
	if err == io.EOF || errors.Is(err, ErrTooLong) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, ErrNotBundle
	}
	if err != nil {
		return nil, err
	}
	if n.header, err = ParseHeader(b); err != nil {
		return nil, err
	}
	return n, nil
}

// Header is the header of the file.
func (r *Reader) Header() Header { return r.header }

// Line is the number of the line read last; the header is line 1.
func (r *Reader) Line() int { return r.line }

// Bytes is how many bytes have been read, newlines included.
func (r *Reader) Bytes() int64 { return r.bytes }

// Next gives the next line. io.EOF after the last; *LineError for a line that is
// not well formed, after which Next goes on with the line below it, unless it
// wraps ErrTooLong or io.ErrUnexpectedEOF (the last line lacks its newline).
func (r *Reader) Next() (Line, error) {
	if r.done != nil {
		return nil, r.done
	}
	b, err := r.read(MaxLine)
	if err != nil {
		r.done = err
		return nil, err
	}
	l, err := ParseLine(b)
	if err != nil {
		return nil, &LineError{Line: r.line, Err: err}
	}
	return l, nil
}

// read gives the next line without its newline, good until the next read.
func (r *Reader) read(limit int) ([]byte, error) {
	var long []byte
	for {
		part, err := r.in.ReadSlice('\n')
		r.bytes += int64(len(part))
		if len(long)+len(part) > limit+1 {
			r.line++
			return nil, &LineError{Line: r.line, Err: ErrTooLong}
		}
		switch {
		case err == nil && long == nil:
			r.line++
			return part[:len(part)-1], nil
		case err == nil:
			r.line++
			return append(long, part[:len(part)-1]...), nil
		case err == bufio.ErrBufferFull:
			long = append(long, part...)
		case err == io.EOF && len(long)+len(part) > 0:
			r.line++
			return nil, &LineError{Line: r.line, Err: io.ErrUnexpectedEOF}
		default:
			return nil, err
		}
	}
}

// ParseHeader reads the header line without its newline; ErrNotBundle for any
// other bytes, and for a version other than 1.
func ParseHeader(b []byte) (Header, error) {
	var w headerWire
	if len(b) > MaxHeader || envelope.Unmarshal(b, &w) != nil {
		return Header{}, ErrNotBundle
	}
	if w.Trustnode != "bundle" || w.V != 1 || len(w.About) > MaxAbout {
		return Header{}, ErrNotBundle
	}
	return Header{About: w.About, Pin: w.Pin}, nil
}

// EncodeHeader gives the header line without its newline.
func EncodeHeader(h Header) ([]byte, error) {
	if len(h.About) > MaxAbout {
		return nil, fmt.Errorf("%d ids in about, at most %d", len(h.About), MaxAbout)
	}
	return envelope.Marshal(headerWire{About: h.About, Pin: h.Pin, Trustnode: "bundle", V: 1})
}

// Form is what the bytes of a file are, whatever its name.
type Form uint8

// The forms; the zero value is none of them.
const (
	FormNone    Form = 0
	FormBundle  Form = 1 // a bundle
	FormObject  Form = 2 // one DSSE envelope
	FormCompact Form = 3 // one object in compact form
	FormDIDLog  Form = 4 // a did:webvh log
)

// Sniff tells from the first bytes (up to MaxHeader are of use) what a file is.
// It looks at the start alone: the file may still not parse.
func Sniff(b []byte) Form {
	first, _, _ := bytes.Cut(b[:min(len(b), MaxHeader+1)], []byte("\n"))
	if _, err := ParseHeader(first); err == nil {
		return FormBundle
	}
	switch {
	case bytes.HasPrefix(first, []byte(`{"payload":`)):
		return FormObject
	case len(first) > 0 && first[0] == '{' && bytes.Contains(first, []byte(`"versionId"`)):
		return FormDIDLog
	case isCompact(first):
		return FormCompact
	}
	return FormNone
}

// isCompact tells whether b reads as base64url "." base64url.
func isCompact(b []byte) bool {
	dots := 0
	for _, c := range b {
		switch {
		case c == '.':
			dots++
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return dots == 1 && len(b) > 2 && b[0] != '.' && b[len(b)-1] != '.'
}
