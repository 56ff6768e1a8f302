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

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/federation/bundle"
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
	node *Node // guarded by mu; of the present run

	mu      sync.Mutex
	fed     envelope.ID
	seq     uint64
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
	gates   map[string]func() // called before an operation, by name
}

func orgDID(i int) did.DID { return did.MustParse(fmt.Sprintf("did:web:org%d.example", i)) }

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
		missing: map[envelope.ID]Want{}, shown: map[did.DID]federation.AboutYou{}, gates: map[string]func(){},
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
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status[o.me] = "active"
	if withKeys {
		h.idlogs[o.me] = slices.Clone(o.idlogs[o.me])
	}
	if withBinding {
		h.bound[o.me] = o.bound[o.me]
	}
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
	return Head{
		Federation: h.fed, Charter: federation.CharterRef{ID: envelope.IDOf(fmt.Appendf(nil, "charter %d", h.seq)), Seq: h.seq},
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

// charters: this home's charters change by change alone

func (h *home) After(context.Context, uint64) ([]envelope.Envelope, error) { return nil, nil }

type chartersOf struct{ *home }

func (chartersOf) Offer(context.Context, envelope.Envelope) (Outcome, error) { return Held, nil }

// identities

type identitiesOf struct{ *home }

func (h *home) version(d did.DID) string {
	if n := len(h.idlogs[d]); n > 0 {
		return fmt.Sprintf("%d-x", n)
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

// memLog is one log in memory.
type memLog struct {
	entries []attestation.Entry
	hashes  []tlog.Hash // stored hashes
	note    []byte
	notes   map[uint64]attlog.Note
}

func (l *memLog) ReadHashes(at []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(at))
	for i, x := range at {
		if x >= int64(len(l.hashes)) {
			return nil, fmt.Errorf("hash %d of %d", x, len(l.hashes))
		}
		out[i] = l.hashes[x]
	}
	return out, nil
}

func (l *memLog) add(e attestation.Entry) {
	hs, err := tlog.StoredHashesForRecordHash(int64(len(l.entries)), e.Hash(), l)
	if err != nil {
		panic(err)
	}
	l.entries, l.hashes = append(l.entries, e), append(l.hashes, hs...)
}

// snapshot is a log at one size.
type snapshot struct{ memLog }

func (s *snapshot) Head() (attestation.Head, []byte) {
	h, err := attlog.RootAt(uint64(len(s.entries)), &s.memLog)
	if err != nil {
		panic(err)
	}
	return h, s.note
}

func (s *snapshot) Find(_ context.Context, id envelope.ID) (uint64, error) {
	for i, e := range s.entries {
		if e.ID() == id {
			return uint64(i), nil
		}
	}
	return 0, attestation.ErrNotFound
}

func (s *snapshot) Entries(_ context.Context, from, to uint64, yield func(uint64, attestation.Entry) error) error {
	if to > uint64(len(s.entries)) {
		return &attestation.Beyond{Size: uint64(len(s.entries))}
	}
	for i := from; i < to; i++ {
		if err := yield(i, s.entries[i]); err != nil {
			return err
		}
	}
	return nil
}

type logsOf struct{ *home }

func (h logsOf) Orgs(context.Context) ([]did.DID, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.logs)), nil
}

func (h logsOf) Log(_ context.Context, d did.DID) (attestation.Log, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.logs[d]
	if !ok {
		return nil, attestation.ErrNotFound
	}
	return &snapshot{memLog{entries: slices.Clip(l.entries), hashes: slices.Clip(l.hashes), note: l.note}}, nil
}

func (h logsOf) Notes(_ context.Context, d did.DID, from, to uint64, most int) (out [][]byte, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.logs[d]
	if !ok {
		return nil, attestation.ErrNotFound
	}
	for _, size := range slices.Sorted(maps.Keys(l.notes)) {
		if n := l.notes[size]; size > from && size <= to && len(n.Lines) > 1 && len(out) < most {
			out = append(out, n.Bytes())
		}
	}
	return out, nil
}

func (h *home) size(d did.DID) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.logs[d]; l != nil {
		return uint64(len(l.entries))
	}
	return 0
}

// witnesses says by whom the log of d was cosigned at its newest head.
func (h *home) witnesses(d did.DID) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.logs[d]; l != nil {
		n = max(0, len(l.notes[uint64(len(l.entries))].Lines)-1)
	}
	return n
}

// intake

func (h logsOf) Ingest(_ context.Context, p attestation.Package) (Outcome, error) {
	h.gate("ingest")
	note, err := attlog.ParseNote(p.Note)
	if err != nil || note.Org != p.Did {
		return False, fmt.Errorf("note: %v", err)
	}
	k, ok := h.key(p.Did)
	if !ok || note.Verify(k) != nil {
		return Parked, nil
	}
	h.mu.Lock()
	l, ok := h.logs[p.Did]
	if !ok {
		l = &memLog{notes: map[uint64]attlog.Note{}}
		h.logs[p.Did] = l
	}
	o, err := l.ingest(p, note)
	if o == Taken {
		for _, e := range p.Entries {
			h.named(p.Did, e)
		}
	}
	h.mu.Unlock()
	if o == Taken {
		h.tell(p.Did, false)
	}
	return o, err
}

func (l *memLog) ingest(p attestation.Package, note attlog.Note) (Outcome, error) {
	held, end := uint64(len(l.entries)), p.From+uint64(len(p.Entries))
	if end <= held {
		return Held, nil
	}
	if p.From > held {
		return Behind, nil
	}
	edge, err := attlog.ReadRange(0, held, l)
	if err != nil {
		return 0, err
	}
	fresh := p.Entries[held-p.From:]
	for _, e := range fresh {
		if err := edge.Append(e.Hash()); err != nil {
			return 0, err
		}
	}
	rest, err := attlog.ParseRange(end, note.Head.Size, p.Rest)
	if err != nil {
		return False, err
	}
	if err := edge.Join(rest); err != nil {
		return False, err
	}
	if root, err := edge.Root(); err != nil || root != note.Head.Root {
		return False, fmt.Errorf("root %v, %v", root, err)
	}
	for _, e := range fresh {
		l.add(e)
	}
	if end == note.Head.Size {
		l.note = note.Bytes()
		l.merge(note)
	}
	return Taken, nil
}

// named notes what an entry says is missing here. h.mu is held.
func (h *home) named(d did.DID, e attestation.Entry) {
	_, ev, err := e.Envelope()
	if err != nil {
		h.t.Errorf("entry: %v", err)
		return
	}
	if !ev.Body.IsZero() && h.things[ev.Body] == nil {
		h.missing[ev.Body] = Want{ID: ev.Body, From: d, Body: true}
	}
	for _, id := range ev.Refs {
		if h.things[id] == nil {
			h.missing[id] = Want{ID: id, From: d}
		}
	}
}

// merge keeps the log's line and each witness's earliest one.
func (l *memLog) merge(n attlog.Note) bool {
	old, ok := l.notes[n.Head.Size]
	if !ok {
		old = attlog.Note{Org: n.Org, Head: n.Head}
	}
	all := old.With(n.Lines...)
	slices.SortFunc(all.Lines, func(a, b attlog.Line) int {
		_, aw := a.Witness()
		_, bw := b.Witness()
		switch {
		case aw != bw && !aw:
			return -1
		case aw != bw:
			return 1
		}
		return cmp.Or(cmp.Compare(a.Name, b.Name), slices.Compare(a.Sig, b.Sig)) // the time is what Sig begins with
	})
	all.Lines = slices.CompactFunc(all.Lines, func(a, b attlog.Line) bool { return a.Name == b.Name })
	l.notes[n.Head.Size] = all
	if n.Head.Size == uint64(len(l.entries)) {
		l.note = all.Bytes()
	}
	return string(all.Bytes()) != string(old.Bytes())
}

func (h logsOf) Merge(_ context.Context, d did.DID, b []byte) (Outcome, error) {
	n, err := attlog.ParseNote(b)
	if err != nil || n.Org != d {
		return False, fmt.Errorf("note: %v", err)
	}
	k, ok := h.key(d)
	if !ok || n.Verify(k) != nil {
		return Parked, nil
	}
	good, _ := n.Cosignatures(func(w did.DID) []did.PublicKey {
		k, _ := h.key(w)
		return []did.PublicKey{k}
	})
	own, _ := n.LogLine(k)
	n.Lines = []attlog.Line{own}
	for _, c := range good {
		n.Lines = append(n.Lines, c.Line)
	}
	h.mu.Lock()
	l := h.logs[d]
	if l == nil || n.Head.Size > uint64(len(l.entries)) {
		h.mu.Unlock()
		return Behind, nil
	}
	if root, err := attlog.RootAt(n.Head.Size, l); err != nil || root != n.Head {
		h.mu.Unlock()
		return Forked, fmt.Errorf("root %v, %v", root, err)
	}
	news := l.merge(n)
	h.mu.Unlock()
	if !news {
		return Held, nil
	}
	h.tell(d, false)
	return Taken, nil
}

func (h logsOf) Edge(d did.DID) attlog.Range {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.logs[d]
	if l == nil {
		return attlog.NewRange(0)
	}
	r, err := attlog.ReadRange(0, uint64(len(l.entries)), l)
	if err != nil {
		panic(err)
	}
	return r
}

func (h logsOf) HeadKeys(d did.DID) []did.PublicKey {
	if k, ok := h.key(d); ok {
		return []did.PublicKey{k}
	}
	return nil
}

// say appends own events, signs the head and tells the node.
func (h *home) say(prompt bool, events ...attestation.Event) {
	h.t.Helper()
	ctx := context.Background()
	h.mu.Lock()
	l := h.logs[h.me]
	for _, ev := range events {
		ev.At, ev.Kid, ev.Org, ev.Data = envelope.TimeOf(time.Now()), h.sign.Public().Multikey(), h.me, envelope.Raw("{}")
		ev.Nonce, ev.Type = "oKCgoKCgoKCgoKCgoKCgoA", cmp.Or(ev.Type, "test.said")
		if ev.Subject == "" {
			ev.Subject = envelope.IDOf(fmt.Appendf(nil, "%d", len(l.entries))).String()
		}
		env, err := envelope.Seal(ctx, ev, h.sign)
		if err != nil {
			h.t.Fatal(err)
		}
		e, err := attestation.EntryOf(env)
		if err != nil {
			h.t.Fatal(err)
		}
		l.add(e)
	}
	head, err := attlog.RootAt(uint64(len(l.entries)), l)
	if err != nil {
		h.t.Fatal(err)
	}
	n, err := attlog.Sign(ctx, h.sign, h.me, head)
	if err != nil {
		h.t.Fatal(err)
	}
	l.note = n.Bytes()
	l.merge(n)
	h.mu.Unlock()
	h.tell(h.me, prompt)
}

func some(n int) []attestation.Event { return make([]attestation.Event, n) }

// witnessing

type witnessingOf struct{ *home }

func (h witnessingOf) Cosign(ctx context.Context, w did.DID) error {
	h.mu.Lock()
	l, node := h.logs[h.me], h.node
	n, ok := l.notes[uint64(len(l.entries))]
	h.mu.Unlock()
	if !ok {
		return nil
	}
	req := attlog.Request{Note: attlog.Note{Org: n.Org, Head: n.Head, Lines: n.Lines[:1]}}
	status, body, err := node.Cosign(ctx, w, req.Bytes())
	if err != nil {
		return err
	}
	if status != attlog.StatusCosigned {
		return fmt.Errorf("status %d", status)
	}
	lines, err := attlog.ParseLines(string(body))
	if err != nil {
		return err
	}
	_, err = logsOf(h).Merge(ctx, h.me, req.Note.With(lines...).Bytes())
	return err
}

func (h witnessingOf) Answer(ctx context.Context, d did.DID, request []byte) (int, []byte, error) {
	req, err := attlog.ParseRequest(request)
	if err != nil || req.Note.Org != d {
		return attlog.StatusMalformed, nil, nil
	}
	line, err := attlog.Cosign(ctx, h.sign, h.me, req.Note, time.Now())
	if err != nil {
		return 0, nil, err
	}
	_, err = logsOf(h).Merge(ctx, d, req.Note.With(line).Bytes())
	return attlog.StatusCosigned, []byte(line.String()), err
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
