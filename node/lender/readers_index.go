package lender

import (
	"context"
	"encoding/binary"
	"errors"

	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/library"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Who read what is kept beside the rows, so that the question takes as long as its answer
// and not as long as all that was ever read: under a subject and an entry one row for each
// permission, with first, last and count (04 section 8). It is made of the audit rows in
// their order and holds how far it got, in the transaction that writes it; a node that
// never had it makes it of all rows it holds.

// readerRow is how often one permission read of one subject, or one entry.
type readerRow struct {
	Count uint64        `json:"count"` // granted answers
	First envelope.Time `json:"first"`
	Last  envelope.Time `json:"last"`
}

func (r readerRow) plus(o readerRow) readerRow {
	if r.Count == 0 {
		return o
	}
	if o.Last.After(r.Last) {
		r.Last = o.Last
	}
	if o.First.Before(r.First) {
		r.First = o.First
	}
	r.Count += o.Count
	return r
}

func subjectReaders(subject string) string    { return keySubjectReader + tenant + "/" + subject + "/" }
func entryReaders(place, entry string) string { return keyEntryReader + place + "/" + entry + "/" }

// errBatch ends a batch of rows.
var errBatch = errors.New("the batch is full")

// indexReaders takes up every audit row that is in the audit database.
func (l *Lender) indexReaders(ctx context.Context) error {
	l.indexing.Lock()
	defer l.indexing.Unlock()
	for {
		after, err := indexed(self.ViewGetter(ctx, l.n.DB))
		if err != nil {
			return err
		}
		b := readerBatch{l: l, after: after, last: after, add: map[string]readerRow{}}
		err = l.n.Rec.RowsAfter(ctx, after, func(n uint64, row audit.Row) error { return b.take(ctx, n, row) })
		full := errors.Is(err, errBatch)
		if err != nil && !full || b.last == after {
			return err
		}
		if err := l.n.DB.Update(ctx, b.write); err != nil || !full {
			return err
		}
	}
}

// indexed is the number of the last row that was taken up.
func indexed(g library.Getter) (uint64, error) {
	b, err := g.Get([]byte(keyIndexed))
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err != nil || len(b) != 8 {
		return 0, errors.Join(err, errDamaged(len(b) != 8, keyIndexed))
	}
	return binary.BigEndian.Uint64(b), nil
}

// readerBatch is what some rows, after one, add to the index.
type readerBatch struct {
	l           *Lender
	after, last uint64
	rows        int
	add         map[string]readerRow // by key
}

func (b *readerBatch) take(ctx context.Context, n uint64, row audit.Row) error {
	if b.rows >= maxIndexRows || len(b.add) >= maxIndexKeys {
		return errBatch
	}
	b.last = n
	b.rows++
	if row.Kind != lending.OpRead {
		return nil
	}
	body, err := lending.ParseRow(row.Body)
	if err != nil {
		return err
	}
	g, ok := body.(lending.GrantedRow)
	if !ok {
		return nil
	}
	k, err := b.l.permission(ctx, g.Perm)
	if err != nil {
		return err
	}
	side, err := b.l.side(ctx, audit.ID(row))
	if err != nil {
		return err
	}
	one := readerRow{Count: 1, First: g.At, Last: g.At}
	for _, ref := range g.Entries {
		key := entryReaders(k.place.String(), ref.Entry) + g.Perm.String()
		b.add[key] = b.add[key].plus(one)
	}
	for _, s := range side.Subjects {
		key := subjectReaders(s) + g.Perm.String()
		b.add[key] = b.add[key].plus(one)
	}
	return nil
}

// side is what the lender alone keeps of an answer; the zero one once it was forgotten.
func (l *Lender) side(ctx context.Context, row envelope.ID) (lending.Side, error) {
	b, err := self.ViewGetter(ctx, l.n.DB).Get(idKey(keySide, row))
	if errors.Is(err, store.ErrNotFound) {
		return lending.Side{}, nil
	}
	if err != nil {
		return lending.Side{}, err
	}
	return lending.ParseSide(b)
}

// write adds the batch, unless the index has moved.
func (b *readerBatch) write(tx store.Tx) error {
	now, err := indexed(tx)
	if err != nil || now != b.after {
		return err
	}
	for key, add := range b.add {
		was, _, err := store.GetRow[readerRow](tx, []byte(key))
		if err != nil {
			return err
		}
		if err := store.PutRow(tx, []byte(key), was.plus(add)); err != nil {
			return err
		}
	}
	return tx.Set([]byte(keyIndexed), binary.BigEndian.AppendUint64(nil, b.last))
}
