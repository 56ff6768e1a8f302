package interop

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	ariesdid "github.com/hyperledger/aries-framework-go/pkg/doc/did"
	vdrapi "github.com/hyperledger/aries-framework-go/pkg/framework/aries/api/vdr"

	"trustnode/did"
	"trustnode/did/didkey"
)

const agent = "did:key:z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S"

// scripted answers as each test needs.
type scripted struct {
	name string
	do   func(ctx context.Context, d did.DID, m did.Material, o did.Options) (did.Resolution, error)
}

func (s scripted) Method() string { return s.name }

func (s scripted) Resolve(ctx context.Context, d did.DID, m did.Material, o did.Options) (did.Resolution, error) {
	return s.do(ctx, d, m, o)
}

func TestResolvesAsTheMethodDoes(t *testing.T) {
	got, err := New(didkey.Resolver{}).Resolve(t.Context(), agent, did.Material{}, did.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := didkey.Resolver{}.Resolve(t.Context(), did.MustParse(agent), did.Material{}, did.Options{})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v, %v", got, want, err)
	}
}

func TestWhatTravelsPastTheFrame(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "here")
	material := did.Material{Log: []byte("log"), Witness: []byte("witness")}
	options := did.Options{VersionNumber: 2, Now: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)}
	want := did.Resolution{DID: did.MustParse("did:x:a"), Version: "2-q", State: did.Held, Warnings: []did.Warning{{Where: "a", What: "b"}}}
	r := New(scripted{"x", func(ctx context.Context, d did.DID, m did.Material, o did.Options) (did.Resolution, error) {
		if ctx.Value(key{}) != "here" || d != want.DID || !reflect.DeepEqual(m, material) || o != options {
			t.Errorf("got %v %+v %+v", d, m, o)
		}
		return want, nil
	}})
	if got, err := r.Resolve(ctx, "did:x:a", material, options); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestRefusals(t *testing.T) {
	cause := errors.New("cause")
	answer := func(r did.Resolution, err error) func(context.Context, did.DID, did.Material, did.Options) (did.Resolution, error) {
		return func(context.Context, did.DID, did.Material, did.Options) (did.Resolution, error) { return r, err }
	}
	half := did.Resolution{DID: did.MustParse("did:typed:a"), Version: "half"}
	r := New(didkey.Resolver{},
		scripted{"typed", answer(half, &did.ResolutionError{Name: did.Forked, Detail: "two entries", Err: cause})},
		scripted{"plain", answer(half, cause)},
		scripted{"other", answer(half, nil)},
		scripted{"absent", answer(half, vdrapi.ErrNotFound)},
	)
	cases := []struct {
		name, text string
		want       did.ErrorName
		detail     string
		is         error
	}{
		{"no DID", "z6Mk", did.InvalidDID, "", did.ErrSyntax},
		{"two parts", "did:key", did.InvalidDID, "", did.ErrSyntax},
		{"a space at the end", agent + " ", did.InvalidDID, "", did.ErrSyntax},
		{"a fragment", agent + "#k", did.InvalidDID, "", did.ErrSyntax},
		{"too long", "did:key:" + strings.Repeat("z", 20000), did.InvalidDID, "", did.ErrTooLarge},
		{"aries' own web method", "did:web:acme.example", did.MethodNotSupported, "did:web; supported: absent, key, other, plain, typed", nil},
		{"aries' own peer method", "did:peer:1zQm", did.MethodNotSupported, "did:peer; supported: absent, key, other, plain, typed", nil},
		{"a name that only begins like a method", "did:keys:z6Mk", did.MethodNotSupported, "did:keys; supported: absent, key, other, plain, typed", nil},
		{"the method's own error", "did:typed:a", did.Forked, "two entries", cause},
		{"an error that is not typed", "did:plain:a", did.InternalError, "", cause},
		{"an answer about another DID", "did:other:a", did.InternalError, "resolved to another DID", nil},
		{"aries' word for absent", "did:absent:a", did.InternalError, "", vdrapi.ErrNotFound},
	}
	for _, c := range cases {
		got, err := r.Resolve(t.Context(), c.text, did.Material{}, did.Options{})
		var e *did.ResolutionError
		if !errors.As(err, &e) || e.Name != c.want || e.Detail != c.detail || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: got %v, want %s %q", c.name, err, c.want, c.detail)
		}
		if !reflect.DeepEqual(got, did.Resolution{}) {
			t.Errorf("%s: left %+v", c.name, got)
		}
	}
}

func TestPanicStopsAtTheFrame(t *testing.T) {
	r := New(scripted{"x", func(context.Context, did.DID, did.Material, did.Options) (did.Resolution, error) {
		var none []byte
		return did.Resolution{}, errors.New(string(none[3]))
	}})
	_, err := r.Resolve(t.Context(), "did:x:a", did.Material{}, did.Options{})
	var e *did.ResolutionError
	var p *PanicError
	if !errors.As(err, &e) || e.Name != did.InternalError || !errors.As(err, &p) || !bytes.Contains(p.Stack, []byte("TestPanicStopsAtTheFrame")) {
		t.Errorf("got %v", err)
	}
}

func TestRegistry(t *testing.T) {
	r := New(scripted{name: "x"}, didkey.Resolver{})
	if got := r.Methods(); !reflect.DeepEqual(got, []string{"key", "x"}) {
		t.Errorf("methods %v", got)
	}
	if _, err := r.frame.Resolve(agent); !errors.Is(err, errNoCall) {
		t.Errorf("the frame alone: %v", err)
	}
	if _, err := r.frame.Create("key", &ariesdid.Doc{}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("create: %v", err)
	}
	if err := r.frame.Update(&ariesdid.Doc{ID: agent}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("update: %v", err)
	}
	if err := r.frame.Deactivate(agent); !errors.Is(err, ErrReadOnly) {
		t.Errorf("deactivate: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("two resolvers of one method were taken")
		}
	}()
	New(didkey.Resolver{}, didkey.Resolver{})
}

const document = `{"@context":["https://www.w3.org/ns/did/v1"],"id":"did:web:acme.example","alsoKnownAs":["did:web:acme.test"],
"verificationMethod":[
{"id":"#good","type":"Multikey","controller":"did:web:acme.example","publicKeyMultibase":"z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S"},
{"id":"#bad","type":"Multikey","controller":"did:web:acme.example","publicKeyMultibase":"z6MkeTG3bFFSLYVU7VqhgZxqr6YzpaGrQtFMh1uvqGy1vDnP"},
{"id":"#ended","type":"Multikey","controller":"did:web:acme.example","revoked":"2026-01-01T00:00:00Z","publicKeyMultibase":"z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"},
{"id":"#lent","type":"Multikey","controller":"did:web:evil.example","publicKeyMultibase":"z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"},
{"id":"did:web:evil.example#k","type":"Multikey","controller":"did:web:acme.example","publicKeyMultibase":"z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"}],
"assertionMethod":["#good","#bad","#ended","#lent","did:web:evil.example#k"],"authentication":["#lent"],
"service":[{"id":"#s","type":"TrustnodeLending","serviceEndpoint":"https://acme.example/api"},{"id":"#m","type":["A","B"],"serviceEndpoint":{"uri":"x"}}]}`

func TestViewHoldsOnlyWhatSpeaksForTheDID(t *testing.T) {
	d := did.MustParse("did:web:acme.example")
	doc, err := did.ParseDocument([]byte(document), d)
	if err != nil {
		t.Fatal(err)
	}
	created := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	v := View(did.Resolution{DID: d, Document: doc, Created: created})
	key, err := did.DecodeKey("z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S")
	if err != nil {
		t.Fatal(err)
	}
	method := *ariesdid.NewVerificationMethodFromBytes("did:web:acme.example#good", "Multikey", d.String(), key.Raw())
	if len(v.VerificationMethod) != 1 || !reflect.DeepEqual(v.VerificationMethod[0], method) || len(method.Value) != 32 {
		t.Errorf("methods %+v", v.VerificationMethod)
	}
	want := []ariesdid.Verification{*ariesdid.NewReferencedVerification(&method, ariesdid.AssertionMethod)}
	if !reflect.DeepEqual(v.AssertionMethod, want) || v.Authentication != nil {
		t.Errorf("relationships %+v, %+v", v.AssertionMethod, v.Authentication)
	}
	if v.ID != d.String() || !reflect.DeepEqual(v.AlsoKnownAs, []string{"did:web:acme.test"}) || !v.Created.Equal(created) || v.Updated != nil {
		t.Errorf("got %+v", v)
	}
	if len(v.Service) != 1 || v.Service[0].ID != "did:web:acme.example#s" || v.Service[0].Type != "TrustnodeLending" {
		t.Errorf("services %+v", v.Service)
	}
	if uri, err := v.Service[0].ServiceEndpoint.URI(); err != nil || uri != "https://acme.example/api" {
		t.Errorf("endpoint %q, %v", uri, err)
	}
	if v := View(did.Resolution{DID: d, State: did.Deactivated}); v != nil {
		t.Errorf("view of a deactivated DID: %+v", v)
	}
}

// FuzzResolve: no text panics the frame, and what resolves is the DID that was asked for.
func FuzzResolve(f *testing.F) {
	f.Add(agent)
	f.Add("did:key:zybQneQSwvMU8HEiBHFXxHKTCxuygcDz2YrmBGw5NopgcctJuD")
	f.Add("did:key:")
	r := New(didkey.Resolver{})
	f.Fuzz(func(t *testing.T, text string) {
		got, err := r.Resolve(context.Background(), text, did.Material{}, did.Options{})
		var e *did.ResolutionError
		if err != nil && !errors.As(err, &e) || err == nil && got.DID.String() != text {
			t.Errorf("%q: got %v, %v", text, got.DID, err)
		}
		if err == nil {
			View(got)
		}
	})
}
