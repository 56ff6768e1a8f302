package library

import (
	"bytes"
	"context"
	"fmt"

	"trustnode/did/envelope"
	"trustnode/federation/bundle"
	"trustnode/node/store"
)

// maxObject is more than any signed object takes, in bytes.
const maxObject = store.MaxValueBytes

// Inspect verifies that every object held hashes to the id it is kept under, tells found
// of each that does not, and returns how many there are.
func (l *Library) Inspect(ctx context.Context, found func(what string)) (n uint64, err error) {
	err = l.db.View(ctx, func(r store.Reader) error {
		return r.Scan([]byte(keyObject), nil, func(k, v []byte) bool {
			n++
			if err := sound(string(k[len(keyObject):]), v); err != nil {
				found(fmt.Sprintf("object %.80s: %v", k[len(keyObject):], err))
			}
			return ctx.Err() == nil
		})
	})
	return n, err
}

func sound(id string, v []byte) error {
	what, b, ok := bytes.Cut(v, []byte{0})
	if !ok {
		return fmt.Errorf("the row does not read")
	}
	if string(what) == "row" { // an audit row of another organization, with its path
		l, err := bundle.ParseLine(b)
		if row, ok := l.(bundle.Row); err != nil || !ok || envelope.IDOf(row.Row).String() != id {
			return fmt.Errorf("it does not hash to its id (%v)", err)
		}
		return nil
	}
	e, err := envelope.ParseDSSE(b, maxObject)
	if err != nil {
		return err
	}
	if e.ID().String() != id {
		return fmt.Errorf("it does not hash to its id")
	}
	return nil
}
