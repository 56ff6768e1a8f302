package did_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trustnode/did"
)

// The invariants of keys and documents, as section 11 of the identity specification numbers
// them: I-9, I-10, I-18.

func anySeed(rt *rapid.T, label string) did.PublicKey {
	private := ed25519.NewKeyFromSeed(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(rt, label))
	k, err := did.NewEd25519(private.Public().(ed25519.PublicKey))
	if err != nil {
		rt.Fatal(err)
	}
	return k
}

// spellings are texts that a careless reader could take for the key of text.
func spellings(rt *rapid.T, text string, raw []byte) string {
	i := rapid.IntRange(0, len(text)).Draw(rt, "at")
	const digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	digit := string(rapid.SampledFrom([]byte(digits)).Draw(rt, "digit"))
	return rapid.SampledFrom([]string{
		text, "z1" + text[1:], "z" + strings.Repeat("1", 40) + text[1:], strings.ToUpper(text), strings.ToLower(text),
		text + "1", " " + text, text + "\n", text + "\x00", text + "=", text[:i] + digit + text[i:], text[:i] + digit + text[min(i+1, len(text)):],
		text[:i], text[i:], "m" + base64.StdEncoding.EncodeToString(append([]byte{0xed, 1}, raw...)),
		"u" + base64.RawURLEncoding.EncodeToString(append([]byte{0xed, 1}, raw...)),
		did.Multibase(append([]byte{0xed, 0x81, 0x00}, raw...)), did.Multibase(append([]byte{0xed, 1, 0}, raw...)),
		did.Multibase(append([]byte{0xed}, raw...)), did.Multibase(raw), text + text, text + "#" + text,
	}).Draw(rt, "text")
}

// TestI10KeyTextsHaveOneSpelling: what DecodeKey takes it writes again as it was, and equal
// keys have equal text, whatever text a key could be guessed to have.
func TestI10KeyTextsHaveOneSpelling(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := anySeed(rt, "seed")
		text := spellings(rt, k.Multikey(), k.Raw())
		got, err := did.DecodeKey(text)
		if err != nil {
			if text == k.Multikey() || !got.IsZero() {
				rt.Fatalf("%q: %v, %v", text, got, err)
			}
			return
		}
		if got.Multikey() != text || (got == k) != (text == k.Multikey()) {
			rt.Fatalf("%q is read as %s", text, got.Multikey())
		}
		if raw, err := did.NewEd25519(got.Raw()); err != nil || raw != got {
			rt.Fatalf("%q: its bytes are %v, %v", text, raw, err)
		}
	})
}

// TestI9OneBitOfAKeyMakesAnother: each one-bit change of a key text is refused or another key.
func TestI9OneBitOfAKeyMakesAnother(t *testing.T) {
	for seed := range byte(8) {
		k, _ := testKey(seed)
		text := []byte(k.Multikey())
		jwk := fmt.Appendf(nil, `{"crv":"Ed25519","kty":"OKP","x":%q}`, base64.RawURLEncoding.EncodeToString(k.Raw()))
		for bit := range len(text) * 8 {
			text[bit/8] ^= 1 << (bit % 8)
			for name, decode := range map[string]func(string) (did.PublicKey, error){"DecodeKey": did.DecodeKey, "DecodeMultikey": did.DecodeMultikey} {
				if got, err := decode(string(text)); err == nil && got == k {
					t.Errorf("%s takes %q for %s", name, text, k.Multikey())
				}
			}
			text[bit/8] ^= 1 << (bit % 8)
		}
		if got, err := did.DecodeJWK(jwk); err != nil || got != k {
			t.Fatalf("%s: %v, %v", jwk, got, err)
		}
		from, to := strings.Index(string(jwk), `"x":"`)+5, len(jwk)-2
		for bit := from * 8; bit < to*8; bit++ {
			jwk[bit/8] ^= 1 << (bit % 8)
			if got, err := did.DecodeJWK(jwk); err == nil && got == k {
				t.Errorf("%s is read as the same key", jwk)
			}
			jwk[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// TestI18AKeyCountsUnderItsRelationshipsAlone: in any document a key is found exactly under
// the relationships that list its method.
func TestI18AKeyCountsUnderItsRelationshipsAlone(t *testing.T) {
	all := []did.Relationship{did.AssertionMethod, did.Authentication, did.KeyAgreement, did.CapabilityInvocation, did.CapabilityDelegation}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(rt, "methods")
		lists, methods := map[did.Relationship][]string{}, make([]string, n)
		inside := map[did.Relationship][]int{} // methods that stand in a relationship and nowhere else
		var keys []did.PublicKey
		for i := range n {
			keys = append(keys, anySeed(rt, "seed"))
			methods[i] = method(fmt.Sprintf("#k%d", i), keys[i].Multikey(), "")
			if rapid.IntRange(0, 3).Draw(rt, "inside") == 0 {
				rel := rapid.SampledFrom(all).Draw(rt, "where")
				inside[rel] = append(inside[rel], i)
			}
		}
		var top []string
		for i := range n {
			if !slices.ContainsFunc(all, func(r did.Relationship) bool { return slices.Contains(inside[r], i) }) {
				top = append(top, methods[i])
			}
		}
		members := `"verificationMethod":[` + strings.Join(top, ",") + `]`
		for _, rel := range all {
			var list []string
			for i := range n {
				if rapid.Bool().Draw(rt, string(rel)) && slices.Contains(top, methods[i]) {
					lists[rel] = append(lists[rel], fmt.Sprintf("k%d", i))
					list = append(list, rapid.SampledFrom([]string{`"#k%d"`, `"did:web:acme.example#k%d"`}).Draw(rt, "form"))
					list[len(list)-1] = fmt.Sprintf(list[len(list)-1], i)
				}
			}
			for _, i := range inside[rel] {
				lists[rel] = append(lists[rel], fmt.Sprintf("k%d", i))
				list = append(list, methods[i])
			}
			members += fmt.Sprintf(`,%q:[%s]`, rel, strings.Join(list, ","))
		}
		d, err := did.ParseDocument(document(members), acme)
		if err != nil {
			rt.Fatalf("%s: %v", members, err)
		}
		for i := range n {
			for _, rel := range all {
				kid := fmt.Sprintf("k%d", i)
				k, err := d.Key(kid, rel)
				if want := slices.Contains(lists[rel], kid); want != (err == nil) || want && k != keys[i] || !want && !errors.Is(err, did.ErrRelationship) {
					rt.Fatalf("%s under %s: %v, %v\n%s", kid, rel, k, err, d.Raw())
				}
			}
		}
		if !json.Valid(d.Raw()) {
			rt.Fatal("no JSON")
		}
	})
}
