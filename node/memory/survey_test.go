package memory

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"trustnode/federation/lending"
	"trustnode/node/store"
)

// Two places with the same tags: a survey and a discovery see one of them.
func TestSurveyAndDiscoverySeeOnePlace(t *testing.T) {
	e, clk := newEntries(t)
	here, there := Place{"acme", "one"}, Place{"acme", "two"}
	for range 4 {
		putTagged(t, e, here, "Here.", "a b")
		putTagged(t, e, there, "There.", "a b c")
	}
	v, err := e.Survey(t.Context(), here, lending.MustParse("tag:a -tag:c"), clk.at)
	if err != nil || v.Tags["b"] != 4 || v.Excluded["c"] != 0 || len(v.Newest) != 4 || v.Newest[0].Statement != "Here." {
		t.Errorf("got %+v, %v", v, err)
	}
	d, err := e.Discover(t.Context(), here, lending.MustParse("tag:a"), lending.Scope{}, Discovery{Least: 1}, clk.at)
	if err != nil || strings.Join(d.Tags, " ") != "a b" || d.Withheld {
		t.Errorf("got %+v, %v", d, err)
	}
}

// Growth is by day of ingestion, in UTC, of what matches now.
func TestSurveyDays(t *testing.T) {
	e, clk := newEntries(t)
	in := Place{"acme", "one"}
	start := clk.at
	for i := range SurveyDays + 2 {
		clk.at = start.Add(time.Duration(i) * 24 * time.Hour)
		putTagged(t, e, in, "One.", "a")
	}
	putTagged(t, e, in, "Out.", "a x")
	v, err := e.Survey(t.Context(), in, lending.MustParse("tag:a -tag:x"), clk.at)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range v.Daily {
		if n != 1 {
			t.Errorf("%d days ago: got %d, want 1", i, n)
		}
	}
	if len(v.Newest) != 5 || v.Excluded["x"] != 1 || v.Tags["a"] != SurveyDays+2 {
		t.Errorf("got %+v", v)
	}
	if _, err := e.Survey(t.Context(), in, lending.Scope{}, clk.at); err == nil {
		t.Error("the zero scope is surveyed")
	}
}

func TestDiscoverBroad(t *testing.T) {
	e, clk := newEntries(t)
	in := Place{"acme", "one"}
	w := writer(t, in, ByOperator)
	for n := 0; n <= MaxDiscovered; n += 500 {
		err := e.db.Update(t.Context(), func(tx store.Tx) error {
			for i := range min(500, MaxDiscovered+1-n) {
				if _, err := e.Put(tx, w, Draft{Statement: fmt.Sprint(n + i), Tags: []string{"a"}}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Discover(t.Context(), in, lending.MustParse("tag:a"), lending.Scope{}, Discovery{Least: 5}, clk.at); !errors.Is(err, ErrBroad) {
		t.Errorf("got %v", err)
	}
}
