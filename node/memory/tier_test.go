package memory

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/federation/lending"
	"trustnode/node/store"
)

// blocksOf lists what lies in blocks of a place.
func blocksOf(t interface{ Fatal(...any) }, db store.DB, in Place) (out []frozen) {
	prefix := in.key("cold", "")
	err := db.View(ctx, func(r store.Reader) error {
		var ns []uint64
		if err := r.Scan(prefix, nil, func(k, _ []byte) bool {
			if n := k[len(prefix):]; len(n) == 8 {
				ns = append(ns, uint64(n[7])|uint64(n[6])<<8)
			}
			return true
		}); err != nil {
			return err
		}
		for _, n := range ns {
			fs, err := block(r, in, n)
			if err != nil {
				return err
			}
			out = append(out, fs...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTiersChangeLatencyAlone: what nobody reads for 90 days lies in blocks, is found as
// before, comes up when it is read, and leaves its block when it is forgotten (I-14).
func TestTiersChangeLatencyAlone(t *testing.T) {
	for name, db := range map[string]store.DB{"memory": store.Memory(), "badger": badgerDB(t, t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			defer db.Close()
			c := &clock{testNow}
			tiers(t, New(db, c.now), c)
		})
	}
}

func tiers(t *testing.T, e *Entries, c *clock) {
	var all []Entry
	for i := range 150 {
		x := putTagged(t, e, north, fmt.Sprintf("statement number %d", i), "x")
		if i%10 == 0 {
			x = tagIt(t, e, north, Change{Add: []string{"y"}}, x.ID)[0]
		}
		all = append(all, x)
	}
	big := put(t, e, writer(t, north, ByOperator), Draft{Statement: "b", Tags: []string{"z"}, ContentType: "image/png", Data: bytes.Repeat([]byte{7}, MaxData)})
	putTagged(t, e, south, "elsewhere", "x")
	s := lending.MustParse("tag:x")
	ask := func(e *Entries) string {
		var b strings.Builder
		for _, q := range []Query{{Limit: 100}, {Limit: 100, Text: "number 7"}, {Limit: 3, Count: true}} {
			f, err := e.Find(ctx, north, s, q, c.at)
			fmt.Fprintln(&b, f, err)
		}
		list, err := e.List(ctx, north, Filter{})
		for i := range list {
			list[i].cold = false
		}
		fmt.Fprintln(&b, list, err)
		views, err := e.Render(ctx, north, []lending.Ref{{Entry: all[0].ID, Rev: 1}, all[0].Ref(), big.Ref()})
		fmt.Fprintln(&b, views, err)
		return b.String()
	}
	before, epochs := ask(e), vis(t, e, north)
	rest := func(want int) {
		t.Helper()
		if err := e.Rest(ctx, c.at); err != nil {
			t.Fatal(err)
		}
		if got := len(blocksOf(t, e.db, north)); got != want {
			t.Fatalf("%d entries lie in blocks, want %d", got, want)
		}
	}
	c.at = testNow.Add(coldAfter)
	rest(0) // read by ask, and changed 90 days ago to the second
	c.at = c.at.Add(coldAfter + time.Second)
	rest(151)
	fresh := New(e.db, c.now)
	if got := ask(fresh); got != before || ask(e) != before || vis(t, e, north) != epochs {
		t.Errorf("cold entries differ:\n%.2000s\nbefore\n%.2000s", got, before)
	}
	if _, err := e.Render(ctx, north, []lending.Ref{{Entry: all[0].ID, Rev: 3}}); err != ErrGone {
		t.Errorf("a revision that never was: %v", err)
	}

	e = New(e.db, c.now) // nothing in memory, so the read is noticed
	find(t, e, north, "tag:y", Query{Limit: 1}, c.at)
	if err := e.warmUp(ctx, c.at); err != nil {
		t.Fatal(err)
	}
	up := len(blocksOf(t, e.db, north))
	if up >= 151 || up < 151-maxBlock {
		t.Errorf("%d entries lie in blocks after one was read", up)
	}
	var cold string
	for _, f := range blocksOf(t, e.db, north) {
		if f.id != big.ID {
			cold = f.id
		}
	}
	if got, err := e.Forget(ctx, north, Selector{IDs: []string{cold, big.ID}}, nil); err != nil || got.Erased != 2 {
		t.Fatalf("forgot %+v, %v", got, err)
	}
	if left := blocksOf(t, e.db, north); slices.ContainsFunc(left, func(f frozen) bool { return f.id == cold || f.id == big.ID }) {
		t.Error("a forgotten entry lies in a block")
	}
	if f := find(t, e, north, "tag:x", Query{Limit: 100, Count: true}, c.at); f.Total != 149 {
		t.Errorf("%d match", f.Total)
	}
	for k := range dump(t, e.db) {
		if strings.Contains(k, cold) {
			t.Errorf("left %q", k)
		}
	}
	if err := e.warmUp(ctx, c.at); err != nil { // what was just read
		t.Fatal(err)
	}
	// A place in which all lies in blocks can be changed as a whole, and forgotten.
	c.at = c.at.Add(coldAfter + time.Second)
	rest(149)
	if n, err := e.TagAll(ctx, north, Change{Add: []string{"w"}}, nil); err != nil || n != 149 {
		t.Errorf("tagged %d, %v", n, err)
	}
	c.at = c.at.Add(coldAfter + time.Second)
	rest(149)
	if got, err := e.Forget(ctx, north, Selector{Tags: []string{"w"}}, nil); err != nil || got.Erased != 149 {
		t.Errorf("forgot %+v, %v", got, err)
	}
	for k := range dump(t, e.db) {
		if strings.HasPrefix(k, "cold/main/north/") && !strings.HasSuffix(k, "#") || strings.HasPrefix(k, "lr/main/north") {
			t.Errorf("left %q", k)
		}
	}
}

func TestDamagedBlocksAreRefused(t *testing.T) {
	e, c := newEntries(t)
	x := putTagged(t, e, north, "x", "x")
	c.at = c.at.Add(coldAfter + time.Second)
	if err := e.Rest(ctx, c.at); err != nil {
		t.Fatal(err)
	}
	key := north.blockKey(0)
	good := []byte(dump(t, e.db)[string(key)])
	for name, bad := range map[string][]byte{"nothing": {}, "noise": []byte("no zstd frame"), "cut": good[:len(good)-3]} {
		if err := e.db.Update(ctx, func(tx store.Tx) error { return tx.Set(key, bad) }); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Get(ctx, north, x.ID); err == nil || err == ErrNotFound {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := e.Find(ctx, north, scopeX, Query{}, c.at); err == nil {
			t.Errorf("%s: found all the same", name)
		}
	}
}

func FuzzBlock(f *testing.F) {
	f.Add([]byte("\x01a\x02{}\x01\x02{}"))
	f.Fuzz(func(t *testing.T, plain []byte) {
		c, err := coder()
		if err != nil {
			t.Fatal(err)
		}
		db := store.Memory()
		defer db.Close()
		if err := db.Update(ctx, func(tx store.Tx) error { return tx.Set(north.blockKey(1), c.enc.EncodeAll(plain, nil)) }); err != nil {
			t.Skip()
		}
		_ = db.View(ctx, func(r store.Reader) error { _, err := block(r, north, 1); return err })
	})
}
