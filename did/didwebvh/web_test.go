package didwebvh_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/did/didwebvh"
)

func TestParallelWebDocumentOfTheWorkedExample(t *testing.T) {
	h, _ := golden(t)
	web, got, err := h.Web()
	if err != nil || web.String() != "did:web:acme.example" {
		t.Fatalf("got %s, %v", web, err)
	}
	want := expand(`{"@context":["https://www.w3.org/ns/did/v1","https://w3id.org/security/multikey/v1"],"alsoKnownAs":["` + goldenDID + `"],` +
		`"assertionMethod":["did:web:acme.example#$I2"],"authentication":["did:web:acme.example#$I2"],"id":"did:web:acme.example","service":[` +
		`{"id":"did:web:acme.example#lending","serviceEndpoint":"https://acme.example/api/v1/permissions","type":"TrustnodeLending"},` +
		`{"id":"did:web:acme.example#witness","serviceEndpoint":"did:key:$W0","type":"TrustnodeWitness"},` +
		`{"id":"did:web:acme.example#files","serviceEndpoint":"https://acme.example","type":"relativeRef"},` +
		`{"@context":"https://identity.foundation/linked-vp/contexts/v1","id":"did:web:acme.example#whois","serviceEndpoint":"https://acme.example/whois.vp","type":"LinkedVerifiablePresentation"}],` +
		`"verificationMethod":[{"controller":"did:web:acme.example","id":"did:web:acme.example#$I2","publicKeyMultibase":"$I2","type":"Multikey"}]}`)
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if doc, err := did.ParseDocument(got, web); err != nil || len(doc.Warnings()) > 0 {
		t.Errorf("a reader of did:web sees %v, %v", doc.Warnings(), err)
	}
}

func TestParallelWebDocumentAfterAMove(t *testing.T) {
	h := move(t, create(t, acme()), didwebvh.MoveRequest{Update: u2, Next: u3.Public(), Domain: "acme-new.example", Path: []string{"ids", "a"}, At: day2})
	web, raw, err := h.Web()
	if err != nil || web.String() != "did:web:acme-new.example:ids:a" {
		t.Fatalf("got %s, %v", web, err)
	}
	doc, err := did.ParseDocument(raw, web)
	if err != nil {
		t.Fatal(err)
	}
	if got := doc.AlsoKnownAs(); !slices.Equal(got, []string{h.DID().String(), goldenDID}) {
		t.Errorf("names: got %v", got)
	}
	if strings.Contains(string(raw), "did:web:acme.example") {
		t.Errorf("the domain that was left is vouched for: %s", raw)
	}
	if s, ok := doc.Service("#files"); !ok || s.Endpoints[0] != "https://acme-new.example/ids/a" {
		t.Errorf("files: got %v, %v", s, ok)
	}
}

func TestNoParallelWebDocumentAfterTheEnd(t *testing.T) {
	h := create(t, acme())
	line, err := didwebvh.Deactivate(t.Context(), h, didwebvh.DeactivateRequest{Update: u2, At: day2})
	if err != nil {
		t.Fatal(err)
	}
	if h, err = h.Extend(append(line, '\n'), nil, day2); err != nil {
		t.Fatal(err)
	}
	for _, h := range []didwebvh.History{h, {}} {
		if _, raw, err := h.Web(); !errors.Is(err, did.ErrAbsent) || raw != nil {
			t.Errorf("got %s, %v", raw, err)
		}
	}
}

// Every log of the suite that is accepted has a parallel document that did:web readers take, unless it ended.
func TestParallelWebDocumentsOfTheSuite(t *testing.T) {
	n := 0
	for _, v := range suite(t) {
		h, err := didwebvh.Verify(v.log, v.witness, present)
		if err != nil || h.Deactivated() {
			continue
		}
		web, raw, err := h.Web()
		if err != nil {
			t.Errorf("%s: %v", v.name, err)
			continue
		}
		doc, err := did.ParseDocument(raw, web)
		if err != nil || !slices.Contains(doc.AlsoKnownAs(), h.DID().String()) {
			t.Errorf("%s: %v, %v", v.name, doc.AlsoKnownAs(), err)
		}
		for _, s := range []string{"#files", "#whois"} {
			if _, ok := doc.Service(s); !ok {
				t.Errorf("%s: no service %s", v.name, s)
			}
		}
		n++
	}
	if n < 30 {
		t.Errorf("%d logs", n)
	}
}
