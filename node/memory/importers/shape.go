package importers

import (
	"bytes"
	"context"
	"io"
	"strings"
)

// shape is what the beginning of a file tells of it: names of members, never
// words inside texts. A memory that speaks of another format is no such file.
type shape struct {
	outer map[string]bool // members of the objects that the file is a list of
	inner map[string]bool // members of objects in those
}

// has reports whether one kind of object in the file has all these members.
func (s shape) has(names ...string) bool {
	outer, inner := true, true
	for _, n := range names {
		outer, inner = outer && s.outer[n], inner && s.inner[n]
	}
	return outer || inner
}

func shapeOf(head []byte) shape {
	s := shape{map[string]bool{}, map[string]bool{}}
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	var r io.Reader = bytes.NewReader(head)
	if bytes.HasPrefix(head, []byte(`"`)) {
		r = unquote(r)
	}
	w := &walk{pick: s.pick, part: func(string, []byte) error { return nil }}
	_ = w.run(context.Background(), r, sniffBytes) // the head ends anywhere
	return s
}

func (s shape) pick(path string) step {
	member, rest, nested := strings.Cut(strings.ReplaceAll(strings.TrimPrefix(path, "[]."), "[]", ""), ".")
	switch {
	case !nested:
		s.outer[member] = true
	case !strings.Contains(rest, "."):
		s.inner[rest] = true
	default:
		return skip
	}
	return descend
}
