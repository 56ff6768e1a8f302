package didweb_test

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didweb"
	"trustnode/did/envelope"
	"trustnode/did/strictjson"
)

func TestResolve(t *testing.T) {
	raw := document(beta, method(beta, "a", k1)+","+method(beta, "b", k2), "a")
	d := did.MustParse(beta)
	id := envelope.IDOf(raw).String()
	r, err := didweb.Resolver{}.Resolve(t.Context(), d, did.Material{Log: raw}, did.Options{Now: at.Time(), VersionID: id})
	if err != nil {
		t.Fatal(err)
	}
	if key, err := r.Document.Key("a", did.AssertionMethod); err != nil || key != k1 {
		t.Errorf("got key %s, %v, want %s", key, err, k1)
	}
	r.Document = did.Document{}
	want := did.Resolution{DID: d, Raw: raw, Version: id, State: did.Held, VerifiedAt: at.Time(),
		Evidence: []did.Evidence{{Step: "key", Version: id}, {Step: "head", Version: id}}}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("got %+v, want %+v", r, want)
	}
	if r.Raw[0] = 'x'; raw[0] == 'x' {
		t.Error("the result shares memory with the material")
	}
}

// TestVersionIsOfTheExactBytes: white space around a document is part of what was pinned.
func TestVersionIsOfTheExactBytes(t *testing.T) {
	raw := append(document(beta, method(beta, "a", k1), "a"), '\n')
	r, err := didweb.Resolver{}.Resolve(t.Context(), did.MustParse(beta), did.Material{Log: raw}, did.Options{})
	if err != nil || r.Version != envelope.IDOf(raw).String() || !bytes.Equal(r.Raw, raw) {
		t.Errorf("got %s for %q, %v", r.Version, r.Raw, err)
	}
}

func TestResolveRefuses(t *testing.T) {
	good := document(beta, method(beta, "a", k1), "a")
	other := document("did:web:evil.example", method("did:web:evil.example", "a", k1), "a")
	for title, c := range map[string]struct {
		did  string
		log  []byte
		o    did.Options
		want did.ErrorName
	}{
		"nobody has the document":                      {beta, nil, did.Options{}, did.NotFound},
		"no bytes are no document":                     {beta, []byte{}, did.Options{}, did.NotFound},
		"the document is about another DID (B-5)":      {beta, other, did.Options{}, did.InvalidDIDDocument},
		"the document is about the DID with a slash":   {beta, document(beta+"/", ""), did.Options{}, did.InvalidDIDDocument},
		"a comment in the document (B-15)":             {beta, append([]byte("// ours\n"), good...), did.Options{}, did.InvalidDIDDocument},
		"a byte order mark (B-15)":                     {beta, append([]byte("\xef\xbb\xbf"), good...), did.Options{}, did.InvalidDIDDocument},
		"a byte after the end (B-15)":                  {beta, append(bytes.Clone(good), '}'), did.Options{}, did.InvalidDIDDocument},
		"a duplicate member":                           {beta, with(good, `"id":"did:web:beta.example"`), did.Options{}, did.InvalidDIDDocument},
		"two methods of one id":                        {beta, document(beta, method(beta, "a", k1)+","+method(beta, "a", k2), "a"), did.Options{}, did.InvalidDIDDocument},
		"a page of HTML":                               {beta, []byte("<!doctype html>"), did.Options{}, did.InvalidDIDDocument},
		"more bytes than a document may have":          {beta, append(bytes.Clone(good), bytes.Repeat([]byte(" "), did.MaxDocument)...), did.Options{}, did.InvalidDIDDocument},
		"an identifier that hides an address":          {"did:web:127%2E0%2E0%2E1", good, did.Options{}, did.InvalidDID},
		"another method":                               {"did:webvh:beta.example", good, did.Options{}, did.InvalidDID},
		"a version by time: there is no history":       {beta, good, did.Options{VersionTime: at.Time()}, did.InvalidOptions},
		"a version by number":                          {beta, good, did.Options{VersionNumber: 1}, did.InvalidOptions},
		"a version by number, without the document":    {beta, nil, did.Options{VersionNumber: 1}, did.InvalidOptions},
		"another version":                              {beta, good, did.Options{VersionID: envelope.IDOf(other).String()}, did.NotFound},
		"the version written without its base":         {beta, good, did.Options{VersionID: envelope.IDOf(good).String()[1:]}, did.NotFound},
		"the version of what a static method would be": {beta, good, did.Options{VersionID: did.StaticVersion}, did.NotFound},
	} {
		d, err := did.Parse(c.did)
		if err != nil {
			t.Fatal(err)
		}
		r, err := didweb.Resolver{}.Resolve(t.Context(), d, did.Material{Log: c.log}, c.o)
		if name(err) != c.want || !reflect.DeepEqual(r, did.Resolution{}) {
			t.Errorf("%s: got %+v, %v; want %s", title, r, err, c.want)
		}
	}
}

// TestBadJSONIsPlaced is public report B-15: the answer says where, and is not "not found".
func TestBadJSONIsPlaced(t *testing.T) {
	raw := []byte("{\"id\":\"did:web:beta.example\",\n  /* keys */ \"verificationMethod\":[]}")
	_, err := didweb.Resolver{}.Resolve(t.Context(), did.MustParse(beta), did.Material{Log: raw}, did.Options{})
	var at *strictjson.SyntaxError
	if !errors.As(err, &at) || at.Line != 2 || at.Column != 3 {
		t.Errorf("got %v, want line 2, column 3", err)
	}
}

func TestResolveEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := didweb.Resolver{}.Resolve(ctx, did.MustParse(beta), did.Material{Log: document(beta, "")}, did.Options{Now: time.Now()})
	if name(err) != did.InternalError || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestWarningsAreHandedOn(t *testing.T) {
	raw := document(beta, method(beta, "a", k1), "a", "gone")
	r, err := didweb.Resolver{}.Resolve(t.Context(), did.MustParse(beta), did.Material{Log: raw}, did.Options{})
	if err != nil || len(r.Warnings) != 1 || r.Warnings[0].Where != beta+"#gone" {
		t.Errorf("got %+v, %v", r.Warnings, err)
	}
}
