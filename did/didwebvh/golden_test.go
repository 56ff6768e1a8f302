package didwebvh_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/strictjson"
)

// seed signs with the Ed25519 key of 32 equal bytes.
type seed byte

func (s seed) private() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(s)}, ed25519.SeedSize))
}

func (s seed) Public() did.PublicKey {
	k, err := did.NewEd25519(s.private().Public().(ed25519.PublicKey))
	if err != nil {
		panic(err)
	}
	return k
}

func (s seed) Sign(_ context.Context, p envelope.Preimage) (did.Signature, error) {
	return did.Signature(ed25519.Sign(s.private(), p.Bytes())), nil
}

// The keys of the worked example.
const (
	u1, u2, u3 seed = 0x01, 0x02, 0x04
	rec        seed = 0x03
	i1, i2     seed = 0x11, 0x13
	w0, w      seed = 0x14, 0x21
)

var (
	day1 = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	day2 = time.Date(2026, 12, 15, 9, 0, 0, 0, time.UTC)
)

const (
	goldenDID   = "did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example"
	goldenFirst = "1-QmNiNvcrst2EVsKesiwXhRbArLw7xo1XYCq9BfKP6vm5dS"
	goldenNext  = "2-QmRCpJ1PuyZbtPNtd68dAS1ry9eX2zC1iLWXQczwnw77eR"
)

func acme() didwebvh.CreateRequest {
	return didwebvh.CreateRequest{
		Domain: "acme.example", Update: u1, Next: u2.Public(), Recovery: rec.Public(), Issuer: i1.Public(), At: day1,
		Services: []didwebvh.Service{
			{Name: "lending", Type: "TrustnodeLending", Endpoint: "https://acme.example/api/v1/permissions"},
			{Name: "witness", Type: "TrustnodeWitness", Endpoint: "did:key:" + w0.Public().Multikey()},
		},
	}
}

func create(t testing.TB, r didwebvh.CreateRequest) didwebvh.History {
	t.Helper()
	_, line, err := didwebvh.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	h, err := didwebvh.Verify(line, nil, r.At)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func rotate(t testing.TB, h didwebvh.History, r didwebvh.RotateRequest) []byte {
	t.Helper()
	line, err := didwebvh.Rotate(t.Context(), h, r)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// witnessed makes a witness file of one proof for each signer and version.
func witnessed(t testing.TB, at time.Time, versionID string, signers ...seed) []byte {
	t.Helper()
	var proofs []strictjson.Value
	for _, s := range signers {
		proofs = append(proofs, witnessProof(t, at, versionID, s))
	}
	item := strictjson.ObjectOf(
		strictjson.Member{Name: "versionId", Value: strictjson.StringOf(versionID)},
		strictjson.Member{Name: "proof", Value: strictjson.ArrayOf(proofs...)})
	out, err := strictjson.ArrayOf(item).Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// witnessProof is written from the standard alone, so that it checks the package and not itself.
func witnessProof(t testing.TB, at time.Time, versionID string, s seed) strictjson.Value {
	t.Helper()
	key := s.Public().Multikey()
	config := fmt.Sprintf(`{"created":"%s","cryptosuite":"eddsa-jcs-2022","proofPurpose":"assertionMethod",`+
		`"type":"DataIntegrityProof","verificationMethod":"did:key:%s#%s"}`, at.Format(time.RFC3339), key, key)
	options, document := sha256.Sum256([]byte(config)), sha256.Sum256(fmt.Appendf(nil, `{"versionId":"%s"}`, versionID))
	sig := ed25519.Sign(s.private(), append(options[:], document[:]...))
	v, err := strictjson.Parse([]byte(config), 2)
	if err != nil {
		t.Fatal(err)
	}
	return v.With("proofValue", strictjson.StringOf(did.Multibase(sig)))
}

func golden(t testing.TB) (h didwebvh.History, witness []byte) {
	t.Helper()
	h = create(t, acme())
	line := rotate(t, h, didwebvh.RotateRequest{
		Update: u2, Next: u3.Public(), Issuer: i2.Public(), At: day2,
		Witness: &didwebvh.WitnessList{Threshold: 1, Keys: []did.PublicKey{w.Public()}},
	})
	witness = witnessed(t, day2, didwebvh.VersionID(line), w)
	h, err := h.Extend(line, witness, day2)
	if err != nil {
		t.Fatal(err)
	}
	return h, witness
}

// expand writes the worked example out, its names for keys, hashes and the DID replaced.
func expand(s string) string {
	hash := func(k seed) string { return didwebvh.KeyHash(k.Public()) }
	r := strings.NewReplacer(
		"$U1", u1.Public().Multikey(), "$U2", u2.Public().Multikey(), "$I1", i1.Public().Multikey(),
		"$I2", i2.Public().Multikey(), "$W0", w0.Public().Multikey(), "$W", w.Public().Multikey(),
		"#U2", hash(u2), "#U3", hash(u3), "#R", hash(rec), "$D", goldenDID, "\n", "")
	return r.Replace(s)
}

const firstEntry = `{"parameters":{"method":"did:webvh:1.0","nextKeyHashes":["#U2","#R"],"portable":true,
"scid":"QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f","updateKeys":["$U1"]},
"proof":[{"created":"2026-12-01T10:00:00Z","cryptosuite":"eddsa-jcs-2022","proofPurpose":"assertionMethod",
"proofValue":"z4zQpfZWUa6WTifgynT7Zc2uQgPe8zTX4mWbzWjeaMmfQvWtUcUMFooM9K8hWXHBc4Yv8zCWf89ATTUQZARjbP3VV",
"type":"DataIntegrityProof","verificationMethod":"did:key:$U1#$U1"}],
"state":{"@context":["https://www.w3.org/ns/did/v1","https://w3id.org/security/multikey/v1"],
"alsoKnownAs":["did:web:acme.example"],"assertionMethod":["$D#$I1"],"authentication":["$D#$I1"],"id":"$D",
"service":[{"id":"$D#lending","serviceEndpoint":"https://acme.example/api/v1/permissions","type":"TrustnodeLending"},
{"id":"$D#witness","serviceEndpoint":"did:key:$W0","type":"TrustnodeWitness"}],
"verificationMethod":[{"controller":"$D","id":"$D#$I1","publicKeyMultibase":"$I1","type":"Multikey"}]},
"versionId":"` + goldenFirst + `","versionTime":"2026-12-01T10:00:00Z"}`

func TestWorkedExampleIsRebuilt(t *testing.T) {
	h, witness := golden(t)
	one, _ := h.At(1)
	two, _ := h.At(2)
	for _, c := range []struct{ what, got, want string }{
		{"DID", h.DID().String(), goldenDID},
		{"first issuer key", i1.Public().Multikey(), "z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S"},
		{"hash of the next key", didwebvh.KeyHash(u2.Public()), "Qmf5LPQcHPPWj6jY5etCXum7zJsqT1crW2Ri1aA5zaaFEm"},
		{"first versionId", one.ID, goldenFirst},
		{"first line", string(one.Line), expand(firstEntry)},
		{"second versionId", two.ID, goldenNext},
		{"id of the second line", envelope.IDOf(two.Line).String(), "zQmZctT4cMpLJsmKeZ7rQJQyBLrkCBvHxsNBMa3LAg9GGrq"},
		{"sizes", fmt.Sprint(len(one.Line), len(two.Line), len(h.Log())), "1958 1966 3926"},
		{"witness file", string(witness), expand(`[{"proof":[{"created":"2026-12-15T09:00:00Z","cryptosuite":"eddsa-jcs-2022",
"proofPurpose":"assertionMethod","proofValue":"z5dHRKNabUZwgVXF3zWG2RAsL54iVYobSgMPA1BAKHQRmQNYPb91zZFF5gLskJHM5cjM6ZjhcyyTiMUk1fQZNCZfe",
"type":"DataIntegrityProof","verificationMethod":"did:key:$W#$W"}],"versionId":"` + goldenNext + `"}]`)},
	} {
		if c.got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.what, c.got, c.want)
		}
	}
	if want := expand(`"parameters":{"nextKeyHashes":["#U3","#R"],"updateKeys":["$U2"],"witness":{"threshold":1,"witnesses":[{"id":"did:key:$W"}]}}`); !strings.Contains(string(two.Line), want) {
		t.Errorf("second line\n got %s\nwant it to hold %s", two.Line, want)
	}
	again, err := didwebvh.Verify(h.Log(), h.Witness(), day2)
	if err != nil || !bytes.Equal(again.Log(), h.Log()) {
		t.Errorf("the example does not verify from its bytes: %v", err)
	}
}
