package bundle

import (
	"bytes"
	"cmp"
	"io"
	"slices"
)

// Writer gathers lines and writes them in order of kind and id, each once. Not
// safe for concurrent use.
type Writer struct {
	w      io.Writer
	header Header
	lines  []encoded
}

type encoded struct {
	kind  Kind
	order string
	bytes []byte
}

// NewWriter makes a writer; nothing is written before Close.
func NewWriter(w io.Writer, h Header) *Writer { return &Writer{w: w, header: h} }

// Add takes one more line. A line that is not well formed, or above MaxLine
// (ErrTooLong), is refused and leaves the writer as it was.
func (w *Writer) Add(l Line) error {
	b, err := EncodeLine(l)
	if err != nil {
		return err
	}
	w.lines = append(w.lines, encoded{l.Kind(), l.order(), b})
	return nil
}

// Close writes header and lines. It does not close what it writes to.
func (w *Writer) Close() error {
	header, err := EncodeHeader(w.header)
	if err != nil {
		return err
	}
	slices.SortFunc(w.lines, func(a, b encoded) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.order, b.order), bytes.Compare(a.bytes, b.bytes))
	})
	lines := slices.CompactFunc(w.lines, func(a, b encoded) bool { return bytes.Equal(a.bytes, b.bytes) })
	if _, err := w.w.Write(append(header, '\n')); err != nil {
		return err
	}
	for _, l := range lines {
		if _, err := w.w.Write(append(slices.Clip(l.bytes), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// Encode gives the bytes of a whole bundle.
func Encode(h Header, lines ...Line) ([]byte, error) {
	var out bytes.Buffer
	w := NewWriter(&out, h)
	for _, l := range lines {
		if err := w.Add(l); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
