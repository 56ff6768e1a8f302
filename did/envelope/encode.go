package envelope

import (
	"errors"
	"reflect"
	"strconv"
)

// encoder writes canonical JSON.
type encoder struct {
	b    []byte
	room int // containers that may still be opened
}

func (e *encoder) open(c byte) *FormError {
	if e.room == 0 {
		return &FormError{What: "nested too deep"}
	}
	e.room--
	e.b = append(e.b, c)
	return nil
}

func (e *encoder) close(c byte) {
	e.room++
	e.b = append(e.b, c)
}

func (e *encoder) text(s string, st style) *FormError {
	b, what := appendText(e.b, s, st)
	if what != "" {
		return &FormError{What: what}
	}
	e.b = b
	return nil
}

func (e *encoder) integer(n uint64) *FormError {
	if n > MaxInteger {
		return &FormError{What: "integer above 2^53-1"}
	}
	e.b = strconv.AppendUint(e.b, n, 10)
	return nil
}

func (e *encoder) boolean(b bool) { e.b = strconv.AppendBool(e.b, b) }

// raw copies a value that must already be canonical.
func (e *encoder) raw(b []byte, st style) *FormError {
	if len(b) == 0 {
		return &FormError{What: "missing"}
	}
	d := decoder{s: string(b), room: e.room}
	f := d.value(st)
	if f == nil {
		f = d.end()
	}
	if f == nil {
		e.b = append(e.b, b...)
	}
	return f
}

// Marshal returns the canonical form of v: a struct whose fields are tagged `json:"name"`, or any value a field may
// hold. Allowed are strings, booleans, integers from 0 to 2^53-1, Raw, types that are both TextMarshaler and
// TextUnmarshaler, structs, slices of these, and pointers to these as fields. `json:"name,omitempty"` and pointers are
// optional and absent when zero; `text:"multiline"` lets strings hold LF and TAB. A nil slice that is required is [].
// Errors are *FormError for a bad value, and plain ones for a type the format does not allow.
func Marshal(v any) ([]byte, error) {
	if v == nil {
		return nil, errors.New("envelope: nothing to marshal")
	}
	from := reflect.ValueOf(v)
	if from.Kind() == reflect.Pointer {
		if from.IsNil() {
			return nil, errors.New("envelope: nothing to marshal")
		}
		return marshal(from.Elem())
	}
	x := reflect.New(from.Type()).Elem() // text methods may be on the pointer
	x.Set(from)
	return marshal(x)
}

func marshal(x reflect.Value) ([]byte, error) {
	p, err := planOf(x.Type())
	if err != nil {
		return nil, err
	}
	e := encoder{b: make([]byte, 0, 512), room: MaxDepth}
	if f := p.write(&e, x); f != nil {
		return nil, f
	}
	return e.b, nil
}

// Unmarshal reads b, which must be canonical in the sense of SPEC.md, section 1, into the value v points at, whose type
// obeys the rules of Marshal. Keys are compared byte for byte; unknown, duplicate and missing ones are refused, and so
// is an optional member that holds its zero value. [] reads as nil. Strings share memory with one copy of b. Errors are
// *FormError, and plain ones for a type the format does not allow; v is then zero.
func Unmarshal(b []byte, v any) error {
	x := reflect.ValueOf(v)
	if x.Kind() != reflect.Pointer || x.IsNil() {
		return errors.New("envelope: Unmarshal needs a pointer")
	}
	x = x.Elem()
	p, err := planOf(x.Type())
	if err != nil {
		return err
	}
	x.SetZero()
	d := decoder{s: string(b), room: MaxDepth}
	f := p.read(&d, x)
	if f == nil {
		f = d.end()
	}
	if f != nil {
		x.SetZero()
		return f
	}
	return nil
}
