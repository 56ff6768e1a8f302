package envelope

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"trustnode/did"
)

// Raw is a JSON value kept as its canonical bytes: a struct field whose shape another type decides, or, tagged
// `json:"ext"`, one with free keys. nil is absent.
type Raw []byte

// plan is how values of one Go type are read and written. It is built once per type.
type plan struct {
	read  func(d *decoder, v reflect.Value) *FormError
	write func(e *encoder, v reflect.Value) *FormError
}

// field is one member of an object.
type field struct {
	name     string
	key      string // `"name":`
	index    []int
	plan     *plan
	optional bool // absent when zero
}

var (
	plans sync.Map // reflect.Type to *plan

	didType  = reflect.TypeFor[did.DID]()
	keyType  = reflect.TypeFor[did.PublicKey]()
	idType   = reflect.TypeFor[ID]()
	timeType = reflect.TypeFor[Time]()
	rawType  = reflect.TypeFor[Raw]()
	marshals = reflect.TypeFor[encoding.TextMarshaler]()
	unmarsh  = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// planOf returns the plan of t. An error is a mistake in the program: t has a shape the format does not allow.
func planOf(t reflect.Type) (*plan, error) {
	if p, ok := plans.Load(t); ok {
		return p.(*plan), nil
	}
	b := builder{made: map[reflect.Type]*plan{}}
	p, err := b.plain(t)
	if err != nil {
		return nil, fmt.Errorf("envelope: %v: %w", t, err)
	}
	got, _ := plans.LoadOrStore(t, p)
	return got.(*plan), nil
}

// builder makes the plans of one type and what it contains.
type builder struct{ made map[reflect.Type]*plan }

// plain is the plan of a type outside a tagged field.
func (b builder) plain(t reflect.Type) (*plan, error) { return b.of(t, style{}) }

func (b builder) of(t reflect.Type, st style) (*plan, error) {
	switch t {
	case didType:
		return parsed(did.Parse, did.DID.String), nil
	case keyType:
		return parsed(did.DecodeKey, did.PublicKey.Multikey), nil
	case idType:
		return parsed(ParseID, ID.String), nil
	case timeType:
		return parsed(ParseTime, Time.String), nil
	case rawType:
		return rawPlan(st), nil
	}
	if t.Implements(marshals) && reflect.PointerTo(t).Implements(unmarsh) {
		return textPlan(st), nil
	}
	switch t.Kind() {
	case reflect.String:
		return stringPlan(st), nil
	case reflect.Bool:
		return boolPlan(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return uintPlan(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intPlan(), nil
	case reflect.Slice:
		return b.slice(t, st)
	case reflect.Struct:
		if st.multiline {
			return nil, fmt.Errorf("%v: the text rule belongs on its own fields", t)
		}
		return b.object(t)
	}
	return nil, fmt.Errorf("kind %v is not part of the format", t.Kind())
}

func (b builder) slice(t reflect.Type, st style) (*plan, error) {
	if t.Elem().Kind() == reflect.Uint8 {
		return nil, fmt.Errorf("%v: bytes have no JSON form; use Raw or a text", t)
	}
	elem, err := b.of(t.Elem(), st)
	if err != nil {
		return nil, err
	}
	return slicePlan(elem), nil
}

func (b builder) object(t reflect.Type) (*plan, error) {
	if p, ok := b.made[t]; ok {
		return p, nil
	}
	p := &plan{}
	b.made[t] = p // before its fields, which may hold t again below a slice or pointer
	fields, err := b.fields(t, nil)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(fields, func(x, y field) int { return strings.Compare(x.name, y.name) })
	for i := 1; i < len(fields); i++ {
		if fields[i].name == fields[i-1].name {
			return nil, fmt.Errorf("%v: two fields are called %s", t, fields[i].name)
		}
	}
	if len(fields) > maxFields {
		return nil, fmt.Errorf("%v has more than %d fields", t, maxFields)
	}
	*p = plan{read: objectPlan(fields).read, write: objectPlan(fields).write}
	return p, nil
}

// fields collects the tagged fields of t and of structs embedded in it.
func (b builder) fields(t reflect.Type, index []int) ([]field, error) {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		tag, tagged := f.Tag.Lookup("json")
		switch {
		case f.Anonymous && !tagged && f.Type.Kind() == reflect.Struct:
			inner, err := b.fields(f.Type, at)
			if err != nil {
				return nil, err
			}
			out = append(out, inner...)
		case tag == "-" || !tagged && !f.IsExported():
		default:
			made, err := b.field(f, tag)
			if err != nil {
				return nil, fmt.Errorf("field %s: %w", f.Name, err)
			}
			made.index = at
			out = append(out, made)
		}
	}
	return out, nil
}

func (b builder) field(f reflect.StructField, tag string) (field, error) {
	name, option, _ := strings.Cut(tag, ",")
	if !f.IsExported() || !isSnake(name) || option != "" && option != "omitempty" {
		return field{}, fmt.Errorf("tag `json:%q` does not name a member in snake_case", tag)
	}
	text := f.Tag.Get("text")
	if text != "" && text != "multiline" {
		return field{}, fmt.Errorf("tag `text:%q` is not known", text)
	}
	st := style{multiline: text != "", anyKey: name == "ext" && f.Type == rawType}
	made := field{name: name, key: `"` + name + `":`, optional: option != ""}
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t, made.optional = t.Elem(), true
	}
	p, err := b.of(t, st)
	if err != nil {
		return field{}, err
	}
	if made.plan = p; f.Type.Kind() == reflect.Pointer {
		made.plan = pointerPlan(p)
	}
	return made, nil
}
