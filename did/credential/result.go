package credential

import (
	"strconv"
	"time"

	"trustnode/did"
	"trustnode/did/strictjson"
)

// Status is what is known of the credential's revocation. Values are stored: never reorder, never reuse.
type Status uint8

// The states of a credential's status.
const (
	// StatusNone: the credential names no place that would tell.
	StatusNone Status = iota + 1
	// StatusUnchecked: it has a credentialStatus, which was not looked up. It may be revoked or suspended.
	StatusUnchecked
)

// String returns "none" or "unchecked".
func (s Status) String() string {
	switch s {
	case StatusNone:
		return "none"
	case StatusUnchecked:
		return "unchecked"
	}
	return "status " + strconv.Itoa(int(s))
}

// Result is a credential whose issuer, proof and dates were verified, and what that rests on. It says that the issuer
// made these claims; whether they are true, and whether this issuer may make them, is for the reader to judge.
type Result struct {
	ID         string   // the credential's own, "" if it has none; unchecked text
	Types      []string // as listed, VerifiableCredential among them
	Issuer     did.DID
	Subjects   []string  // ids of the subjects in order, "" for one without; unchecked text, at least one
	Kid        string    // fragment of the key that signed
	Version    string    // of the issuer's document that lists the key
	Created    time.Time // of the proof, as it says itself; zero if it does not
	ValidFrom  time.Time // zero if absent
	ValidUntil time.Time // zero if absent; at this instant the credential is not valid any more
	Status     Status
	// Document is what was signed, without the proof and without contexts added since. Claims are read from here: the
	// received text may hold more.
	Document strictjson.Value
	Evidence []did.Evidence
	Warnings []did.Warning // what was not looked at, and what was set aside in the issuer's document
}
