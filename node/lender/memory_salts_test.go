package lender

import (
	"testing"
	"time"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/store"
)

// TestSaltsGoWithWhatIsForgotten: of an answer that held a forgotten entry nothing is kept
// that its hash could be tried with; other answers keep theirs.
func TestSaltsGoWithWhatIsForgotten(t *testing.T) {
	k := memoryKit(t)
	a := k.add(t, "a", "client:acme")
	loan := k.issue(t, 9)
	k.mustRead(t, k.request(t, loan))
	k.add(t, "b", "client:acme", "z")
	k.mustRead(t, k.request(t, loan, func(r *lending.ReadRequest) { r.Filter = lending.MustParse("tag:z") }))
	if _, err := k.Forget(t.Context(), ForgetInput{Project: folio, IDs: []string{a.ID}}); err != nil {
		t.Fatal(err)
	}
	sides := func() (ids []envelope.ID) {
		rows, err := k.Audit(t.Context(), loan.ID.String())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows.Rows {
			err := k.acme.DB.View(t.Context(), func(g store.Reader) error { _, err := g.Get(idKey(keySide, r.ID)); return err })
			if _, granted := r.Row.(lending.GrantedRow); granted && err == nil {
				ids = append(ids, r.ID)
			}
		}
		return ids
	}
	if err := k.sweep(t.Context()); err != nil || len(sides()) != 2 {
		t.Fatalf("at once %d answers keep a salt, %v", len(sides()), err)
	}
	k.w.Clock.Add(saltDelay + time.Second)
	for range 2 {
		if err := k.sweep(t.Context()); err != nil || len(sides()) != 1 {
			t.Fatalf("after a while %d answers keep a salt, %v, want that of what is kept", len(sides()), err)
		}
	}
	if left, err := k.scan(t.Context(), keyForgot, func(_, _ []byte) bool { return true }); err != nil || len(left) != 0 {
		t.Errorf("still to do: %q, %v", left, err)
	}
}
