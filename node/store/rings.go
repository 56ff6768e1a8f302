package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/keyring"
)

// Ring keeps DID records in a database: one key `dd/<did>` each, and the
// pieces `dc/<did>/<SHA-256>` of a record that is too large for one value. It
// is a keyring.Store and safe for concurrent use.
type Ring struct{ db DB }

var _ keyring.Store = (*Ring)(nil)

// NewRing returns the records kept in db.
func NewRing(db DB) *Ring { return &Ring{db} }

const (
	keyDID   = "dd/"
	keyPiece = "dc/"

	// ringForm is the form of a row, so that a later one is not misread.
	ringForm = 1
	// pieceBytes is the size of a piece. Logs only grow, so most pieces of the next record are there already.
	pieceBytes = 512 << 10
	// pieceGroup is how many pieces one update writes, below MaxUpdateBytes.
	pieceGroup = 8
)

func didKey(d did.DID) []byte { return []byte(keyDID + d.String()) }

func pieceKey(d did.DID, sum [sha256.Size]byte) []byte {
	return append([]byte(keyPiece+d.String()+"/"), sum[:]...)
}

// row is the value of a record's key: where the DID stands, and the rest of the
// record, either here or in pieces.
type row struct {
	version keyring.Version
	pieces  [][sha256.Size]byte
	rest    []byte
}

func (r row) encode() []byte {
	w := rowWriter{}
	w.num(ringForm)
	w.num(uint64(r.version.Number))
	w.bytes([]byte(r.version.ID))
	w.num(uint64(r.version.State))
	w.num(uint64(r.version.VerifiedAt.Unix()))
	w.num(uint64(len(r.pieces)))
	for _, p := range r.pieces {
		w.b = append(w.b, p[:]...)
	}
	w.bytes(r.rest)
	return w.b
}

func damaged(d did.DID) error { return fmt.Errorf("record of %s is damaged", d) }

func decodeRow(d did.DID, b []byte) (row, error) {
	r := rowReader{b: b}
	form := r.num()
	out := row{version: keyring.Version{DID: d}}
	out.version.Number = int(r.num())
	out.version.ID = string(r.bytes())
	out.version.State = did.State(r.num())
	out.version.VerifiedAt = time.Unix(int64(r.num()), 0).UTC()
	n := r.num()
	if r.bad || form != ringForm || n > uint64(len(r.b)/sha256.Size) {
		return row{}, damaged(d)
	}
	for range n {
		out.pieces = append(out.pieces, [sha256.Size]byte(r.b))
		r.b = r.b[sha256.Size:]
	}
	out.rest = r.bytes()
	if r.bad || len(r.b) > 0 {
		return row{}, damaged(d)
	}
	return out, nil
}

// encodeRest writes a record without its version, the log first, so that a log that grew shares its pieces.
func encodeRest(r keyring.Record) []byte {
	w := rowWriter{}
	w.optional(r.Log)
	w.optional(r.Witness)
	w.num(uint64(len(r.Branches)))
	for _, b := range r.Branches {
		w.num(uint64(b.Parent))
		w.bytes(b.Lines)
		w.optional(b.Witness)
		w.bytes([]byte(b.Decided))
	}
	for _, list := range [][]keyring.Snapshot{r.Web, r.Offered} {
		w.num(uint64(len(list)))
		for _, s := range list {
			w.num(uint64(s.Number))
			w.bytes(s.Bytes)
			w.bytes([]byte(s.ApprovedBy))
			w.num(uint64(s.FetchedAt.Unix()))
			w.bytes([]byte(s.SPKI))
		}
	}
	return w.b
}

func decodeRest(v keyring.Version, b []byte) (keyring.Record, error) {
	r := rowReader{b: b}
	rec := keyring.Record{Version: v, Log: r.optional(), Witness: r.optional()}
	for range r.count() {
		rec.Branches = append(rec.Branches, keyring.Branch{
			Parent: int(r.num()), Lines: r.bytes(), Witness: r.optional(), Decided: string(r.bytes()),
		})
	}
	for _, list := range []*[]keyring.Snapshot{&rec.Web, &rec.Offered} {
		for range r.count() {
			*list = append(*list, keyring.Snapshot{
				Number: int(r.num()), Bytes: r.bytes(), ApprovedBy: string(r.bytes()),
				FetchedAt: time.Unix(int64(r.num()), 0).UTC(), SPKI: string(r.bytes()),
			})
		}
	}
	if r.bad || len(r.b) > 0 {
		return keyring.Record{}, damaged(v.DID)
	}
	return rec, nil
}

// count reads how many parts follow: never more than there are bytes.
func (r *rowReader) count() uint64 {
	n := r.num()
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return 0
	}
	return n
}

// record puts a row and its pieces together.
func (r row) record(from Reader) (keyring.Record, error) {
	rest := r.rest
	for _, sum := range r.pieces {
		b, err := from.Get(pieceKey(r.version.DID, sum))
		if errors.Is(err, ErrNotFound) || err == nil && sha256.Sum256(b) != sum {
			return keyring.Record{}, damaged(r.version.DID)
		}
		if err != nil {
			return keyring.Record{}, err
		}
		rest = append(rest, b...)
	}
	return decodeRest(r.version, rest)
}

// Load implements keyring.Store.
func (s *Ring) Load(ctx context.Context, d did.DID) (keyring.Record, error) {
	var rec keyring.Record
	err := s.db.View(ctx, func(r Reader) error {
		b, err := r.Get(didKey(d))
		if errors.Is(err, ErrNotFound) {
			return keyring.ErrAbsent
		}
		if err != nil {
			return err
		}
		held, err := decodeRow(d, b)
		if err != nil {
			return err
		}
		rec, err = held.record(r)
		return err
	})
	if err != nil {
		return keyring.Record{}, err
	}
	return rec, nil
}

// Advance implements keyring.Store: compare and set in one transaction. The
// pieces of a large record are written before it, where nothing reads them
// yet; those that only the old record had go with it.
func (s *Ring) Advance(ctx context.Context, from keyring.Version, next keyring.Record) error {
	d := next.Version.DID
	r := row{version: next.Version, rest: encodeRest(next)}
	var pieces [][]byte
	if len(r.rest) > pieceBytes {
		pieces = slices.Collect(slices.Chunk(r.rest, pieceBytes))
		r.rest = nil
		for _, p := range pieces {
			r.pieces = append(r.pieces, sha256.Sum256(p))
		}
	}
	for group := range slices.Chunk(pieces, pieceGroup) {
		if err := s.writePieces(ctx, d, group); err != nil {
			return err
		}
	}
	return s.db.Update(ctx, func(tx Tx) error { return r.replace(tx, from) })
}

func (s *Ring) writePieces(ctx context.Context, d did.DID, pieces [][]byte) error {
	return s.db.Update(ctx, func(tx Tx) error {
		for _, p := range pieces {
			k := pieceKey(d, sha256.Sum256(p))
			if held, err := tx.Get(k); err == nil && bytes.Equal(held, p) {
				continue
			} else if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			if err := tx.Set(k, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// replace writes the row where the one at from stands. Another change may have
// removed a piece after it was written, and then the version is another one too.
func (r row) replace(tx Tx, from keyring.Version) error {
	d := r.version.DID
	held := row{}
	b, err := tx.Get(didKey(d))
	if err == nil {
		held, err = decodeRow(d, b)
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if !held.version.Same(from) {
		return keyring.ErrConflict
	}
	for _, sum := range r.pieces {
		if _, err := tx.Get(pieceKey(d, sum)); errors.Is(err, ErrNotFound) {
			return keyring.ErrConflict
		} else if err != nil {
			return err
		}
	}
	for _, sum := range held.pieces {
		if slices.Contains(r.pieces, sum) {
			continue
		}
		if err := tx.Delete(pieceKey(d, sum)); err != nil {
			return err
		}
	}
	return tx.Set(didKey(d), r.encode())
}

// List implements keyring.Store.
func (s *Ring) List(ctx context.Context, after did.DID, n int) ([]keyring.Record, error) {
	var out []keyring.Record
	var from []byte
	if !after.IsZero() {
		from = didKey(after)
	}
	err := s.db.View(ctx, func(r Reader) error {
		rows, err := scanRows(r, from, n)
		for _, held := range rows {
			if err != nil {
				return err
			}
			var rec keyring.Record
			rec, err = held.record(r)
			out = append(out, rec)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func scanRows(r Reader, from []byte, n int) ([]row, error) {
	var rows []row
	var bad error
	err := r.Scan([]byte(keyDID), from, func(k, v []byte) bool {
		if len(rows) == n {
			return false
		}
		d, err := did.Parse(string(k[len(keyDID):]))
		if err == nil {
			var held row
			if held, err = decodeRow(d, v); err == nil {
				rows = append(rows, held)
			}
		}
		bad = err
		return bad == nil
	})
	return rows, errors.Join(err, bad)
}
