package keyring_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"trustnode/did/envelope"
	"trustnode/did/keyring"
)

func requested(t testing.TB, a keyring.Agent) envelope.Envelope {
	t.Helper()
	e, err := keyring.RequestAgent(t.Context(), a, ag)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestARequestBecomesTheAgentObject: made in two halves it is the same bytes as made in one.
func TestARequestBecomesTheAgentObject(t *testing.T) {
	r := fresh(t)
	r.hold(t, acme(t))
	want := billing(t)
	request := requested(t, want)
	if _, err := keyring.OpenAgent(t.Context(), request, r.HeadSource()); err == nil {
		t.Error("a request alone opens as an agent object")
	}
	renamed := request
	renamed.Signatures = slices.Clone(request.Signatures)
	renamed.Signatures[0].KeyID = "key-1" // what another library may call it
	for name, e := range map[string]envelope.Envelope{"as made here": request, "under another keyid": renamed} {
		got, err := keyring.CountersignAgent(t.Context(), e, want, i1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(got.DSSE(), sealed(t, want).DSSE()) {
			t.Errorf("%s: got %s", name, got.DSSE())
		}
		if _, err := keyring.OpenAgent(t.Context(), got, r.HeadSource()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRequestRefused(t *testing.T) {
	want := billing(t)
	good := requested(t, want)
	by := func(e envelope.Envelope, s seed) envelope.Signature {
		sig, err := s.Sign(t.Context(), e.Preimage())
		if err != nil {
			t.Fatal(err)
		}
		return envelope.Signature{KeyID: s.kid(), Sig: sig}
	}
	draft, err := keyring.Draft(want)
	if err != nil {
		t.Fatal(err)
	}
	flipped := draft.With(by(draft, ag))
	flipped.Signatures[0].Sig[7] ^= 1
	for name, c := range map[string]struct {
		e    envelope.Envelope
		want error
	}{
		"nobody signed":                        {draft, nil},
		"another key signed":                   {draft.With(by(draft, w)), envelope.ErrSignature},
		"the organization signed in its place": {draft.With(by(draft, i1)), envelope.ErrSignature},
		"both signed already":                  {sealed(t, want), nil},
		"a second signature rides along":       {good.With(by(good, w)), nil},
		"a bit of the signature":               {flipped, envelope.ErrSignature},
		"another type":                         {envelope.Envelope{Type: envelope.TypeOf("binding"), Body: good.Body, Signatures: good.Signatures}, nil},
	} {
		_, err := keyring.OpenRequest(c.e)
		if _, also := keyring.CountersignAgent(t.Context(), c.e, want, i1); err == nil || also == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, %v, want %v", name, err, also, c.want)
		}
	}
	for bit := range len(good.Body) * 8 {
		e := good
		e.Body = bytes.Clone(good.Body)
		e.Body[bit/8] ^= 1 << (bit % 8)
		if _, err := keyring.OpenRequest(e); err == nil {
			t.Fatalf("bit %d of the body flipped, and it opens", bit)
		}
	}
}

// TestTheOrganizationSignsWhatItWouldIssue: a request that asks for anything else than the
// organization meant is not signed, however validly the agent asked for it.
func TestTheOrganizationSignsWhatItWouldIssue(t *testing.T) {
	for name, change := range map[string]func(*keyring.Agent){
		"a capability more":     func(a *keyring.Agent) { a.Capabilities = []keyring.Capability{keyring.Borrow, keyring.Lend} },
		"another name":          func(a *keyring.Agent) { a.Name = "root" },
		"another kind":          func(a *keyring.Agent) { a.Kind = keyring.KindHuman },
		"another serial":        func(a *keyring.Agent) { a.Serial++ },
		"a shorter life":        func(a *keyring.Agent) { a.NotAfter = a.NotBefore.Add(1e9) },
		"an extension":          func(a *keyring.Agent) { a.Ext = envelope.Raw(`{"x":1}`) },
		"a display text":        func(a *keyring.Agent) { a.Display = "treasurer" },
		"another organization":  func(a *keyring.Agent) { a.Org, a.DIDVersion = i2.did(), "" },
		"another key of theirs": func(a *keyring.Agent) { a.Kid = i2.kid() },
	} {
		a := billing(t)
		change(&a)
		if _, err := keyring.CountersignAgent(t.Context(), requested(t, a), billing(t), i1); !errors.Is(err, keyring.ErrRequest) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := keyring.RequestAgent(t.Context(), billing(t), w); !errors.Is(err, keyring.ErrHolder) {
		t.Errorf("a key the body does not name: %v", err)
	}
	a := billing(t)
	a.Agent, a.Key = i1.did(), keyring.AgentKey{Kid: i1.kid(), Pub: i1.Public()}
	e, err := keyring.RequestAgent(t.Context(), a, i1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.CountersignAgent(t.Context(), e, a, i1); !errors.Is(err, keyring.ErrHolder) {
		t.Errorf("the organization as its own agent: %v", err)
	}
}

// FuzzRequest: whatever file is handed in, it is refused or it is the one wish its signer signed.
func FuzzRequest(f *testing.F) {
	good := requested(f, billing(f))
	f.Add(good.DSSE())
	f.Add(sealed(f, billing(f)).DSSE())
	draft, err := keyring.Draft(billing(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(draft.DSSE())
	f.Add([]byte(`{"payload":"e30=","payloadType":"application/vnd.trustnode.agent.v1+json","signatures":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := envelope.ParseDSSE(b, envelope.MaxBytes[keyring.Agent]())
		if err != nil {
			return
		}
		if _, err := keyring.OpenRequest(e); err == nil && !bytes.Equal(e.Body, good.Body) {
			t.Errorf("opened %s", e.Body)
		}
	})
}
