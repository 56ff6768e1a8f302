package memory

import "strconv"

// object writes JSON in RFC 8785 form. The caller gives the members in order;
// empty texts are left out, so that absent has one spelling.
type object struct {
	buf   []byte
	comma bool
}

func (o *object) open() {
	o.buf = append(o.buf, '{')
	o.comma = false
}

func (o *object) close() {
	o.buf = append(o.buf, '}')
	o.comma = true
}

// name writes the name of a member.
func (o *object) name(n string) {
	if o.comma {
		o.buf = append(o.buf, ',')
	}
	o.comma = true
	o.buf = append(appendText(o.buf, n), ':')
}

func (o *object) text(name, s string) {
	if s == "" {
		return
	}
	o.name(name)
	o.buf = appendText(o.buf, s)
}

func (o *object) number(name string, n uint64) {
	o.name(name)
	o.buf = strconv.AppendUint(o.buf, n, 10)
}

func (o *object) list(name string, texts []string) {
	o.name(name)
	o.buf = append(o.buf, '[')
	for i, s := range texts {
		if i > 0 {
			o.buf = append(o.buf, ',')
		}
		o.buf = appendText(o.buf, s)
	}
	o.buf = append(o.buf, ']')
}

// appendText writes a string of valid UTF-8 as RFC 8785, section 3.2.2.2.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\b':
			b = append(b, `\b`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\f':
			b = append(b, `\f`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c < 0x20:
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
