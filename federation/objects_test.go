package federation_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"trustnode/did"
	"trustnode/did/envelope"
	. "trustnode/federation"
)

// golden returns the lines of testdata/golden.txtar by name.
func golden(t testing.TB) map[string]string {
	t.Helper()
	b, err := os.ReadFile("testdata/golden.txtar")
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	for _, f := range txtar.Parse(b).Files {
		m[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
	}
	return m
}

// signer signs with the key of a seed of 32 equal bytes.
type signer struct{ key ed25519.PrivateKey }

func newSigner(b byte) signer {
	return signer{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))}
}

func (s signer) Public() did.PublicKey {
	k, err := did.NewEd25519(s.key.Public().(ed25519.PublicKey))
	if err != nil {
		panic(err)
	}
	return k
}

func (s signer) Sign(_ context.Context, p envelope.Preimage) (sig did.Signature, err error) {
	copy(sig[:], ed25519.Sign(s.key, p.Bytes()))
	return sig, nil
}

var acme = did.MustParse("did:webvh:QmPK4RScVUX9gTSC8ZbT7B2b3CFLHNwkGx8VmwKbGjTi4r:acme.example")

// keysOf lists one key of acme.
func keysOf(k did.PublicKey) envelope.KeySource {
	return envelope.KeySourceFunc(func(_ context.Context, d did.DID, kid string) (did.Key, error) {
		if d != acme || kid != "sign-1" {
			return did.Key{}, envelope.ErrUnknownKey
		}
		return did.Key{Public: k, Version: "2-QmQ127T74CtJYzUXakWXviGTggUPnCZXyBHebs8Hf5757d"}, nil
	})
}

func node(t testing.TB, b byte) (envelope.Signer, PeerID) {
	t.Helper()
	s, id, err := NodeSigner(bytes.Repeat([]byte{b}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return s, id
}

func parse(t testing.TB, text string) envelope.Envelope {
	t.Helper()
	e, err := envelope.ParseDSSE([]byte(text), 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestGoldenBinding(t *testing.T) {
	g := golden(t)
	e := parse(t, g["binding.dsse"])
	v, err := OpenBinding(t.Context(), e, keysOf(newSigner(1).Public()))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(e.Body), g["binding.body"]; got != want {
		t.Errorf("body\n%s, want\n%s", got, want)
	}
	if got, want := v.ID().String(), g["binding.id"]; got != want {
		t.Errorf("id %s, want %s", got, want)
	}
	n, id := node(t, 2)
	again, err := SealBinding(t.Context(), v.Body(), newSigner(1), n)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(again.DSSE()), g["binding.dsse"]; got != want {
		t.Errorf("sealed again\n%s, want\n%s", got, want)
	}
	if v.Body().PeerID != id || !v.Body().Is(RoleWriter) || v.Body().Is(RoleRelay) {
		t.Errorf("body %+v", v.Body())
	}
}

func TestGoldenBeacon(t *testing.T) {
	g := golden(t)
	e := parse(t, g["beacon.dsse"])
	v, err := envelope.Open[Beacon](t.Context(), e, keysOf(newSigner(1).Public()))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(e.Body), g["beacon.body"]; got != want {
		t.Errorf("body\n%s, want\n%s", got, want)
	}
	if got, want := v.ID().String(), g["beacon.id"]; got != want {
		t.Errorf("id %s, want %s", got, want)
	}
	again, err := envelope.Seal(t.Context(), v.Body(), newSigner(1))
	if err != nil || string(again.DSSE()) != g["beacon.dsse"] {
		t.Errorf("sealed again\n%s, %v", again.DSSE(), err)
	}
}

func TestGoldenHello(t *testing.T) {
	want := golden(t)["hello"]
	h, err := ParseHello([]byte(want))
	if err != nil {
		t.Fatal(err)
	}
	got, err := h.Encode()
	if err != nil || string(got) != want {
		t.Errorf("encoded\n%s, %v, want\n%s", got, err, want)
	}
}

// edits are what a body must not be, as replacements in the golden one.
type edits []struct{ name, old, new string }

func (es edits) run(t *testing.T, good string, read func(body string) error) {
	t.Helper()
	if err := read(good); err != nil {
		t.Fatalf("the good one: %v", err)
	}
	for _, e := range es {
		bad := strings.Replace(good, e.old, e.new, 1)
		if bad == good {
			t.Errorf("%s: nothing to replace", e.name)
		} else if err := read(bad); err == nil {
			t.Errorf("%s: read", e.name)
		}
	}
}

func decode[T envelope.Body](typ envelope.Type) func(string) error {
	return func(body string) error {
		_, err := envelope.Decode[T](envelope.Envelope{Type: typ, Body: []byte(body)})
		return err
	}
}

const oneVersion = "2-QmQ127T74CtJYzUXakWXviGTggUPnCZXyBHebs8Hf5757d"

func TestBadBindings(t *testing.T) {
	edits{
		{"no addrs", `"addrs":["/dns4/node.acme.example/udp/8421/quic-v1","/ip4/192.0.2.7/tcp/8421"],`, ``},
		{"an address twice", `"/ip4/192.0.2.7/tcp/8421"`, `"/dns4/node.acme.example/udp/8421/quic-v1"`},
		{"an address that names a peer", `/tcp/8421"`, `/tcp/8421/p2p/12D3KooWJWoaqZhDaoEFshF7Rh1bpY9ohihFhzcW6d69Lr2NASuq"`},
		{"an address that is a URL", `"/ip4/192.0.2.7/tcp/8421"`, `"https://acme.example/"`},
		{"an address with a space", `/ip4/192.0.2.7/tcp`, `/ip4/192.0.2.7 /tcp`},
		{"an endless address", `192.0.2.7`, strings.Repeat("9", MaxAddr)},
		{"nine addresses", `"/ip4/192.0.2.7/tcp/8421"`, `"/1","/2","/3","/4","/5","/6","/7","/8"`},
		{"an unknown member", `"at":`, `"as":1,"at":`},
		{"a case variant", `"kid":`, `"Kid":`},
		{"no version for did:webvh", `"did_version":"` + oneVersion + `",`, ``},
		{"a life of more than 90 days", `2027-02-28T09`, `2027-03-02T09`},
		{"a life of nothing", `2027-02-28T09`, `2026-12-01T09`},
		{"a life that ends before it begins", `2027-02-28T09`, `2026-11-01T09`},
		{"no federation", `"federation":"zQmPWbE8mF9t2EFMGGq4SqQ8xwMf9j9oTGxaZhChMrwZ7P2",`, ``},
		{"generation 0", `"generation":1`, `"generation":0`},
		{"an empty kid", `"kid":"sign-1"`, `"kid":""`},
		{"a peer id of another alphabet", `12D3KooWJ`, `12D3KooW0`},
		{"a peer id of an RSA key", `12D3KooWJWoaqZhDaoEFshF7Rh1bpY9ohihFhzcW6d69Lr2NASuq`, `QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N`},
		{"no roles", `"roles":["writer"]`, `"roles":[]`},
		{"a role twice", `"roles":["writer"]`, `"roles":["writer","writer"]`},
		{"roles out of order", `"roles":["writer"]`, `"roles":["writer","relay"]`},
		{"an unknown role", `"roles":["writer"]`, `"roles":["admin"]`},
		{"serial 0", `"serial":1`, `"serial":0`},
		{"a negative serial", `"serial":1`, `"serial":-1`},
		{"a fraction", `"serial":1`, `"serial":1.5`},
	}.run(t, golden(t)["binding.body"], decode[Binding](BindingType))
}

func TestBadBeacons(t *testing.T) {
	edits{
		{"no charter", `"charter":{"id":"zQmRcTgsCGgCkBpv284PWpVcERoeLFC8vfZ3JWUiUiYKgoL","seq":7},`, ``},
		{"an own commit that is not above the head", `"round":0,"seq":8`, `"round":0,"seq":7`},
		{"a round that does not exist", `"round":0,"seq":8`, `"round":8,"seq":8`},
		{"null instead of absent", `"committed":{"body":"zQmV5s4cEsykBZH4UkEGqjC84T3B2YWMNBTwvjEFVXzBhfg","round":0,"seq":8}`, `"committed":null`},
		{"heads out of order", `"did":"did:webvh:QmPK4R`, `"did":"did:webvh:QmPZ4R`},
		{"a head twice", `QmPSgjMnUBSCxmXyXdGPmTpmHNBYDPXYaHGzCjGwvnkFLg:dora.example`, `QmPK4RScVUX9gTSC8ZbT7B2b3CFLHNwkGx8VmwKbGjTi4r:acme.example`},
		{"no heads", `"heads":[`, `"hoods":[`},
		{"a version too long", `"did_head":"2-`, `"did_head":"` + strings.Repeat("2", MaxVersion) + `-`},
		{"n 0", `"n":812`, `"n":0`},
		{"n beyond exact numbers", `"n":812`, `"n":9007199254740992`},
		{"no software", `trustnode/1.0.0`, ``},
		{"endless software", `trustnode/1.0.0`, strings.Repeat("t", MaxSoftware+1)},
		{"spec_max 0", `"spec_max":1`, `"spec_max":0`},
		{"a time with a zone", `10:05:00Z`, `10:05:00+00:00`},
		{"a DID too long", `:dora.example`, ":dora.example" + strings.Repeat("x", 80)},
	}.run(t, golden(t)["beacon.body"], decode[Beacon](BeaconType))
}

func TestBadHellos(t *testing.T) {
	edits{
		{"an unknown verdict", `"verdict":"ok"`, `"verdict":"fine"`},
		{"a charter without its federation", `"federation":"zQmPWbE8mF9t2EFMGGq4SqQ8xwMf9j9oTGxaZhChMrwZ7P2",`, ``},
		{"a spec that is no range", `"max":1,"min":1`, `"max":1,"min":2`},
		{"a spec from 0", `"max":1,"min":1`, `"max":1,"min":0`},
		{"an unknown status", `"status":"active"`, `"status":"king"`},
		{"an empty binding written out", `"binding":"{}"`, `"binding":""`},
		{"no organization", `"org":"did:webvh:QmPK4RScVUX9gTSC8ZbT7B2b3CFLHNwkGx8VmwKbGjTi4r:acme.example",`, ``},
		{"an unknown member", `"log_size":3`, `"log_size":3,"longer":1`},
		{"white space", `,"verdict"`, `, "verdict"`},
	}.run(t, golden(t)["hello"], func(s string) error { _, err := ParseHello([]byte(s)); return err })
}

func TestOpenBindingRefuses(t *testing.T) {
	g := golden(t)
	good := parse(t, g["binding.dsse"])
	var b Binding
	if err := envelope.Unmarshal(good.Body, &b); err != nil {
		t.Fatal(err)
	}
	org := newSigner(1)
	n2, _ := node(t, 2)
	n3, id3 := node(t, 3)
	seal := func(b Binding, signers ...envelope.Signer) envelope.Envelope {
		e, err := envelope.Seal(t.Context(), b, signers...)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	other := b
	other.PeerID = id3
	same := b
	same.PeerID, _ = PeerIDOf(org.Public())
	swapped := good
	swapped.Signatures = []envelope.Signature{
		{KeyID: good.Signatures[0].KeyID, Sig: good.Signatures[1].Sig},
		{KeyID: good.Signatures[1].KeyID, Sig: good.Signatures[0].Sig},
	}
	junk := envelope.Signature{KeyID: "sign-2", Sig: good.Signatures[0].Sig}
	for _, c := range []struct {
		name string
		e    envelope.Envelope
		keys envelope.KeySource
		want error // nil: a *FormError
	}{
		{"the organization alone signed", seal(b, org), keysOf(org.Public()), nil},
		{"the node alone signed", seal(b, n2), keysOf(org.Public()), nil},
		{"another node signed", seal(b, org, n3), keysOf(org.Public()), nil},
		{"a node of another organization is claimed", seal(other, org, n2), keysOf(org.Public()), nil},
		{"another key signed for the organization", seal(b, newSigner(9), n2), keysOf(org.Public()), envelope.ErrSignature},
		{"the organization's key was replaced", good, keysOf(newSigner(9).Public()), envelope.ErrSignature},
		{"the signatures are swapped", swapped, keysOf(org.Public()), envelope.ErrSignature},
		{"a signature was added on the way", good.With(junk), keysOf(org.Public()), nil},
		{"both keys are one", seal(same, org), keysOf(org.Public()), ErrOneKey},
		{"the key is unknown", good, envelope.KeySourceFunc(func(context.Context, did.DID, string) (did.Key, error) {
			return did.Key{}, envelope.ErrPending
		}), envelope.ErrPending},
	} {
		_, err := OpenBinding(t.Context(), c.e, c.keys)
		var form *envelope.FormError
		if c.want != nil && !errors.Is(err, c.want) || c.want == nil && !errors.As(err, &form) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	for i := range good.Body {
		flipped := good
		flipped.Body = bytes.Clone(good.Body)
		flipped.Body[i] ^= 1
		if _, err := OpenBinding(t.Context(), flipped, keysOf(org.Public())); err == nil {
			t.Fatalf("byte %d flipped: opened", i)
		}
	}
	if _, err := SealBinding(t.Context(), other, org, n2); !errors.Is(err, ErrPeerID) {
		t.Errorf("sealing for another's node: %v", err)
	}
	if _, err := SealBinding(t.Context(), same, org, org); !errors.Is(err, ErrOneKey) {
		t.Errorf("sealing one key to itself: %v", err)
	}
}

func TestBindingOfDIDKeyMayUseOneKey(t *testing.T) {
	org := newSigner(1)
	multikey := org.Public().Multikey()
	d := did.MustParse("did:key:" + multikey)
	var b Binding
	if err := envelope.Unmarshal([]byte(golden(t)["binding.body"]), &b); err != nil {
		t.Fatal(err)
	}
	b.Org, b.Kid, b.DIDVersion = d, multikey, ""
	b.PeerID, _ = PeerIDOf(org.Public())
	e, err := SealBinding(t.Context(), b, org, org)
	if err != nil {
		t.Fatal(err)
	}
	keys := envelope.KeySourceFunc(func(context.Context, did.DID, string) (did.Key, error) {
		return did.Key{Public: org.Public(), Version: "static"}, nil
	})
	if _, err := OpenBinding(t.Context(), e, keys); err != nil {
		t.Error(err)
	}
}

func TestBindingIsValidWithinItsLife(t *testing.T) {
	var b Binding
	if err := envelope.Unmarshal([]byte(golden(t)["binding.body"]), &b); err != nil {
		t.Fatal(err)
	}
	from, to, skew := b.NotBefore.Time(), b.ExpiresAt.Time(), 2*time.Minute
	for _, c := range []struct {
		name string
		at   time.Time
		want bool
	}{
		{"a second too early", from.Add(-skew - time.Second), false},
		{"at the first instant by a slow clock", from.Add(-skew), true},
		{"at the beginning", from, true},
		{"a second before the end", to.Add(-time.Second), true},
		{"at the end", to, false},
	} {
		if got := b.Valid(c.at, skew); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestPeerIDs(t *testing.T) {
	_, id := node(t, 2)
	const text = "12D3KooWJWoaqZhDaoEFshF7Rh1bpY9ohihFhzcW6d69Lr2NASuq"
	if id.String() != text {
		t.Errorf("peer id %s, want %s", id, text)
	}
	k, err := id.Key()
	if back, _ := PeerIDOf(k); err != nil || back != id {
		t.Errorf("key of the id names %v, %v", back, err)
	}
	for _, c := range []struct{ name, text string }{
		{"empty", ""}, {"short", text[:51]}, {"long", text + "q"}, {"another alphabet", "0" + text[1:]},
		{"not an identity multihash", "2" + text[1:]}, {"endless", strings.Repeat("1", 1<<20)},
		{"all ones", strings.Repeat("1", 52)},
	} {
		if id, err := ParsePeerID(c.text); !errors.Is(err, ErrPeerID) || !id.IsZero() {
			t.Errorf("%s: %v, %v", c.name, id, err)
		}
	}
	if _, err := (PeerID{}).Key(); !errors.Is(err, ErrPeerID) {
		t.Errorf("key of nobody: %v", err)
	}
}
