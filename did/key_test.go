package did_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"trustnode/did"
)

// keyTexts returns the multikey texts of the published did:key vectors with their method-specific descriptions.
func keyTexts(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, name := range []string{"ed25519-x25519", "nist-curves", "x25519"} {
		var m map[string]json.RawMessage
		readJSON(t, "did-key/"+name+".json", &m)
		if inner, ok := m["didDocument"]; ok {
			m = nil
			if err := json.Unmarshal(inner, &m); err != nil {
				t.Fatal(err)
			}
		}
		for d := range m {
			out = append(out, strings.TrimPrefix(d, "did:key:"))
		}
	}
	return out
}

func TestPublishedKeysAreReadOrUnsupported(t *testing.T) {
	got := map[string]int{}
	for _, text := range keyTexts(t) {
		k, err := did.DecodeKey(text)
		switch {
		case errors.Is(err, did.ErrKeyUnsupported):
			got["unsupported"]++
		case err != nil:
			t.Errorf("%s: %v", text, err)
		default:
			got[k.Algorithm().String()]++
			if k.Multikey() != text {
				t.Errorf("%s written as %s", text, k.Multikey())
			}
		}
	}
	if want := map[string]int{"Ed25519": 5, "X25519": 4, "P-256": 3, "unsupported": 4}; !reflect.DeepEqual(got, want) {
		t.Errorf("keys = %v, want %v", got, want)
	}
}

// pair is a key as the published vectors write it beside the DID.
type pair struct {
	ID              string
	PublicKeyBase58 string
	PublicKeyJwk    json.RawMessage
}

func TestOneKeyInThreeEncodingsIsOneKey(t *testing.T) {
	var old map[string]struct{ VerificationKeyPair, KeyAgreementKeyPair pair }
	readJSON(t, "did-key/ed25519-x25519.json", &old)
	n := 0
	for d, v := range old {
		for a, p := range map[did.Algorithm]pair{did.Ed25519: v.VerificationKeyPair, did.X25519: v.KeyAgreementKeyPair} {
			_, fragment, _ := strings.Cut(p.ID, "#")
			want, err := did.DecodeKey(fragment)
			if err != nil {
				t.Fatal(err)
			}
			if p.PublicKeyBase58 == "" {
				p.PublicKeyBase58 = did.Base58(want.Raw())
			} else {
				p.PublicKeyJwk = fmt.Appendf(nil, `{"kty":"OKP","crv":%q,"x":%q}`, a, base64.RawURLEncoding.EncodeToString(want.Raw()))
			}
			if k, err := did.DecodeBase58Key(p.PublicKeyBase58, a); err != nil || k != want {
				t.Errorf("%s in base58: %v, %v", d, k, err)
			}
			if k, err := did.DecodeJWK(p.PublicKeyJwk); err != nil || k != want {
				t.Errorf("%s as JWK: %v, %v", d, k, err)
			}
			n++
		}
	}
	var nist map[string]struct{ VerificationMethod pair }
	readJSON(t, "did-key/nist-curves.json", &nist)
	for d, v := range nist {
		want, wantErr := did.DecodeKey(strings.TrimPrefix(d, "did:key:"))
		if len(v.VerificationMethod.PublicKeyJwk) == 0 {
			continue
		}
		k, err := did.DecodeJWK(v.VerificationMethod.PublicKeyJwk)
		if k != want || errors.Is(err, did.ErrKeyUnsupported) != errors.Is(wantErr, did.ErrKeyUnsupported) {
			t.Errorf("%s as JWK: %v, %v", d, k, err)
		}
		n++
	}
	if n != 10+6 {
		t.Errorf("%d keys were compared", n)
	}
}

func TestMalformedKeyTextsFailForTheirOwnReason(t *testing.T) {
	var v struct {
		Negative []struct{ Why, DID, Error string }
	}
	readJSON(t, "local/did-key-negative.json", &v)
	sentinels := map[string]error{
		"invalidDid": did.ErrKeyText, "invalidPublicKeyLength": did.ErrKeyLength, "invalidPublicKey": did.ErrKeyInvalid,
		"unsupportedPublicKeyType": did.ErrKeyUnsupported, "resolves; must never verify a signature": nil,
	}
	n := 0
	for _, c := range v.Negative {
		text := strings.TrimPrefix(c.DID, "did:key:")
		if strings.Contains(text, ":") {
			continue // the version is the DID method's matter
		}
		n++
		want, ok := sentinels[c.Error]
		if !ok {
			t.Fatalf("%s: unknown cause %s", c.Why, c.Error)
		}
		k, err := did.DecodeKey(text)
		if !errors.Is(err, want) || want != nil && !k.IsZero() {
			t.Errorf("%s: %v, want %v", c.Why, err, want)
		}
		if err != nil && strings.Contains(err.Error(), text) {
			t.Errorf("%s: the message quotes the text, which may be a private key: %v", c.Why, err)
		}
		if want == nil && !errors.Is(k.Verify(nil, did.Signature{}), did.ErrNotSigning) {
			t.Errorf("%s: verified something", c.Why)
		}
	}
	if n != 15 {
		t.Errorf("%d cases, expected 15", n)
	}
}

// TestSmallOrderPointsAreRefusedInEveryEncoding is identity B-16.
func TestSmallOrderPointsAreRefusedInEveryEncoding(t *testing.T) {
	var v struct {
		Keys []struct{ Hex, DID string }
	}
	readJSON(t, "local/ed25519-small-order.json", &v)
	refused := 0
	for _, c := range v.Keys {
		raw, err := hex.DecodeString(c.Hex)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.TrimPrefix(c.DID, "did:key:")
		for name, decode := range map[string]func() (did.PublicKey, error){
			"did:key":  func() (did.PublicKey, error) { return did.DecodeKey(text) },
			"Multikey": func() (did.PublicKey, error) { return did.DecodeMultikey(base64Multikey(raw)) },
			"JWK": func() (did.PublicKey, error) {
				return did.DecodeJWK([]byte(`{"kty":"OKP","crv":"Ed25519","x":"` + base64.RawURLEncoding.EncodeToString(raw) + `"}`))
			},
			"base58": func() (did.PublicKey, error) { return did.DecodeBase58Key(did.Base58(raw), did.Ed25519) },
		} {
			if k, err := decode(); !errors.Is(err, did.ErrKeyInvalid) || !k.IsZero() {
				t.Errorf("%s as %s: %v, %v", c.Hex, name, k, err)
				continue
			}
			refused++
		}
	}
	if len(v.Keys) != 11 || refused != 44 {
		t.Errorf("%d keys, %d refusals; expected 11 and 44", len(v.Keys), refused)
	}
}

func base64Multikey(raw []byte) string {
	return "u" + base64.RawURLEncoding.EncodeToString(append([]byte{0xed, 0x01}, raw...))
}

func testKey(seed byte) (did.PublicKey, ed25519.PrivateKey) {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, 32))
	k, err := did.NewEd25519(private.Public().(ed25519.PublicKey))
	if err != nil {
		panic(err)
	}
	return k, private
}

// TestMultikeyBytesFollowTheirRules is identity B-14 (ed without 01, P-256 uncompressed, eb51, no codec).
func TestMultikeyBytesFollowTheirRules(t *testing.T) {
	k, _ := testKey(1)
	raw := k.Raw()
	codec := func(n uint64, body []byte) []byte { return append(binary.AppendUvarint(nil, n), body...) }
	for _, c := range []struct {
		name string
		b    []byte
		want error
	}{
		{"an Ed25519 key", codec(0xed, raw), nil},
		{"nothing", nil, did.ErrKeyText},
		{"a varint without end", []byte{0xed}, did.ErrKeyText},
		{"a varint of eleven bytes", append(bytes.Repeat([]byte{0x80}, 10), 1), did.ErrKeyText},
		{"a varint that is not minimal", append([]byte{0xed, 0x81, 0x00}, raw...), did.ErrKeyText},
		{"a codec without its second byte", append([]byte{0xed, 0x00}, raw...), did.ErrKeyText},
		{"a key without codec", raw, did.ErrKeyUnsupported},
		{"a private key", codec(0x1300, raw), did.ErrKeyUnsupported},
		{"codec eb51", append([]byte{0xeb, 0x51}, raw...), did.ErrKeyUnsupported},
		{"an Ed25519 key of 31 bytes", codec(0xed, raw[1:]), did.ErrKeyLength},
		{"an Ed25519 key of 33 bytes", codec(0xed, append(raw[:32:32], 0)), did.ErrKeyLength},
		{"an X25519 key of 31 bytes", codec(0xec, raw[1:]), did.ErrKeyLength},
		{"a P-256 key of 65 bytes", codec(0x1200, make([]byte, 65)), did.ErrKeyLength},
		{"a P-256 key of zeros", codec(0x1200, make([]byte, 33)), did.ErrKeyInvalid},
		{"secp256k1 of the right length", codec(0xe7, make([]byte, 33)), did.ErrKeyUnsupported},
		{"secp256k1 of another length", codec(0xe7, make([]byte, 32)), did.ErrKeyLength},
		{"P-384 of another length", codec(0x1201, make([]byte, 48)), did.ErrKeyLength},
		{"P-521 of another length", codec(0x1202, make([]byte, 66)), did.ErrKeyLength},
		{"BLS G1 of another length", codec(0xea, make([]byte, 47)), did.ErrKeyLength},
		{"BLS G2 of the right length", codec(0xeb, make([]byte, 96)), did.ErrKeyUnsupported},
		{"BLS G1G2 of another length", codec(0xee, make([]byte, 145)), did.ErrKeyLength},
		{"y equal to p", codec(0xed, fieldPrime()), did.ErrKeyInvalid},
		{"a negative zero", codec(0xed, append([]byte{1}, append(make([]byte, 30), 0x80)...)), did.ErrKeyInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := did.DecodeMultikeyBytes(c.b)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Fatalf("error = %v, want %v", err, c.want)
			}
			if err == nil && (got != k || !bytes.Equal(got.MultikeyBytes(), c.b)) {
				t.Errorf("key = %v", got)
			}
		})
	}
}

// fieldPrime is 2^255-19, little endian.
func fieldPrime() []byte {
	b := bytes.Repeat([]byte{0xff}, 32)
	b[0], b[31] = 0xed, 0x7f
	return b
}

func TestOnlyTwoBasesSpellAKey(t *testing.T) {
	k, _ := testKey(1)
	z, u := k.Multikey(), base64Multikey(k.Raw())
	for _, c := range []struct {
		name, text      string
		key, inDocument bool
	}{
		{"base58btc", z, true, true},
		{"base64url", u, false, true},
		{"base64url with padding", "U" + u[1:] + "=", false, false},
		{"padding alone", u + "=", false, false},
		{"base64url over two lines", u[:9] + "\n" + u[9:], false, false},
		{"base64url with trailing bits", u[:len(u)-1] + "h", false, false},
		{"white space in front", " " + z, false, false},
		{"white space behind", z + " ", false, false},
		{"a line feed behind", z + "\n", false, false},
		{"base58flickr", "Z" + z[1:], false, false},
		{"base16", "f" + hex.EncodeToString(k.MultikeyBytes()), false, false},
		{"no base", z[1:], false, false},
		{"nothing", "", false, false},
		{"the prefix alone", "z", false, false},
		{"a one in front of the digits", "z1" + z[1:], false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := did.DecodeKey(c.text)
			if (err == nil) != c.key || c.key && got != k {
				t.Errorf("DecodeKey = %v, %v", got, err)
			}
			got, err = did.DecodeMultikey(c.text)
			if (err == nil) != c.inDocument || c.inDocument && got != k {
				t.Errorf("DecodeMultikey = %v, %v", got, err)
			}
		})
	}
	for name, decode := range map[string]func(string) (did.PublicKey, error){
		"DecodeKey": did.DecodeKey, "DecodeMultikey": did.DecodeMultikey,
	} {
		for _, prefix := range []string{"z", "u"} {
			if _, err := decode(prefix + strings.Repeat("2", 1024)); !errors.Is(err, did.ErrTooLarge) {
				t.Errorf("%s of 1,025 bytes: %v", name, err)
			}
		}
	}
}

// A Multikey of a document is base58btc or base64url; every other place of a key is base58btc alone.
func TestMultibaseRowsDecodeOrAreRefused(t *testing.T) {
	read, refused := 0, 0
	files, err := filepath.Glob("testdata/multibase/*.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r := csv.NewReader(f)
		r.TrimLeadingSpace, r.LazyQuotes = true, true
		rows, err := r.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(rows[0][1], `\x00`, "\x00")
		for _, row := range rows[1:] {
			strict, strictErr := did.ParseMultibase(row[1])
			if z := row[0] == "base58btc"; z != (strictErr == nil) || z && (string(strict) != want || did.Multibase(strict) != row[1]) {
				t.Errorf("%s: %q read as %q, %v, where base58btc alone is taken", name, row[1], strict, strictErr)
			}
			b, err := did.ReadMultibase(row[1])
			if row[0] == "base58btc" || row[0] == "base64url" {
				if err != nil || string(b) != want {
					t.Errorf("%s: %q read as %q, %v", name, row[1], b, err)
				}
				read++
				continue
			}
			_, keyErr := did.DecodeMultikey(row[1])
			if !errors.Is(err, did.ErrKeyText) || !errors.Is(keyErr, did.ErrKeyText) {
				t.Errorf("%s: %s is read as a key: %q, %v, %v", name, row[0], b, err, keyErr)
			}
			refused++
		}
	}
	if read != 6 || refused != 75 {
		t.Errorf("%d rows read, %d refused; expected 6 and 75", read, refused)
	}
}

func TestJWKRules(t *testing.T) {
	const x = `"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"`
	const p256 = `"kty":"EC","crv":"P-256","x":"igrFmi0whuihKnj9R3Om1SoMph72wUGeFaBbzG2vzns","y":"efsX5b10x8yjyrj4ny3pGfLcY7Xby1KzgqOdqnsrJIM"`
	for _, c := range []struct {
		name, jwk string
		want      error
	}{
		{"an Ed25519 key", `{"kty":"OKP","crv":"Ed25519",` + x + `}`, nil},
		{"foreign members", `{"kty":"OKP","crv":"Ed25519",` + x + `,"kid":"a","alg":"EdDSA","x5c":["a"]}`, nil},
		{"use sig", `{"kty":"OKP","crv":"Ed25519",` + x + `,"use":"sig"}`, nil},
		{"key_ops with verify", `{"kty":"OKP","crv":"Ed25519",` + x + `,"key_ops":["sign","verify"]}`, nil},
		{"a P-256 key", `{` + p256 + `}`, nil},
		{"an X25519 key for encryption", `{"kty":"OKP","crv":"X25519",` + x + `,"use":"enc"}`, nil},
		{"use enc", `{"kty":"OKP","crv":"Ed25519",` + x + `,"use":"enc"}`, did.ErrNotSigning},
		{"use of another type", `{"kty":"OKP","crv":"Ed25519",` + x + `,"use":1}`, did.ErrNotSigning},
		{"use enc on P-256", `{` + p256 + `,"use":"enc"}`, did.ErrNotSigning},
		{"key_ops without verify", `{"kty":"OKP","crv":"Ed25519",` + x + `,"key_ops":["sign"]}`, did.ErrNotSigning},
		{"key_ops of another type", `{"kty":"OKP","crv":"Ed25519",` + x + `,"key_ops":"verify"}`, did.ErrNotSigning},
		{"a private key", `{"kty":"OKP","crv":"Ed25519",` + x + `,"d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}`, did.ErrKeyInvalid},
		{"a private member that is null", `{"kty":"OKP","crv":"Ed25519",` + x + `,"d":null}`, did.ErrKeyInvalid},
		{"a factor", `{"kty":"OKP","crv":"Ed25519",` + x + `,"q":""}`, did.ErrKeyInvalid},
		{"a symmetric key", `{"kty":"oct","k":"AAAA"}`, did.ErrKeyInvalid},
		{"a y beside x", `{"kty":"OKP","crv":"Ed25519",` + x + `,"y":"AA"}`, did.ErrKeyInvalid},
		{"padding", `{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo="}`, did.ErrKeyText},
		{"trailing bits", `{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURp"}`, did.ErrKeyText},
		{"a line feed in x", `{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQH\nOg7hcvPapiMlrwIaaPcHURo"}`, did.ErrKeyText},
		{"31 bytes", `{"kty":"OKP","crv":"Ed25519","x":"EZqYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHUQ"}`, did.ErrKeyLength},
		{"a leading zero byte", `{"kty":"OKP","crv":"Ed25519","x":"ANdamAGCsQq31Uv-08lkBzoO4XLz2qYjJa8CGmj3B1Ea"}`, did.ErrKeyLength},
		{"no x", `{"kty":"OKP","crv":"Ed25519"}`, did.ErrKeyText},
		{"no y", `{"kty":"EC","crv":"P-256","x":"igrFmi0whuihKnj9R3Om1SoMph72wUGeFaBbzG2vzns"}`, did.ErrKeyText},
		{"a point off the curve", strings.Replace(`{`+p256+`}`, "efsX", "efsY", 1), did.ErrKeyInvalid},
		{"another curve", `{"kty":"EC","crv":"secp256k1",` + x + `}`, did.ErrKeyUnsupported},
		{"the curve of another type", `{"kty":"EC","crv":"Ed25519",` + x + `}`, did.ErrKeyUnsupported},
		{"RSA", `{"kty":"RSA","n":"AQAB","e":"AQAB"}`, did.ErrKeyUnsupported},
		{"no kty", `{"crv":"Ed25519",` + x + `}`, did.ErrKeyText},
		{"a duplicate", `{"kty":"OKP","kty":"OKP","crv":"Ed25519",` + x + `}`, did.ErrKeyText},
		{"no object", `[]`, did.ErrKeyText},
		{"no JSON", `{`, did.ErrKeyText},
		{"2,049 bytes", `{"kty":"` + strings.Repeat("x", 2040) + `"`, did.ErrTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, err := did.DecodeJWK([]byte(c.jwk))
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || (err == nil) == k.IsZero() {
				t.Errorf("key = %v, error = %v, want %v", k, err, c.want)
			}
		})
	}
}

func TestVerifyIsStrict(t *testing.T) {
	k, private := testKey(1)
	other, _ := testKey(2)
	msg := []byte("message")
	sig := did.Signature(ed25519.Sign(private, msg))
	if err := k.Verify(msg, sig); err != nil {
		t.Fatal(err)
	}
	plusL := sig
	addOrder(plusL[32:])
	flipped := sig
	flipped[0] ^= 1
	for name, err := range map[string]error{
		"another message": k.Verify([]byte("messagf"), sig), "another key": other.Verify(msg, sig),
		"S plus the group order": k.Verify(msg, plusL), "R changed": k.Verify(msg, flipped), "zeros": k.Verify(msg, did.Signature{}),
	} {
		if !errors.Is(err, did.ErrSignature) {
			t.Errorf("%s: %v, want ErrSignature", name, err)
		}
	}
	agree, err := did.NewX25519(k.Raw())
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]did.PublicKey{"X25519": agree, "no key": {}} {
		if err := key.Verify(msg, sig); !errors.Is(err, did.ErrNotSigning) {
			t.Errorf("%s: %v, want ErrNotSigning", name, err)
		}
	}
	if agree == k {
		t.Error("keys of two algorithms are equal")
	}
	for _, n := range []int{0, 63, 65} {
		if _, err := did.ParseSignature(make([]byte, n)); !errors.Is(err, did.ErrSignature) {
			t.Errorf("a signature of %d bytes: %v", n, err)
		}
	}
}

// addOrder adds the order of the Ed25519 group to s, little endian: the same scalar in another spelling.
func addOrder(s []byte) {
	order, err := hex.DecodeString("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
	if err != nil {
		panic(err)
	}
	carry := 0
	for i := range s {
		sum := int(s[i]) + int(order[i]) + carry
		s[i], carry = byte(sum), sum>>8
	}
}

func TestKeyTexts(t *testing.T) {
	k, _ := testKey(1)
	b, err := json.Marshal(k)
	if err != nil || string(b) != `"z6Mkon3Necd6NkkyfoGoHxid2znGc59LU3K7mubaRcFbLfLX"` {
		t.Errorf("text = %s, %v", b, err)
	}
	var again, zero did.PublicKey
	if err := json.Unmarshal(b, &again); err != nil || again != k {
		t.Errorf("read as %v, %v", again, err)
	}
	if _, err := zero.MarshalText(); err == nil || zero.Multikey() != "" || zero.Raw() != nil || zero.MultikeyBytes() != nil {
		t.Error("the zero key has a text")
	}
	if _, err := did.DecodeBase58Key(did.Base58(k.Raw()), did.P256); !errors.Is(err, did.ErrKeyUnsupported) {
		t.Errorf("P-256 in base58: %v", err)
	}
}

func FuzzDecodeKey(f *testing.F) {
	for _, text := range keyTexts(f) {
		f.Add(text)
	}
	var v struct {
		Negative []struct{ DID string }
	}
	readJSON(f, "local/did-key-negative.json", &v)
	for _, c := range v.Negative {
		f.Add(strings.TrimPrefix(c.DID, "did:key:"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := did.DecodeKey(text)
		if err == nil && k.Multikey() != text {
			t.Fatalf("%q became %q", text, k.Multikey())
		}
		m, err := did.DecodeMultikey(text)
		if err == nil && strings.HasPrefix(text, "z") && m != k {
			t.Fatalf("%q is two keys", text)
		}
		if b, err := did.ParseMultibase(text); err == nil && did.Multibase(b) != text {
			t.Fatalf("%q became %q", text, did.Multibase(b))
		}
	})
}

func FuzzDecodeJWK(f *testing.F) {
	f.Add([]byte(`{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`))
	f.Add([]byte(`{"kty":"EC","crv":"P-256","x":"igrFmi0whuihKnj9R3Om1SoMph72wUGeFaBbzG2vzns","y":"efsX5b10x8yjyrj4ny3pGfLcY7Xby1KzgqOdqnsrJIM"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := did.DecodeJWK(b)
		if err != nil {
			return
		}
		if again, err := did.DecodeKey(k.Multikey()); err != nil || again != k {
			t.Fatalf("%q became %v, %v", b, again, err)
		}
	})
}
