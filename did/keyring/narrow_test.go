package keyring_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
)

// signedPast makes an agent object of whatever body, valid or not, signed by two keys under the
// names of those it should have.
func signedPast(t testing.TB, a keyring.Agent, org, holder seed) envelope.Envelope {
	t.Helper()
	body, err := envelope.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	e := envelope.Envelope{Type: keyring.AgentType, Body: body}
	for kid, s := range map[string]seed{a.Kid: org, a.Key.Pub.Multikey(): holder} {
		sig, err := s.Sign(t.Context(), e.Preimage())
		if err != nil {
			t.Fatal(err)
		}
		e = e.With(envelope.Signature{KeyID: kid, Sig: sig})
	}
	return e
}

// TestI6TimesOfAnAgentOnlyNarrow (identity I-6): whatever times an agent object carries, it
// is refused where its key is not listed, its holder did not sign, or it is not live by its
// own dates and the rules of 30 days and 300 seconds.
func TestI6TimesOfAnAgentOnlyNarrow(t *testing.T) {
	r := fresh(t)
	one := acme(t)
	r.hold(t, rotated(t, one, u2, u3, i2)) // i1 is retired
	times := func(rt *rapid.T, label string) envelope.Time {
		return envelope.TimeOf(day1.Add(time.Duration(rapid.OneOf(rapid.IntRange(-4000, 4000), rapid.IntRange(-3e6, 3e6)).Draw(rt, label)) * time.Second))
	}
	opened := 0
	rapid.Check(t, func(rt *rapid.T) {
		a := billing(t)
		a.IssuedAt, a.NotBefore, a.NotAfter = times(rt, "issued_at"), times(rt, "not_before"), times(rt, "not_after")
		by, holder := rapid.SampledFrom([]seed{i1, i2, i3}).Draw(rt, "by"), rapid.SampledFrom([]seed{ag, ag, w}).Draw(rt, "holder")
		a.Kid = by.kid()
		v, err := keyring.OpenAgent(t.Context(), signedPast(t, a, by, holder), r.HeadSource())
		life := a.NotAfter.Time().Sub(a.NotBefore.Time())
		may := by == i2 && holder == ag && life > 0 && life <= 30*24*time.Hour && !a.NotBefore.Time().Before(a.IssuedAt.Time().Add(-300*time.Second))
		if (err == nil) != may {
			rt.Fatalf("%s..%s issued %s by %x held by %x: %v", a.NotBefore, a.NotAfter, a.IssuedAt, byte(by), byte(holder), err)
		}
		if err != nil {
			return
		}
		opened++
		at := times(rt, "now").Time()
		live := !at.Before(a.NotBefore.Time().Add(-300*time.Second)) && at.Before(a.NotAfter.Time())
		if body := v.Body(); body.Live(at) != live {
			rt.Fatalf("%s..%s at %s: live %v", a.NotBefore, a.NotAfter, at, !live)
		}
	})
	if opened == 0 {
		t.Error("nothing was ever accepted")
	}
}

// TestI9OneBitOfAnAgentObject (identity I-9): each one-bit change of the bytes of an agent
// object is refused.
func TestI9OneBitOfAnAgentObject(t *testing.T) {
	r := fresh(t)
	r.hold(t, acme(t))
	good := sealed(t, billing(t)).DSSE()
	for bit := range len(good) * 8 {
		b := bytes.Clone(good)
		b[bit/8] ^= 1 << (bit % 8)
		e, err := envelope.ParseDSSE(b, envelope.MaxBytes[keyring.Agent]())
		if err != nil {
			continue
		}
		if v, err := keyring.OpenAgent(t.Context(), e, r.HeadSource()); err == nil {
			t.Fatalf("bit %d flipped: opened as %+v", bit, v.Body())
		}
	}
}

// TestB9AnAgentOfOneSignedByAnother (digitalbazaar/vc#65, trustbloc/vcs#341,
// agentcommercekit/ack PR#113): an agent object that names one organization, well signed by
// the key of another that is held here too. The caller gets nothing of it.
func TestB9AnAgentOfOneSignedByAnother(t *testing.T) {
	r := fresh(t)
	x, y := acme(t), plain(t, u1, []seed{i3}, nil)
	r.hold(t, x)
	r.hold(t, y)
	if _, err := r.HeadSource().Key(t.Context(), y.DID(), i3.kid()); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*keyring.Agent){
		"under the other's kid":     func(a *keyring.Agent) { a.Kid = i3.kid() },
		"under the issuer's kid":    func(a *keyring.Agent) { a.Kid = i1.kid() },
		"with the other's version":  func(a *keyring.Agent) { a.Kid, a.DIDVersion = i3.kid(), y.Head().ID },
		"of a did:key organization": func(a *keyring.Agent) { a.Org, a.DIDVersion, a.Kid = i1.did(), "", i1.kid() },
	} {
		a := billing(t)
		change(&a)
		v, err := keyring.OpenAgent(t.Context(), signedPast(t, a, i3, ag), r.HeadSource())
		if err == nil || !errors.Is(err, envelope.ErrUnknownKey) && !errors.Is(err, envelope.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
		if !panics(func() { v.Body() }) {
			t.Errorf("%s: the caller holds %+v", name, v.Body())
		}
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// TestI17OneKeyIsOneSigner (identity I-17): an agent object needs two keys, and the
// organization's under two names, or twice, is one.
func TestI17OneKeyIsOneSigner(t *testing.T) {
	r := fresh(t)
	r.hold(t, acme(t))
	good := sealed(t, billing(t))
	rapid.Check(t, func(rt *rapid.T) {
		signers := rapid.SliceOfN(rapid.SampledFrom([]seed{i1, ag, w}), 0, 4).Draw(rt, "signers")
		e := envelope.Envelope{Type: good.Type, Body: good.Body}
		for _, s := range signers {
			sig, err := s.Sign(t.Context(), e.Preimage())
			if err != nil {
				t.Fatal(err)
			}
			kid := rapid.SampledFrom([]seed{i1, ag, w}).Draw(rt, "kid")
			e.Signatures = append(e.Signatures, envelope.Signature{KeyID: kid.kid(), Sig: sig})
		}
		v, err := keyring.OpenAgent(t.Context(), e, r.HeadSource())
		if err == nil && !(len(signers) == 2 && slices.Contains(signers, i1) && slices.Contains(signers, ag)) {
			rt.Fatalf("%d signatures by %v: opened by %v", len(signers), signers, v.Signers())
		}
		if err == nil && !slices.Equal(v.Signers(), []did.PublicKey{i1.Public(), ag.Public()}) {
			rt.Fatalf("signers %v", v.Signers())
		}
	})
}
