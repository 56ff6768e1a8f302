package party_test

import (
	"fmt"
	"slices"
	"testing"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/mediation"
	"trustnode/node/party"
)

// TestAFilerCannotHideWhatAnothersCaseLacks: filings whose bodies nobody gives keep the
// exhibits of a case from being asked for in no round, and each other for ever in none.
func TestAFilerCannotHideWhatAnothersCaseLacks(t *testing.T) {
	w := newWorld(t, 20)
	ctx := t.Context()
	var ghosts []envelope.ID
	for i := range 30 {
		b := fmt.Appendf(nil, `{"n":%d}`, i)
		ghosts = append(ghosts, envelope.IDOf(b))
		w.vendor.Event(attestation.Draft{Type: "dispute.filed", Subject: ghosts[i].String(), Body: b})
	}
	w.file(t)
	if err := w.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	p := w.party[w.arbiter]
	all, err := party.New(w.arbiter.Node).Wants(ctx, 1000)
	if err != nil {
		t.Fatal(err)
	}
	exhibits := slices.DeleteFunc(slices.Clone(all), func(id envelope.ID) bool { return slices.Contains(ghosts, id) })
	if len(exhibits) != 42 || len(all) != 72 {
		t.Fatalf("%d exhibits of %d things, want 42 of 72", len(exhibits), len(all))
	}
	asked := map[envelope.ID]bool{}
	for round := range 9 {
		wants, err := p.Wants(ctx, 10)
		if err != nil || len(wants) != 10 {
			t.Fatalf("round %d: %d wants, %v", round, len(wants), err)
		}
		if n := len(slices.DeleteFunc(slices.Clone(wants), func(id envelope.ID) bool { return !slices.Contains(exhibits, id) })); n < 5 {
			t.Errorf("round %d: %d of 10 are exhibits", round, n)
		}
		for _, id := range wants {
			asked[id] = true
		}
	}
	if len(asked) != len(all) {
		t.Errorf("%d of %d were ever asked for", len(asked), len(all))
	}
	// What has come is asked for no more, and what is new is.
	if err := w.arbiter.Peers.Fetch(ctx, exhibits...); err != nil {
		t.Fatal(err)
	}
	for range 2 { // also of what is remembered to be whole
		if left, err := p.Wants(ctx, 1000); err != nil || len(left) != len(ghosts) {
			t.Errorf("%d left, %v, want %d", len(left), err, len(ghosts))
		}
	}
	cases, err := w.party[w.vendor].Cases(ctx, w.Now())
	if err != nil || len(cases) != 1 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	if _, err := w.party[w.vendor].Answer(ctx, cases[0].ID.String(), party.Reply{Deny: true, Text: "retry loop"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	if left, err := p.Wants(ctx, 1000); err != nil || len(left) != len(ghosts)+1 {
		t.Errorf("after the answer %d are left, %v, want %d", len(left), err, len(ghosts)+1)
	}
}

// TestATextIsKeptWhoeverAskedForIt: what a case names is taken also by a node that does not
// remember having asked.
func TestATextIsKeptWhoeverAskedForIt(t *testing.T) {
	w := newWorld(t, 1)
	v := w.story(t)
	text, err := w.arbiter.Rec.Body(t.Context(), v.Case.Decision.Reasons)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.acme.Rec.Body(t.Context(), v.Case.Decision.Reasons); err == nil {
		t.Fatal("the text is held before it was asked for")
	}
	if _, err := mediation.ParseDocument(text); err != nil {
		t.Fatal(err)
	}
	if err := party.New(w.acme.Node).Keep(t.Context(), text); err != nil {
		t.Errorf("not kept: %v", err)
	}
	if got, err := w.acme.Rec.Body(t.Context(), v.Case.Decision.Reasons); err != nil || string(got) != string(text) {
		t.Errorf("held: %q, %v", got, err)
	}
}
