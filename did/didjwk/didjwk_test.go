package didjwk

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trustnode/did"
	"trustnode/did/strictjson"
)

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

// parsed resolves text, which may be no DID at all: that is INVALID_DID, as the registry answers it.
func parsed(text string) (did.Resolution, error) {
	d, err := did.Parse(text)
	if err != nil {
		return did.Resolution{}, &did.ResolutionError{Name: did.InvalidDID, Err: err}
	}
	return resolve(d)
}

func ofJWK(jwk string) string { return "did:jwk:" + base64.RawURLEncoding.EncodeToString([]byte(jwk)) }

func wantName(t *testing.T, what string, err error, name did.ErrorName) {
	t.Helper()
	var r *did.ResolutionError
	if !errors.As(err, &r) || r.Name != name {
		t.Errorf("%s: got %v, want %s", what, err, name)
	}
}

const (
	edX  = `"x":"Lm_M42cB3HkUiODQsXRcweM6TByfzEHGO9ND274JcOY"`
	xX   = `"x":"3p7bfXt9wbTTW2HC7OQ1Nz-DQ8hbeGdNrfx-FG-IK08"`
	pXY  = `"x":"acbIQiuMs3i8_uszEjJ2tpTtRM4EU3yz91PH6CdH2V0","y":"_KcyLj9vWMptnmKtm46GqDz8wf74I5LKgrl2GzH3nSE"`
	edK  = `{"kty":"OKP","crv":"Ed25519",` + edX
	xK   = `{"kty":"OKP","crv":"X25519",` + xX
	pK   = `{"kty":"EC","crv":"P-256",` + pXY
	edID = "did:jwk:eyJrdHkiOiJPS1AiLCJjcnYiOiJFZDI1NTE5IiwieCI6IkxtX000MmNCM0hrVWlPRFFzWFJjd2VNNlRCeWZ6RUhHTzlORDI3NEpjT1kifQ"
)

var allRels = []did.Relationship{
	did.AssertionMethod, did.Authentication, did.CapabilityDelegation, did.CapabilityInvocation, did.KeyAgreement,
}

var agreement = []did.Relationship{did.KeyAgreement}

// listed returns the relationships that name the method of r, and fails if one names anything else.
func listed(t testing.TB, r did.Resolution) []did.Relationship {
	t.Helper()
	var rels []did.Relationship
	for _, rel := range allRels {
		switch ids := r.Document.Listed(rel); {
		case slices.Equal(ids, []string{r.DID.String() + "#0"}):
			rels = append(rels, rel)
		case len(ids) > 0:
			t.Errorf("%s: %s is %v", r.DID, rel, ids)
		}
	}
	return rels
}

func wantHeld(t testing.TB, text string, r did.Resolution) {
	t.Helper()
	if r.DID.String() != text || r.Document.ID() != r.DID || !bytes.Equal(r.Raw, r.Document.Raw()) ||
		r.Version != did.StaticVersion || r.State != did.Held || !r.VerifiedAt.IsZero() || !r.Created.IsZero() {
		t.Errorf("%s: got %+v", text, r)
	}
	m := r.Document.Methods()
	if len(m) != 1 || m[0].ID != text+"#"+Fragment || m[0].Type != "JsonWebKey" || m[0].Controller != text {
		t.Errorf("%s: got methods %+v", text, m)
	}
	if got, err := strictjson.Canonicalize(r.Raw, did.MaxDocumentDepth); err != nil || !bytes.Equal(got, r.Raw) {
		t.Errorf("%s: document is not in its canonical form: %s", text, r.Raw)
	}
}

func TestVectors(t *testing.T) {
	var file struct {
		Positive []struct{ DID, Kid string }
		Negative []struct{ DID, Why string }
	}
	readJSON(t, "did-jwk-cases.json", &file)
	want := [][]did.Relationship{signing, agreement}
	accepted, refused := 0, 0
	for i, c := range file.Positive {
		r, err := parsed(c.DID)
		if err != nil {
			t.Errorf("%s: %v", c.DID, err)
			continue
		}
		wantHeld(t, c.DID, r)
		if got := listed(t, r); c.Kid != "#0" || !slices.Equal(got, want[i]) || len(r.Warnings) != 0 || r.Document.Methods()[0].Err != nil {
			t.Errorf("%s: listed under %v, want %v, warnings %v", c.DID, got, want[i], r.Warnings)
		}
		accepted++
	}
	for _, c := range file.Negative {
		r, err := parsed(c.DID)
		wantName(t, c.Why, err, did.InvalidDID)
		if reflect.DeepEqual(r, did.Resolution{}) {
			refused++
		}
	}
	if accepted != 2 || refused != 5 {
		t.Errorf("%d accepted, %d refused, want 2 and 5", accepted, refused)
	}
}

func TestWhatAKeyIsListedUnder(t *testing.T) {
	cases := []struct {
		name, jwk string
		want      []did.Relationship
		usable    bool
	}{
		{"Ed25519 signs and agrees on nothing", edK + `}`, signing, true},
		{"Ed25519 for signatures", edK + `,"use":"sig"}`, signing, true},
		{"Ed25519 whose operations hold verify", edK + `,"key_ops":["sign","verify"]}`, signing, true},
		{"X25519 agrees and signs nothing", xK + `}`, agreement, true},
		{"X25519 for encryption", xK + `,"use":"enc"}`, agreement, true},
		{"P-256 serves everything", pK + `}`, allRels, true},
		{"P-256 for signatures agrees on nothing", pK + `,"use":"sig"}`, signing, true},
		{"P-256 for encryption signs nothing", pK + `,"use":"enc"}`, agreement, false},
		{"P-256 whose operations lack verify signs nothing", pK + `,"key_ops":["deriveKey"]}`, agreement, false},
		{"a kid is not the fragment", edK + `,"kid":"k-7"}`, signing, true},
		{"foreign members stay", edK + `,"alg":"EdDSA","x-team":{"n":[7]}}`, signing, true},
		{"white space is another DID of the same key", " " + edK + "\n}", signing, true},
	}
	for _, c := range cases {
		text := ofJWK(c.jwk)
		r, err := parsed(text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		wantHeld(t, text, r)
		if got := listed(t, r); !slices.Equal(got, c.want) {
			t.Errorf("%s: listed under %v, want %v", c.name, got, c.want)
		}
		if got := r.Document.Methods()[0].Err == nil; got != c.usable || (len(r.Warnings) == 0) != c.usable {
			t.Errorf("%s: usable is %v, warnings %v", c.name, got, r.Warnings)
		}
		var doc struct {
			VerificationMethod []struct{ PublicKeyJwk any }
		}
		var jwk any
		if err := errors.Join(json.Unmarshal(r.Raw, &doc), json.Unmarshal([]byte(c.jwk), &jwk)); err != nil {
			t.Fatal(err)
		}
		if got := doc.VerificationMethod[0].PublicKeyJwk; !reflect.DeepEqual(got, jwk) {
			t.Errorf("%s: document holds %v, want %v", c.name, got, jwk)
		}
	}
}

func TestDocumentBytes(t *testing.T) {
	const m = edID + "#0"
	want := `{"@context":["https://www.w3.org/ns/did/v1","https://w3id.org/security/jwk/v1"],"assertionMethod":["` + m +
		`"],"authentication":["` + m + `"],"capabilityDelegation":["` + m + `"],"capabilityInvocation":["` + m + `"],"id":"` + edID +
		`","verificationMethod":[{"controller":"` + edID + `","id":"` + m + `","publicKeyJwk":{"crv":"Ed25519","kty":"OKP",` + edX +
		`},"type":"JsonWebKey"}]}`
	r, err := parsed(edID)
	if err != nil || string(r.Raw) != want {
		t.Errorf("got %s, %v\nwant %s", r.Raw, err, want)
	}
}

func TestTheKeyIsTheOneWritten(t *testing.T) {
	// RFC 8037, appendix A.2.
	const x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
	r, err := parsed(ofJWK(`{"kty":"OKP","crv":"Ed25519","x":"` + x + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	key, err := r.Document.Key(Fragment, did.AssertionMethod)
	if got := hex.EncodeToString(key.Raw()); err != nil || key.Algorithm() != did.Ed25519 ||
		got != "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a" {
		t.Errorf("got %v %s, %v", key.Algorithm(), got, err)
	}
	if _, err := r.Document.Key(Fragment, did.KeyAgreement); !errors.Is(err, did.ErrRelationship) {
		t.Errorf("for key agreement: %v", err)
	}
}

func TestRefused(t *testing.T) {
	zero := strings.Repeat("A", 43)
	cases := []struct {
		name, did string
		want      did.ErrorName
		cause     error
	}{
		{"another method", "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK", did.InvalidDID, ErrMethod},
		{"a private key", ofJWK(edK + `,"d":"` + zero + `"}`), did.InvalidDID, did.ErrKeyInvalid},
		{"a private member that is null", ofJWK(edK + `,"d":null}`), did.InvalidDID, did.ErrKeyInvalid},
		{"a private key for encryption", ofJWK(xK + `,"use":"enc","d":"` + zero + `"}`), did.InvalidDID, did.ErrKeyInvalid},
		{"a private P-256 key that is marked", ofJWK(pK + `,"use":"enc","d":"` + zero + `"}`), did.InvalidDID, did.ErrKeyInvalid},
		{"a symmetric key", ofJWK(`{"kty":"oct","k":"AAAA"}`), did.InvalidDID, did.ErrKeyInvalid},
		{"an RSA key", ofJWK(`{"kty":"RSA","n":"AQAB","e":"AQAB"}`), did.FeatureNotSupported, did.ErrKeyUnsupported},
		{"another curve", ofJWK(`{"kty":"EC","crv":"secp256k1",` + pXY + `}`), did.FeatureNotSupported, did.ErrKeyUnsupported},
		{"a point that is not on the curve", ofJWK(`{"kty":"EC","crv":"P-256","x":"` + zero + `","y":"` + zero + `"}`), did.InvalidDID, did.ErrKeyInvalid},
		{"Ed25519 for encryption", ofJWK(edK + `,"use":"enc"}`), did.InvalidDID, did.ErrKeyInvalid},
		{"Ed25519 whose operations lack verify", ofJWK(edK + `,"key_ops":["sign"]}`), did.InvalidDID, did.ErrKeyInvalid},
		{"X25519 for signatures", ofJWK(xK + `,"use":"sig"}`), did.InvalidDID, did.ErrKeyInvalid},
		{"an unknown use", ofJWK(pK + `,"use":"tls"}`), did.InvalidDID, did.ErrKeyInvalid},
		{"a use that is no text", ofJWK(xK + `,"use":["enc"]}`), did.InvalidDID, did.ErrKeyInvalid},
		{"a use in another case", ofJWK(edK + `,"use":"SIG"}`), did.InvalidDID, did.ErrKeyInvalid},
		{"a member twice", ofJWK(edK + `,` + edX + `}`), did.InvalidDID, did.ErrKeyText},
		{"bytes after the key", ofJWK(edK + `}{}`), did.InvalidDID, did.ErrKeyText},
		{"a byte order mark", ofJWK("\ufeff" + edK + `}`), did.InvalidDID, did.ErrKeyText},
		{"an array", ofJWK(`[` + edK + `}]`), did.InvalidDID, did.ErrKeyText},
		{"a nested member", ofJWK(edK + `,"y":[[[]]]}`), did.InvalidDID, did.ErrKeyText},
		{"a number out of range", ofJWK(edK + `,"n":1e999}`), did.InvalidDID, did.ErrKeyText},
		{"padding in the key", ofJWK(strings.Replace(edK, `cOY"`, `cOY="`, 1) + `}`), did.InvalidDID, did.ErrKeyText},
		{"bits left over in the key", ofJWK(strings.Replace(edK, `cOY"`, `cOZ"`, 1) + `}`), did.InvalidDID, did.ErrKeyText},
		{"bits left over in the DID", edID[:len(edID)-1] + "R", did.InvalidDID, did.ErrKeyText},
		{"padding in the DID", edID + "=", did.InvalidDID, did.ErrSyntax},
		{"escaped padding in the DID", edID + "%3D", did.InvalidDID, did.ErrKeyText},
		{"an escaped character", "did:jwk:%65" + edID[len("did:jwk:e"):], did.InvalidDID, did.ErrKeyText},
		{"a colon", edID + ":x", did.InvalidDID, did.ErrKeyText},
		{"more than may be a DID", ofJWK(edK + `,"x-note":"` + strings.Repeat("n", 1500) + `"}`), did.InvalidDID, did.ErrTooLarge},
	}
	for _, c := range cases {
		r, err := parsed(c.did)
		wantName(t, c.name, err, c.want)
		if !errors.Is(err, c.cause) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.cause)
		}
		if !reflect.DeepEqual(r, did.Resolution{}) {
			t.Errorf("%s: got %+v", c.name, r)
		}
	}
	_, err := resolve(did.DID{})
	wantName(t, "nobody", err, did.InvalidDID)
}

func TestVersionsAndEndedContextsAreRefused(t *testing.T) {
	d := did.MustParse(edID)
	for _, o := range []did.Options{{VersionID: did.StaticVersion}, {VersionNumber: 1}, {VersionTime: time.Unix(1, 0)}} {
		_, err := Resolver{}.Resolve(t.Context(), d, did.Material{}, o)
		wantName(t, "a version", err, did.InvalidOptions)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Resolver{}.Resolve(ctx, d, did.Material{}, did.Options{})
	wantName(t, "an ended context", err, did.InternalError)
}

// TestSmallOrderKeysAreNoDIDs is identity B-16.
func TestSmallOrderKeysAreNoDIDs(t *testing.T) {
	var file struct{ Keys []struct{ Hex string } }
	readJSON(t, "ed25519-small-order.json", &file)
	for _, k := range file.Keys {
		raw, err := hex.DecodeString(k.Hex)
		if err != nil {
			t.Fatal(err)
		}
		for _, mark := range []string{"", `,"use":"sig"`, `,"use":"enc"`} {
			_, err := parsed(ofJWK(`{"kty":"OKP","crv":"Ed25519","x":"` + base64.RawURLEncoding.EncodeToString(raw) + `"` + mark + `}`))
			wantName(t, k.Hex, err, did.InvalidDID)
			if !errors.Is(err, did.ErrKeyInvalid) {
				t.Errorf("%s: got %v", k.Hex, err)
			}
		}
	}
	if len(file.Keys) != 11 {
		t.Errorf("%d keys, want 11", len(file.Keys))
	}
}

// TestOneChangedCharacterIsAnotherDIDOrNone is identity I-9 for did:jwk.
func TestOneChangedCharacterIsAnotherDIDOrNone(t *testing.T) {
	const set = "AQgw059_-ezI.:%"
	for _, text := range []string{edID, ofJWK(xK + `,"use":"enc"}`), ofJWK(pK + `,"kid":"k"}`)} {
		origin, err := parsed(text)
		if err != nil {
			t.Fatal(err)
		}
		tried, resolved := 0, 0
		try := func(other string) {
			tried++
			r, err := parsed(other)
			if err != nil {
				return
			}
			resolved++
			if r.DID == origin.DID || r.DID.String() != other || bytes.Equal(r.Raw, origin.Raw) {
				t.Errorf("%s resolves to %s, %s", other, r.DID, r.Raw)
			}
		}
		for i := range len(text) + 1 {
			for j := range len(set) {
				try(text[:i] + set[j:j+1] + text[i:])
				if i < len(text) && text[i] != set[j] {
					try(text[:i] + set[j:j+1] + text[i+1:])
				}
			}
			if i < len(text) {
				try(text[:i] + text[i+1:])
			}
		}
		if resolved == 0 || tried < 1000 {
			t.Errorf("%s: %d of %d changes resolve; the test shows nothing", text, resolved, tried)
		}
	}
}

// TestEveryMarkedKey holds use and key_ops to a model of what they leave.
func TestEveryMarkedKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom([]string{edK, xK, pK}).Draw(t, "key")
		use := rapid.SampledFrom([]string{"", "sig", "enc", "tls"}).Draw(t, "use")
		ops := rapid.SampledFrom([]string{"", `["verify"]`, `["sign"]`, `[]`, `["deriveKey","verify"]`}).Draw(t, "key_ops")
		jwk := base
		if use != "" {
			jwk += `,"use":"` + use + `"`
		}
		if ops != "" {
			jwk += `,"key_ops":` + ops
		}
		var want []did.Relationship
		if base != xK && (use == "" || use == "sig") && (ops == "" || strings.Contains(ops, "verify")) {
			want = append(want, signing...)
		}
		if base != edK && (use == "" || use == "enc") {
			want = append(want, did.KeyAgreement)
		}
		r, err := parsed(ofJWK(jwk + "}"))
		if (err == nil) != (len(want) > 0) {
			t.Fatalf("%s: got %v, want %v", jwk, err, want)
		}
		for _, rel := range allRels {
			if got := err == nil && r.Document.Lists(Fragment, rel); got != slices.Contains(want, rel) {
				t.Fatalf("%s: %s is %v", jwk, rel, got)
			}
		}
	})
}

// TestAnyTextUpTo64KiB is identity I-11 for did:jwk.
func TestAnyTextUpTo64KiB(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.StringN(1, 40, 64).Draw(t, "unit")
		if rapid.Bool().Draw(t, "base64url") {
			unit = rapid.StringMatching(`[A-Za-z0-9_-]{1,40}`).Draw(t, "digits")
		}
		text := rapid.SampledFrom([]string{"", "did:jwk:", edID}).Draw(t, "start") +
			strings.Repeat(unit, rapid.IntRange(1, 64<<10/len(unit)).Draw(t, "times"))
		if r, err := parsed(text); err == nil && r.DID.String() != text {
			t.Fatalf("%.80s: resolved to %s", text, r.DID)
		}
	})
}

// sound checks what holds for any text.
func sound(t *testing.T, text string) {
	t.Helper()
	d, err := did.Parse(text)
	if err != nil {
		return
	}
	r, err := resolve(d)
	again, errAgain := resolve(d)
	if !reflect.DeepEqual(r, again) || !reflect.DeepEqual(err, errAgain) {
		t.Errorf("%s: two results: %+v, %v and %+v, %v", text, r, err, again, errAgain)
	}
	if err != nil {
		var named *did.ResolutionError
		if !errors.As(err, &named) || named.Name == did.InternalError || !reflect.DeepEqual(r, did.Resolution{}) {
			t.Errorf("%s: got %+v, %v", text, r, err)
		}
		return
	}
	wantHeld(t, text, r)
	key := r.Document.Methods()[0].Public
	for _, rel := range listed(t, r) {
		if rel == did.KeyAgreement && key.Algorithm() == did.Ed25519 || rel != did.KeyAgreement && (key.Algorithm() == did.X25519 || key.IsZero()) {
			t.Errorf("%s: %v key under %s", text, key.Algorithm(), rel)
		}
	}
	jwk, err := base64.RawURLEncoding.DecodeString(d.ID())
	if err != nil || strings.TrimPrefix(ofJWK(string(jwk)), "did:jwk:") != d.ID() {
		t.Errorf("%s: encodes to %s, %v", text, ofJWK(string(jwk)), err)
	}
}

func FuzzResolve(f *testing.F) {
	var file struct{ Positive, Negative []struct{ DID string } }
	readJSON(f, "did-jwk-cases.json", &file)
	for _, c := range append(file.Positive, file.Negative...) {
		f.Add(c.DID)
	}
	f.Add(ofJWK(pK + `}`))
	f.Fuzz(sound)
}

// FuzzJWK puts any bytes into the DID.
func FuzzJWK(f *testing.F) {
	for _, jwk := range []string{edK + `}`, xK + `,"use":"enc"}`, pK + `,"use":"sig","key_ops":["verify"]}`, edK + `,"d":"AA"}`, edK + `,"n":-0.0}`} {
		f.Add([]byte(jwk))
	}
	f.Fuzz(func(t *testing.T, jwk []byte) { sound(t, ofJWK(string(jwk))) })
}

func BenchmarkResolve(b *testing.B) {
	for name, jwk := range map[string]string{"Ed25519": edK + `}`, "X25519": xK + `,"use":"enc"}`, "P-256": pK + `}`} {
		d := did.MustParse(ofJWK(jwk))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := resolve(d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("floor: DecodeJWK, Ed25519", func(b *testing.B) {
		raw := []byte(edK + `}`)
		for b.Loop() {
			if _, err := did.DecodeJWK(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}
