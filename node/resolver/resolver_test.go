package resolver_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/keyring"
	"trustnode/did/resolution"
	"trustnode/node/resolver"
	. "trustnode/node/resolver/resolvertest"
)

func name(err error) did.ErrorName {
	var e *did.ResolutionError
	if !errors.As(err, &e) {
		return ""
	}
	return e.Name
}

func step(r did.Resolution, step string) (did.Evidence, bool) {
	i := slices.IndexFunc(r.Evidence, func(e did.Evidence) bool { return e.Step == step })
	if i < 0 {
		return did.Evidence{}, false
	}
	return r.Evidence[i], true
}

const (
	peer4      = "did:peer:4zQmd8CpeFPci817KDsbSAKWcXAE2mjvCQSasRewvbSF54Bd"
	did5       = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
	jwkExample = "did:jwk:eyJjcnYiOiJQLTI1NiIsImt0eSI6IkVDIiwieCI6ImFjYklRaXVNczNpOF91c3pFakoydHBUdFJNNEVVM3l6OTFQSDZDZEgyVjAiLCJ5IjoiX0tjeUxqOXZXTXB0bm1LdG00NkdxRHo4d2Y3NEk1TEtncmwyR3pIM25TRSJ9"
)

// Each method and each state is answered from what is held, and no host is asked.
func TestResolveAsksNobody(t *testing.T) {
	n := NewNode(t, NewOrg(t, "acme"))
	beta := NewOrg(t, "beta").Rotate()
	n.Hold(beta)
	ended := NewOrg(t, "ended").End()
	n.Hold(ended)
	forked := NewOrg(t, "forked")
	n.Hold(forked.Rotate())
	n.Hold(forked.As(1).Rotate())
	web := did.MustParse("did:web:gamma.example")
	n.Pin(web, WebDocument(web, 1, "https://gamma.example"))
	for _, c := range []struct {
		name, did string
		opts      did.Options
		state     did.State
		version   string
		refused   did.ErrorName
	}{
		{"its own", n.Org.String(), did.Options{}, did.Held, n.Own.Head(), ""},
		{"a partner's", beta.DID().String(), did.Options{}, did.Held, beta.Head(), ""},
		{"an earlier version by number", beta.DID().String(), did.Options{VersionNumber: 1}, did.Held, beta.H.Prefix(1).Head().ID, ""},
		{"an earlier version by id", beta.DID().String(), did.Options{VersionID: beta.H.Prefix(1).Head().ID}, did.Held, beta.H.Prefix(1).Head().ID, ""},
		{"an earlier version by time", beta.DID().String(), did.Options{VersionTime: Start.Add(time.Hour)}, did.Held, beta.H.Prefix(1).Head().ID, ""},
		{"a version there is not", beta.DID().String(), did.Options{VersionNumber: 9}, 0, "", did.NotFound},
		{"one that ended", ended.DID().String(), did.Options{}, did.Deactivated, ended.Head(), ""},
		{"one before it ended", ended.DID().String(), did.Options{VersionNumber: 1}, did.Held, ended.H.Prefix(1).Head().ID, ""},
		{"one that forked", forked.DID().String(), did.Options{}, 0, "", did.Forked},
		{"a pinned did:web", web.String(), did.Options{}, did.Held, "", ""},
		{"a stranger's did:web", "did:web:stranger.example", did.Options{}, 0, "", did.NotFound},
		{"a stranger's did:webvh", NewOrg(t, "stranger").DID().String(), did.Options{}, 0, "", did.NotFound},
		{"a did:web at an address", "did:web:127.0.0.1", did.Options{}, 0, "", did.InvalidDID},
		{"a did:webvh without SCID", "did:webvh:acme.example", did.Options{}, 0, "", did.InvalidDID},
		{"a key", did5, did.Options{}, did.Held, did.StaticVersion, ""},
		{"a JSON Web Key", jwkExample, did.Options{}, did.Held, did.StaticVersion, ""},
		{"a peer without its document", peer4, did.Options{}, 0, "", did.NotFound},
		{"a method nobody has", "did:example:123", did.Options{}, 0, "", did.MethodNotSupported},
	} {
		d, err := did.Parse(c.did)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got, err := n.Resolve(t.Context(), d, c.opts)
		if name(err) != c.refused || got.State != c.state || c.version != "" && got.Version != c.version || err == nil && got.DID != d {
			t.Errorf("%s: got %v %s, %v; want %v %s %s", c.name, got.State, got.Version, err, c.state, c.version, c.refused)
		}
		if f, ok := step(got, resolver.StepHost); ok {
			t.Errorf("%s: a host was asked: %v", c.name, f)
		}
	}
	if asked := n.Shelf.Asked(); len(asked) > 0 {
		t.Errorf("hosts were asked: %v", asked)
	}
}

// What a fork means for keys is said to whoever reads of it.
func TestAForkSaysWhichKeysCount(t *testing.T) {
	n := NewNode(t, NewOrg(t, "acme"))
	o := NewOrg(t, "forked").Rotate()
	n.Hold(o.Rotate())
	n.Hold(o.As(1).Rotate())
	_, err := n.Resolve(t.Context(), o.DID(), did.Options{})
	if !errors.Is(err, keyring.ErrFrozen) || !strings.Contains(err.Error(), "two valid entries 3") || !strings.HasSuffix(err.Error(), "; keys after entry 2 are not accepted") {
		t.Errorf("got %v", err)
	}
}

// A method whose DID is the key is answered by a resolver that belongs to no node, and by
// Fresh without any host.
func TestSelfContainedMethodsNeedNothing(t *testing.T) {
	r := resolver.Alone(nil, func() time.Time { return Now })
	for _, text := range []string{did5, jwkExample} {
		d := did.MustParse(text)
		a, errA := r.Resolve(t.Context(), d, did.Options{})
		b, errB := r.Fresh(t.Context(), d, did.Options{})
		if errA != nil || errB != nil || string(a.Raw) != string(b.Raw) || a.State != did.Held {
			t.Errorf("%s: %v, %v", text, errA, errB)
		}
	}
	d := did.MustParse("did:web:acme.example")
	if _, err := r.Fresh(t.Context(), d, did.Options{}); name(err) != did.InternalError || !errors.Is(err, did.ErrUnavailable) {
		t.Errorf("no host may be asked: got %v", err)
	}
	if _, err := r.AcceptHead(t.Context(), resolver.Accept{DID: d, Version: "z", Reason: "x"}); err == nil {
		t.Error("a head was accepted for no node")
	}
}

// Material that is handed in is verified, whoever brought it, and held by nobody but a
// resolver that is alone.
func TestGiven(t *testing.T) {
	n := NewNode(t, NewOrg(t, "acme"))
	o := NewOrg(t, "beta").Watched().Rotate()
	for _, r := range []*resolver.Resolver{n.Resolver, resolver.Alone(nil, func() time.Time { return Now })} {
		got, err := r.Given(t.Context(), o.DID(), o.Material(), did.Options{})
		if err != nil || got.Version != o.Head() {
			t.Fatalf("got %s, %v", got.Version, err)
		}
		_, err = r.Given(t.Context(), o.DID(), did.Material{Log: o.H.Log()}, did.Options{})
		if name(err) != did.InvalidDID || !errors.Is(err, did.ErrUnverified) {
			t.Errorf("without witness file: got %v", err)
		}
		held, err := r.Resolve(t.Context(), o.DID(), did.Options{VersionNumber: 2})
		if alone := r != n.Resolver; alone != (err == nil) || alone && held.Version != o.H.Prefix(2).Head().ID {
			t.Errorf("held: %s, %v", held.Version, err)
		}
	}
	web := did.MustParse("did:web:beta.example")
	doc := WebDocument(web, 1, "https://beta.example")
	if got, err := n.Given(t.Context(), web, did.Material{Log: doc}, did.Options{}); err != nil || string(got.Raw) != string(doc) || len(got.Warnings) != 1 {
		t.Errorf("did:web: %v, %v", got.Warnings, err)
	}
	if _, err := n.Given(t.Context(), did.MustParse("did:web:other.example"), did.Material{Log: doc}, did.Options{}); name(err) != did.InvalidDIDDocument {
		t.Errorf("the document of another did:web: got %v", err)
	}
	if _, err := n.Ring.Head(t.Context(), web); !errors.Is(err, keyring.ErrAbsent) {
		t.Errorf("it is held: %v", err)
	}
}

// Nothing that can be asked for makes the endpoint panic or ask a host.
func FuzzEndpoint(f *testing.F) {
	n := NewNode(f, NewOrg(f, "acme"))
	h := resolution.Handler(n.Service(false))
	d := n.Org.String()
	for _, s := range []string{d, "did%3A" + d[4:] + "%23lending", d + "?versionNumber=1", d + "?noCache=true", "did:web:domain%3A1100:api:v1", "did:web:%zz", "did:key:z", "did:peer:2.V",
		peer4, jwkExample, "..%2f..%2fetc", "%00", "did:web:a//b", "did:webvh:%7BSCID%7D:acme.example", "did:key:z6Mkp92", "did:jwk:e30"} {
		f.Add(s, "application/did")
	}
	f.Fuzz(func(t *testing.T, id, accept string) {
		r := httptest.NewRequest("GET", "/", nil)
		path, query, _ := strings.Cut(id, "?")
		r.URL.Path, r.URL.RawPath, r.URL.RawQuery = resolution.Endpoint+path, resolution.Endpoint+path, query
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code < 200 || w.Code == http.StatusMovedPermanently || w.Code >= 600 {
			t.Errorf("%q: %d", id, w.Code)
		}
		if asked := n.Shelf.Asked(); len(asked) > 0 {
			t.Errorf("%q: hosts were asked: %v", id, asked)
		}
	})
}

// BenchmarkStored is the endpoint over loopback, and the floor: a handler that answers the
// same bytes.
func BenchmarkStored(b *testing.B) {
	n := NewNode(b, NewOrg(b, "acme"))
	h := resolution.Handler(n.Service(false))
	path := resolution.Endpoint + n.Org.String()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	body := w.Body.Bytes()
	for name, h := range map[string]http.Handler{"resolved": h, "constant": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", resolution.MediaResult)
		_, _ = w.Write(body)
	})} {
		b.Run(name, func(b *testing.B) {
			s := httptest.NewServer(h)
			defer s.Close()
			for b.Loop() {
				res, err := s.Client().Get(s.URL + path)
				if err != nil {
					b.Fatal(err)
				}
				if got, err := io.Copy(io.Discard, res.Body); err != nil || got != int64(len(body)) || res.StatusCode != 200 {
					b.Fatal(res.Status, got, err)
				}
				res.Body.Close()
			}
		})
	}
}
