package member

import (
	"context"
	"time"

	"trustnode/did/envelope"
	"trustnode/node/fault"
	"trustnode/node/store"
)

// What an agent writes within 24 h after it read a loan by the same token may be what it
// read, 04 section 1. The mark is written anew at most once an hour for one permission, so
// it lasts between 24 and 25 h.
const (
	lentLife  = 25 * time.Hour
	lentLeast = 24 * time.Hour
)

// Lent is what a token handed out of loans lately.
type Lent struct {
	Receipt envelope.ID   // of a read under Perm
	Perm    envelope.ID   // the permission read under last
	Ends    envelope.Time // the earliest end of the permissions read under
}

// MarkLent notes, durably, that content of a loan is about to be handed out by a token of
// the MCP surface. ends is when its permission does. A token that is not one is refused
// with fault.Unauthenticated, and nothing may be handed out then.
func (m *Member) MarkLent(ctx context.Context, text string, perm, receipt envelope.ID, ends envelope.Time) error {
	at, err := m.now()
	if err != nil {
		return err
	}
	t, err := m.tokenOf(ctx, text)
	if err != nil {
		return err
	}
	if was := t.Lent; was != nil && was.Perm == perm && was.Until.Time().Sub(at) >= lentLeast {
		return nil
	}
	return m.n.DB.Update(ctx, func(tx store.Tx) error {
		key := tokenKey(text[:tokenPrefix])
		t, ok, err := get[tokenRow](tx, key)
		if err != nil {
			return err
		}
		if !ok || t.Hash != hashOf(text) {
			return errTokenEnded()
		}
		row := lentRow{Ends: ends, Perm: perm, Receipt: receipt, Until: envelope.TimeOf(at.Add(lentLife))}
		if was := t.Lent; was != nil && at.Before(was.Until.Time()) && was.Ends.Time().Before(ends.Time()) {
			row.Ends = was.Ends
		}
		t.Lent = &row
		return put(tx, key, t)
	})
}

// LentBy says what a token of the MCP surface handed out of loans in the last 24 h, or with
// session ever: a session that has seen lent content stays one that has. It is nil for nothing.
func (m *Member) LentBy(ctx context.Context, text string, session bool) (*Lent, error) {
	at, err := m.now()
	if err != nil {
		return nil, err
	}
	t, err := m.tokenOf(ctx, text)
	if err != nil || t.Lent == nil || !session && !at.Before(t.Lent.Until.Time()) {
		return nil, err
	}
	return &Lent{Receipt: t.Lent.Receipt, Perm: t.Lent.Perm, Ends: t.Lent.Ends}, nil
}

func (m *Member) tokenOf(ctx context.Context, text string) (tokenRow, error) {
	var t tokenRow
	err := m.n.DB.View(ctx, func(r store.Reader) error {
		_, known, err := lookUp(r, text, ForMCP)
		if err != nil {
			return err
		}
		if !known {
			return errTokenEnded()
		}
		t, _, err = get[tokenRow](r, tokenKey(text[:tokenPrefix]))
		return err
	})
	return t, err
}

func errTokenEnded() error {
	return fault.New(fault.Unauthenticated, "token", "the token has ended").WithHint("trustnode agent token NAME --for mcp makes one")
}
