package resolver_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/node/fault"
	"trustnode/node/fetch"
	"trustnode/node/resolver"
	. "trustnode/node/resolver/resolvertest"
)

func TestPublished(t *testing.T) {
	n := NewNode(t, NewOrg(t, "acme"))
	p, err := n.Published(t.Context())
	if err != nil || p.DID != n.Org || p.Version != n.Own.Head() || p.TTL != 3600 || string(p.Log) != string(n.Own.H.Log()) || p.Witness != nil ||
		p.WebDID.String() != "did:web:acme.example" || p.URLOf(resolver.FileWeb) != "https://acme.example/.well-known/did.json" {
		t.Fatalf("got %+v, %v", p, err)
	}
	if doc, err := did.ParseDocument(p.Web, p.WebDID); err != nil || len(doc.Methods()) != 1 {
		t.Errorf("did.json: %v, %v", doc.Methods(), err)
	}
	n.Hold(n.Own.Watched())
	if p, err = n.Published(t.Context()); err != nil || p.Witness == nil {
		t.Errorf("witnessed: %v", err)
	}
	n.Hold(n.Own.Watched().End())
	if p, err = n.Published(t.Context()); err != nil || p.State != did.Deactivated || p.Web != nil || p.Log == nil {
		t.Errorf("ended: %+v, %v", p, err)
	}
	f := NewNode(t, NewOrg(t, "acme"))
	f.Hold(f.Own.Rotate())
	f.Hold(f.Own.As(1).Rotate())
	if p, err = f.Published(t.Context()); err != nil || p.State != did.Frozen || p.Web != nil || p.Log == nil {
		t.Errorf("forked: %+v, %v", p, err)
	}
	n.Node.Org = did.MustParse(did5)
	if _, err := n.Published(t.Context()); code(err) != fault.NotFound {
		t.Errorf("a key: %v", err)
	}
	if _, err := resolver.Alone(nil, nil).Published(t.Context()); code(err) != fault.NotFound {
		t.Errorf("no node: %v", err)
	}
}

// I-15: while entries come in, whoever takes the log and then the witness file has all its
// proofs, also if an entry came in between.
func TestTheLogNeverLacksAProof(t *testing.T) {
	n := NewNode(t, NewOrg(t, "acme"))
	o := n.Own.Watched()
	const readers, entries = 4, 8
	var rounds [readers]atomic.Int64
	var stopped atomic.Bool
	var wg sync.WaitGroup
	for i := range readers {
		wg.Go(func() {
			for !stopped.Load() {
				rounds[i].Add(1)
				log, err := n.Published(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				runtime.Gosched()
				witness, err := n.Published(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if h, err := didwebvh.Verify(log.Log, witness.Witness, Now); err != nil || h.Head().ID != log.Version {
					t.Errorf("log of %s, witness file of %s: %v", log.Version, witness.Version, err)
					return
				}
			}
		})
	}
	for range entries {
		if _, err := n.Offer(t.Context(), o.DID(), o.H.Log(), o.H.Witness()); err != nil {
			t.Error(err)
		}
		o = o.Rotate()
		// Two entries while one reader turns from one file to the other are an emergency's.
		for i := range rounds {
			for seen := rounds[i].Load(); rounds[i].Load() == seen && !t.Failed(); {
				runtime.Gosched()
			}
		}
	}
	stopped.Store(true)
	wg.Wait()
}

func TestCheckHost(t *testing.T) {
	own := NewOrg(t, "acme").Watched()
	now := own.Rotate()
	web := did.MustParse("did:web:acme.example")
	parallel := func(h didwebvh.History) []byte {
		_, b, err := h.Web()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	other := NewOrg(t, "other")
	serve := func(m did.Material, doc []byte) func(*Shelf) {
		return func(s *Shelf) {
			if m.Log != nil {
				s.Put(own.DID(), m)
			}
			if doc != nil {
				s.Put(web, did.Material{Log: doc})
			}
		}
	}
	for _, c := range []struct {
		name               string
		serve              func(*Shelf)
		log, witness, json resolver.Hosting
		words              string
	}{
		{"all as held", serve(now.Material(), parallel(now.H)), resolver.Same, resolver.Same, resolver.Same, "up to " + now.Head()},
		{"all of yesterday", serve(own.Material(), parallel(own.H)), resolver.Behind, resolver.Behind, resolver.Other, "ends at entry 2, this node holds 3"},
		{"the newer witness file first", serve(did.Material{Log: own.H.Log(), Witness: now.H.Witness()}, nil), resolver.Behind, resolver.Same, resolver.Missing, ""},
		{"the newer log first", serve(did.Material{Log: now.H.Log(), Witness: own.H.Witness()}, nil), resolver.Same, resolver.Other, resolver.Missing, "does not verify"},
		{"no witness file", serve(did.Material{Log: now.H.Log()}, nil), resolver.Same, resolver.Missing, resolver.Missing, "nobody can verify"},
		{"an entry this node does not have", serve(now.Rotate().Material(), nil), resolver.Ahead, resolver.Ahead, resolver.Missing, "goes on to entry 4"},
		{"another log", serve(other.Material(), nil), resolver.Other, resolver.Missing, resolver.Missing, "another history"},
		{"a log that is cut short", serve(did.Material{Log: now.H.Log()[:len(now.H.Log())-9], Witness: now.H.Witness()}, nil), resolver.Other, resolver.Same, resolver.Missing, ""},
		{"nothing", serve(did.Material{}, nil), resolver.Missing, resolver.Missing, resolver.Missing, ""},
		{"no answer", func(s *Shelf) { s.Break(own.DID(), fetch.CauseTLS); s.Break(web, fetch.CauseTLS) }, resolver.Unreachable, resolver.Unreachable, resolver.Unreachable, ""},
	} {
		n := NewNode(t, now)
		c.serve(n.Shelf)
		list, err := n.CheckHost(t.Context())
		if err != nil || len(list) != 3 {
			t.Fatalf("%s: %v, %v", c.name, list, err)
		}
		got := []resolver.Hosting{list[0].State, list[1].State, list[2].State}
		if !slices.Equal(got, []resolver.Hosting{c.log, c.witness, c.json}) || !strings.Contains(fmt.Sprint(list), c.words) {
			t.Errorf("%s: got %+v", c.name, list)
		}
		for i, file := range []string{resolver.FileLog, resolver.FileWitness, resolver.FileWeb} {
			if f := list[i]; f.File != file || f.URL != "https://acme.example/.well-known/"+file || f.Words == "" {
				t.Errorf("%s: got %+v", c.name, f)
			}
		}
	}
	n := NewNode(t, NewOrg(t, "acme"))
	n.Shelf.Put(n.Org, n.Own.Material())
	if list, err := n.CheckHost(t.Context()); err != nil || list[1].State != resolver.Unneeded {
		t.Errorf("no witnesses: %+v, %v", list, err)
	}
	ended := n.Own.End()
	if _, err := n.Ring.Offer(t.Context(), ended.DID(), ended.H.Log(), nil); err != nil {
		t.Fatal(err)
	}
	n.Shelf.Put(web, did.Material{Log: parallel(n.Own.H)})
	if list, err := n.CheckHost(t.Context()); err != nil || list[0].State != resolver.Behind || list[2].State != resolver.Behind {
		t.Errorf("ended: %+v, %v", list, err)
	}
}
