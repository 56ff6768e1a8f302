package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
)

// The errors a caller may branch on.
var (
	// ErrUnknownVersion is what a Versions returns for a version it has not.
	ErrUnknownVersion = errors.New("version of the DID document is not known here")
	// ErrRotation is wrapped by the error for a key.rotated that does not
	// follow what is in force.
	ErrRotation = errors.New("rotation does not follow the version in force")
	// ErrPlace says that an event is not at the next index.
	ErrPlace = errors.New("event is not at its place in the fold")
)

// Versions says which keys an organization's document lists. Implementations
// are safe for concurrent use and need no network.
type Versions interface {
	// Keys returns the assertion keys of one version by fragment, none for
	// the version that ends the DID, or an error that matches ErrUnknownVersion.
	Keys(ctx context.Context, d did.DID, version string) (map[string]did.PublicKey, error)
	// Known returns all versions known here in order, the head last.
	Known(ctx context.Context, d did.DID) ([]string, error)
}

// span is a version in force from an index on. A version that lists no key ends the
// organization: the key.rotated that announces it stands under the version before, and
// nothing stands after it.
type span struct {
	from    uint64
	version string
	keys    map[string]did.PublicKey
	gone    map[string]bool // kids retired at or before from
}

// Keys is the key history of one log up to some index. It is a value: Apply
// returns the next one and leaves the old one as it was. The zero value is not
// usable; New makes one.
type Keys struct {
	org    did.DID
	size   uint64
	spans  []span
	terms  []Term
	ended  []ending
	taints []Taint
}

// Taint is a range of indexes that a compromise puts in doubt: those above
// From and below Until. Of an organization's key it is all events there; of an
// agent's key those whose actor is that agent.
type Taint struct {
	From, Until uint64
	Agent       did.DID // zero: the organization's key
}

// Covers reports whether the taint is about what this one did.
func (t Taint) Covers(actor did.DID) bool { return t.Agent.IsZero() || t.Agent == actor }

// New returns the history of an empty log.
func New(org did.DID) Keys { return Keys{org: org} }

// Org returns whose log it is.
func (k Keys) Org() did.DID { return k.org }

// Size returns how many indexes the history covers.
func (k Keys) Size() uint64 { return k.size }

// Version returns the version in force at index, "" before any.
func (k Keys) Version(index uint64) string {
	if s, ok := k.span(index); ok {
		return s.version
	}
	return ""
}

// Span is a version of the organization's document with the index of the event that put
// it in force.
type Span struct {
	Version string
	From    uint64
}

// Spans returns the versions that the log put in force, in order.
func (k Keys) Spans() []Span {
	out := make([]Span, len(k.spans))
	for i, s := range k.spans {
		out[i] = Span{s.version, s.from}
	}
	return out
}

// InForce returns the keys that may sign at index, none before any.
func (k Keys) InForce(index uint64) []did.PublicKey {
	s, ok := k.span(index)
	if !ok {
		return nil
	}
	var out []did.PublicKey
	for kid, pub := range s.keys {
		if !s.gone[kid] {
			out = append(out, pub)
		}
	}
	return out
}

// RetiredAfter reports whether the log retired kid above index, or ended at it.
func (k Keys) RetiredAfter(kid string, index uint64) bool {
	return slices.ContainsFunc(k.spans, func(s span) bool {
		return s.gone[kid] && (s.from > index || s.from == index && len(s.keys) == 0)
	})
}

// Taints returns the ranges put in doubt so far.
func (k Keys) Taints() []Taint { return slices.Clone(k.taints) }

// Apply adds the verified event at index i, which is Size or above: indexes
// between are of events that do not bear on keys. v says which keys a version
// lists. An event of another type only moves Size.
func (k Keys) Apply(ctx context.Context, v Versions, i uint64, e envelope.Verified[attestation.Event]) (Keys, error) {
	ev := e.Body()
	if i < k.size || ev.Org != k.org {
		return k, fmt.Errorf("%w: index %d, size %d", ErrPlace, i, k.size)
	}
	next := k
	var err error
	switch ev.Type {
	case "log.opened":
		next, err = k.open(ctx, v, i, ev)
	case "key.rotated":
		next, err = k.rotate(ctx, v, i, ev)
	case "agent.issued":
		next, err = k.issue(i, ev)
	case "agent.revoked":
		next, err = k.revoke(i, ev)
	}
	if err != nil {
		return k, err
	}
	next.size = i + 1
	return next, nil
}

func (k Keys) open(ctx context.Context, v Versions, i uint64, ev attestation.Event) (Keys, error) {
	var d attestation.LogOpened
	if err := ev.Decode(&d); err != nil {
		return k, err
	}
	if i != 0 || len(k.spans) != 0 {
		return k, fmt.Errorf("%w: log.opened at index %d", ErrPlace, i)
	}
	keys, err := v.Keys(ctx, k.org, d.DidVersion)
	if err != nil {
		return k, err
	}
	k.spans = []span{{from: 0, version: d.DidVersion, keys: keys, gone: map[string]bool{}}}
	return k, nil
}

func (k Keys) rotate(ctx context.Context, v Versions, i uint64, ev attestation.Event) (Keys, error) {
	var d attestation.KeyRotated
	if err := ev.Decode(&d); err != nil {
		return k, err
	}
	next, err := k.next(ctx, v, i, d)
	if err != nil {
		return k, err
	}
	k.spans = append(slices.Clip(k.spans), next)
	if d.Reason == "compromise" && d.TaintFrom != nil && *d.TaintFrom < i {
		k.taints = append(slices.Clip(k.taints), Taint{From: *d.TaintFrom, Until: i})
		k.terms = endedAbove(k.terms, *d.TaintFrom, i, ReasonCompromise)
	}
	if len(next.keys) == 0 { // agents end with the DID of their organization
		k.terms = endedAbove(k.terms, 0, i, ReasonDeactivated)
	}
	return k, nil
}

// next returns the span that a rotation at index i opens.
func (k Keys) next(ctx context.Context, v Versions, i uint64, d attestation.KeyRotated) (span, error) {
	if len(k.spans) == 0 {
		return span{}, fmt.Errorf("%w: the log was not opened", ErrRotation)
	}
	last := k.spans[len(k.spans)-1]
	if len(last.keys) == 0 {
		return span{}, fmt.Errorf("%w: %.80s ended the organization", ErrRotation, last.version)
	}
	if d.Previous != last.version {
		return span{}, fmt.Errorf("%w: it replaces %.80s, %.80s is in force", ErrRotation, d.Previous, last.version)
	}
	if err := k.follows(ctx, v, d); err != nil {
		return span{}, err
	}
	keys, err := v.Keys(ctx, k.org, d.DidVersion)
	if err != nil {
		return span{}, err
	}
	if !sameSet(d.Added, keys, last.keys) || !sameSet(d.Retired, last.keys, keys) {
		return span{}, fmt.Errorf("%w: added and retired are not the difference of the versions", ErrRotation)
	}
	gone := maps.Clone(last.gone)
	for _, kid := range d.Retired {
		gone[kid] = true
	}
	return span{from: i, version: d.DidVersion, keys: keys, gone: gone}, nil
}

// follows reports whether the new version comes right after the old one in
// the organization's own DID log.
func (k Keys) follows(ctx context.Context, v Versions, d attestation.KeyRotated) error {
	known, err := v.Known(ctx, k.org)
	if err != nil {
		return err
	}
	at, was := slices.Index(known, d.DidVersion), slices.Index(known, d.Previous)
	switch {
	case at < 0:
		return fmt.Errorf("%w: %.80s", ErrUnknownVersion, d.DidVersion)
	case was < 0 || at != was+1:
		return fmt.Errorf("%w: %.80s does not come after %.80s", ErrRotation, d.DidVersion, d.Previous)
	}
	return nil
}

// sameSet reports whether kids are exactly those in a and not in b, each once.
func sameSet(kids []string, a, b map[string]did.PublicKey) bool {
	want := 0
	for kid := range a {
		if _, ok := b[kid]; !ok {
			want++
		}
	}
	seen := map[string]bool{}
	for _, kid := range kids {
		_, in := a[kid]
		_, out := b[kid]
		if !in || out || seen[kid] {
			return false
		}
		seen[kid] = true
	}
	return len(seen) == want
}

func (k Keys) span(index uint64) (span, bool) {
	for _, s := range slices.Backward(k.spans) {
		if s.from < index || s.from == index && len(s.keys) > 0 {
			return s, true
		}
	}
	return span{}, false
}

// key judges a kid under one span.
func (s span) key(kid string) (did.Key, error) {
	if s.gone[kid] {
		return did.Key{}, fmt.Errorf("%w: %.80s", envelope.ErrRetired, kid)
	}
	pub, ok := s.keys[kid]
	if !ok {
		return did.Key{}, fmt.Errorf("%w: %.80s", envelope.ErrUnknownKey, kid)
	}
	return did.Key{Public: pub, Version: s.version}, nil
}
