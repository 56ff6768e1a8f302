package verifier_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/credential"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
	"trustnode/did/strictjson"
	"trustnode/federation"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/federation/lending"
	"trustnode/node/verifier"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The keys of the worked example, as seeds of equal bytes, and of a second organization.
const (
	u1, u2, u3, rec    = 0x01, 0x02, 0x04, 0x03
	i1, i2, w0, wit    = 0x11, 0x13, 0x14, 0x21
	ag                 = 0x31
	bu1, bu2, brec, bi = 0x41, 0x42, 0x43, 0x44
	gi, nodeSeed       = 0x52, 0x51
)

var (
	day1 = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	day2 = time.Date(2026, 12, 15, 9, 0, 0, 0, time.UTC)
	now  = time.Date(2026, 12, 20, 0, 0, 0, 0, time.UTC)
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func key(seed byte) *envelopetest.Signer { return envelopetest.Repeat(seed) }
func pub(seed byte) did.PublicKey        { return key(seed).Public() }
func kid(seed byte) string               { return pub(seed).Multikey() }

var ctx = context.Background()

// one is the log of the worked example after its first entry.
func one() didwebvh.History {
	_, line, err := didwebvh.Create(ctx, didwebvh.CreateRequest{
		Domain: "acme.example", Update: key(u1), Next: pub(u2), Recovery: pub(rec), Issuer: pub(i1), At: day1,
		Services: []didwebvh.Service{
			{Name: "lending", Type: "TrustnodeLending", Endpoint: "https://acme.example/api/v1/permissions"},
			{Name: "witness", Type: "TrustnodeWitness", Endpoint: "did:key:" + kid(w0)}}})
	if err != nil {
		panic(err)
	}
	return must(didwebvh.Verify(line, nil, now))
}

// two is the log after its second entry, which is witnessed.
func two() (h didwebvh.History, witness []byte) {
	return next(one(), didwebvh.RotateRequest{Update: key(u2), Next: pub(u3), Issuer: pub(i2), At: day2,
		Witness: &didwebvh.WitnessList{Threshold: 1, Keys: []did.PublicKey{pub(wit)}}}, true)
}

// next rotates; witnessed says that the witness of the example signs the entry.
func next(h didwebvh.History, r didwebvh.RotateRequest, witnessed bool) (didwebvh.History, []byte) {
	line := must(didwebvh.Rotate(ctx, h, r))
	var file []byte
	if witnessed {
		id := didwebvh.VersionID(line)
		proof := must(didwebvh.SignWitness(ctx, key(wit), id, r.At))
		file = fmt.Appendf(nil, `[{"proof":[%s],"versionId":"%s"}]`, proof, id)
	}
	return must(h.Extend(line, file, now)), file
}

// plain rotates to the second issuer key without any witness.
func plain() didwebvh.History {
	h, _ := next(one(), didwebvh.RotateRequest{Update: key(u2), Next: pub(u3), Issuer: pub(i2), At: day2}, false)
	return h
}

// moved is one after it went to new.example.
func moved() didwebvh.History {
	h := one()
	line := must(didwebvh.Move(ctx, h, didwebvh.MoveRequest{Update: key(u2), Next: pub(u3), Domain: "new.example", At: day2}))
	return must(h.Extend(line, nil, now))
}

// beta is a second organization with one entry.
func beta() didwebvh.History {
	_, line, err := didwebvh.Create(ctx, didwebvh.CreateRequest{Domain: "beta.example", Update: key(bu1), Next: pub(bu2),
		Recovery: pub(brec), Issuer: pub(bi), At: day1, Services: []didwebvh.Service{{Name: "witness", Type: "TrustnodeWitness", Endpoint: "did:key:" + kid(wit)}}})
	if err != nil {
		panic(err)
	}
	return must(didwebvh.Verify(line, nil, now))
}

func billing(org didwebvh.History) keyring.Agent {
	return keyring.Agent{Agent: must(didkey.FromKey(pub(ag))), Capabilities: []keyring.Capability{keyring.Borrow}, DIDVersion: org.Head().ID,
		IssuedAt: envelope.TimeOf(day1), Key: keyring.AgentKey{Kid: kid(ag), Pub: pub(ag)}, Kid: kid(i1), Kind: keyring.KindAgent,
		Name: "billing", NotAfter: envelope.TimeOf(day1.AddDate(0, 0, 30)), NotBefore: envelope.TimeOf(day1), Org: org.DID(), Serial: 1}
}

func sealed(a keyring.Agent, org byte) envelope.Envelope {
	return must(keyring.SealAgent(ctx, a, key(org), key(ag)))
}

// agent is the agent object of the worked example.
func agent() envelope.Envelope { return sealed(billing(one()), i1) }

// vc is the credential of that agent.
func vc() []byte {
	v := must(keyring.OpenAgent(ctx, agent(), envelope.KeySourceFunc(func(context.Context, did.DID, string) (did.Key, error) {
		return did.Key{Public: pub(i1), Version: one().Head().ID}, nil
	})))
	return must(credential.Export(ctx, v, key(i1)))
}

// prove makes a credential of any issuer, with the suite written down once more.
func prove(doc, method string, seed byte) []byte {
	config := must(strictjson.Parse([]byte(`{"cryptosuite":"eddsa-jcs-2022","proofPurpose":"assertionMethod","type":"DataIntegrityProof","verificationMethod":"`+method+`"}`), 8))
	body := must(strictjson.Parse([]byte(doc), 8))
	options, document := sha256.Sum256(must(config.Canonical())), sha256.Sum256(must(body.Canonical()))
	sig := must(key(seed).Sign(ctx, envelope.DataIntegrity([64]byte(append(options[:], document[:]...)))))
	return must(body.With("proof", config.With("proofValue", strictjson.StringOf(did.Multibase(sig[:])))).Canonical())
}

func vcOf(issuer string) string {
	return `{"@context":["https://www.w3.org/ns/credentials/v2"],"credentialSubject":{"id":"did:example:s"},"issuer":"` + issuer + `","type":["VerifiableCredential","Partner"]}`
}

func logLines(h didwebvh.History) []bundle.Line {
	var out []bundle.Line
	for _, l := range bundle.DIDLogs(h.DID(), 1, h.Log(), h.Witness()) {
		out = append(out, l)
	}
	return out
}

func joinOf(h didwebvh.History, name string, issuer byte) charter.Join {
	k := charter.Key{Kid: kid(issuer), Pub: pub(issuer)}
	return charter.Join{At: envelope.TimeOf(day2), BindingsMax: 2, Contact: "mailto:it@" + name + ".example", DIDVersion: h.Head().ID, Key: k, Kid: k.Kid,
		Name: name, Nonce: strings.Repeat("A", 22), Org: h.DID(), SCID: h.SCID(), Spec: charter.JoinSpec{Max: 1, Min: 1}, Votes: true}
}

// join is a join file of the organization of the worked example.
func join() []byte {
	h, _ := two()
	e := must(envelope.Seal(ctx, joinOf(h, "acme", i2), key(i2)))
	return pack(append(logLines(h), bundle.Envelope{Envelope: e})...)
}

func pack(lines ...bundle.Line) []byte { return must(bundle.Encode(bundle.Header{}, lines...)) }

func env(e envelope.Envelope) bundle.Line { return bundle.Envelope{Envelope: e} }

// genesis is a charter of three organizations, one of them a did:key, signed by those whose seeds are given.
func genesis(signers ...byte) envelope.Envelope { return genesisOf("fin-lending", signers...) }

func genesisOf(name string, signers ...byte) envelope.Envelope {
	acme, _ := two()
	return genesisWith(name, joinOf(acme, "acme", i2), signers...)
}

func genesisWith(name string, acme charter.Join, signers ...byte) envelope.Envelope {
	gamma := joinOf(beta(), "gamma", gi)
	gamma.Org, gamma.DIDVersion, gamma.SCID = must(didkey.FromKey(pub(gi))), "", ""
	members := []charter.Member{acme.Member(0), joinOf(beta(), "beta", bi).Member(0), gamma.Member(0)}
	body := must(charter.New(charter.Options{Name: name, Members: members, Mediators: []did.DID{gamma.Org}}, day2))
	body.Nonce = strings.Repeat("B", 21) + "A"
	e := envelope.Envelope{Type: charter.Type, Body: must(envelope.Marshal(body))}
	for _, s := range signers {
		e = must(envelope.Cosign(ctx, e, key(s)))
	}
	return e
}

// boot is a boot file: the charter, both DID logs, a binding, a beacon and an agent object.
func boot() []byte {
	acme, _ := two()
	g := genesis(i2, bi, gi)
	node, peer, err := federation.NodeSigner(bytes.Repeat([]byte{nodeSeed}, 32))
	if err != nil {
		panic(err)
	}
	binding := must(federation.SealBinding(ctx, federation.Binding{Addrs: []string{"/ip4/192.0.2.1/tcp/7001"}, At: envelope.TimeOf(day2), DIDVersion: acme.Head().ID,
		ExpiresAt: envelope.TimeOf(day2.AddDate(0, 1, 0)), Federation: g.ID(), Generation: 1, Kid: kid(i2), NotBefore: envelope.TimeOf(day2), Org: acme.DID(),
		PeerID: peer, Roles: []federation.Role{federation.RoleWriter}, Serial: 1}, key(i2), node))
	beacon := must(envelope.Seal(ctx, federation.Beacon{At: envelope.TimeOf(day2), Charter: federation.CharterRef{ID: g.ID()}, DIDVersion: acme.Head().ID,
		Federation: g.ID(), Generation: 1, Kid: kid(i2), N: 1, Org: acme.DID(), Software: "trustnode/1", SpecMax: 1}, key(i2)))
	a := billing(acme)
	a.Kid, a.IssuedAt, a.NotBefore = kid(i2), envelope.TimeOf(day2), envelope.TimeOf(day2)
	lines := append(logLines(acme), logLines(beta())...)
	for _, e := range []envelope.Envelope{g, binding, beacon, sealed(a, i2)} {
		lines = append(lines, env(e))
	}
	return must(bundle.Encode(bundle.Header{Pin: &bundle.Pin{AsOf: envelope.TimeOf(day2), ID: g.ID()}}, lines...))
}

// evidence is the attestation log of an organization: its entries with proofs under one
// head, which the other organization cosigns.
type evidence struct {
	org     didwebvh.History
	entries []attestation.Entry
	hashes  []tlog.Hash
	note    attlog.Note
}

type hashReader []tlog.Hash

func (h hashReader) ReadHashes(at []int64) ([]tlog.Hash, error) {
	var out []tlog.Hash
	for _, i := range at {
		out = append(out, h[i])
	}
	return out, nil
}

// event appends an event signed by a key.
func (l *evidence) event(signer byte, typ attestation.Type, subject string, data any, refs ...envelope.ID) {
	i := len(l.entries)
	nonce := []byte("AAAAAAAAAAAAAAAAAAAAAA")
	nonce[0] += byte(i)
	e := must(envelope.Seal(ctx, attestation.Event{At: envelope.TimeOf(day2.Add(time.Duration(i) * time.Minute)), Data: must(envelope.Marshal(data)), Kid: kid(signer),
		Nonce: string(nonce), Org: l.org.DID(), Refs: append([]envelope.ID{}, refs...), Subject: subject, Type: typ}, key(signer)))
	entry := must(attestation.EntryOf(e))
	l.hashes = append(l.hashes, must(tlog.StoredHashes(int64(i), entry, hashReader(l.hashes)))...)
	l.entries = append(l.entries, entry)
}

// lines proves some entries under one head.
func (l *evidence) lines(signer byte, which ...int) []bundle.Line {
	head := must(attlog.RootAt(uint64(len(l.entries)), hashReader(l.hashes)))
	l.note = must(attlog.Sign(ctx, key(signer), l.org.DID(), head))
	l.note.Lines = append(l.note.Lines, must(attlog.Cosign(ctx, key(wit), beta().DID(), l.note, day2.Add(time.Hour))))
	var out []bundle.Line
	for _, i := range which {
		p := attlog.Proof{Index: uint64(i), Path: must(attlog.Include(uint64(i), head.Size, hashReader(l.hashes))), Note: l.note}
		out = append(out, bundle.Entry{Entry: l.entries[i], Proof: p.Bytes()})
	}
	return out
}

// rotated is the log of acme: opened, an agent issued, the key rotated, and an event after.
func rotated() *evidence {
	h := plain()
	l := &evidence{org: h}
	v1, _ := h.At(1)
	a := agent()
	l.event(i1, "log.opened", "", attestation.LogOpened{DidVersion: v1.ID})
	l.event(i1, "agent.issued", billing(one()).Agent.String(), attestation.AgentIssued{Agent: billing(one()).Agent, ID: a.ID(), Name: "billing", Serial: 1}, a.ID())
	l.event(i2, "key.rotated", h.DID().String(), attestation.KeyRotated{Added: []string{kid(i2)}, Did: h.DID(), DidVersion: h.Head().ID, Previous: v1.ID,
		Reason: "scheduled", Retired: []string{kid(i1)}})
	return l
}

func verify(b []byte, o verifier.Options) verifier.Report {
	if o.Now.IsZero() {
		o.Now = now
	}
	return verifier.Verify(ctx, bytes.NewReader(b), o)
}

func with(files ...[]byte) []verifier.Material {
	var out []verifier.Material
	for i, b := range files {
		out = append(out, verifier.Material{Name: fmt.Sprintf("with-%d", i+1), Bytes: b})
	}
	return out
}

func withTwo() []verifier.Material {
	h, w := two()
	return []verifier.Material{{Name: "did.jsonl", Bytes: h.Log(), Witness: w}}
}

func text(r verifier.Report) string {
	var out strings.Builder
	for _, l := range r.Lines {
		fmt.Fprintf(&out, "%-11s %s\n", l.Kind, l.Text)
	}
	return out.String()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := must(os.ReadFile(path)); !bytes.Equal(got, want) {
		t.Errorf("%s differs, it is now\n%s", name, got)
	}
}

func witness(b []byte) func() ([]byte, error) { return func() ([]byte, error) { return b, nil } }

func mustDID(s string) did.DID { return did.MustParse(s) }

// permission is a loan of the agent of the worked example.
func permission() (envelope.Envelope, error) {
	at := envelope.TimeOf(day2)
	lender := billing(one()).Agent
	return envelope.Seal(ctx, lending.Permission{Borrower: must(didkey.FromKey(pub(gi))), ExpiresAt: at.Add(time.Hour), GoverningCharter: &lending.CharterPin{ID: genesis().ID()},
		IssuedAt: at, Kid: kid(ag), Lender: lender, MaxReads: 5, Nonce: lending.Nonce{1}, Patterns: []string{"read"}, Purpose: "test",
		Revocation: one().DID().String() + "#lending", Scope: lending.MustParse("tag:client:acme")}, key(ag))
}
