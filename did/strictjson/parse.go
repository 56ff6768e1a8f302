package strictjson

import (
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// SyntaxError says what is wrong and where. Line and Column count from 1; Column counts bytes.
type SyntaxError struct {
	Line, Column int
	What         string
}

// Error returns "line L column C: what".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d column %d: %s", e.Line, e.Column, e.What)
}

// Parse reads exactly one JSON value with optional white space around it. maxDepth is the number of objects and arrays
// that may enclose one another. Every error is a *SyntaxError. The caller caps the length of b.
func Parse(b []byte, maxDepth int) (Value, error) {
	p := parser{s: string(b), depth: maxDepth}
	v, err := p.document()
	if err != nil {
		return Value{}, err
	}
	return v, nil
}

type parser struct {
	s     string
	i     int
	depth int // containers that may still be opened
}

func (p *parser) document() (Value, error) {
	if len(p.s) >= 3 && p.s[:3] == "\xef\xbb\xbf" {
		return Value{}, p.fail("byte order mark")
	}
	p.space()
	v, err := p.value()
	if err != nil {
		return Value{}, err
	}
	if p.space(); p.i < len(p.s) {
		return Value{}, p.fail("bytes after the value")
	}
	return v, nil
}

func (p *parser) fail(format string, args ...any) error {
	e := &SyntaxError{Line: 1, Column: 1, What: fmt.Sprintf(format, args...)}
	for _, c := range []byte(p.s[:min(p.i, len(p.s))]) {
		if e.Column++; c == '\n' {
			e.Line, e.Column = e.Line+1, 1
		}
	}
	return e
}

func (p *parser) space() {
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case ' ', '\t', '\n', '\r':
			p.i++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end; a NUL in the source is no token either.
func (p *parser) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *parser) value() (Value, error) {
	start := p.i
	v, err := p.token()
	if err != nil {
		return Value{}, err
	}
	v.raw = p.s[start:p.i]
	return v, nil
}

func (p *parser) token() (Value, error) {
	switch c := p.peek(); {
	case c == '{':
		return p.nested(p.object)
	case c == '[':
		return p.nested(p.array)
	case c == '"':
		s, err := p.str()
		return Value{kind: String, text: s}, err
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case c == 't':
		return p.literal("true", Bool)
	case c == 'f':
		return p.literal("false", Bool)
	case c == 'n':
		return p.literal("null", Null)
	case c == '/':
		return Value{}, p.fail("comments are not JSON")
	case p.i >= len(p.s):
		return Value{}, p.fail("unexpected end")
	default:
		return Value{}, p.fail("unexpected byte 0x%02x", c)
	}
}

func (p *parser) nested(read func() (Value, error)) (Value, error) {
	if p.depth == 0 {
		return Value{}, p.fail("nested too deep")
	}
	p.depth--
	v, err := read()
	p.depth++
	return v, err
}

func (p *parser) literal(word string, k Kind) (Value, error) {
	if len(p.s)-p.i < len(word) || p.s[p.i:p.i+len(word)] != word {
		return Value{}, p.fail("unknown word")
	}
	p.i += len(word)
	return Value{kind: k, text: word}, nil
}

func (p *parser) array() (Value, error) {
	v := Value{kind: Array}
	p.i++
	if p.space(); p.peek() == ']' {
		p.i++
		return v, nil
	}
	for {
		p.space()
		e, err := p.value()
		if err != nil {
			return Value{}, err
		}
		v.elems = append(v.elems, e)
		if more, err := p.more(']'); !more {
			return v, err
		}
	}
}

// more steps over a comma or over the closing byte.
func (p *parser) more(closing byte) (bool, error) {
	p.space()
	switch p.peek() {
	case ',':
		p.i++
		return true, nil
	case closing:
		p.i++
		return false, nil
	}
	return false, p.fail("expected a comma or %q", closing)
}

func (p *parser) object() (Value, error) {
	v := Value{kind: Object}
	p.i++
	if p.space(); p.peek() == '}' {
		p.i++
		return v, nil
	}
	var seen names
	for {
		m, err := p.member(&seen)
		if err != nil {
			return Value{}, err
		}
		v.members = append(v.members, m)
		if more, err := p.more('}'); !more {
			return v, err
		}
	}
}

func (p *parser) member(seen *names) (Member, error) {
	p.space()
	if p.peek() != '"' {
		return Member{}, p.fail("expected a member name")
	}
	at := p.i
	name, err := p.str()
	if err != nil {
		return Member{}, err
	}
	if !seen.add(name) {
		p.i = at
		return Member{}, p.fail("duplicate member %s", strconv.QuoteToASCII(name))
	}
	if p.space(); p.peek() != ':' {
		return Member{}, p.fail("expected a colon")
	}
	p.i++
	p.space()
	v, err := p.value()
	return Member{name, v}, err
}

// names finds duplicates: a list while there are few, then a set.
type names struct {
	list []string
	set  map[string]struct{}
}

func (n *names) add(name string) bool {
	if n.set == nil {
		for _, s := range n.list {
			if s == name {
				return false
			}
		}
		if n.list = append(n.list, name); len(n.list) > fewMembers {
			n.set = make(map[string]struct{}, 2*len(n.list))
			for _, s := range n.list {
				n.set[s] = struct{}{}
			}
		}
		return true
	}
	before := len(n.set)
	n.set[name] = struct{}{}
	return len(n.set) > before
}

func (p *parser) number() (Value, error) {
	start := p.i
	if p.peek() == '-' {
		p.i++
	}
	if p.peek() == '0' {
		p.i++
	} else if !p.digits() {
		return Value{}, p.fail("expected a digit")
	}
	if p.peek() == '.' {
		p.i++
		if !p.digits() {
			return Value{}, p.fail("expected a digit")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.i++
		if c := p.peek(); c == '+' || c == '-' {
			p.i++
		}
		if !p.digits() {
			return Value{}, p.fail("expected a digit")
		}
	}
	return Value{kind: Number, text: p.s[start:p.i]}, nil
}

func (p *parser) digits() bool {
	start := p.i
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.i++
	}
	return p.i > start
}

// str reads a string; without escapes the result shares the source's memory.
func (p *parser) str() (string, error) {
	p.i++
	start := p.i
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == '"':
			p.i++
			return p.s[start : p.i-1], nil
		case c == '\\':
			return p.escaped(start)
		default:
			if err := p.char(); err != nil {
				return "", err
			}
		}
	}
	return "", p.fail("unexpected end of string")
}

// char steps over one character that needs no escape.
func (p *parser) char() error {
	c := p.s[p.i]
	if c < 0x20 {
		return p.fail("control character 0x%02x in a string", c)
	}
	if c < utf8.RuneSelf {
		p.i++
		return nil
	}
	r, n := utf8.DecodeRuneInString(p.s[p.i:])
	if r == utf8.RuneError && n == 1 {
		return p.fail("invalid UTF-8")
	}
	p.i += n
	return nil
}

func (p *parser) escaped(start int) (string, error) {
	out := []byte(p.s[start:p.i])
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == '"':
			p.i++
			return string(out), nil
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
		default:
			at := p.i
			if err := p.char(); err != nil {
				return "", err
			}
			out = append(out, p.s[at:p.i]...)
		}
	}
	return "", p.fail("unexpected end of string")
}

func (p *parser) escape() (rune, error) {
	p.i++
	c := p.peek()
	if c == 'u' {
		return p.unicode()
	}
	p.i++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	}
	p.i--
	return 0, p.fail("unknown escape")
}

// unicode reads uXXXX, and the second half where the first is a high surrogate.
func (p *parser) unicode() (rune, error) {
	r, ok := p.hex4()
	if !ok {
		return 0, p.fail("malformed \\u escape")
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if p.peek() == '\\' {
		p.i++
		if low, ok := p.hex4(); ok {
			if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
				return full, nil
			}
		}
	}
	return 0, p.fail("lone surrogate")
}

func (p *parser) hex4() (rune, bool) {
	if len(p.s)-p.i < 5 || p.s[p.i] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(p.s[p.i+1:p.i+5], 16, 16)
	if err != nil {
		return 0, false
	}
	p.i += 5
	return rune(n), true
}
