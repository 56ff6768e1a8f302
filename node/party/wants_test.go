package party_test

import (
	"fmt"
	"slices"
	"testing"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/mediation"
	"trustnode/node/party"
	"trustnode/node/party/partytest"
)

// ghosts are filings in the log of an organization whose bodies nobody is given.
func ghosts(o *partytest.Org, n int) (out []envelope.ID) {
	for i := range n {
		b := fmt.Appendf(nil, `{"n":%d}`, i)
		out = append(out, envelope.IDOf(b))
		o.Event(attestation.Draft{Type: "dispute.filed", Subject: out[i].String(), Body: b})
	}
	return out
}

// TestAFilerCannotHideWhatAnothersCaseLacks: filings whose bodies nobody gives keep the
// exhibits of a case from being asked for in no round, and each other for ever in none.
func TestAFilerCannotHideWhatAnothersCaseLacks(t *testing.T) {
	w := newWorld(t, 20)
	ctx := t.Context()
	stray := ghosts(w.vendor, 30)
	w.file(t)
	w.settle(t)
	p := w.party[w.arbiter]
	all, err := party.New(w.arbiter.Node).Wants(ctx, 1000)
	if err != nil {
		t.Fatal(err)
	}
	strays := func(ids []envelope.ID) (n int) {
		for _, id := range ids {
			if slices.Contains(stray, id) {
				n++
			}
		}
		return n
	}
	if strays(all) != 30 || len(all) != 72 {
		t.Fatalf("%d strays of %d things, want 30 of 72", strays(all), len(all))
	}
	asked := map[envelope.ID]bool{}
	for round := range 9 {
		wants, err := p.Wants(ctx, 10)
		if err != nil || len(wants) != 10 || strays(wants) > 5 {
			t.Fatalf("round %d: %d wants, %d of them stray, %v", round, len(wants), strays(wants), err)
		}
		for _, id := range wants {
			asked[id] = true
		}
	}
	if len(asked) != len(all) {
		t.Errorf("%d of %d were ever asked for", len(asked), len(all))
	}
}

// TestWhatHasComeIsAskedForNoMore, and what a later event names is.
func TestWhatHasComeIsAskedForNoMore(t *testing.T) {
	w := newWorld(t, 2)
	v := w.file(t)
	w.settle(t)
	left := func(want int, when string) []envelope.ID {
		t.Helper()
		ids, err := w.party[w.arbiter].Wants(t.Context(), 1000)
		if err != nil || len(ids) != want {
			t.Fatalf("%s %d are wanted, %v, want %d", when, len(ids), err, want)
		}
		return ids
	}
	if err := w.arbiter.Peers.Fetch(t.Context(), left(6, "at first")...); err != nil {
		t.Fatal(err)
	}
	left(0, "once they came")
	left(0, "asked again")
	if _, err := w.party[w.vendor].Answer(t.Context(), v.Case.ID.String(), party.Reply{Deny: true, Text: "retry loop"}); err != nil {
		t.Fatal(err)
	}
	w.settle(t)
	left(1, "after the answer")
}

// TestFilingsThatAreNoCasesLeaveRoom: what others say in the type of a filing and is none
// does not count among the open cases of a pair.
func TestFilingsThatAreNoCasesLeaveRoom(t *testing.T) {
	w := newWorld(t, 1)
	ghosts(w.vendor, 4)
	ghosts(w.arbiter, 4)
	w.settle(t)
	w.file(t)
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
	w.settle(t)
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
