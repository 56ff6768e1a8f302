package importers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"trustnode/did/strictjson"
)

// step is what a walk does with a value.
type step uint8

const (
	skip    step = iota
	take         // hand it out whole
	descend      // go into an object or array; hand out anything else
)

// walk reads JSON texts that are too long to hold, one after another, and hands
// out those parts that are asked for. A path names a value: "" the text itself,
// "a" a member of it, "a[]" each element of that, "a[].b" a member of each.
type walk struct {
	// pick chooses what to do with the value at a path. It descends into known
	// paths only, so the nesting of a file costs nothing.
	pick func(path string) step
	// part is given the bytes of a value taken; nil if they are over MaxLine. They
	// are valid during the call.
	part func(path string, raw []byte) error

	ctx  context.Context
	br   *bufio.Reader
	line int   // the reader's
	at   int   // the part's first
	room int64 // bytes left of what may be read
	buf  []byte
}

// torn is what is wrong with a JSON text. Nothing after it can be read.
type torn struct {
	line int
	what string
	long bool // over the cap of a document
}

func (e *torn) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.what) }

// run reads to the end of r, at most room bytes. Errors: *torn; an error of part
// or of r.
func (w *walk) run(ctx context.Context, r io.Reader, room int64) error {
	w.ctx, w.br, w.line, w.room = ctx, bufio.NewReaderSize(r, 64<<10), 1, room
	if b, err := w.br.Peek(3); err == nil && string(b) == "\ufeff" {
		_, _ = w.br.Discard(3) // was peeked at
	}
	for {
		c, err := w.space()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = w.value(c, "")
		}
		if errors.Is(err, io.EOF) {
			return &torn{line: w.line, what: "ends inside a value"}
		}
		if t := (*torn)(nil); errors.As(err, &t) && t.line == 0 {
			t.line = w.line // of the stream below
		}
		if err != nil {
			return err
		}
	}
}

func (w *walk) next() (byte, error) {
	c, err := w.br.ReadByte()
	if err != nil {
		return 0, err
	}
	if c == '\n' {
		w.line++
	}
	if w.room--; w.room < 0 {
		return 0, &torn{line: w.line, what: "longer than a document may be", long: true}
	}
	if w.room&0xffff == 0 {
		return c, w.ctx.Err()
	}
	return c, nil
}

func (w *walk) back(c byte) {
	_ = w.br.UnreadByte() // the last call was ReadByte
	w.room++
	if c == '\n' {
		w.line--
	}
}

// space returns the first byte that is no white space.
func (w *walk) space() (byte, error) {
	for {
		c, err := w.next()
		if err != nil || c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, err
		}
	}
}

func (w *walk) fail(what string) error { return &torn{line: w.line, what: what} }

// value reads the value that begins with c.
func (w *walk) value(c byte, path string) error {
	do := w.pick(path)
	switch {
	case do == descend && c == '{':
		return w.object(path)
	case do == descend && c == '[':
		return w.array(path)
	}
	at := w.line
	long, err := w.raw(c, do != skip)
	if err != nil || do == skip {
		return err
	}
	w.at = at
	if long {
		return w.part(path, nil)
	}
	return w.part(path, w.buf)
}

func (w *walk) object(path string) error {
	names := map[string]bool{}
	for {
		c, err := w.space()
		if err != nil {
			return err
		}
		if c == '}' && len(names) == 0 {
			return nil
		}
		name, err := w.name(c)
		if err != nil {
			return err
		}
		if names[name] || len(names) == maxMembers {
			return w.fail(fmt.Sprintf("member %.80q comes twice, or is one too many", name))
		}
		names[name] = true
		if c, err = w.space(); err != nil {
			return err
		}
		if err := w.value(c, member(path, name)); err != nil {
			return err
		}
		if more, err := w.more('}'); !more {
			return err
		}
	}
}

// member is the path of a member. A name that would read as a path is none that
// anyone asks for.
func member(path, name string) string {
	switch {
	case strings.ContainsAny(name, ".[]"):
		name = "\x00"
	case path == "":
		return name
	}
	return path + "." + name
}

// name reads the name of a member, which begins with c, and its colon.
func (w *walk) name(c byte) (string, error) {
	if c != '"' {
		return "", w.fail("expected a member name")
	}
	long, err := w.raw(c, true)
	if err != nil {
		return "", err
	}
	if long || len(w.buf) > maxMemberName {
		return "", w.fail("member name is too long")
	}
	v, err := strictjson.Parse(w.buf, 0)
	if err != nil {
		return "", w.fail("member name is no text")
	}
	if c, err = w.space(); err != nil {
		return "", err
	}
	if c != ':' {
		return "", w.fail("expected a colon")
	}
	name, _ := v.Text()
	return name, nil
}

func (w *walk) array(path string) error {
	c, err := w.space()
	if err != nil || c == ']' {
		return err
	}
	for {
		if err := w.value(c, path+"[]"); err != nil {
			return err
		}
		if more, err := w.more(']'); !more {
			return err
		}
		if c, err = w.space(); err != nil {
			return err
		}
	}
}

// more steps over a comma, or over the closing byte.
func (w *walk) more(closing byte) (bool, error) {
	c, err := w.space()
	switch {
	case err != nil:
		return false, err
	case c == ',':
		return true, nil
	case c == closing:
		return false, nil
	}
	return false, w.fail(fmt.Sprintf("expected a comma or %q", closing))
}

// raw reads the value that begins with c into buf, by its brackets and quotes
// alone: what is between them is for the parser. long is over MaxLine.
func (w *walk) raw(c byte, keep bool) (long bool, err error) {
	w.buf = w.buf[:0]
	depth, quoted, escaped := 0, false, false
	scalar := c != '"' && c != '{' && c != '['
	if scalar && (c == '}' || c == ']' || c == ',' || c == ':') {
		return false, w.fail(fmt.Sprintf("unexpected %q", c))
	}
	for {
		if keep && !long {
			if len(w.buf) == MaxLine {
				long = true
			} else {
				w.buf = append(w.buf, c)
			}
		}
		switch {
		case scalar:
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
		if !scalar && depth == 0 && !quoted {
			return long, nil
		}
		if c, err = w.next(); scalar && (errors.Is(err, io.EOF) || err == nil && ends(c)) {
			if err == nil {
				w.back(c)
			}
			return long, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// ends reports whether a byte ends a number or a word.
func ends(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', ',', ']', '}':
		return true
	}
	return false
}
