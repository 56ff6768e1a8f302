package envelope_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
)

func TestOpenTellsWhatWasSignedAndByWhichKey(t *testing.T) {
	e, src := signed(t)
	compact, err := e.Compact()
	if err != nil {
		t.Fatal(err)
	}
	fromDSSE, err := envelope.ParseDSSE(e.DSSE(), 4096)
	if err != nil {
		t.Fatal(err)
	}
	fromCompact, err := envelope.ParseCompact(compact, e.Type, 4096)
	if err != nil {
		t.Fatal(err)
	}
	fromEntry, err := envelope.Join(e.Type, e.Body, e.Signatures[0].Sig)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]envelope.Envelope{"DSSE": fromDSSE, "compact": fromCompact, "entry": fromEntry} {
		if !reflect.DeepEqual(got, e) {
			t.Errorf("%s lost something: %+v, want %+v", name, got, e)
		}
	}
	v, err := envelope.Open[permission](context.Background(), fromCompact, src)
	if err != nil {
		t.Fatal(err)
	}
	signer := envelopetest.Repeat(1).Public()
	if got, want := v.Body(), samplePermission(t); !reflect.DeepEqual(got, want) {
		t.Errorf("body = %+v, want %+v", got, want)
	}
	if got, want := v.Key(), (did.Key{Public: signer, Version: "1-test"}); got != want {
		t.Errorf("key = %v, want %v", got, want)
	}
	if got, want := v.Signers(), []did.PublicKey{signer}; !reflect.DeepEqual(got, want) {
		t.Errorf("signers = %v, want %v", got, want)
	}
	if v.ID() != e.ID() || !reflect.DeepEqual(v.Envelope(), e) {
		t.Error("id or envelope differ")
	}
}

func TestTheZeroVerifiedPanics(t *testing.T) {
	var v envelope.Verified[permission]
	for name, use := range map[string]func(){
		"Body": func() { v.Body() }, "ID": func() { v.ID() }, "Envelope": func() { v.Envelope() },
		"Key": func() { v.Key() }, "Signers": func() { v.Signers() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of the zero value did not panic", name)
				}
			}()
			use()
		}()
	}
}

func TestFurtherSignersAreNamedByTheirKeys(t *testing.T) {
	ctx := context.Background()
	one, two := envelopetest.Repeat(1), envelopetest.Repeat(2)
	both, err := envelope.Seal(ctx, samplePermission(t), one, two)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, s := range both.Signatures {
		ids = append(ids, s.KeyID)
	}
	if want := []string{"key-1", two.Public().Multikey()}; !reflect.DeepEqual(ids, want) {
		t.Errorf("keyids = %v, want %v", ids, want)
	}
	first, err := envelope.Seal(ctx, samplePermission(t), one)
	if err != nil {
		t.Fatal(err)
	}
	later, err := envelope.Cosign(ctx, first, two)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(later, both) || len(first.Signatures) != 1 {
		t.Errorf("cosigned later: %+v\nsealed by both: %+v", later, both)
	}
	if again := later.With(both.Signatures...); !reflect.DeepEqual(again, both) {
		t.Errorf("the same signatures again: %+v", again)
	}
	if _, err := both.Compact(); err == nil {
		t.Error("two signatures have a compact form")
	}
}

var errFew = errors.New("too few")

// TestOpenSetCountsEachKeyOnce is identity I-17 for objects of many signers.
func TestOpenSetCountsEachKeyOnce(t *testing.T) {
	ctx := context.Background()
	body := shapes{header: header{At: at(t, "2026-12-01T10:00:00Z")}, Ext: envelope.Raw("{}")}
	draft, err := envelope.Seal(ctx, body)
	if err != nil || len(draft.Signatures) != 0 {
		t.Fatalf("draft = %+v, %v", draft, err)
	}
	var keys []did.PublicKey
	var signers []*envelopetest.Signer
	for i := range 5 {
		signers = append(signers, envelopetest.Repeat(byte(i+1)))
		keys = append(keys, signers[i].Public())
	}
	by := func(kid string, i int) envelope.Signature {
		sig, err := signers[i].Sign(ctx, draft.Preimage())
		if err != nil {
			t.Fatal(err)
		}
		if kid == "" {
			kid = keys[i].Multikey()
		}
		return envelope.Signature{KeyID: kid, Sig: sig}
	}
	broken := by("sign-1", 0)
	broken.Sig[5] ^= 1
	for _, c := range []struct {
		name     string
		keys     []did.PublicKey
		sigs     []envelope.Signature
		signed   []did.PublicKey
		verdicts map[string]int
	}{
		{"nobody", keys[:3], nil, nil, map[string]int{}},
		{"two of three by their keys' names", keys[:3], []envelope.Signature{by("", 0), by("", 2)},
			[]did.PublicKey{keys[0], keys[2]}, map[string]int{"good": 2}},
		{"three who call their keys alike", keys[:3], []envelope.Signature{by("sign-1", 2), by("sign-1", 1), by("sign-1", 0)},
			keys[:3], map[string]int{"good": 3}},
		{"one key under two names", keys[:3], []envelope.Signature{by("", 1), by("sign-1", 1)},
			keys[1:2], map[string]int{"good": 1, "unknown": 1}},
		{"one key listed twice", []did.PublicKey{keys[0], keys[0]}, []envelope.Signature{by("", 0)},
			keys[:1], map[string]int{"good": 1}},
		{"a stranger beside a member", keys[:3], []envelope.Signature{by("", 0), by("", 4)},
			keys[:1], map[string]int{"good": 1, "unknown": 1}},
		{"a member's name on a stranger's signature", keys[:3], []envelope.Signature{by(keys[0].Multikey(), 4), by("", 1)},
			keys[1:2], map[string]int{"good": 1, "bad": 1}},
		{"a broken signature under a name of its own", keys[:3], []envelope.Signature{broken, by("", 1)},
			keys[1:2], map[string]int{"good": 1, "unknown": 1}},
		{"a key that is none", []did.PublicKey{{}, keys[1]}, []envelope.Signature{by("", 1)},
			keys[1:2], map[string]int{"good": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var told []did.PublicKey
			v, report, err := envelope.OpenSet[shapes](draft.With(c.sigs...), c.keys, func(signed []did.PublicKey) error {
				told = signed
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for _, r := range report {
				got[r.Verdict.String()]++
			}
			if !reflect.DeepEqual(told, c.signed) || !reflect.DeepEqual(v.Signers(), c.signed) {
				t.Errorf("signed = %v, want %v", told, c.signed)
			}
			if !reflect.DeepEqual(got, c.verdicts) {
				t.Errorf("verdicts = %v, want %v", got, c.verdicts)
			}
		})
	}
	t.Run("too few are refused with a report", func(t *testing.T) {
		v, report, err := envelope.OpenSet[shapes](draft.With(by("", 0)), keys, func(signed []did.PublicKey) error {
			return fmt.Errorf("%d of 2: %w", len(signed), errFew)
		})
		if !errors.Is(err, errFew) || len(report) != 1 || !reflect.DeepEqual(v, envelope.Verified[shapes]{}) {
			t.Errorf("%v, %v, %v", v, report, err)
		}
	})
	t.Run("an object without an issuer has no single signer", func(t *testing.T) {
		_, err := envelope.Open[shapes](ctx, draft.With(by("", 0)), envelopetest.Keys{})
		wantForm(t, err, "kid", "body names no signer")
	})
	t.Run("129 signatures", func(t *testing.T) {
		many := draft
		for i := range 129 {
			many = many.With(envelope.Signature{KeyID: "k", Sig: did.Signature{byte(i)}})
		}
		_, _, err := envelope.OpenSet[shapes](many, keys, func([]did.PublicKey) error { return nil })
		wantForm(t, err, "signatures", "more than 128 signatures")
	})
}

func TestThreeShapesOfPreimageCannotBeMistaken(t *testing.T) {
	for _, c := range []struct {
		name, text string
		ok         bool
	}{
		{"a checkpoint", "did:web:acme.example/log\n4\nAAAA\n", true},
		{"a cosignature", "cosignature/v1\ntime 1\ndid:web:acme.example/log\n4\nAAAA\n", true},
		{"an object", "DSSEv1 1 x 2 {}\n", false},
		{"another origin", "acme.example/log\n4\nAAAA\n", false},
		{"no line feed at the end", "did:web:acme.example/log", false},
		{"another cosignature", "cosignature/v2\n", false},
		{"nothing", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := envelope.Note([]byte(c.text))
			if (err == nil) != c.ok || err != nil && !errors.Is(err, envelope.ErrNote) {
				t.Fatalf("error = %v", err)
			}
			if c.ok && string(p.Bytes()) != c.text {
				t.Errorf("pre-image = %q", p.Bytes())
			}
		})
	}
	e := envelope.Envelope{Type: envelope.TypeOf("permission"), Body: []byte("{}")}
	if got, want := string(e.Preimage().Bytes()), "DSSEv1 44 application/vnd.trustnode.permission.v1+json 2 {}"; got != want {
		t.Errorf("pre-image = %q, want %q", got, want)
	}
	if got := envelope.DataIntegrity([64]byte{1, 2}).Bytes(); len(got) != 64 || got[1] != 2 {
		t.Errorf("pre-image = %x", got)
	}
}

func TestOneTypeIsOpenedByManyAtOnce(t *testing.T) {
	type fresh struct { // a type whose plan nobody has made yet
		Pins []pin `json:"pins"`
	}
	b, err := envelope.Marshal(shapes{header: header{At: at(t, "2026-12-01T10:00:00Z")}, Ext: envelope.Raw("{}")})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var s shapes
			var f fresh
			if err := errors.Join(envelope.Unmarshal(b, &s), envelope.Unmarshal([]byte(`{"pins":[]}`), &f)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
