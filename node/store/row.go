package store

import (
	"bytes"
	"encoding/binary"
)

// rowWriter builds a value of numbers and byte strings: uvarints, and lengths before bytes.
type rowWriter struct{ b []byte }

func (w *rowWriter) num(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

func (w *rowWriter) bytes(b []byte) {
	w.num(uint64(len(b)))
	w.b = append(w.b, b...)
}

// optional keeps nil apart from empty.
func (w *rowWriter) optional(b []byte) {
	if b == nil {
		w.num(0)
		return
	}
	w.num(1)
	w.bytes(b)
}

// rowReader reads it back; after a damaged part bad is set and all is zero.
type rowReader struct {
	b   []byte
	bad bool
}

func (r *rowReader) num() uint64 {
	n, k := binary.Uvarint(r.b)
	if k <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[k:]
	return n
}

func (r *rowReader) bytes() []byte {
	n := r.num()
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	out := bytes.Clone(r.b[:n])
	r.b = r.b[n:]
	return out
}

func (r *rowReader) optional() []byte {
	if r.num() == 0 {
		return nil
	}
	b := r.bytes()
	if b == nil {
		b = []byte{}
	}
	return b
}
