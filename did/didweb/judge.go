package didweb

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Verdict is how a document that a server has now stands to the pinned one. The zero value is invalid.
type Verdict uint8

// The verdicts.
const (
	_         Verdict = iota
	Unchanged         // the same bytes
	SameKeys          // other bytes that give nobody more power: may take the place of the pinned ones
	OtherKeys         // changed, not trusted: the pinned document stands until the change is approved
)

// String returns the verdict in words.
func (v Verdict) String() string {
	switch v {
	case Unchanged:
		return "unchanged"
	case SameKeys:
		return "other bytes, same keys"
	case OtherKeys:
		return "changed, not trusted"
	}
	return "verdict " + strconv.Itoa(int(v))
}

// Change is a verdict and what it rests on. The lists are for people, and for whoever compares them with a key.rotated
// event; with OtherKeys at least one of them is not empty, else all are.
type Change struct {
	Verdict  Verdict
	ID       envelope.ID     // of the new bytes: what an approval must name
	Added    []did.PublicKey // assertion keys that only the new document has
	Removed  []did.PublicKey // and only the pinned one
	Extended []did.PublicKey // in both, and would end later, or no more
	Services []string        // services that name a DID and are not the same in both: absolute ids
}

// Judge compares next, a did.json just received, with the pinned snapshot and held, the bytes it was taken of.
//
// The same keys means more than the same list. A method may carry the time at which it ends, expires or revoked; to take
// that back would revive a key that its owner has given up, so a later end is another key set. A service may name a key as
// its endpoint, as the witness of a log does; a change there hands over that role, so it is one too.
//
// Errors: ErrMismatch if held is not what was pinned; did.ErrDocument and did.ErrTooLarge if next is no document of this
// DID. With an error, as with OtherKeys, the pinned document stands.
func Judge(pinned Snapshot, held, next []byte) (Change, error) {
	was, err := Open(pinned, held)
	if err != nil {
		return Change{}, fmt.Errorf("pinned document: %w", err)
	}
	if bytes.Equal(held, next) {
		return Change{Verdict: Unchanged, ID: pinned.BytesID}, nil
	}
	is, err := did.ParseDocument(next, pinned.DID)
	if err != nil {
		return Change{}, err
	}
	c := compare(was, is)
	c.ID, c.Verdict = envelope.IDOf(next), SameKeys
	if len(c.Added)+len(c.Removed)+len(c.Extended)+len(c.Services) > 0 {
		c.Verdict = OtherKeys
	}
	return c, nil
}

func compare(was, is did.Document) Change {
	old, now := keysOf(was), keysOf(is)
	var c Change
	for _, k := range sorted(now) {
		end, both := old[k]
		switch {
		case !both:
			c.Added = append(c.Added, k)
		case lasts(now[k], end):
			c.Extended = append(c.Extended, k)
		}
	}
	for _, k := range sorted(old) {
		if _, both := now[k]; !both {
			c.Removed = append(c.Removed, k)
		}
	}
	c.Services = movedServices(was, is)
	return c
}

// movedServices lists the services that name a DID in one of the documents and read otherwise in the other.
func movedServices(was, is did.Document) []string {
	old, now := namingServices(was), namingServices(is)
	moved := map[string]bool{}
	for id, s := range old {
		moved[id] = now[id] != s
	}
	for id, s := range now {
		moved[id] = old[id] != s
	}
	maps.DeleteFunc(moved, func(_ string, yes bool) bool { return !yes })
	return slices.Sorted(maps.Keys(moved))
}

// namingServices maps the id of each service with a DID among its endpoints to all it says.
func namingServices(doc did.Document) map[string]string {
	out := map[string]string{}
	for _, s := range doc.Services() {
		if slices.ContainsFunc(s.Endpoints, func(e string) bool { return strings.HasPrefix(e, "did:") }) {
			out[s.ID] = fmt.Sprintf("%q %q", s.Types, s.Endpoints)
		}
	}
	return out
}
