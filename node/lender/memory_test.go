package lender

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
	"trustnode/node/store"
)

// keyed lists the rows of this node's log that a key names.
func (k *kit) keyed(t testing.TB, key string) (out []lending.Row) {
	t.Helper()
	if err := k.acme.Rec.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := k.acme.Rec.RowsOf(t.Context(), key, func(_ uint64, row audit.Row) error {
		r, err := lending.ParseRow(row.Body)
		out = append(out, r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (k *kit) put(t testing.TB, in AddInput) memory.Entry {
	t.Helper()
	in.Agent = "research"
	if in.Project == "" {
		in.Project = folio
	}
	e, err := k.AddEntry(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestForgettingLeavesRowsAndReadsNothing(t *testing.T) {
	k := memoryKit(t)
	acme := []string{"client:acme"}
	about := k.put(t, AddInput{Statement: "about Jane", Tags: acme, Subjects: []string{"Doe, Jane"}})
	k.put(t, AddInput{Statement: "derived from it", Tags: acme, DerivedFrom: []string{about.ID + "@1"}})
	k.add(t, "kept", "client:acme")
	k.acme.AddAgent(t, "second", "lend")
	if _, err := k.AddEntry(t.Context(), AddInput{Agent: "second", Project: "other", Statement: "elsewhere", Subjects: []string{"Doe, Jane"}}); err != nil {
		t.Fatal(err)
	}
	loan := k.issue(t, 9)
	first := k.request(t, loan)
	if a, _ := k.mustRead(t, first); len(a.Entries) != 3 {
		t.Fatalf("%d entries before", len(a.Entries))
	}
	for range 2 {
		if err := k.BackupBegins(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := k.Forget(t.Context(), ForgetInput{Subject: "Doe,  Jane", Unlink: true})
	if err != nil || got.Erased != 3 || !got.Unlinked || !slices.Equal(got.Projects, []string{"other", folio}) || len(got.Backups) != 1 {
		t.Fatalf("forgot %+v, %v", got, err)
	}
	a, _ := k.mustRead(t, k.request(t, loan))
	wantTexts(t, "after", statements(t, a), "kept")
	_, _, err = k.read(t.Context(), first)
	refusedWith(t, err, fault.Stale, "entry_left")
	rows := k.keyed(t, "main/"+folio)
	row, ok := rows[len(rows)-1].(lending.ForgetRow)
	if len(rows) != 1 || !ok || len(row.Entries) != 2 || row.Cause != lending.ForgetOperator || row.Subject != about.Subjects[0] || !slices.Contains(row.Entries, about.ID) {
		t.Errorf("rows %+v", rows)
	}
	if _, err := k.Forget(t.Context(), ForgetInput{Subject: "Doe, Jane"}); fault.Of(err) != fault.NotFound {
		t.Errorf("an unlinked name: %v", err)
	}
	if got, err := k.Forget(t.Context(), ForgetInput{Subject: about.Subjects[0]}); err != nil || got.Erased != 0 {
		t.Errorf("by pseudonym, once more: %+v, %v", got, err)
	}
	for name, in := range map[string]struct {
		in   ForgetInput
		code fault.Code
	}{
		"nothing selected":    {ForgetInput{Project: folio}, fault.Invalid},
		"no project":          {ForgetInput{IDs: []string{about.ID}}, fault.Invalid},
		"an absent id":        {ForgetInput{Project: folio, IDs: []string{about.ID}}, fault.NotFound},
		"unlink of no one":    {ForgetInput{Project: folio, Tags: acme, Unlink: true}, fault.Invalid},
		"too many ids":        {ForgetInput{Project: folio, IDs: make([]string, MaxTagged+1)}, fault.TooLarge},
		"a project of nobody": {ForgetInput{Project: "A/B", Tags: acme}, fault.Invalid},
	} {
		if _, err := k.Forget(t.Context(), in.in); fault.Of(err) != in.code {
			t.Errorf("%s: %v, want %s", name, err, in.code)
		}
	}
}

func TestTheSweepForgetsWhatHasExpired(t *testing.T) {
	k := memoryKit(t)
	gone := k.put(t, AddInput{Statement: "short", ExpiresAt: "2h"})
	k.put(t, AddInput{Statement: "longer", ExpiresAt: "30d"})
	k.add(t, "for ever")
	size := func() int {
		n, err := k.acme.Entries.Size(t.Context(), gone.Place, memory.Active)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	k.w.Clock.Add(2*time.Hour - time.Second)
	if err := k.sweep(t.Context()); err != nil || size() != 3 {
		t.Fatalf("a second before the end: %d entries, %v", size(), err)
	}
	k.w.Clock.Add(time.Second)
	for range 2 {
		if err := k.sweep(t.Context()); err != nil || size() != 2 {
			t.Fatalf("at the end: %d entries, %v", size(), err)
		}
	}
	rows := k.keyed(t, "main/"+folio)
	if row, ok := rows[0].(lending.ForgetRow); len(rows) != 1 || !ok || row.Cause != lending.ForgetExpired || !slices.Equal(row.Entries, []string{gone.ID}) {
		t.Errorf("rows %+v", rows)
	}
}

// TestTheSweepGoesOnWithARaise: what a crash left held back comes free by itself.
func TestTheSweepGoesOnWithARaise(t *testing.T) {
	k := memoryKit(t)
	root := k.add(t, "root", "x")
	var tags = memory.Change{Add: []string{"class:personal"}}
	err := k.acme.DB.Update(t.Context(), func(tx store.Tx) error {
		w, err := memory.NewWriter(root.Place, k.research, memory.ByAgent)
		if err != nil {
			return err
		}
		for range 1200 {
			if _, err := k.acme.Entries.Put(tx, w, memory.Draft{Statement: "child", DerivedFrom: []string{root.ID}}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.acme.DB.Update(t.Context(), func(tx store.Tx) error {
		_, err := k.acme.Entries.Tag(tx, root.Place, []string{root.ID}, tags)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if n, err := k.Stats(t.Context(), folio); err != nil || !n.Held {
		t.Fatalf("stats %+v, %v", n, err)
	}
	if err := k.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := k.Stats(t.Context(), folio); err != nil || n.Held || n.Classes["personal"] != 1201 {
		t.Errorf("after the sweep: %+v, %v", n, err)
	}
}

func TestACorrectionTakesTheOldOneOut(t *testing.T) {
	k := memoryKit(t)
	old := k.put(t, AddInput{Statement: "berth 7 is open", Tags: []string{"client:acme"}})
	loan := k.issue(t, 9)
	a, _ := k.mustRead(t, k.request(t, loan))
	k.put(t, AddInput{Statement: "berth 7 is closed", Tags: []string{"client:acme"}, Supersedes: old.ID})
	b, _ := k.mustRead(t, k.request(t, loan))
	wantTexts(t, "the next read", statements(t, b), "berth 7 is closed")
	if !strings.Contains(string(b.Entries[0]), `"supersedes":"`+old.ID+`"`) {
		t.Errorf("the view does not say what it corrects: %s", b.Entries[0])
	}
	was, err := k.Show(t.Context(), folio, old.ID+"@1")
	if err != nil || string(was.View) != string(a.Entries[0]) || was.State != memory.Superseded {
		t.Errorf("id@1 renders %s, %v, want the bytes that were read: %s", was.View, err, a.Entries[0])
	}
	_, err = k.AddEntry(t.Context(), AddInput{Agent: "research", Statement: "once more", Supersedes: old.ID})
	refusedWith(t, err, fault.Conflict, "superseded")
	_, err = k.AddEntry(t.Context(), AddInput{Agent: "research", Statement: "of nothing", Supersedes: "e1111111111111111"})
	refusedWith(t, err, fault.NotFound, "entry")
	for _, s := range []string{old.ID + "@9", old.ID + "@x", "e1111111111111111"} {
		if _, err := k.Show(t.Context(), folio, s); err == nil {
			t.Errorf("%s is shown", s)
		}
	}
}

func TestAReadWithAQueryIsRanked(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "cranes and more cranes", "client:acme")
	k.w.Clock.Add(time.Second)
	k.add(t, "tides", "client:acme")
	k.add(t, "cranes cranes cranes", "client:acme", "confidential")
	loan := k.issue(t, 9)
	a, _ := k.mustRead(t, k.request(t, loan))
	wantTexts(t, "without a query", statements(t, a), "tides", "cranes and more cranes")
	rq := k.request(t, loan, func(r *lending.ReadRequest) { r.Query, r.Limit = "crane cranes", 1 })
	a, r := k.mustRead(t, rq)
	wantTexts(t, "with one", statements(t, a), "cranes and more cranes")
	if a.Cursor != "" || r.Seq != 2 {
		t.Errorf("cursor %q, seq %d", a.Cursor, r.Seq)
	}
	if again, _ := k.mustRead(t, rq); string(again.Entries[0]) != string(a.Entries[0]) {
		t.Error("a replay differs")
	}
	for range 20 { // more than one query ranks
		err := k.acme.DB.Update(t.Context(), func(tx store.Tx) error {
			at, err := memory.NewPlace(tenant, folio)
			if err != nil {
				return err
			}
			w, err := memory.NewWriter(at, k.research, memory.ByAgent)
			for i := 0; i < 500 && err == nil; i++ {
				_, err = k.acme.Entries.Put(tx, w, memory.Draft{Statement: "s", Tags: []string{"client:acme"}})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := k.read(t.Context(), k.request(t, loan, func(r *lending.ReadRequest) { r.Query = "cranes" }))
	refusedWith(t, err, fault.TooLarge, "query")
	k.w.Clock.Add(time.Hour)
	k.add(t, "late", "client:acme")
	a, r = k.mustRead(t, k.request(t, loan, func(r *lending.ReadRequest) {
		r.Query, r.Filter = "cranes", lending.MustParse("tag:client:acme age<30m")
	}))
	if wantTexts(t, "narrowed", statements(t, a), "late"); r.Seq != 3 {
		t.Errorf("seq %d: the refusal was counted", r.Seq)
	}
}

func TestAnAgentSearchesItsOwnPlace(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "free", "x")
	k.add(t, "of a person", "x", "class:personal")
	got, err := k.Look(t.Context(), LookInput{As: "research", Scope: "tag:x"})
	if err != nil || len(got.Entries) != 1 || got.Entries[0].Statement != "free" || got.Withheld != 1 || got.Total != 1 {
		t.Errorf("looked %+v, %v", got, err)
	}
	k.acme.AddAgent(t, "second", "lend")
	_, err = k.Look(t.Context(), LookInput{As: "second", Scope: "tag:x"})
	refusedWith(t, err, fault.Invalid, "no_place")
	_, err = k.Look(t.Context(), LookInput{As: "research", Scope: "-tag:x"})
	refusedWith(t, err, fault.Invalid, "scope")
	_, err = k.Look(t.Context(), LookInput{As: k.quant.String(), Scope: "tag:x"})
	refusedWith(t, err, fault.NotFound, "agent")
}

func TestOnlyTheOperatorMovesAnAgent(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "here", "client:acme")
	loan := k.issue(t, 9)
	_, err := k.AddEntry(t.Context(), AddInput{Agent: "research", Project: "else", Statement: "there"})
	refusedWith(t, err, fault.Refused, "other_project")
	a, err := k.MoveAgent(t.Context(), "research", "else")
	if err != nil || a.Project != "else" {
		t.Fatalf("%+v, %v", a, err)
	}
	if e, err := k.AddEntry(t.Context(), AddInput{Agent: "research", Statement: "there"}); err != nil || e.Place.Project() != "else" {
		t.Errorf("after the move: %+v, %v", e, err)
	}
	got, _ := k.mustRead(t, k.request(t, loan))
	wantTexts(t, "a loan of before the move", statements(t, got), "here")
	rows := slices.DeleteFunc(k.keyed(t, k.research.String()), func(r lending.Row) bool { _, ok := r.(lending.MoveRow); return !ok })
	if row, ok := rows[0].(lending.MoveRow); len(rows) != 1 || !ok || row.From != "main/"+folio || row.To != "main/else" || row.Agent != k.research {
		t.Errorf("rows %+v", rows)
	}
	_, err = k.MoveAgent(t.Context(), "research", "else")
	refusedWith(t, err, fault.Conflict, "project")
	_, err = k.MoveAgent(t.Context(), "research", "")
	refusedWith(t, err, fault.Invalid, "no_place")
}

func TestWhatTheOperatorTypesIsReadOrRefused(t *testing.T) {
	k := memoryKit(t)
	full := k.put(t, AddInput{Statement: "caption", ContentType: "image/png", Data: []byte{1, 2}, Kind: "task", Source: "document", SourceID: "doc 7",
		ObservedAt: "2026-11-28T06:31:00Z", DerivedBy: "job", ReviewAfter: "30d", ExpiresAt: "2027-05-28T00:00:00Z", Subjects: []string{"A B"}})
	if full.Source.Type != memory.SourceDocument || full.Kind != memory.Task || full.Trust != memory.TrustOperator || !full.Writer.IsZero() ||
		full.ReviewAfter.Sub(full.Created) != 30*24*time.Hour || len(full.Subjects) != 1 {
		t.Errorf("added %+v", full)
	}
	k.w.Clock.Add(31 * 24 * time.Hour)
	due, err := k.Entries(t.Context(), ListInput{Project: folio, Review: true})
	if err != nil || len(due.Entries) != 1 || due.Entries[0].ID != full.ID {
		t.Errorf("to be looked at again: %+v, %v", due, err)
	}
	if list, err := k.Entries(t.Context(), ListInput{Project: folio, State: "superseded"}); err != nil || len(list.Entries) != 0 {
		t.Errorf("superseded: %+v, %v", list, err)
	}
	for name, c := range map[string]struct {
		in     AddInput
		reason string
	}{
		"an end that has passed": {AddInput{Statement: "x", ExpiresAt: "2020-01-01T00:00:00Z"}, "expires_at"},
		"no time":                {AddInput{Statement: "x", ReviewAfter: "soon"}, "review_after"},
		"no time observed":       {AddInput{Statement: "x", ObservedAt: "yesterday"}, "observed_at"},
		"an unknown source":      {AddInput{Statement: "x", Source: "rumour"}, "source"},
		"an unknown kind":        {AddInput{Statement: "x", Kind: "order"}, "kind"},
		"a name of nothing":      {AddInput{Statement: "x", Subjects: []string{" "}}, "subject"},
	} {
		c.in.Agent = "research"
		_, err := k.AddEntry(t.Context(), c.in)
		if d := fault.From(err); d == nil || d.Code != fault.Invalid || d.Reason != c.reason {
			t.Errorf("%s: %v, want a refusal of %s", name, err, c.reason)
		}
	}
	_, err = k.Tag(t.Context(), TagInput{Project: folio, IDs: []string{full.ID}, RemoveSubjects: []string{"Nobody"}})
	refusedWith(t, err, fault.NotFound, "subject")
	got, err := k.Tag(t.Context(), TagInput{Project: folio, All: true, AddSubjects: []string{"C D"}, RemoveSubjects: []string{"A B"}, Quarantine: true})
	if err != nil || got.Changed != 1 {
		t.Errorf("tagged %+v, %v", got, err)
	}
	if e, err := k.Show(t.Context(), folio, full.ID); err != nil || e.State != memory.Quarantined || len(e.Subjects) != 1 || e.Subjects[0].Name != "C D" {
		t.Errorf("shown %+v, %v", e, err)
	}
}

// TestExpiryLeavesLentEntriesToTheirLoan: the client's sweep forgets what was learnt under a loan
// and says so; what it does not take goes a day later.
func TestExpiryLeavesLentEntriesToTheirLoan(t *testing.T) {
	k := memoryKit(t)
	one := k.agentIn(t, "one", "desk")
	ends := k.w.Clock.Now().Add(time.Hour)
	lent, err := k.Remember(t.Context(), one.Agent, RememberInput{Statement: "lent", Lent: &Lent{Receipt: envelope.IDOf([]byte("r")), Perm: envelope.IDOf([]byte("perm")), Ends: ends}})
	if err != nil {
		t.Fatal(err)
	}
	sweep := func(after time.Duration, want error) {
		t.Helper()
		k.w.Clock.Add(after)
		if err := k.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := k.acme.Entries.Get(t.Context(), lent.Place, lent.ID); !errors.Is(err, want) {
			t.Errorf("%v after: %v, want %v", after, err, want)
		}
	}
	sweep(2*time.Hour, nil)
	sweep(lentGrace, memory.ErrNotFound)
}
