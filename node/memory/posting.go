package memory

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	"trustnode/node/store"
)

// span bounds a walk: positions after "after", creation not before "from".
type span struct {
	after []byte
	from  time.Time // zero: no bound
}

// walker yields the postings of one or several lists in order, each entry once.
// It reads them in pieces, so that a short answer costs little and many lists
// can be merged.
type walker struct {
	ctx            context.Context
	lists          []*piece
	tags, subjects []string // of the card given last, to be used again
	most, steps    int      // how many postings to give, 0 for all; how many were given
}

// piece is the part of a list that has been read and not yet yielded.
type piece struct {
	r      store.Reader
	prefix []byte
	span   span
	last   []byte // key of the last posting read; nil at the start
	buf    []card
	next   int
	size   int
	done   bool
}

const (
	firstPiece = MaxLimit/4 + 1
	mostPiece  = 1024
)

func walk(ctx context.Context, r store.Reader, in Place, lists []string, s span) *walker {
	w := &walker{ctx: ctx}
	for _, l := range lists {
		w.lists = append(w.lists, &piece{r: r, prefix: in.postings(l), span: s, size: firstPiece})
	}
	return w
}

// step returns the next posting, nil at the end. It is valid until the next
// call.
func (w *walker) step() (*card, error) {
	var least *card
	for _, p := range w.lists {
		c, err := p.peek(w.ctx)
		if err != nil {
			return nil, err
		}
		if c != nil && (least == nil || c.position < least.position) {
			least = c
		}
	}
	if least == nil || w.most > 0 && w.steps == w.most {
		return nil, nil
	}
	w.steps++
	for _, p := range w.lists {
		if p.next < len(p.buf) && p.buf[p.next].position == least.position {
			p.next++
		}
	}
	least.tags, least.subjects = w.tags, w.subjects
	err := least.parse()
	w.tags, w.subjects = least.tags, least.subjects
	return least, err
}

func (p *piece) peek(ctx context.Context) (*card, error) {
	if p.next == len(p.buf) && !p.done {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := p.fill(); err != nil {
			return nil, err
		}
	}
	if p.next == len(p.buf) {
		return nil, nil
	}
	return &p.buf[p.next], nil
}

// fill reads the next piece. The step before returned a pointer into buf only
// once that posting was left behind, so a new piece gets a new buffer.
func (p *piece) fill() error {
	after := p.last
	if after == nil && p.span.after != nil {
		after = append(bytes.Clone(p.prefix), p.span.after...)
	}
	p.buf, p.next = make([]card, 0, p.size), 0
	n := len(p.prefix)
	p.done = true
	err := p.r.Scan(p.prefix, after, func(k, v []byte) bool {
		if len(k) < n+8 || p.span.ends(k[n:]) {
			return false
		}
		p.buf = append(p.buf, card{position: string(k[n:]), stored: string(v)})
		if len(p.buf) < p.size {
			return true
		}
		p.last, p.done = bytes.Clone(k), false
		return false
	})
	p.size = min(2*p.size, mostPiece)
	return err
}

// ends reports whether a position lies before the span's earliest creation.
func (s span) ends(pos []byte) bool {
	return !s.from.IsZero() && int64(^binary.BigEndian.Uint64(pos)) < s.from.Unix()
}

// later returns the position that lies further on.
func later(a, b []byte) []byte {
	if bytes.Compare(a, b) < 0 {
		return b
	}
	return a
}
