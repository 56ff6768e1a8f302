package recorder

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

// Why something cannot be erased.
var (
	// ErrForeign says that the event is of another organization.
	ErrForeign error = attestation.NewFault("it is in the log of another organization", "refused", "foreign", "only its origin erases it; once it has, this node drops its copy by itself")
	// ErrPublic says that every member holds the body.
	ErrPublic error = attestation.NewFault("its body is for every member", "refused", "public", "what every member holds is not taken back; private bodies and rows are")
	// ErrNothingPrivate says that the event has no body.
	ErrNothingPrivate error = attestation.NewFault("it has no private body", "refused", "public", "an event stays for ever; what can be erased is its private body, or a row by its own id")
	// ErrBinds says that the body tells which rows an audit.rows binds.
	ErrBinds error = attestation.NewFault("its body says which rows it binds", "refused", "rows", "give the id of the row itself")
)

// Erased is what an erasure comes to.
type Erased struct {
	Cause   string   // attestation.ErasedBody or attestation.ErasedRow
	Indexes []uint64 // of the own events whose body it was; none for a row
	Already bool     // it was erased before; nothing was done
	number  uint64   // of its last outbox item
}

// erasing is an erasure on its way through the outbox: one log.erased.
type erasing struct {
	cause byte // eraseBody or eraseRow
	index uint64
	id    envelope.ID // of the body or the row
}

// The causes in an outbox item, append-only.
const (
	eraseBody byte = iota + 1
	eraseRow
)

const erasingBytes = 1 + 8 + 32

func (x erasing) encode() []byte {
	sum := x.id.Sum()
	return append(binary.BigEndian.AppendUint64([]byte{x.cause}, x.index), sum[:]...)
}

func decodeErasing(b []byte) (erasing, error) {
	if len(b) != erasingBytes || b[0] != eraseBody && b[0] != eraseRow {
		return erasing{}, fmt.Errorf("%w: erasure of %d bytes", store.ErrCorrupt, len(b))
	}
	return erasing{b[0], binary.BigEndian.Uint64(b[1:]), envelope.IDFromSum([32]byte(b[9:]))}, nil
}

// Erase erases a private body, by its own id or that of an own event, or an own audit row by
// its id. What is in the state goes at once, in the transaction that puts the log.erased on
// its way: a crash leaves either nothing done, or all of it for the next start. It is taken
// whatever waits and however full the disk is. Again, it does nothing. Errors:
// attestation.ErrNotFound, ErrForeign, ErrPublic, ErrNothingPrivate, ErrBinds, and that of
// the signer while no key signs for the organization.
func (r *Recorder) Erase(ctx context.Context, id envelope.ID) (Erased, error) {
	body, err := r.privateBody(ctx, id)
	if errors.Is(err, attestation.ErrNotFound) {
		return r.eraseRow(ctx, id)
	}
	if err != nil {
		return Erased{}, err
	}
	return r.eraseBody(ctx, body)
}

// privateBody returns the body that an id means: its own, or that of an own event.
func (r *Recorder) privateBody(ctx context.Context, id envelope.ID) (envelope.ID, error) {
	events, err := r.cfg.Events.Find(ctx, id)
	if err != nil {
		return envelope.ID{}, err
	}
	if len(events) == 0 {
		if events, err = r.cfg.Events.Naming(ctx, id); err != nil {
			return envelope.ID{}, err
		}
	}
	if len(events) == 0 {
		return envelope.ID{}, fmt.Errorf("event or body %s: %w", id, attestation.ErrNotFound)
	}
	var body envelope.ID
	for _, f := range events {
		if f.Org != r.cfg.Org {
			continue
		}
		_, ev, err := f.Entry.Envelope()
		if err != nil {
			return envelope.ID{}, err
		}
		if err := mayErase(ev); err != nil {
			return envelope.ID{}, fmt.Errorf("%s %s: %w", ev.Type, id, err)
		}
		body = ev.Body
	}
	if body.IsZero() {
		return envelope.ID{}, fmt.Errorf("%s: %w", id, ErrForeign)
	}
	return body, nil
}

// mayErase reports whether the body of an event may be erased.
func mayErase(ev attestation.Event) error {
	rule, ok := attestation.RuleOf(ev.Type)
	switch {
	case ev.Body.IsZero():
		return ErrNothingPrivate
	case ok && rule.Readers == attestation.ReadersPublic:
		return ErrPublic
	case ev.Type == "audit.rows":
		return ErrBinds
	}
	return nil
}

func (r *Recorder) eraseBody(ctx context.Context, body envelope.ID) (Erased, error) {
	out := Erased{Cause: attestation.ErasedBody}
	by, err := r.cfg.Events.Naming(ctx, body)
	if err != nil {
		return Erased{}, err
	}
	var list []erasing
	for _, f := range by {
		if f.Org != r.cfg.Org {
			continue
		}
		out.Indexes = append(out.Indexes, f.Index)
		if _, noted, err := r.cfg.Events.Erasure(ctx, f.Org, f.Index); err != nil {
			return Erased{}, err
		} else if !noted {
			list = append(list, erasing{eraseBody, f.Index, body})
		}
	}
	return r.draftErasures(ctx, out, list, func(tx store.Tx) error { return dropObject(tx, body) })
}

func (r *Recorder) eraseRow(ctx context.Context, id envelope.ID) (Erased, error) {
	out := Erased{Cause: attestation.ErasedRow}
	// What waits is asked for first: a row that moves meanwhile is then found there.
	_, waits, err := r.waits(ctx, id)
	if err != nil {
		return Erased{}, err
	}
	if !waits {
		n, err := r.cfg.Events.RowNumber(ctx, id)
		if err != nil {
			return Erased{}, err
		}
		if out.Already, err = r.cfg.Events.RowGone(ctx, n); err != nil || out.Already {
			return out, err
		}
		if again, err := r.eraseAgain(ctx, n); err != nil || again {
			return out, err
		}
	}
	return r.draftErasures(ctx, out, []erasing{{cause: eraseRow, id: id}}, func(store.Tx) error { return nil })
}

// OwnRow returns an own row by its id, in the audit database or on its way there: the zero
// one where it is its hash alone, and attestation.ErrNotFound where there is none.
func (r *Recorder) OwnRow(ctx context.Context, id envelope.ID) (audit.Row, error) {
	if row, waits, err := r.waits(ctx, id); waits || err != nil {
		return row, err
	}
	return r.cfg.Events.Row(ctx, id)
}

// waits returns a row that waits in the outbox, and whether it does.
func (r *Recorder) waits(ctx context.Context, id envelope.ID) (row audit.Row, found bool, err error) {
	mark, err := r.cfg.Events.Mark(ctx)
	if err != nil {
		return audit.Row{}, false, err
	}
	var bad error
	err = r.cfg.State.View(ctx, func(s store.Reader) error {
		return s.Scan(keyItem, itemKey(mark), func(k, v []byte) bool {
			var it item
			it, bad = decodeItem(itemNumber(k), v)
			if found = bad == nil && it.kind == itemRow && audit.ID(it.row) == id; found {
				row = it.row
			}
			return bad == nil && !found
		})
	})
	return row, found, errors.Join(err, bad)
}

// draftErasures puts log.erased on their way, together with what goes from the state.
func (r *Recorder) draftErasures(ctx context.Context, out Erased, list []erasing, drop func(store.Tx) error) (Erased, error) {
	if out.Already = len(list) == 0; out.Already {
		return out, nil
	}
	err := r.cfg.State.Update(ctx, func(tx store.Tx) error {
		if _, err := r.current(tx); err != nil {
			return err
		}
		for _, x := range list {
			n, at, err := r.number(tx, true)
			if err != nil {
				return err
			}
			out.number = n
			if err := r.enqueue(tx, n, at, itemErase, x.encode()); err != nil {
				return err
			}
		}
		return drop(tx)
	})
	if err != nil {
		return Erased{}, err
	}
	return out, nil
}

// WaitErased waits until an erasure is in the own log and nothing of what was erased is in
// the outbox; ErrRecovering while nothing is appended.
func (r *Recorder) WaitErased(ctx context.Context, e Erased) error {
	return r.until(ctx, func() (bool, error) {
		if err := r.closed(); err != nil && e.number > 0 {
			return false, err
		}
		first, _, err := r.bounds(ctx)
		return first > e.number, err
	})
}

// erase takes an erasure out of the outbox into the log. One that was carried out before, or
// that names what is not here, comes to nothing.
func (p *plan) erase(ctx context.Context, it item) error {
	p.purge = true
	if it.erase.cause == eraseBody {
		return p.eraseBody(ctx, it)
	}
	return p.eraseRow(ctx, it)
}

func (p *plan) eraseBody(ctx context.Context, it item) error {
	x := it.erase
	_, noted, err := p.r.cfg.Events.Erasure(ctx, p.batch.Org, x.index)
	if err != nil || noted || p.erases(func(e attestation.Erasure) bool { return e.Body == x.id && e.Index == x.index }) {
		return err
	}
	if fits, err := p.r.names(ctx, x.index, x.id); err != nil || !fits {
		return err
	}
	return p.erased(ctx, it, attestation.LogErased{Cause: attestation.ErasedBody, Index: x.index}, attestation.Erasure{Body: x.id, Index: x.index})
}

// names reports whether the own event at an index names a body.
func (r *Recorder) names(ctx context.Context, index uint64, body envelope.ID) (fits bool, err error) {
	by, err := r.cfg.Events.Naming(ctx, body)
	return slices.ContainsFunc(by, func(f attestation.Found) bool { return f.Org == r.cfg.Org && f.Index == index }), err
}

func (p *plan) eraseRow(ctx context.Context, it item) error {
	n, held, err := p.rowNumber(ctx, it.erase.id)
	if err == nil && held && n <= p.rows { // else it comes with this batch
		var again bool
		again, err = p.r.eraseAgain(ctx, n)
		held = !again
	}
	if err != nil || !held || p.erases(func(e attestation.Erasure) bool { return e.Row == n }) {
		return err
	}
	index, err := p.binding(ctx, n, it)
	if err != nil {
		return err
	}
	return p.erased(ctx, it, attestation.LogErased{Cause: attestation.ErasedRow, Index: index}, attestation.Erasure{Row: n, Index: index})
}

// rowNumber returns the number of a row that is held, or comes with this batch.
func (p *plan) rowNumber(ctx context.Context, id envelope.ID) (n uint64, held bool, err error) {
	if at := slices.IndexFunc(p.batch.Rows, func(r audit.Row) bool { return audit.ID(r) == id }); at >= 0 {
		return p.rows + uint64(at) + 1, true, nil
	}
	n, err = p.r.cfg.Events.RowNumber(ctx, id)
	if errors.Is(err, attestation.ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	gone, err := p.r.cfg.Events.RowGone(ctx, n)
	return n, !gone, err
}

// binding returns the index of the event that binds a row, which is made where none is yet.
func (p *plan) binding(ctx context.Context, n uint64, it item) (uint64, error) {
	if n > p.covered {
		if err := p.cover(ctx, it.at); err != nil {
			return 0, err
		}
	}
	for _, c := range p.batch.Covers {
		if n >= c.First && n < c.First+c.Size {
			return c.Index, nil
		}
	}
	c, err := p.r.cfg.Events.Binding(ctx, n)
	return c.Index, err
}

func (p *plan) erases(is func(attestation.Erasure) bool) bool {
	return slices.ContainsFunc(p.batch.Erased, is)
}

func (p *plan) erased(ctx context.Context, it item, d attestation.LogErased, x attestation.Erasure) error {
	made, err := p.r.made(it.at, p.lastKid, "log.erased", d, envelope.ID{})
	if err != nil {
		return err
	}
	p.lastAt = it.at
	p.batch.Erased = append(p.batch.Erased, x)
	return p.sign(ctx, made, p.lastKid)
}
