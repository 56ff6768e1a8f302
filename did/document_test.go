package did_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/strictjson"
)

const (
	keyA = "z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
	keyB = "z6MkjchhfUsD6mmvni8mCdXHw216Xrm9bQe2mBH1P5RDjVJG"
)

var acme = did.MustParse("did:web:acme.example")

func decode(t testing.TB, text string) did.PublicKey {
	t.Helper()
	k, err := did.DecodeKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestDocumentVectors(t *testing.T) {
	b, err := os.ReadFile("testdata/local/did-documents.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Case, Want string
		Document   json.RawMessage
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	parsed, unusable, refused := 0, 0, 0
	for _, c := range cases {
		want := did.MustParse("did:web:example.com")
		if strings.Contains(string(c.Document), "did:web:agent.example") {
			want = did.MustParse("did:web:agent.example")
		}
		d, err := did.ParseDocument(c.Document, want)
		if (err != nil) != strings.HasPrefix(c.Want, "reject document") {
			t.Errorf("%s: %v, want %s", c.Case, err, c.Want)
		}
		if err != nil {
			if !errors.Is(err, did.ErrDocument) || !d.IsZero() {
				t.Errorf("%s: %v, want ErrDocument", c.Case, err)
			}
			refused++
			continue
		}
		parsed++
		bad := false
		for _, m := range d.Methods() {
			bad = bad || m.Err != nil
		}
		if bad != (c.Want == "reject key") {
			t.Errorf("%s: methods %+v, want %s", c.Case, d.Methods(), c.Want)
		}
		if bad {
			unusable++
		}
		if string(d.Raw()) != string(c.Document) {
			t.Errorf("%s: the bytes were not kept", c.Case)
		}
	}
	if got := [3]int{parsed, unusable, refused}; got != [3]int{12, 2, 2} {
		t.Errorf("parsed, unusable, refused = %v, expected 12, 2, 2", got)
	}
}

// method writes a verification method of acme; extra are further members.
func method(id, key, extra string) string {
	return fmt.Sprintf(`{"id":%q,"type":"Multikey","controller":"did:web:acme.example","publicKeyMultibase":%q%s}`, id, key, extra)
}

func document(members string) []byte {
	return []byte(`{"id":"did:web:acme.example",` + members + `}`)
}

// TestAKeySpeaksOnlyUnderItsRelationship is identity I-18.
func TestAKeySpeaksOnlyUnderItsRelationship(t *testing.T) {
	d, err := did.ParseDocument(document(`"verificationMethod":[`+
		method("did:web:acme.example#a", keyA, "")+`,`+
		method("#rel", keyB, "")+`,`+
		method("#auth", keyB, "")+`,`+
		method("#soon", keyB, `,"expires":"2026-12-31T00:00:00Z"`)+`,`+
		method("#gone", keyB, `,"revoked":"2026-01-01T00:00:00Z"`)+`,`+
		method("#when", keyB, `,"expires":"soon"`)+`,`+
		method("did:web:other.example#x", keyB, "")+`,`+
		strings.Replace(method("#other", keyB, ""), "did:web:acme.example", "did:web:other.example", 1)+`,`+
		`{"id":"#alien","type":"Alien2030","controller":"did:web:acme.example","publicKeyMultibase":"`+keyB+`"}`+
		`],"assertionMethod":["did:web:acme.example#a","#a","#rel","#soon","#gone","#when","#other","#alien","#nowhere","did:web:other.example#x",`+
		method("#inside", keyB, "")+`],"authentication":["#auth"]`), acme)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kid  string
		rel  did.Relationship
		want error
	}{
		{"a", did.AssertionMethod, nil}, {"rel", did.AssertionMethod, nil}, {"inside", did.AssertionMethod, nil},
		{"auth", did.Authentication, nil},
		{"auth", did.AssertionMethod, did.ErrRelationship}, {"a", did.Authentication, did.ErrRelationship},
		{"inside", did.Authentication, did.ErrRelationship}, {"a", "", did.ErrRelationship},
		{"soon", did.AssertionMethod, did.ErrUnusable}, {"gone", did.AssertionMethod, did.ErrUnusable},
		{"when", did.AssertionMethod, did.ErrUnusable}, {"alien", did.AssertionMethod, did.ErrUnusable},
		{"other", did.AssertionMethod, did.ErrNoMethod}, {"x", did.AssertionMethod, did.ErrNoMethod},
		{"nowhere", did.AssertionMethod, did.ErrNoMethod}, {"", did.AssertionMethod, did.ErrNoMethod},
		{"key-1", did.AssertionMethod, did.ErrNoMethod}, {"A", did.AssertionMethod, did.ErrNoMethod},
	} {
		k, err := d.Key(c.kid, c.rel)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || k.IsZero() != (err != nil) {
			t.Errorf("Key(%q, %s) = %v, %v; want %v", c.kid, c.rel, k, err, c.want)
		}
	}
	if k, err := d.Key("a", did.AssertionMethod); err != nil || k != decode(t, keyA) {
		t.Errorf("key = %v, %v", k, err)
	}
	end := time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)
	if _, err := d.KeyAt("soon", did.AssertionMethod, end.Add(-time.Nanosecond)); err != nil {
		t.Errorf("before its end: %v", err)
	}
	for name, err := range map[string]error{
		"at its end": errOf(d.KeyAt("soon", did.AssertionMethod, end)), "revoked": errOf(d.KeyAt("gone", did.AssertionMethod, end)),
	} {
		if !errors.Is(err, did.ErrUnusable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var where []string
	for _, w := range d.Warnings() {
		where = append(where, w.Where)
	}
	if want := []string{"did:web:acme.example#when", "did:web:acme.example#alien", "did:web:acme.example#nowhere"}; !reflect.DeepEqual(where, want) {
		t.Errorf("warnings at %v, want %v", where, want)
	}
	if got := d.Listed(did.Authentication); !reflect.DeepEqual(got, []string{"did:web:acme.example#auth"}) {
		t.Errorf("authentication = %v", got)
	}
}

func errOf(_ did.PublicKey, err error) error { return err }

// TestMethodsThatCannotBeUsed is identity B-14 (a Multikey without codec).
func TestMethodsThatCannotBeUsed(t *testing.T) {
	jwk := `{"kty":"OKP","crv":"Ed25519","x":"Lm_M42cB3HkUiODQsXRcweM6TByfzEHGO9ND274JcOY"}`
	raw := decode(t, keyA).Raw()
	agree, err := did.NewX25519(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, typ, members, what string }{
		{"a Multikey", "Multikey", `"publicKeyMultibase":"` + keyA + `"`, ""},
		{"a Multikey in base64url", "Multikey", `"publicKeyMultibase":"` + base64Multikey(raw) + `"`, ""},
		{"a 2020 key", "Ed25519VerificationKey2020", `"publicKeyMultibase":"` + keyA + `"`, ""},
		{"a 2018 key", "Ed25519VerificationKey2018", `"publicKeyBase58":"` + did.Base58(raw) + `"`, ""},
		{"a 2018 key in multibase without codec", "Ed25519VerificationKey2018", `"publicKeyMultibase":"` + did.Multibase(raw) + `"`, ""},
		{"a 2019 agreement key", "X25519KeyAgreementKey2019", `"publicKeyBase58":"` + did.Base58(raw) + `"`, ""},
		{"a 2020 agreement key", "X25519KeyAgreementKey2020", `"publicKeyMultibase":"` + agree.Multikey() + `"`, ""},
		{"a JsonWebKey", "JsonWebKey", `"publicKeyJwk":` + jwk, ""},
		{"a JsonWebKey2020", "JsonWebKey2020", `"publicKeyJwk":` + jwk, ""},

		{"a Multikey without codec", "Multikey", `"publicKeyMultibase":"` + did.Multibase(raw) + `"`, "key"},
		{"a 2020 key in base64url", "Ed25519VerificationKey2020", `"publicKeyMultibase":"` + base64Multikey(raw) + `"`, "key"},
		{"a 2020 key for agreement", "Ed25519VerificationKey2020", `"publicKeyMultibase":"` + agree.Multikey() + `"`, "key"},
		{"a 2020 agreement key that signs", "X25519KeyAgreementKey2020", `"publicKeyMultibase":"` + keyA + `"`, "key"},
		{"a 2020 key in base58", "Ed25519VerificationKey2020", `"publicKeyBase58":"` + did.Base58(raw) + `"`, "publicKeyMultibase is missing"},
		{"a 2018 key with codec", "Ed25519VerificationKey2018", `"publicKeyMultibase":"` + keyA + `"`, "key"},
		{"a 2018 key in base64url", "Ed25519VerificationKey2018", `"publicKeyMultibase":"` + base64Multikey(raw) + `"`, "publicKeyBase58 is missing"},
		{"a JsonWebKey in multibase", "JsonWebKey", `"publicKeyMultibase":"` + keyA + `"`, "publicKeyJwk is missing"},
		{"a JWK with its private part", "JsonWebKey", `"publicKeyJwk":` + strings.Replace(jwk, "}", `,"d":"AA"}`, 1), "private member d"},
		{"two encodings", "Multikey", `"publicKeyMultibase":"` + keyA + `","publicKeyJwk":` + jwk, "2 key encodings"},
		{"no encoding", "Multikey", `"x":1`, "0 key encodings"},
		{"a private key beside it", "Multikey", `"publicKeyMultibase":"` + keyA + `","privateKeyMultibase":"z"`, "holds a private key"},
		{"a key that is no string", "Multikey", `"publicKeyMultibase":1`, "no string"},
		{"PEM", "Multikey", `"publicKeyPem":"x"`, "publicKeyMultibase is missing"},
		{"a foreign type", "EcdsaSecp256k1VerificationKey2019", `"publicKeyMultibase":"` + keyA + `"`, "unsupported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := did.ParseDocument(document(fmt.Sprintf(
				`"verificationMethod":[{"id":"#k","type":%q,"controller":"did:web:acme.example",%s},%s],"assertionMethod":["#k","#good"]`,
				c.typ, c.members, method("#good", keyB, ""))), acme)
			if err != nil {
				t.Fatal(err)
			}
			m := d.Methods()[0]
			if c.what == "" {
				if string(m.Public.Raw()) != string(raw) && m.Type[:4] != "Json" || m.Err != nil || m.Public.IsZero() {
					t.Errorf("method = %+v", m)
				}
			} else if !errors.Is(m.Err, did.ErrUnusable) || !strings.Contains(m.Err.Error(), c.what) || len(d.Warnings()) != 1 {
				t.Errorf("method = %+v, warnings %v", m, d.Warnings())
			}
			if k, err := d.Key("good", did.AssertionMethod); err != nil || k != decode(t, keyB) {
				t.Errorf("the method beside it: %v, %v", k, err)
			}
		})
	}
}

func TestWhatRefusesADocument(t *testing.T) {
	many := func(n int, item func(i int) string) string {
		var items []string
		for i := range n {
			items = append(items, item(i))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	keys := func(n int) string {
		return `"verificationMethod":` + many(n, func(i int) string { return method(fmt.Sprintf("#k%d", i), keyA, "") })
	}
	services := func(n int) string {
		return `"service":` + many(n, func(i int) string {
			return fmt.Sprintf(`{"id":"#s%d","type":"x","serviceEndpoint":"https://a.example"}`, i)
		})
	}
	for _, c := range []struct {
		name, doc string
		want      error
	}{
		{"another DID", `{"id":"did:web:other.example"}`, did.ErrDocument},
		{"the DID in another case", `{"id":"did:web:Acme.example"}`, did.ErrDocument},
		{"the DID with a fragment", `{"id":"did:web:acme.example#"}`, did.ErrDocument},
		{"no id", `{}`, did.ErrDocument},
		{"an id in another case", `{"ID":"did:web:acme.example"}`, did.ErrDocument},
		{"an array", `[{"id":"did:web:acme.example"}]`, did.ErrDocument},
		{"null", `null`, did.ErrDocument},
		{"a duplicate id member", `{"id":"did:web:acme.example","id":"did:web:acme.example"}`, did.ErrDocument},
		{"a comment", "{\"id\":\"did:web:acme.example\"} // x", did.ErrDocument},
		{"a byte order mark", "\xef\xbb\xbf{\"id\":\"did:web:acme.example\"}", did.ErrDocument},
		{"one method id twice", string(document(`"verificationMethod":[` + method("#a", keyA, "") + `,` + method("did:web:acme.example#a", keyB, "") + `]`)), did.ErrDocument},
		{"one method id twice, once embedded", string(document(`"verificationMethod":[` + method("#a", keyA, "") + `],"authentication":[` + method("#a", keyB, "") + `]`)), did.ErrDocument},
		{"a method without id", string(document(`"verificationMethod":[{"type":"Multikey"}]`)), did.ErrDocument},
		{"a method whose id is no DID URL", string(document(`"verificationMethod":[` + method("https://x#a", keyA, "") + `]`)), did.ErrDocument},
		{"a method whose id has no fragment", string(document(`"verificationMethod":[` + method("did:web:acme.example", keyA, "") + `]`)), did.ErrDocument},
		{"methods in an object", string(document(`"verificationMethod":{}`)), did.ErrDocument},
		{"a method that is a string", string(document(`"verificationMethod":["#a"]`)), did.ErrDocument},
		{"a reference that is a number", string(document(`"authentication":[1]`)), did.ErrDocument},
		{"a relationship that is a string", string(document(`"authentication":"#a"`)), did.ErrDocument},
		{"a controller that is an object", string(document(`"controller":{}`)), did.ErrDocument},
		{"another name that is a number", string(document(`"alsoKnownAs":[1]`)), did.ErrDocument},
		{"33 levels", string(document(`"x":` + strings.Repeat("[", 32) + strings.Repeat("]", 32))), did.ErrDocument},
		{"32 levels", string(document(`"x":` + strings.Repeat("[", 31) + strings.Repeat("]", 31))), nil},
		{"65 methods", string(document(keys(65))), did.ErrTooLarge},
		{"64 methods", string(document(keys(64))), nil},
		{"64 methods and one embedded", string(document(keys(64) + `,"authentication":[` + method("#a", keyA, "") + `]`)), did.ErrTooLarge},
		{"65 services", string(document(services(65))), did.ErrTooLarge},
		{"64 services", string(document(services(64))), nil},
		{"65 references", string(document(`"authentication":` + many(65, func(int) string { return `"#a"` }))), did.ErrTooLarge},
		{"a byte above 256 KiB", string(document(`"x":"` + strings.Repeat("x", did.MaxDocument) + `"`)), did.ErrTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := did.ParseDocument([]byte(c.doc), acme)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || d.IsZero() != (err != nil) {
				t.Errorf("error = %v, want %v", err, c.want)
			}
		})
	}
	_, err := did.ParseDocument([]byte("{\n  // x\n}"), acme)
	var at *strictjson.SyntaxError
	if !errors.As(err, &at) || at.Line != 2 || at.Column != 3 {
		t.Errorf("error = %v, want line 2 column 3", err)
	}
}

func TestOnlyWebvhMayLeaveTheControllerOut(t *testing.T) {
	webvh := did.MustParse("did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example")
	bare := strings.Replace(method("#a", keyA, ""), `"controller":"did:web:acme.example",`, "", 1)
	foreign := strings.Replace(bare, `"#a"`, `"did:web:other.example#b"`, 1)
	for _, c := range []struct {
		id     did.DID
		method string
		usable bool
	}{{webvh, bare, true}, {webvh, foreign, false}, {acme, bare, false}} {
		d, err := did.ParseDocument(fmt.Appendf(nil, `{"id":%q,"verificationMethod":[%s]}`, c.id, c.method), c.id)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Methods()[0].Err == nil; got != c.usable {
			t.Errorf("%s in %s usable: %v, want %v", c.method, c.id, got, c.usable)
		}
	}
}

func TestServicesAndNames(t *testing.T) {
	d, err := did.ParseDocument(document(`"alsoKnownAs":["did:web:b.example"],"controller":"did:web:c.example","service":[
		{"id":"#lending","type":"TrustnodeLending","serviceEndpoint":"https://acme.example/api"},
		{"id":"did:web:acme.example#many","type":["A","B"],"serviceEndpoint":["https://a.example",{"uri":"x"},"https://b.example"]},
		{"id":"#lending","type":"Twice","serviceEndpoint":"https://evil.example"},
		{"type":"NoID"},
		{"id":"#map","type":"M","serviceEndpoint":{"uri":"https://x.example"}}]`), acme)
	if err != nil {
		t.Fatal(err)
	}
	want := []did.Service{
		{ID: "did:web:acme.example#lending", Types: []string{"TrustnodeLending"}, Endpoints: []string{"https://acme.example/api"}},
		{ID: "did:web:acme.example#many", Types: []string{"A", "B"}, Endpoints: []string{"https://a.example", "https://b.example"}},
		{ID: "did:web:acme.example#map", Types: []string{"M"}},
	}
	if got := d.Services(); !reflect.DeepEqual(got, want) {
		t.Errorf("services = %+v\nwant %+v", got, want)
	}
	if s, ok := d.Service("#many"); !ok || !reflect.DeepEqual(s, want[1]) {
		t.Errorf("service = %+v, %v", s, ok)
	}
	if _, ok := d.Service("many"); ok {
		t.Error("a service was found by a part of its id")
	}
	if !reflect.DeepEqual(d.AlsoKnownAs(), []string{"did:web:b.example"}) || !reflect.DeepEqual(d.Controllers(), []string{"did:web:c.example"}) {
		t.Errorf("names %v, controllers %v", d.AlsoKnownAs(), d.Controllers())
	}
	if len(d.Warnings()) != 2 || d.ID() != acme {
		t.Errorf("warnings = %v", d.Warnings())
	}
}

func FuzzParseDocument(f *testing.F) {
	b, err := os.ReadFile("testdata/local/did-documents.json")
	if err != nil {
		f.Fatal(err)
	}
	var cases []struct{ Document json.RawMessage }
	if err := json.Unmarshal(b, &cases); err != nil {
		f.Fatal(err)
	}
	for _, c := range cases {
		f.Add([]byte(c.Document))
	}
	want := did.MustParse("did:web:example.com")
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := did.ParseDocument(b, want)
		if err != nil {
			return
		}
		again, err := did.ParseDocument(d.Raw(), want)
		if err != nil || !reflect.DeepEqual(again.Methods(), d.Methods()) && len(d.Warnings()) == 0 {
			t.Fatalf("%q read again: %v", b, err)
		}
		for _, m := range d.Methods() {
			if _, kid, _ := strings.Cut(m.ID, "#"); m.Err != nil {
				if k, err := d.Key(kid, did.AssertionMethod); err == nil && k == m.Public {
					t.Fatalf("unusable method %s gave a key", m.ID)
				}
			}
		}
	})
}
