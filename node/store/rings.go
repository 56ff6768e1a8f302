package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/did/keyring"
)

// Ring keeps DID records in a database, one key `dd/<did>` each. It is a
// keyring.Store and safe for concurrent use.
type Ring struct{ db DB }

var _ keyring.Store = (*Ring)(nil)

// NewRing returns the records kept in db.
func NewRing(db DB) *Ring { return &Ring{db} }

const keyDID = "dd/"

func encodeRecord(r keyring.Record) []byte {
	w := rowWriter{}
	w.num(uint64(r.Version.Number))
	w.bytes([]byte(r.Version.ID))
	w.num(uint64(r.Version.State))
	w.num(uint64(r.Version.VerifiedAt.Unix()))
	w.bytes(r.Log)
	w.optional(r.Witness)
	if r.Fork == nil {
		w.num(0)
		return w.b
	}
	w.num(1)
	w.num(uint64(r.Fork.Parent))
	w.bytes(r.Fork.Lines)
	w.optional(r.Fork.Witness)
	return w.b
}

func decodeRecord(d did.DID, b []byte) (keyring.Record, error) {
	r := rowReader{b: b}
	rec := keyring.Record{Version: keyring.Version{DID: d}}
	rec.Version.Number = int(r.num())
	rec.Version.ID = string(r.bytes())
	rec.Version.State = did.State(r.num())
	rec.Version.VerifiedAt = time.Unix(int64(r.num()), 0).UTC()
	rec.Log = r.bytes()
	rec.Witness = r.optional()
	if r.num() == 1 {
		rec.Fork = &keyring.Branch{Parent: int(r.num()), Lines: r.bytes(), Witness: r.optional()}
	}
	if r.bad || len(r.b) > 0 {
		return keyring.Record{}, fmt.Errorf("record of %s is damaged", d)
	}
	return rec, nil
}

// Load implements keyring.Store.
func (s *Ring) Load(ctx context.Context, d did.DID) (keyring.Record, error) {
	var rec keyring.Record
	err := s.db.View(ctx, func(r Reader) error {
		b, err := r.Get([]byte(keyDID + d.String()))
		if errors.Is(err, ErrNotFound) {
			return keyring.ErrAbsent
		}
		if err != nil {
			return err
		}
		rec, err = decodeRecord(d, b)
		return err
	})
	return rec, err
}

// Advance implements keyring.Store: compare and set in one transaction.
func (s *Ring) Advance(ctx context.Context, from keyring.Version, next keyring.Record) error {
	d := next.Version.DID
	return s.db.Update(ctx, func(tx Tx) error {
		var held keyring.Version
		b, err := tx.Get([]byte(keyDID + d.String()))
		switch {
		case errors.Is(err, ErrNotFound):
		case err != nil:
			return err
		default:
			rec, err := decodeRecord(d, b)
			if err != nil {
				return err
			}
			held = rec.Version
		}
		if !held.Same(from) {
			return keyring.ErrConflict
		}
		return tx.Set([]byte(keyDID+d.String()), encodeRecord(next))
	})
}

// List implements keyring.Store.
func (s *Ring) List(ctx context.Context, after did.DID, n int) ([]keyring.Record, error) {
	var out []keyring.Record
	var from []byte
	if !after.IsZero() {
		from = []byte(keyDID + after.String())
	}
	var bad error
	err := s.db.View(ctx, func(r Reader) error {
		return r.Scan([]byte(keyDID), from, func(k, v []byte) bool {
			if len(out) == n {
				return false
			}
			d, err := did.Parse(string(k[len(keyDID):]))
			if err == nil {
				var rec keyring.Record
				if rec, err = decodeRecord(d, v); err == nil {
					out = append(out, rec)
				}
			}
			bad = err
			return bad == nil
		})
	})
	return out, errors.Join(err, bad)
}
