package credential_test

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trustnode/did"
	"trustnode/did/credential"
	"trustnode/did/didkey"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
)

// TestI6TimesOfACredentialOnlyNarrow (identity I-6): whatever times a credential and its proof
// carry, one by a key that does not count is refused, and one by a key that does is taken
// only while its own dates hold. The time at which it says it was signed changes neither.
func TestI6TimesOfACredentialOnlyNarrow(t *testing.T) {
	keys := []struct {
		name, method string
		seed         byte
		counts       bool
	}{
		{"the key", harbor + "#key-1", key1, true},
		{"a revoked key", harbor + "#old", oldKey, false},
		{"a key at its end", harbor + "#short", shortKey, false},
		{"a key of another relationship", harbor + "#auth", authKey, false},
		{"another's key under the name of the key", harbor + "#key-1", foreignKey, false},
		{"another's key", line + "#key-1", foreignKey, false},
	}
	// Without a change it is taken: what is refused below is refused for its times or its key.
	if _, err := credential.Verify(t.Context(), secure(t, document, options, key1), credential.Options{Resolve: (&world{}).resolve(t), At: now}); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		when := func(label string) time.Time {
			return now.Add(time.Duration(rapid.OneOf(rapid.IntRange(-3, 3), rapid.IntRange(-9e6, 9e6)).Draw(rt, label)) * time.Second)
		}
		text := func(at time.Time) string { return at.UTC().Format(time.RFC3339) }
		k := rapid.SampledFrom(keys).Draw(rt, "key")
		from, until, created := when("from"), when("until"), when("created")
		d := swap(t, doc(t, "2026-12-01T00:00:00Z", text(from)), "2026-12-31T00:00:00Z", text(until))
		p := swap(t, swap(t, options, "2026-12-01T00:00:00Z", text(created)), harbor+"#key-1", k.method)
		end := until
		if rapid.Bool().Draw(rt, "the proof ends") {
			e := when("expires")
			p = swap(t, p, "{", fmt.Sprintf(`{"expires":%q,`, text(e)))
			if e.Before(end) {
				end = e
			}
		}
		r, err := credential.Verify(t.Context(), secure(t, d, p, k.seed), credential.Options{Resolve: (&world{}).resolve(t), At: now})
		if want := k.counts && !now.Before(from) && now.Before(end); (err == nil) != want {
			rt.Fatalf("%s, %s..%s, created %s: %v", k.name, from, end, created, err)
		}
		if err != nil && !reflect.DeepEqual(r, credential.Result{}) {
			rt.Fatalf("a result beside %v", err)
		}
	})
}

// TestI21ExportedAgainItIsTheSame (identity I-21): a credential is a function of the agent
// object. Any object, opened again from its bytes, is exported as the same bytes.
func TestI21ExportedAgainItIsTheSame(t *testing.T) {
	org := acme(t)
	head := envelope.KeySourceFunc(func(_ context.Context, _ did.DID, kid string) (did.Key, error) {
		k, err := org.Head().Document.Key(kid, did.AssertionMethod)
		return did.Key{Public: k, Version: org.Head().ID}, err
	})
	rapid.Check(t, func(rt *rapid.T) {
		a := billing(t, org).Body()
		agent := envelopetest.Repeat(byte(rapid.IntRange(0x40, 0xff).Draw(rt, "agent")))
		var err error
		if a.Agent, err = didkey.FromKey(agent.Public()); err != nil {
			rt.Fatal(err)
		}
		a.Key = keyring.AgentKey{Kid: agent.Public().Multikey(), Pub: agent.Public()}
		a.Name = rapid.StringMatching(`[a-z][a-z0-9-]{0,31}`).Draw(rt, "name")
		a.Serial = rapid.Uint64Range(1, 1<<53-1).Draw(rt, "serial")
		a.NotAfter = a.NotBefore.Add(time.Duration(rapid.IntRange(1, 2_592_000).Draw(rt, "life")) * time.Second)
		a.Display = rapid.StringMatching(`[a-zé"\\ ]{0,16}`).Draw(rt, "display")
		if rapid.Bool().Draw(rt, "extended") {
			a.Ext = envelope.Raw(`{"b":[1,"x"]}`)
		}
		e, err := keyring.SealAgent(t.Context(), a, envelopetest.Repeat(i1), agent)
		if err != nil {
			rt.Skip(err) // a display text that no object may have
		}
		var first []byte
		for n := range 3 {
			again, err := envelope.ParseDSSE(e.DSSE(), envelope.MaxBytes[keyring.Agent]())
			if err != nil {
				rt.Fatal(err)
			}
			v, err := keyring.OpenAgent(t.Context(), again, head)
			if err != nil {
				rt.Fatal(err)
			}
			raw, err := credential.Export(t.Context(), v, envelopetest.Repeat(i1))
			if err != nil {
				rt.Fatal(err)
			}
			if n == 0 {
				first = raw
			} else if !bytes.Equal(raw, first) {
				rt.Fatalf("first %s\nthen  %s", first, raw)
			}
		}
		if _, err := credential.Verify(t.Context(), first, fromLog(org, a.NotBefore.Time())); err != nil {
			rt.Fatal(err)
		}
	})
}
