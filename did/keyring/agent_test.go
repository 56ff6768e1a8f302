package keyring_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
)

// billing is the agent of the worked example.
func billing(t testing.TB) keyring.Agent {
	t.Helper()
	org := acme(t)
	return keyring.Agent{
		Agent: ag.did(), Capabilities: []keyring.Capability{keyring.Borrow}, DIDVersion: org.Head().ID,
		IssuedAt: envelope.TimeOf(day1), Key: keyring.AgentKey{Kid: ag.kid(), Pub: ag.Public()}, Kid: i1.kid(),
		Kind: keyring.KindAgent, Name: "billing", NotAfter: envelope.TimeOf(day1.AddDate(0, 0, 30)),
		NotBefore: envelope.TimeOf(day1), Org: org.DID(), Serial: 1,
	}
}

func sealed(t testing.TB, a keyring.Agent) envelope.Envelope {
	t.Helper()
	e, err := keyring.SealAgent(t.Context(), a, i1, ag)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

const goldenBody = `{"agent":"did:key:$A","capabilities":["borrow"],"did_version":"1-QmNiNvcrst2EVsKesiwXhRbArLw7xo1XYCq9BfKP6vm5dS",` +
	`"issued_at":"2026-12-01T10:00:00Z","key":{"kid":"$A","pub":"$A"},"kid":"$I1","kind":"agent","name":"billing",` +
	`"not_after":"2026-12-31T10:00:00Z","not_before":"2026-12-01T10:00:00Z",` +
	`"org":"did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example","serial":1}`

func TestAgentOfTheWorkedExampleIsRebuilt(t *testing.T) {
	e := sealed(t, billing(t))
	sigs := map[string]string{}
	for _, s := range e.Signatures {
		sigs[s.KeyID] = base64.StdEncoding.EncodeToString(s.Sig[:])
	}
	for _, c := range []struct{ what, got, want string }{
		{"body", string(e.Body), strings.NewReplacer("$A", ag.kid(), "$I1", i1.kid()).Replace(goldenBody)},
		{"sizes", fmt.Sprint(len(e.Body), len(e.Preimage().Bytes())), "565 619"},
		{"id", e.ID().String(), "zQmQAfmsUVvmR97MWNnL3Zpb9MfEucB8v4ns1GpFTUdL4Jy"},
		{"type", string(e.Type), "application/vnd.trustnode.agent.v1+json"},
		{"signature of the organization", sigs[i1.kid()], "QxqWSc3Ab8nZ1eFsbym5ldXqv4n30QAIwG4dI3lut3LIdP7dx4AFmPN8+O85l2FkfuOJ3K305eKKcFgCPWfZAA=="},
		{"signature of the agent", sigs[ag.kid()], "O8IDDHYAi0BR+Twh2Pb2XGtddQ85dsKaY/6ozlPU5o2HWarNLajIvuOOWD/RCXAdz6c6aDKVMp5rs5bjO2kHDQ=="},
	} {
		if c.got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.what, c.got, c.want)
		}
	}
}

// TestOpenAgent is identity I-8, at the head (a key that left the document).
func TestOpenAgent(t *testing.T) {
	r := fresh(t)
	org := acme(t)
	r.hold(t, org)
	want := billing(t)
	for name, src := range map[string]envelope.KeySource{"at the head": r.HeadSource(), "at its version": r.AtSource(want.DIDVersion)} {
		e, err := envelope.ParseDSSE(sealed(t, want).DSSE(), 1<<16)
		if err != nil {
			t.Fatal(err)
		}
		v, err := keyring.OpenAgent(t.Context(), e, src)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(v.Body(), want) || !slices.Equal(v.Signers(), []did.PublicKey{i1.Public(), ag.Public()}) {
			t.Errorf("%s: got %+v by %v", name, v.Body(), v.Signers())
		}
	}
	r.hold(t, rotated(t, org, u2, u3, i2))
	if _, err := keyring.OpenAgent(t.Context(), sealed(t, want), r.HeadSource()); !errors.Is(err, envelope.ErrRetired) {
		t.Errorf("by a key that left the document: %v", err)
	}
	if _, err := keyring.OpenAgent(t.Context(), sealed(t, want), r.AtSource(want.DIDVersion)); err != nil {
		t.Errorf("at the version it names: %v", err)
	}
}

func TestAgentOfADidKeyOrganization(t *testing.T) {
	a := billing(t)
	a.Org, a.DIDVersion, a.Kid = i1.did(), "", i1.kid()
	v, err := keyring.OpenAgent(t.Context(), sealed(t, a), fresh(t).HeadSource())
	if err != nil || v.Body().Org != i1.did() {
		t.Errorf("got %v", err)
	}
}

// TestAgentEnvelopeRefused is identity I-20 (a missing co-signature).
func TestAgentEnvelopeRefused(t *testing.T) {
	r := fresh(t)
	r.hold(t, acme(t))
	good := sealed(t, billing(t))
	by := func(signers ...seed) []envelope.Signature {
		var out []envelope.Signature
		for _, s := range signers {
			sig, err := s.Sign(t.Context(), good.Preimage())
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, envelope.Signature{KeyID: s.kid(), Sig: sig})
		}
		return out
	}
	under := func(kid string, s envelope.Signature) envelope.Signature { s.KeyID = kid; return s }
	with := func(sigs ...envelope.Signature) envelope.Envelope {
		return envelope.Envelope{Type: good.Type, Body: good.Body}.With(sigs...)
	}
	flip := func(key seed) envelope.Envelope {
		sigs := slices.Clone(good.Signatures)
		for i := range sigs {
			if sigs[i].KeyID == key.kid() {
				sigs[i].Sig[5] ^= 1
			}
		}
		return with(sigs...)
	}
	other := billing(t)
	other.Name = "invoices"
	for name, e := range map[string]envelope.Envelope{
		"only the organization signed":            with(by(i1)...),
		"only the agent signed":                   with(by(ag)...),
		"nobody signed":                           with(),
		"another organization's key signed":       with(by(i2, ag)...),
		"another agent's key signed":              with(by(i1, w)...),
		"a third signature rides along":           with(by(i1, ag, w)...),
		"the agent signed twice, under two names": with(by(ag)[0], under(i1.kid(), by(ag)[0])),
		"the organization signed for the agent":   with(by(i1)[0], under(ag.kid(), by(i1)[0])),
		"a bit of the first signature":            flip(i1),
		"a bit of the second signature":           flip(ag),
		"the organization's under another keyid":  with(under("key-1", by(i1)[0]), by(ag)[0]),
		"the agent's under another keyid":         with(by(i1)[0], under("key-1", by(ag)[0])),
		"signatures of another object":            {Type: good.Type, Body: good.Body, Signatures: sealed(t, other).Signatures},
		"another type":                            {Type: envelope.TypeOf("binding"), Body: good.Body, Signatures: good.Signatures},
	} {
		if v, err := keyring.OpenAgent(t.Context(), e, r.HeadSource()); err == nil {
			t.Errorf("%s: opened as %+v", name, v.Body())
		}
	}
	for bit := range len(good.Body) * 8 {
		body := bytes.Clone(good.Body)
		body[bit/8] ^= 1 << (bit % 8)
		e := envelope.Envelope{Type: good.Type, Body: body, Signatures: good.Signatures}
		if _, err := keyring.OpenAgent(t.Context(), e, r.HeadSource()); err == nil {
			t.Fatalf("bit %d of the body flipped, and it opens", bit)
		}
	}
	if _, err := keyring.OpenAgent(t.Context(), good, fresh(t).HeadSource()); !errors.Is(err, envelope.ErrPending) {
		t.Errorf("an organization that is not held: %v", err)
	}
}

// TestAgentBodyRefused: what an organization and an agent together may not sign, sealed past Check.
// It is identity I-20 (30 days, and approve on an agent).
func TestAgentBodyRefused(t *testing.T) {
	r := fresh(t)
	r.hold(t, acme(t))
	at := func(d time.Duration) envelope.Time { return envelope.TimeOf(day1.Add(d)) }
	caps := func(c ...keyring.Capability) func(*keyring.Agent) {
		return func(a *keyring.Agent) { a.Capabilities = c }
	}
	for _, c := range []struct {
		name  string
		spoil func(*keyring.Agent)
		path  string
	}{
		{"it holds one second more than 30 days", func(a *keyring.Agent) { a.NotAfter = at(30*24*time.Hour + time.Second) }, "not_after"},
		{"it ends when it begins", func(a *keyring.Agent) { a.NotAfter = a.NotBefore }, "not_after"},
		{"it begins 301 s before it was issued", func(a *keyring.Agent) { a.NotBefore = at(-301 * time.Second) }, "not_before"},
		{"an agent approves", caps(keyring.Approve), "capabilities"},
		{"no capability", caps(), "capabilities"},
		{"seventeen capabilities", caps(many(17)...), "capabilities"},
		{"capabilities out of order", caps(keyring.Lend, keyring.Borrow), "capabilities"},
		{"a capability twice", caps(keyring.Borrow, keyring.Borrow), "capabilities"},
		{"a capability in upper case", caps("Borrow"), "capabilities"},
		{"a capability of 33 letters", caps(keyring.Capability(strings.Repeat("a", 33))), "capabilities"},
		{"a name in upper case", func(a *keyring.Agent) { a.Name = "Billing" }, "name"},
		{"a name that starts with a digit", func(a *keyring.Agent) { a.Name = "1st" }, "name"},
		{"a name with an underscore", func(a *keyring.Agent) { a.Name = "a_b" }, "name"},
		{"no name", func(a *keyring.Agent) { a.Name = "" }, "name"},
		{"a name of 33 letters", func(a *keyring.Agent) { a.Name = strings.Repeat("a", 33) }, "name"},
		{"a kind that is none", func(a *keyring.Agent) { a.Kind = "robot" }, "kind"},
		{"serial zero", func(a *keyring.Agent) { a.Serial = 0 }, "serial"},
		{"a key that is not the DID's", func(a *keyring.Agent) { a.Key.Pub = w.Public() }, "key"},
		{"a kid that is not the DID's", func(a *keyring.Agent) { a.Key.Kid = "key-1" }, "key"},
		{"an agent of a method nothing reads", func(a *keyring.Agent) { a.Agent = did.MustParse("did:peer:2.Ez6") }, "agent"},
		{"the organization is its own agent", func(a *keyring.Agent) { a.Agent = a.Org }, "org"},
		{"no version of the organization", func(a *keyring.Agent) { a.DIDVersion = "" }, "did_version"},
		{"a version of a did:key organization", func(a *keyring.Agent) { a.Org = i1.did() }, "did_version"},
		{"a display text of 65 bytes", func(a *keyring.Agent) { a.Display = strings.Repeat("x", 65) }, "display"},
		{"extensions that are no object", func(a *keyring.Agent) { a.Ext = envelope.Raw(`["x"]`) }, "ext"},
	} {
		a := billing(t)
		c.spoil(&a)
		var f *envelope.FormError
		if _, err := keyring.SealAgent(t.Context(), a, i1, ag); err == nil {
			t.Errorf("%s: sealed", c.name)
		}
		body, err := envelope.Marshal(a)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		e := envelope.Envelope{Type: keyring.AgentType, Body: body}
		for _, s := range []seed{i1, ag} {
			sig, _ := s.Sign(t.Context(), e.Preimage())
			e = e.With(envelope.Signature{KeyID: s.kid(), Sig: sig})
		}
		if _, err := keyring.OpenAgent(t.Context(), e, r.HeadSource()); !errors.As(err, &f) || f.Path != c.path {
			t.Errorf("%s: got %v, want it named %s", c.name, err, c.path)
		}
	}
}

func many(n int) (out []keyring.Capability) {
	for i := range n {
		out = append(out, keyring.Capability(fmt.Sprintf("c%02d", i)))
	}
	return out
}

func TestAgentBodyTooLarge(t *testing.T) {
	a := billing(t)
	a.Ext = envelope.Raw(`{"x":"` + strings.Repeat("x", 4<<10) + `"}`)
	if _, err := keyring.SealAgent(t.Context(), a, i1, ag); !errors.Is(err, envelope.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestAgentKeyIsNotTheOrganizations(t *testing.T) {
	r := fresh(t)
	r.hold(t, acme(t))
	a := billing(t)
	a.Agent, a.Key = i1.did(), keyring.AgentKey{Kid: i1.kid(), Pub: i1.Public()}
	if _, err := keyring.SealAgent(t.Context(), a, i1, i1); !errors.Is(err, keyring.ErrHolder) {
		t.Errorf("sealed: %v", err)
	}
	e, err := envelope.Seal(t.Context(), a, envelope.Signer(i1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.OpenAgent(t.Context(), e, r.HeadSource()); err == nil {
		t.Error("opened")
	}
	if _, err := keyring.SealAgent(t.Context(), billing(t), i1, w); !errors.Is(err, keyring.ErrHolder) {
		t.Errorf("a key the body does not name: %v", err)
	}
}

func TestLive(t *testing.T) {
	a := billing(t)
	end := day1.AddDate(0, 0, 30)
	for _, c := range []struct {
		at   time.Time
		want error
	}{
		{day1.Add(-301 * time.Second), keyring.ErrNotYet},
		{day1.Add(-300 * time.Second), nil},
		{end.Add(-time.Second), nil},
		{end, keyring.ErrEnded},
	} {
		if err := a.LiveError(c.at); !errors.Is(err, c.want) || a.Live(c.at) != (c.want == nil) {
			t.Errorf("at %s: got %v, want %v", c.at, err, c.want)
		}
	}
}

func TestCan(t *testing.T) {
	a := billing(t)
	a.Capabilities = []keyring.Capability{keyring.Borrow, "teleport"}
	for c, want := range map[keyring.Capability]bool{keyring.Borrow: true, keyring.Lend: false, "teleport": false, "": false} {
		if got := a.Can(c); got != want {
			t.Errorf("%q: got %v, want %v", c, got, want)
		}
	}
}

func FuzzAgent(f *testing.F) {
	r := fresh(f)
	r.hold(f, acme(f))
	good := sealed(f, billing(f))
	f.Add(good.Body)
	human := billing(f)
	human.Kind, human.Capabilities, human.Display = keyring.KindHuman, []keyring.Capability{keyring.Approve, keyring.Lend}, "treasurer"
	human.Ext = envelope.Raw(`{"a":[1,{"b":"c"}]}`)
	f.Add(sealed(f, human).Body)
	f.Fuzz(func(t *testing.T, body []byte) {
		e := envelope.Envelope{Type: keyring.AgentType, Body: body, Signatures: good.Signatures}
		a, err := envelope.Decode[keyring.Agent](e)
		if err != nil {
			return
		}
		again, err := envelope.Marshal(a)
		if err != nil || !bytes.Equal(again, body) {
			t.Errorf("%s encodes as %s, %v", body, again, err)
		}
		if _, err := keyring.OpenAgent(t.Context(), e, r.HeadSource()); err == nil && !bytes.Equal(body, good.Body) {
			t.Errorf("opened %s", body)
		}
	})
}

func BenchmarkOpenAgent(b *testing.B) {
	r := fresh(b)
	r.hold(b, acme(b))
	e := sealed(b, billing(b))
	src := r.HeadSource()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := keyring.OpenAgent(b.Context(), e, src); err != nil {
			b.Fatal(err)
		}
	}
}
