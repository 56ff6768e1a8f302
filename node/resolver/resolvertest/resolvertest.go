// Package resolvertest makes organizations with DID logs, a node that holds some of them,
// and a shelf of files in place of their web servers, for tests of whoever resolves DIDs.
// Nothing but tests imports it.
package resolvertest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/node/fetch"
	"trustnode/node/recorder"
	"trustnode/node/resolver"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Start is when the first entries are made, Now the present.
var (
	Start = time.Date(2025, 12, 1, 10, 0, 0, 0, time.UTC)
	Now   = time.Date(2025, 12, 20, 12, 0, 0, 0, time.UTC)
)

// Key is the key of a role of an organization in one version, the same each time.
func Key(org, role string, n int) *envelopetest.Signer {
	return envelopetest.New(sha256.Sum256(fmt.Appendf(nil, "%s %s %d", org, role, n)))
}

// Org is an organization and its DID log. Its methods return what it becomes and leave it
// as it is, so one organization can go on in two ways.
type Org struct {
	t       testing.TB
	Name    string
	H       didwebvh.History
	update  envelope.Signer // signs the next entry
	variant int
	witness []*envelopetest.Signer
}

// NewOrg makes an organization at NAME.example, or under a path there.
func NewOrg(t testing.TB, name string, path ...string) Org {
	t.Helper()
	next := Key(name, "update", 2)
	_, line, err := didwebvh.Create(t.Context(), didwebvh.CreateRequest{Domain: name + ".example", Path: path, Update: Key(name, "update", 1), Next: next.Public(),
		Recovery: Key(name, "recovery", 1).Public(), Issuer: Key(name, "issuer", 1).Public(), At: Start, Services: []didwebvh.Service{
			{Name: "lending", Type: "TrustnodeLending", Endpoint: "https://" + name + ".example/api/v1/permissions"},
			{Name: didwebvh.WitnessService, Type: didwebvh.WitnessType, Endpoint: "did:key:" + Key(name, "witness", 1).Public().Multikey()}}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := didwebvh.Verify(append(line, '\n'), nil, Now)
	if err != nil {
		t.Fatal(err)
	}
	return Org{t: t, Name: name, H: h, update: next}
}

// DID is the newest name.
func (o Org) DID() did.DID { return o.H.DID() }

// Head is the versionId of the newest entry.
func (o Org) Head() string { return o.H.Head().ID }

// Issuer is the multikey of the newest issuer key.
func (o Org) Issuer() string { return didwebvh.RolesOf(o.H.Head().Document).Issuer.Multikey() }

// As makes what follows differ from what o would become without it.
func (o Org) As(variant int) Org {
	o.variant = variant
	return o
}

// at is the time of the next entry.
func (o Org) at() time.Time { return Start.Add(time.Duration(o.H.Len()) * 24 * time.Hour) }

func (o Org) grow(next envelope.Signer, line []byte, err error) Org {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
	var proofs [][]byte
	for _, w := range o.witness {
		p, err := didwebvh.SignWitness(o.t.Context(), w, didwebvh.VersionID(line), o.at())
		if err != nil {
			o.t.Fatal(err)
		}
		proofs = append(proofs, p)
	}
	tally, err := o.H.Proofs(line, proofs)
	if err != nil {
		o.t.Fatal(err)
	}
	if o.H, err = o.H.Extend(append(line, '\n'), tally.Witness, Now); err != nil {
		o.t.Fatal(err)
	}
	o.update = next
	return o
}

// Rotate replaces the issuer key.
func (o Org) Rotate() Org {
	o.t.Helper()
	return o.rotate(nil)
}

// Watched replaces the issuer key and names witnesses; both of them sign each entry from
// this one on.
func (o Org) Watched() Org {
	o.t.Helper()
	o.witness = []*envelopetest.Signer{Key(o.Name, "watcher", 1), Key(o.Name, "watcher", 2)}
	return o.rotate(&didwebvh.WitnessList{Threshold: 2, Keys: []did.PublicKey{o.witness[0].Public(), o.witness[1].Public()}})
}

func (o Org) rotate(w *didwebvh.WitnessList) Org {
	o.t.Helper()
	n := o.H.Len() + 1 + 1000*o.variant
	next := Key(o.Name, "update", n+1)
	line, err := didwebvh.Rotate(o.t.Context(), o.H, didwebvh.RotateRequest{Update: o.update, Next: next.Public(), Issuer: Key(o.Name, "issuer", n).Public(), Witness: w, At: o.at()})
	return o.grow(next, line, err)
}

// Move takes the DID to another host.
func (o Org) Move(domain string) Org {
	o.t.Helper()
	next := Key(o.Name, "update", o.H.Len()+2+1000*o.variant)
	line, err := didwebvh.Move(o.t.Context(), o.H, didwebvh.MoveRequest{Update: o.update, Next: next.Public(), Domain: domain, At: o.at()})
	return o.grow(next, line, err)
}

// End deactivates the DID.
func (o Org) End() Org {
	o.t.Helper()
	line, err := didwebvh.Deactivate(o.t.Context(), o.H, didwebvh.DeactivateRequest{Update: o.update, At: o.at()})
	return o.grow(nil, line, err)
}

// Material is what its host serves.
func (o Org) Material() did.Material {
	return did.Material{Log: o.H.Log(), Witness: o.H.Witness()}
}

// WebDocument is a did.json with one assertion key of n, and a website.
func WebDocument(d did.DID, n int, site string) []byte {
	k := Key(d.String(), "web", n).Public().Multikey()
	return fmt.Appendf(nil, `{"@context":["https://www.w3.org/ns/did/v1"],"id":"%[1]s","verificationMethod":[{"id":"%[1]s#k","type":"Multikey","controller":"%[1]s","publicKeyMultibase":"%[2]s"}],`+
		`"assertionMethod":["%[1]s#k"],"service":[{"id":"%[1]s#site","type":"Website","serviceEndpoint":"%[3]s"}]}`, d, k, site)
}

// Shelf has files in place of web servers. It is safe for concurrent use.
type Shelf struct {
	mu    sync.Mutex
	files map[did.DID]func() (fetch.Fetched, error) // guarded by mu
	asked []did.DID                                 // guarded by mu
}

var _ resolver.Host = (*Shelf)(nil)

// Fetch implements resolver.Host. Of a DID that was never put there the server says that
// there is no such file.
func (s *Shelf) Fetch(_ context.Context, d did.DID) (fetch.Fetched, error) {
	s.mu.Lock()
	s.asked = append(s.asked, d)
	f := s.files[d]
	s.mu.Unlock()
	if f == nil {
		return fetch.Fetched{}, &fetch.Error{Cause: fetch.CauseAbsent, URL: "https://" + d.ID(), Status: 404}
	}
	return f()
}

// Put has the host of d serve m.
func (s *Shelf) Put(d did.DID, m did.Material) {
	s.PutFunc(d, func() (fetch.Fetched, error) { return fetch.Fetched{Material: m, SPKI: fetch.SPKI{1}}, nil })
}

// Break has the host of d give no answer.
func (s *Shelf) Break(d did.DID, cause fetch.Cause) {
	s.PutFunc(d, func() (fetch.Fetched, error) {
		return fetch.Fetched{}, &fetch.Error{Cause: cause, URL: "https://" + d.ID() + "/did.json"}
	})
}

// PutFunc has f answer for the host of d.
func (s *Shelf) PutFunc(d did.DID, f func() (fetch.Fetched, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[did.DID]func() (fetch.Fetched, error){}
	}
	s.files[d] = f
}

// Asked lists whose hosts were asked, in order.
func (s *Shelf) Asked() []did.DID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]did.DID(nil), s.asked...)
}

// Node is the node of one organization, with its resolver.
type Node struct {
	*self.Node
	*resolver.Resolver
	t      testing.TB
	Own    Org
	Shelf  *Shelf
	Pins   pins.Pins
	Events *store.Events
	Moved  []did.DID // whose heads moved, in order
}

// NewNode opens the node of own, which holds nobody else's DID.
func NewNode(t testing.TB, own Org) *Node {
	t.Helper()
	ctx, now := t.Context(), func() time.Time { return Now }
	n := &Node{t: t, Own: own, Shelf: &Shelf{}, Pins: pins.Memory()}
	db, audit := store.Memory(), store.Memory()
	ring := keyring.New(store.NewRing(db), n.Pins, now)
	if err := ring.Load(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := ring.Offer(ctx, own.DID(), own.H.Log(), own.H.Witness()); err != nil {
		t.Fatal(err)
	}
	var err error
	if n.Events, err = store.OpenEvents(ctx, audit); err != nil {
		t.Fatal(err)
	}
	key := Key(own.Name, "issuer", own.H.Len())
	signer := func(context.Context) (envelope.Signer, string, error) { return key, key.Public().Multikey(), nil }
	rec, err := recorder.New(ctx, recorder.Config{Org: own.DID(), State: db, Audit: audit, Events: n.Events, Pins: n.Pins, Signer: signer,
		SignerOf: func(context.Context, string) (envelope.Signer, error) { return key, nil }, Ring: recorder.RingOf(ring), Now: now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	n.Node = &self.Node{Org: own.DID(), Name: own.Name, DB: db, Rec: rec, Ring: ring, Clock: self.NewClock(now, Now), Log: slog.New(slog.DiscardHandler)}
	n.Resolver = resolver.New(n.Node, resolver.Config{Host: n.Shelf, Moved: func(_ context.Context, d did.DID) { n.Moved = append(n.Moved, d) }})
	return n
}

// Hold has the node hold an organization's DID, from anywhere; a fork is held too.
func (n *Node) Hold(o Org) {
	n.t.Helper()
	_, _ = n.Ring.Offer(n.t.Context(), o.DID(), o.H.Log(), o.H.Witness())
	if _, err := n.Ring.Head(n.t.Context(), o.DID()); err != nil {
		n.t.Fatal(err)
	}
}

// Pin has the node pin a first did:web document.
func (n *Node) Pin(d did.DID, doc []byte) {
	n.t.Helper()
	if _, err := n.Ring.OfferWeb(n.t.Context(), d, doc, "join", Now, ""); err != nil {
		n.t.Fatal(err)
	}
}
