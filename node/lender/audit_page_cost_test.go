package lender

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self/selftest"
	"trustnode/node/store"
)

// counted counts what is listed of a database.
type counted struct {
	store.DB
	listed *atomic.Int64
}

func (c counted) View(ctx context.Context, fn func(store.Reader) error) error {
	return c.DB.View(ctx, func(r store.Reader) error { return fn(countedReader{r, c.listed}) })
}

type countedReader struct {
	store.Reader
	listed *atomic.Int64
}

func (c countedReader) Scan(prefix, after []byte, yield func(k, v []byte) bool) error {
	return c.Reader.Scan(prefix, after, func(k, v []byte) bool { c.listed.Add(1); return yield(k, v) })
}

// A page reads the rows that an event binds once, however many of them it proves, and what
// lies before it not again.
func TestWhatAPageOfRowsCosts(t *testing.T) {
	const rows = 1500
	listed := new(atomic.Int64)
	k := newKit(t, selftest.Option{Open: func(testing.TB, string) (state, audit store.DB) {
		return store.Memory(), counted{store.Memory(), listed}
	}}, Config{})
	k.add(t, "One.", "client:acme")
	l := k.issue(t, 1)
	for i := range rows {
		if i%100 == 0 {
			k.w.Clock.Add(time.Second)
		}
		if _, _, err := k.read(t.Context(), k.request(t, l)); (err == nil) != (i == 0) {
			t.Fatal(err)
		}
	}
	if err := k.acme.Rec.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen, most := map[string]int{}, int64(0)
	for from, pages := uint64(1), 0; from != 0; pages++ {
		before := listed.Load()
		b, err := k.AuditPage(t.Context(), Call{Request: k.auditRequest(t, l)}, from)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, listed.Load()-before)
		page := must(lending.ParseAuditPage(b))
		for _, r := range page.Rows {
			seen[string(r.Row)]++
		}
		if from = page.Next; pages > rows/lending.MaxAuditRows+1 {
			t.Fatal("it does not end")
		}
	}
	for row, n := range seen {
		if n != 1 {
			t.Errorf("shown %d times: %s", n, row)
		}
	}
	if want := len(k.keyed(t, l.ID.String())); len(seen) != want || want < rows {
		t.Errorf("%d rows shown, want %d", len(seen), want)
	}
	// Some rows by their key, and the leaves of the two events that bind 64 of them: not 64 times
	// the leaves, and not all the rows before.
	if most > 2200 {
		t.Errorf("one page lists %d keys", most)
	}
}

func (k *kit) auditRequest(t testing.TB, l Loan) string {
	return k.request(t, l, func(r *lending.ReadRequest) { r.Op, r.Purpose = lending.OpAudit, "" })
}

// One borrower asks for one page at a time.
func TestOnePageOfRowsAtATime(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	l := k.issue(t, 1)
	done, err := k.audits.hold(k.quant)
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.AuditPage(t.Context(), Call{Request: k.auditRequest(t, l)}, 1)
	refusedWith(t, err, fault.RateLimited, "under_way")
	k.mustRead(t, k.request(t, l)) // reads go on
	done()
	if _, err = k.AuditPage(t.Context(), Call{Request: k.auditRequest(t, l)}, 1); err != nil {
		t.Errorf("after that one: %v", err)
	}
}
