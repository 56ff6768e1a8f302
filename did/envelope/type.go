package envelope

import "strings"

// Type is a payload type, "application/vnd.trustnode.permission.v1+json". One object has one type; a type is never
// reused and, once released, never changed.
type Type string

const (
	typePrefix = "application/vnd.trustnode."
	typeSuffix = ".v1+json"
)

// TypeOf returns version 1 of the type called what, which must match [a-z]+: it panics otherwise, as types are constants.
func TypeOf(what string) Type {
	t := Type(typePrefix + what + typeSuffix)
	if !t.valid() {
		panic("envelope: bad type name " + what)
	}
	return t
}

// What returns the short name, "permission", or "" if t is no type of this project in version 1.
func (t Type) What() string {
	if !t.valid() {
		return ""
	}
	return string(t[len(typePrefix) : len(t)-len(typeSuffix)])
}

func (t Type) valid() bool {
	s, ok := strings.CutPrefix(string(t), typePrefix)
	if !ok || len(t) > maxType {
		return false
	}
	if s, ok = strings.CutSuffix(s, typeSuffix); !ok || s == "" {
		return false
	}
	for _, c := range []byte(s) {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}
