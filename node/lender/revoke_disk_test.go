package lender

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self/selftest"
	"trustnode/node/store"
)

// faulty is a database whose disk fails when it is told to: the function runs, and nothing
// of it is kept.
type faulty struct {
	store.DB
	fail atomic.Bool
}

var errDisk = errors.New("input/output error")

func (f *faulty) Update(ctx context.Context, fn func(store.Tx) error) error {
	return f.DB.Update(ctx, func(tx store.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		if f.fail.Load() {
			return errDisk
		}
		return nil
	})
}

// A revocation that the disk does not take is no revocation: 5xx, the alarm is in the log,
// the loan goes on; once the disk takes it, it ends. (litellm-rs#959, executor#1870: what is
// revoked in name alone.)
func TestDiskErrorDuringRevoke(t *testing.T) {
	db := &faulty{}
	k := newKit(t, selftest.Option{Open: func(_ testing.TB, node string) (state, audit store.DB) {
		if node == "acme" {
			db.DB = store.Memory()
			return db, store.Memory()
		}
		return store.Memory(), store.Memory()
	}}, Config{})
	var said bytes.Buffer
	k.acme.Log = slog.New(slog.NewTextHandler(&said, nil))
	k.add(t, "One.", "client:acme")
	_, s := k.about(t, "Ada Byron", "Ada prefers trains.", "client:acme")
	loan := k.issue(t, 10)
	for name, revoke := range map[string]func() error{
		"the loan":     func() error { _, err := k.Revoke(t.Context(), loan.ID.String(), "ended", ""); return err },
		"the borrower": func() error { _, err := k.RevokeBorrower(t.Context(), k.quant.String(), "ended", ""); return err },
		"the person":   func() error { _, err := k.RevokeSubject(t.Context(), s.Pseudonym, "data_subject"); return err },
	} {
		said.Reset()
		db.fail.Store(true)
		err := revoke()
		db.fail.Store(false)
		if d := fault.From(err); d == nil || d.Code.Status() < 500 {
			t.Errorf("%s: got %v, want 5xx", name, err)
		}
		if !strings.Contains(said.String(), "level=ERROR") || !strings.Contains(said.String(), "NOT written") {
			t.Errorf("%s: no alarm: %s", name, said.String())
		}
		if a, r := k.mustRead(t, k.request(t, loan)); len(a.Entries) != 2 || r.State != lending.Valid {
			t.Errorf("%s: %d entries, %s, after a revocation that failed", name, len(a.Entries), r.State)
		}
	}
	k.revoke(t, loan)
	_, _, err := k.read(t.Context(), k.request(t, loan))
	refusedWith(t, err, fault.Revoked, "misuse")
}
