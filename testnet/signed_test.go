package testnet

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/trust"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
	"trustnode/did/strictjson"
	"trustnode/federation"
	"trustnode/federation/charter"
)

// The signed objects that are not lending's (whose own tests do the same): each member
// changed in every way two readers could take differently is refused, and what is signed
// anew without having a valid form is refused by the member's name.

var (
	issuer  = envelopetest.Repeat(0x11)
	agent   = envelopetest.Repeat(0x31)
	host    = envelopetest.Repeat(0x71)
	orgDID  = did.MustParse("did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example")
	agentID = did.MustParse("did:key:" + agent.Public().Multikey())
	anID    = envelope.IDOf([]byte("something"))
	now     = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	at      = envelope.TimeOf(now)
	nonce16 = "oKCgoKCgoKCgoKCgoKCgoA"
	version = "1-QmNiNvcrst2EVsKesiwXhRbArLw7xo1XYCq9BfKP6vm5dS"
)

func TestNoSignedObjectHasTwoReadings(t *testing.T) {
	kid := issuer.Public().Multikey()
	peer, err := federation.PeerIDOf(host.Public())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("event", func(t *testing.T) {
		twist(t, attestation.Event{Actor: agentID, At: at, Body: anID, Data: envelope.Raw(`{"a":1}`), Kid: kid, Nonce: nonce16, Org: orgDID,
			Refs: []envelope.ID{anID}, Subject: anID.String(), Type: "loan.issued"}, issuer)
	})
	t.Run("score", func(t *testing.T) {
		p, err := trust.V1()
		if err != nil {
			t.Fatal(err)
		}
		a := trust.Score(p, nil, trust.World{Orgs: map[did.DID]did.DID{orgDID: orgDID}}, orgDID, trust.View{}, now)
		a.KID, a.Org, a.Charter = kid, orgDID, trust.CharterRef{ID: anID}
		twist(t, a, issuer)
	})
	t.Run("agent", func(t *testing.T) {
		twist(t, keyring.Agent{Agent: agentID, Capabilities: []keyring.Capability{"borrow"}, DIDVersion: version, Display: "a role", Ext: envelope.Raw(`{"A":"free"}`), IssuedAt: at,
			Key: keyring.AgentKey{Kid: agent.Public().Multikey(), Pub: agent.Public()}, Kid: kid, Kind: "agent", Name: "billing",
			NotAfter: envelope.TimeOf(now.Add(24 * time.Hour)), NotBefore: at, Org: orgDID, Serial: 1}, issuer, agent)
	})
	t.Run("beacon", func(t *testing.T) {
		twist(t, federation.Beacon{At: at, Charter: federation.CharterRef{ID: anID, Seq: 7}, DIDVersion: version, Federation: anID, Generation: 1,
			Heads: []federation.BeaconHead{{DID: orgDID, DIDHead: version, Size: 3}}, Kid: kid, N: 8, Org: orgDID, Software: "trustnode/1", SpecMax: 1}, issuer)
	})
	t.Run("binding", func(t *testing.T) {
		twist(t, federation.Binding{Addrs: []string{"/ip4/127.0.0.1/tcp/1"}, At: at, DIDVersion: version, ExpiresAt: envelope.TimeOf(now.Add(24 * time.Hour)), Federation: anID,
			Generation: 1, Kid: kid, NotBefore: at, Org: orgDID, PeerID: peer, Roles: []federation.Role{"writer"}, Serial: 1}, issuer, host)
	})
	t.Run("join", func(t *testing.T) {
		twist(t, charter.Join{At: at, BindingsMax: 2, Contact: "mailto:it@acme.example", DIDVersion: version, Federation: anID, Key: charter.Key{Kid: kid, Pub: issuer.Public()}, Kid: kid,
			Name: "Acme", Nonce: nonce16, Org: orgDID, SCID: "QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f", Spec: charter.JoinSpec{Max: 1, Min: 1}, Votes: true}, issuer)
	})
	t.Run("abandon", func(t *testing.T) {
		twist(t, charter.Abandon{At: at, Committed: anID, DIDVersion: version, Federation: anID, Kid: kid, Org: orgDID, Prev: anID, Round: 1, Seq: 7}, issuer)
	})
}

// opens says whether an envelope opens under the keys of its signers.
func opens[T envelope.Body](e envelope.Envelope, by []envelope.Signer) error {
	if len(by) == 1 {
		_, err := envelope.Open[T](context.Background(), e, envelopetest.Keys{orgDID: {by[0].Public().Multikey(): by[0].Public()}})
		return err
	}
	var keys []did.PublicKey
	for _, s := range by {
		keys = append(keys, s.Public())
	}
	_, _, err := envelope.OpenSet[T](e, keys, func(signed []did.PublicKey) error {
		if len(signed) != len(keys) {
			return envelope.ErrSignature
		}
		return nil
	})
	return err
}

// twist changes each member of a body.
func twist[T envelope.Body](t *testing.T, b T, by ...envelope.Signer) {
	t.Helper()
	e, err := envelope.Seal(context.Background(), b, by...)
	if err != nil {
		t.Fatal(err)
	}
	if err := opens[T](e, by); err != nil {
		t.Fatalf("unchanged: %v", err)
	}
	doc, err := strictjson.Parse(e.Body, 16)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range doc.Members() {
		whole := `"` + m.Name + `":` + string(m.Value.Raw())
		for _, c := range []struct {
			name, to string
			form     bool // it has no valid form: refused by name even when signed anew
		}{
			{"twice", whole + "," + whole, true},
			{"in upper case", strings.Replace(whole, m.Name, strings.ToUpper(m.Name), 1), true},
			{"with a neighbour nobody knows", whole + `,"` + m.Name + `_x":1`, true},
			{"null", `"` + m.Name + `":null`, true},
			{"of another type", `"` + m.Name + `":[[{}]]`, true},
			{"flipped", flip(whole), false},
		} {
			changed := e
			changed.Body = bytes.Replace(e.Body, []byte(whole), []byte(c.to), 1)
			if bytes.Equal(changed.Body, e.Body) {
				t.Fatalf("%s %s: nothing was changed", m.Name, c.name)
			}
			if err := opens[T](changed, by); err == nil {
				t.Errorf("%s %s: opened under the old signature", m.Name, c.name)
			}
			if c.form {
				resigned(t, m.Name+" "+c.name, m.Name, signAgain(t, changed, by), func(e envelope.Envelope) error { return opens[T](e, by) })
			}
		}
	}
}

// resigned wants a refusal of the form that names the member, whoever signed.
func resigned(t *testing.T, what, member string, e envelope.Envelope, open func(envelope.Envelope) error) {
	t.Helper()
	var form *envelope.FormError
	err := open(e)
	if !errors.As(err, &form) {
		t.Errorf("%s, signed anew: got %v, want a refusal of its form", what, err)
		return
	}
	if !strings.Contains(strings.ToLower(form.Path+" "+form.What), member) {
		t.Errorf("%s, signed anew: refused as %q, which does not name %s", what, form, member)
	}
}

func signAgain(t *testing.T, e envelope.Envelope, by []envelope.Signer) envelope.Envelope {
	t.Helper()
	out := envelope.Envelope{Type: e.Type, Body: e.Body}
	for i, s := range by {
		sig, err := s.Sign(context.Background(), out.Preimage())
		if err != nil {
			t.Fatal(err)
		}
		out = out.With(envelope.Signature{KeyID: by[i].Public().Multikey(), Sig: sig})
	}
	return out
}

// flip changes one bit in the middle of the value.
func flip(s string) string {
	b := []byte(s)
	i := strings.IndexByte(s, ':') + (len(s)-strings.IndexByte(s, ':'))/2
	b[i] ^= 1
	return string(b)
}
