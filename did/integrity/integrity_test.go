package integrity_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/integrity"
	"trustnode/did/strictjson"
)

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata/vc-di-eddsa/TestVectors", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readText(t testing.TB, name string) string { return strings.TrimSpace(string(readFile(t, name))) }

func parsed(t testing.TB, text string) strictjson.Value {
	t.Helper()
	v, err := strictjson.Parse([]byte(text), 32)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func get(t testing.TB, v strictjson.Value, name string) strictjson.Value {
	t.Helper()
	m, ok := v.Get(name)
	if !ok {
		t.Fatalf("no member %s", name)
	}
	return m
}

func textOf(t testing.TB, v strictjson.Value, name string) string {
	t.Helper()
	s, _ := get(t, v, name).Text()
	return s
}

// published is the signer of the vectors' key pair, whose secret is part of them.
func published(t testing.TB) *envelopetest.Signer {
	t.Helper()
	pair := parsed(t, readText(t, "keyPair.json"))
	secret, err := did.ParseMultibase(textOf(t, pair, "privateKeyMultibase"))
	if err != nil || len(secret) != 2+32 {
		t.Fatalf("secret of %d bytes, %v", len(secret), err)
	}
	s := envelopetest.New([32]byte(secret[2:]))
	if got, want := s.Public().Multikey(), textOf(t, pair, "publicKeyMultibase"); got != want {
		t.Fatalf("public key %s, want %s", got, want)
	}
	return s
}

func TestThePublishedProofIsRebuiltAndVerifies(t *testing.T) {
	const dir = "eddsa-jcs-2022/"
	secured := parsed(t, readText(t, dir+"signedJCS.json"))
	raw := get(t, secured, "proof")
	p, err := integrity.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := p.Signed(secured)
	if err != nil {
		t.Fatal(err)
	}
	config, err := parsed(t, readText(t, dir+"proofConfigJCS.json")).Canonical()
	if err != nil {
		t.Fatal(err)
	}
	signer := published(t)
	document, options := sha256.Sum256(signed), sha256.Sum256(config)
	made, err := integrity.Make(t.Context(), signer, document, integrity.Options{
		Context: get(t, secured, "@context"), Created: p.Created, Method: p.Method, Purpose: p.Purpose,
	})
	if err != nil {
		t.Fatal(err)
	}
	value := textOf(t, made, "proofValue")
	sig, err := did.ParseMultibase(value)
	if err != nil {
		t.Fatal(err)
	}
	canonicalMade, err := made.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	canonicalRead, err := raw.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, got, want string }{
		{"document", string(signed), readText(t, dir+"canonDocJCS.txt")},
		{"hash of the document", hex.EncodeToString(document[:]), readText(t, dir+"docHashJCS.txt")},
		{"proof configuration", string(config), readText(t, dir+"proofCanonJCS.txt")},
		{"hash of the configuration", hex.EncodeToString(options[:]), readText(t, dir+"proofHashJCS.txt")},
		{"both hashes", hex.EncodeToString(append(options[:], document[:]...)), readText(t, dir+"combinedHashJCS.txt")},
		{"signature", hex.EncodeToString(sig), readText(t, dir+"sigHexJCS.txt")},
		{"proofValue", value, readText(t, dir+"sigBTC58JCS.txt")},
		{"proof", string(canonicalMade), string(canonicalRead)},
	} {
		if c.got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.what, c.got, c.want)
		}
	}
	if err := p.Verify(signer.Public(), document); err != nil {
		t.Error(err)
	}
	document[0] ^= 1
	if err := p.Verify(signer.Public(), document); !errors.Is(err, did.ErrSignature) {
		t.Errorf("over another document: %v", err)
	}
	document[0] ^= 1
	if err := p.Verify(envelopetest.Repeat(1).Public(), document); !errors.Is(err, did.ErrSignature) {
		t.Errorf("by another key: %v", err)
	}
}

const (
	good = `{"type":"DataIntegrityProof","cryptosuite":"eddsa-jcs-2022","created":"2026-12-01T10:00:00Z",` +
		`"verificationMethod":"did:example:a#k","proofPurpose":"assertionMethod","proofValue":"` + value + `"}`
	value = "z2HnFSSPPBzR36zdDgK8PbEHeXbR56YF24jwMpt3R1eHXQzJDMWS93FCzpvJpwTWd3GAVFuUfjoJdcnTMuVor51aX"
)

// edit replaces old in the good proof, which must hold it.
func edit(t *testing.T, old, next string) string {
	t.Helper()
	if !strings.Contains(good, old) {
		t.Fatalf("the good proof has no %s", old)
	}
	return strings.Replace(good, old, next, 1)
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       error
	}{
		{"the good one", good, nil},
		{"with an id and a nonce", edit(t, "{", `{"id":"urn:x","nonce":"n",`), nil},
		{"with a context and an end", edit(t, "{", `{"@context":["a",{"b":"c"}],"expires":"2027-01-01T00:00:00+01:00",`), nil},
		{"without created", edit(t, `"created":"2026-12-01T10:00:00Z",`, ""), nil},
		{"another type", edit(t, "DataIntegrityProof", "Ed25519Signature2020"), integrity.ErrUnsupported},
		{"another suite", edit(t, "eddsa-jcs-2022", "eddsa-rdfc-2022"), integrity.ErrUnsupported},
		{"the suite none", edit(t, "eddsa-jcs-2022", "none"), integrity.ErrUnsupported},
		{"the suite in capitals", edit(t, "eddsa-jcs-2022", "EDDSA-JCS-2022"), integrity.ErrUnsupported},
		{"another suite and a malformed value", strings.Replace(edit(t, "eddsa-jcs-2022", "x"), value, "?", 1), integrity.ErrUnsupported},
		{"a link to another proof", edit(t, "{", `{"previousProof":"urn:x",`), integrity.ErrUnsupported},
		{"a domain", edit(t, "{", `{"domain":"example.org",`), integrity.ErrUnsupported},
		{"a challenge", edit(t, "{", `{"challenge":"c",`), integrity.ErrUnsupported},
		{"a member that nobody knows", edit(t, "{", `{"x":"y",`), integrity.ErrUnsupported},
		{"a member in other case", edit(t, `"created"`, `"Created"`), integrity.ErrUnsupported},
		{"no object", `"proof"`, integrity.ErrProof},
		{"no type", edit(t, `"type":"DataIntegrityProof",`, ""), integrity.ErrProof},
		{"no suite", edit(t, `"cryptosuite":"eddsa-jcs-2022",`, ""), integrity.ErrProof},
		{"types in a list", edit(t, `"DataIntegrityProof"`, `["DataIntegrityProof"]`), integrity.ErrProof},
		{"no method", edit(t, `"verificationMethod":"did:example:a#k",`, ""), integrity.ErrProof},
		{"an empty method", edit(t, `did:example:a#k`, ""), integrity.ErrProof},
		{"an embedded method", edit(t, `"did:example:a#k"`, `{"id":"did:example:a#k"}`), integrity.ErrProof},
		{"no purpose", edit(t, `"proofPurpose":"assertionMethod",`, ""), integrity.ErrProof},
		{"no value", edit(t, `,"proofValue":"`+value+`"`, ""), integrity.ErrProof},
		{"an empty value", edit(t, value, ""), integrity.ErrProof},
		{"a value in another base", edit(t, value, "u"+strings.Repeat("A", 86)), integrity.ErrProof},
		{"a value cut short", edit(t, value, value[:60]), integrity.ErrProof},
		{"a value too long", edit(t, value, "z1"+value[1:]), integrity.ErrProof},
		{"a value without its letter", edit(t, value, value[1:]), integrity.ErrProof},
		{"a value that is null", edit(t, `"`+value+`"`, "null"), integrity.ErrProof},
		{"created without an offset", edit(t, "10:00:00Z", "10:00:00"), integrity.ErrProof},
		{"created as a number", edit(t, `"2026-12-01T10:00:00Z"`, "1796119200"), integrity.ErrProof},
		{"expires that is no time", edit(t, "{", `{"expires":"never",`), integrity.ErrProof},
		{"a number without a double in its context", edit(t, "{", `{"@context":[1e999],`), integrity.ErrProof},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := integrity.Parse(parsed(t, c.text))
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err != nil && p.Method != "" {
				t.Errorf("a proof beside the error: %+v", p)
			}
		})
	}
}

func TestProofsOfOtherSuitesAreUnsupported(t *testing.T) {
	n := 0
	for _, name := range []string{
		"Ed25519Signature2020/signedEdSig.json", "eddsa-rdfc-2022/signedDataInt.json", "eddsa-rdfc-2022/employ/signedDataInt.json",
		"proof-set-chain/signedProofChain1.json", "proof-set-chain/signedProofChain2.json",
		"proof-set-chain/signedProofSet1.json", "proof-set-chain/signedProofSet2.json",
	} {
		proofs := get(t, parsed(t, readText(t, name)), "proof")
		list := proofs.Elements()
		if list == nil {
			list = []strictjson.Value{proofs}
		}
		for _, p := range list {
			n++
			if _, err := integrity.Parse(p); !errors.Is(err, integrity.ErrUnsupported) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if n != 13 {
		t.Errorf("%d proofs, want 13", n)
	}
}

// TestContextOfTheProof is w3c/vc-data-integrity#225: another party adds a context to a document that is signed.
// It is identity B-12.
func TestContextOfTheProof(t *testing.T) {
	for _, c := range []struct {
		name, doc, own string
		ok             bool
	}{
		{"the same", `["a","b"]`, `["a","b"]`, true},
		{"the document has one more", `["a","b"]`, `["a"]`, true},
		{"one context and a list of it", `["a","b"]`, `"a"`, true},
		{"a list of one and the context", `"a"`, `["a"]`, true},
		{"objects spelled differently", `[{"x":1.0,"y":"\u0041"},"b"]`, `[{"y":"A","x":1}]`, true},
		{"none of either", ``, ``, true},
		{"the proof has none", `["a"]`, ``, true},
		{"an order of its own", `["a","b"]`, `["b","a"]`, false},
		{"the second only", `["a","b"]`, `["b"]`, false},
		{"one more than the document", `["a"]`, `["a","b"]`, false},
		{"another", `["a"]`, `["c"]`, false},
		{"part of a text", `["ab"]`, `["a"]`, false},
		{"another object", `[{"x":1}]`, `[{"x":2}]`, false},
		{"the document has none", ``, `["a"]`, false},
		{"a list within the list", `[["a"]]`, `["a"]`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			member := func(v string) string {
				if v == "" {
					return ""
				}
				return `"@context":` + v + `,`
			}
			doc := parsed(t, `{`+member(c.doc)+`"id":"x","proof":`+edit(t, "{", "{"+member(c.own))+`}`)
			p, err := integrity.Parse(get(t, doc, "proof"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Signed(doc)
			if !c.ok {
				if !errors.Is(err, integrity.ErrProof) || got != nil {
					t.Errorf("got %s, %v", got, err)
				}
				return
			}
			kept := c.own
			if kept == "" {
				kept = c.doc
			}
			want, wantErr := strictjson.Canonicalize([]byte(`{`+member(kept)+`"id":"x"}`), 8)
			if err != nil || wantErr != nil || string(got) != string(want) {
				t.Errorf("got %s, %v\nwant %s, %v", got, err, want, wantErr)
			}
		})
	}
}

func TestEveryMemberOfAProofIsSigned(t *testing.T) {
	document := sha256.Sum256([]byte(`{"id":"x"}`))
	signer := envelopetest.Repeat(1)
	made, err := integrity.Make(t.Context(), signer, document, integrity.Options{
		Context: strictjson.StringsOf("a"), Created: time.Date(2026, 12, 1, 11, 0, 0, 999, time.FixedZone("", 3600)),
		Method: "did:example:a#k", Purpose: did.Authentication,
	})
	if err != nil {
		t.Fatal(err)
	}
	verify := func(v strictjson.Value) error {
		p, err := integrity.Parse(v)
		if err != nil {
			t.Fatal(err)
		}
		return p.Verify(signer.Public(), document)
	}
	if err := verify(made); err != nil {
		t.Fatal(err)
	}
	if got := textOf(t, made, "created"); got != "2026-12-01T10:00:00Z" {
		t.Errorf("created %s", got)
	}
	for name, v := range map[string]strictjson.Value{
		"@context":           strictjson.StringsOf("b"),
		"created":            strictjson.StringOf("2026-12-01T10:00:01Z"),
		"verificationMethod": strictjson.StringOf("did:example:a#k0"),
		"proofPurpose":       strictjson.StringOf("assertionMethod"),
		"expires":            strictjson.StringOf("2099-12-01T10:00:01Z"),
		"nonce":              strictjson.StringOf(""),
		"id":                 strictjson.StringOf("urn:x"),
	} {
		if err := verify(made.With(name, v)); !errors.Is(err, did.ErrSignature) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	for _, name := range []string{"@context", "created"} {
		if err := verify(made.Without(name)); !errors.Is(err, did.ErrSignature) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func TestKeysThatDoNotSignVerifyNothing(t *testing.T) {
	x, err := did.NewX25519(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	p, err := integrity.Parse(parsed(t, good))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Verify(x, [32]byte{}); !errors.Is(err, did.ErrNotSigning) {
		t.Errorf("X25519: %v", err)
	}
	if err := p.Verify(did.PublicKey{}, [32]byte{}); !errors.Is(err, did.ErrNotSigning) {
		t.Errorf("no key: %v", err)
	}
}

func TestParseTime(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"2026-12-01T10:00:00Z", "2026-12-01T10:00:00Z"},
		{"2026-12-01T10:00:00.5Z", "2026-12-01T10:00:00.5Z"},
		{"2026-12-01T10:00:00.123456789Z", "2026-12-01T10:00:00.123456789Z"},
		{"2026-12-01T10:00:00+00:00", "2026-12-01T10:00:00Z"},
		{"2026-12-01T10:00:00-05:30", "2026-12-01T15:30:00Z"},
		{"0001-01-01T00:00:01Z", "0001-01-01T00:00:01Z"},
		{"9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"},
		{"0001-01-01T00:00:00Z", ""},
		{"0001-01-01T01:00:00+01:00", ""},
		{"0001-01-01T00:00:00+01:00", ""},
		{"0000-06-01T00:00:00Z", ""},
		{"2026-12-01T10:00:00", ""},
		{"2026-12-01T10:00:00,5Z", ""},
		{"2026-12-01T10:00:00.Z", ""},
		{"2026-12-01T10:00:00.1234567891Z", ""},
		{"2026-12-01T10:00:00.123456789123456789Z", ""},
		{"2026-12-01t10:00:00z", ""},
		{"2026-12-01 10:00:00Z", ""},
		{"2026-12-01T1:00:00Z", ""},
		{"2026-12-01T24:00:00Z", ""},
		{"2026-12-01T10:00:60Z", ""},
		{"2026-02-30T10:00:00Z", ""},
		{"2026-12-01T10:00:00+25:00", ""},
		{"2026-12-01T10:00:00+0100", ""},
		{"-2026-12-01T10:00:00Z", ""},
		{"12026-12-01T10:00:00Z", ""},
		{"2026-12-01", ""},
		{"", ""},
	} {
		got, err := integrity.ParseTime(c.in)
		if c.want == "" {
			if err == nil {
				t.Errorf("%q was read as %s", c.in, got)
			}
			continue
		}
		if err != nil || got.Format(time.RFC3339Nano) != c.want || got.Location() != time.UTC {
			t.Errorf("%q: got %s, %v; want %s", c.in, got, err, c.want)
		}
	}
}

func TestSignerThatFails(t *testing.T) {
	if v, err := integrity.Make(t.Context(), refusing{}, [32]byte{}, integrity.Options{Method: "m"}); !errors.Is(err, errLocked) || v.Kind() != 0 {
		t.Errorf("got %s, %v", v.Raw(), err)
	}
	if _, err := integrity.Make(t.Context(), envelopetest.Repeat(1), [32]byte{}, integrity.Options{Method: "\xff"}); err == nil {
		t.Error("a method that is not UTF-8 was signed")
	}
}

var errLocked = errors.New("locked")

type refusing struct{ envelope.Signer }

func (refusing) Sign(context.Context, envelope.Preimage) (did.Signature, error) {
	return did.Signature{}, errLocked
}
