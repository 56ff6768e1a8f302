package casefile

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/federation/charter"
)

// Known is what whoever looks at a file has pinned already, by earlier sight: heads of charter chains, of DIDs and of
// logs. A file that says otherwise at the place of a pin does not verify, whatever signs it. The zero value knows nothing.
type Known struct{ pins.Pins }

// Charter gives the highest pinned charter of the federation of c, false if none is pinned. Where the chain ends before it, it
// is 0: nothing ties what lies above the genesis to the pin, which knows no more of that chain than a fingerprint does. Errors are *Fault: the chain holds another charter there.
func (k Known) Charter(c charter.Chain) (upTo uint64, ok bool, err error) {
	if k.Pins == nil || c.IsZero() {
		return 0, false, nil
	}
	slot, value, ok := k.Highest(pins.KindHead, c.Federation().String())
	if !ok {
		return 0, false, nil
	}
	at, has := c.At(slot.N)
	if !has {
		return 0, true, nil
	}
	if at.ID.String() != value {
		return 0, false, fault(0, "charter %d in the file is %s, the pins name %s", slot.N, at.ID, value)
	}
	return slot.N, true, nil
}

// DID gives the pinned version of d, false if none is pinned or the history that the file holds ends before it: nothing
// ties its last entry to the pinned one then. A did:web has no history: its document is the pinned one or another. Errors are
// *Fault: the history, or that document, is another than the pinned one.
func (k Known) DID(ctx context.Context, ring *keyring.Ring, d did.DID) (upTo int, ok bool, err error) {
	if k.Pins == nil {
		return 0, false, nil
	}
	if d.Method() == "web" {
		return k.web(ctx, ring, d)
	}
	h, err := ring.History(ctx, d)
	if err != nil {
		return 0, false, nil
	}
	for _, name := range h.DIDs() { // a node pins a log that moved under the name it had when it was first seen
		n, known, err := k.version(h, name)
		if err != nil {
			return 0, false, err
		}
		upTo, ok = max(upTo, n), ok || known
	}
	return upTo, ok, nil
}

// web is DID for a did:web.
func (k Known) web(ctx context.Context, ring *keyring.Ring, d did.DID) (upTo int, ok bool, err error) {
	slot, version, ok := k.Highest(pins.KindDID, d.String())
	held, err := ring.Head(ctx, d)
	if !ok || err != nil {
		return 0, false, nil
	}
	if held.ID != version {
		return 0, false, fault(0, "the did.json of %s is version %s, the pins name %s", d, held.ID, version)
	}
	return int(min(slot.N, math.MaxInt)), true, nil
}

// version is DID for one name of a log.
func (k Known) version(h didwebvh.History, d did.DID) (upTo int, ok bool, err error) {
	_, version, ok := k.Highest(pins.KindDID, d.String())
	if !ok {
		return 0, false, nil
	}
	for n := h.Len(); n > 0; n-- {
		if at, _ := h.At(n); at.ID == version {
			return n, true, nil
		}
	}
	if n, _, ok := strings.Cut(version, "-"); ok {
		if n, err := strconv.Atoi(n); err == nil && n > h.Len() {
			return 0, false, nil
		}
	}
	return 0, false, fault(0, "the DID log of %s in the file does not hold version %s, which the pins name", d, version)
}

// Head refuses a head that has the size of a pinned one and another root. Errors are *Fault.
func (k Known) Head(org did.DID, h attestation.Head, line int) error {
	if k.Pins == nil {
		return nil
	}
	for _, kind := range []pins.Kind{pins.KindLog, pins.KindCosign} {
		if slot, value, ok := k.Highest(kind, org.String()); ok && slot.N == h.Size && h.Root.String() != value {
			return fault(line, "the head of %s of size %d has the root %s, the pins name %s: it signed two heads", short(org), h.Size, h.Root, value)
		}
	}
	return nil
}

// upToCharter says how far pins know a chain.
func upToCharter(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", up to charter %d", n)
}

// comparePins compares all that the file holds with what is pinned, and says in words what that vouches for its genesis, if anything.
func (p *opener) comparePins(k Known) (string, error) {
	upTo, ok, err := k.Charter(p.Chain)
	if err != nil {
		return "", err
	}
	for d, line := range p.last {
		if _, _, err := k.DID(p.ctx, p.ring.Ring, d); err != nil {
			return "", fault(line, "%v", err)
		}
	}
	by := ""
	if ok {
		by = "the genesis that the pins know" + upToCharter(upTo)
	}
	return by, p.against(k)
}

// Against compares the heads of the entries with what is pinned. Errors are *Fault.
func (e Evidence) Against(k Known) error { return e.Set.against(k) }

func (s Set) against(k Known) error {
	for _, e := range s.Entries {
		if err := k.Head(e.event().Org, e.Head, e.line); err != nil {
			return err
		}
	}
	return nil
}

// Unwitnessed lists the entries that fewer than need organizations beside their own have cosigned, nil where need is 0. Where
// the file is about something, the entries that prove it are asked alone: what they rest on, an old rotation for example, may
// be older than the federation, and nobody will cosign its head any more.
func (e Evidence) Unwitnessed(need int, about []envelope.ID) []*Fault {
	return e.Set.unwitnessed(need, func(x Entry) bool {
		return len(about) == 0 || slices.ContainsFunc(about, func(id envelope.ID) bool {
			r, ok := e.Set.rows[id]
			return id == x.Event.ID() || id == x.event().Body || ok && r.entry.Event.ID() == x.Event.ID()
		})
	})
}

func (s Set) unwitnessed(need int, asked func(Entry) bool) (out []*Fault) {
	for _, e := range s.Entries {
		if n := len(e.Witnessed); n < need && asked(e) {
			out = append(out, &Fault{e.line, fmt.Sprintf("%s %d is witnessed by %s, %d are asked for", s.org(e.event().Org), e.Index, Count(n, "organization"), need), true})
		}
	}
	return out
}
