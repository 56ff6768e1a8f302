package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
)

var _ audit.Reader = (*Events)(nil)

func (a *appending) commitRows(tx Tx) error {
	for i, r := range a.b.Rows {
		n := a.rows + uint64(i) + 1
		if err := tx.Set(key(keyRow, u64(n)), EncodeRow(r)); err != nil {
			return err
		}
		if err := tx.Set(rowIDKey(audit.ID(r)), u64(n)); err != nil {
			return err
		}
		for _, k := range r.Keys {
			if err := tx.Set(key(string(rowKeyPrefix(k)), u64(n)), nil); err != nil {
				return err
			}
		}
	}
	for _, c := range a.b.Covers {
		if err := tx.Set(coverKey(c), coverValue(c)); err != nil {
			return err
		}
	}
	if c := a.b.Lost; c != nil {
		if err := tx.Set(coverKey(*c), append(coverValue(*c), lostCover)); err != nil {
			return err
		}
	}
	if err := a.erase(tx); err != nil || !a.numbers() {
		return err
	}
	return tx.Set([]byte(keyRowCount), append(u64(a.rowsAfter()), u64(a.cov)...))
}

// numbers says whether the batch moves the count of rows or of what covers them, which are the own log's alone: an
// append to another log may run beside it, and must not write what it read before.
func (a *appending) numbers() bool {
	return len(a.b.Rows) > 0 || len(a.b.Covers) > 0 || a.b.Lost != nil
}

// rowsAfter is how many rows are numbered once the batch is durable.
func (a *appending) rowsAfter() uint64 {
	if a.b.Lost != nil {
		return a.b.Lost.First + a.b.Lost.Size - 1
	}
	return a.rows + uint64(len(a.b.Rows))
}

// lostCover ends the value of a cover that is a log.gap: nothing proves the rows it names.
const lostCover = 1

func coverKey(c attestation.Cover) []byte { return key(keyCover, u64(math.MaxUint64-c.First)) }

func coverValue(c attestation.Cover) []byte {
	return append(append(u64(c.First), u64(c.Size)...), u64(c.Index)...)
}

// decodeCover reads the value of a cover, and whether it is one of lost rows.
func decodeCover(v []byte) (c attestation.Cover, lost bool, err error) {
	if len(v) != 24 && (len(v) != 25 || v[24] != lostCover) {
		return c, false, fmt.Errorf("%w: cover of %d bytes", ErrCorrupt, len(v))
	}
	return attestation.Cover{First: be64(v[:8]), Size: be64(v[8:16]), Index: be64(v[16:24])}, len(v) == 25, nil
}

// EncodeRow returns a row as it is stored: lengths and bytes.
func EncodeRow(r attestation.Row) []byte {
	var b []byte
	put := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	put(r.Kind)
	b = binary.AppendUvarint(b, uint64(len(r.For)))
	for _, d := range r.For {
		put(d.String())
	}
	b = binary.AppendUvarint(b, uint64(len(r.Keys)))
	for _, k := range r.Keys {
		put(k)
	}
	return append(b, r.Body...)
}

// DecodeRow reads what EncodeRow writes, or returns ErrCorrupt.
func DecodeRow(b []byte) (attestation.Row, error) {
	bad := false
	num := func() uint64 {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			bad = true
			return 0
		}
		b = b[k:]
		return n
	}
	text := func() string {
		n := num()
		s := string(b[:n])
		b = b[n:]
		return s
	}
	r := attestation.Row{Kind: text()}
	for n := num(); n > 0 && !bad; n-- {
		d, err := did.Parse(text())
		bad = bad || err != nil
		r.For = append(r.For, d)
	}
	for n := num(); n > 0 && !bad; n-- {
		r.Keys = append(r.Keys, text())
	}
	if bad {
		return attestation.Row{}, fmt.Errorf("%w: row", ErrCorrupt)
	}
	r.Body = append([]byte(nil), b...)
	return r, nil
}

// RowCounts returns how many rows were ever numbered, and how many of them lie
// under an audit.rows.
func (e *Events) RowCounts() (rows, covered uint64) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.rows, e.cov
}

// Rows implements audit.Reader.
func (e *Events) Rows(ctx context.Context, f audit.Filter, yield func(uint64, audit.Row) error) error {
	after := f.After
	for {
		page, err := e.rowPage(ctx, f.Key, after)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, r := range page {
			if r.gone {
				continue
			}
			if err := yield(r.n, r.row); err != nil {
				return err
			}
		}
		after = page[len(page)-1].n
	}
}

type numberedRow struct {
	n uint64
	keptRow
}

// rowPage returns some rows after one; all of them for the key "".
func (e *Events) rowPage(ctx context.Context, k string, after uint64) ([]numberedRow, error) {
	prefix := []byte(keyRow)
	if k != "" {
		prefix = rowKeyPrefix(k)
	}
	var out []numberedRow
	err := e.db.View(ctx, func(r Reader) error {
		err := r.Scan(prefix, key(string(prefix), u64(after)), func(k, _ []byte) bool {
			out = append(out, numberedRow{n: binary.BigEndian.Uint64(k[len(k)-8:])})
			return len(out) < attestation.MaxBatch
		})
		for i := 0; err == nil && i < len(out); i++ {
			out[i].keptRow, err = readRow(r, out[i].n)
		}
		return err
	})
	return out, err
}

// RowNumber returns the number of a row by its id, or attestation.ErrNotFound.
func (e *Events) RowNumber(ctx context.Context, id envelope.ID) (uint64, error) {
	var b []byte
	err := e.db.View(ctx, func(r Reader) error {
		var err error
		b, err = r.Get(rowIDKey(id))
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("row %s: %w", id, attestation.ErrNotFound)
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(b), nil
}

// CoverOf returns the audit.rows that covers a row number, or
// attestation.ErrNotFound while none does, or none ever will.
func (e *Events) CoverOf(ctx context.Context, n uint64) (attestation.Cover, error) {
	var c attestation.Cover
	var lost bool
	err := e.db.View(ctx, func(r Reader) (err error) {
		c, lost, err = coverOf(r, n)
		return err
	})
	if err == nil && (c.Size == 0 || lost) {
		return attestation.Cover{}, fmt.Errorf("row %d is not in the log: %w", n, attestation.ErrNotFound)
	}
	return c, err
}

// Binding is CoverOf, and the log.gap that names a row which no audit.rows ever covers.
func (e *Events) Binding(ctx context.Context, n uint64) (c attestation.Cover, err error) {
	err = e.db.View(ctx, func(r Reader) (err error) {
		c, _, err = coverOf(r, n)
		return err
	})
	if err == nil && c.Size == 0 {
		return c, fmt.Errorf("row %d is not in the log: %w", n, attestation.ErrNotFound)
	}
	return c, err
}

// coverOf returns the cover of a row number, the zero one while there is none.
func coverOf(r Reader, n uint64) (c attestation.Cover, lost bool, err error) {
	var bad error
	// The key before that of the greatest First there could be.
	err = r.Scan([]byte(keyCover), key(keyCover, u64(math.MaxUint64-n-1)), func(_, v []byte) bool {
		c, lost, bad = decodeCover(v)
		return false
	})
	if err = errors.Join(err, bad); err != nil || n < c.First || n >= c.First+c.Size {
		return attestation.Cover{}, false, err
	}
	return c, lost, nil
}

// Covered returns the newest cover, of rows that are lost included; the zero one before the
// first.
func (e *Events) Covered(ctx context.Context) (c attestation.Cover, err error) {
	_, cov := e.RowCounts()
	err = e.db.View(ctx, func(r Reader) (err error) {
		c, _, err = coverOf(r, cov)
		return err
	})
	return c, err
}

// RowLeaves returns the leaf hashes of rows first to first+size-1, or
// attestation.ErrNotFound where one is not held.
func (e *Events) RowLeaves(ctx context.Context, first, size uint64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, 0, min(size, attestation.MaxRows))
	if size == 0 {
		return out, nil
	}
	var bad error
	err := e.db.View(ctx, func(r Reader) error {
		return r.Scan([]byte(keyRow), key(keyRow, u64(first-1)), func(at, v []byte) bool {
			if n := binary.BigEndian.Uint64(at[len(keyRow):]); n != first+uint64(len(out)) {
				return false
			}
			var k keptRow
			if k, bad = decodeKept(v); bad == nil {
				out = append(out, k.leaf)
			}
			return bad == nil && uint64(len(out)) < size
		})
	})
	if err = errors.Join(err, bad); err != nil {
		return nil, err
	}
	if n := uint64(len(out)); n < size {
		return nil, fmt.Errorf("row %d: %w", first+n, attestation.ErrNotFound)
	}
	return out, nil
}

// Prove implements audit.Reader for the log of the node itself: the one whose
// audit.rows cover the rows. The proof's Event is left to the caller, which
// knows whose log that is.
func (e *Events) Prove(ctx context.Context, row envelope.ID) (audit.RowProof, error) {
	p, _, err := e.ProveRow(ctx, row)
	return p, err
}

// ProveRow is Prove, and the index of the audit.rows event, also beside *audit.Gone.
func (e *Events) ProveRow(ctx context.Context, row envelope.ID) (audit.RowProof, attestation.Cover, error) {
	return e.RowProver().ProveRow(ctx, row)
}
