package memory

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trustnode/federation/lending"
	"trustnode/node/store"
)

// model is what a memory should hold, by the plainest rules.
type model struct {
	t       *rapid.T
	e       *Entries
	c       *clock
	all     map[string]Entry
	order   []string
	revoked map[string]bool
	gone    []string
	vis     map[Place]uint64
}

var (
	modelPlaces   = []Place{north, south, {"other", "north"}}
	modelSubjects = []string{"s1111111111111111", "s1111111111111112", "s1111111111111113"}
	modelTags     = []string{"a", "b", "c", "confidential"}
)

// TestMemoryKeepsItsInvariants compares what is found after any additions,
// corrections, changes, ends and forgetting with a filter over a model: I-4,
// I-7, I-10, I-14, I-15, on both stores, with and without answers kept in
// memory.
func TestMemoryKeepsItsInvariants(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			db := store.Memory()
			defer db.Close()
			runModel(rt, db)
		})
	})
	t.Run("badger", func(t *testing.T) {
		db := badgerDB(t, t.TempDir())
		defer db.Close()
		rapid.Check(t, func(rt *rapid.T) {
			wipe(t, db)
			runModel(rt, db)
		})
	})
}

// wipe empties a database: opening one for each round takes too long.
func wipe(t testing.TB, db store.DB) {
	t.Helper()
	keys := dump(t, db)
	err := db.Update(ctx, func(tx store.Tx) error {
		for k := range keys {
			if err := tx.Delete([]byte(k)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func dump(t interface{ Fatal(...any) }, db store.DB) map[string]string {
	out := map[string]string{}
	err := db.View(ctx, func(r store.Reader) error {
		return r.Scan(nil, nil, func(k, v []byte) bool { out[string(k)] = string(v); return true })
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func runModel(t *rapid.T, db store.DB) {
	c := &clock{testNow}
	m := &model{t: t, e: New(db, c.now), c: c, all: map[string]Entry{}, revoked: map[string]bool{}, vis: map[Place]uint64{}}
	t.Repeat(map[string]func(*rapid.T){
		"add":    m.add,
		"tag":    m.tag,
		"forget": m.forget,
		"revoke": m.revoke,
		"time":   func(t *rapid.T) { c.at = c.at.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "s")) * time.Second) },
		"":       m.check,
	})
}

func some(t *rapid.T, label string, from []string, most int) []string {
	out := []string{}
	if len(from) == 0 {
		return out
	}
	for i := range rapid.IntRange(0, most).Draw(t, label) {
		out = append(out, rapid.SampledFrom(from).Draw(t, fmt.Sprint(label, i)))
	}
	return unique(out)
}

// here lists the ids of a place in order of creation.
func (m *model) here(in Place) (ids []string) {
	for _, id := range m.order {
		if e, ok := m.all[id]; ok && e.Place == in {
			ids = append(ids, id)
		}
	}
	return ids
}

// read takes entries as they are stored into the model.
func (m *model) read(es ...Entry) {
	for _, e := range es {
		if old, ok := m.all[e.ID]; ok && e.Trust < old.Trust {
			m.t.Fatalf("trust of %s rose from %v to %v", e.ID, old.Trust, e.Trust)
		} else if !ok {
			m.order = append(m.order, e.ID)
		}
		m.all[e.ID] = e
	}
}

func (m *model) add(t *rapid.T) {
	in := rapid.SampledFrom(modelPlaces).Draw(t, "place")
	d := Draft{Statement: rapid.SampledFrom([]string{"alpha beta", "beta gamma gamma", "delta"}).Draw(t, "text"), Tags: some(t, "tags", modelTags, 3), Subjects: some(t, "subjects", modelSubjects, 2)}
	if rapid.Bool().Draw(t, "ends") {
		d.ExpiresAt = m.c.at.Add(time.Duration(rapid.IntRange(0, 120).Draw(t, "life")) * time.Second)
	}
	ids := m.here(in)
	if len(ids) > 0 {
		d.DerivedFrom = some(t, "parents", ids, 2)
		if rapid.IntRange(0, 3).Draw(t, "corrects") == 0 {
			d.Supersedes = rapid.SampledFrom(ids).Draw(t, "old")
		}
	}
	by := rapid.SampledFrom([]Surface{ByOperator, ByAgent, ByImport}).Draw(t, "surface")
	if by != ByOperator {
		d.Supersedes = ""
	}
	var n, old Entry
	err := m.e.db.Update(ctx, func(tx store.Tx) (err error) {
		if n, err = m.e.Put(tx, writer(&testing.T{}, in, by), d); err == nil && d.Supersedes != "" {
			old, err = load(tx, in, d.Supersedes)
		}
		return err
	})
	if d.Supersedes != "" && m.all[d.Supersedes].State == Superseded {
		if err != ErrSuperseded {
			t.Fatalf("a second correction: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	m.read(n)
	if d.Supersedes != "" {
		if old.State != Superseded || old.SupersededBy != n.ID {
			t.Fatalf("corrected: %+v", old)
		}
		m.read(old)
	}
	for _, id := range d.DerivedFrom {
		if n.Trust < m.all[id].Trust || n.Trust < TrustDerived {
			t.Fatalf("derived from %v with trust %v", m.all[id].Trust, n.Trust)
		}
	}
}

func (m *model) tag(t *rapid.T) {
	in := rapid.SampledFrom(modelPlaces).Draw(t, "place")
	ids := some(t, "ids", m.here(in), 2)
	if len(ids) == 0 {
		return
	}
	c := Change{Add: some(t, "add", append([]string{"class:personal"}, modelTags...), 2), AddSubjects: some(t, "subjects", modelSubjects, 1)}
	switch rapid.IntRange(0, 2).Draw(t, "state") {
	case 0:
		c.Release = true
	case 1:
		c.Quarantine = true
	}
	for _, x := range some(t, "remove", modelTags[:3], 2) {
		if !slices.Contains(c.Add, x) {
			c.Remove = append(c.Remove, x)
		}
	}
	var changed []Entry
	err := m.e.db.Update(ctx, func(tx store.Tx) (err error) {
		changed, err = m.e.Tag(tx, in, ids, c)
		return err
	})
	if m.read(changed...); err != nil && !strings.Contains(err.Error(), "empty") {
		t.Fatal(err)
	}
}

func (m *model) forget(t *rapid.T) {
	in := rapid.SampledFrom(modelPlaces).Draw(t, "place")
	ids := m.here(in)
	if len(ids) == 0 {
		return
	}
	sel := Selector{}
	switch rapid.IntRange(0, 2).Draw(t, "by") {
	case 0:
		sel.IDs = []string{rapid.SampledFrom(ids).Draw(t, "id")}
	case 1:
		sel.Subject = rapid.SampledFrom(modelSubjects).Draw(t, "subject")
	case 2:
		sel.Tags = []string{rapid.SampledFrom(modelTags).Draw(t, "t1"), rapid.SampledFrom(modelTags).Draw(t, "t2")}
	}
	want := 0
	for _, id := range ids {
		e := m.all[id]
		picked := slices.Contains(sel.IDs, id) || slices.Contains(e.Subjects, sel.Subject)
		if len(sel.Tags) == 2 {
			picked = slices.Contains(e.Tags, sel.Tags[0]) && slices.Contains(e.Tags, sel.Tags[1])
		}
		if picked {
			want++
			delete(m.all, id)
			m.gone = append(m.gone, id)
		}
	}
	got, err := m.e.Forget(ctx, in, sel, nil)
	if err != nil || got.Erased != want {
		t.Fatalf("forgot %d, %v, want %d", got.Erased, err, want)
	}
}

func (m *model) revoke(t *rapid.T) {
	if rapid.IntRange(0, 5).Draw(t, "rarely") > 0 {
		return
	}
	s := rapid.SampledFrom(modelSubjects).Draw(t, "subject")
	if err := m.e.db.Update(ctx, func(tx store.Tx) error { return m.e.RevokeSubject(tx, "main", s) }); err != nil {
		t.Fatal(err)
	}
	m.revoked[s] = true
}

// check compares what is found with the model.
func (m *model) check(t *rapid.T) {
	for _, e := range m.all {
		for _, id := range e.DerivedFrom {
			if p, ok := m.all[id]; ok && !m.e.imposed(p).within(m.e.imposed(e)) {
				t.Fatalf("%s (%q %q) carries less than its parent (%q %q)", e.ID, e.Tags, e.Subjects, p.Tags, p.Subjects)
			}
		}
	}
	s := lending.MustParse(rapid.SampledFrom([]string{"tag:a", "tag:a -tag:confidential", "any(a,b) age<60s", "tag:b tag:c", "tag:class:internal", "any(a,class:personal) -tag:b"}).Draw(t, "scope"))
	limit, cold := rapid.IntRange(1, 5).Draw(t, "limit"), New(m.e.db, m.c.now)
	for _, in := range modelPlaces {
		want := m.matches(in, s)
		for _, e := range []*Entries{m.e, m.e, cold} {
			got, err := e.Find(ctx, in, s, Query{Limit: limit}, m.c.at)
			if err != nil {
				t.Fatal(err)
			}
			if w := want[:min(limit, len(want))]; !slices.Equal(got.Refs, refs(w...)) || (got.Cursor != "") != (len(want) > limit) {
				t.Fatalf("%s in %s: %v %q, want %v of %d", s, in, got.Refs, got.Cursor, refs(w...), len(want))
			}
			if got.Vis < m.vis[in] {
				t.Fatalf("vis of %s fell from %d to %d", in, m.vis[in], got.Vis)
			}
			m.vis[in] = got.Vis
			best, err := e.Find(ctx, in, s, Query{Limit: 100, Text: "gamma"}, m.c.at)
			if err != nil || len(best.Refs) != min(100, len(want)) {
				t.Fatalf("ranked: %d of %d, %v", len(best.Refs), len(want), err)
			}
		}
	}
	if len(m.gone) > 0 {
		id := rapid.SampledFrom(m.gone).Draw(t, "gone")
		for k := range dump(t, m.e.db) {
			if strings.Contains(k, id) {
				t.Fatalf("forgotten %s is in key %q", id, k)
			}
		}
	}
}

func (m *model) matches(in Place, s lending.Scope) (out []Entry) {
	for _, e := range m.all {
		live := e.Place == in && e.State == Active && (e.ExpiresAt.IsZero() || m.c.at.Before(e.ExpiresAt))
		hidden := in.tenant == "main" && slices.ContainsFunc(e.Subjects, func(s string) bool { return m.revoked[s] })
		if live && !hidden && s.Matches(e.Tags, e.Created, e.Updated, m.c.at) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, newestFirst)
	return out
}

// TestPlacesCannotBeToldApart fills two tenants alike and asks one of them
// about what the other has: every answer is the one that an empty place gives
// (I-7).
func TestPlacesCannotBeToldApart(t *testing.T) {
	e, c := newEntries(t)
	twin, empty := Place{"other", "north"}, Place{"main", "empty"}
	a := put(t, e, writer(t, twin, ByOperator), Draft{Statement: "same text", Tags: []string{"x"}, Subjects: []string{"s1111111111111111"}})
	s := lending.MustParse("tag:x")
	page := find(t, e, twin, "tag:x", Query{}, c.at)
	ask := func(in Place) string {
		var b bytes.Buffer
		say := func(v any, err error) { fmt.Fprintf(&b, "%+v %v\n", v, err) }
		say(e.Find(ctx, in, s, Query{Count: true}, c.at))
		say(e.Find(ctx, in, s, Query{Text: "same"}, c.at))
		say(e.Search(ctx, in, a.Writer, s, Query{}))
		say(e.Get(ctx, in, a.ID))
		say(e.Render(ctx, in, page.Refs))
		say(e.Recall(ctx, in, s, page.Refs, c.at))
		say(e.Stats(ctx, in, s, c.at))
		say(e.List(ctx, in, Filter{}))
		say(e.Size(ctx, in, Active))
		say(e.Forget(ctx, in, Selector{IDs: []string{a.ID}}, nil))
		say(e.Forget(ctx, in, Selector{Subject: "s1111111111111111"}, nil))
		say(e.Forget(ctx, in, Selector{Tags: []string{"x"}}, nil))
		for _, d := range []Draft{{Statement: "y", DerivedFrom: []string{a.ID}}, {Statement: "y", Supersedes: a.ID}} {
			say(nil, e.db.Update(ctx, func(tx store.Tx) error { _, err := e.Put(tx, writer(t, in, ByOperator), d); return err }))
		}
		say(nil, e.db.Update(ctx, func(tx store.Tx) error {
			_, err := e.Tag(tx, in, []string{a.ID}, Change{Add: []string{"y"}})
			return err
		}))
		return b.String()
	}
	if got, want := ask(north), ask(empty); got != want {
		t.Errorf("beside a tenant with the same:\n%s\nan empty one:\n%s", got, want)
	}
	if got, err := e.Get(ctx, twin, a.ID); err != nil || got.Rev != 1 {
		t.Errorf("the other tenant's entry: %+v, %v", got, err)
	}
}
