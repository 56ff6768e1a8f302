package charter

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/federation/bundle"
)

var t0 = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

// signer signs with a key from a seed of equal bytes.
type signer struct{ key ed25519.PrivateKey }

func seed(b byte) signer { return signer{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, 32))} }

func (s signer) Public() did.PublicKey {
	k, err := did.NewEd25519(s.key.Public().(ed25519.PublicKey))
	if err != nil {
		panic(err)
	}
	return k
}

func (s signer) Sign(_ context.Context, p envelope.Preimage) (did.Signature, error) {
	return did.Signature(ed25519.Sign(s.key, p.Bytes())), nil
}

// actor is an organization with one key.
type actor struct {
	signer
	did  did.DID
	name string
}

func org(name string, b byte) actor {
	scid := envelope.IDOf([]byte(name)).String()[1:]
	return actor{seed(b), did.MustParse("did:webvh:" + scid + ":" + name + ".example"), name}
}

func (a actor) scid() string { return scidOf(a.did) }

func (a actor) version(n int) string { return fmt.Sprintf("%d-%s", n, a.scid()) }

func (a actor) keyRecord() Key { return Key{Kid: a.Public().Multikey(), Pub: a.Public()} }

func (a actor) join(votes bool) Join {
	return Join{At: envelope.TimeOf(t0), BindingsMax: 2, Contact: "mailto:it@" + a.name + ".example", DIDVersion: a.version(1),
		Key: a.keyRecord(), Kid: a.keyRecord().Kid, Name: strings.ToUpper(a.name[:1]) + a.name[1:], Nonce: "AAECAwQFBgcICQoLDA0ODw",
		Org: a.did, SCID: a.scid(), Spec: JoinSpec{Max: 1, Min: 1}, Votes: votes}
}

func (a actor) member(seq uint64) Member { return a.join(true).Member(seq) }

var (
	acme    = org("acme", 1)
	vendor  = org("vendor", 2)
	arbiter = org("arbiter", 3)
	dora    = org("dora", 4)
	eve     = org("eve", 66)
	spare   = seed(9) // recovery key
)

// keys is a Ring of made-up histories: each actor has versions 1..versions of one key.
type keys struct {
	versions map[did.DID][]string
	at       map[string][]did.PublicKey // DID and version
	ended    map[did.PublicKey]uint64
	signed   map[string]uint64 // DID, slot, body
	anchored map[envelope.ID]bool
	broken   error // what Offer answers
}

func world(actors ...actor) *keys {
	k := &keys{map[did.DID][]string{}, map[string][]did.PublicKey{}, map[did.PublicKey]uint64{}, map[string]uint64{}, map[envelope.ID]bool{}, nil}
	for _, a := range actors {
		k.lists(a, 1, a.signer)
	}
	return k
}

// lists adds a version that lists the keys.
func (k *keys) lists(a actor, n int, s ...signer) {
	k.versions[a.did] = append(k.versions[a.did], a.version(n))
	for _, one := range s {
		at := a.did.String() + a.version(n)
		k.at[at] = append(k.at[at], one.Public())
	}
}

func (k *keys) At(d did.DID, version string) ([]did.PublicKey, error) {
	list, ok := k.at[d.String()+version]
	if !ok {
		return nil, ErrUnknownVersion
	}
	return list, nil
}

func (k *keys) Extends(d did.DID, older, newer string) (bool, error) {
	a, b := slices.Index(k.versions[d], older), slices.Index(k.versions[d], newer)
	if a < 0 || b < 0 {
		return false, ErrUnknownVersion
	}
	return a <= b, nil
}

func (k *keys) Ended(_ did.DID, key did.PublicKey) (uint64, bool) {
	n, ok := k.ended[key]
	return n, ok
}

func (k *keys) Signed(d did.DID, s pins.Slot, body envelope.ID) (uint64, bool) {
	n, ok := k.signed[fmt.Sprint(d, s, body)]
	return n, ok
}

func (k *keys) Anchored(id envelope.ID) bool { return k.anchored[id] }

func (k *keys) Offer(_ context.Context, d did.DID, _ uint64, _, _ []byte) (string, error) {
	if k.broken != nil || len(k.versions[d]) == 0 {
		return "", fmt.Errorf("log does not verify: %w", k.broken)
	}
	return k.versions[d][len(k.versions[d])-1], nil
}

// trio is the genesis of acme, vendor and arbiter, who mediates.
func trio(t testing.TB) Body {
	t.Helper()
	b, err := New(Options{Name: "fin-lending", Members: []Member{vendor.member(0), arbiter.member(0), acme.member(0)},
		Mediators: []did.DID{arbiter.did}}, t0)
	if err != nil {
		t.Fatal(err)
	}
	b.Nonce = "AAECAwQFBgcICQoLDA0ODw"
	return b
}

// seal makes an envelope of any body, sound or not.
func seal(t testing.TB, b Body, by ...envelope.Signer) envelope.Envelope {
	t.Helper()
	raw, err := envelope.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return sign(t, envelope.Envelope{Type: Type, Body: raw}, by...)
}

func sign(t testing.TB, e envelope.Envelope, by ...envelope.Signer) envelope.Envelope {
	t.Helper()
	for _, s := range by {
		var err error
		if e, err = envelope.Cosign(context.Background(), e, s); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// begun is the chain of the trio's genesis.
func begun(t testing.TB, k Keys) Chain {
	t.Helper()
	c, _, err := Genesis(seal(t, trio(t), acme, vendor, arbiter), k, t0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// child is what follows the head of c and changes nothing but its times.
func child(t testing.TB, c Chain) Body {
	t.Helper()
	b, err := Amend(c.Head(), c.Federation(), t0.Add(time.Hour), 0)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func member(t testing.TB, b *Body, a actor) *Member {
	t.Helper()
	for i := range b.Members {
		if b.Members[i].DID == a.did {
			return &b.Members[i]
		}
	}
	t.Fatalf("%s is no member", a.name)
	return nil
}

func logOf(a actor) bundle.DIDLog {
	return bundle.DIDLog{DID: a.did, From: 1, Log: []byte(a.name + "\n")}
}
