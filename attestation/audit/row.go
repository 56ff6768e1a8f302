package audit

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/did/envelope"
)

// Row is one own act: the op in Kind, its canonical bytes with a salt in Body,
// who may see it besides a mediator in For, and what finds it in Keys.
type Row = attestation.Row

// ErrRow is wrapped by the error for a row that is none.
var ErrRow = errors.New("not an audit row")

// ErrProof says that a row is not under the root of its audit.rows event.
var ErrProof = errors.New("row is not under its root")

// Check reports whether r can be kept: a canonical object under the cap.
func Check(r Row) error {
	switch {
	case len(r.Body) > attestation.MaxRow:
		return fmt.Errorf("%w: row of %d bytes, limit %d", attestation.ErrTooLarge, len(r.Body), attestation.MaxRow)
	case r.Kind == "" || len(r.Kind) > maxKind || len(r.For) > maxFor || len(r.Keys) > maxKeys:
		return fmt.Errorf("%w: kind %.40q, for %d, %d keys", ErrRow, r.Kind, len(r.For), len(r.Keys))
	case len(r.Body) == 0 || r.Body[0] != '{':
		return fmt.Errorf("%w: not an object", ErrRow)
	}
	for _, k := range r.Keys {
		if k == "" || len(k) > maxKey {
			return fmt.Errorf("%w: key of %d bytes", ErrRow, len(k))
		}
	}
	if err := envelope.Canonical(r.Body, maxDepth); err != nil {
		return fmt.Errorf("%w: %v", ErrRow, err)
	}
	return nil
}

// ID returns the id of a row: that of its bytes, like an object's.
func ID(r Row) envelope.ID { return envelope.IDOf(r.Body) }

// Leaf returns the RFC 6962 leaf hash of a row's bytes.
func Leaf(body []byte) tlog.Hash { return tlog.RecordHash(body) }

// Rows is the private body of an audit.rows event: which rows it covers. The
// salt keeps its id from telling how many they are.
type Rows struct {
	First uint64 `json:"first"` // number of the first row, from 1
	Salt  string `json:"salt"`
	Size  uint64 `json:"size"`
}

// ParseRows reads the body of an audit.rows event.
func ParseRows(b []byte) (Rows, error) {
	var r Rows
	if err := envelope.Unmarshal(b, &r); err != nil {
		return Rows{}, err
	}
	if r.First == 0 || r.Size == 0 || attestation.CheckNonce(r.Salt) != nil {
		return Rows{}, fmt.Errorf("%w: first %d, size %d", ErrRow, r.First, r.Size)
	}
	return r, nil
}

// RowProof shows that a row lies under an audit.rows event: the row's bytes,
// its place under the event's root, and the path between them.
type RowProof struct {
	Row   []byte      // canonical bytes
	Event envelope.ID // id of the audit.rows event
	Index uint64      // leaf, from 0, under the event's root
	Size  uint64      // leaves under the event's root
	Path  []tlog.Hash
}

// Check verifies that the row is under root, which is that of an authored
// audit.rows event.
func (p RowProof) Check(root envelope.ID) error {
	if p.Size > 1<<53-1 || p.Index >= p.Size || len(p.Path) > maxPath {
		return fmt.Errorf("%w: index %d, size %d", ErrProof, p.Index, p.Size)
	}
	if err := tlog.CheckRecord(p.Path, int64(p.Size), root.Sum(), int64(p.Index), Leaf(p.Row)); err != nil {
		return fmt.Errorf("%w: index %d of %d", ErrProof, p.Index, p.Size)
	}
	return nil
}

// Filter selects rows: those found by Key, or all; in the order they were
// committed, numbers above After.
type Filter struct {
	Key   string // "" is every row
	After uint64 // row number; 0 is from the start
}

// Reader is how rows are read: the audit surface has it, deciding code has not.
type Reader interface {
	// Rows yields the rows of f with their numbers until yield returns an
	// error, which is returned. A row that is its hash alone has nothing to
	// be found by and nothing to show: it is left out.
	Rows(ctx context.Context, f Filter, yield func(n uint64, r Row) error) error
	// Prove returns the proof of one row, or attestation.ErrNotFound for a
	// row not held or not yet in the log, of which *Gone is for one that is
	// its hash alone.
	Prove(ctx context.Context, row envelope.ID) (RowProof, error)
}
