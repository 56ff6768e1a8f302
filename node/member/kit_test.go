package member

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/keys"
	"trustnode/did/pins"
	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/recorder"
	"trustnode/node/self"
	"trustnode/node/store"
)

// dial is a clock that tests turn: wall and monotonic time go together.
type dial struct {
	mu  sync.Mutex
	now time.Time
}

var t0 = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

func newDial() *dial { return &dial{now: t0} }

func (d *dial) Now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *dial) Mono() time.Duration { return d.Now().Sub(t0) }

func (d *dial) turn(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by)
}

// org is an organization with all that outlives its process.
type org struct {
	t            testing.TB
	name         string
	did          did.DID
	clock        *dial
	state, audit store.DB
	pins         pins.Pins
	keys, update *keys.Store
	witness      did.PublicKey
	recovery     envelope.Signer

	ended map[did.DID]charter.Member // records that no rule of package charter lets a charter have yet
	reach map[did.DID]*org           // whose node answers
	lies  []byte                     // what this node says as a witness, instead of a proof
	*Member
	node   *self.Node
	events *store.Events
	stop   func()
	tweak  func(*Config) // what a test changes of the configuration
}

func key(t testing.TB, s *keys.Store) envelope.Signer {
	t.Helper()
	k, err := s.Generate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// found makes an organization and starts its node.
func found(t testing.TB, name string, clock *dial) *org {
	t.Helper()
	o := &org{t: t, name: name, clock: clock, state: store.Memory(), audit: store.Memory(), pins: pins.Memory(), stop: func() {}, reach: map[did.DID]*org{}}
	var err error
	for _, s := range []**keys.Store{&o.keys, &o.update} {
		if *s, err = keys.Memory(); err != nil {
			t.Fatal(err)
		}
	}
	issuer, update, next, paper := key(t, o.keys), key(t, o.update), key(t, o.update), newPaper(t)
	o.witness, o.recovery = key(t, o.keys).Public(), paper.Signer()
	var line []byte
	o.did, line, err = didwebvh.Create(t.Context(), didwebvh.CreateRequest{Domain: name + ".example", Update: update, Next: next.Public(),
		Recovery: paper.Public(), Issuer: issuer.Public(), At: clock.Now(),
		Services: []didwebvh.Service{{Name: didwebvh.WitnessService, Type: didwebvh.WitnessType, Endpoint: "did:key:" + o.witness.Multikey()}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.New(store.NewRing(o.state), o.pins, clock.Now).Offer(t.Context(), o.did, append(line, '\n'), nil); err != nil {
		t.Fatal(err)
	}
	o.start()
	return o
}

// start opens the node over what is kept; running it again is a restart.
func (o *org) start() {
	o.t.Helper()
	o.stop()
	ctx := o.t.Context()
	ring := keyring.New(store.NewRing(o.state), o.pins, o.clock.Now)
	var below *keyring.Below // of a partner's DID: the node starts, and trusts it again once it is synced
	if err := ring.Load(ctx); err != nil && !errors.As(err, &below) {
		o.t.Fatal(err)
	}
	if err := FinishPinned(ctx, o.state, ring, o.did); err != nil {
		o.t.Fatal(err)
	}
	if _, err := ring.Head(ctx, o.did); err != nil {
		o.t.Fatal(err)
	}
	events, err := store.OpenEvents(ctx, o.audit)
	if err != nil {
		o.t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	sign := &signers{o.did, o.keys, ring, o.state}
	rec, err := recorder.New(ctx, recorder.Config{Org: o.did, State: o.state, Audit: o.audit, Events: events, Pins: o.pins, Signer: sign.Issuer,
		SignerOf: sign.byKid, Ring: recorder.RingOf(ring), Bounds: func(d did.DID) recorder.Bounds {
			if r, ok := o.ended[d]; ok {
				return boundsOf(r)
			}
			return recorder.Bounds{}
		}, Now: o.clock.Now, Log: log})
	if err != nil {
		o.t.Fatal(err)
	}
	o.node = &self.Node{Org: o.did, Name: o.name, DB: o.state, Rec: rec, Ring: ring, Lib: library.New(o.state), Signers: sign,
		Clock: self.NewClock(o.clock.Now, o.clock.Now()), Log: log, Peers: self.Offline{}}
	seed, err := o.keys.HostKey(ctx)
	if err != nil {
		o.t.Fatal(err)
	}
	host, _, err := federation.NodeSigner(seed)
	if err != nil {
		o.t.Fatal(err)
	}
	o.events = events
	cfg := Config{Pins: o.pins, HostKey: host, Listen: []string{"/ip4/127.0.0.1/tcp/8601"}, Software: "trustnode/test",
		Mono: o.clock.Mono, Size: o.size, NewKey: o.keys.Generate, DropKey: o.keys.Delete, Holds: func(ctx context.Context, k did.PublicKey) bool { _, err := o.keys.Signer(ctx, k); return err == nil }, Witness: o.witnessSigner, Endorse: o.endorse}
	if o.tweak != nil {
		o.tweak(&cfg)
	}
	o.Member, err = New(ctx, o.node, cfg)
	if err != nil {
		o.t.Fatal(err)
	}
	o.node.Standing = o.Member
	run, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- rec.Run(run) }()
	o.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			o.t.Errorf("%s: recorder ended with %v", o.name, err)
		}
	})
	o.t.Cleanup(o.stop)
}

func newPaper(t testing.TB) *keys.Recovery {
	t.Helper()
	r, err := keys.NewRecovery()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (o *org) witnessSigner(ctx context.Context, k did.PublicKey) (envelope.Signer, error) {
	if k != o.witness {
		return nil, self.ErrNoKey
	}
	return o.keys.Signer(ctx, k)
}

// endorse asks the nodes of other organizations, as the daemon does through gossip.
func (o *org) endorse(ctx context.Context, members []did.DID, line []byte) []Endorsement {
	var out []Endorsement
	for _, d := range members {
		out = append(out, o.endorseOne(ctx, d, line))
	}
	return out
}

func (o *org) endorseOne(ctx context.Context, d did.DID, line []byte) Endorsement {
	to := o.reach[d]
	if to == nil {
		return Endorsement{Err: federation.ErrUnreachable}
	}
	if to.lies != nil {
		return Endorsement{Status: 200, Body: to.lies}
	}
	proof, err := to.WitnessEntry(ctx, o.did, line)
	var other *Witnessed
	switch code := fault.Of(err); {
	case err == nil:
		return Endorsement{Status: 200, Body: proof}
	case errors.As(err, &other):
		return Endorsement{Status: 409, Body: []byte(other.Version)}
	case code == fault.NotFound:
		return Endorsement{Status: 404, Body: []byte("behind")}
	}
	return Endorsement{Status: 403, Body: []byte("refused")}
}

func (o *org) size(d did.DID) uint64 {
	l, err := o.events.Log(context.Background(), d)
	if err != nil {
		return 0
	}
	h, _ := l.Head()
	return h.Size
}

// signers finds keys as the daemon does.
type signers struct {
	org  did.DID
	keys *keys.Store
	ring *keyring.Ring
	db   store.DB
}

func (s *signers) Issuer(ctx context.Context) (envelope.Signer, string, error) {
	v, err := s.ring.Head(ctx, s.org)
	if err != nil {
		return nil, "", err
	}
	listed, err := s.ring.At(s.org, v.ID)
	if err != nil {
		return nil, "", err
	}
	for _, k := range listed {
		if signer, err := s.keys.Signer(ctx, k); err == nil {
			return signer, k.Multikey(), nil
		}
	}
	return nil, "", self.ErrNoKey
}

func (s *signers) byKid(ctx context.Context, kid string) (envelope.Signer, error) {
	k, err := did.DecodeKey(kid)
	if err != nil {
		return nil, err
	}
	return s.keys.Signer(ctx, k)
}

func (s *signers) Agent(ctx context.Context, d did.DID) (envelope.Signer, string, error) {
	a, err := self.Agent(self.ViewGetter(ctx, s.db), d)
	if err != nil {
		return nil, "", err
	}
	signer, err := s.keys.Signer(ctx, a.Pub)
	if errors.Is(err, keys.ErrNoKey) {
		return nil, "", self.ErrNoKey
	}
	return signer, a.KID, err
}

func (s *signers) NewAgent(ctx context.Context) (envelope.Signer, error) { return s.keys.Generate(ctx) }

// trio is acme, vendor and arbiter.
func trio(t *testing.T, clock *dial) (acme, vendor, arbiter *org) {
	t.Helper()
	return found(t, "acme", clock), found(t, "vendor", clock), found(t, "arbiter", clock)
}

func (o *org) join(votes bool) []byte {
	o.t.Helper()
	d, err := o.JoinRequest(o.t.Context(), votes, nil)
	if err != nil {
		o.t.Fatalf("%s: join: %v", o.name, err)
	}
	return d.Data
}

func (o *org) sign(file []byte) Draft {
	o.t.Helper()
	d, err := o.Sign(o.t.Context(), file, nil)
	if err != nil {
		o.t.Fatalf("%s: sign: %v", o.name, err)
	}
	return d
}

func (o *org) apply(file []byte) Applied {
	o.t.Helper()
	a, err := o.Apply(o.t.Context(), file, "")
	if err != nil {
		o.t.Fatalf("%s: apply: %v", o.name, err)
	}
	return a
}

// draft is the genesis of the trio, by acme, the arbiter its mediator.
func draftOf(t *testing.T, acme, vendor, arbiter *org) Draft {
	t.Helper()
	d, err := acme.Create(t.Context(), CreateInput{Name: "fin-lending", With: [][]byte{vendor.join(true), arbiter.join(true)}, Mediators: [][]byte{arbiter.join(true)}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// federated brings the trio to charter 0.
func federated(t *testing.T, clock *dial) (acme, vendor, arbiter *org) {
	t.Helper()
	acme, vendor, arbiter = trio(t, clock)
	f := draftOf(t, acme, vendor, arbiter).Data
	all := []*org{acme, vendor, arbiter}
	for _, o := range all {
		f = o.sign(f).Data
	}
	for _, o := range all {
		o.apply(f)
	}
	return acme, vendor, arbiter
}

func (o *org) beacon() envelope.Envelope {
	o.t.Helper()
	e, err := o.MakeBeacon(o.t.Context())
	if err != nil {
		o.t.Fatalf("%s: beacon: %v", o.name, err)
	}
	return e
}

func (o *org) take(e envelope.Envelope) {
	o.t.Helper()
	if err := o.TakeBeacon(o.t.Context(), e); err != nil {
		o.t.Fatalf("%s: take beacon: %v", o.name, err)
	}
}

func (o *org) stateNow() federation.State {
	s, _, _ := o.State(o.clock.Now())
	return s
}

// logTo brings the log of o to another organization.
func (o *org) logTo(to *org) {
	o.t.Helper()
	ctx := o.t.Context()
	if err := o.node.Rec.Flush(ctx); err != nil {
		o.t.Fatal(err)
	}
	for to.size(o.did) < o.size(o.did) {
		p, err := o.node.Rec.Package(ctx, o.did, to.size(o.did), o.size(o.did))
		if err != nil {
			o.t.Fatal(err)
		}
		if res, err := to.node.Rec.Ingest(ctx, p); err != nil || res.Verdict != recorder.Accepted {
			o.t.Fatalf("log of %s at %s: %v, %v", o.name, to.name, res.Verdict, err)
		}
	}
}

// didTo brings the DID log of o to another organization.
func (o *org) didTo(to *org) {
	o.t.Helper()
	log, err := o.node.Ring.Log(o.t.Context(), o.did, 0)
	if err != nil {
		o.t.Fatal(err)
	}
	witness, err := o.node.Ring.Witness(o.t.Context(), o.did)
	if err != nil {
		o.t.Fatal(err)
	}
	if _, err := to.node.Ring.Offer(o.t.Context(), o.did, log, witness); err != nil {
		o.t.Fatal(err)
	}
	if err := to.node.Rec.Recheck(o.t.Context(), o.did); err != nil {
		o.t.Fatal(err)
	}
}

// project applies what is logged and judged.
func (o *org) project() {
	o.t.Helper()
	if err := o.node.Rec.Flush(o.t.Context()); err != nil && !errors.Is(err, recorder.ErrRecovering) {
		o.t.Fatal(err)
	}
	if err := o.Project(o.t.Context()); err != nil {
		o.t.Fatalf("%s: project: %v", o.name, err)
	}
}

// object is a stored agent object.
func (o *org) object(id envelope.ID) envelope.Envelope {
	o.t.Helper()
	obj, err := o.node.Lib.Get(o.t.Context(), id)
	if err != nil {
		o.t.Fatal(err)
	}
	e, err := envelope.ParseDSSE(obj.Bytes, 1<<20)
	if err != nil {
		o.t.Fatal(err)
	}
	return e
}

// eventTypes lists the types in the own log, in order.
func (o *org) eventTypes() []string {
	o.t.Helper()
	if err := o.node.Rec.Flush(o.t.Context()); err != nil {
		o.t.Fatal(err)
	}
	var out []string
	for f, err := range o.node.Rec.Facts(o.t.Context(), attestation.Query{Org: o.did}) {
		if err != nil {
			o.t.Fatal(err)
		}
		out = append(out, string(f.Event.Body().Type))
	}
	return out
}

// refusedAs checks code and reason of a refusal, and that it has a hint.
func refusedAs(t testing.TB, err error, code fault.Code, reason string) {
	t.Helper()
	var d *fault.Denied
	if !errors.As(err, &d) {
		t.Fatalf("got %v, want a refusal %s, %s", err, code, reason)
	}
	if d.Code != code || d.Reason != reason || d.Hint == "" {
		t.Errorf("got %s, %s, hint %q (%v), want %s, %s and a hint", d.Code, d.Reason, d.Hint, err, code, reason)
	}
}
