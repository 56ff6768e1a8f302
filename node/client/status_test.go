package client

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/lending"
	"trustnode/node/fault"
)

func TestStatus(t *testing.T) {
	k := newKit(t)
	loan := k.issue(t, 5)
	k.mustRead(t, loan.Compact)
	st, err := k.Status(t.Context(), "quant", loan.ID.String())
	if err != nil || !st.Verified || st.State != lending.Valid || st.Left != 4 || st.Receipt == "" || st.Perm != loan.ID {
		t.Fatalf("got %+v, %v", st, err)
	}
	if pairs, _ := k.Receipts(t.Context(), loan.ID.String()); len(pairs) != 1 {
		t.Errorf("asking counted as a read: %v", pairs)
	}
	k.revoke(t, loan)
	for range 2 {
		st, err = k.Status(t.Context(), "quant", loan.Compact)
		if err != nil || !st.Verified || st.State != lending.Revoked {
			t.Errorf("after the end: got %+v, %v", st, err)
		}
	}
	if len(k.ended) != 1 || len(k.rows(t, loan.ID)) != 2 {
		t.Errorf("told of the end %d times, rows %v", len(k.ended), k.rows(t, loan.ID))
	}
	k.refused(t, loan.Compact, fault.Revoked, true) // known from the status, not asked again
}

// TestStatusThatIsNotConfirmed: whatever is not the lender's signature on this request leaves
// the loan unconfirmed (04 section 11).
func TestStatusThatIsNotConfirmed(t *testing.T) {
	k := newKit(t)
	loan := k.issue(t, 5)
	k.mustRead(t, loan.Compact)
	stale := []byte(nil)
	k.wire.set(false, func(_ context.Context, ask func() []byte) ([]byte, error) {
		stale = ask()
		return stale, nil
	})
	if st, err := k.Status(t.Context(), "quant", loan.Compact); err != nil || !st.Verified {
		t.Fatalf("got %+v, %v", st, err)
	}
	old := bytes.Clone(stale)
	for name, answer := range map[string]func(ask func() []byte) ([]byte, error){
		"nobody":           func(func() []byte) ([]byte, error) { return nil, errDown },
		"nothing":          func(func() []byte) ([]byte, error) { return nil, nil },
		"a page":           func(func() []byte) ([]byte, error) { return []byte("<html>sign in</html>"), nil },
		"an older receipt": func(func() []byte) ([]byte, error) { return old, nil },
		"an unsigned word": func(func() []byte) ([]byte, error) { return lending.ReceiptFrame("valid"), nil },
		"a flipped byte":   func(ask func() []byte) ([]byte, error) { b := ask(); b[len(b)/2] ^= 1; return b, nil },
		"a problem unsigned": func(func() []byte) ([]byte, error) {
			return lending.ProblemFrame([]byte(`{"code":"internal"}`), 500), nil
		},
	} {
		k.wire.set(false, func(_ context.Context, ask func() []byte) ([]byte, error) { return answer(ask) })
		st, err := k.Status(t.Context(), "quant", loan.Compact)
		if err != nil || st.Verified || st.State != lending.Revoked || st.Receipt != "" || st.Left != 0 {
			t.Errorf("%s: got %+v, %v", name, st, err)
		}
	}
	k.wire.set(false, nil)
	if l, err := k.Loan(t.Context(), loan.ID.String()); err != nil || l.State != lending.Valid || len(k.ended) != 0 {
		t.Errorf("silence ended the loan for good: %+v, %v", l, err)
	}
}

func TestStatusOfAnothersLoan(t *testing.T) {
	k := newKit(t)
	loan := k.issue(t, 5)
	k.mustRead(t, loan.Compact)
	other := k.vendor.AddAgent(t, "other", keyring.Borrow)
	asked := len(k.wire.frames)
	var d *fault.Denied
	if _, err := k.Status(t.Context(), "other", loan.ID.String()); !errors.As(err, &d) || d.Code != fault.NotFound {
		t.Errorf("got %v", err)
	}
	if _, err := k.SignedReceipts(t.Context(), other, loan.ID.String(), 1); fault.Of(err) != fault.NotFound {
		t.Errorf("got %v", err)
	}
	if len(k.wire.frames) != asked {
		t.Error("the lender was asked")
	}
}

func TestSignedReceipts(t *testing.T) {
	k := newKit(t)
	loan := k.issue(t, 200)
	for range 3 {
		k.mustRead(t, loan.Compact)
	}
	all, err := k.SignedReceipts(t.Context(), k.quant, loan.ID.String(), 0)
	if err != nil || len(all) != 3 || all[0].Seq != 1 || all[2].Compact == "" {
		t.Fatalf("got %+v, %v", all, err)
	}
	if some, err := k.SignedReceipts(t.Context(), k.quant, loan.ID.String(), 3); err != nil || len(some) != 1 || some[0].Seq != 3 {
		t.Errorf("from 3: got %+v, %v", some, err)
	}
}

// TestStatusEmptiesTheCache: after a status that did not confirm the loan as valid nothing
// kept of it is handed out; after one that did, the window goes on.
func TestStatusEmptiesTheCache(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(k *cachingKit) ([]byte, error)
		kept   bool
	}{
		"nobody answers":      {func(*cachingKit) ([]byte, error) { return nil, errDown }, false},
		"the lender is stale": {func(k *cachingKit) ([]byte, error) { return k.standing(t, lending.Stale), nil }, false},
		"it is revoked":       {func(k *cachingKit) ([]byte, error) { return k.standing(t, lending.Revoked), nil }, false},
		"it is valid":         {func(k *cachingKit) ([]byte, error) { return k.standing(t, lending.Valid), nil }, true},
	} {
		k := newCachingKit(t, 60)
		k.asked(t)
		k.wire.set(false, func(context.Context, func() []byte) ([]byte, error) { return c.answer(k) })
		st, err := k.Status(t.Context(), "quant", k.text)
		if err != nil || st.Verified != (name != "nobody answers") {
			t.Fatalf("%s: got %+v, %v", name, st, err)
		}
		if _, kept, _ := k.cache.find(k.perm.ID(), question(k.quant, k.ask(k.text)), k.w.Clock.Now()); kept != c.kept {
			t.Errorf("%s: kept %v, want %v", name, kept, c.kept)
		}
	}
}

// standing is the lender's signed answer to the newest request, a status.
func (k *cachingKit) standing(t *testing.T, state lending.PermState) []byte {
	t.Helper()
	f, err := lending.ParseFrame(k.wire.frames[len(k.wire.frames)-1])
	if err != nil {
		t.Fatal(err)
	}
	rq, err := envelope.ParseCompact(f.Request, lending.ReadRequestType, lending.MaxRequest)
	if err != nil {
		t.Fatal(err)
	}
	p := k.perm.Body()
	compact, err := sealAs(t, k.kit, lending.Receipt{At: envelope.TimeOf(k.w.Clock.Now()), Kid: p.Kid, Lender: p.Lender, Signed: p.Lender, Op: lending.OpStatus,
		Perm: k.perm.ID(), Request: rq.ID(), Seq: k.seq, Left: p.MaxReads - k.seq, State: state}).Compact()
	if err != nil {
		t.Fatal(err)
	}
	return lending.ReceiptFrame(compact)
}
