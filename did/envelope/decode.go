package envelope

import (
	"strconv"
)

// decoder reads canonical JSON in one pass: each byte it steps over is the only one that could have stood there, so what
// it accepts equals its own RFC 8785 form and need not be encoded again.
type decoder struct {
	s    string
	i    int
	room int // containers that may still be opened
}

// at returns the next byte, 0 at the end; NUL begins no token.
func (d *decoder) at() byte {
	if d.i < len(d.s) {
		return d.s[d.i]
	}
	return 0
}

// expected explains why the bytes at d.i are not the wanted kind of value.
func (d *decoder) expected(want string) *FormError {
	if d.i >= len(d.s) {
		return &FormError{What: "unexpected end, expected " + want}
	}
	got := "byte 0x" + strconv.FormatUint(uint64(d.s[d.i]), 16)
	switch c := d.s[d.i]; {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		got = "white space"
	case c == '"':
		got = "string"
	case c == '{':
		got = "object"
	case c == '[':
		got = "array"
	case c == '-' || c >= '0' && c <= '9':
		got = "number"
	case c == 't' || c == 'f':
		got = "boolean"
	case c == 'n':
		got = "null"
	case c == ',' || c == '}' || c == ']':
		got = "nothing"
	}
	return &FormError{What: got + ", expected " + want}
}

// open steps into a container.
func (d *decoder) open(c byte, kind string) *FormError {
	if d.at() != c {
		return d.expected(kind)
	}
	if d.room == 0 {
		return &FormError{What: "nested too deep"}
	}
	d.room--
	d.i++
	return nil
}

// next steps over a comma (true) or out of the container (false).
func (d *decoder) next(closing byte) (bool, *FormError) {
	switch d.at() {
	case ',':
		d.i++
		return true, nil
	case closing:
		d.i++
		d.room++
		return false, nil
	}
	return false, d.expected("a comma or the end")
}

// empty steps out of a container that was just opened, if it is empty.
func (d *decoder) empty(closing byte) bool {
	if d.at() != closing {
		return false
	}
	d.i++
	d.room++
	return true
}

func (d *decoder) end() *FormError {
	if d.i < len(d.s) {
		return &FormError{What: "bytes after the end"}
	}
	return nil
}

func (d *decoder) boolean() (bool, *FormError) {
	rest := d.s[d.i:]
	switch {
	case len(rest) >= 4 && rest[:4] == "true":
		d.i += 4
		return true, nil
	case len(rest) >= 5 && rest[:5] == "false":
		d.i += 5
		return false, nil
	}
	return false, d.expected("boolean")
}

// integer reads 0 to 2^53-1 in its one spelling.
func (d *decoder) integer() (uint64, *FormError) {
	start := d.i
	var n uint64
	for c := d.at(); c >= '0' && c <= '9'; c = d.at() {
		if n = n*10 + uint64(c-'0'); n > MaxInteger {
			return 0, &FormError{What: "integer above 2^53-1"}
		}
		d.i++
	}
	switch c := d.at(); {
	case d.i == start && c == '-':
		return 0, &FormError{What: "negative number"}
	case d.i == start:
		return 0, d.expected("integer")
	case d.s[start] == '0' && d.i > start+1:
		return 0, &FormError{What: "integer with a leading zero"}
	case c == '.' || c == 'e' || c == 'E':
		return 0, &FormError{What: "number is not an integer"}
	}
	return n, nil
}

// key reads a member name and its colon.
func (d *decoder) key(st style) (string, *FormError) {
	k, f := d.text(style{multiline: false})
	if f != nil {
		return "", f
	}
	if !st.anyKey && !isSnake(k) {
		return "", (&FormError{What: "key is not snake_case"}).under(named(k))
	}
	if d.at() != ':' {
		return "", d.expected("a colon").under(named(k))
	}
	d.i++
	return k, nil
}

// value steps over any one value.
func (d *decoder) value(st style) *FormError {
	switch c := d.at(); {
	case c == '"':
		_, f := d.text(st)
		return f
	case c == '{':
		return d.object(st, nil)
	case c == '[':
		return d.array(st)
	case c == 't' || c == 'f':
		_, f := d.boolean()
		return f
	case c == '-' || c >= '0' && c <= '9':
		_, f := d.integer()
		return f
	}
	return d.expected("a value")
}

func (d *decoder) array(st style) *FormError {
	if f := d.open('[', "array"); f != nil {
		return f
	}
	if d.empty(']') {
		return nil
	}
	for n := 0; ; n++ {
		if f := d.value(st); f != nil {
			return f.under("[" + strconv.Itoa(n) + "]")
		}
		if more, f := d.next(']'); !more {
			return f
		}
	}
}

// object steps over an object. visit, if not nil, is told where each value starts, and its key.
func (d *decoder) object(st style, visit func(key string, start int)) *FormError {
	if f := d.open('{', "object"); f != nil {
		return f
	}
	if d.empty('}') {
		return nil
	}
	last, first := "", true
	for ; ; first = false {
		k, f := d.key(st)
		if f != nil {
			return f
		}
		if !first {
			if f := ascending(last, k); f != nil {
				return f
			}
		}
		if last = k; visit != nil {
			visit(k, d.i)
		}
		inner := st
		inner.anyKey = st.anyKey || k == "ext"
		if f := d.value(inner); f != nil {
			return f.under(named(k))
		}
		if more, f := d.next('}'); !more {
			return f
		}
	}
}

// ascending checks the order of two neighbouring keys.
func ascending(last, k string) *FormError {
	if last == k {
		return (&FormError{What: "duplicate key"}).under(named(k))
	}
	if !lessUTF16(last, k) {
		return (&FormError{What: "key out of order"}).under(named(k))
	}
	return nil
}

// lessUTF16 orders by UTF-16 code units (RFC 8785, section 3.2.3). That differs from the order of UTF-8 bytes only
// where one string has a character above U+FFFF and the other one from U+E000 to U+FFFF.
func lessUTF16(a, b string) bool {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return len(a) < len(b)
	}
	x, y := a[i], b[i]
	if x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0) {
		return x >= 0xf0 // the surrogates of the longer form sort below U+E000
	}
	return x < y
}

// Canonical returns nil if b is one value in the canonical form of SPEC.md, section 1, with no more than maxDepth
// containers around one another. Below a member called ext any key is allowed. Errors are *FormError.
func Canonical(b []byte, maxDepth int) error { return canonical(b, maxDepth, style{}) }

// CanonicalMultiline is Canonical for values whose strings may hold LF and TAB.
func CanonicalMultiline(b []byte, maxDepth int) error {
	return canonical(b, maxDepth, style{multiline: true})
}

func canonical(b []byte, maxDepth int, st style) error {
	d := decoder{s: string(b), room: maxDepth}
	f := d.value(st)
	if f == nil {
		f = d.end()
	}
	if f != nil {
		return f
	}
	return nil
}
