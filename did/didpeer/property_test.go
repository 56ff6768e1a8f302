package didpeer

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trustnode/did"
)

var time1 = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

// sound checks what holds for any text and any stored bytes, and returns whether they resolve.
func sound(t testing.TB, text, stored string) bool {
	t.Helper()
	d, err := did.Parse(text)
	if err != nil {
		return false
	}
	r, err := resolve(d, stored)
	again, errAgain := resolve(d, stored)
	if !reflect.DeepEqual(r, again) || !reflect.DeepEqual(err, errAgain) {
		t.Errorf("%s: two results: %+v, %v and %+v, %v", text, r, err, again, errAgain)
	}
	if err != nil {
		var named *did.ResolutionError
		if !errors.As(err, &named) || named.Name == did.InternalError || !reflect.DeepEqual(r, did.Resolution{}) {
			t.Errorf("%s: got %+v, %v", text, r, err)
		}
		return false
	}
	wantHeld(t, text, text, r)
	for _, m := range r.Document.Methods() {
		if text[len("did:peer:")] != '4' && (m.Err != nil || m.Controller != text) {
			t.Errorf("%s: method %+v", text, m)
		}
	}
	return true
}

// changes calls f with each text that is one character away from s: replaced, removed or put in.
func changes(s string, f func(string)) {
	const set = "029AESVXz._:-%"
	for i := range len(s) + 1 {
		for j := range len(set) {
			f(s[:i] + set[j:j+1] + s[i:])
			if i < len(s) && s[i] != set[j] {
				f(s[:i] + set[j:j+1] + s[i+1:])
			}
		}
		if i < len(s) {
			f(s[:i] + s[i+1:])
			f(s[:i] + string(rune(s[i]^1)) + s[i+1:])
		}
	}
}

// TestOneChangedCharacterIsAnotherDIDOrNone is identity I-9 for did:peer.
func TestOneChangedCharacterIsAnotherDIDOrNone(t *testing.T) {
	v := readVectors(t)
	texts := map[string]string{v.Numalgo4.Short: v.Numalgo4.Long}
	for _, c := range v.Resolve {
		texts[c.DID] = ""
	}
	for text, stored := range texts {
		origin, err := parsed(text, stored)
		if err != nil {
			t.Fatal(err)
		}
		tried, resolved := 0, 0
		changes(text, func(other string) {
			tried++
			r, err := parsed(other, stored)
			if err != nil {
				return
			}
			resolved++
			if r.DID == origin.DID || r.DID.String() != other || bytes.Equal(r.Raw, origin.Raw) {
				t.Errorf("%s resolves to %s, %s", other, r.DID, r.Raw)
			}
		})
		four := strings.HasPrefix(text, "did:peer:4")
		if four && resolved > 0 {
			t.Errorf("%.30s…: %d of %d changes resolve, its hash allows none", text, resolved, tried)
		}
		if !four && resolved == 0 || tried < 1000 {
			t.Errorf("%.30s…: %d of %d changes resolve; the test shows nothing", text, resolved, tried)
		}
	}
}

// TestEveryListOfKeysAndServices holds numalgo 2 to a model: a list of purposes, kinds of key and services.
func TestEveryListOfKeysAndServices(t *testing.T) {
	kinds := map[did.Algorithm]string{did.Ed25519: edKey, did.X25519: xKey, did.P256: pKey}
	rels := map[string]did.Relationship{
		"A": did.AssertionMethod, "E": did.KeyAgreement, "V": did.Authentication, "I": did.CapabilityInvocation, "D": did.CapabilityDelegation,
	}
	rapid.Check(t, func(t *rapid.T) {
		text, keys, services, good := "did:peer:2", 0, 0, true
		want := map[did.Relationship][]string{}
		for range rapid.IntRange(1, 12).Draw(t, "elements") {
			if rapid.Bool().Draw(t, "service") {
				services++
				text += ".S" + b64(`{"t":"dm","s":"https://a.example/`+strconv.Itoa(services)+`"}`)
				continue
			}
			code := rapid.SampledFrom([]string{"A", "E", "V", "I", "D"}).Draw(t, "purpose")
			alg := rapid.SampledFrom([]did.Algorithm{did.Ed25519, did.X25519, did.P256}).Draw(t, "algorithm")
			keys++
			text += "." + code + kinds[alg]
			want[rels[code]] = append(want[rels[code]], "#key-"+strconv.Itoa(keys))
			good = good && (alg == did.P256 || (alg == did.X25519) == (code == "E"))
		}
		r, err := parsed(text, "")
		if good != (err == nil) {
			t.Fatalf("%s: got %v, want good is %v", text, err, good)
		}
		if !good {
			return
		}
		for _, rel := range rels {
			var ids []string
			for _, id := range want[rel] {
				ids = append(ids, text+id)
			}
			if got := r.Document.Listed(rel); !slices.Equal(got, ids) {
				t.Fatalf("%s is %v, want %v", rel, got, ids)
			}
		}
		if len(r.Document.Methods()) != keys || len(r.Document.Services()) != services || len(r.Warnings) != 0 {
			t.Fatalf("%s: %s", text, r.Raw)
		}
	})
}

// TestBothFormsCarryTheSameKeys makes documents at random and resolves them by both names.
func TestBothFormsCarryTheSameKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var doc struct {
			Context []string         `json:"@context,omitempty"`
			Methods []map[string]any `json:"verificationMethod,omitempty"`
			Auth    []any            `json:"authentication,omitempty"`
			Extra   string           `json:"extra,omitempty"`
		}
		doc.Extra = rapid.String().Draw(t, "extra")
		n := rapid.IntRange(0, 10).Draw(t, "methods")
		for i := range n {
			id := "#" + strconv.Itoa(i)
			m := map[string]any{"id": id, "type": "Multikey", "publicKeyMultibase": rapid.SampledFrom([]string{edKey, xKey, pKey}).Draw(t, "key")}
			if rapid.Bool().Draw(t, "embedded") {
				doc.Auth = append(doc.Auth, m)
				continue
			}
			doc.Methods, doc.Auth = append(doc.Methods, m), append(doc.Auth, id)
		}
		b, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		text := longOf(b)
		short := text[:strings.LastIndex(text, ":")]
		long, err := parsed(text, "")
		if err != nil {
			t.Fatal(err)
		}
		brief, err := parsed(short, text)
		if err != nil {
			t.Fatal(err)
		}
		if len(long.Document.Methods()) != n || len(long.Warnings)+len(brief.Warnings) != 0 {
			t.Fatalf("%s", long.Raw)
		}
		for i := range n {
			a, errA := long.Document.Key(strconv.Itoa(i), did.Authentication)
			z, errZ := brief.Document.Key(strconv.Itoa(i), did.Authentication)
			if errA != nil || errZ != nil || a != z || a.IsZero() {
				t.Fatalf("key %d: %v, %v and %v, %v", i, a, errA, z, errZ)
			}
		}
		// JSON holds no NUL, so it can stand in while the two names are swapped.
		swapped := strings.ReplaceAll(strings.ReplaceAll(string(long.Raw), text, "\x00"), short, text)
		if want := strings.ReplaceAll(swapped, "\x00", short); string(brief.Raw) != want {
			t.Fatalf("short form: got %s\nwant %s", brief.Raw, want)
		}
	})
}

// TestAnyTextUpTo64KiB feeds what is no DID, and what only begins like one.
// It is identity I-11 for did:peer.
func TestAnyTextUpTo64KiB(t *testing.T) {
	starts := []string{"", "did:peer:", "did:peer:0", "did:peer:2.V", "did:peer:2.S", "did:peer:4z", "did:peer:4" + hashOf("z") + ":z"}
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.StringN(1, 40, 64).Draw(t, "unit")
		if rapid.Bool().Draw(t, "base58") {
			unit = rapid.StringMatching(`[1-9A-HJ-NP-Za-km-z]{1,40}`).Draw(t, "digits")
		}
		text := rapid.SampledFrom(starts).Draw(t, "start") + strings.Repeat(unit, rapid.IntRange(1, 64<<10/len(unit)).Draw(t, "times"))
		if d, err := did.Parse(text); err == nil {
			if r, err := resolve(d, text); err == nil && r.DID != d {
				t.Fatalf("%.80s: resolved to %s", text, r.DID)
			}
		}
		if r, err := parsed("did:peer:4"+hashOf("z"), text); err == nil {
			t.Fatalf("%.80s: resolved %s", text, r.Raw)
		}
	})
}

func FuzzResolve(f *testing.F) {
	v := readVectors(f)
	for _, c := range v.Resolve {
		f.Add(c.DID, "")
	}
	for _, c := range v.Invalid {
		f.Add(c.DID, "")
	}
	f.Add(v.Numalgo4.Short, v.Numalgo4.Long)
	f.Add(v.Numalgo3.DID, v.Numalgo3.From)
	f.Add("did:peer:2.V"+edKey+".S"+b64(`[{"t":"dm"},{"t":"x"}]`), "")
	f.Fuzz(func(t *testing.T, text, stored string) { sound(t, text, stored) })
}

// FuzzCarried puts any bytes behind their right hash, which a fuzzer does not find by itself.
func FuzzCarried(f *testing.F) {
	f.Add([]byte(readVectors(f).Numalgo4.InputDocument))
	f.Add([]byte(`{"alsoKnownAs":["x"],"authentication":[{"id":"#1","type":"Multikey","publicKeyMultibase":"` + edKey + `"},"#2"],"service":[{}]}`))
	f.Add([]byte(`{"verificationMethod":[{},{},{}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		text := longOf(doc)
		long := sound(t, text, "")
		if short := sound(t, text[:strings.LastIndex(text, ":")], text); long && !short {
			t.Errorf("%s resolves by its long form alone", doc)
		}
	})
}

// FuzzService puts any bytes into a service of numalgo 2.
func FuzzService(f *testing.F) {
	f.Add([]byte(`{"t":"dm","s":{"uri":"https://a.example","a":["didcomm/v2"],"r":["did:x:y#z"]}}`))
	f.Add([]byte(`[{"t":"dm","s":"https://a.example"},{"id":"#x","type":["a","b"]}]`))
	f.Add([]byte(`{"id":"#service","t":"t","priority":1e3}`))
	f.Fuzz(func(t *testing.T, service []byte) {
		sound(t, "did:peer:2.V"+edKey+".S"+b64(string(service))+".S"+b64(`{"t":"dm"}`), "")
	})
}
