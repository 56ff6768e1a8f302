// Package partytest is a federation of whole nodes in memory, for the tests of what
// happens between organizations: real recorders, keyrings, libraries and signatures, and
// in place of a network peers that copy. It is not for use outside tests.
package partytest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/node/library"
	"trustnode/node/recorder"
	"trustnode/node/self"
	"trustnode/node/store"
)

// World is a federation. Its time is the wall clock moved ahead by what Advance says.
type World struct {
	T     testing.TB
	Orgs  []*Org
	Chain charter.Chain

	ahead    atomic.Int64 // nanoseconds
	charters []envelope.Envelope
	nonces   atomic.Uint64
}

// Org is one organization with its node.
type Org struct {
	*self.Node
	W      *World
	Events *store.Events
	// Keep takes a text that no event names; unset, such texts are not taken.
	Keep func(ctx context.Context, body []byte) error
	// Online says whether peers reach it.
	Online atomic.Bool
	// Asleep cosigns nothing.
	Asleep atomic.Bool
	// Asked counts rounds of asking the others.
	Asked atomic.Int64

	issuer, witness, host *envelopetest.Signer
	version               string
	didLog                []byte
	state, audit          store.DB
	pins                  pins.Pins
	agents                map[did.DID]*envelopetest.Signer
	news                  chan struct{}
	stop                  func()
}

// Must is for what cannot fail in a test.
func Must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// signer makes a key of words.
func signer(words ...string) *envelopetest.Signer {
	return envelopetest.New(sha256.Sum256(fmt.Append(nil, words)))
}

// Options shape a world.
type Options struct {
	Names     []string // organizations
	Mediators []string // asked in this order
	Ties      [][2]string
}

// New makes a federation of three: acme, vendor, and arbiter, its mediator.
func New(t testing.TB) *World {
	return Make(t, Options{Names: []string{"acme", "vendor", "arbiter"}, Mediators: []string{"arbiter"}})
}

// Make makes a federation.
func Make(t testing.TB, o Options) *World {
	w := &World{T: t}
	for _, name := range o.Names {
		w.Orgs = append(w.Orgs, w.org(name))
	}
	w.genesis(o)
	for _, x := range w.Orgs {
		w.start(x)
	}
	for _, x := range w.Orgs {
		x.Online.Store(true)
		x.wake()
	}
	t.Cleanup(func() {
		for _, x := range w.Orgs {
			x.stop()
			x.state.Close()
			x.audit.Close()
		}
	})
	return w
}

// Now is the time of the world.
func (w *World) Now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// Advance moves the time of the world.
func (w *World) Advance(d time.Duration) { w.ahead.Add(int64(d)) }

// Org finds an organization by name.
func (w *World) Org(name string) *Org {
	for _, x := range w.Orgs {
		if x.Name == name {
			return x
		}
	}
	panic("no organization " + name)
}

func (w *World) org(name string) *Org {
	x := &Org{W: w, issuer: signer(name, "issuer"), witness: signer(name, "witness"), host: signer(name, "host"),
		state: store.Memory(), audit: store.Memory(), pins: pins.Memory(), agents: map[did.DID]*envelopetest.Signer{}, news: make(chan struct{}, 1)}
	wd := Must(didkey.FromKey(x.witness.Public()))
	update, next, recovery := signer(name, "update"), signer(name, "next"), signer(name, "recovery")
	d, line, err := didwebvh.Create(w.T.Context(), didwebvh.CreateRequest{Domain: name + ".example", Update: update, Next: next.Public(), Recovery: recovery.Public(),
		Issuer: x.issuer.Public(), At: w.Now().Add(-time.Hour), Services: []didwebvh.Service{{Name: "witness", Type: "TrustnodeWitness", Endpoint: wd.String()}}})
	if err != nil {
		w.T.Fatal(err)
	}
	x.didLog = append(line, '\n')
	x.version = Must(didwebvh.Verify(x.didLog, nil, w.Now())).Head().ID
	x.Node = &self.Node{Org: d, Name: name, DB: x.state, Lib: library.New(x.state), Log: slog.New(slog.DiscardHandler)}
	return x
}

func (w *World) nonce() string { return nonce(w.nonces.Add(1)) }

func (w *World) genesis(o Options) {
	ring := keyring.New(store.NewRing(store.Memory()), pins.Memory(), w.Now)
	var members []charter.Member
	for _, x := range w.Orgs {
		Must(ring.Offer(w.T.Context(), x.Node.Org, x.didLog, nil))
		id := Must(didwebvh.ParseIdentifier(x.Node.Org))
		k := charter.Key{Kid: x.kid(), Pub: x.issuer.Public()}
		members = append(members, charter.Join{At: envelope.TimeOf(w.Now()), BindingsMax: 2, Contact: "mailto:it@" + x.Name + ".example", DIDVersion: x.version,
			Key: k, Kid: k.Kid, Name: x.Name, Nonce: w.nonce(), Org: x.Node.Org, SCID: id.SCID, Spec: charter.JoinSpec{Max: 1, Min: 1}, Votes: true}.Member(0))
	}
	var mediators []did.DID
	for _, m := range o.Mediators {
		mediators = append(mediators, w.Org(m).Node.Org)
	}
	m := charter.DefaultMediation(mediators...)
	for _, t := range o.Ties {
		m.Rotating.Ties = append(m.Rotating.Ties, charter.Tie{A: w.Org(t[0]).Node.Org, B: w.Org(t[1]).Node.Org})
	}
	body, err := charter.New(charter.Options{Name: "fin-lending", Members: members, Mediators: mediators, Mediation: &m}, w.Now().Add(-time.Minute))
	if err != nil {
		w.T.Fatal(err)
	}
	e := envelope.Envelope{Type: charter.Type, Body: Must(envelope.Marshal(body))}
	for _, x := range w.Orgs {
		e = Must(envelope.Cosign(w.T.Context(), e, x.issuer))
	}
	w.Chain, _, err = charter.Genesis(e, charter.NewRing(ring, nil), w.Now())
	if err != nil {
		w.T.Fatal(err)
	}
	w.charters = []envelope.Envelope{e}
}

func (x *Org) kid() string { return x.issuer.Public().Multikey() }

// start opens the databases of a node and runs its recorder.
func (w *World) start(x *Org) {
	ctx, cancel := context.WithCancel(context.Background())
	x.Ring = keyring.New(store.NewRing(x.state), x.pins, w.Now)
	if err := x.Ring.Load(ctx); err != nil {
		w.T.Fatal(err)
	}
	for _, y := range w.Orgs {
		Must(x.Ring.Offer(ctx, y.Node.Org, y.didLog, nil))
	}
	x.Events = Must(store.OpenEvents(ctx, x.audit))
	rec, err := recorder.New(ctx, recorder.Config{Org: x.Node.Org, State: x.state, Audit: x.audit, Events: x.Events, Pins: x.pins,
		Signer:        func(context.Context) (envelope.Signer, string, error) { return x.issuer, x.kid(), nil },
		WitnessSigner: func(context.Context) (envelope.Signer, error) { return x.witness, nil },
		Ring:          recorder.RingOf(x.Ring), Member: func(did.DID) bool { return true },
		OnHead: func(h recorder.HeadNews) {
			if h.Org == x.Node.Org {
				x.wake()
			}
		},
		Now: w.Now, Log: x.Log})
	if err != nil {
		w.T.Fatal(err)
	}
	x.Rec = rec
	x.Clock = self.NewClock(w.Now, time.Time{})
	x.Signers, x.Standing, x.Peers = signers{x}, standing{w}, peers{x}
	var done sync.WaitGroup
	done.Go(func() {
		if err := rec.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			w.T.Errorf("recorder of %s: %v", x.Name, err)
		}
	})
	done.Go(func() { x.cosigned(ctx, rec) })
	x.stop = func() { cancel(); done.Wait() }
}

// Restart stops a node and opens it again over the same databases.
func (x *Org) Restart() {
	x.Online.Store(false)
	x.stop()
	x.W.start(x)
	x.Online.Store(true)
	x.wake()
}

func (x *Org) wake() {
	select {
	case x.news <- struct{}{}:
	default:
	}
}

// Cosign has the own head offered to everybody again.
func (x *Org) Cosign() { x.wake() }

// cosigned has every new head cosigned by whoever is awake.
func (x *Org) cosigned(ctx context.Context, rec *recorder.Recorder) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.news:
		}
		if !x.Online.Load() {
			continue
		}
		for _, y := range x.W.Orgs {
			if y != x && y.Online.Load() && !y.Asleep.Load() {
				_ = rec.Cosign(ctx, y.Node.Org, witness{y, x.Node.Org})
			}
		}
	}
}

type witness struct {
	y  *Org
	of did.DID
}

func (c witness) Cosign(ctx context.Context, _ did.DID, request []byte) (int, []byte, error) {
	return c.y.Rec.WitnessAnswer(ctx, c.of, request)
}

type signers struct{ x *Org }

func (s signers) Issuer(context.Context) (envelope.Signer, string, error) {
	return s.x.issuer, s.x.kid(), nil
}

func (s signers) Agent(_ context.Context, d did.DID) (envelope.Signer, string, error) {
	k, ok := s.x.agents[d]
	if !ok {
		return nil, "", self.ErrNoKey
	}
	return k, k.Public().Multikey(), nil
}

func (s signers) NewAgent(context.Context) (envelope.Signer, error) { return nil, self.ErrNoKey }

type standing struct{ w *World }

func (s standing) Charter() (charter.Chain, bool) { return s.w.Chain, true }

func (s standing) State(time.Time) (federation.State, []federation.Reason, federation.Allowed) {
	return federation.Fresh, nil, federation.Allowed{LiveReads: true, NewLoans: true, OwnLoans: true, OwnLog: true, Beacon: true}
}

func (s standing) ChartersFrom(seq uint64) []envelope.Envelope { return s.w.charters[seq:] }
