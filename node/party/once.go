package party

import (
	"errors"
	"fmt"

	"trustnode/did/envelope"
	"trustnode/mediation"
	"trustnode/node/fault"
	"trustnode/node/store"
)

// What an organization says once in a case is remembered in the transaction that says it,
// with the event that does: a verb repeated after a crash, or before anybody cosigned,
// must not say another thing. Two rulings of one seat would void both.
const (
	keyAnswered = "ans/"  // ans/<case>: id of dispute.answered
	keySeated   = "seat/" // seat/<case>/<rung>/<place>: id of ruling.seated
	keyRuled    = "rul/"  // rul/<case>/<rung>/<place>: id of ruling.issued
)

func seatKey(prefix string, c mediation.Case) string {
	return fmt.Sprintf("%s%s/%s/%d", prefix, c.ID, c.Rung, c.Place)
}

// said returns the event that was drafted under a key, or zero. One that had its turn and
// no effect does not count.
func said(tx store.Tx, key string, c mediation.Case) (envelope.ID, error) {
	b, err := tx.Get([]byte(key))
	if errors.Is(err, store.ErrNotFound) {
		return envelope.ID{}, nil
	}
	if err != nil {
		return envelope.ID{}, err
	}
	id, err := envelope.ParseID(string(b))
	if err == nil && ignored(c, id) != nil {
		return envelope.ID{}, nil
	}
	return id, err
}

func remember(tx store.Tx, key string, id envelope.ID) error {
	return tx.Set([]byte(key), []byte(id.String()))
}

// already refuses to say a thing twice.
func already(reason, what string, c mediation.Case) error {
	return fault.New(fault.Conflict, reason, "this organization has %s case %s already", what, c.ID).
		WithHint("see: trustnode dispute show %s", c.ID)
}
