package member

import (
	"encoding/base64"
	"errors"
	"fmt"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/library"
	"trustnode/node/store"
)

// Keys in the state database. Rows are canonical JSON where not said otherwise.
const (
	keyHead    = "ch/head"    // headRow
	keyCharter = "ch/"        // ch/<seq, 20 digits>: DSSE of the accepted charter
	keyAbandon = "ab/"        // ab/<id>: DSSE of an abandon an accepted charter lists
	keySibling = "ch/sibling" // DSSE of a charter that excludes one of the chain
	keyCommit  = "cs/"        // cs/<federation>/<slot>: commitRow of an own signature
	keyBinding = "bind/"      // bind/<org>: DSSE of its newest binding
	keySerial  = "bindserial" // serialRow: greatest serial of an own binding, ever
	keyBeacon  = "beacon/"    // beacon/<org>: DSSE of its newest beacon
	keyNamed   = "mn/"        // mn/<org>/<name>: namedRow, the newest agent of that name
	keyParked  = "pk/"        // pk/<org>/<object id>: index of agent.issued, decimal
	keyCursor  = "pc/"        // pc/<org>: cursorRow of the projection
	keyEntry   = "rot"        // entryRow: an entry of the own DID log under way
	keyFork    = "fork/"      // fork/<did>: forkRow
	keyAged    = "aged"       // agedRow: the pins are older than what was signed
	keyAbstain = "abst"       // abstainRow
)

// headRow says which charter is in force.
type headRow struct {
	Confirmed  bool        `json:"confirmed,omitempty"` // a quorum was heard since the first charter was taken
	Federation envelope.ID `json:"federation"`
	ID         envelope.ID `json:"id"`
	Seq        uint64      `json:"seq"`
}

// commitRow remembers the charter.signed of a slot, so that it is logged once.
type commitRow struct {
	Body  envelope.ID `json:"body"`
	Event envelope.ID `json:"event"`
}

type serialRow struct {
	Serial uint64 `json:"serial"`
}

// namedRow is the newest agent of one name of one organization.
type namedRow struct {
	Agent   did.DID     `json:"agent,omitempty"`
	Object  envelope.ID `json:"object,omitempty"`
	Serial  uint64      `json:"serial"`
	Through uint64      `json:"through"` // serials up to it are revoked
}

// cursorRow is how much of a log's agent history the state holds.
type cursorRow struct {
	IDs     string `json:"ids,omitempty"` // hash of the terms; none in rows of before, which are so applied anew
	Revoked uint64 `json:"revoked"`       // terms that are revoked
	Size    uint64 `json:"size"`          // of the history
	Terms   uint64 `json:"terms"`
}

// entryRow is an entry of the own DID log that is built and not yet everywhere.
type entryRow struct {
	Event       envelope.ID     `json:"event,omitempty"`       // key.rotated, once it is drafted
	Line        string          `json:"line"`                  // base64url of the signed log line
	NewKeys     []did.PublicKey `json:"new_keys,omitempty"`    // made for it in the node's own store
	Next        did.PublicKey   `json:"next,omitempty"`        // update key it commits to
	Proofs      []string        `json:"proofs,omitempty"`      // of witnesses, as JSON texts
	Reason      string          `json:"reason"`                // of key.rotated
	Reissue     []issued        `json:"reissue,omitempty"`     // own agents to be issued anew, after a compromise
	Since       envelope.Time   `json:"since,omitempty"`       // when it was committed
	Taint       *uint64         `json:"taint,omitempty"`       // last index that is surely the organization's
	Unwitnessed bool            `json:"unwitnessed,omitempty"` // nobody has to witness it
	Version     string          `json:"version"`
	Witness     string          `json:"witness,omitempty"` // base64url of the witness file, once its proofs suffice
}

// issued names an agent object.
type issued struct {
	Agent  did.DID     `json:"agent"`
	Object envelope.ID `json:"object"`
}

// step is how far an entry has come.
type step int

const (
	stepBuilt     step = iota + 1 // signed here, known to nobody
	stepCommitted                 // pinned; a witness may have signed it
	stepReady                     // its governing witnesses have signed it
	stepActive                    // in the ring, and announced in the own log
)

func (r entryRow) step() step {
	switch {
	case !r.Event.IsZero():
		return stepActive
	case r.Witness != "" || r.Unwitnessed:
		return stepReady
	case !r.Since.IsZero():
		return stepCommitted
	}
	return stepBuilt
}

func charterKey(seq uint64) string        { return fmt.Sprintf("%s%020d", keyCharter, seq) }
func commitKey(f string, n uint64) string { return fmt.Sprintf("%s%s/%d", keyCommit, f, n) }
func bindingKey(d did.DID) string         { return keyBinding + d.String() }
func beaconKey(d did.DID) string          { return keyBeacon + d.String() }
func namedKey(d did.DID, n string) string { return keyNamed + d.String() + "/" + n }
func parkedKey(d did.DID, id envelope.ID) string {
	return keyParked + d.String() + "/" + id.String()
}
func forkKey(d did.DID) string   { return keyFork + d.String() }
func cursorKey(d did.DID) string { return keyCursor + d.String() }

// get reads a row; false where there is none.
func get[T any](g library.Getter, key string) (T, bool, error) {
	return store.GetRow[T](g, []byte(key))
}

func put(tx store.Tx, key string, row any) error { return store.PutRow(tx, []byte(key), row) }

// getObject reads an envelope; false where there is none.
func getObject(g library.Getter, key string) (envelope.Envelope, bool, error) {
	b, err := g.Get([]byte(key))
	if errors.Is(err, store.ErrNotFound) {
		return envelope.Envelope{}, false, nil
	}
	if err != nil {
		return envelope.Envelope{}, false, err
	}
	e, err := envelope.ParseDSSE(b, maxStored)
	if err != nil {
		return envelope.Envelope{}, false, fmt.Errorf("row %s is damaged: %v", key, err)
	}
	return e, true, nil
}

// maxStored bounds an envelope read back from the own database, in bytes.
const maxStored = 1 << 20

var b64 = base64.RawURLEncoding.Strict()
