package importers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"trustnode/did/strictjson"
	"trustnode/node/memory"
)

// format is a format whose files are lists of items: JSON lines, a list, or
// pages, which are objects with a list in them.
type format interface {
	name() string
	// lists are the members of a page that hold items.
	lists() []string
	// sniff reports whether an item with these members, in a file with those
	// others around it, is of the format.
	sniff(s shape) bool
	// item reads one item.
	item(v strictjson.Value) memory.Line
}

// items makes an importer of a format.
type items struct{ format }

var _ memory.Importer = items{}

func (i items) Name() string { return i.name() }

func (i items) Sniff(head []byte) bool { return i.sniff(shapeOf(head)) }

func (i items) Lines(ctx context.Context, r io.Reader, emit func(memory.Line) error) error {
	br := bufio.NewReaderSize(r, MaxLine+1)
	if isLined(br) {
		return documents(ctx, br, i.page, emit)
	}
	return i.document(ctx, br, MaxDocument, emit)
}

// isLined reports whether the file's first line is a whole object: then the file
// is read line by line, and a torn line costs no more than itself. An error of
// the file below is met again when it is read.
func isLined(br *bufio.Reader) bool {
	head, err := br.Peek(MaxLine + 1)
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	line, _, ended := bytes.Cut(head, []byte("\n"))
	if !ended && err == nil {
		return false // the first line is over the limit of a line
	}
	doc, _ := cutDocument(line)
	return bytes.HasPrefix(line, []byte("{")) && bytes.HasSuffix(doc, []byte("}")) && utf8.Valid(doc) && isJSON(doc)
}

func isJSON(doc []byte) bool {
	_, err := strictjson.Parse(doc, maxDepth)
	return err == nil
}

// page reads a JSON text that is one item, a page of items, or a list of either.
func (i items) page(v strictjson.Value) []memory.Line {
	if v.Kind() == strictjson.Array {
		return i.list(v)
	}
	var out []memory.Line
	paged := false
	for _, name := range i.lists() {
		if list, ok := v.Get(name); ok && list.Kind() == strictjson.Array {
			paged = true
			out = append(out, i.list(list)...)
		}
	}
	if paged {
		return append(out, i.beside(v)...)
	}
	return []memory.Line{i.one(v)}
}

func (i items) list(list strictjson.Value) (out []memory.Line) {
	for n, e := range list.Elements() {
		l := i.one(e)
		l.Item = n + 1
		out = append(out, l)
	}
	return out
}

// beside counts the lists of a page that hold something else.
func (i items) beside(page strictjson.Value) (out []memory.Line) {
	for _, m := range page.Members() {
		if m.Value.Kind() == strictjson.Array && !slices.Contains(i.lists(), m.Name) {
			for range m.Value.Elements() {
				out = append(out, left(m.Name))
			}
		}
	}
	return out
}

func (i items) one(v strictjson.Value) memory.Line {
	if v.Kind() != strictjson.Object {
		return reject(RejectShape, "a %v", v.Kind())
	}
	return i.item(v)
}

// document reads a JSON text too long to hold.
func (i items) document(ctx context.Context, r io.Reader, room int64, emit func(memory.Line) error) error {
	begun, paged, n := false, false, 0
	w := &walk{pick: func(path string) step {
		name, element := strings.CutSuffix(path, "[]")
		switch {
		case path == "":
			begun = true
			return descend
		case strings.Contains(name, "."):
			return skip
		case element:
			return take
		}
		return descend
	}}
	w.part = func(path string, raw []byte) error {
		name, element := strings.CutSuffix(path, "[]")
		switch listed := path == "[]" || slices.Contains(i.lists(), name); {
		case !listed && element:
			return emit(left(name)) // as beside does
		case !listed && path != "":
			return nil // the page's own number or count
		}
		paged = true
		for _, l := range lineOf(raw, i.page) {
			l.Number, n = w.at, n+1
			l.Item = n
			if err := emit(l); err != nil {
				return err
			}
		}
		return nil
	}
	if err := w.run(ctx, r, room); err != nil {
		return finish(err, emit)
	}
	if begun && !paged {
		return emit(memory.Line{Number: w.line, Reason: RejectShape, Detail: "no list, and no member " + strings.Join(i.lists(), ", ")})
	}
	return nil
}

// finish emits how a document ended that could not be read to its end. What was
// read of it stays.
func finish(err error, emit func(memory.Line) error) error {
	t := (*torn)(nil)
	switch {
	case !errors.As(err, &t):
		return err
	case t.long:
		return emit(memory.Line{Number: max(t.line, 1), Reason: RejectTooLong, Detail: t.what + "; from here on nothing was read"})
	}
	return emit(memory.Line{Number: max(t.line, 1), Reason: RejectTorn, Detail: t.what + "; from here on nothing was read"})
}
