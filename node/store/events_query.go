package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
)

const defaultPage = 100

// place is a position over all logs: organizations in order of their DIDs,
// then indexes.
type place struct {
	org   did.DID
	index uint64
}

// Query implements attestation.Store.
func (e *Events) Query(ctx context.Context, q attestation.Query) (attestation.Page, error) {
	after, err := parseCursor(q)
	if err != nil {
		return attestation.Page{}, err
	}
	limit := q.Limit
	if limit <= 0 || limit > attestation.MaxPage {
		limit = defaultPage
	}
	var page attestation.Page
	logs := e.states()
	err = e.db.View(ctx, func(r Reader) error {
		return candidates(r, logs, q, after, func(s *logState, i uint64) (bool, error) {
			f, ok, err := s.found(r, q, i)
			if err != nil || !ok {
				return err == nil, err
			}
			if len(page.Found) == limit {
				last := page.Found[limit-1]
				page.Next = formatCursor(q, place{last.Org, last.Index})
				return false, nil
			}
			page.Found = append(page.Found, f)
			return true, nil
		})
	})
	return page, err
}

// states returns all logs by name. It is taken before a snapshot of the
// database, which then holds at least what the states speak of.
func (e *Events) states() []logState {
	e.mu.RLock()
	defer e.mu.RUnlock()
	out := make([]logState, 0, len(e.logs))
	for _, s := range e.logs {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b logState) int { return strings.Compare(a.org.String(), b.org.String()) })
	return out
}

// candidates yields places that may fit q, in order, after one of them.
func candidates(r Reader, logs []logState, q attestation.Query, after *place, yield func(*logState, uint64) (bool, error)) error {
	dim, value := narrowest(q)
	for _, s := range logs {
		if !q.Org.IsZero() && s.org != q.Org {
			continue
		}
		from := uint64(0)
		if after != nil {
			if c := strings.Compare(s.org.String(), after.org.String()); c < 0 {
				continue
			} else if c == 0 {
				from = after.index + 1
			}
		}
		more, err := s.walk(r, dim, value, from, yield)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// narrowest returns the posting list to walk; dim 0 is every entry.
func narrowest(q attestation.Query) (dim byte, value string) {
	switch {
	case !q.Ref.IsZero():
		return dimRef, q.Ref.String()
	case q.Subject != "":
		return dimSubject, q.Subject
	case !q.Actor.IsZero():
		return dimActor, q.Actor.String()
	case strings.HasSuffix(string(q.Type), "."):
		family, _, _ := strings.Cut(string(q.Type), ".")
		return dimFamily, family
	case q.Type != "":
		return dimType, string(q.Type)
	}
	return 0, ""
}

// walk yields the indexes of one log from one on that a posting list names.
func (s *logState) walk(r Reader, dim byte, value string, from uint64, yield func(*logState, uint64) (bool, error)) (bool, error) {
	if dim == 0 {
		for i := from; i < s.head.Size; i++ {
			if more, err := yield(s, i); err != nil || !more {
				return false, err
			}
		}
		return true, nil
	}
	return s.walkPostings(r, logKey(string(postingPrefix(dim, value)), s.num), from, func(i uint64) (bool, error) { return yield(s, i) })
}

// walkPostings yields the indexes from one on that the rows under a prefix name.
func (s *logState) walkPostings(r Reader, prefix []byte, from uint64, yield func(uint64) (bool, error)) (bool, error) {
	more := true
	var bad error
	var after []byte
	if from >= attestation.MaxBatch { // a posting names indexes less than one append above its base
		after = binary.BigEndian.AppendUint64(slices.Clone(prefix), from-attestation.MaxBatch)
	}
	err := r.Scan(prefix, after, func(k, v []byte) bool {
		base := binary.BigEndian.Uint64(k[len(k)-8:])
		for len(v) > 0 && more && bad == nil {
			off, n := binary.Uvarint(v)
			if n <= 0 {
				bad = fmt.Errorf("%w: posting", ErrCorrupt)
				break
			}
			v = v[n:]
			if i := base + off; i >= from && i < s.head.Size {
				more, bad = yield(i)
			}
		}
		return more && bad == nil
	})
	return more, errors.Join(err, bad)
}

// found reads one candidate and reports whether it fits q.
func (s *logState) found(r Reader, q attestation.Query, i uint64) (attestation.Found, bool, error) {
	v, err := s.verdict(r, i)
	if err != nil || !q.Any && !v.Counts() {
		return attestation.Found{}, false, err
	}
	en, err := r.Get(indexKey(keyEntry, s.num, i))
	if err != nil {
		return attestation.Found{}, false, fmt.Errorf("%w: entry %d: %v", ErrCorrupt, i, err)
	}
	f := attestation.Found{Org: s.org, Index: i, Entry: en, Verdict: v}
	_, ev, err := f.Entry.Envelope()
	if err != nil {
		return f, q.Any && everything(q), nil // found only by its place
	}
	return f, fits(q, ev), nil
}

func everything(q attestation.Query) bool {
	return q.Type == "" && q.Subject == "" && q.Actor.IsZero() && q.Ref.IsZero()
}

func fits(q attestation.Query, ev attestation.Event) bool {
	prefix := strings.HasSuffix(string(q.Type), ".")
	switch {
	case prefix && !strings.HasPrefix(string(ev.Type), string(q.Type)):
		return false
	case !prefix && q.Type != "" && ev.Type != q.Type:
		return false
	case q.Subject != "" && ev.Subject != q.Subject:
		return false
	case !q.Actor.IsZero() && ev.Actor != q.Actor:
		return false
	case !q.Ref.IsZero() && !slices.Contains(ev.Refs, q.Ref):
		return false
	}
	return true
}

// collect returns every event of all logs that one posting list names and keep
// accepts, counting or not.
func (e *Events) collect(ctx context.Context, dim byte, value string, keep func(attestation.Event) bool) ([]attestation.Found, error) {
	var out []attestation.Found
	logs := e.states()
	err := e.db.View(ctx, func(r Reader) error {
		for _, s := range logs {
			_, err := s.walk(r, dim, value, 0, func(s *logState, i uint64) (bool, error) {
				f, ok, err := s.found(r, attestation.Query{Any: true}, i)
				if err != nil || !ok {
					return err == nil, err
				}
				if _, ev, err := f.Entry.Envelope(); err == nil && keep(ev) {
					out = append(out, f)
				}
				return len(out) < attestation.MaxPage, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// Find returns the events with an id over all logs, the origin's own first.
func (e *Events) Find(ctx context.Context, id envelope.ID) ([]attestation.Found, error) {
	var out []attestation.Found
	logs := e.states()
	err := e.db.View(ctx, func(r Reader) error {
		for _, s := range logs {
			b, err := getOr(r, idKey(id, s.num), nil)
			if err != nil {
				return err
			}
			if b == nil || binary.BigEndian.Uint64(b) >= s.head.Size {
				continue
			}
			f, _, err := s.found(r, attestation.Query{Any: true}, binary.BigEndian.Uint64(b))
			if err != nil {
				return err
			}
			if f.Entry.ID() == id {
				out = append(out, f)
			}
		}
		return nil
	})
	slices.SortStableFunc(out, func(a, b attestation.Found) int { return rank(b) - rank(a) })
	return out, err
}

// rank puts the log whose organization the event names before all others.
func rank(f attestation.Found) int {
	if _, ev, err := f.Entry.Envelope(); err == nil && ev.Org == f.Org {
		return 1
	}
	return 0
}

func filterHash(q attestation.Query) []byte {
	text := fmt.Sprintf("%s\n%s\n%s\n%s\n%s\n%t", q.Org, q.Type, q.Subject, q.Actor, q.Ref, q.Any)
	sum := sha256.Sum256([]byte(text))
	return sum[:8]
}

const cursorVersion = 1

func formatCursor(q attestation.Query, p place) string {
	b := append([]byte{cursorVersion}, filterHash(q)...)
	b = append(append(b, u64(p.index)...), p.org.String()...)
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseCursor(q attestation.Query) (*place, error) {
	if q.Cursor == "" {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(q.Cursor)
	if err != nil || len(b) < 17 || b[0] != cursorVersion || !bytes.Equal(b[1:9], filterHash(q)) {
		return nil, attestation.ErrCursor
	}
	d, err := did.Parse(string(b[17:]))
	if err != nil {
		return nil, attestation.ErrCursor
	}
	return &place{d, binary.BigEndian.Uint64(b[9:])}, nil
}
