package memory

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
)

// Line is what an importer made of one piece of its source: a draft, or a
// reason why there is none.
type Line struct {
	Number int    // from 1
	Draft  Draft  // unless Reason is set
	Origin string // original id, or what identifies the statement in the source
	Reason string // one of the Reject… words
	Detail string // more for a person; may be empty
}

// Reasons why a line, or one statement of it, is not imported.
const (
	RejectUTF8      = "not_utf8"        // bytes that are no text
	RejectTooLong   = "too_long"        // over MaxLine
	RejectTorn      = "not_json"        // torn, or two writers mixed
	RejectShape     = "unknown_shape"   // JSON, but not of this format
	RejectName      = "name"            // an entity or relation without a usable name
	RejectTag       = "tag"             // a name or type that makes no tag
	RejectEmpty     = "no_observations" // an entity of which nothing is said
	RejectStatement = "statement"       // empty, too long, or with control characters
)

// Importer reads one foreign format.
type Importer interface {
	// Name is the format's name, a part of what makes an import idempotent.
	Name() string
	// Sniff reports whether a file that begins like this is of the format.
	Sniff(head []byte) bool
	// Lines streams a file in bounded memory and emits what it finds, in
	// order. An error of emit ends it and is returned.
	Lines(ctx context.Context, r io.Reader, emit func(Line) error) error
}

// sniffBytes is how much of a file decides over its format.
const sniffBytes = 4096

// ErrFormat says that a format is unknown or could not be told.
var ErrFormat error = &coded{"invalid", "the file is none of the formats known here; if it is one, name it: --format mcp"}

var importers = []Importer{mcp{}}

// ImporterFor returns the importer of a format by name; "auto" and "" look at
// the file's beginning. It returns the reader to go on with.
func ImporterFor(format string, r io.Reader) (Importer, io.Reader, error) {
	for _, im := range importers {
		if im.Name() == format {
			return im, r, nil
		}
	}
	if format != "auto" && format != "" {
		return nil, nil, ErrFormat
	}
	br := bufio.NewReaderSize(r, sniffBytes)
	head, err := br.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	for _, im := range importers {
		if im.Sniff(head) {
			return im, br, nil
		}
	}
	return nil, nil, ErrFormat
}

// lines calls yield with each line and its number, without its end; a line
// over MaxLine comes as nil. Memory stays bounded whatever the file.
func lines(ctx context.Context, r io.Reader, yield func(n int, line []byte) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var buf []byte
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, long, err := readLine(br, buf[:0])
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		buf = line
		last := err != nil
		if last && len(line) == 0 && !long {
			return nil
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if line = bytes.TrimSuffix(line, []byte("\r")); long {
			line = nil
		} else if line == nil {
			line = []byte{}
		}
		if err := yield(n, line); err != nil || last {
			return err
		}
	}
}

// readLine appends a line to buf, without its end. What is over MaxLine is read
// and dropped.
func readLine(br *bufio.Reader, buf []byte) (line []byte, long bool, err error) {
	for {
		part, err := br.ReadSlice('\n')
		part = bytes.TrimSuffix(part, []byte("\n"))
		if len(buf)+len(part) > MaxLine {
			long = true
		} else {
			buf = append(buf, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buf, long, err
		}
	}
}
