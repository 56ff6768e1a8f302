package store

import (
	"errors"
	"fmt"

	"trustnode/did/envelope"
)

// Getter reads single keys: a transaction or a snapshot. An absent key is ErrNotFound.
type Getter interface {
	Get(key []byte) ([]byte, error)
}

// GetRow reads a row that PutRow wrote; false where there is none. A row that is not of
// T's exact form is an error that names its key.
func GetRow[T any](g Getter, key []byte) (row T, ok bool, err error) {
	b, err := g.Get(key)
	if errors.Is(err, ErrNotFound) {
		return row, false, nil
	}
	if err != nil {
		return row, false, err
	}
	if err := envelope.Unmarshal(b, &row); err != nil {
		var zero T
		return zero, false, fmt.Errorf("row %.80q is damaged: %w", key, err)
	}
	return row, true, nil
}

// PutRow writes a row as canonical JSON (RFC 8785), so that one value has one byte string.
func PutRow(tx Tx, key []byte, row any) error {
	b, err := envelope.Marshal(row)
	if err != nil {
		return err
	}
	return tx.Set(key, b)
}
