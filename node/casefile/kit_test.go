package casefile

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/attestation/history"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
	"trustnode/federation/charter"
	"trustnode/federation/lending"
	"trustnode/mediation"
)

// org is an organization with a log of its own: every event is put under a signed head
// at once, and the head is cosigned by whoever is awake.
type org struct {
	name                  string
	did                   did.DID
	key, witness          *envelopetest.Signer
	next, after, recovery *envelopetest.Signer
	version               string
	didLog                []byte
	asleep                bool // cosigns nothing

	entries []attestation.Entry
	ids     map[envelope.ID]uint64
	hashes  []tlog.Hash
	facts   []attestation.Fact
	notes   []attlog.Note // by size, from 1
	keys    history.Keys
	rows    [][]byte // not yet under an audit.rows
}

// agentOf is an agent of an organization.
type agentOf struct {
	did    did.DID
	kid    string
	key    *envelopetest.Signer
	object envelope.ID
}

// world is a federation in memory. It is a Source that holds everything.
type world struct {
	t       testing.TB
	now     time.Time
	ring    *ring
	orgs    []*org
	charter []envelope.Envelope
	chain   charter.Chain
	bodies  map[envelope.ID][]byte
	objects map[envelope.ID]envelope.Envelope
	rows    map[envelope.ID]audit.RowProof
	where   map[envelope.ID]mediation.Where // of a row
	seed    byte
	nonces  int

	acme, vendor, arbiter *org
	research, quant       agentOf
	perm, revoked         envelope.ID
	req, read             envelope.ID // the request after the end, and the one before
	denied, granted       envelope.ID // their rows
	receipt               envelope.ID // of the granted answer
	note                  envelope.ID // the vendor's text
	id                    envelope.ID // the case
}

var _ Source = (*world)(nil)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (w *world) signer() *envelopetest.Signer { w.seed++; return envelopetest.Repeat(w.seed) }

func (w *world) tick() envelope.Time {
	w.now = w.now.Add(time.Second)
	return envelope.TimeOf(w.now)
}

// nonce is 16 bytes that are never the same.
func (w *world) nonce() string {
	w.nonces++
	return attestation.FormatHashes([]tlog.Hash{tlog.RecordHash(fmt.Append(nil, w.nonces))})[:21] + "A"
}

func (w *world) salt() (s lending.Salt) {
	w.nonces++
	h := tlog.RecordHash(fmt.Append(nil, "salt", w.nonces))
	copy(s[:], h[:])
	return s
}

// newWorld makes organizations by name, with their agents and a charter that names the
// last one as mediator.
func newWorld(t testing.TB, names ...string) *world {
	w := &world{t: t, now: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC), ring: newRing(), bodies: map[envelope.ID][]byte{},
		objects: map[envelope.ID]envelope.Envelope{}, rows: map[envelope.ID]audit.RowProof{}, where: map[envelope.ID]mediation.Where{}}
	for _, n := range names {
		w.orgs = append(w.orgs, w.newOrg(n))
	}
	w.acme, w.vendor, w.arbiter = w.orgs[0], w.orgs[1], w.orgs[len(w.orgs)-1]
	w.genesis()
	for _, o := range w.orgs {
		w.event(o, attestation.Draft{Type: "log.opened", Data: attestation.LogOpened{DidVersion: o.version}})
	}
	w.research = w.newAgent(w.acme, "research", keyring.Lend)
	w.quant = w.newAgent(w.vendor, "quant", keyring.Borrow)
	return w
}

func (w *world) newOrg(name string) *org {
	o := &org{name: name, key: w.signer(), witness: w.signer(), next: w.signer(), after: w.signer(), recovery: w.signer()}
	wd := must(didkey.FromKey(o.witness.Public()))
	update := w.signer()
	d, line, err := didwebvh.Create(context.Background(), didwebvh.CreateRequest{Domain: name + ".example", Update: update, Next: o.next.Public(),
		Recovery: o.recovery.Public(), Issuer: o.key.Public(), At: w.now,
		Services: []didwebvh.Service{{Name: didwebvh.WitnessService, Type: didwebvh.WitnessType, Endpoint: wd.String()}}})
	if err != nil {
		w.t.Fatal(err)
	}
	o.did, o.didLog, o.keys = d, append(line, '\n'), history.New(d)
	o.version = must(w.ring.Offer(context.Background(), d, o.didLog, nil)).Version.ID
	return o
}

func (o *org) kid() string { return o.key.Public().Multikey() }

func (w *world) genesis() {
	var members []charter.Member
	for _, o := range w.orgs {
		id := must(didwebvh.ParseIdentifier(o.did))
		k := charter.Key{Kid: o.kid(), Pub: o.key.Public()}
		members = append(members, charter.Join{At: envelope.TimeOf(w.now), BindingsMax: 2, Contact: "mailto:it@" + o.name + ".example",
			DIDVersion: o.version, Key: k, Kid: k.Kid, Name: o.name, Nonce: w.nonce(), Org: o.did, SCID: id.SCID,
			Spec: charter.JoinSpec{Max: 1, Min: 1}, Votes: true}.Member(0))
	}
	body := must(charter.New(charter.Options{Name: "fin-lending", Members: members, Mediators: []did.DID{w.arbiter.did}}, w.now))
	body.Nonce = w.nonce()
	w.addCharter(body)
}

func (w *world) addCharter(body charter.Body) {
	e := envelope.Envelope{Type: charter.Type, Body: must(envelope.Marshal(body))}
	for _, o := range w.orgs {
		e = must(envelope.Cosign(context.Background(), e, o.key))
	}
	keys := charter.NewRing(w.ring.Ring, nil)
	var err error
	if w.chain.IsZero() {
		w.chain, _, err = charter.Genesis(e, keys, w.now)
	} else {
		w.chain, _, err = w.chain.Next(e, nil, keys, w.now)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.charter = append(w.charter, e)
}

// event signs, appends, signs the head and has it cosigned.
func (w *world) event(o *org, d attestation.Draft) envelope.ID {
	w.t.Helper()
	id := w.append(o, d)
	w.head(o)
	return id
}

// append is event without the head.
func (w *world) append(o *org, d attestation.Draft) envelope.ID {
	w.t.Helper()
	if d.Data == nil {
		d.Data = attestation.Empty{}
	}
	if d.Refs == nil {
		d.Refs = []envelope.ID{}
	}
	ev := attestation.Event{Actor: d.Actor, At: w.tick(), Data: must(envelope.Marshal(d.Data)), Kid: o.kid(), Nonce: w.nonce(),
		Org: o.did, Refs: d.Refs, Subject: d.Subject, Type: d.Type}
	if d.Body != nil {
		ev.Body = envelope.IDOf(d.Body)
		w.bodies[ev.Body] = d.Body
	}
	e := must(envelope.Seal(context.Background(), ev, o.key))
	i := uint64(len(o.entries))
	src := must(o.keys.Next(context.Background(), w.ring, i, ev))
	v := must(envelope.Open[attestation.Event](context.Background(), e, src))
	o.keys = must(o.keys.Apply(context.Background(), w.ring, i, v))
	entry := must(attestation.EntryOf(e))
	if err := attestation.CheckKnown(ev); err != nil {
		w.t.Fatal(err)
	}
	o.hashes = append(o.hashes, must(tlog.StoredHashes(int64(i), entry, hashReader(o.hashes)))...)
	o.entries = append(o.entries, entry)
	if o.ids == nil {
		o.ids = map[envelope.ID]uint64{}
	}
	o.ids[v.ID()] = i
	o.facts = append(o.facts, attestation.Fact{Event: v, Index: i, Body: d.Body})
	return v.ID()
}

type hashReader []tlog.Hash

func (h hashReader) ReadHashes(at []int64) ([]tlog.Hash, error) {
	var out []tlog.Hash
	for _, i := range at {
		out = append(out, h[i])
	}
	return out, nil
}

// head signs the head of the log and has it cosigned by everybody who is awake.
func (w *world) head(o *org) {
	h := must(attlog.RootAt(uint64(len(o.entries)), hashReader(o.hashes)))
	n := must(attlog.Sign(context.Background(), o.key, o.did, h))
	o.notes = append(o.notes, n)
	w.cosign(o)
}

// cosign has the newest head of a log cosigned and updates who has seen what.
func (w *world) cosign(o *org) {
	n := &o.notes[len(o.notes)-1]
	at := w.tick()
	for _, other := range w.orgs {
		if other == o || other.asleep || slices.ContainsFunc(n.Lines, func(l attlog.Line) bool { d, ok := l.Witness(); return ok && d == other.did }) {
			continue
		}
		n.Lines = append(n.Lines, must(attlog.Cosign(context.Background(), other.witness, other.did, *n, at.Time())))
		for i := range o.facts {
			if !slices.ContainsFunc(o.facts[i].Witnessed, func(s attestation.Seen) bool { return s.Org == other.did }) {
				o.facts[i].Witnessed = append(o.facts[i].Witnessed, attestation.Seen{Org: other.did, At: at})
			}
		}
	}
}

func (w *world) newAgent(o *org, name string, can keyring.Capability) agentOf {
	a := agentOf{key: w.signer()}
	a.did = must(didkey.FromKey(a.key.Public()))
	a.kid = a.key.Public().Multikey()
	at := w.tick()
	e := must(keyring.SealAgent(context.Background(), keyring.Agent{Agent: a.did, Capabilities: []keyring.Capability{can}, DIDVersion: o.version,
		IssuedAt: at, Key: keyring.AgentKey{Kid: a.kid, Pub: a.key.Public()}, Kid: o.kid(), Kind: keyring.KindAgent, Name: name,
		NotAfter: at.Add(30 * 24 * time.Hour), NotBefore: at, Org: o.did, Serial: 1}, o.key, a.key))
	a.object = e.ID()
	w.objects[a.object] = e
	w.event(o, attestation.Draft{Type: "agent.issued", Subject: a.did.String(), Refs: []envelope.ID{a.object},
		Data: attestation.AgentIssued{Agent: a.did, ID: a.object, Name: name, Serial: 1}})
	return a
}

// sign seals an object of an agent and keeps it.
func sign[T envelope.Body](w *world, body T, a agentOf) envelope.ID {
	w.t.Helper()
	e := must(envelope.Seal(context.Background(), body, a.key))
	w.objects[e.ID()] = e
	return e.ID()
}

// row writes an audit row of an organization.
func (w *world) row(o *org, r lending.Row) envelope.ID {
	w.t.Helper()
	b, id, err := lending.MarshalRow(r)
	if err != nil {
		w.t.Fatal(err)
	}
	o.rows = append(o.rows, b)
	return id
}

// cover puts the waiting rows into the log.
func (w *world) cover(o *org) {
	leaves := attlog.Leaves(o.rows)
	body := must(envelope.Marshal(audit.Rows{First: 1, Salt: w.nonce(), Size: uint64(len(o.rows))}))
	id := w.event(o, attestation.Draft{Type: "audit.rows", Data: attestation.AuditRows{Root: attlog.RootOf(leaves)}, Body: body})
	for i, r := range o.rows {
		leaf := uint64(i)
		w.rows[envelope.IDOf(r)] = audit.RowProof{Row: r, Event: id, Index: leaf, Size: uint64(len(leaves)), Path: must(attlog.PathOf(leaves, leaf))}
		w.where[envelope.IDOf(r)] = mediation.Where{Index: uint64(len(o.entries) - 1), Org: o.did, Row: &leaf}
	}
	o.rows = nil
}

// lend issues a loan, has it read once, revokes it, and has it asked for once more.
func (w *world) lend() {
	at := w.tick()
	w.perm = sign(w, lending.Permission{Borrower: w.quant.did, ExpiresAt: at.Add(720 * time.Hour), GoverningCharter: &lending.CharterPin{ID: w.chain.Head().ID, Seq: w.chain.Head().Seq},
		IssuedAt: at, Kid: w.research.kid, Lender: w.research.did, MaxReads: 5, Nonce: lending.Nonce{1}, Patterns: []string{"read"}, Purpose: "pressure-test strategy S7",
		Revocation: w.acme.did.String() + "#lending", Scope: lending.MustParse("tag:client:acme")}, w.research)
	w.row(w.acme, lending.IssueRow{At: at, Borrower: w.quant.did, By: w.research.did.String(), ExpiresAt: at.Add(720 * time.Hour), Hygiene: []string{}, Matches: 1, MaxReads: 5,
		Op: "issue", Patterns: []string{"read"}, Perm: w.perm, Purpose: "pressure-test strategy S7", Salt: w.salt(), Scope: lending.MustParse("tag:client:acme")})
	w.event(w.acme, attestation.Draft{Type: "loan.issued", Subject: w.perm.String(), Refs: []envelope.ID{w.perm}, Body: []byte(`{"matches":1,"salt":"` + w.nonce() + `"}`),
		Data: attestation.LoanIssued{Borrower: w.quant.did, ExpiresAt: at.Add(720 * time.Hour), Hygiene: []string{}, Lender: w.research.did, MaxReads: 5, Patterns: []string{"read"}, Permission: w.perm}})
	w.read = w.request("S7 drawdown check")
	w.granted = w.row(w.acme, lending.GrantedRow{At: w.tick(), Borrower: w.quant.did, Count: 1, Decision: "granted", Entries: []lending.Ref{}, Hash: envelope.IDOf([]byte("answer")),
		Op: "read", Perm: w.perm, Purpose: "S7 drawdown check", Request: w.read, Salt: w.salt(), Scope: "tag:client:acme", Seq: 1, Side: envelope.IDOf([]byte("side"))})
	w.receipt = sign(w, lending.Receipt{At: w.tick(), Count: 1, Hash: envelope.IDOf([]byte("answer")), Kid: w.research.kid, Left: 4, Lender: w.research.did, Op: "read", Perm: w.perm,
		Request: w.read, Row: w.granted, Seq: 1, Signed: w.research.did, State: lending.Valid}, w.research)
	w.cover(w.acme)
	w.revoke()
	w.req = w.request("again")
	w.denied = w.deny(w.req)
	w.cover(w.acme)
}

func (w *world) request(purpose string) envelope.ID {
	return sign(w, lending.ReadRequest{At: w.tick(), Aud: w.research.did, Borrower: w.quant.did, Kid: w.quant.kid, Nonce: w.salt(), Op: "read", Perm: w.perm, Purpose: purpose}, w.quant)
}

func (w *world) deny(request envelope.ID) envelope.ID {
	return w.row(w.acme, lending.DeniedRow{At: w.tick(), Borrower: w.quant.did, Code: "revoked", Decision: "denied", Op: "read", Perm: w.perm,
		Purpose: "again", Reason: "ended", Request: request, Salt: w.salt(), Scope: "tag:client:acme"})
}

func (w *world) revoke() {
	w.revoked = sign(w, lending.Revocation{At: w.tick(), Issuer: w.research.did, Kid: w.research.kid, Reason: "ended", Target: w.perm.String(), TargetKind: "permission"}, w.research)
	w.event(w.acme, attestation.Draft{Type: "loan.revoked", Subject: w.perm.String(), Refs: []envelope.ID{w.revoked},
		Data: attestation.LoanEnded{Cause: "revoked", Target: w.perm.String(), TargetKind: "permission"}})
}

// item makes an exhibit of an object, a row or a text.
func (w *world) item(n int, kind string, id envelope.ID) mediation.Item {
	it := mediation.Item{Claims: []uint64{1}, ID: id, Kind: kind, N: uint64(n)}
	if e, ok := w.objects[id]; ok {
		it.Bytes = uint64(len(e.Body))
	}
	if it.Kind == "row" || it.Kind == "event" {
		it.Where = &mediation.Where{Org: w.acme.did, Row: new(uint64)}
	}
	if p, ok := w.rows[id]; ok {
		at := w.where[id]
		it.Bytes, it.Where = uint64(len(p.Row)), &at
	}
	return it
}

// manifest lists exhibits: kind, id, kind, id, …
func (w *world) manifest(list ...any) []byte {
	var m mediation.Manifest
	for i := 0; i < len(list); i += 2 {
		m.Items = append(m.Items, w.item(i/2+1, list[i].(string), list[i+1].(envelope.ID)))
	}
	m.Salt = w.nonce()
	return must(envelope.Marshal(m))
}

func (w *world) text(s string) envelope.ID {
	b := must(envelope.Marshal(mediation.Document{Salt: w.nonce(), Text: s}))
	w.bodies[envelope.IDOf(b)] = b
	return envelope.IDOf(b)
}

func (w *world) file(acts uint64, evidence []byte) {
	at := w.tick()
	b := must(envelope.Marshal(mediation.Dispute{Against: w.vendor.did, Charter: mediation.CharterRef{ID: w.chain.Head().ID, Seq: w.chain.Head().Seq},
		Claims:   []mediation.Claim{{Acts: acts, Code: "R1", FirstAt: at, LastAt: at, N: 1, Perm: w.perm, Subject: w.quant.did}},
		Evidence: envelope.IDOf(evidence), Nonce: w.nonce(), Relief: []string{"score"}, Track: "normal"}))
	w.id = envelope.IDOf(b)
	w.step(w.acme, "dispute.filed", nil, b)
	w.evidence(w.acme, evidence)
}

// step is an event of the case.
func (w *world) step(o *org, typ attestation.Type, data any, body []byte) envelope.ID {
	return w.event(o, attestation.Draft{Type: typ, Subject: w.id.String(), Data: data, Body: body})
}

func (w *world) evidence(o *org, manifest []byte) {
	w.step(o, "dispute.evidence", attestation.DisputeEvidence{Facts: []attestation.Facts{}}, manifest)
	w.step(o, "dispute.readied", attestation.DisputeReadied{State: "drawing"}, nil)
}

func (w *world) answer() {
	b := must(envelope.Marshal(mediation.Answer{Case: w.id, Claims: []mediation.Reply{{N: 1, Reply: "deny"}}, Nonce: w.nonce()}))
	w.step(w.vendor, "dispute.answered", nil, b)
	w.note = w.text("retry loop, fixed")
	w.evidence(w.vendor, w.manifest("document", w.note))
}

func (w *world) rule() {
	seat := must(envelope.Marshal(mediation.Assignment{Case: w.id, FreeOf: []string{"dealings", "interest", "ties"}, Rung: "neutral"}))
	w.step(w.arbiter, "ruling.seated", nil, seat)
	r := mediation.Ruling{Case: w.id, Claims: []mediation.Finding{{Acts: 1, Items: []uint64{1, 2, 3, 4}, N: 1, Result: "proven", Severity: 30000}},
		Considered: w.fold().Considered(), Outcome: "claimant", Reasons: w.text("the request is signed and lies after the end"),
		Remedies: []mediation.Remedy{{Claim: 1, Do: "score", N: 1}}, Rung: "neutral", Summary: "read attempted after revocation"}
	w.step(w.arbiter, "ruling.issued", nil, must(envelope.Marshal(r)))
}

// fold is the case as the node that holds everything sees it.
func (w *world) fold() mediation.Case {
	var facts []attestation.Fact
	for _, o := range w.orgs {
		for _, f := range o.facts {
			if f.Event.Body().Subject == w.id.String() {
				facts = append(facts, f)
			}
		}
	}
	return mediation.Fold(TermsOf(w.chain, w.chain.Head().Seq), facts, w.now)
}

// story is the whole case of a road: lent, read, revoked, asked for again, disputed,
// answered and ruled.
func story(t testing.TB) *world {
	w := newWorld(t, "acme", "vendor", "arbiter")
	w.lend()
	w.file(1, w.manifest("permission", w.perm, "revocation", w.revoked, "row", w.denied, "readrequest", w.req))
	w.answer()
	w.rule()
	return w
}

func (w *world) build() []byte {
	w.t.Helper()
	return must(Build(context.Background(), w, w.id))
}

// What follows is the Source.

func (w *world) Facts(_ context.Context, q attestation.Query) iter.Seq2[attestation.Fact, error] {
	return func(yield func(attestation.Fact, error) bool) {
		for _, o := range w.orgs {
			for _, f := range o.facts {
				ev := f.Event.Body()
				fits := (q.Org.IsZero() || q.Org == ev.Org) && (q.Subject == "" || q.Subject == ev.Subject) &&
					(q.Type == "" || q.Type == ev.Type || strings.HasSuffix(string(q.Type), ".") && strings.HasPrefix(string(ev.Type), string(q.Type))) &&
					(q.Ref.IsZero() || slices.Contains(ev.Refs, q.Ref))
				if fits && !yield(f, nil) {
					return
				}
			}
		}
	}
}

func (w *world) of(d did.DID) (*org, error) {
	for _, o := range w.orgs {
		if o.did == d {
			return o, nil
		}
	}
	return nil, attestation.ErrNotFound
}

func (w *world) Log(_ context.Context, d did.DID) (attestation.Log, error) { return w.of(d) }

func (w *world) Notes(_ context.Context, d did.DID, from, to uint64, max int) ([][]byte, error) {
	o, err := w.of(d)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for _, n := range o.notes {
		if n.Head.Size > from && n.Head.Size <= to && len(n.Lines) > 1 && len(out) < max {
			out = append(out, n.Bytes())
		}
	}
	return out, nil
}

func (w *world) Body(_ context.Context, id envelope.ID) ([]byte, error) { return get(w.bodies, id) }

func (w *world) Object(_ context.Context, id envelope.ID) (envelope.Envelope, error) {
	return get(w.objects, id)
}

func (w *world) Row(_ context.Context, id envelope.ID) (audit.RowProof, error) {
	return get(w.rows, id)
}

func (w *world) DIDLog(_ context.Context, d did.DID) (log, witness []byte, err error) {
	o, err := w.of(d)
	if err != nil {
		return nil, nil, err
	}
	return o.didLog, nil, nil
}

func (w *world) Charters(context.Context) ([]envelope.Envelope, error) { return w.charter, nil }

func get[K comparable, V any](m map[K]V, k K) (V, error) {
	v, ok := m[k]
	if !ok {
		return v, attestation.ErrNotFound
	}
	return v, nil
}

// org is an attestation.Log.

func (o *org) ReadHashes(at []int64) ([]tlog.Hash, error) { return hashReader(o.hashes).ReadHashes(at) }

func (o *org) Head() (attestation.Head, []byte) {
	n := o.notes[len(o.notes)-1]
	return n.Head, n.Bytes()
}

func (o *org) Find(_ context.Context, id envelope.ID) (uint64, error) {
	if i, ok := o.ids[id]; ok {
		return i, nil
	}
	for i, e := range o.entries {
		if e.ID() == id {
			return uint64(i), nil
		}
	}
	return 0, attestation.ErrNotFound
}

func (o *org) Entries(_ context.Context, from, to uint64, yield func(uint64, attestation.Entry) error) error {
	for i := from; i < to; i++ {
		if err := yield(i, o.entries[i]); err != nil {
			return err
		}
	}
	return nil
}
