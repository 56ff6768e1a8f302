package keyring

import (
	"context"
	"errors"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
)

// Confirmation says who stated, live, that a version is a DID's newest one.
type Confirmation string

// The confirmations.
const (
	ByOwn    Confirmation = "own"    // a beacon of the DID's own node
	ByBeacon Confirmation = "beacon" // a member's
	ByHost   Confirmation = "host"   // the DID's host, over TLS
	ByImport Confirmation = "import" // a file the operator brought
)

func (c Confirmation) known() bool {
	return c == ByOwn || c == ByBeacon || c == ByHost || c == ByImport
}

// ErrConfirmation says that a confirmation is none of the known ones.
var ErrConfirmation = errors.New("no known confirmation")

// confirmation is the newest one of a DID. It is kept in memory only: beacons
// bring it again within minutes, and no decision rests on it.
type confirmation struct {
	version string
	by      Confirmation
	at      time.Time
}

// Confirm notes a statement, made at a time, that version is d's newest one. A
// statement about another version than the head, or older than the newest one,
// changes nothing; a time ahead of the clock counts as now. Errors: those of
// Head, ErrConfirmation.
func (r *Ring) Confirm(_ context.Context, d did.DID, version string, by Confirmation, at time.Time) error {
	if !by.known() {
		return fmt.Errorf("%q: %w", by, ErrConfirmation)
	}
	if d.Method() == didkey.Method {
		_, err := didkey.Key(d)
		return err
	}
	m, err := r.get(d)
	if err != nil || version != m.head().id {
		return err
	}
	r.confirm(m, confirmation{version, by, at})
	return nil
}

func (r *Ring) confirm(m *member, c confirmation) {
	if now := r.now(); c.at.After(now) {
		c.at = now
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if had := r.confirmed[m.did()]; had.version != c.version || c.at.After(had.at) {
		r.confirmed[m.did()] = c
	}
}

// confirmSource notes that a document was served or brought again. Bytes from a peer say nothing live.
func (r *Ring) confirmSource(m *member, s Snapshot) {
	by := ByImport
	if s.SPKI != "" {
		by = ByHost
	} else if s.ApprovedBy == "" {
		return
	}
	r.confirm(m, confirmation{m.head().id, by, s.FetchedAt})
}

// Confirmed answers who confirmed the head of d last, and when; "" and the zero
// time if nobody has since this process started or since the head moved. It is
// shown and decides nothing.
func (r *Ring) Confirmed(d did.DID) (Confirmation, time.Time) {
	m := r.find(d)
	if m == nil {
		return "", time.Time{}
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	c := r.confirmed[m.did()]
	if c.version == "" || c.version != m.head().id {
		return "", time.Time{}
	}
	return c.by, c.at
}
