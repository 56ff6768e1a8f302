package resolution

import (
	"fmt"
	"strings"

	"trustnode/did"
)

// mediaRange is one element of an Accept value; texts are in lower case, but for the profile.
type mediaRange struct {
	typ     string
	profile string
	other   bool // has a parameter that no offer has
	q       int  // thousandths
}

// matches returns how specifically r names o, from 0 for */* on, and -1 if it does not.
func (r mediaRange) matches(o offer) int {
	main, _, _ := strings.Cut(o.typ, "/")
	switch {
	case r.other || r.profile != "" && (r.typ != o.typ || r.profile != o.profile):
		return -1
	case r.profile != "":
		return 3
	case r.typ == o.typ:
		return 2
	case r.typ == main+"/*":
		return 1
	case r.typ == "*/*":
		return 0
	}
	return -1
}

// parseAccept reads an Accept value: RFC 9110, sections 5.6 and 12.5.1. What departs from its grammar, or is not ASCII, is
// INVALID_OPTIONS. Empty list elements are skipped, as the grammar asks.
func parseAccept(s string) ([]mediaRange, error) {
	if len(s) > maxAccept {
		return nil, refuse(did.InvalidOptions, fmt.Sprintf("accept of %d bytes", len(s)), did.ErrTooLarge)
	}
	p := acceptParser{s: s}
	var out []mediaRange
	for {
		p.skip(" \t,")
		if p.end() {
			break
		}
		r, ok := p.mediaRange()
		if !ok || len(out) == maxRanges {
			return nil, refuse(did.InvalidOptions, fmt.Sprintf("accept is no list of media ranges at byte %d", p.i), nil)
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, refuse(did.InvalidOptions, "accept names no media range", nil)
	}
	return out, nil
}

type acceptParser struct {
	s string
	i int
}

func (p *acceptParser) end() bool { return p.i == len(p.s) }

func (p *acceptParser) skip(set string) {
	for !p.end() && strings.IndexByte(set, p.s[p.i]) >= 0 {
		p.i++
	}
}

func (p *acceptParser) take(c byte) bool {
	if p.end() || p.s[p.i] != c {
		return false
	}
	p.i++
	return true
}

// token reads 1*tchar; "" if there is none.
func (p *acceptParser) token() string {
	const marks = "!#$%&'*+-.^_`|~"
	start := p.i
	for !p.end() {
		c := p.s[p.i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && strings.IndexByte(marks, c) < 0 {
			break
		}
		p.i++
	}
	return p.s[start:p.i]
}

// quoted reads a quoted-string after its opening quote; ASCII only.
func (p *acceptParser) quoted() (string, bool) {
	var b strings.Builder
	for !p.end() {
		c := p.s[p.i]
		p.i++
		if c == '"' {
			return b.String(), true
		}
		if c == '\\' {
			if p.end() {
				break
			}
			c = p.s[p.i]
			p.i++
		}
		if c != '\t' && (c < ' ' || c > '~') {
			break
		}
		b.WriteByte(c)
	}
	return "", false
}

// mediaRange reads one range up to the comma or the end.
func (p *acceptParser) mediaRange() (mediaRange, bool) {
	main := p.token()
	if main == "" || !p.take('/') {
		return mediaRange{}, false
	}
	sub := p.token()
	if sub == "" || main == "*" && sub != "*" {
		return mediaRange{}, false
	}
	r := mediaRange{typ: strings.ToLower(main + "/" + sub), q: 1000}
	for n := 0; ; n++ {
		p.skip(" \t")
		if p.end() || p.s[p.i] == ',' {
			return r, true
		}
		if n == maxParameters || !p.take(';') || !p.parameter(&r) {
			return mediaRange{}, false
		}
	}
}

// parameter reads what follows a semicolon; nothing may, RFC 9110, section 5.6.6.
func (p *acceptParser) parameter(r *mediaRange) bool {
	p.skip(" \t")
	if p.end() || p.s[p.i] == ';' || p.s[p.i] == ',' {
		return true
	}
	name := strings.ToLower(p.token())
	if name == "" || !p.take('=') {
		return false
	}
	value, ok := "", true
	if p.take('"') {
		value, ok = p.quoted()
	} else {
		value = p.token()
		ok = value != ""
	}
	switch {
	case !ok:
		return false
	case name == "q":
		r.q, ok = weight(value)
	case name == "profile" && r.profile == "" && value != "":
		r.profile = value
	default:
		r.other = true
	}
	return ok
}

// weight reads a qvalue in thousandths: RFC 9110, section 12.4.2.
func weight(s string) (int, bool) {
	if len(s) == 0 || len(s) > 5 || s[0] != '0' && s[0] != '1' || len(s) > 1 && s[1] != '.' {
		return 0, false
	}
	n, unit := int(s[0]-'0')*1000, 100
	for i := 2; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n, unit = n+int(s[i]-'0')*unit, unit/10
	}
	return n, n <= 1000
}
