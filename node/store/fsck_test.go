package store_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

var beta = did.MustParse("did:web:beta.example")

// inspect returns what an inspection finds, as text.
func inspect(t testing.TB, db store.DB) []string {
	t.Helper()
	var out []string
	if _, err := store.InspectAudit(context.Background(), db, store.Inspection{Found: func(f store.Fault) { out = append(out, f.String()) }}); err != nil {
		t.Fatal(err)
	}
	return out
}

// fill gives a database two logs of more than two tiles with all kinds of rows: events with
// every dimension, ids that come twice, entries that are no events, notes with cosignatures,
// bodies held and wanted, audit rows under two covers and one row under none.
func fill(t testing.TB, db store.DB) {
	t.Helper()
	ctx := context.Background()
	e, err := store.OpenEvents(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	f := filler{t, e}
	f.rows(1, 5)
	f.log(org, 3, 530)
	f.rows(6, 3)
	f.log(beta, 0, 60)
	body := []byte(`{"held":1}`)
	for i, at := range []uint64{6, 7} {
		f.must(e.Settle(ctx, org, store.Settled{Upto: 530, Judged: []store.Judgement{{Index: at, Verdict: valid, Body: envelope.IDOf(fmt.Appendf(nil, `{"held":%d}`, i+1))}}}))
	}
	f.must(e.Settle(ctx, org, store.Settled{Judged: []store.Judgement{{Index: 9, Verdict: attestation.Verdict{Standing: attestation.Void, Level: attestation.Logged, Reason: attestation.ReasonKey}}}}))
	for _, v := range []attestation.Verdict{{Standing: attestation.Pending, Level: attestation.Logged, Reason: attestation.ReasonUnknown}, valid} {
		f.must(e.Settle(ctx, org, store.Settled{Judged: []store.Judgement{{Index: 11, Verdict: v}, {Index: 12, Verdict: v}}}))
	}
	if _, err := e.PutBody(ctx, body); err != nil {
		t.Fatal(err)
	}
	f.note(org, 530, "beta", "gamma")
	f.note(beta, 60, "acme")
	f.erase(attestation.Erasure{Row: 2}, attestation.Erasure{Body: envelope.IDOf([]byte(`{"held":3}`)), Index: 8})
	f.must(e.NoteErasures(ctx, beta, []store.Due{{Org: beta, Index: 20, At: 1}}, 40))
	f.lose(9, 1<<40)
	f.rows(9+1<<40, 4)
}

// erase appends a log.erased for each erasure.
func (f filler) erase(list ...attestation.Erasure) {
	f.t.Helper()
	b := attestation.Batch{Org: org, From: f.size(org), Erased: list}
	for i, x := range list {
		data, err := envelope.Marshal(attestation.LogErased{Cause: "row", Index: x.Index})
		f.must(err)
		b.Entries = append(b.Entries, f.entry(org, 7000000+int(b.From)+i, func(ev *attestation.Event) { ev.Type, ev.Data = "log.erased", data }))
	}
	f.must(f.e.Append(context.Background(), b))
}

// lose appends a log.gap of rows.
func (f filler) lose(first, n int) {
	f.t.Helper()
	data, err := envelope.Marshal(attestation.LogGap{Cause: attestation.GapRows, From: uint64(first), To: uint64(first + n - 1)})
	f.must(err)
	b := attestation.Batch{Org: org, From: f.size(org), Lost: &attestation.Cover{Index: f.size(org), First: uint64(first), Size: uint64(n)}}
	b.Entries = []attestation.Entry{f.entry(org, 8000000+first, func(ev *attestation.Event) { ev.Type, ev.Data = "log.gap", data })}
	f.must(f.e.Append(context.Background(), b))
}

var valid = attestation.Verdict{Standing: attestation.Valid, Level: attestation.Authored}

type filler struct {
	t testing.TB
	e *store.Events
}

func (f filler) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f filler) size(d did.DID) uint64 {
	l, err := f.e.Log(context.Background(), d)
	if err != nil {
		return 0
	}
	h, _ := l.Head()
	return h.Size
}

// rows adds audit rows, the last of them under no cover yet, and an audit.rows over those
// that waited before.
func (f filler) rows(first, n int) { f.t.Helper(); f.rowsAt(first, n, "2026-12-01T10:00:00Z") }

func (f filler) rowsAt(first, n int, at string) {
	f.t.Helper()
	when, err := envelope.ParseTime(at)
	f.must(err)
	b := attestation.Batch{Org: org, From: f.size(org), Mark: uint64(first + n)}
	var leaves []tlog.Hash
	for i := range n {
		r := attestation.Row{Kind: "read", Body: fmt.Appendf(nil, `{"n":%d}`, first+i), For: []did.DID{beta}, Keys: []string{"perm", fmt.Sprint("k", i%2)}}
		b.Rows, leaves = append(b.Rows, r), append(leaves, audit.Leaf(r.Body))
	}
	salt := strings.Repeat("A", 22)
	body, err := envelope.Marshal(audit.Rows{First: uint64(first), Salt: salt, Size: uint64(n)})
	f.must(err)
	data, err := envelope.Marshal(attestation.AuditRows{Root: attlog.RootOf(leaves)})
	f.must(err)
	b.Entries = []attestation.Entry{f.entry(org, 9000+first, func(ev *attestation.Event) {
		ev.At, ev.Type, ev.Data, ev.Body = when, "audit.rows", data, envelope.IDOf(body)
	})}
	b.Bodies, b.Covers = [][]byte{body}, []attestation.Cover{{Index: b.From, First: uint64(first), Size: uint64(n)}}
	f.must(f.e.Append(context.Background(), b))
}

func (f filler) entry(d did.DID, n int, change func(*attestation.Event)) attestation.Entry {
	ev := attestation.Event{At: envelope.TimeOf(envelope.Time{}.Time()), Data: envelope.Raw("{}"), Kid: "k", Org: d, Type: "test.said"}
	at, err := envelope.ParseTime("2026-12-01T10:00:00Z")
	f.must(err)
	nonce := tlog.RecordHash(fmt.Append(nil, n))
	ev.At, ev.Nonce = at, attestation.FormatEntry(nonce[:16])
	change(&ev)
	body, err := envelope.Marshal(ev)
	f.must(err)
	return append(attestation.Entry{1}, append(make([]byte, 64), body...)...)
}

// log appends entries up to a size in uneven steps; every 50th comes twice, every 70th is
// no event.
func (f filler) log(d did.DID, seed, size int) {
	f.t.Helper()
	for n := 0; f.size(d) < uint64(size); n++ {
		b := attestation.Batch{Org: d, From: f.size(d)}
		for len(b.Entries) < 1+n*37%200 && int(b.From)+len(b.Entries) < size {
			i := int(b.From) + len(b.Entries)
			if i%50 == 40 {
				i--
			}
			en := f.entry(d, i+seed*100000, func(ev *attestation.Event) {
				ev.Subject, ev.Actor = fmt.Sprint("did:web:s", i%7, ".example"), did.MustParse(fmt.Sprint("did:web:a", i%3, ".example"))
				ev.Refs = []envelope.ID{envelope.IDOf(fmt.Append(nil, i%11)), envelope.IDOf(fmt.Append(nil, "x", i))}
				ev.Body = envelope.IDOf(fmt.Appendf(nil, `{"held":%d}`, i-5))
			})
			if i%70 == 30 {
				en = append(attestation.Entry{1}, bytes.Repeat([]byte{byte(i)}, 80)...)
			}
			b.Entries = append(b.Entries, en)
		}
		f.must(f.e.Append(context.Background(), b))
		if n%2 == 1 {
			f.note(d, f.size(d), "gamma")
		}
	}
}

// note keeps a true head with cosignatures; the store looks at no signature.
func (f filler) note(d did.DID, size uint64, witnesses ...string) {
	f.t.Helper()
	l, err := f.e.Log(context.Background(), d)
	f.must(err)
	h, err := attlog.RootAt(size, l)
	f.must(err)
	text := string(attlog.Text(d, h)) + "\n— " + attlog.Origin(d) + " AAAAAAAA\n"
	var seen []attestation.Seen
	for i, w := range witnesses {
		who := did.MustParse("did:web:" + w + ".example")
		at, err := envelope.ParseTime(fmt.Sprintf("2026-12-01T10:%02d:%02dZ", size/60%60, size%60))
		f.must(err)
		sig := binary.BigEndian.AppendUint64([]byte{0, 0, 0, byte(i)}, uint64(at.Unix()))
		text += "— " + attlog.WitnessName(who) + " " + base64.StdEncoding.EncodeToString(append(sig, make([]byte, 64)...)) + "\n"
		seen = append(seen, attestation.Seen{Org: who, At: at})
	}
	f.must(f.e.PutNote(context.Background(), d, []byte(text), seen))
}

// pairs returns all of a database.
func pairs(t testing.TB, db store.DB) (keys []string, values map[string][]byte) {
	t.Helper()
	values = map[string][]byte{}
	err := db.View(context.Background(), func(r store.Reader) error {
		return r.Scan(nil, nil, func(k, v []byte) bool {
			keys, values[string(k)] = append(keys, string(k)), bytes.Clone(v)
			return true
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys, values
}

func set(t testing.TB, db store.DB, k string, v []byte) {
	t.Helper()
	err := db.Update(context.Background(), func(tx store.Tx) error {
		if v == nil {
			return tx.Delete([]byte(k))
		}
		return tx.Set([]byte(k), v)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// decided are rows that say what this node decided and no bytes prove: a lost standing or
// wish is found by judging anew, and a level that lies below is no contradiction.
func decided(k string, deleted bool) bool {
	return strings.HasPrefix(k, "st/") || strings.HasPrefix(k, "lv/") || strings.HasPrefix(k, "mb/") && deleted || strings.HasPrefix(k, "mk") ||
		strings.HasPrefix(k, "bo/") && deleted || // wanted again once events are judged anew
		strings.HasPrefix(k, "gb/") || strings.HasPrefix(k, "er/") || strings.HasPrefix(k, "ec/") || // told by the log again
		strings.HasPrefix(k, "no/") && !deleted || // a signature is for who knows the keys
		strings.HasPrefix(k, "row/") && !deleted // the list of its readers is nobody's hash
}

// TestEveryRowOfTheAuditDatabaseIsVerified deletes every row in turn, and flips a bit of
// every value: each is found, and named by its log where it is of one.
func TestEveryRowOfTheAuditDatabaseIsVerified(t *testing.T) {
	db := store.Memory()
	defer db.Close()
	fill(t, db)
	if got := inspect(t, db); len(got) > 0 {
		t.Fatalf("a sound database: %q", got)
	}
	keys, values := pairs(t, db)
	rng := rand.New(rand.NewPCG(1, 2))
	tried := 0
	for i, k := range keys {
		if i%29 != 0 && !rare(k) && !testing.Verbose() { // some of the many alike, all of the rest
			continue
		}
		for _, deleted := range []bool{true, false} {
			var v []byte
			if !deleted {
				if v = bytes.Clone(values[k]); len(v) == 0 {
					continue
				}
				v[rng.IntN(len(v))] ^= 1 << rng.IntN(8)
			}
			set(t, db, k, v)
			tried++
			if got := inspect(t, db); len(got) == 0 && !decided(k, deleted) {
				t.Errorf("%q (deleted: %v) is not missed", k, deleted)
			} else if strings.HasPrefix(k, "en/") && !names(got, k) {
				t.Errorf("entry %q: no fault names it: %q", k, got)
			}
			set(t, db, k, values[k])
		}
	}
	if got := inspect(t, db); len(got) > 0 || tried < 200 {
		t.Fatalf("after %d changes that were taken back: %q", tried, got)
	}
}

func rare(k string) bool {
	return !slices.ContainsFunc([]string{"en/", "id/", "po/"}, func(p string) bool { return strings.HasPrefix(k, p) })
}

// names reports whether a fault names the log and index of an entry.
func names(faults []string, k string) bool {
	log := map[uint32]did.DID{1: org, 2: beta}[binary.BigEndian.Uint32([]byte(k[3:]))]
	want := fmt.Sprintf("%s/%d: ", log, binary.BigEndian.Uint64([]byte(k[7:])))
	return slices.ContainsFunc(faults, func(f string) bool { return strings.HasPrefix(f, want) })
}

// TestRowsOfIndexesThatNoEntryHas: index rows that were added, or that are in another's
// place, are named.
func TestRowsOfIndexesThatNoEntryHas(t *testing.T) {
	db := store.Memory()
	defer db.Close()
	fill(t, db)
	keys, values := pairs(t, db)
	for _, prefix := range []string{"id/", "po/", "ri/", "rp/"} {
		for _, k := range keys {
			if !strings.HasPrefix(k, prefix) {
				continue
			}
			b := []byte(k)
			b[5] ^= 0x40
			set(t, db, string(b), values[k])
			if got := inspect(t, db); len(got) == 0 {
				t.Errorf("a foreign row beside %q is not found", k)
			}
			set(t, db, k, nil) // now it lies in another's place
			if got := inspect(t, db); len(got) == 0 {
				t.Errorf("%q in another's place is not found", k)
			}
			set(t, db, string(b), nil)
			set(t, db, k, values[k])
			break
		}
	}
	if got := inspect(t, db); len(got) > 0 {
		t.Fatalf("after all was taken back: %q", got)
	}
}

// TestRebuildEqualsTheLiveIndexes (I-15): with some index rows lost, some changed and some
// of nothing added, a rebuild gives indexes that an inspection finds to be those of the
// entries, and every query answers as before.
func TestRebuildEqualsTheLiveIndexes(t *testing.T) {
	db := store.Memory()
	defer db.Close()
	fill(t, db)
	before := answers(t, db)
	keys, values := pairs(t, db)
	rng := rand.New(rand.NewPCG(3, 4))
	for _, k := range keys {
		if p := k[:min(3, len(k))]; p != "id/" && p != "po/" && p != "da/" && p != "in/" && p != "ri/" && p != "rp/" {
			continue
		}
		switch rng.IntN(4) {
		case 0:
			set(t, db, k, nil)
		case 1:
			b := []byte(k)
			b[4] ^= 1
			set(t, db, string(b), values[k])
		}
	}
	if got := inspect(t, db); len(got) == 0 {
		t.Fatal("nothing is missed")
	}
	if err := store.Rebuild(context.Background(), db, store.Inspection{}); err != nil {
		t.Fatal(err)
	}
	if got := inspect(t, db); len(got) > 0 {
		t.Fatalf("after the rebuild: %q", got)
	}
	if after := answers(t, db); !slices.Equal(before, after) {
		t.Errorf("queries answer otherwise:\n%q\n%q", before, after)
	}
}

// answers is what a store answers to queries of each kind.
func answers(t *testing.T, db store.DB) (out []string) {
	t.Helper()
	e, err := store.OpenEvents(context.Background(), db)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []attestation.Query{
		{Type: "test.said"}, {Type: "test."}, {Subject: "did:web:s3.example"}, {Actor: did.MustParse("did:web:a1.example")}, {Ref: envelope.IDOf([]byte("4"))}, {Org: beta},
	} {
		q.Any, q.Limit = true, attestation.MaxPage
		page, err := e.Query(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range page.Found {
			out = append(out, fmt.Sprint(q.Type, f.Org, f.Index))
		}
	}
	if len(out) < 500 {
		t.Fatalf("%d answers", len(out))
	}
	return out
}

// TestTilesThatNoRootReads: above 65,536 entries the root is read from the third level of
// tiles, and the one below it is compared all the same.
func TestTilesThatNoRootReads(t *testing.T) {
	db := store.Memory()
	defer db.Close()
	e := open(t, db)
	for from := uint64(0); from < 1<<16+300; from += 256 {
		b := attestation.Batch{Org: org, From: from}
		for i := range uint64(256) {
			b.Entries = append(b.Entries, binary.BigEndian.AppendUint64(append(attestation.Entry{1}, make([]byte, 64)...), from+i))
		}
		if err := e.Append(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}
	if got := inspect(t, db); len(got) > 0 {
		t.Fatalf("a sound log: %q", got)
	}
	k := "ti/\x00\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00"
	_, values := pairs(t, db)
	v := bytes.Clone(values[k])
	v[77*32] ^= 1
	set(t, db, k, v)
	if got := inspect(t, db); len(got) != 1 || !strings.Contains(got[0], "tile 0 of level 1") {
		t.Errorf("%q", got)
	}
}

// TestADamagedSizeEndsTheInspection: a head that claims more entries than there can be is
// named, and nobody waits for all that are missing.
func TestADamagedSizeEndsTheInspection(t *testing.T) {
	db := store.Memory()
	defer db.Close()
	fill(t, db)
	_, values := pairs(t, db)
	const k = "he/\x00\x00\x00\x01"
	v := bytes.Clone(values[k])
	binary.BigEndian.PutUint64(v, binary.BigEndian.Uint64(v)<<30) // as many hashes in its edge
	set(t, db, k, v)
	if got := inspect(t, db); len(got) != store.MaxFaults {
		t.Errorf("%d faults, the first %q", len(got), got[:min(3, len(got))])
	}
}

// TestASignedHeadOfAnotherRoot: a note in its one form that names another root than the
// entries give is found, whoever signed it.
func TestASignedHeadOfAnotherRoot(t *testing.T) {
	db := store.Memory()
	defer db.Close()
	fill(t, db)
	set(t, db, "no/\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01\x05", noteOf(t, 261))
	if got := inspect(t, db); len(got) != 1 || !strings.Contains(got[0], "the signed note of size 261 has another root") {
		t.Errorf("%q", got)
	}
}
