package party_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/mediation"
	"trustnode/node/casefile"
	"trustnode/node/fault"
	"trustnode/node/party"
	"trustnode/node/party/partytest"
)

// same says whether all nodes fold the same cases as of a moment.
func (w *world) same(t *testing.T, at time.Time) []mediation.Case {
	t.Helper()
	var first []mediation.Case
	for i, o := range w.Orgs {
		got, err := w.party[o].Cases(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		for n := range got { // private bodies are for some
			for m := range got[n].Manifests {
				got[n].Manifests[m].Body = nil
			}
		}
		if i == 0 {
			first = got
		} else if !reflect.DeepEqual(got, first) {
			t.Errorf("%s and %s fold different cases:\n%+v\n%+v", o.Name, w.Orgs[0].Name, got, first)
		}
	}
	return first
}

func TestAllNodesFoldTheSameCase(t *testing.T) {
	w := newWorld(t, 3)
	w.story(t)
	w.settle(t)
	at := w.Now()
	before := w.same(t, at)
	if len(before) != 1 || before[0].State != mediation.Ruled || before[0].Dispute.Claims[0].Acts != 3 {
		t.Fatalf("got %+v", before)
	}
	// Repeats and another order change nothing.
	r := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		for _, i := range r.Perm(len(w.Orgs)) {
			if err := w.Orgs[i].Peers.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if again := w.same(t, at); !reflect.DeepEqual(again, before) {
		t.Errorf("syncing again changed the case:\n%+v\n%+v", again, before)
	}
	for _, o := range w.Orgs {
		o.Restart()
		w.party[o] = party.New(o.Node)
	}
	if again := w.same(t, at); !reflect.DeepEqual(again, before) {
		t.Errorf("a restart changed the case:\n%+v\n%+v", again, before)
	}
	final := w.same(t, at.Add(8*24*time.Hour+time.Second))
	if final[0].State != mediation.Final {
		t.Errorf("after the time to appeal the case is %s", final[0].State)
	}
}

// A node that was away while everything happened has it with the first verb that names it.
func TestWhoWasAwayAsksOnce(t *testing.T) {
	w := newWorld(t, 1)
	w.settle(t)
	w.vendor.Online.Store(false)
	id := w.file(t).Case.ID.String()
	w.vendor.Online.Store(true)
	asked := w.vendor.Asked.Load()
	v, err := w.party[w.vendor].Show(t.Context(), id)
	if err != nil || v.Case.State != mediation.Filed || v.Report.Claims[0].Finding != "proven" || v.Role != party.Respondent {
		t.Fatalf("got %s, %+v, %q, %v", v.Case.State, v.Report, v.Unsure, err)
	}
	if n := w.vendor.Asked.Load() - asked; n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
	if _, err = w.party[w.vendor].Show(t.Context(), id); err != nil || w.vendor.Asked.Load()-asked != 1 {
		t.Errorf("what is complete is not asked for again: %d times, %v", w.vendor.Asked.Load()-asked, err)
	}
}

func TestAnUnseenFilingIsPending(t *testing.T) {
	w := newWorld(t, 1)
	w.settle(t)
	w.arbiter.Asleep.Store(true)
	v := w.file(t)
	if v.Case.State != party.Pending || v.Case.ID.IsZero() || v.Role != party.Claimant {
		t.Fatalf("got %+v", v)
	}
	id := v.Case.ID.String()
	_, err := w.party[w.vendor].Answer(t.Context(), id, party.Reply{Deny: true})
	refusal{fault.Unavailable, "pending", "must be reachable"}.check(t, err)
	_, err = w.party[w.acme].Export(t.Context(), id)
	refusal{fault.Unavailable, "pending", "must be reachable"}.check(t, err)
	if cases, err := w.party[w.acme].Cases(t.Context(), w.Now()); err != nil || len(cases) != 0 {
		t.Errorf("a pending filing counts: %+v, %v", cases, err)
	}
	_, err = w.party[w.acme].File(t.Context(), party.Filing{Loan: w.loan.ID.String(), Reason: "R1"})
	refusal{fault.Conflict, "joined", "joined " + id}.check(t, err)
	w.arbiter.Asleep.Store(false)
	w.settle(t)
	if _, err := w.party[w.vendor].Answer(t.Context(), id, party.Reply{Deny: true}); err != nil {
		t.Errorf("once it is seen: %v", err)
	}
}

func TestAdmittingEverythingEndsTheCase(t *testing.T) {
	w := newWorld(t, 6)
	id := w.file(t).Case.ID.String()
	v, err := w.party[w.vendor].Answer(t.Context(), id, party.Reply{Admit: []int{1}, Text: "we did"})
	if err != nil || v.Case.State != mediation.Final || !v.Case.Decision.Admitted {
		t.Fatalf("got %s, %v", v.Case.State, err)
	}
	// Six acts: 30..80, and what is admitted stands at the lower edge.
	if e := v.Case.Effects(); len(e) != 1 || e[0].Severity != 30_000 || e[0].Acts != 6 || e[0].Subject != w.quant.DID {
		t.Errorf("effects %+v", e)
	}
}

// Only the parties and the mediators are given the evidence and the texts.
func TestPrivateBodiesStayWithThoseConcerned(t *testing.T) {
	names := []string{"acme", "vendor", "arbiter", "bystander", "onlooker"}
	x := dress(partytest.Make(t, partytest.Options{Names: names, Mediators: []string{"arbiter", "bystander"}}), 1)
	v := x.story(t)
	x.settle(t)
	on := x.Org("onlooker")
	seen, err := x.party[on].Show(t.Context(), v.Case.ID.String())
	if err != nil || seen.Case.State != mediation.Ruled {
		t.Fatalf("got %s, %v", seen.Case.State, err)
	}
	if len(seen.Report.Items) != 0 || seen.Answer != "" || seen.Reasons != "" || seen.Role != party.Observer {
		t.Errorf("an onlooker sees items %+v, answer %q, reasons %q", seen.Report.Items, seen.Answer, seen.Reasons)
	}
	for _, h := range v.Case.Manifests {
		if _, err := on.Rec.Body(t.Context(), h.ID); err == nil {
			t.Errorf("an onlooker holds manifest %s", h.ID)
		}
	}
	ev := attestation.Event{Subject: v.Case.ID.String(), Type: "dispute.evidence"}
	for _, tt := range []struct {
		org  *partytest.Org
		want bool
	}{{x.acme, true}, {x.vendor, true}, {x.arbiter, true}, {x.Org("bystander"), true}, {on, false}} {
		if got := x.party[tt.org].Concerns(t.Context(), ev); got != tt.want {
			t.Errorf("private bodies of the case are for %s: %t", tt.org.Name, got)
		}
	}
}

// Each look of a mediator at evidence, and each export, is a row before anything shows.
func TestOpeningsAreRows(t *testing.T) {
	w := newWorld(t, 1)
	v := w.story(t)
	ctx := t.Context()
	count := func(o *partytest.Org) map[string]int {
		if err := o.Rec.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		out := map[string]int{}
		err := o.Rec.RowsOf(ctx, v.Case.ID.String(), func(_ uint64, r audit.Row) error {
			var body struct{ Op, Case string }
			if err := json.Unmarshal(r.Body, &body); err != nil {
				return err
			}
			if body.Case != v.Case.ID.String() || body.Op != r.Kind {
				t.Errorf("row %s of kind %s", r.Body, r.Kind)
			}
			out[body.Op]++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	before := count(w.arbiter)
	if before["access"] == 0 {
		t.Errorf("ruling left no row: %v", before)
	}
	for range 2 {
		if _, err := w.party[w.arbiter].Show(ctx, v.Case.ID.String()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.party[w.arbiter].Export(ctx, v.Case.ID.String()); err != nil {
		t.Fatal(err)
	}
	after := count(w.arbiter)
	if after["access"] != before["access"]+2 || after["export"] != 1 {
		t.Errorf("rows %v, before %v", after, before)
	}
	if _, err := w.party[w.acme].Show(ctx, v.Case.ID.String()); err != nil {
		t.Fatal(err)
	}
	if got := count(w.acme); len(got) != 0 {
		t.Errorf("a party's look at its own case left rows %v", got)
	}
}

// A text that no case of this organization names is not kept.
func TestKeepTakesOnlyWhatIsNamed(t *testing.T) {
	w := newWorld(t, 1)
	w.story(t)
	stray := partytest.Must(envelope.Marshal(mediation.Document{Salt: "AAECAwQFBgcICQoLDA0ODw", Text: "buy now"}))
	for _, tt := range []struct {
		name string
		body []byte
	}{{"a text nobody names", stray}, {"what is no text", []byte(`{"a":1}`)}} {
		if err := w.party[w.arbiter].Keep(t.Context(), tt.body); err == nil {
			t.Errorf("%s was kept", tt.name)
		}
		if _, err := w.arbiter.Rec.Body(t.Context(), envelope.IDOf(tt.body)); err == nil {
			t.Errorf("%s is held", tt.name)
		}
	}
}

// Every file is the same case: what was exported says what the nodes say.
func TestEveryPartyExportsTheSameCase(t *testing.T) {
	w := newWorld(t, 2)
	v := w.story(t)
	w.settle(t)
	at := w.Now()
	live := w.same(t, at)[0]
	for _, o := range w.Orgs {
		if _, err := w.party[o].Show(t.Context(), v.Case.ID.String()); err != nil {
			t.Fatal(err)
		}
		b, err := w.party[o].Export(t.Context(), v.Case.ID.String())
		if err != nil {
			t.Fatalf("%s: %v", o.Name, err)
		}
		_, c, r, err := casefile.Open(t.Context(), b, casefile.Options{AsOf: at})
		if err != nil {
			t.Fatalf("%s: %v", o.Name, err)
		}
		for i := range c.Manifests {
			c.Manifests[i].Body = nil
		}
		if !reflect.DeepEqual(c.Decision, live.Decision) || !reflect.DeepEqual(c.Events, live.Events) || c.State != live.State {
			t.Errorf("the file of %s says %s, %+v; its node %s, %+v", o.Name, c.State, c.Decision, live.State, live.Decision)
		}
		if r.Claims[0].Finding != "proven" || r.Claims[0].Acts != 2 {
			t.Errorf("the file of %s proves %+v", o.Name, r.Claims)
		}
	}
}
