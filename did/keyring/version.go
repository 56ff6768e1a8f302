package keyring

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
)

// version is one trusted document of a DID, whatever its method.
type version struct {
	number int
	id     string
	time   time.Time // versionTime, or when the snapshot was fetched
	doc    did.Document
	ended  bool // it ends the DID
}

func versionsOf(h didwebvh.History) []version {
	out := make([]version, h.Len())
	for i := range out {
		v, _ := h.At(i + 1)
		out[i] = version{v.Number, v.ID, v.Time, v.Document, v.Parameters.Deactivated}
	}
	return out
}

// member is one held DID.
type member struct {
	record   Record
	history  didwebvh.History // of did:webvh
	versions []version        // in ascending order; empty if none could be verified
	retired  map[did.PublicKey]int
	below    *Below          // not nil: state is behind the pins
	beside   map[string]bool // versions of branches and of documents that are not trusted; set once it is shown
}

// logged is the member that a verified log makes, without a record of its own yet.
func logged(h didwebvh.History) *member {
	m := &member{record: Record{Log: h.Log(), Witness: h.Witness()}, history: h, versions: versionsOf(h)}
	m.retired = retirements(m.versions)
	return m
}

func (m *member) did() did.DID { return m.record.Version.DID }

// head is the newest version, the zero one if there is none.
func (m *member) head() version {
	if len(m.versions) == 0 {
		return version{}
	}
	return m.versions[len(m.versions)-1]
}

func (m *member) byID(id string) (version, bool) {
	i := slices.IndexFunc(m.versions, func(v version) bool { return v.id == id })
	if i < 0 {
		return version{}, false
	}
	return m.versions[i], true
}

// counts is the number of the last version that counts: the last before an open fork, or the head.
func (m *member) counts() int {
	if b, ok := m.open(); ok {
		return b.Parent
	}
	return m.head().number
}

// usable refuses a member nothing new is accepted from.
func (m *member) usable() error {
	switch m.record.Version.State {
	case did.Frozen:
		return fmt.Errorf("%s, after entry %d: %w", m.did(), m.counts(), ErrFrozen)
	case did.Deactivated:
		return fmt.Errorf("%s at %s: %w", m.did(), m.record.Version.ID, ErrDeactivated)
	}
	return nil
}

// version answers one version that counts. Errors: ErrUnknownVersion, ErrFrozen, those of get.
func (r *Ring) version(d did.DID, id string) (*member, version, error) {
	m, err := r.get(d)
	if err != nil {
		return nil, version{}, err
	}
	v, err := m.counting(id)
	return m, v, err
}

// counting is a version that counts. Errors: ErrUnknownVersion, ErrFrozen.
func (m *member) counting(id string) (version, error) {
	v, ok := m.byID(id)
	if !ok {
		return version{}, fmt.Errorf("%s of %s: %w", id, m.did(), ErrUnknownVersion)
	}
	if v.number > m.counts() {
		return version{}, fmt.Errorf("%s of %s: %w", id, m.did(), ErrFrozen)
	}
	return v, nil
}

// At answers the assertion keys of d at a version, retired ones left out.
// Errors: ErrUnknownVersion (also for a DID that is not held), ErrFrozen for a
// version past a fork, ErrDeactivated for the version that ends the DID, *Below.
func (r *Ring) At(d did.DID, version string) ([]did.PublicKey, error) {
	if d.Method() == didkey.Method {
		if err := staticVersion(d, version); err != nil {
			return nil, err
		}
		k, err := didkey.Key(d)
		if err != nil || k.Algorithm() != did.Ed25519 {
			return nil, err
		}
		return []did.PublicKey{k}, nil
	}
	m, v, err := r.version(d, version)
	if errors.Is(err, ErrAbsent) {
		return nil, fmt.Errorf("%w: %w", ErrUnknownVersion, err)
	}
	if err != nil {
		return nil, err
	}
	return m.listed(v)
}

// listed are the keys of a version, ErrDeactivated for one that ends the DID.
func (m *member) listed(v version) ([]did.PublicKey, error) {
	if v.ended {
		return nil, fmt.Errorf("%s at %s: %w", m.did(), v.id, ErrDeactivated)
	}
	return m.keys(v), nil
}

// keys answers the keys a version lists that were not retired by then.
func (m *member) keys(v version) []did.PublicKey {
	var out []did.PublicKey
	for _, id := range v.doc.Listed(did.AssertionMethod) {
		kid := strings.TrimPrefix(id, v.doc.ID().String()+"#")
		if k, err := v.doc.Key(kid, did.AssertionMethod); err == nil && k.Algorithm() == did.Ed25519 {
			if gone, ok := m.retired[k]; !ok || gone > v.number {
				out = append(out, k)
			}
		}
	}
	return out
}

// Extends reports whether version newer of d is version older or comes after
// it. Errors: those of At, for either version.
func (r *Ring) Extends(d did.DID, older, newer string) (bool, error) {
	if d.Method() == didkey.Method {
		return true, errors.Join(staticVersion(d, older), staticVersion(d, newer))
	}
	_, a, err := r.version(d, older)
	if err == nil {
		var b version
		if _, b, err = r.version(d, newer); err == nil {
			return a.number <= b.number, nil
		}
	}
	if errors.Is(err, ErrAbsent) {
		err = fmt.Errorf("%w: %w", ErrUnknownVersion, err)
	}
	return false, err
}

// Past answers as a Ring does, and of a log that verifies but lies below its pin too. It is
// for what was accepted here before and is only read again; nothing new is judged by it.
type Past struct{ r *Ring }

// Past is the past of the ring.
func (r *Ring) Past() Past { return Past{r} }

// At is Ring.At without *Below.
func (p Past) At(d did.DID, version string) ([]did.PublicKey, error) {
	m := p.below(d)
	if m == nil {
		return p.r.At(d, version)
	}
	v, err := m.counting(version)
	if err != nil {
		return nil, err
	}
	return m.listed(v)
}

// Extends is Ring.Extends without *Below.
func (p Past) Extends(d did.DID, older, newer string) (bool, error) {
	m := p.below(d)
	if m == nil {
		return p.r.Extends(d, older, newer)
	}
	a, errA := m.counting(older)
	b, errB := m.counting(newer)
	return a.number <= b.number, errors.Join(errA, errB)
}

// below is the member for d if it lies below its pin.
func (p Past) below(d did.DID) *member {
	if m := p.r.find(d); m != nil && m.below != nil {
		return m
	}
	return nil
}

// Listing is one trusted version of a DID, as people are shown it.
type Listing struct {
	Number   int
	ID       string
	Time     time.Time // versionTime as the controller claims it; for did:web, when it was fetched
	Document did.Document
	Keys     []did.PublicKey // under assertionMethod, retired ones left out
	Counts   bool            // false past an open fork
}

// Versions answers all trusted versions of d, the oldest first. Errors: those of Head, ErrMethod for a did:key.
func (r *Ring) Versions(_ context.Context, d did.DID) ([]Listing, error) {
	if d.Method() == didkey.Method {
		return nil, fmt.Errorf("%s: %w", d, ErrMethod)
	}
	m, err := r.get(d)
	if err != nil {
		return nil, err
	}
	out := make([]Listing, len(m.versions))
	for i, v := range m.versions {
		out[i] = Listing{v.number, v.id, v.time, v.doc, m.keys(v), v.number <= m.counts()}
	}
	return out, nil
}
