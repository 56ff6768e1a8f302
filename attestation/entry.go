package attestation

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/did"
	"trustnode/did/envelope"
)

const (
	entryVersion = 0x01
	entryPrefix  = 1 + len(did.Signature{})
)

// ErrEntry is wrapped by the error for bytes that are no entry at all.
var ErrEntry = errors.New("not a log entry")

// Entry is one event as it lies in the log: 0x01, the signature, the body. The
// leaf hash covers all of it, the event's id only the body. An Entry from a
// peer says nothing until it was opened.
type Entry []byte

// EntryOf returns the entry of e, which must carry one signature under the key
// its body names.
func EntryOf(e envelope.Envelope) (Entry, error) {
	if e.Type != TypeEvent || len(e.Signatures) != 1 {
		return nil, fmt.Errorf("%w: an event has one type and one signature", ErrEntry)
	}
	ev, err := envelope.Decode[Event](e)
	if err != nil {
		return nil, err
	}
	if ev.Kid != e.Signatures[0].KeyID {
		return nil, fmt.Errorf("%w: keyid is not the body's kid", ErrEntry)
	}
	return joinEntry(e.Signatures[0].Sig, e.Body), nil
}

func joinEntry(sig did.Signature, body []byte) Entry {
	b := make([]byte, 0, entryPrefix+len(body))
	b = append(b, entryVersion)
	b = append(b, sig[:]...)
	return append(b, body...)
}

// Check reports whether e has the frame of an entry: version, signature, and a
// body of at least one byte, at most MaxEntry bytes in all.
func (e Entry) Check() error {
	switch {
	case len(e) > MaxEntry:
		return fmt.Errorf("%w: %d bytes, limit %d", ErrEntry, len(e), MaxEntry)
	case len(e) <= entryPrefix:
		return fmt.Errorf("%w: %d bytes", ErrEntry, len(e))
	case e[0] != entryVersion:
		return fmt.Errorf("%w: version %d", ErrEntry, e[0])
	}
	return nil
}

// Body returns the event body; e must have passed Check.
func (e Entry) Body() []byte { return e[entryPrefix:] }

// Signature returns the signature; e must have passed Check.
func (e Entry) Signature() did.Signature { return did.Signature(e[1:entryPrefix]) }

// ID returns the id of the event; e must have passed Check.
func (e Entry) ID() envelope.ID { return envelope.IDOf(e.Body()) }

// Hash returns the RFC 6962 leaf hash of e.
func (e Entry) Hash() tlog.Hash { return tlog.RecordHash(e) }

// Claim returns the event that e claims to be, unverified. It fails where the
// body has not the form of an event.
func (e Entry) Claim() (envelope.Claim[Event], error) {
	if err := e.Check(); err != nil {
		return envelope.Claim[Event]{}, err
	}
	return envelope.ReadSigned[Event](e.Body(), e.Signature())
}

// Envelope returns e as an unverified envelope, and the event it claims to be.
// It fails where the body has not the form of an event.
func (e Entry) Envelope() (envelope.Envelope, Event, error) {
	c, err := e.Claim()
	return c.Envelope(), c.Body(), err
}
