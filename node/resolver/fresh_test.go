package resolver_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/node/fetch"
	"trustnode/node/resolver"
	. "trustnode/node/resolver/resolvertest"
)

// What a host serves of a DID that is not held is verified, told and forgotten.
func TestAStrangerIsVerifiedAndForgotten(t *testing.T) {
	n := NewNode(t, NewOrg(t, "acme"))
	beta := NewOrg(t, "beta").Watched()
	n.Shelf.Put(beta.DID(), beta.Material())
	web := did.MustParse("did:web:gamma.example")
	n.Shelf.Put(web, did.Material{Log: WebDocument(web, 1, "https://gamma.example")})
	for _, d := range []did.DID{beta.DID(), web} {
		for range 2 {
			got, err := n.Fresh(t.Context(), d, did.Options{})
			if err != nil || got.State != did.Held || !got.ConfirmedAt.Equal(Now) || got.Age != 0 || n.ConfirmedBy(got) != "host" {
				t.Fatalf("%s: %+v, %v", d, got, err)
			}
			if h, ok := step(got, resolver.StepHost); !ok || h.Version != got.Version {
				t.Errorf("%s: host %+v, version %s", d, h, got.Version)
			}
		}
		if _, err := n.Ring.Head(t.Context(), d); !errors.Is(err, keyring.ErrAbsent) {
			t.Errorf("%s is held: %v", d, err)
		}
		if _, err := n.Resolve(t.Context(), d, did.Options{}); name(err) != did.NotFound {
			t.Errorf("%s is answered without its host: %v", d, err)
		}
	}
	if v, err := n.Ring.List(t.Context()); err != nil || len(v) != 1 {
		t.Errorf("held: %v, %v", v, err)
	}
}

func TestAStrangerIsRefused(t *testing.T) {
	n := NewNode(t, NewOrg(t, "acme"))
	beta, other := NewOrg(t, "beta").Watched(), NewOrg(t, "other")
	web := did.MustParse("did:web:trusted.example:redirector")
	elsewhere := did.MustParse("did:web:victim.example")
	for _, c := range []struct {
		name string
		did  did.DID
		serv func()
		want did.ErrorName
		is   error
	}{
		{"no such file", beta.DID(), func() {}, did.NotFound, did.ErrAbsent},
		{"a host that is down", beta.DID(), func() { n.Shelf.Break(beta.DID(), fetch.CauseConnect) }, did.InternalError, did.ErrUnavailable},
		{"a redirect (B-5)", web, func() { n.Shelf.Break(web, fetch.CauseRedirect) }, did.InternalError, did.ErrUnavailable},
		{"the document of another DID (B-5)", web, func() { n.Shelf.Put(web, did.Material{Log: WebDocument(elsewhere, 1, "x")}) }, did.InvalidDIDDocument, nil},
		{"a did.json with a comment (B-15)", web, func() { n.Shelf.Put(web, did.Material{Log: []byte("{} // none")}) }, did.InvalidDIDDocument, did.ErrDocument},
		{"a log without its witness file", beta.DID(), func() { n.Shelf.Put(beta.DID(), did.Material{Log: beta.H.Log()}) }, did.InvalidDID, did.ErrUnverified},
		{"the log of another DID", beta.DID(), func() { n.Shelf.Put(beta.DID(), other.Material()) }, did.InvalidDID, did.ErrUnverified},
		{"a DID that names an address", did.MustParse("did:web:169.254.169.254"), func() {}, did.InvalidDID, nil},
	} {
		c.serv()
		asked := len(n.Shelf.Asked())
		got, err := n.Fresh(t.Context(), c.did, did.Options{})
		if name(err) != c.want || c.is != nil && !errors.Is(err, c.is) || got.State != 0 {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		if c.want == did.InvalidDID && c.is == nil && len(n.Shelf.Asked()) != asked {
			t.Errorf("%s: its host was asked", c.name)
		}
		var e *did.ResolutionError
		if errors.As(err, &e) && e.Name == did.InternalError && e.Detail == "" {
			t.Errorf("%s: the operator is not told why", c.name)
		}
	}
}

// A DID keeps its escape on every way (B-6).
func TestAnEscapeStaysAsItIs(t *testing.T) {
	n := NewNode(t, NewOrg(t, "acme"))
	d := did.MustParse("did:web:domain%3A1100:api:v1")
	n.Shelf.Put(d, did.Material{Log: WebDocument(d, 1, "x")})
	got, err := n.Fresh(t.Context(), d, did.Options{})
	if err != nil || got.DID != d || got.Document.ID() != d || !slices.Equal(n.Shelf.Asked(), []did.DID{d}) {
		t.Errorf("got %s, %v after %v", got.DID, err, n.Shelf.Asked())
	}
}

// What the host of a DID that is held serves moves the head, confirms it, or is refused and
// told, whatever state the answer is in.
func TestTheHostOfAHeldDID(t *testing.T) {
	one := NewOrg(t, "beta")
	two := one.Rotate()
	three := two.Rotate()
	broken := did.Material{Log: append(slices.Clone(three.H.Log()), []byte("{}\n")...)}
	for _, c := range []struct {
		name    string
		serve   func(s *Shelf)
		version string // of the answer; "": frozen
		host    string // version of the step host; "-": none
		warns   string
		by      keyring.Confirmation
		moved   int
		reason  string
	}{
		{"the same log", func(s *Shelf) { s.Put(one.DID(), two.Material()) }, two.Head(), two.Head(), "", keyring.ByHost, 0, ""},
		{"a longer one", func(s *Shelf) { s.Put(one.DID(), three.Material()) }, three.Head(), three.Head(), "", keyring.ByHost, 1, ""},
		{"a shorter one (B-2)", func(s *Shelf) { s.Put(one.DID(), one.Material()) }, two.Head(), one.Head(), "refused: log of " + one.DID().String() + " ends at 1, this node has verified 2", "", 0, "rollback"},
		{"another one", func(s *Shelf) { s.Put(one.DID(), one.As(1).Rotate().Material()) }, "", "", "", "", 0, "fork"},
		{"one that does not verify", func(s *Shelf) { s.Put(one.DID(), broken) }, two.Head(), "", "refused: ", "", 0, "form"},
		{"that of another organization", func(s *Shelf) { s.Put(one.DID(), NewOrg(t, "other").Material()) }, two.Head(), "", "refused: ", "", 0, "other_did"},
		{"nothing", func(s *Shelf) {}, two.Head(), "-", "gave no answer", "", 0, ""},
		{"no answer", func(s *Shelf) { s.Break(one.DID(), fetch.CauseTimeout) }, two.Head(), "-", "gave no answer", "", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := NewNode(t, NewOrg(t, "acme"))
			n.Hold(two)
			before, _ := n.Ring.Log(t.Context(), one.DID(), 0)
			c.serve(n.Shelf)
			got, err := n.Fresh(t.Context(), one.DID(), did.Options{})
			if (c.version == "") != (name(err) == did.Forked) || got.Version != c.version {
				t.Fatalf("got %s, %v, want %s", got.Version, err, c.version)
			}
			if refused := n.Refused(); (c.reason != "") != (len(refused) == 1) || c.reason != "" && refused[c.reason] != 1 {
				t.Errorf("counted %v, want %q", refused, c.reason)
			}
			if c.version == "" {
				return
			}
			if h, ok := step(got, resolver.StepHost); ok != (c.host != "-") || ok && h.Version != c.host {
				t.Errorf("host: %v %v, want %s", h, ok, c.host)
			}
			if said := words(got); (c.warns != "") != (len(got.Warnings) == 1) || !strings.Contains(said, c.warns) {
				t.Errorf("warnings: %s", said)
			}
			if by, at := n.Ring.Confirmed(one.DID()); by != c.by || c.by != "" && !at.Equal(Now) {
				t.Errorf("confirmed by %q at %s", by, at)
			}
			if len(n.Moved) != c.moved {
				t.Errorf("moved: %v", n.Moved)
			}
			if after, _ := n.Ring.Log(t.Context(), one.DID(), 0); c.moved == 0 && string(before) != string(after) {
				t.Error("what is held has changed")
			}
		})
	}
}

func words(r did.Resolution) string {
	var out []string
	for _, w := range r.Warnings {
		out = append(out, w.Where+": "+w.What)
	}
	return strings.Join(out, "\n")
}

// After a move the new host is asked, also by the old name, and a new name of a held log
// is learned from its host.
func TestAMovedDID(t *testing.T) {
	n := NewNode(t, NewOrg(t, "acme"))
	before := NewOrg(t, "beta")
	after := before.Move("beta-new.example")
	n.Hold(before)
	n.Shelf.Put(after.DID(), after.Material())
	got, err := n.Fresh(t.Context(), after.DID(), did.Options{})
	if err != nil || got.Version != after.Head() || got.Document.ID() != after.DID() {
		t.Fatalf("by its new name: %s, %v", got.Version, err)
	}
	later := after.Rotate()
	n.Shelf.Put(after.DID(), later.Material())
	if got, err = n.Fresh(t.Context(), before.DID(), did.Options{}); err != nil || got.Version != later.Head() {
		t.Errorf("by its old name: %s, %v", got.Version, err)
	}
	if asked := n.Shelf.Asked(); !slices.Equal(asked, []did.DID{after.DID(), after.DID()}) {
		t.Errorf("asked: %v", asked)
	}
	a := n.Service(false).Text(t.Context(), before.DID().String())
	if a.Status != 200 || !strings.Contains(string(a.Body), "this DID has moved to "+after.DID().String()) {
		t.Errorf("its old name is told: %d %s", a.Status, a.Body)
	}
	for _, c := range []struct{ text, want string }{
		{before.DID().String() + "#" + later.Issuer(), `"id":"` + after.DID().String() + "#" + later.Issuer() + `"`},
		{after.DID().String() + "?versionNumber=1", "the document is of before a move, when the DID was " + before.DID().String()},
		{before.DID().String() + "?versionNumber=1", `"canonicalId":"` + after.DID().String() + `"`},
	} {
		if a := n.Service(false).Text(t.Context(), c.text); a.Status != 200 || !strings.Contains(string(a.Body), c.want) {
			t.Errorf("%s: %d %s", c.text, a.Status, a.Body)
		}
	}
}

// A did:web that changes its keys is not trusted; one that changes anything else is.
func TestAPinnedWebDIDAndItsHost(t *testing.T) {
	d := did.MustParse("did:web:beta.example")
	pinned, site, other := WebDocument(d, 1, "https://old.example"), WebDocument(d, 1, "https://new.example"), WebDocument(d, 2, "https://old.example")
	n := NewNode(t, NewOrg(t, "acme"))
	n.Pin(d, pinned)
	n.Shelf.Put(d, did.Material{Log: pinned})
	got, err := n.Fresh(t.Context(), d, did.Options{})
	if err != nil || string(got.Raw) != string(pinned) || n.ConfirmedBy(got) != "host" {
		t.Fatalf("unchanged: %v by %q", err, n.ConfirmedBy(got))
	}
	n.Shelf.Put(d, did.Material{Log: site})
	if got, err = n.Fresh(t.Context(), d, did.Options{}); err != nil || string(got.Raw) != string(site) || len(got.Warnings) != 0 {
		t.Fatalf("another website: %v, %s", err, words(got))
	}
	n.Shelf.Put(d, did.Material{Log: other})
	want := envelope.IDOf(other).String()
	got, err = n.Fresh(t.Context(), d, did.Options{})
	if h, ok := step(got, resolver.StepHost); err != nil || string(got.Raw) != string(site) || !ok || h.Version != want {
		t.Fatalf("other keys: %v, host %v", err, h)
	}
	if said := words(got); len(got.Warnings) != 1 || !strings.Contains(said, "serves other keys than the pinned snapshot; not trusted") || !strings.Contains(said, want) {
		t.Errorf("other keys: %s", said)
	}
	// From then on everybody who asks learns of it, and nobody gets the new keys.
	if got, err = n.Resolve(t.Context(), d, did.Options{}); err != nil || string(got.Raw) != string(site) || !strings.Contains(words(got), want) {
		t.Errorf("stored: %v, %s", err, words(got))
	}
	if n.Refused()["changed"] != 1 {
		t.Errorf("counted %v", n.Refused())
	}
}

// A file from which a valid old state is served is refused below the pin, also where the
// state was lost: the pin outlives it.
func TestALostStateIsHealedByItsHost(t *testing.T) {
	n := NewNode(t, NewOrg(t, "acme"))
	beta := NewOrg(t, "beta").Rotate()
	n.Hold(beta)
	lost := keyring.New(keyring.Memory(), n.Pins, func() time.Time { return Now })
	n.Node.Ring = lost
	r := resolver.New(n.Node, resolver.Config{Host: n.Shelf})
	if _, err := r.Resolve(t.Context(), beta.DID(), did.Options{}); name(err) != did.InternalError {
		t.Fatalf("got %v", err)
	}
	first := NewOrg(t, "beta")
	n.Shelf.Put(beta.DID(), first.Material())
	if _, err := r.Fresh(t.Context(), beta.DID(), did.Options{}); name(err) != did.InternalError {
		t.Errorf("a log below the pin: %v", err)
	}
	n.Shelf.Put(beta.DID(), beta.Material())
	if got, err := r.Fresh(t.Context(), beta.DID(), did.Options{}); err != nil || got.Version != beta.Head() {
		t.Errorf("the pinned log: %s, %v", got.Version, err)
	}
}
