package notice_test

import (
	"errors"
	"fmt"
	"strings"
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
	for _, ref := range []string{"z1", "", "z", strings.Repeat("z", 1<<17)} {
		_, err := notice.Acknowledge(t.Context(), db, ref)
		var d *fault.Denied
		if !errors.As(err, &d) || d.Code != fault.NotFound || d.Hint == "" {
			t.Errorf("%.10q: got %v", ref, err)
		}
	}
}

// The newest notice is listed and can be acknowledged however many wait, under whatever key.
func TestMoreThanOneList(t *testing.T) {
	db := store.Memory()
	defer db.Close()
	at := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	const all = 2*notice.MaxList + 10
	err := db.Update(t.Context(), func(tx store.Tx) error {
		for i := range all {
			n := notice.Notice{At: envelope.TimeOf(at.Add(time.Duration(i) * time.Second)), Detail: "x", Hint: "h", Level: notice.Warn, Ref: fmt.Sprintf("z%05d", i), What: "loan_ended"}
			if err := notice.Put(tx, n); err != nil {
				return err
			}
		}
		return notice.Put(tx, notice.Notice{At: envelope.TimeOf(at.Add(-time.Hour)), Detail: "x", Hint: "h", Level: notice.Warn, Ref: "z00000", What: "loan_grown"})
	})
	if err != nil {
		t.Fatal(err)
	}
	ns, err := notice.List(t.Context(), db)
	if err != nil || len(ns) != notice.MaxList {
		t.Fatalf("got %d notices, %v", len(ns), err)
	}
	for i, n := range ns {
		if want := fmt.Sprintf("z%05d", all-1-i); n.Ref != want {
			t.Fatalf("at %d: got %s, want %s", i, n.Ref, want)
		}
	}
	for ref, want := range map[string]int{fmt.Sprintf("z%05d", all-1): 1, "z00000": 2, "z00001": 1} {
		if n, err := notice.Acknowledge(t.Context(), db, ref); err != nil || n != want {
			t.Errorf("%s: got %d, %v, want %d", ref, n, err, want)
		}
	}
	if ns, _ := notice.List(t.Context(), db); ns[0].Ref != fmt.Sprintf("z%05d", all-2) {
		t.Errorf("newest is %s", ns[0].Ref)
	}
}
