package importers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"unicode/utf8"

	"trustnode/did/strictjson"
	"trustnode/node/memory"
)

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

// documents reads a file of lines and emits what document makes of each JSON
// text in them. A line holds one text, or several glued together by a writer
// that lost a line end.
func documents(ctx context.Context, r io.Reader, document func(strictjson.Value) []memory.Line, emit func(memory.Line) error) error {
	return lines(ctx, r, func(n int, text []byte) error {
		for _, l := range lineOf(text, document) {
			l.Number = n
			if err := emit(l); err != nil {
				return err
			}
		}
		return nil
	})
}

// lineOf reads one line; nil is a line over the limit.
func lineOf(text []byte, document func(strictjson.Value) []memory.Line) (out []memory.Line) {
	switch {
	case text == nil:
		return []memory.Line{{Reason: RejectTooLong}}
	case !utf8.Valid(text):
		return []memory.Line{{Reason: RejectUTF8}}
	}
	for {
		doc, rest := cutDocument(text)
		if len(doc) == 0 {
			return out
		}
		v, err := strictjson.Parse(doc, maxDepth)
		if err != nil { // where the next document would begin is a guess
			return append(out, memory.Line{Reason: RejectTorn, Detail: err.Error()})
		}
		out = append(out, document(v)...)
		text = rest
	}
}

// cutDocument cuts a text after its first object or array: by brackets outside
// strings alone, what is between them is for the parser. A text that begins
// with neither, or does not end, is all one document.
func cutDocument(text []byte) (doc, rest []byte) {
	text = bytes.Trim(text, " \t\r\n")
	depth, quoted, escaped := 0, false, false
	for i, c := range text {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth <= 0 && (c == '}' || c == ']') && !quoted {
			return text[:i+1], text[i+1:]
		}
	}
	return text, nil
}
