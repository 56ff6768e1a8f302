package notice_test

import (
	"errors"
	"testing"
	"time"

	"trustnode/did/envelope"
	"trustnode/node/fault"
	"trustnode/node/notice"
	"trustnode/node/store"
)

// A notice stands until it is acknowledged; told again it is the same one, and one that
// was told anew is not taken back by who read the old.
func TestNotices(t *testing.T) {
	db := store.Memory()
	defer db.Close()
	at := envelope.TimeOf(time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC))
	put := func(n notice.Notice) {
		t.Helper()
		if err := db.Update(t.Context(), func(tx store.Tx) error { return notice.Put(tx, n) }); err != nil {
			t.Fatal(err)
		}
	}
	list := func() []notice.Notice {
		t.Helper()
		ns, err := notice.List(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		return ns
	}
	n := notice.Notice{At: at, Detail: "a loan has grown", Hint: "look", Level: notice.Warn, Ref: "z1", What: "loan_grown"}
	other := n
	other.Ref, other.At = "z2", at.Add(time.Hour)
	put(n)
	put(other)
	n.At = at.Add(time.Minute)
	put(n)
	if ns := list(); len(ns) != 2 || ns[0] != other || ns[1] != n {
		t.Errorf("got %+v", ns)
	}
	if k, err := notice.Acknowledge(t.Context(), db, "z1"); err != nil || k != 1 {
		t.Errorf("got %d, %v", k, err)
	}
	if ns := list(); len(ns) != 1 || ns[0] != other {
		t.Errorf("got %+v", ns)
	}
	_, err := notice.Acknowledge(t.Context(), db, "z1")
	var d *fault.Denied
	if !errors.As(err, &d) || d.Code != fault.NotFound || d.Hint == "" {
		t.Errorf("again: got %v", err)
	}
}
