package didwebvh_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
)

func move(t testing.TB, h didwebvh.History, r didwebvh.MoveRequest) didwebvh.History {
	t.Helper()
	line, err := didwebvh.Move(t.Context(), h, r)
	if err != nil {
		t.Fatal(err)
	}
	return extended(t, h, line, nil)
}

func TestMoveWritesEveryReferenceAnew(t *testing.T) {
	id := governed(t).DID().String()
	h := rich(t, func(s string) string { return strings.ReplaceAll(foreignState(s), goldenLater, id) })
	got := move(t, h, didwebvh.MoveRequest{
		Update: u3, Next: u4.Public(), Domain: "new.example:8443", Path: []string{"org"}, At: day2.Add(time.Minute),
		Services: []didwebvh.Service{{Name: "lending", Type: "TrustnodeLending", Endpoint: "https://new.example:8443/api/v1/permissions"}},
	})
	place := "new.example%3A8443:org"
	next := "did:webvh:" + h.SCID() + ":" + place
	want := string(h.Head().Document.Raw())
	want = strings.ReplaceAll(want, id, next)
	want = strings.Replace(want, next+":below", id+":below", 1) // another DID
	want = strings.Replace(want, `["did:web:acme.example"]`, `["did:web:`+place+`","`+id+`"]`, 1)
	want = strings.Replace(want, "https://acme.example/", "https://new.example:8443/", 1)
	doc := got.Head().Document
	if string(doc.Raw()) != want {
		t.Errorf("\n got %s\nwant %s", doc.Raw(), want)
	}
	if got.DID().String() != next || got.SCID() != h.SCID() || !got.Names(h.DID()) || !got.Names(got.DID()) {
		t.Errorf("moved to %s", got.DID())
	}
	if before, after := didwebvh.RolesOf(h.Head().Document), didwebvh.RolesOf(doc); before != after || len(doc.Warnings()) != 0 {
		t.Errorf("the roles went from %v to %v, warnings %v", before, after, doc.Warnings())
	}
}

// TestMoveThereAndBack: a place that was left is an alias, and is none any more once the DID is there again.
func TestMoveThereAndBack(t *testing.T) {
	h := create(t, acme())
	first := h.DID().String()
	h = move(t, h, didwebvh.MoveRequest{Update: u2, Next: u3.Public(), Domain: "two.example", At: day2})
	second := h.DID().String()
	h = move(t, h, didwebvh.MoveRequest{Update: u3, Next: u4.Public(), Domain: "three.example", At: day2})
	if got, want := h.Head().Document.AlsoKnownAs(), []string{"did:web:three.example", second, first}; !slices.Equal(got, want) {
		t.Errorf("after two moves: got %v, want %v", got, want)
	}
	third := h.DID().String()
	h = move(t, h, didwebvh.MoveRequest{Update: u4, Next: seed(6).Public(), Domain: "acme.example", At: day2})
	if got, want := h.Head().Document.AlsoKnownAs(), []string{"did:web:acme.example", third, second}; !slices.Equal(got, want) || h.DID().String() != first {
		t.Errorf("back at %s: got %v, want %v", h.DID(), got, want)
	}
	for _, name := range []string{first, second, third} {
		got, err := didwebvh.Resolver{}.Resolve(t.Context(), did.MustParse(name), did.Material{Log: h.Log()}, did.Options{Now: day2.Add(time.Hour)})
		if err != nil || got.Document.ID() != h.DID() || (len(got.Warnings) == 1) != (name != first) {
			t.Errorf("asked as %s: got %s, warnings %v, %v", name, got.Document.ID(), got.Warnings, err)
		}
	}
}

func TestMoveRefused(t *testing.T) {
	h := create(t, acme())
	f := second(h)
	f.parameters = strings.TrimSuffix(f.parameters, "}") + `,"portable":false}`
	fixed := extended(t, h, f.line(t), nil)
	for _, c := range []struct {
		name   string
		h      didwebvh.History
		change func(*didwebvh.MoveRequest)
		want   func(error) bool
	}{
		{"the place is the old one", h, func(r *didwebvh.MoveRequest) { r.Domain = "acme.example" }, func(err error) bool { return err != nil }},
		{"the place is an address", h, func(r *didwebvh.MoveRequest) { r.Domain = "10.0.0.1" }, is(didwebvh.ErrIdentifier)},
		{"the path climbs", h, func(r *didwebvh.MoveRequest) { r.Path = []string{".."} }, is(didwebvh.ErrIdentifier)},
		{"the key is a spent one", h, func(r *didwebvh.MoveRequest) { r.Update = u1 }, is(didwebvh.ErrKey)},
		{"the next key is listed", h, func(r *didwebvh.MoveRequest) { r.Next = i1.Public() }, is(didwebvh.ErrReused)},
		{"the witness service is set", h, func(r *didwebvh.MoveRequest) {
			r.Services = []didwebvh.Service{{Name: "witness", Type: "x", Endpoint: "did:key:" + w.Public().Multikey()}}
		}, func(err error) bool { return err != nil }},
		{"the log is not portable", fixed, func(r *didwebvh.MoveRequest) { r.Update, r.Next = u3, u4.Public() },
			func(err error) bool { return didwebvh.ReasonOf(err) == didwebvh.ReasonDocument }},
	} {
		r := didwebvh.MoveRequest{Update: u2, Next: u3.Public(), Domain: "new.example", At: day2}
		c.change(&r)
		if line, err := didwebvh.Move(t.Context(), c.h, r); !c.want(err) || line != nil {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

func is(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }
