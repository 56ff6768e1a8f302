package gossip

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
)

// home is what one organization's node keeps over restarts: a small but honest
// implementation of every interface of this package. Its DID log is lines
// "N key"; it signs heads, cosignatures and beacons with that key.
type home struct {
	t    testing.TB
	me   did.DID
	sign envelope.Signer
	peer federation.PeerID
	host envelope.Signer
	node *Node      // guarded by mu; of the present run
	ids  Identities // instead of the DID logs below, where a test has real ones

	mu      sync.Mutex // guards all below
	fed     envelope.ID
	seq     uint64
	chain   []envelope.Envelope // accepted charters, where a test has real ones
	status  map[did.DID]string
	addrs   []string
	changed chan struct{}
	idlogs  map[did.DID][]string
	bound   map[did.DID]envelope.Envelope
	beacons map[did.DID]envelope.Envelope
	heard   map[did.DID]time.Time
	logs    map[did.DID]*memLog
	things  map[envelope.ID]bundle.Line
	readers map[envelope.ID][]did.DID // nil: everybody
	missing map[envelope.ID]Want
	n       uint64 // of the own newest beacon
	start   bool   // recovering since start: nobody confirmed our numbers
	shown   map[did.DID]federation.AboutYou
	served  []string
	twos    map[did.DID]int      // how often a head of an organization contradicted its log
	parts   map[did.DID][]uint64 // sizes up to which another log of it was the one held
	gates   map[string]func()    // called before an operation, by name
	others  map[did.DID]*memLog  // another branch of a log, with what both have
	room    int                  // how many entries of another branch fit; 0: all
	tried   int                  // how many packages went to another branch and did not fit
}

func orgDID(i int) did.DID {
	name := fmt.Sprintf("org%d", i)
	return did.MustParse("did:webvh:" + scid(name) + ":" + name + ".example")
}

func scid(name string) string { return envelope.IDOf([]byte(name)).String()[1:] }

func seedOf(what string, i int) []byte {
	s := sha256.Sum256(fmt.Appendf(nil, "%s %d", what, i))
	return s[:]
}

func newHome(t testing.TB, i int) *home {
	t.Helper()
	sign, _, err := federation.NodeSigner(seedOf("organization", i))
	if err != nil {
		t.Fatal(err)
	}
	host, peer, err := federation.NodeSigner(seedOf("node", i))
	if err != nil {
		t.Fatal(err)
	}
	h := &home{
		t: t, me: orgDID(i), sign: sign, host: host, peer: peer, fed: envelope.IDOf([]byte("federation")),
		status: map[did.DID]string{}, changed: make(chan struct{}), idlogs: map[did.DID][]string{},
		bound: map[did.DID]envelope.Envelope{}, beacons: map[did.DID]envelope.Envelope{}, heard: map[did.DID]time.Time{},
		logs: map[did.DID]*memLog{}, things: map[envelope.ID]bundle.Line{}, readers: map[envelope.ID][]did.DID{},
		missing: map[envelope.ID]Want{}, shown: map[did.DID]federation.AboutYou{}, parts: map[did.DID][]uint64{}, twos: map[did.DID]int{}, others: map[did.DID]*memLog{}, gates: map[string]func(){},
	}
	h.idlogs[h.me] = []string{"1 " + sign.Public().Multikey()}
	h.logs[h.me] = &memLog{notes: map[uint64]attlog.Note{}}
	return h
}

// bind makes the own binding.
func (h *home) bind(serial uint64) envelope.Envelope {
	h.t.Helper()
	now := time.Now()
	b := federation.Binding{
		Addrs: h.addrs, At: envelope.TimeOf(now), DIDVersion: "1-x", ExpiresAt: envelope.TimeOf(now.Add(80 * 24 * time.Hour)),
		Federation: h.fed, Generation: 1, Kid: h.sign.Public().Multikey(), NotBefore: envelope.TimeOf(now), Org: h.me,
		PeerID: h.peer, Roles: []federation.Role{federation.RoleWriter}, Serial: serial,
	}
	e, err := federation.SealBinding(h.t.Context(), b, h.sign, h.host)
	if err != nil {
		h.t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bound[h.me] = e
	return e
}

// knows makes h know another organization as after a charter taken from a file.
func (h *home) knows(o *home, withKeys, withBinding bool) {
	idlog, binding := o.own()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status[o.me] = "active"
	if withKeys {
		h.idlogs[o.me] = idlog
	}
	if withBinding {
		h.bound[o.me] = binding
	}
}

// own returns the home's DID log and binding.
func (h *home) own() ([]string, envelope.Envelope) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.idlogs[h.me]), h.bound[h.me]
}

// forks says how often a head of d contradicted the log held.
func (h *home) forks(d did.DID) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.twos[d]
}

// partings are the sizes from which other logs of d were found to be other ones.
func (h *home) partings(d did.DID) []uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.parts[d])
}

func (h *home) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	close(h.changed)
	h.changed = make(chan struct{})
}

// gate runs what a test put before an operation.
func (h *home) gate(name string) {
	h.mu.Lock()
	f := h.gates[name]
	h.mu.Unlock()
	if f != nil {
		f()
	}
}

func (h *home) tell(d did.DID, prompt bool) {
	h.mu.Lock()
	n, l := h.node, h.logs[d]
	news := NewHead{Org: d, Size: uint64(len(l.entries)), Note: slices.Clone(l.note), Prompt: prompt}
	h.mu.Unlock()
	if n != nil {
		n.NewHead(news)
	}
}

// members

func (h *home) Head() (Head, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ref := federation.CharterRef{ID: envelope.IDOf(fmt.Appendf(nil, "charter %d", h.seq)), Seq: h.seq}
	if len(h.chain) > 0 {
		ref.ID = h.chain[h.seq].ID()
	}
	return Head{
		Federation: h.fed, Charter: ref,
		BeaconEvery: 300 * time.Second, Skew: 120 * time.Second, Spec: federation.Spec{Min: 1, Max: 1},
	}, true
}

func (h *home) Status(d did.DID) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status[d]
}

func (h *home) Peers() (out []federation.Peer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for d, e := range h.bound {
		b, err := envelope.Decode[federation.Binding](e)
		if err == nil && d != h.me && h.status[d] == "active" {
			out = append(out, b.Peer())
		}
	}
	return out
}

func (h *home) Changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// greeter

func (h *home) Hello(_ context.Context, to did.DID) (federation.Hello, error) {
	head, _ := h.Head()
	h.mu.Lock()
	defer h.mu.Unlock()
	o := federation.Hello{
		Charter: &head.Charter, DIDHead: h.version(h.me), Federation: h.fed, LogSize: uint64(len(h.logs[h.me].entries)),
		Org: h.me, Spec: head.Spec, Binding: string(h.bound[h.me].DSSE()),
	}
	if !to.IsZero() {
		o.AboutYou.Status = h.status[to]
		if b, err := envelope.Decode[federation.Beacon](h.beacons[to]); err == nil {
			o.AboutYou.BeaconN = b.N
		}
		if l := h.logs[to]; l != nil {
			o.AboutYou.LogSize = uint64(len(l.entries))
		}
	}
	return o, nil
}

func (h *home) Shown(_ context.Context, by did.DID, o federation.Hello) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shown[by] = o.AboutYou
	if o.AboutYou.BeaconN <= h.n && o.AboutYou.LogSize <= uint64(len(h.logs[h.me].entries)) {
		h.start = false
	}
}

// charters: signatures are not looked at, but who is named must be known

type chartersOf struct{ *home }

func (h chartersOf) After(_ context.Context, seq uint64) ([]envelope.Envelope, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.chain[min(int(seq)+1, len(h.chain)):]), nil
}

func (h chartersOf) Offer(_ context.Context, e envelope.Envelope) (Outcome, error) {
	b, err := envelope.Decode[charter.Body](e)
	if err != nil {
		return False, err
	}
	h.mu.Lock()
	held, parked := b.Seq < uint64(len(h.chain)), b.Seq > uint64(len(h.chain))
	for _, m := range b.Members {
		parked = parked || len(h.idlogs[m.DID]) == 0
	}
	h.mu.Unlock()
	switch {
	case held:
		return Held, nil
	case parked:
		return Parked, nil
	}
	h.apply(e, b)
	return Taken, nil
}

// apply makes a charter the head.
func (h *home) apply(e envelope.Envelope, b charter.Body) {
	h.change(func() {
		h.chain, h.seq = append(h.chain, e), b.Seq
		for _, m := range b.Members {
			h.status[m.DID] = m.Status
		}
	})
}

// identities

type identitiesOf struct{ *home }

func (h *home) version(d did.DID) string {
	if n := len(h.idlogs[d]); n > 0 {
		return fmt.Sprintf("%d-%s", n, strings.Split(d.String(), ":")[2])
	}
	return ""
}

func (h identitiesOf) Heads(context.Context) (map[did.DID]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[did.DID]string{}
	for d := range h.idlogs {
		out[d] = h.version(d)
	}
	return out, nil
}

func (h identitiesOf) Knows(_ context.Context, d did.DID, version string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := versionNumber(version)
	return n > 0 && n <= uint64(len(h.idlogs[d]))
}

func (h identitiesOf) Branches(context.Context, did.DID) ([]Branch, error) { return nil, nil }

func (h identitiesOf) Doubted(context.Context, did.DID) ([]did.DID, error) { return nil, nil }

func (h identitiesOf) Log(_ context.Context, d did.DID, after uint64) (log, witness []byte, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := h.idlogs[d]
	for _, l := range lines[min(int(after), len(lines)):] {
		log = append(append(log, l...), '\n')
	}
	return log, nil, nil
}

func (h identitiesOf) Offer(_ context.Context, d did.DID, from uint64, log, _ []byte) (Outcome, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := Held
	for i, l := range strings.Split(strings.TrimSuffix(string(log), "\n"), "\n") {
		n := from + uint64(i)
		_, key, ok := strings.Cut(l, " ")
		if _, err := did.DecodeKey(key); !ok || err != nil || l[:len(l)-len(key)-1] != fmt.Sprint(n) {
			return False, fmt.Errorf("line %d is none", n)
		}
		if n == uint64(len(h.idlogs[d]))+1 {
			h.idlogs[d] = append(h.idlogs[d], l)
			o = Taken
		}
	}
	return o, nil
}

// key returns the newest key of d.
func (h *home) key(d did.DID) (did.PublicKey, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := h.idlogs[d]
	if len(lines) == 0 {
		return did.PublicKey{}, false
	}
	_, text, _ := strings.Cut(lines[len(lines)-1], " ")
	k, err := did.DecodeKey(text)
	return k, err == nil
}

// Key implements envelope.KeySource.
func (h *home) Key(_ context.Context, d did.DID, kid string) (did.Key, error) {
	k, ok := h.key(d)
	if !ok || k.Multikey() != kid {
		return did.Key{}, fmt.Errorf("%s %s: %w", d, kid, envelope.ErrUnknownKey)
	}
	return did.Key{Public: k, Version: "1-x"}, nil
}

// bindings

type bindingsOf struct{ *home }

func (h bindingsOf) All(context.Context) ([]envelope.Envelope, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return inOrder(h.bound), nil
}

func inOrder(m map[did.DID]envelope.Envelope) (out []envelope.Envelope) {
	for _, d := range slices.SortedFunc(maps.Keys(m), func(a, b did.DID) int { return cmp.Compare(a.String(), b.String()) }) {
		out = append(out, m[d])
	}
	return out
}

func (h bindingsOf) Offer(ctx context.Context, e envelope.Envelope) (Outcome, error) {
	v, err := federation.OpenBinding(ctx, e, h.home)
	if err != nil {
		return Parked, nil
	}
	o := Held
	h.mu.Lock()
	old, err := envelope.Decode[federation.Binding](h.bound[v.Body().Org])
	newer := err != nil || v.Body().Serial > old.Serial
	h.mu.Unlock()
	if newer && v.Body().Org != h.me {
		h.change(func() { h.bound[v.Body().Org] = e })
		o = Taken
	}
	return o, nil
}

// beacons

type beaconsOf struct{ *home }

func (h beaconsOf) Make(ctx context.Context) (envelope.Envelope, error) {
	head, _ := h.Head()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.start {
		return envelope.Envelope{}, ErrAbsent
	}
	h.n++
	b := federation.Beacon{
		At: envelope.TimeOf(time.Now()), Charter: head.Charter, DIDVersion: "1-x", Federation: h.fed, Generation: 1,
		Kid: h.sign.Public().Multikey(), N: h.n, Org: h.me, Software: "test", SpecMax: 1,
	}
	for _, d := range slices.SortedFunc(maps.Keys(h.logs), func(a, b did.DID) int { return cmp.Compare(a.String(), b.String()) }) {
		b.Heads = append(b.Heads, federation.BeaconHead{DID: d, DIDHead: h.version(d), Size: uint64(len(h.logs[d].entries))})
	}
	e, err := envelope.Seal(ctx, b, h.sign)
	h.beacons[h.me] = e
	return e, err
}

func (h beaconsOf) Newest(context.Context) ([]envelope.Envelope, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return inOrder(h.beacons), nil
}

func (h beaconsOf) Take(ctx context.Context, e envelope.Envelope) (Outcome, error) {
	v, err := envelope.Open[federation.Beacon](ctx, e, h.home)
	if err != nil {
		return Parked, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	b := v.Body()
	if old, err := envelope.Decode[federation.Beacon](h.beacons[b.Org]); err == nil && old.N >= b.N {
		return Held, nil
	}
	h.beacons[b.Org], h.heard[b.Org] = e, time.Now()
	return Taken, nil
}

func (h beaconsOf) Synced(did.DID) {}

// fresh reports how many organizations were heard in this run's last 900 s.
func (h *home) fresh() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, at := range h.heard {
		if time.Since(at) < 900*time.Second {
			n++
		}
	}
	return n
}

// objects

type objectsOf struct{ *home }

func (h *home) keep(l bundle.Line, readers ...did.DID) envelope.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := lineID(l)
	h.things[id], h.readers[id] = l, readers
	return id
}

func (h *home) has(id envelope.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.things[id] != nil
}

func (h objectsOf) Give(_ context.Context, asker did.DID, id envelope.ID) (bundle.Line, error) {
	h.gate("give")
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.things[id]
	if rs := h.readers[id]; !ok || rs != nil && !slices.Contains(rs, asker) {
		return nil, ErrAbsent
	}
	return l, nil
}

func (h objectsOf) Take(_ context.Context, _ did.DID, l bundle.Line) (Outcome, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := lineID(l)
	if id.IsZero() {
		return False, fmt.Errorf("a line without id")
	}
	h.things[id], h.readers[id] = l, []did.DID{h.me} // what is taken is passed on to nobody
	delete(h.missing, id)
	return Taken, nil
}

func (h objectsOf) Wants(_ context.Context, most int) (out []Want, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.missing {
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b Want) int { return cmp.Compare(a.ID.String(), b.ID.String()) })
	return out[:min(len(out), most)], nil
}

// lender

type lenderOf struct{ *home }

func (h lenderOf) Serve(_ context.Context, from did.DID, frame []byte, send func([]byte) error, _ func()) error {
	h.mu.Lock()
	h.served = append(h.served, from.String()+" "+string(frame))
	h.mu.Unlock()
	return send([]byte("lent " + string(frame)))
}

// nowhere is a Transport that carries nothing.
type nowhere struct{}

func (nowhere) Publish(context.Context, federation.Topic, []byte) error { return federation.ErrStopped }
func (nowhere) Open(context.Context, federation.PeerID, federation.Protocol) (federation.Stream, error) {
	return nil, federation.ErrUnreachable
}
func (nowhere) Admit(context.Context, []federation.Peer) error { return nil }
func (nowhere) Run(ctx context.Context, _ federation.Handler) error {
	<-ctx.Done()
	return nil
}
