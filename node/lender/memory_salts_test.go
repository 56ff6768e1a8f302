package lender

import (
	"context"
	"fmt"
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

// sweepTwice lets the sweep come round after the delay.
func (k *kit) sweepTwice(t testing.TB) {
	t.Helper()
	k.w.Clock.Add(saltDelay + time.Second)
	for range 2 {
		if err := k.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSaltsGoUnderManyLoans: only loans under which the entry was read are looked at, however
// many others there are, in whatever state.
func TestSaltsGoUnderManyLoans(t *testing.T) {
	k := memoryKit(t)
	e := k.add(t, "a", "client:acme")
	loan := k.issue(t, 9)
	_, r := k.mustRead(t, k.request(t, loan))
	for from := 0; from < MaxLoans; from += 1000 {
		err := k.acme.DB.Update(t.Context(), func(tx store.Tx) error {
			for n := range 1000 {
				if err := tx.Set(idKey(keyLoan, envelope.IDOf(fmt.Append(nil, from+n))), nil); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.Forget(t.Context(), ForgetInput{Project: folio, IDs: []string{e.ID}}); err != nil {
		t.Fatal(err)
	}
	k.sweepTwice(t)
	if s, err := k.side(t.Context(), r.Row); err != nil || !s.AnswerSalt.IsZero() {
		t.Errorf("the salt stays: %v, %v", s, err)
	}
}

// TestSaltsGoWithTheirRow: a row that is its hash alone does not say which entries it held, so
// what is kept beside it goes with it, also while its entry is kept.
func TestSaltsGoWithTheirRow(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "a", "client:acme")
	loan := k.issue(t, 9)
	_, erased := k.mustRead(t, k.request(t, loan))
	_, whole := k.mustRead(t, k.request(t, loan))
	if err := k.acme.Rec.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := k.acme.Rec.Erase(t.Context(), erased.Row); err != nil {
		t.Fatal(err)
	}
	if err := k.acme.Rec.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.sweepTwice(t)
	if s, err := k.side(t.Context(), erased.Row); err != nil || !s.AnswerSalt.IsZero() {
		t.Errorf("the salt of an erased row stays: %v, %v", s, err)
	}
	if s, err := k.side(t.Context(), whole.Row); err != nil || s.AnswerSalt.IsZero() {
		t.Errorf("the salt of a row that is held is gone, %v", err)
	}
}

// TestMarksStayWhileRowsWait: what waits for the log was not looked at.
func TestMarksStayWhileRowsWait(t *testing.T) {
	k := memoryKit(t)
	e := k.add(t, "a", "client:acme")
	loan := k.issue(t, 9)
	_, r := k.mustRead(t, k.request(t, loan))
	if _, err := k.Forget(t.Context(), ForgetInput{Project: folio, IDs: []string{e.ID}}); err != nil {
		t.Fatal(err)
	}
	k.w.Clock.Add(saltDelay + time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.sweepSalts(ctx, k.w.Clock.Now()); err == nil {
		t.Error("done without the log")
	}
	if s, err := k.side(t.Context(), r.Row); err != nil || s.AnswerSalt.IsZero() {
		t.Errorf("the salt is gone: %v", err)
	}
	k.sweepTwice(t)
	if s, err := k.side(t.Context(), r.Row); err != nil || !s.AnswerSalt.IsZero() {
		t.Errorf("the salt stays: %v, %v", s, err)
	}
}

// TestSaltsWaitForTheIndexOfReaders: a row that the index has not taken up keeps what says whom
// it was about, and its entry stays to be looked for.
func TestSaltsWaitForTheIndexOfReaders(t *testing.T) {
	k := memoryKit(t)
	e := k.add(t, "a", "client:acme")
	loan := k.issue(t, 9)
	_, first := k.mustRead(t, k.request(t, loan))
	if _, err := k.catchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, late := k.mustRead(t, k.request(t, loan))
	if err := k.acme.Rec.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	mark := []byte(keyForgot + e.Place.String() + "\x00" + e.ID)
	if whole, err := k.dropSalts(t.Context(), [][]byte{mark}); err != nil || whole {
		t.Errorf("done with a row that was not taken up: %v, %v", whole, err)
	}
	if s, err := k.side(t.Context(), first.Row); err != nil || !s.AnswerSalt.IsZero() {
		t.Errorf("the salt of a row that was taken up stays: %v", err)
	}
	if s, err := k.side(t.Context(), late.Row); err != nil || s.AnswerSalt.IsZero() {
		t.Errorf("what says whom the late row was about is gone: %v", err)
	}
}
