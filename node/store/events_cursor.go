package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"trustnode/attestation"
	"trustnode/did"
)

// A cursor is base64url of: version 1, order 1, hash 8 of the query, and then
//
//	by log:    number of a log, index, sizes of the logs 1.. at the first page: uvarints
//	by ingest: number of the event that is next, uvarint; 4 bytes of the id of the one before it
//
// Numbers of logs and events are this database's own. So the hash covers the names of the
// logs whose sizes follow, and the id shows that the order is still the one the cursor is of.
const (
	cursorVersion = 2
	cursorHash    = 8
	cursorTag     = 4
)

// cursor is a position behind an event; its zero value is the beginning.
type cursor struct {
	place place
	next  uint64   // by ingest: number of the event that comes next
	sizes []uint64 // by log: of log 1 and following at the first page
}

// place is one event of one log.
type place struct {
	num   uint32
	org   did.DID
	index uint64
}

// Tail returns the cursor of a query ByIngest behind all that has come: for who follows from
// now on.
func (e *Events) Tail(ctx context.Context, q attestation.Query) (text string, err error) {
	p := &pager{ctx: ctx, q: q, logs: e.states()}
	p.q.Order = attestation.ByIngest
	err = e.db.View(ctx, func(r Reader) error {
		p.r = r
		n, err := ingested(r)
		if err != nil {
			return err
		}
		c, err := p.behind(n)
		if err == nil {
			text, err = p.format(c)
		}
		return err
	})
	return text, err
}

// behind returns the cursor behind the first n events, without its name of the log.
func (p *pager) behind(n uint64) (cursor, error) {
	if n == 0 {
		return cursor{}, nil
	}
	c, found := cursor{next: n}, false
	err := arrivals(p.r, n-1, func(a arrival) (bool, error) {
		found = a.first < n
		c.place = place{num: a.num, index: a.base + (n - 1 - a.first)}
		return false, nil
	})
	if err != nil || !found {
		return cursor{}, cmp.Or(err, ErrCorrupt)
	}
	return c, nil
}

// size is how far a log is read.
func (c cursor) size(num uint32) uint64 {
	if num == 0 || int(num) > len(c.sizes) {
		return 0
	}
	return c.sizes[num-1]
}

func sizesOf(logs []logState) []uint64 {
	out := make([]uint64, len(logs)) // numbers have no hole, unless they are damaged
	for i := range logs {
		if n := int(logs[i].num); n > 0 && n <= len(out) {
			out[n-1] = logs[i].head.Size
		}
	}
	return out
}

// tagOf is what a cursor has of the event before it.
func tagOf(en attestation.Entry) [cursorTag]byte {
	if en.Check() != nil { // damaged since it was kept
		return [cursorTag]byte{}
	}
	sum := en.ID().Sum()
	return [cursorTag]byte(sum[:])
}

// format returns the cursor c of the query.
func (p *pager) format(c cursor) (string, error) {
	var tag [cursorTag]byte
	if p.q.Order == attestation.ByIngest && c.next > 0 {
		b, err := p.r.Get(indexKey(keyEntry, c.place.num, c.place.index))
		if err != nil {
			return "", fmt.Errorf("%w: entry %d: %v", ErrCorrupt, c.place.index, err)
		}
		tag = tagOf(b)
	}
	return p.formatAt(c, tag), nil
}

func (p *pager) formatAt(c cursor, tag [cursorTag]byte) string {
	order := max(p.q.Order, attestation.ByLog)
	b := append([]byte{cursorVersion, byte(order)}, p.hash(len(c.sizes))...)
	if order == attestation.ByIngest {
		b = append(binary.AppendUvarint(b, c.next), tag[:]...)
	} else {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(c.place.num)), c.place.index)
		for _, n := range c.sizes {
			b = binary.AppendUvarint(b, n)
		}
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// hash is of what the query selects, and of the names of the first logs.
func (p *pager) hash(logs int) []byte {
	q := p.q
	names := make([]string, logs)
	for i := range p.logs {
		if n := int(p.logs[i].num); n > 0 && n <= logs {
			names[n-1] = p.logs[i].org.String()
		}
	}
	text := fmt.Sprintf("%q %q %q %q %q %q %q %d %d %t %q", q.Org, q.Type, q.Subject, q.Actor, q.Ref, q.Since, q.Until, q.Level, q.Standing, q.Any, names)
	sum := sha256.Sum256([]byte(text))
	return sum[:cursorHash]
}

// parseCursor returns the position that a cursor names: attestation.ErrCursor for none of
// this query, attestation.ErrCursorAhead for one above what is held.
func (p *pager) parseCursor(text string) (cursor, error) {
	if text == "" {
		return cursor{}, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	order := max(p.q.Order, attestation.ByLog)
	const head = 2 + cursorHash
	if err != nil || len(b) > maxCursor || len(b) < head || b[0] != cursorVersion || b[1] != byte(order) {
		return cursor{}, attestation.ErrCursor
	}
	if order == attestation.ByIngest {
		if !bytes.Equal(b[2:head], p.hash(0)) {
			return cursor{}, attestation.ErrCursor
		}
		return p.parseIngest(b[head:])
	}
	nums, ok := uvarints(b[head:])
	if !ok || len(nums) < 3 || nums[0] == 0 || nums[0] > uint64(len(nums)-2) {
		return cursor{}, attestation.ErrCursor
	}
	c := cursor{place: place{num: uint32(nums[0]), index: nums[1]}, sizes: nums[2:]}
	if len(c.sizes) > len(p.logs) {
		return cursor{}, attestation.ErrCursorAhead
	}
	if !bytes.Equal(b[2:head], p.hash(len(c.sizes))) || c.place.index >= c.size(c.place.num) {
		return cursor{}, attestation.ErrCursor
	}
	for i := range p.logs {
		s := &p.logs[i]
		if c.size(s.num) > s.head.Size {
			return cursor{}, attestation.ErrCursorAhead
		}
		if s.num == c.place.num {
			c.place.org = s.org
		}
	}
	return c, nil
}

// parseIngest finds the event before the one that is next.
func (p *pager) parseIngest(b []byte) (cursor, error) {
	next, n := binary.Uvarint(b)
	if n <= 0 || len(b) != n+cursorTag {
		return cursor{}, attestation.ErrCursor
	}
	tag := [cursorTag]byte(b[n:])
	if next == 0 {
		if tag != [cursorTag]byte{} {
			return cursor{}, attestation.ErrCursor
		}
		return cursor{}, nil
	}
	if held, err := ingested(p.r); err != nil || next > held {
		return cursor{}, cmp.Or(err, attestation.ErrCursorAhead)
	}
	c, err := p.behind(next)
	if err != nil {
		return cursor{}, err
	}
	en, err := p.r.Get(indexKey(keyEntry, c.place.num, c.place.index))
	if err != nil || tagOf(en) != tag {
		return cursor{}, attestation.ErrCursorAhead
	}
	return c, nil
}

// uvarints reads numbers up to the end of b.
func uvarints(b []byte) (out []uint64, ok bool) {
	for len(b) > 0 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, false
		}
		out, b = append(out, v), b[n:]
	}
	return out, true
}
