package lender

import (
	"context"
	"encoding/binary"
	"time"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/memory"
	"trustnode/node/store"
)

// keySpan is span/<place>/<began, 8 bytes>: importSpan of one import.
const keySpan = "span/"

// importSpan is when the first and the last entry of one import were taken in.
type importSpan struct {
	From envelope.Time `json:"from"`
	To   envelope.Time `json:"to"`
}

// spanned notes that an import, begun at began, took these entries in.
func spanned(tx store.Tx, in memory.Place, began time.Time, es []memory.Entry) error {
	key := binary.BigEndian.AppendUint64([]byte(keySpan+in.String()+"/"), uint64(began.UnixNano()))
	s, ok, err := store.GetRow[importSpan](tx, key)
	if err != nil {
		return err
	}
	for _, e := range es {
		at := envelope.TimeOf(e.Created)
		if !ok || at.Before(s.From) {
			s.From = at
		}
		if !ok || at.After(s.To) {
			s.To = at
		}
		ok = true
	}
	if !ok {
		return nil
	}
	return store.PutRow(tx, key, s)
}

// splits says whether a side of the scope's window of creation lies within an import, so
// that one half of what came in together is lent and the other is not (H8).
func (l *Lender) splits(ctx context.Context, in memory.Place, s lending.Scope) (bool, error) {
	w := s.Created()
	if w.IsZero() {
		return false, nil
	}
	found := false
	var bad error
	err := l.n.DB.View(ctx, func(r store.Reader) error {
		found, bad = false, nil
		return r.Scan([]byte(keySpan+in.String()+"/"), nil, func(_, v []byte) bool {
			var s importSpan
			if bad = envelope.Unmarshal(v, &s); bad != nil {
				return false
			}
			found = s.holds(w.From) || s.holds(w.To)
			return !found
		})
	})
	if err == nil {
		err = bad
	}
	return found, err
}

// holds says whether entries of the import lie on both sides of t.
func (s importSpan) holds(t time.Time) bool {
	return !t.IsZero() && s.From.Time().Before(t) && !t.After(s.To.Time())
}
