package credential_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/credential"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
	"trustnode/did/strictjson"
)

func parsed(t testing.TB, text string) strictjson.Value {
	t.Helper()
	v, err := strictjson.Parse([]byte(text), 64)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func canonical(t testing.TB, v strictjson.Value) []byte {
	t.Helper()
	b, err := v.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func vector(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../integrity/testdata/vc-di-eddsa/TestVectors", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// prove is the suite written down once more: the proof's text without its value, and the document, hashed and signed.
func prove(t testing.TB, doc, proof string, key byte) strictjson.Value {
	t.Helper()
	config := parsed(t, proof)
	options, document := sha256.Sum256(canonical(t, config)), sha256.Sum256(canonical(t, parsed(t, doc)))
	sig, err := envelopetest.Repeat(key).Sign(t.Context(), envelope.DataIntegrity([64]byte(append(options[:], document[:]...))))
	if err != nil {
		t.Fatal(err)
	}
	return config.With("proofValue", strictjson.StringOf(did.Multibase(sig[:])))
}

// secure is doc with such a proof in it.
func secure(t testing.TB, doc, proof string, key byte) []byte {
	t.Helper()
	return canonical(t, parsed(t, doc).With("proof", prove(t, doc, proof, key)))
}

var (
	day1 = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	now  = time.Date(2026, 12, 20, 0, 0, 0, 0, time.UTC)
)

// The keys of the worked example of the specification, as seeds of equal bytes.
const (
	u1, u2, rec = 0x01, 0x02, 0x03
	i1, i2, ag  = 0x11, 0x13, 0x31
	w0          = 0x14
)

// acme is the worked example's organization after its first entry.
func acme(t testing.TB) didwebvh.History {
	t.Helper()
	signer := envelopetest.Repeat
	_, line, err := didwebvh.Create(t.Context(), didwebvh.CreateRequest{
		Domain: "acme.example", Update: signer(u1), Next: signer(u2).Public(), Recovery: signer(rec).Public(),
		Issuer: signer(i1).Public(), At: day1,
		Services: []didwebvh.Service{
			{Name: "lending", Type: "TrustnodeLending", Endpoint: "https://acme.example/api/v1/permissions"},
			{Name: "witness", Type: "TrustnodeWitness", Endpoint: "did:key:" + signer(w0).Public().Multikey()},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h, err := didwebvh.Verify(line, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// billing is the worked example's agent object, verified.
func billing(t testing.TB, org didwebvh.History) envelope.Verified[keyring.Agent] {
	t.Helper()
	agent := envelopetest.Repeat(ag).Public()
	id, err := didkey.FromKey(agent)
	if err != nil {
		t.Fatal(err)
	}
	e, err := keyring.SealAgent(t.Context(), keyring.Agent{
		Agent: id, Capabilities: []keyring.Capability{keyring.Borrow}, DIDVersion: org.Head().ID,
		IssuedAt: envelope.TimeOf(day1), Key: keyring.AgentKey{Kid: agent.Multikey(), Pub: agent},
		Kid: envelopetest.Repeat(i1).Public().Multikey(), Kind: keyring.KindAgent, Name: "billing",
		NotAfter: envelope.TimeOf(day1.AddDate(0, 0, 30)), NotBefore: envelope.TimeOf(day1), Org: org.DID(), Serial: 1,
	}, envelopetest.Repeat(i1), envelopetest.Repeat(ag))
	if err != nil {
		t.Fatal(err)
	}
	v, err := keyring.OpenAgent(t.Context(), e, envelope.KeySourceFunc(func(_ context.Context, d did.DID, kid string) (did.Key, error) {
		k, err := org.Head().Document.Key(kid, did.AssertionMethod)
		return did.Key{Public: k, Version: org.Head().ID}, err
	}))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// exported is the credential of billing.
func exported(t testing.TB, org didwebvh.History) []byte {
	t.Helper()
	raw, err := credential.Export(t.Context(), billing(t, org), envelopetest.Repeat(i1))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// fromLog resolves the one organization from its log, as a node does.
func fromLog(h didwebvh.History, at time.Time) credential.Options {
	return credential.Options{At: at, Resolve: func(ctx context.Context, d did.DID) (did.Resolution, error) {
		return didwebvh.Resolver{}.Resolve(ctx, d, did.Material{Log: h.Log(), Witness: h.Witness()}, did.Options{Now: at})
	}}
}

// harbor is a foreign issuer whose document has keys of every sort; line is another one.
const harbor, line = "did:web:harbor.example", "did:web:line.example"

// Fragments of harbor's keys, as seeds. key-1 of line has the seed of foreignKey.
const (
	key1, key10, authKey, oldKey, shortKey, laterKey, borrowedKey, foreignKey = 1, 10, 3, 4, 5, 6, 7, 9
)

func method(subject, fragment string, key byte, more string) string {
	return `{"id":"` + subject + `#` + fragment + `","type":"Multikey","controller":"` + subject +
		`","publicKeyMultibase":"` + envelopetest.Repeat(key).Public().Multikey() + `"` + more + `}`
}

var documents = map[string]string{
	harbor: `{"id":"` + harbor + `","verificationMethod":[` +
		method(harbor, "key-1", key1, "") + `,` + method(harbor, "key-10", key10, "") + `,` +
		method(harbor, "auth", authKey, "") + `,` +
		method(harbor, "old", oldKey, `,"revoked":"2026-12-19T00:00:00Z"`) + `,` +
		method(harbor, "short", shortKey, `,"expires":"2026-12-20T00:00:00Z"`) + `,` +
		method(harbor, "later", laterKey, `,"expires":"2026-12-20T00:00:01Z"`) + `,` +
		method(line, "key-1", foreignKey, "") + `,` +
		`{"id":"` + harbor + `#lent","type":"Multikey","controller":"` + line + `","publicKeyMultibase":"` +
		envelopetest.Repeat(borrowedKey).Public().Multikey() + `"},` +
		`{"id":"` + harbor + `#x","type":"Multikey","controller":"` + harbor + `","publicKeyMultibase":"z6LSbysY2xFMRpGMhb7tFTLMpeuPRaqaWM1yECx2AtzE3KCc"},` +
		`{"id":"` + harbor + `#odd","type":"Tomorrow2031","controller":"` + harbor + `","publicKeyMultibase":"z6"}` +
		`],"assertionMethod":["#key-1","` + harbor + `#key-10","#old","#short","#later","` + line + `#key-1","#lent","#x","#odd","#gone"],` +
		`"authentication":["#auth","#key-1"],"keyAgreement":["#x"]}`,
	line: `{"id":"` + line + `","verificationMethod":[` + method(line, "key-1", foreignKey, "") + `],"assertionMethod":["#key-1"]}`,
}

var errUnreachable = errors.New("unreachable")

// world resolves harbor and line, and counts.
type world struct {
	asked  int
	change func(*did.Resolution)
}

func (w *world) resolve(t testing.TB) credential.ResolveFunc {
	return func(_ context.Context, d did.DID) (did.Resolution, error) {
		w.asked++
		text, ok := documents[d.String()]
		if !ok {
			return did.Resolution{}, errUnreachable
		}
		doc, err := did.ParseDocument([]byte(text), d)
		if err != nil {
			t.Fatal(err)
		}
		r := did.Resolution{DID: d, Document: doc, Raw: doc.Raw(), Version: "v7", State: did.Held, Warnings: doc.Warnings()}
		if w.change != nil {
			w.change(&r)
		}
		return r, nil
	}
}
