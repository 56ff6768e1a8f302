package envelope

import (
	"reflect"
	"strconv"
	"strings"
)

// objectPlan are the members of a struct in canonical order.
type objectPlan []field

// read matches the members in the input against the fields in order. The next key is compared as bytes, so another
// case, an escape or white space is not that key.
func (p objectPlan) read(d *decoder, v reflect.Value) *FormError {
	if f := d.open('{', "object"); f != nil {
		return f
	}
	if d.empty('}') {
		return p.missing(0)
	}
	var seen uint64
	next := 0
	for {
		at := p.match(d, next)
		if at < 0 {
			return p.badKey(d, next, seen)
		}
		if f := p[at].read(d, v); f != nil {
			return f.under(p[at].name)
		}
		seen |= 1 << at
		next = at + 1
		if more, f := d.next('}'); f != nil {
			return f.under(p[at].name)
		} else if !more {
			return p.missing(next)
		}
	}
}

// match steps over the key of the first field from next that stands here, passing over absent optional ones.
func (p objectPlan) match(d *decoder, next int) int {
	rest := d.s[d.i:]
	for ; next < len(p); next++ {
		if strings.HasPrefix(rest, p[next].key) {
			d.i += len(p[next].key)
			return next
		}
		if !p[next].optional {
			return -1
		}
	}
	return -1
}

func (p objectPlan) missing(next int) *FormError {
	for ; next < len(p); next++ {
		if !p[next].optional {
			return &FormError{Path: p[next].name, What: "missing"}
		}
	}
	return nil
}

// badKey says what is wrong with the key at d.i, which is not the one the plan asks for.
func (p objectPlan) badKey(d *decoder, next int, seen uint64) *FormError {
	k, f := d.text(style{})
	if f != nil {
		return f
	}
	for i := range p {
		if p[i].name != k {
			continue
		}
		switch {
		case seen&(1<<i) != 0:
			return &FormError{Path: k, What: "duplicate key"}
		case i < next:
			return &FormError{Path: k, What: "key out of order"}
		case d.at() != ':':
			return d.expected("a colon").under(k)
		}
		// A required field between next and i does not stand where it belongs.
		return p.skipped(d, next)
	}
	return &FormError{Path: named(k), What: "unknown key"}
}

func (p objectPlan) skipped(d *decoder, next int) *FormError {
	f := p.missing(next)
	if f != nil && strings.Contains(d.s[d.i:], p[p.index(f.Path)].key) {
		f.What = "missing, or out of order"
	}
	return f
}

func (p objectPlan) index(name string) int {
	for i := range p {
		if p[i].name == name {
			return i
		}
	}
	return 0
}

func (f *field) in(v reflect.Value) reflect.Value {
	if len(f.index) == 1 {
		return v.Field(f.index[0])
	}
	return v.FieldByIndex(f.index)
}

func (f *field) read(d *decoder, v reflect.Value) *FormError {
	x := f.in(v)
	if bad := f.plan.read(d, x); bad != nil {
		return bad
	}
	if f.optional && isAbsent(x) {
		return &FormError{What: "default value is written out; it must be absent"}
	}
	return nil
}

// isAbsent reports whether an optional field has nothing to write. A pointer that is set is something, whatever it
// points at.
func isAbsent(x reflect.Value) bool {
	if x.Kind() == reflect.Slice {
		return x.Len() == 0
	}
	return x.IsZero()
}

func (p objectPlan) write(e *encoder, v reflect.Value) *FormError {
	if f := e.open('{'); f != nil {
		return f
	}
	first := true
	for i := range p {
		x := p[i].in(v)
		if p[i].optional && isAbsent(x) {
			continue
		}
		if !first {
			e.b = append(e.b, ',')
		}
		first = false
		e.b = append(e.b, p[i].key...)
		if f := p[i].plan.write(e, x); f != nil {
			return f.under(p[i].name)
		}
	}
	e.close('}')
	return nil
}

// slicePlan reads and writes arrays. An empty array reads as nil.
func slicePlan(elem *plan) *plan {
	return &plan{
		read: func(d *decoder, v reflect.Value) *FormError {
			if f := d.open('[', "array"); f != nil {
				return f
			}
			if d.empty(']') {
				return nil
			}
			for n := 0; ; n++ {
				if n == v.Cap() {
					v.Grow(max(n, 4))
				}
				v.SetLen(n + 1)
				if f := elem.read(d, v.Index(n)); f != nil {
					return f.under("[" + strconv.Itoa(n) + "]")
				}
				if more, f := d.next(']'); !more {
					return f
				}
			}
		},
		write: func(e *encoder, v reflect.Value) *FormError {
			if f := e.open('['); f != nil {
				return f
			}
			for i := range v.Len() {
				if i > 0 {
					e.b = append(e.b, ',')
				}
				if f := elem.write(e, v.Index(i)); f != nil {
					return f.under("[" + strconv.Itoa(i) + "]")
				}
			}
			e.close(']')
			return nil
		},
	}
}

// pointerPlan is for optional fields whose zero value differs from absence.
func pointerPlan(elem *plan) *plan {
	return &plan{
		read: func(d *decoder, v reflect.Value) *FormError {
			v.Set(reflect.New(v.Type().Elem()))
			return elem.read(d, v.Elem())
		},
		write: func(e *encoder, v reflect.Value) *FormError { return elem.write(e, v.Elem()) },
	}
}
