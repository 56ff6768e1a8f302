package didwebvh_test

import (
	"bytes"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/strictjson"
)

// list is a witness parameter.
func list(threshold int, members ...seed) *didwebvh.WitnessList {
	l := &didwebvh.WitnessList{Threshold: threshold}
	for _, m := range members {
		l.Keys = append(l.Keys, m.Public())
	}
	return l
}

// step is one rotation: the list it sets, nil for none.
type step struct{ set *didwebvh.WitnessList }

// chain makes lines that are valid but for their witnesses, and their versionIds.
func chain(t *testing.T, steps ...step) (log []byte, ids []string) {
	t.Helper()
	h := create(t, acme())
	update := []seed{u2, u3, 0x50, 0x51, 0x52, 0x53}
	log = h.Log()
	ids = []string{h.Head().ID}
	v := h.Head()
	for i, s := range steps {
		f := forge{
			before: v.ID, number: i + 2, time: day2.Add(time.Duration(i) * time.Minute).Format(time.RFC3339), signers: []seed{update[i]},
			parameters: `{"updateKeys":["` + update[i].Public().Multikey() + `"],"nextKeyHashes":["` + didwebvh.KeyHash(update[i+1].Public()) + `"]`,
			state:      string(v.Document.Raw()),
		}
		if s.set != nil {
			f.parameters += `,"witness":` + witnessValue(t, *s.set)
		}
		f.parameters += "}"
		line := f.line(t)
		v.ID = didwebvh.VersionID(line)
		log = append(append(log, line...), '\n')
		ids = append(ids, v.ID)
	}
	return log, ids
}

func witnessValue(t *testing.T, l didwebvh.WitnessList) string {
	t.Helper()
	if l.None() {
		return "{}"
	}
	var members []strictjson.Value
	for _, k := range l.Keys {
		members = append(members, strictjson.ObjectOf(strictjson.Member{Name: "id", Value: strictjson.StringOf("did:key:" + k.Multikey())}))
	}
	b, err := strictjson.ObjectOf(
		strictjson.Member{Name: "threshold", Value: strictjson.UintOf(uint64(l.Threshold))},
		strictjson.Member{Name: "witnesses", Value: strictjson.ArrayOf(members...)}).Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// votes is which witnesses proved which version.
type votes map[int][]seed

func (v votes) file(t *testing.T, ids []string) []byte {
	t.Helper()
	var items []strictjson.Value
	for n, signers := range v {
		id := "9-QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f" // a version that is not published
		if n <= len(ids) {
			id = ids[n-1]
		}
		one, err := strictjson.Parse(witnessed(t, day2, id, signers...), 32)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, one.Elements()...)
	}
	b, err := strictjson.ArrayOf(items...).Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWitnesses(t *testing.T) {
	const a, b, c seed = 0x71, 0x72, 0x73
	none := &didwebvh.WitnessList{}
	for _, x := range []struct {
		name   string
		steps  []step
		votes  votes
		accept bool
	}{
		{"nobody witnesses", []step{{}, {}}, nil, true},
		{"the first list governs its own entry", []step{{list(1, a)}}, votes{2: {a}}, true},
		{"the first list's entry has no proof", []step{{list(1, a)}}, nil, false},
		{"an entry under a list has no proof", []step{{list(1, a)}, {}}, votes{2: {a}}, false},
		{"a proof counts for all versions before", []step{{list(1, a)}, {}, {}}, votes{4: {a}}, true},
		{"a proof does not count for versions after", []step{{list(1, a)}, {}, {}}, votes{3: {a}}, false},
		{"two of three", []step{{list(2, a, b, c)}}, votes{2: {a, c}}, true},
		{"one of three", []step{{list(2, a, b, c)}}, votes{2: {c}}, false},
		{"one of three, twice", []step{{list(2, a, b, c)}}, votes{2: {c, c}}, false},
		{"two of three, in two versions", []step{{list(2, a, b, c)}, {}}, votes{2: {a}, 3: {b, c}}, true},
		{"the threshold is met by no common version", []step{{list(2, a, b)}, {}}, votes{2: {a}, 3: {b}}, false},
		{"a stranger does not count", []step{{list(1, a)}}, votes{2: {b}}, false},
		{"the old list governs its replacement", []step{{list(1, a)}, {list(1, b)}}, votes{3: {a}}, true},
		{"the new list cannot replace the old", []step{{list(1, a)}, {list(1, b)}}, votes{2: {a}, 3: {b}}, false},
		{"the new list governs what follows", []step{{list(1, a)}, {list(1, b)}, {}}, votes{3: {a}, 4: {b}}, true},
		{"the old list does not govern what follows", []step{{list(1, a)}, {list(1, b)}, {}}, votes{4: {a}}, false},
		{"witnesses are dismissed with their word", []step{{list(1, a)}, {none}, {}}, votes{3: {a}}, true},
		{"witnesses are dismissed without their word", []step{{list(1, a)}, {none}, {}}, votes{2: {a}}, false},
		{"a proof for an unpublished version counts for none", []step{{list(1, a)}}, votes{9: {a}}, false},
		{"a proof for an unpublished version does no harm", []step{{list(1, a)}}, votes{2: {a}, 9: {a}}, true},
		{"a list comes back after a gap", []step{{list(1, a)}, {none}, {}, {list(1, b)}}, votes{3: {a}, 5: {b}}, true},
	} {
		log, ids := chain(t, x.steps...)
		_, err := didwebvh.Verify(log, x.votes.file(t, ids), day2.Add(time.Hour))
		if x.accept && err != nil || !x.accept && didwebvh.ReasonOf(err) != didwebvh.ReasonWitness {
			t.Errorf("%s: got %v, want accepted %v", x.name, err, x.accept)
		}
	}
}

func TestWitnessFileRefused(t *testing.T) {
	const a seed = 0x71
	log, ids := chain(t, step{list(1, a)})
	good := votes{2: {a}}.file(t, ids)
	for name, file := range map[string][]byte{
		"one signature bit":   bytes.Replace(good, []byte(`"proofValue":"z`), []byte(`"proofValue":"z2`), 1),
		"another purpose":     bytes.Replace(good, []byte("assertionMethod"), []byte("authentication"), 1),
		"another time":        bytes.Replace(good, []byte(day2.Format(time.RFC3339)), []byte("2026-12-15T09:00:01Z"), 1),
		"an object, no array": good[1 : len(good)-1],
		"cut off":             good[:len(good)-1],
		"too large":           append(bytes.Repeat([]byte(" "), 1<<20), good...),
		"empty list":          []byte("[]"),
	} {
		if bytes.Equal(file, good) {
			t.Fatalf("%s: the file was not changed", name)
		}
		if _, err := didwebvh.Verify(log, file, day2.Add(time.Hour)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestWitnessFilesAreJoined: a file that came pruned to the newest entry still
// leaves the history provable from what is kept.
func TestWitnessFilesAreJoined(t *testing.T) {
	const a, b seed = 0x71, 0x72
	log, ids := chain(t, step{list(1, a)}, step{list(1, b)}, step{})
	lines := bytes.SplitAfter(log, []byte("\n"))
	now := day2.Add(time.Hour)
	h, err := didwebvh.Verify(bytes.Join(lines[:3], nil), votes{3: {a}}.file(t, ids), now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Extend(lines[3], votes{3: {a}}.file(t, ids), now); didwebvh.ReasonOf(err) != didwebvh.ReasonWitness {
		t.Errorf("an entry without its proof: %v", err)
	}
	h, err = h.Extend(lines[3], votes{4: {b}}.file(t, ids), now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := didwebvh.Verify(h.Log(), h.Witness(), now); err != nil {
		t.Errorf("what is kept does not verify: %v", err)
	}
	exact := votes{3: {a}, 4: {b}}.file(t, ids)
	whole, err := didwebvh.Verify(log, exact, now)
	if err != nil || !bytes.Equal(whole.Witness(), exact) {
		t.Errorf("a file that suffices is not kept as it came: %v", err)
	}
}

func FuzzWitness(f *testing.F) {
	h, witness := golden(f)
	f.Add(witness)
	for _, v := range suite(f) {
		if len(v.witness) > 0 {
			f.Add(v.witness)
		}
	}
	one := h.Prefix(1)
	line := h.After(1)
	f.Fuzz(func(t *testing.T, file []byte) {
		got, err := one.Extend(line, file, day2)
		if err == nil && got.Head().ID != goldenNext {
			t.Errorf("extended to %s", got.Head().ID)
		}
		if err != nil && didwebvh.ReasonOf(err) == 0 {
			t.Errorf("refused without a reason: %v", err)
		}
	})
}

func FuzzLog(f *testing.F) {
	for _, v := range suite(f) {
		f.Add(v.log)
	}
	h, witness := golden(f)
	f.Add(h.Log())
	f.Fuzz(func(t *testing.T, log []byte) {
		h, err := didwebvh.Verify(log, witness, present)
		if err != nil {
			if didwebvh.ReasonOf(err) == 0 {
				t.Errorf("refused without a reason: %v", err)
			}
			return
		}
		again, err := didwebvh.Verify(h.Log(), h.Witness(), present)
		if err != nil || !bytes.Equal(again.Log(), h.Log()) {
			t.Errorf("what verified does not verify again: %v", err)
		}
	})
}

// FuzzLine feeds lines that come after a valid first entry, where most of the rules apply.
func FuzzLine(f *testing.F) {
	h, _ := golden(f)
	one, _ := h.At(1)
	two, _ := h.At(2)
	f.Add(one.Line)
	f.Add(two.Line)
	f.Fuzz(func(t *testing.T, line []byte) {
		v, err := h.Prefix(1).Check(line, day2)
		if err == nil && v.ID != goldenNext {
			t.Errorf("a second entry %s verifies", v.ID)
		}
		if err != nil && didwebvh.ReasonOf(err) == 0 {
			t.Errorf("refused without a reason: %v", err)
		}
	})
}

func FuzzIdentifier(f *testing.F) {
	reject, accept := identifiers(f)
	for _, s := range reject {
		f.Add(s)
	}
	for _, c := range accept {
		f.Add(c.DID)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := did.Parse(s)
		if err != nil {
			return
		}
		id, err := didwebvh.ParseIdentifier(d)
		if err == nil && (id.Host == "" || id.URL() == "") {
			t.Errorf("%s: %+v", s, id)
		}
	})
}

// longLog is a log of n entries after the first, whose update keys take turns.
func longLog(b testing.TB, n int) didwebvh.History {
	b.Helper()
	h := create(b, acme())
	at := day2
	keys := [2]seed{u2, u3}
	for i := range n {
		f := forge{
			before: h.Head().ID, number: i + 2, time: at.Add(time.Duration(i) * time.Second).Format(time.RFC3339), signers: []seed{keys[i%2]},
			parameters: `{"updateKeys":["` + keys[i%2].Public().Multikey() + `"],"nextKeyHashes":["` + didwebvh.KeyHash(keys[(i+1)%2].Public()) + `"]}`,
			state:      string(h.Head().Document.Raw()),
		}
		var err error
		if h, err = h.Extend(f.line(b), nil, present); err != nil {
			b.Fatal(err)
		}
	}
	return h
}
