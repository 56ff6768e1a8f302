package didwebvh_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/strictjson"
)

// Further keys, beside those of the worked example.
const (
	gov, gov2 seed = 0x31, 0x32
	w02       seed = 0x15
	u4        seed = 0x05
)

// extended is h and a line that was made for it.
func extended(t testing.TB, h didwebvh.History, line []byte, witness []byte) didwebvh.History {
	t.Helper()
	next, err := h.Extend(line, witness, day2.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// governed is the worked example's organization with a governance key.
func governed(t testing.TB) didwebvh.History {
	r := acme()
	r.Governance = gov.Public()
	return create(t, r)
}

func TestEachRoleIsReplacedAlone(t *testing.T) {
	plain := didwebvh.Roles{Issuer: i1.Public(), Governance: gov.Public(), Witness: w0.Public()}
	for _, c := range []struct {
		name string
		set  func(*didwebvh.RotateRequest)
		want func(*didwebvh.Roles)
	}{
		{"none", func(*didwebvh.RotateRequest) {}, func(*didwebvh.Roles) {}},
		{"the issuer key", func(r *didwebvh.RotateRequest) { r.Issuer = i2.Public() }, func(r *didwebvh.Roles) { r.Issuer = i2.Public() }},
		{"the governance key", func(r *didwebvh.RotateRequest) { r.Governance = gov2.Public() }, func(r *didwebvh.Roles) { r.Governance = gov2.Public() }},
		{"the witness key", func(r *didwebvh.RotateRequest) { r.WitnessKey = w02.Public() }, func(r *didwebvh.Roles) { r.Witness = w02.Public() }},
		{"all three", func(r *didwebvh.RotateRequest) {
			r.Issuer, r.Governance, r.WitnessKey = i2.Public(), gov2.Public(), w02.Public()
		}, func(r *didwebvh.Roles) {
			*r = didwebvh.Roles{Issuer: i2.Public(), Governance: gov2.Public(), Witness: w02.Public()}
		}},
	} {
		h := governed(t)
		if got := didwebvh.RolesOf(h.Head().Document); got != plain {
			t.Fatalf("created with %v, want %v", got, plain)
		}
		r := didwebvh.RotateRequest{Update: u2, Next: u3.Public(), At: day2}
		c.set(&r)
		want := plain
		c.want(&want)
		got := extended(t, h, rotate(t, h, r), nil).Head().Document
		if didwebvh.RolesOf(got) != want {
			t.Errorf("%s: got %v, want %v", c.name, didwebvh.RolesOf(got), want)
		}
		if len(got.Methods()) != 2 || len(got.Listed(did.AssertionMethod)) != 2 || len(got.Listed(did.Authentication)) != 1 || len(got.Warnings()) != 0 {
			t.Errorf("%s: %d methods, assertion %v, authentication %v, warnings %v", c.name, len(got.Methods()),
				got.Listed(did.AssertionMethod), got.Listed(did.Authentication), got.Warnings())
		}
	}
}

func TestAGovernanceKeyIsAddedLater(t *testing.T) {
	h := create(t, acme())
	if got := didwebvh.RolesOf(h.Head().Document).Governance; !got.IsZero() {
		t.Fatalf("created with %v", got)
	}
	h = extended(t, h, rotate(t, h, didwebvh.RotateRequest{Update: u2, Next: u3.Public(), Governance: gov.Public(), At: day2}), nil)
	want := didwebvh.Roles{Issuer: i1.Public(), Governance: gov.Public(), Witness: w0.Public()}
	if got := didwebvh.RolesOf(h.Head().Document); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// rich is an organization whose document holds what Create does not write, as its controller could.
func rich(t testing.TB, state func(string) string) didwebvh.History {
	h := governed(t)
	f := second(h)
	f.state = state(f.state)
	f.parameters = strings.Replace(f.parameters, "]}", `,"`+didwebvh.KeyHash(rec.Public())+`"]}`, 1)
	return extended(t, h, f.line(t), nil)
}

// foreignState adds members, a method, references and a service no role asks for.
func foreignState(s string) string {
	v, err := strictjson.Parse([]byte(s), 32)
	if err != nil {
		panic(err)
	}
	extra, err := strictjson.Parse([]byte(`{"id":"`+goldenLater+`#x","type":"Multikey","controller":"`+goldenLater+
		`","publicKeyMultibase":"z6LSbysY2xFMRpGMhb7tFTLMpeuPRaqaWM1yECx2AtzE3KCc"}`), 8)
	if err != nil {
		panic(err)
	}
	methods, _ := v.Get("verificationMethod")
	v = v.With("verificationMethod", strictjson.ArrayOf(append([]strictjson.Value{extra}, methods.Elements()...)...))
	v = v.With("keyAgreement", strictjson.StringsOf("#x"))
	v = v.With("capabilityInvocation", strictjson.StringsOf("#"+i1.Public().Multikey()))
	v = v.With("controller", strictjson.StringOf(goldenLater))
	return string(v.With("note", strictjson.ArrayOf(strictjson.UintOf(7), strictjson.StringOf(goldenLater+":below"))).Raw())
}

// goldenLater stands for the DID of governed, which the governance key changes.
const goldenLater = "did:webvh:SCID:acme.example"

func TestRotateLeavesTheRestOfADocument(t *testing.T) {
	id := governed(t).DID().String()
	h := rich(t, func(s string) string { return strings.ReplaceAll(foreignState(s), goldenLater, id) })
	before := h.Head().Document
	if len(before.Warnings()) != 0 {
		t.Fatalf("warnings %v", before.Warnings())
	}
	r := didwebvh.RotateRequest{Update: u3, Next: u4.Public(), Issuer: i2.Public(), At: day2.Add(time.Minute),
		Services: []didwebvh.Service{{Name: "lending", Type: "TrustnodeLending", Endpoint: "https://new.example/"}}}
	got := extended(t, h, rotate(t, h, r), nil).Head().Document
	want := strings.ReplaceAll(string(before.Raw()), i1.Public().Multikey(), i2.Public().Multikey())
	want = strings.Replace(want, `"#`+i2.Public().Multikey(), `"`+id+"#"+i2.Public().Multikey(), 1)
	want = strings.Replace(want, "https://acme.example/api/v1/permissions", "https://new.example/", 1)
	if string(got.Raw()) != want {
		t.Errorf("\n got %s\nwant %s", got.Raw(), want)
	}
}

func TestRotateRefused(t *testing.T) {
	h := governed(t)
	h = extended(t, h, rotate(t, h, didwebvh.RotateRequest{
		Update: u2, Next: u3.Public(), Issuer: i2.Public(), Governance: gov2.Public(), WitnessKey: w02.Public(), At: day2}), nil)
	fresh := seed(0x77).Public()
	for _, c := range []struct {
		name   string
		change func(*didwebvh.RotateRequest)
		want   error
	}{
		{"the issuer key was the issuer's before", func(r *didwebvh.RotateRequest) { r.Issuer = i1.Public() }, didwebvh.ErrReused},
		{"the issuer key is the issuer's now", func(r *didwebvh.RotateRequest) { r.Issuer = i2.Public() }, didwebvh.ErrReused},
		{"the issuer key was the governance key", func(r *didwebvh.RotateRequest) { r.Issuer = gov.Public() }, didwebvh.ErrReused},
		{"the issuer key was a witness key", func(r *didwebvh.RotateRequest) { r.Issuer = w0.Public() }, didwebvh.ErrReused},
		{"the issuer key is a spent update key", func(r *didwebvh.RotateRequest) { r.Issuer = u1.Public() }, didwebvh.ErrReused},
		{"the issuer key is the recovery key", func(r *didwebvh.RotateRequest) { r.Issuer = rec.Public() }, didwebvh.ErrReused},
		{"the governance key is the issuer's", func(r *didwebvh.RotateRequest) { r.Governance = i2.Public() }, didwebvh.ErrReused},
		{"the governance key comes back", func(r *didwebvh.RotateRequest) { r.Governance = gov.Public() }, didwebvh.ErrReused},
		{"the witness key comes back", func(r *didwebvh.RotateRequest) { r.WitnessKey = w0.Public() }, didwebvh.ErrReused},
		{"the next key is a spent one", func(r *didwebvh.RotateRequest) { r.Next = u1.Public() }, didwebvh.ErrReused},
		{"the next key is the one that signs", func(r *didwebvh.RotateRequest) { r.Next = u3.Public() }, didwebvh.ErrReused},
		{"the next key is the recovery key", func(r *didwebvh.RotateRequest) { r.Next = rec.Public() }, didwebvh.ErrReused},
		{"the recovery key comes back", func(r *didwebvh.RotateRequest) { r.Recovery = rec.Public() }, didwebvh.ErrReused},
		{"there is no next key", func(r *didwebvh.RotateRequest) { r.Next = did.PublicKey{} }, nil},
		{"one new key has two roles", func(r *didwebvh.RotateRequest) { r.Issuer, r.Governance = fresh, fresh }, nil},
		{"the next key is a new issuer's", func(r *didwebvh.RotateRequest) { r.Issuer = r.Next }, nil},
		{"the witness service is set past its key", func(r *didwebvh.RotateRequest) {
			r.Services = []didwebvh.Service{{Name: "witness", Type: "x", Endpoint: "did:key:" + w0.Public().Multikey()}}
		}, nil},
		{"a spent key signs", func(r *didwebvh.RotateRequest) { r.Update = u2 }, didwebvh.ErrKey},
		{"the threshold is above the list", func(r *didwebvh.RotateRequest) { r.Witness = list(2, w) }, nil},
	} {
		r := didwebvh.RotateRequest{Update: u3, Next: u4.Public(), At: day2.Add(time.Minute)}
		if _, err := didwebvh.Rotate(t.Context(), h, r); err != nil {
			t.Fatalf("the honest request is refused: %v", err)
		}
		c.change(&r)
		line, err := didwebvh.Rotate(t.Context(), h, r)
		if err == nil || line != nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

func TestCreateRefusesAKeyInTwoRoles(t *testing.T) {
	for name, change := range map[string]func(*didwebvh.CreateRequest){
		"the governance key is the issuer's":   func(r *didwebvh.CreateRequest) { r.Governance = r.Issuer },
		"the governance key is the witness's":  func(r *didwebvh.CreateRequest) { r.Governance = w0.Public() },
		"the witness key is the next update's": func(r *didwebvh.CreateRequest) { r.Next = w0.Public() },
		"the witness service names a URL":      func(r *didwebvh.CreateRequest) { r.Services[1].Endpoint = "https://acme.example" },
		"the witness service names no key":     func(r *didwebvh.CreateRequest) { r.Services[1].Endpoint = "did:key:z6Mk" },
	} {
		r := acme()
		r.Services = slices.Clone(r.Services)
		change(&r)
		if d, _, err := didwebvh.Create(t.Context(), r); err == nil {
			t.Errorf("%s: made %s", name, d)
		}
	}
}

// deactivated is h ended by the update key.
func deactivated(t testing.TB, h didwebvh.History, update seed, when time.Time) didwebvh.History {
	t.Helper()
	line, err := didwebvh.Deactivate(t.Context(), h, didwebvh.DeactivateRequest{Update: update, At: when})
	if err != nil {
		t.Fatal(err)
	}
	return extended(t, h, line, nil)
}

func TestDeactivate(t *testing.T) {
	one := create(t, acme())
	for name, update := range map[string]seed{"by the next key": u2, "by the recovery key": rec} {
		h := deactivated(t, one, update, day2)
		p := h.Head().Parameters
		if !h.Deactivated() || len(p.NextKeyHashes) != 0 || !slices.Equal(p.UpdateKeys, []did.PublicKey{update.Public()}) {
			t.Errorf("%s: parameters %+v", name, p)
		}
		if string(h.Head().Document.Raw()) != string(one.Head().Document.Raw()) {
			t.Errorf("%s: the document changed to %s", name, h.Head().Document.Raw())
		}
		if !h.Head().Time.Equal(day2) {
			t.Errorf("%s: at %s", name, h.Head().Time)
		}
		for what, try := range after(h, u2, u3) {
			if line, err := try(t.Context()); didwebvh.ReasonOf(err) != didwebvh.ReasonDeactivated || line != nil {
				t.Errorf("%s, then %s: got %v", name, what, err)
			}
		}
	}
	if _, err := didwebvh.Deactivate(t.Context(), one, didwebvh.DeactivateRequest{Update: u1, At: day2}); !errors.Is(err, didwebvh.ErrKey) {
		t.Errorf("by a spent key: got %v", err)
	}
}

// after is every way to make an entry after h.
func after(h didwebvh.History, update, next seed) map[string]func(context.Context) ([]byte, error) {
	return map[string]func(context.Context) ([]byte, error){
		"rotate": func(ctx context.Context) ([]byte, error) {
			return didwebvh.Rotate(ctx, h, didwebvh.RotateRequest{Update: update, Next: next.Public(), At: day2})
		},
		"move": func(ctx context.Context) ([]byte, error) {
			return didwebvh.Move(ctx, h, didwebvh.MoveRequest{Update: update, Next: next.Public(), Domain: "new.example", At: day2})
		},
		"deactivate": func(ctx context.Context) ([]byte, error) {
			return didwebvh.Deactivate(ctx, h, didwebvh.DeactivateRequest{Update: update, At: day2})
		},
	}
}
