package strictjson

import (
	"slices"
	"strconv"
)

// Kind says which of the six JSON types a Value has. The zero Kind belongs to the zero Value, which is no JSON at all.
type Kind uint8

// The kinds of a value.
const (
	Null Kind = iota + 1
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"nothing", "null", "boolean", "number", "string", "array", "object"}

// String names the kind in lower case, as an error message would: "object", "string".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// Value is one JSON value: read by Parse, or put together by the functions below. It is immutable and safe for
// concurrent use. The zero Value is not JSON; methods on it answer "absent".
type Value struct {
	kind    Kind
	raw     string // exact source text; empty in a container that was put together here
	text    string // decoded string, or the literal of a number or boolean
	elems   []Value
	members []Member
}

// Member is one name and value of an object, in source order.
type Member struct {
	Name  string
	Value Value
}

// Kind returns the type of v, zero for the zero Value.
func (v Value) Kind() Kind { return v.kind }

// Get returns the member called name, compared byte for byte after unescaping; false if v is no object or lacks it.
func (v Value) Get(name string) (Value, bool) {
	for i := range v.members {
		if v.members[i].Name == name {
			return v.members[i].Value, true
		}
	}
	return Value{}, false
}

// Text returns the decoded string, false if v is no string.
func (v Value) Text() (string, bool) { return v.text, v.kind == String }

// IsTrue reports whether v is the literal true.
func (v Value) IsTrue() bool { return v.kind == Bool && v.text == "true" }

// Uint returns a number written as a plain non-negative integer without fraction or exponent; false for all else.
func (v Value) Uint() (uint64, bool) {
	if v.kind != Number {
		return 0, false
	}
	n, err := strconv.ParseUint(v.text, 10, 64)
	return n, err == nil
}

// Elements returns the elements of an array in order, nil for any other kind. The caller must not change them.
func (v Value) Elements() []Value { return v.elems }

// Members returns the members of an object in source order, nil for any other kind. The caller must not change them.
func (v Value) Members() []Member { return v.members }

// Without returns a copy of the object v that lacks the member called name.
func (v Value) Without(name string) Value {
	if v.kind != Object {
		return v
	}
	kept := make([]Member, 0, len(v.members))
	for _, m := range v.members {
		if m.Name != name {
			kept = append(kept, m)
		}
	}
	return Value{kind: Object, members: kept}
}

// With returns a copy of the object v in which the member called name is x, in its old place or else at the end.
func (v Value) With(name string, x Value) Value {
	kept := slices.Clone(v.members)
	for i := range kept {
		if kept[i].Name == name {
			kept[i].Value = x
			return Value{kind: Object, members: kept}
		}
	}
	return Value{kind: Object, members: append(kept, Member{name, x})}
}

// ObjectOf makes an object of the members, whose names must differ: Canonical refuses it otherwise.
func ObjectOf(members ...Member) Value {
	return Value{kind: Object, members: slices.Clone(members)}
}

// ArrayOf makes an array.
func ArrayOf(elems ...Value) Value { return Value{kind: Array, elems: slices.Clone(elems)} }

// StringOf makes a string; s must be valid UTF-8, which Canonical checks.
func StringOf(s string) Value { return Value{kind: String, text: s} }

// StringsOf makes an array of strings.
func StringsOf(s ...string) Value {
	elems := make([]Value, len(s))
	for i := range s {
		elems[i] = StringOf(s[i])
	}
	return Value{kind: Array, elems: elems}
}

// UintOf makes a number. Above 2^53 RFC 8785 cannot tell neighbours apart.
func UintOf(n uint64) Value { return Value{kind: Number, text: strconv.FormatUint(n, 10)} }

// BoolOf makes a boolean.
func BoolOf(b bool) Value { return Value{kind: Bool, text: strconv.FormatBool(b)} }

// Raw returns v as JSON: the exact source bytes if v was parsed, else a compact spelling.
func (v Value) Raw() []byte { return v.appendJSON(nil) }

func (v Value) appendJSON(dst []byte) []byte {
	if v.raw != "" {
		return append(dst, v.raw...)
	}
	switch v.kind {
	case Object:
		return v.appendObject(dst)
	case Array:
		return v.appendArray(dst)
	case String:
		return appendQuoted(dst, v.text)
	case Null:
		return append(dst, "null"...)
	default:
		return append(dst, v.text...)
	}
}

func (v Value) appendObject(dst []byte) []byte {
	dst = append(dst, '{')
	for i, m := range v.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, m.Name), ':')
		dst = m.Value.appendJSON(dst)
	}
	return append(dst, '}')
}

func (v Value) appendArray(dst []byte) []byte {
	dst = append(dst, '[')
	for i, e := range v.elems {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = e.appendJSON(dst)
	}
	return append(dst, ']')
}

// appendQuoted writes s with the escapes that RFC 8259 demands and no others.
func appendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
