package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/federation/lending"
	"trustnode/node/store"
)

var scopeX = lending.MustParse("tag:x")

func TestRankingOrdersWhatIsInScope(t *testing.T) {
	e, c := newEntries(t)
	var es []Entry
	for _, s := range []string{"The crane at berth seven is broken", "Crane, crane: the CRANE moves", "nothing of it", "Cráne lists of another berth and a long tail of other words that say little"} {
		c.at = c.at.Add(time.Second)
		es = append(es, putTagged(t, e, north, s, "x"))
	}
	putTagged(t, e, north, "crane crane crane crane", "y") // out of scope
	got := find(t, e, north, "tag:x", Query{Text: "crane"}, c.at)
	wantRefs(t, got, es[1], es[0], es[3], es[2])
	if got.Cursor != "" {
		t.Errorf("a ranked answer has cursor %q", got.Cursor)
	}
	wantRefs(t, find(t, e, north, "tag:x", Query{Text: "crane", Limit: 1}, c.at), es[1])
	wantRefs(t, find(t, e, north, "tag:x", Query{Text: "unheard"}, c.at), es[3], es[2], es[1], es[0]) // newest first among equals
	for name, q := range map[string]Query{"too long": {Text: strings.Repeat("q", lending.MaxQuery+1)}, "with a cursor": {Text: "q", Cursor: "AAAA"}} {
		if _, err := e.Find(ctx, north, scopeX, q, c.at); !errors.As(err, new(*Invalid)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What lies out of scope changes no order: frequencies are those of the candidates.
	before := find(t, e, north, "tag:x", Query{Text: "crane berth"}, c.at)
	for range 50 {
		putTagged(t, e, north, "berth berth berth", "y")
	}
	if after := find(t, e, north, "tag:x", Query{Text: "crane berth"}, c.at); !slices.Equal(after.Refs, before.Refs) || before.Refs[3] != es[2].Ref() {
		t.Errorf("order %v, before others were written %v", after.Refs, before.Refs)
	}
}

// TestEntriesWithoutWordCountsRankAlike: they were written before counts were kept.
func TestEntriesWithoutWordCountsRankAlike(t *testing.T) {
	e, c := newEntries(t)
	a := putTagged(t, e, north, "crane", "x")
	c.at = c.at.Add(time.Second)
	b := putTagged(t, e, north, "other", "x")
	if err := e.db.Update(ctx, func(tx store.Tx) error { return tx.Delete(north.bagKey(a.ID)) }); err != nil {
		t.Fatal(err)
	}
	wantRefs(t, find(t, e, north, "tag:x", Query{Text: "crane"}, c.at), a, b)
}

func TestTooManyCandidatesAreNotRanked(t *testing.T) {
	e, c := newEntries(t)
	w := writer(t, north, ByOperator)
	for n := 0; n < maxRanked; n += 500 {
		err := e.db.Update(ctx, func(tx store.Tx) error {
			for range 500 {
				if _, err := e.Put(tx, w, Draft{Statement: "s", Tags: []string{"x"}}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := find(t, e, north, "tag:x", Query{Text: "s"}, c.at); len(got.Refs) != DefaultLimit {
		t.Errorf("%d of %d candidates ranked", len(got.Refs), maxRanked)
	}
	putTagged(t, e, north, "one more", "x")
	if _, err := e.Find(ctx, north, scopeX, Query{Text: "s"}, c.at); err != ErrTooMany {
		t.Errorf("one more: %v, want ErrTooMany", err)
	}
}

func TestBagsRoundTrip(t *testing.T) {
	for _, s := range []string{"", "a", "a A á b", strings.Repeat("é", MaxStatement/2), strings.Repeat("\ufdfa", 500), "😀 x\n\ty"} {
		b := newBag(s)
		got, err := parseBag(b.bytes())
		if err != nil || got.Length != b.Length || fmt.Sprint(got.Words) != fmt.Sprint(b.Words) {
			t.Errorf("%.20q: %v, %v, want %v", s, got, err, b)
		}
	}
	for _, bad := range []string{"\x05a", "\x01a", "\x01a\x00"} {
		if _, err := parseBag([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// TestSearchShowsPersonalEntriesToTheirWriterAlone is I-17.
func TestSearchShowsPersonalEntriesToTheirWriterAlone(t *testing.T) {
	e, c := newEntries(t)
	me, other := writer(t, north, ByAgent).Who(), did.MustParse("did:web:harbor.example:agents:cranes")
	step := func(d Draft, by Surface, class string) Entry {
		c.at = c.at.Add(time.Second)
		d.Tags = []string{"x"}
		n := put(t, e, writer(t, north, by), d)
		if class == "" {
			return n
		}
		return tagIt(t, e, north, Change{Add: []string{"class:" + class}}, n.ID)[0]
	}
	mine := step(Draft{Statement: "mine"}, ByAgent, "personal")
	derived := step(Draft{Statement: "mine too", DerivedFrom: []string{mine.ID}}, ByAgent, "")
	operators := step(Draft{Statement: "the operator's"}, ByOperator, "regulated")
	free := step(Draft{Statement: "free"}, ByOperator, "confidential")
	for _, q := range []Query{{}, {Text: "mine"}, {Limit: 1}} {
		got, err := e.Search(ctx, north, me, scopeX, q)
		if err != nil || got.Total != 3 || got.Withheld != 1 || slices.Contains(got.Refs, operators.Ref()) {
			t.Errorf("%+v: the writer sees %v of %d, %d withheld, %v", q, got.Refs, got.Total, got.Withheld, err)
		}
		got, err = e.Search(ctx, north, other, scopeX, q)
		if err != nil || got.Total != 1 || got.Withheld != 3 || !slices.Equal(got.Refs, refs(free)) {
			t.Errorf("%+v: another sees %v of %d, %d withheld, %v", q, got.Refs, got.Total, got.Withheld, err)
		}
	}
	if len(find(t, e, north, "tag:x", Query{}, c.at).Refs) != 4 || derived.Class() != "personal" {
		t.Error("a loan's scope is judged at issue, not here")
	}
	if _, err := e.Search(ctx, north, did.DID{}, scopeX, Query{}); err == nil {
		t.Error("nobody searched")
	}
}
