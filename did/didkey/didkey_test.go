package didkey

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"trustnode/did"
)

// published is what a document of the vectors and one of ours have in common.
type published struct {
	Context            any    `json:"@context"`
	ID                 string `json:"id"`
	VerificationMethod []struct {
		ID              string          `json:"id"`
		Type            string          `json:"type"`
		Controller      string          `json:"controller"`
		PublicKeyBase58 string          `json:"publicKeyBase58"`
		PublicKeyJWK    json.RawMessage `json:"publicKeyJwk"`
	} `json:"verificationMethod"`
	Authentication       []string `json:"authentication"`
	AssertionMethod      []string `json:"assertionMethod"`
	KeyAgreement         []string `json:"keyAgreement"`
	CapabilityInvocation []string `json:"capabilityInvocation"`
	CapabilityDelegation []string `json:"capabilityDelegation"`
}

func (p published) rel(r did.Relationship) []string {
	return map[did.Relationship][]string{
		did.Authentication: p.Authentication, did.AssertionMethod: p.AssertionMethod, did.KeyAgreement: p.KeyAgreement,
		did.CapabilityInvocation: p.CapabilityInvocation, did.CapabilityDelegation: p.CapabilityDelegation,
	}[r]
}

// findDocuments collects every did:key document in a vector file, whatever the file nests it in.
func findDocuments(v any, into map[string]published) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			findDocuments(e, into)
		}
	case map[string]any:
		id, _ := v["id"].(string)
		if _, ok := v["verificationMethod"].([]any); ok && strings.HasPrefix(id, "did:key:") {
			b, _ := json.Marshal(v)
			var p published
			if err := json.Unmarshal(b, &p); err != nil {
				panic(err)
			}
			into[id] = p
			return
		}
		for _, e := range v {
			findDocuments(e, into)
		}
	}
}

func readJSON(t testing.TB, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

func resolve(d did.DID) (did.Resolution, error) {
	return Resolver{}.Resolve(context.Background(), d, did.Material{}, did.Options{})
}

func TestVectors(t *testing.T) {
	want := map[string]map[string]int{
		"ed25519-x25519.json": {"Ed25519": 5},
		"x25519.json":         {"X25519": 4},
		"nist-curves.json":    {"P-256": 3, "unsupported": 4},
	}
	for file, counts := range want {
		var raw any
		readJSON(t, file, &raw)
		docs := make(map[string]published)
		findDocuments(raw, docs)
		got := make(map[string]int)
		for id, doc := range docs {
			got[compare(t, id, doc)]++
		}
		if !reflect.DeepEqual(got, counts) {
			t.Errorf("%s: got %v, want %v", file, got, counts)
		}
	}
}

// compare resolves id, holds the result to the vector's document and returns what kind of key it was.
func compare(t *testing.T, id string, want published) string {
	t.Helper()
	d := did.MustParse(id)
	r, err := resolve(d)
	if errors.Is(err, did.ErrKeyUnsupported) {
		wantName(t, id, err, did.FeatureNotSupported, "unsupportedPublicKeyType")
		return "unsupported"
	}
	if err != nil {
		t.Errorf("%s: %v", id, err)
		return "refused"
	}
	m := r.Document.Methods()
	if len(m) != 1 || m[0].ID != want.VerificationMethod[0].ID || m[0].Controller != id || m[0].Type != "Multikey" || m[0].Err != nil {
		t.Errorf("%s: got methods %+v", id, m)
		return "wrong"
	}
	key := vectorKey(t, want)
	if m[0].Public != key {
		t.Errorf("%s: got key %v, want %v", id, m[0].Public, key)
	}
	for _, rel := range []did.Relationship{
		did.Authentication, did.AssertionMethod, did.KeyAgreement, did.CapabilityInvocation, did.CapabilityDelegation,
	} {
		expect := want.rel(rel)
		if rel == did.KeyAgreement && key.Algorithm() == did.Ed25519 {
			expect = nil // the vectors derive an X25519 key here
		}
		if got := r.Document.Listed(rel); !reflect.DeepEqual(append([]string{}, got...), append([]string{}, expect...)) {
			t.Errorf("%s: %s is %v, want %v", id, rel, got, expect)
		}
	}
	if r.DID != d || r.Document.ID() != d || string(r.Raw) != string(r.Document.Raw()) || r.Version != did.StaticVersion ||
		r.State != did.Held || !r.VerifiedAt.IsZero() || len(r.Warnings) != 0 {
		t.Errorf("%s: got %+v", id, r)
	}
	return map[did.Algorithm]string{did.Ed25519: "Ed25519", did.X25519: "X25519", did.P256: "P-256"}[key.Algorithm()]
}

// vectorKey reads the first method's key as the vector writes it.
func vectorKey(t *testing.T, p published) did.PublicKey {
	t.Helper()
	m := p.VerificationMethod[0]
	alg := did.Ed25519
	if strings.HasPrefix(m.Type, "X25519") {
		alg = did.X25519
	}
	var key did.PublicKey
	var err error
	switch {
	case m.PublicKeyJWK != nil:
		key, err = did.DecodeJWK(m.PublicKeyJWK)
	case m.Type == "P256Key2021":
		var raw []byte
		if raw, err = did.ParseBase58(m.PublicKeyBase58); err == nil {
			key, err = did.NewP256(raw)
		}
	default:
		key, err = did.DecodeBase58Key(m.PublicKeyBase58, alg)
	}
	if err != nil {
		t.Errorf("%s: vector's key: %v", p.ID, err)
	}
	return key
}

func wantName(t *testing.T, what string, err error, name did.ErrorName, detail string) {
	t.Helper()
	var r *did.ResolutionError
	if !errors.As(err, &r) || r.Name != name || r.Detail != detail {
		t.Errorf("%s: got %v, want %s: %s", what, err, name, detail)
	}
}

func TestNegatives(t *testing.T) {
	var file struct {
		Negative, Positive []struct{ Why, DID, Error string }
	}
	readJSON(t, "did-key-negative.json", &file)
	got := make(map[string]int)
	for _, c := range file.Negative {
		d, err := did.Parse(c.DID)
		if err != nil {
			t.Errorf("%s: %v", c.Why, err) // all are DIDs, only not of a key
			continue
		}
		r, err := resolve(d)
		if err == nil {
			neverVerifies(t, c.Why, r)
			got["resolves"]++
			continue
		}
		name := did.InvalidDID
		if c.Error == "unsupportedPublicKeyType" {
			name = did.FeatureNotSupported
		}
		wantName(t, c.Why, err, name, c.Error)
		got[c.Error]++
	}
	want := map[string]int{
		"invalidDid": 7, "invalidPublicKeyLength": 5, "invalidPublicKey": 2, "unsupportedPublicKeyType": 1, "resolves": 1,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, c := range file.Positive {
		versioned(t, c.DID)
	}
	if len(file.Positive) != 1 {
		t.Errorf("%d positives, want 1", len(file.Positive))
	}
}

func neverVerifies(t *testing.T, why string, r did.Resolution) {
	t.Helper()
	m := r.Document.Methods()
	if len(m) != 1 || m[0].Public.Algorithm() != did.X25519 {
		t.Errorf("%s: got %+v", why, m)
		return
	}
	if err := m[0].Public.Verify([]byte("x"), did.Signature{}); !errors.Is(err, did.ErrNotSigning) {
		t.Errorf("%s: verify: %v", why, err)
	}
	if _, err := r.Document.Key(m[0].Public.Multikey(), did.AssertionMethod); !errors.Is(err, did.ErrRelationship) {
		t.Errorf("%s: as assertion key: %v", why, err)
	}
}

// versioned: the DID with a version resolves to the same key and is another DID.
func versioned(t *testing.T, text string) {
	t.Helper()
	d := did.MustParse(text)
	r, err := resolve(d)
	if err != nil {
		t.Error(err)
		return
	}
	key, err := Key(d)
	if err != nil {
		t.Error(err)
		return
	}
	plain, err := FromKey(key)
	if err != nil {
		t.Error(err)
	}
	if r.DID != d || r.DID == plain || r.Document.Methods()[0].ID != text+"#"+key.Multikey() {
		t.Errorf("got %v with method %s", r.DID, r.Document.Methods()[0].ID)
	}
	if again, err := Key(plain); err != nil || again != key {
		t.Errorf("without version: %v, %v, want %v", again, err, key)
	}
}

// TestSmallOrderKeysAreNoDIDs is identity B-16.
func TestSmallOrderKeysAreNoDIDs(t *testing.T) {
	var file struct{ Keys []struct{ Hex, DID string } }
	readJSON(t, "ed25519-small-order.json", &file)
	for _, k := range file.Keys {
		d := did.MustParse(k.DID)
		if key, err := Key(d); !errors.Is(err, did.ErrKeyInvalid) || !key.IsZero() {
			t.Errorf("%s: got %v, %v", k.Hex, key, err)
		}
		_, err := resolve(d)
		wantName(t, k.Hex, err, did.InvalidDID, "invalidPublicKey")
	}
	if len(file.Keys) != 11 {
		t.Errorf("%d keys, want 11", len(file.Keys))
	}
}

func TestRefused(t *testing.T) {
	const key = "z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
	cases := []struct {
		name, did string
		opts      did.Options
		want      did.ErrorName
	}{
		{"a version with a leading zero", "did:key:01:" + key, did.Options{}, did.InvalidDID},
		{"a version that does not exist yet", "did:key:2:" + key, did.Options{}, did.InvalidDID},
		{"a version twice", "did:key:1:1:" + key, did.Options{}, did.InvalidDID},
		{"an empty version", "did:key::" + key, did.Options{}, did.InvalidDID},
		{"an escaped character", "did:key:%7A6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK", did.Options{}, did.InvalidDID},
		{"a key in base64url", "did:key:u7QEuQHwzMHbvJt1ZC_I7ODKlyPk0a_gqZz3ixIYPVCtfSQ", did.Options{}, did.InvalidDID},
		{"a key that lost its end", "did:key:" + key[:5], did.Options{}, did.InvalidDID},
		{"a key that lost one character", "did:key:" + key[:47], did.Options{}, did.InvalidDID},
		{"a key of a type that is read nowhere here", "did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme", did.Options{}, did.FeatureNotSupported},
		{"another method", "did:web:acme.example", did.Options{}, did.InvalidDID},
		{"a version id", "did:key:" + key, did.Options{VersionID: "static"}, did.InvalidOptions},
		{"a version number", "did:key:" + key, did.Options{VersionNumber: 1}, did.InvalidOptions},
	}
	for _, c := range cases {
		r, err := Resolver{}.Resolve(t.Context(), did.MustParse(c.did), did.Material{}, c.opts)
		var got *did.ResolutionError
		if !errors.As(err, &got) || got.Name != c.want || !reflect.DeepEqual(r, did.Resolution{}) {
			t.Errorf("%s: got %v, %v, want %s", c.name, r, err, c.want)
		}
	}
	if _, err := Key(did.MustParse("did:web:acme.example")); !errors.Is(err, ErrMethod) {
		t.Errorf("key of another method: %v", err)
	}
	if d, err := FromKey(did.PublicKey{}); err == nil {
		t.Errorf("the zero key is %v", d)
	}
}

func TestSeedsOfTheVectors(t *testing.T) {
	var file map[string]struct{ Seed string }
	readJSON(t, "ed25519-x25519.json", &file)
	for id, v := range file {
		seed, err := hex.DecodeString(v.Seed)
		if err != nil || len(seed) != ed25519.SeedSize {
			t.Errorf("%s: seed %q", id, v.Seed)
			continue
		}
		key, err := did.NewEd25519(ed25519.NewKeyFromSeed(seed)[ed25519.SeedSize:])
		if err != nil {
			t.Error(err)
			continue
		}
		if d, err := FromKey(key); err != nil || d.String() != id {
			t.Errorf("seed %s: got %v, %v, want %s", v.Seed, d, err, id)
		}
	}
}

func TestDocumentBytes(t *testing.T) {
	const (
		id = "did:key:z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S"
		m  = id + "#z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S"
	)
	want := `{"@context":["https://www.w3.org/ns/did/v1","https://w3id.org/security/multikey/v1"],"assertionMethod":["` + m +
		`"],"authentication":["` + m + `"],"capabilityDelegation":["` + m + `"],"capabilityInvocation":["` + m + `"],"id":"` + id +
		`","verificationMethod":[{"controller":"` + id + `","id":"` + m +
		`","publicKeyMultibase":"z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S","type":"Multikey"}]}`
	r, err := resolve(did.MustParse(id))
	if err != nil || string(r.Raw) != want {
		t.Errorf("got %s, %v\nwant %s", r.Raw, err, want)
	}
}

func FuzzResolve(f *testing.F) {
	f.Add("did:key:z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S")
	f.Add("did:key:1:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK")
	f.Add("did:key:zDnaerx9CtbPJ1q36T5Ln5wYt3MQYeGRG5ehnPAmxcf5mDZpv")
	f.Add("did:key:z4yPMcPR1fp5uvoW9xB8pkfVtcdNQbCFRxJHgfi4YSLqDMSVzgDFm3qtn31")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := did.Parse(text)
		if err != nil {
			return
		}
		r, err := resolve(d)
		if err != nil {
			return
		}
		key, err := Key(d)
		if err != nil || r.DID.String() != text || r.Document.Methods()[0].Public != key {
			t.Errorf("%s: resolved to %v, key %v, %v", text, r.Document.Methods(), key, err)
		}
		if plain, err := FromKey(key); err != nil || strings.Replace(text, "did:key:1:", "did:key:", 1) != plain.String() {
			t.Errorf("%s: key writes %v, %v", text, plain, err)
		}
	})
}

func BenchmarkResolve(b *testing.B) {
	d := did.MustParse("did:key:z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S")
	b.Run("resolve", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := resolve(d); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor: DecodeKey", func(b *testing.B) {
		for b.Loop() {
			if _, err := did.DecodeKey(d.ID()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
