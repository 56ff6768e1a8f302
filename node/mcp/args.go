package mcp

import (
	"slices"
	"strings"

	"trustnode/did/envelope"
	"trustnode/did/strictjson"
	"trustnode/node/fault"
)

// shape is what an argument is.
type shape uint8

const (
	text shape = iota + 1
	texts
	number
)

// field is one argument of a tool.
type field struct {
	name  string
	shape shape
	need  bool
	most  int // bytes of a text, items of a list, or the number itself
	about string
}

// argsDepth is an object with lists of texts.
const argsDepth = 2

// args are the arguments of one call, read strictly.
type args struct{ doc strictjson.Value }

// readArgs reads the arguments of a call: exactly what the tool's schema lists.
func readArgs(raw []byte, fields []field) (args, error) {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	doc, err := strictjson.Parse(raw, argsDepth)
	if err != nil {
		return args{}, fault.Wrap(fault.Invalid, "arguments", err)
	}
	if doc.Kind() != strictjson.Object {
		return args{}, fault.New(fault.Invalid, "arguments", "the arguments are no JSON object")
	}
	for _, m := range doc.Members() {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == m.Name })
		if i < 0 {
			return args{}, unknown(m.Name, fields)
		}
		if err := fields[i].check(m.Value); err != nil {
			return args{}, err
		}
	}
	for _, f := range fields {
		if _, there := doc.Get(f.name); f.need && !there {
			return args{}, fault.New(fault.Invalid, f.name, "%s is missing", f.name).WithHint("%s: %s", f.name, f.about)
		}
	}
	return args{doc}, nil
}

// identity are names by which a caller might try to say who it is or where.
var identity = []string{"tenant", "project", "place", "agent", "as", "borrower", "writer", "signer", "key", "kid", "token"}

func unknown(name string, fields []field) error {
	short := strings.TrimSuffix(strings.ToLower(name), "_id")
	if slices.Contains(identity, short) {
		return fault.New(fault.Invalid, "identity", "a call does not say %.40q", name).WithHint("who acts, and in which place, follows from the token alone; leave it out")
	}
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return fault.New(fault.Invalid, "arguments", "there is no argument %.40q", name).WithHint("arguments are %s", strings.Join(names, ", "))
}

func (f field) check(v strictjson.Value) error {
	bad := func(what string) error { return fault.New(fault.Invalid, f.name, "%s %s", f.name, what) }
	switch f.shape {
	case text:
		s, ok := v.Text()
		if !ok {
			return bad("is no text")
		}
		if len(s) > f.most {
			return fault.New(fault.TooLarge, f.name, "%s has %d bytes, at most %d", f.name, len(s), f.most).WithHint("shorten it")
		}
		if envelope.CheckText(s, true) != nil {
			return bad("is not plain text in Unicode form NFC")
		}
	case texts:
		if v.Kind() != strictjson.Array || len(v.Elements()) > f.most {
			return fault.New(fault.Invalid, f.name, "%s is no list of at most %d texts", f.name, f.most)
		}
		for _, e := range v.Elements() {
			if s, ok := e.Text(); !ok || len(s) > maxItem || envelope.CheckText(s, false) != nil {
				return bad("holds what is no short text")
			}
		}
	case number:
		if n, ok := v.Uint(); !ok || n > uint64(f.most) {
			return fault.New(fault.Invalid, f.name, "%s is no whole number of 0 to %d", f.name, f.most)
		}
	}
	return nil
}

// maxItem is the longest text in a list, in bytes: a tag or an id.
const maxItem = 128

func (a args) text(name string) string {
	v, _ := a.doc.Get(name)
	s, _ := v.Text()
	return s
}

func (a args) number(name string) uint64 {
	v, _ := a.doc.Get(name)
	n, _ := v.Uint()
	return n
}

func (a args) texts(name string) []string {
	v, _ := a.doc.Get(name)
	var out []string
	for _, e := range v.Elements() {
		s, _ := e.Text()
		out = append(out, s)
	}
	return out
}

// time reads a moment; absent is zero.
func (a args) time(name string) (t envelope.Time, err error) {
	if s := a.text(name); s != "" {
		if err := t.UnmarshalText([]byte(s)); err != nil {
			return t, fault.New(fault.Invalid, name, "%s is no time", name).WithHint("write it as 2026-12-01T10:00:00Z")
		}
	}
	return t, nil
}

// schema is the closed JSON schema of the arguments.
func schema(fields []field) raw {
	var props []strictjson.Member
	var need []string
	for _, f := range fields {
		props = append(props, strictjson.Member{Name: f.name, Value: f.schema()})
		if f.need {
			need = append(need, f.name)
		}
	}
	members := []strictjson.Member{{Name: "type", Value: strictjson.StringOf("object")}, {Name: "properties", Value: strictjson.ObjectOf(props...)},
		{Name: "additionalProperties", Value: strictjson.BoolOf(false)}}
	if len(need) > 0 {
		members = append(members, strictjson.Member{Name: "required", Value: strictjson.StringsOf(need...)})
	}
	return raw(strictjson.ObjectOf(members...).Raw())
}

func (f field) schema() strictjson.Value {
	word := func(s string) strictjson.Value { return strictjson.StringOf(s) }
	most := strictjson.UintOf(uint64(f.most))
	m := []strictjson.Member{{Name: "description", Value: word(f.about)}}
	switch f.shape {
	case text:
		m = append(m, strictjson.Member{Name: "type", Value: word("string")}, strictjson.Member{Name: "maxLength", Value: most})
	case texts:
		m = append(m, strictjson.Member{Name: "type", Value: word("array")}, strictjson.Member{Name: "maxItems", Value: most},
			strictjson.Member{Name: "items", Value: strictjson.ObjectOf(strictjson.Member{Name: "type", Value: word("string")}, strictjson.Member{Name: "maxLength", Value: strictjson.UintOf(maxItem)})})
	case number:
		m = append(m, strictjson.Member{Name: "type", Value: word("integer")}, strictjson.Member{Name: "minimum", Value: strictjson.UintOf(0)}, strictjson.Member{Name: "maximum", Value: most})
	}
	return strictjson.ObjectOf(m...)
}

// raw is JSON that is written as it is.
type raw []byte

// MarshalJSON implements json.Marshaler.
func (r raw) MarshalJSON() ([]byte, error) { return r, nil }
