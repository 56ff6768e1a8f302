package envelope

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// style says which strings and keys a value may hold. The zero style is the strict one.
type style struct {
	multiline bool // strings may hold LF and TAB
	anyKey    bool // keys need not be snake_case: inside ext
}

// Classes of bytes inside a JSON string.
const (
	plain byte = iota
	quote
	backslash
	control
	foreign // first byte of a character beyond ASCII
)

var class = func() (t [256]byte) {
	for i := range t {
		switch {
		case i < 0x20 || i == 0x7f:
			t[i] = control
		case i >= utf8.RuneSelf:
			t[i] = foreign
		}
	}
	t['"'], t['\\'] = quote, backslash
	return t
}()

const (
	whatControl = "control character in a string"
	whatBidi    = "bidirectional override character in a string"
	whatUTF8    = "invalid UTF-8"
	whatNFC     = "string is not in normalization form C"
	whatEscape  = "string is not in its canonical escaping"
)

// badRune says why a character beyond ASCII may not stand in a string, "" if it may. Overrides, embeddings and
// isolates reorder what follows them on a screen: a person would approve another text than the one signed.
func badRune(r rune) string {
	switch {
	case r < 0xa0:
		return whatControl
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return whatBidi
	}
	return ""
}

// text reads a string at d.i. Without escapes the result shares the source's memory.
func (d *decoder) text(st style) (string, *FormError) {
	s := d.s
	if d.i >= len(s) || s[d.i] != '"' {
		return "", d.expected("string")
	}
	start := d.i + 1
	beyond := false
	for i := start; i < len(s); {
		switch class[s[i]] {
		case plain:
			i++
		case quote:
			d.i = i + 1
			return finish(s[start:i], beyond)
		case foreign:
			n, what := foreignRune(s[i:])
			if what != "" {
				return "", &FormError{What: what}
			}
			i, beyond = i+n, true
		case backslash:
			return d.escaped(start, i, beyond, st)
		default:
			return "", &FormError{What: whatControl}
		}
	}
	return "", &FormError{What: "unexpected end of string"}
}

func foreignRune(s string) (n int, what string) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		return 0, whatUTF8
	}
	return n, badRune(r)
}

func finish(s string, beyond bool) (string, *FormError) {
	if beyond && !norm.NFC.IsNormalString(s) {
		return "", &FormError{What: whatNFC}
	}
	return s, nil
}

// escaped reads on from the first backslash of a string, at i.
func (d *decoder) escaped(start, i int, beyond bool, st style) (string, *FormError) {
	s := d.s
	out := append(make([]byte, 0, 2*(i-start)+16), s[start:i]...)
	for i < len(s) {
		switch class[s[i]] {
		case plain:
			out = append(out, s[i])
			i++
		case quote:
			d.i = i + 1
			return finish(string(out), beyond)
		case foreign:
			n, what := foreignRune(s[i:])
			if what != "" {
				return "", &FormError{What: what}
			}
			out = append(out, s[i:i+n]...)
			i, beyond = i+n, true
		case backslash:
			c, what := escape(s[i:], st)
			if what != "" {
				return "", &FormError{What: what}
			}
			out = append(out, c)
			i += 2
		default:
			return "", &FormError{What: whatControl}
		}
	}
	return "", &FormError{What: "unexpected end of string"}
}

// escape reads one of the few escapes that canonical JSON needs for the characters allowed here.
func escape(s string, st style) (c byte, what string) {
	if len(s) < 2 {
		return 0, "unexpected end of string"
	}
	switch s[1] {
	case '"', '\\':
		return s[1], ""
	case 'n', 't':
		if !st.multiline {
			return 0, whatControl
		}
		if s[1] == 'n' {
			return '\n', ""
		}
		return '\t', ""
	}
	return 0, whatEscape
}

// appendText writes s as a canonical JSON string, or says why it may not be written.
func appendText(dst []byte, s string, st style) ([]byte, string) {
	dst = append(dst, '"')
	beyond := false
	for i := 0; i < len(s); {
		c := s[i]
		switch class[c] {
		case plain:
			dst = append(dst, c)
			i++
		case quote, backslash:
			dst = append(dst, '\\', c)
			i++
		case foreign:
			n, what := foreignRune(s[i:])
			if what != "" {
				return dst, what
			}
			dst = append(dst, s[i:i+n]...)
			i, beyond = i+n, true
		default:
			if !st.multiline || c != '\n' && c != '\t' {
				return dst, whatControl
			}
			if c == '\n' {
				c = 'n'
			} else {
				c = 't'
			}
			dst = append(dst, '\\', c)
			i++
		}
	}
	if beyond && !norm.NFC.IsNormalString(s) {
		return dst, whatNFC
	}
	return append(dst, '"'), ""
}

// CheckText returns nil if s may stand as a string in a body: UTF-8 in normalization form C, no control and no
// bidirectional override characters. With multiline, LF and TAB are allowed. Errors are *FormError.
func CheckText(s string, multiline bool) error {
	if _, what := appendText(make([]byte, 0, len(s)+2), s, style{multiline: multiline}); what != "" {
		return &FormError{What: what}
	}
	return nil
}

// isSnake reports whether s matches [a-z][a-z0-9_]*.
func isSnake(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 'a' && c <= 'z' || i > 0 && (c >= '0' && c <= '9' || c == '_') {
			continue
		}
		return false
	}
	return s != ""
}

// named makes a foreign key fit for a message.
func named(key string) string {
	if len(key) > maxNamed {
		key = key[:maxNamed] + "…"
	}
	clean := func(r rune) rune {
		if r < 0x20 || r > 0x7e && r != '…' {
			return '?'
		}
		return r
	}
	if key == "" {
		return `""`
	}
	return strings.Map(clean, key)
}
