package envelope

import (
	"encoding"
	"reflect"
)

// parsed is the plan of a type with a parser and a text, "" being no value.
func parsed[T any](parse func(string) (T, error), text func(T) string) *plan {
	return &plan{
		read: func(d *decoder, v reflect.Value) *FormError {
			s, f := d.text(style{})
			if f != nil {
				return f
			}
			x, err := parse(s)
			if err != nil {
				return refused(err)
			}
			*v.Addr().Interface().(*T) = x
			return nil
		},
		write: func(e *encoder, v reflect.Value) *FormError {
			s := text(*v.Addr().Interface().(*T))
			if s == "" {
				return &FormError{What: "missing"}
			}
			return e.text(s, style{})
		},
	}
}

// textPlan is for other types that read and write themselves as text. Their text must be the one spelling.
func textPlan(st style) *plan {
	return &plan{
		read: func(d *decoder, v reflect.Value) *FormError {
			s, f := d.text(st)
			if f != nil {
				return f
			}
			if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s)); err != nil {
				return refused(err)
			}
			if b, err := v.Addr().Interface().(encoding.TextMarshaler).MarshalText(); err != nil || string(b) != s {
				return &FormError{What: "text has another canonical spelling"}
			}
			return nil
		},
		write: func(e *encoder, v reflect.Value) *FormError {
			b, err := v.Addr().Interface().(encoding.TextMarshaler).MarshalText()
			if err != nil {
				return refused(err)
			}
			return e.text(string(b), st)
		},
	}
}

func stringPlan(st style) *plan {
	return &plan{
		read: func(d *decoder, v reflect.Value) *FormError {
			s, f := d.text(st)
			if f == nil {
				v.SetString(s)
			}
			return f
		},
		write: func(e *encoder, v reflect.Value) *FormError { return e.text(v.String(), st) },
	}
}

func boolPlan() *plan {
	return &plan{
		read: func(d *decoder, v reflect.Value) *FormError {
			b, f := d.boolean()
			if f == nil {
				v.SetBool(b)
			}
			return f
		},
		write: func(e *encoder, v reflect.Value) *FormError {
			e.boolean(v.Bool())
			return nil
		},
	}
}

func uintPlan() *plan {
	return &plan{
		read: func(d *decoder, v reflect.Value) *FormError {
			n, f := d.integer()
			if f != nil {
				return f
			}
			if v.OverflowUint(n) {
				return &FormError{What: "integer is too large for this member"}
			}
			v.SetUint(n)
			return nil
		},
		write: func(e *encoder, v reflect.Value) *FormError { return e.integer(v.Uint()) },
	}
}

func intPlan() *plan {
	return &plan{
		read: func(d *decoder, v reflect.Value) *FormError {
			n, f := d.integer()
			if f != nil {
				return f
			}
			if v.OverflowInt(int64(n)) {
				return &FormError{What: "integer is too large for this member"}
			}
			v.SetInt(int64(n))
			return nil
		},
		write: func(e *encoder, v reflect.Value) *FormError {
			if v.Int() < 0 {
				return &FormError{What: "negative number"}
			}
			return e.integer(uint64(v.Int()))
		},
	}
}

func rawPlan(st style) *plan {
	return &plan{
		read: func(d *decoder, v reflect.Value) *FormError {
			start := d.i
			if f := d.value(st); f != nil {
				return f
			}
			v.SetBytes([]byte(d.s[start:d.i]))
			return nil
		},
		write: func(e *encoder, v reflect.Value) *FormError { return e.raw(v.Bytes(), st) },
	}
}
