package history_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/history"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
)

// signer names its key as events do: by its multikey text.
type signer struct{ *envelopetest.Signer }

func seeded(b byte) signer { return signer{envelopetest.Repeat(b)} }

func (s signer) kid() string { return s.Public().Multikey() }

// versions is a DID log as lists of signers, one per version.
type versions [][]signer

func name(n int) string { return fmt.Sprintf("%d-v", n+1) }

func (v versions) Known(context.Context, did.DID) ([]string, error) {
	var out []string
	for n := range v {
		out = append(out, name(n))
	}
	return out, nil
}

func (v versions) Keys(_ context.Context, _ did.DID, version string) (map[string]did.PublicKey, error) {
	for n := range v {
		if name(n) != version {
			continue
		}
		out := map[string]did.PublicKey{}
		for _, s := range v[n] {
			out[s.kid()] = s.Public()
		}
		return out, nil
	}
	return nil, fmt.Errorf("%w: %s", history.ErrUnknownVersion, version)
}

var (
	org  = did.MustParse("did:web:acme.example")
	from = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	i1   = seeded(0x11)
	i2   = seeded(0x13)
	i3   = seeded(0x15)
)

// event makes an event of org signed by s.
func event(t *testing.T, s signer, typ attestation.Type, subject string, refs []envelope.ID, data any) envelope.Envelope {
	t.Helper()
	raw, err := envelope.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	env, err := envelope.Seal(context.Background(), attestation.Event{
		At: envelope.TimeOf(from), Data: raw, Kid: s.kid(), Nonce: base64.RawURLEncoding.EncodeToString(make([]byte, 16)),
		Org: org, Refs: refs, Subject: subject, Type: typ,
	}, s)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func opened(t *testing.T, s signer, v string) envelope.Envelope {
	return event(t, s, "log.opened", "", nil, attestation.LogOpened{DidVersion: v})
}

func rotated(t *testing.T, s signer, d attestation.KeyRotated) envelope.Envelope {
	d.Did, d.Reason = org, "scheduled"
	return event(t, s, "key.rotated", org.String(), nil, d)
}

// apply opens env as the next event at index i and folds it.
func apply(t *testing.T, k history.Keys, v versions, i uint64, env envelope.Envelope) (history.Keys, error) {
	t.Helper()
	ctx := context.Background()
	claimed, err := envelope.Decode[attestation.Event](env)
	if err != nil {
		t.Fatal(err)
	}
	src, err := k.Next(ctx, v, i, claimed)
	if err != nil {
		return k, err
	}
	ev, err := envelope.Open[attestation.Event](ctx, env, src)
	if err != nil {
		return k, err
	}
	return k.Apply(ctx, v, i, ev)
}

func must(t *testing.T, k history.Keys, v versions, i uint64, env envelope.Envelope) history.Keys {
	t.Helper()
	k, err := apply(t, k, v, i, env)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func swap() attestation.KeyRotated {
	return attestation.KeyRotated{Added: []string{i2.kid()}, DidVersion: name(1), Previous: name(0), Retired: []string{i1.kid()}}
}

// rotatedAt3 is the log of the format's worked example: opened under I1,
// rotated to I2 at index 3.
func rotatedAt3(t *testing.T, v versions) history.Keys {
	t.Helper()
	k := must(t, history.New(org), v, 0, opened(t, i1, name(0)))
	return must(t, k, v, 3, rotated(t, i2, swap()))
}

// TestPositionDecidesAroundARotation is identity I-8 (r−1, r and r+1).
func TestPositionDecidesAroundARotation(t *testing.T) {
	k := rotatedAt3(t, versions{{i1}, {i2}})
	cases := []struct {
		name  string
		key   signer
		index uint64
		want  error
	}{
		{"the first key at index 0", i1, 0, nil},
		{"the old key right before the rotation", i1, 2, nil},
		{"the old key at the rotation", i1, 3, envelope.ErrRetired},
		{"the old key right after it", i1, 4, envelope.ErrRetired},
		{"the new key right before the rotation", i2, 2, envelope.ErrUnknownKey},
		{"the new key at the rotation", i2, 3, nil},
		{"the new key right after it", i2, 4, nil},
		{"a key that was never listed", i3, 4, envelope.ErrUnknownKey},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := k.At(c.index).Key(context.Background(), org, c.key.kid())
			if !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if c.want == nil && got.Public != c.key.Public() {
				t.Errorf("another key: %v", got)
			}
		})
	}
	if _, err := k.At(4).Key(context.Background(), did.MustParse("did:web:other.example"), i2.kid()); !errors.Is(err, envelope.ErrUnknownKey) {
		t.Errorf("another organization's key counts in this log: %v", err)
	}
}

// TestTheVersionWithoutKeysEndsTheLog is identity I-16 for the organization's own log.
func TestTheVersionWithoutKeysEndsTheLog(t *testing.T) {
	v := versions{{i1}, {i2}, {}}
	end := attestation.KeyRotated{Added: []string{}, DidVersion: name(2), Previous: name(1), Retired: []string{i2.kid()}}
	for _, c := range []struct {
		name string
		by   signer
		want error
	}{
		{"the last key announces the end", i2, nil},
		{"a key that was retired before does not", i1, envelope.ErrRetired},
		{"a key that was never listed does not", i3, envelope.ErrUnknownKey},
	} {
		if _, err := apply(t, rotatedAt3(t, v), v, 5, rotated(t, c.by, end)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	k := must(t, rotatedAt3(t, v), v, 5, rotated(t, i2, end))
	for index, want := range map[uint64]error{2: envelope.ErrUnknownKey, 4: nil, 5: nil, 6: envelope.ErrRetired, 7: envelope.ErrRetired} {
		if _, err := k.At(index).Key(context.Background(), org, i2.kid()); !errors.Is(err, want) {
			t.Errorf("the last key at index %d: %v, want %v", index, err, want)
		}
	}
	if got := k.InForce(5); len(got) != 1 || got[0] != i2.Public() {
		t.Errorf("the head that covers the end is signed by %v", got)
	}
	if got := k.InForce(6); len(got) != 0 {
		t.Errorf("a head after the end is signed by %v", got)
	}
	back := attestation.KeyRotated{Added: []string{i3.kid()}, DidVersion: name(3), Previous: name(2), Retired: []string{}}
	if _, err := apply(t, k, append(v, []signer{i3}), 6, rotated(t, i3, back)); !errors.Is(err, history.ErrRotation) {
		t.Errorf("a rotation after the end: %v", err)
	}
	if _, err := apply(t, k, v, 6, event(t, i2, "agent.revoked", "did:web:x.example", nil, attestation.AgentRevoked{Agent: did.MustParse("did:web:x.example"), Name: "x"})); !errors.Is(err, envelope.ErrRetired) {
		t.Errorf("an event after the end: %v", err)
	}
}

// TestRotationsThatAreNone is identity I-8 (a rotation signed by the key it retires).
func TestRotationsThatAreNone(t *testing.T) {
	v := versions{{i1}, {i2}, {i3}}
	cases := []struct {
		name   string
		by     signer
		change func(*attestation.KeyRotated)
		want   error
	}{
		{"signed by the old key", i1, func(*attestation.KeyRotated) {}, envelope.ErrRetired},
		{"signed by a key of neither version", i3, func(*attestation.KeyRotated) {}, envelope.ErrUnknownKey},
		{"from a version that is not in force", i2, func(d *attestation.KeyRotated) { d.Previous = "0-v" }, history.ErrRotation},
		{"over a version", i3, func(d *attestation.KeyRotated) { d.DidVersion, d.Added = name(2), []string{i3.kid()} }, history.ErrRotation},
		{"to a version not known here", i2, func(d *attestation.KeyRotated) { d.DidVersion = "9-v" }, history.ErrUnknownVersion},
		{"that hides what is retired", i2, func(d *attestation.KeyRotated) { d.Retired = []string{} }, history.ErrRotation},
		{"that adds what is not listed", i2, func(d *attestation.KeyRotated) { d.Added = append(d.Added, i3.kid()) }, history.ErrRotation},
		{"that names a key twice", i2, func(d *attestation.KeyRotated) { d.Added = append(d.Added, i2.kid()) }, history.ErrRotation},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := must(t, history.New(org), v, 0, opened(t, i1, name(0)))
			d := swap()
			c.change(&d)
			if _, err := apply(t, k, v, 3, rotated(t, c.by, d)); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	t.Run("a second time", func(t *testing.T) {
		k := rotatedAt3(t, v)
		if _, err := apply(t, k, v, 5, rotated(t, i2, swap())); !errors.Is(err, history.ErrRotation) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAKeyListedAgainStaysRetired(t *testing.T) {
	v := versions{{i1}, {i2}, {i1, i2}}
	k := rotatedAt3(t, v)
	k = must(t, k, v, 7, rotated(t, i2, attestation.KeyRotated{Added: []string{i1.kid()}, DidVersion: name(2), Previous: name(1), Retired: []string{}}))
	if _, err := k.At(8).Key(context.Background(), org, i1.kid()); !errors.Is(err, envelope.ErrRetired) {
		t.Errorf("got %v", err)
	}
	if keys := k.InForce(8); len(keys) != 1 || keys[0] != i2.Public() {
		t.Errorf("in force: %v", keys)
	}
}

func TestApplyLeavesTheOldHistoryAsItWas(t *testing.T) {
	v := versions{{i1}, {i2}}
	k := must(t, history.New(org), v, 0, opened(t, i1, name(0)))
	_ = must(t, k, v, 3, rotated(t, i2, swap()))
	if _, err := k.At(5).Key(context.Background(), org, i1.kid()); err != nil {
		t.Errorf("the first history moved: %v", err)
	}
	if k.Size() != 1 || k.Version(9) != name(0) {
		t.Errorf("size %d, version %s", k.Size(), k.Version(9))
	}
}

func TestWhatAnotherLogAnchorsIsJudgedByTimes(t *testing.T) {
	k := rotatedAt3(t, versions{{i1}, {i2}})
	at := func(s int) envelope.Time { return envelope.TimeOf(from.Add(time.Duration(s) * time.Second)) }
	seen := map[uint64]envelope.Time{0: at(10), 3: at(100)}
	when := func(i uint64) (envelope.Time, bool) { s, ok := seen[i]; return s, ok }
	cases := []struct {
		name string
		key  signer
		at   int
		want error
	}{
		{"the old key before the log was seen", i1, 9, envelope.ErrUnknownKey},
		{"the old key from then on", i1, 10, nil},
		{"the old key when the rotation was seen", i1, 100, nil},
		{"the old key after that", i1, 101, envelope.ErrRetired},
		{"the new key before the rotation was seen", i2, 99, envelope.ErrUnknownKey},
		{"the new key from then on", i2, 100, nil},
		{"a key that was never listed", i3, 100, envelope.ErrUnknownKey},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := k.AsOf(at(c.at), when).Key(context.Background(), org, c.key.kid()); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	delete(seen, 3)
	if _, err := k.AsOf(at(500), when).Key(context.Background(), org, i1.kid()); err != nil {
		t.Errorf("a rotation that nobody has seen takes nothing back: %v", err)
	}
	if _, err := k.AsOf(at(500), when).Key(context.Background(), org, i2.kid()); !errors.Is(err, envelope.ErrPending) {
		t.Errorf("a key of that rotation counts already: %v", err)
	}
}

func TestAgentsAreJudgedByPosition(t *testing.T) {
	v := versions{{i1}}
	a := seeded(0x31)
	agent := did.MustParse("did:key:" + a.kid())
	one, two := envelope.IDOf([]byte("one")), envelope.IDOf([]byte("two"))
	issue := func(id envelope.ID, serial uint64) envelope.Envelope {
		return event(t, i1, "agent.issued", agent.String(), []envelope.ID{id}, attestation.AgentIssued{Agent: agent, ID: id, Name: "a", Serial: serial})
	}
	k := must(t, history.New(org), v, 0, opened(t, i1, name(0)))
	k = must(t, k, v, 2, issue(one, 1))
	k = must(t, k, v, 5, event(t, i1, "agent.revoked", agent.String(), []envelope.ID{one}, attestation.AgentRevoked{Agent: agent, Name: "a", Reason: "ended", ThroughSerial: 1}))
	k = must(t, k, v, 8, issue(two, 2))
	object := func(context.Context, envelope.ID) (string, did.PublicKey, error) { return a.kid(), a.Public(), nil }
	cases := []struct {
		name  string
		index uint64
		want  error
	}{
		{"before it was issued", 1, envelope.ErrUnknownKey},
		{"where it was issued", 2, nil},
		{"where it was revoked", 5, nil},
		{"after that", 6, envelope.ErrRetired},
		{"where it came back", 8, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			src := k.Agents(object, func(t history.Term) error { return t.Holds(c.index) })
			key, err := src.Key(context.Background(), agent, a.kid())
			if !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if c.want == nil && key.Public != a.Public() {
				t.Errorf("another key %v", key)
			}
		})
	}
	src := k.Agents(object, func(t history.Term) error { return t.Holds(8) })
	if _, err := src.Key(context.Background(), agent, "other"); !errors.Is(err, envelope.ErrUnknownKey) {
		t.Errorf("another kid counts: %v", err)
	}
	if terms := k.Terms(agent); len(terms) != 2 || terms[0].Revoked == nil || *terms[0].Revoked != 5 || terms[1].Revoked != nil {
		t.Errorf("terms %+v", terms)
	}
}

// TestNoObjectOfARevokedAgentComesBack: after agent.revoked no order of further events
// makes an object with a serial up to the revoked one count at a later index, and what
// counted before it still does.
// It is identity I-19, in the fold of a log.
func TestNoObjectOfARevokedAgentComesBack(t *testing.T) {
	v := versions{{i1}}
	a := seeded(0x31)
	agent := did.MustParse("did:key:" + a.kid())
	ids := []envelope.ID{envelope.IDOf([]byte("one")), envelope.IDOf([]byte("two")), envelope.IDOf([]byte("three"))}
	object := func(context.Context, envelope.ID) (string, did.PublicKey, error) { return a.kid(), a.Public(), nil }
	counts := func(k history.Keys, index uint64) bool {
		_, err := k.Agents(object, func(t history.Term) error { return t.Holds(index) }).Key(context.Background(), agent, a.kid())
		return err == nil
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		k := must(t, history.New(org), v, 0, opened(t, i1, name(0)))
		var through, live uint64 // the highest serial revoked, and the highest issued above it
		held := map[uint64]bool{}
		for i := uint64(1); i < 16; i++ {
			serial := uint64(rng.IntN(len(ids))) + 1
			id := ids[serial-1]
			if rng.IntN(3) == 0 {
				k = must(t, k, v, i, event(t, i1, "agent.revoked", agent.String(), []envelope.ID{id}, attestation.AgentRevoked{Agent: agent, Name: "a", Reason: "ended", ThroughSerial: serial}))
				held[i] = live > 0
				if through = max(through, serial); live <= through {
					live = 0
				}
			} else {
				k = must(t, k, v, i, event(t, i1, "agent.issued", agent.String(), []envelope.ID{id}, attestation.AgentIssued{Agent: agent, ID: id, Name: "a", Serial: serial}))
				if serial > through {
					live = max(live, serial)
				}
				held[i] = live > 0
			}
			if got := counts(k, i+1); got != (live > 0) {
				t.Fatalf("round %d, after %d: counts %v, revoked through %d, issued above it %d", round, i, got, through, live)
			}
		}
		for i, want := range held {
			if got := counts(k, i); got != want {
				t.Fatalf("round %d: at %d it counts %v, it did %v", round, i, got, want)
			}
		}
	}
}

func TestAnObjectIssuedAfterItsRevocationIsAnchoredNowhere(t *testing.T) {
	v := versions{{i1}}
	agent, id := did.MustParse("did:key:"+seeded(0x31).kid()), envelope.IDOf([]byte("one"))
	k := must(t, history.New(org), v, 0, opened(t, i1, name(0)))
	k = must(t, k, v, 2, event(t, i1, "agent.revoked", agent.String(), []envelope.ID{id}, attestation.AgentRevoked{Agent: agent, Name: "a", Reason: "ended", ThroughSerial: 4}))
	k = must(t, k, v, 5, event(t, i1, "agent.issued", agent.String(), []envelope.ID{id}, attestation.AgentIssued{Agent: agent, ID: id, Name: "a", Serial: 4}))
	term, ok := k.Term(id)
	if !ok || term.Revoked == nil || *term.Revoked != 2 {
		t.Fatalf("term %+v", term)
	}
	seen := func(i uint64) (envelope.Time, bool) {
		return envelope.TimeOf(from.Add(time.Duration(i) * time.Second)), true
	}
	for i := range uint64(8) {
		at, _ := seen(i)
		if err := term.Holds(i); !errors.Is(err, envelope.ErrRetired) {
			t.Errorf("at %d: %v", i, err)
		}
		if err := term.AsOf(at, seen); !errors.Is(err, envelope.ErrRetired) {
			t.Errorf("as of %s: %v", at, err)
		}
	}
}
