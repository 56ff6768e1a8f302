package didwebvh_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/strictjson"
)

// approve makes the proofs of witnesses for a line, as each of them would.
func approve(t testing.TB, line []byte, signers ...seed) [][]byte {
	t.Helper()
	var out [][]byte
	for _, s := range signers {
		p, err := didwebvh.SignWitness(t.Context(), s, didwebvh.VersionID(line), day2)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// TestWorkedExampleIsWitnessed rebuilds the witness proof and file of the worked example by what a node calls.
func TestWorkedExampleIsWitnessed(t *testing.T) {
	want, file := golden(t)
	one := want.Prefix(1)
	line := rotate(t, one, didwebvh.RotateRequest{Update: u2, Next: u3.Public(), Issuer: i2.Public(), At: day2, Witness: list(1, w)})
	if !bytes.Equal(line, want.Head().Line) || didwebvh.VersionID(line) != goldenNext {
		t.Fatalf("got line %s", line)
	}
	governing, err := didwebvh.Governing(one, line)
	if err != nil || governing.Threshold != 1 || !slices.Equal(governing.Keys, []did.PublicKey{w.Public()}) {
		t.Fatalf("governed by %v, %v", governing, err)
	}
	proof := approve(t, line, w)[0]
	if by, err := didwebvh.CheckWitnessProof(governing, goldenNext, proof); err != nil || by != w.Public() {
		t.Errorf("proof by %v, %v", by, err)
	}
	got, err := one.Proofs(line, [][]byte{proof})
	if err != nil || !got.Met() || got.Need != 1 || !slices.Equal(got.By, governing.Keys) || string(got.Witness) != string(file) {
		t.Errorf("got %v of %d, %v, file\n%s\nwant\n%s", got.By, got.Need, err, got.Witness, file)
	}
	if extended(t, one, line, got.Witness).Head().ID != goldenNext {
		t.Error("the entry does not verify with its file")
	}
}

func TestWhoGoverns(t *testing.T) {
	const a, b seed = 0x71, 0x72
	one := create(t, acme())
	plain := rotate(t, one, didwebvh.RotateRequest{Update: u2, Next: u3.Public(), At: day2})
	names := rotate(t, one, didwebvh.RotateRequest{Update: u2, Next: u3.Public(), Witness: list(1, a), At: day2})
	two := extended(t, one, names, witnessed(t, day2, didwebvh.VersionID(names), a))
	for _, c := range []struct {
		name string
		h    didwebvh.History
		line []byte
		want *didwebvh.WitnessList
	}{
		{"nobody", one, plain, &didwebvh.WitnessList{}},
		{"the first list, its own entry", one, names, list(1, a)},
		{"the list in force, an entry that leaves it", two, rotate(t, two, didwebvh.RotateRequest{Update: u3, Next: u4.Public(), At: day2}), list(1, a)},
		{"the old list, the entry that replaces it", two, rotate(t, two, didwebvh.RotateRequest{Update: u3, Next: u4.Public(), Witness: list(1, b), At: day2}), list(1, a)},
		{"the old list, the entry that ends it", two, rotate(t, two, didwebvh.RotateRequest{Update: u3, Next: u4.Public(), Witness: list(0), At: day2}), list(1, a)},
		{"nobody, a first entry", didwebvh.History{}, one.Head().Line, &didwebvh.WitnessList{}},
	} {
		got, err := didwebvh.Governing(c.h, c.line)
		if err != nil || got.Threshold != c.want.Threshold || !slices.Equal(got.Keys, c.want.Keys) {
			t.Errorf("%s: got %v, %v, want %v", c.name, got, err, *c.want)
		}
	}
	if _, err := didwebvh.Governing(two, plain); didwebvh.ReasonOf(err) != didwebvh.ReasonKey {
		t.Errorf("a line that does not follow: got %v", err)
	}
}

func TestProofsAreCounted(t *testing.T) {
	const a, b, c, d seed = 0x71, 0x72, 0x73, 0x74
	one := create(t, acme())
	line := rotate(t, one, didwebvh.RotateRequest{Update: u2, Next: u3.Public(), Witness: list(2, a, b, c), At: day2})
	other := rotate(t, one, didwebvh.RotateRequest{Update: u2, Next: u4.Public(), Witness: list(2, a, b, c), At: day2})
	spoiled := bytes.Replace(approve(t, line, b)[0], []byte(`"proofValue":"z`), []byte(`"proofValue":"z2`), 1)
	moved := bytes.Replace(approve(t, line, b)[0], []byte("2026-12-15T09:00:00Z"), []byte("2026-12-15T09:00:01Z"), 1)
	for _, x := range []struct {
		name   string
		proofs [][]byte
		by     []seed
	}{
		{"none", nil, nil},
		{"one of two", approve(t, line, b), []seed{b}},
		{"two of two, in the order of the list", approve(t, line, c, a), []seed{a, c}},
		{"all three", approve(t, line, c, b, a), []seed{a, b, c}},
		{"one twice", approve(t, line, b, b), []seed{b}},
		{"one and a stranger", approve(t, line, b, d), []seed{b}},
		{"one for another entry 2", append(approve(t, line, b), approve(t, other, a)...), []seed{b}},
		{"one with another signature", append(approve(t, line, a), spoiled), []seed{a}},
		{"one whose time was changed", append(approve(t, line, a), moved), []seed{a}},
		{"a broken one before the good one", append([][]byte{moved}, approve(t, line, a, b)...), []seed{a, b}},
		{"what is no proof", [][]byte{nil, []byte("{}"), []byte("[]"), []byte(`"x"`), bytes.Repeat([]byte("["), 5000)}, nil},
	} {
		got, err := one.Proofs(line, x.proofs)
		var want []did.PublicKey
		for _, s := range x.by {
			want = append(want, s.Public())
		}
		if err != nil || got.Need != 2 || !slices.Equal(got.By, want) || got.Met() != (len(want) >= 2) || (got.Witness != nil) != got.Met() {
			t.Errorf("%s: got %v of %d, met %v, %d bytes, %v", x.name, got.By, got.Need, got.Met(), len(got.Witness), err)
		}
		_, err = one.Extend(line, got.Witness, day2)
		if got.Met() != (err == nil) {
			t.Errorf("%s: met %v, and extended with %v", x.name, got.Met(), err)
		}
	}
	if _, err := one.Proofs(line, make([][]byte, 65)); didwebvh.ReasonOf(err) != didwebvh.ReasonTooLarge {
		t.Errorf("65 proofs: got %v", err)
	}
	if _, err := one.Proofs([]byte("{}"), nil); err == nil {
		t.Error("what is no line is counted for")
	}
	plain := rotate(t, one, didwebvh.RotateRequest{Update: u2, Next: u3.Public(), At: day2})
	if got, err := one.Proofs(plain, approve(t, plain, a)); err != nil || !got.Met() || got.Need != 0 || got.By != nil || got.Witness != nil {
		t.Errorf("an entry nobody witnesses: got %+v, %v", got, err)
	}
}

func TestWitnessProofRefused(t *testing.T) {
	const a, b seed = 0x71, 0x72
	good, err := didwebvh.SignWitness(t.Context(), a, goldenNext, day2)
	if err != nil {
		t.Fatal(err)
	}
	both := *list(1, a, b)
	if by, err := didwebvh.CheckWitnessProof(both, goldenNext, good); err != nil || by != a.Public() {
		t.Fatalf("got %v, %v", by, err)
	}
	swapped := bytes.ReplaceAll(good, []byte(a.Public().Multikey()), []byte(b.Public().Multikey()))
	for _, c := range []struct {
		name    string
		list    didwebvh.WitnessList
		version string
		proof   []byte
		want    didwebvh.Reason
	}{
		{"for another version", both, goldenFirst, good, didwebvh.ReasonProof},
		{"for what is no version", both, `2-x","a":"`, good, didwebvh.ReasonHash},
		{"by a stranger", *list(1, b), goldenNext, good, didwebvh.ReasonWitness},
		{"for no list", didwebvh.WitnessList{}, goldenNext, good, didwebvh.ReasonWitness},
		{"under the name of another", both, goldenNext, swapped, didwebvh.ReasonProof},
		{"of another purpose", both, goldenNext, bytes.Replace(good, []byte("assertionMethod"), []byte("authentication"), 1), didwebvh.ReasonProof},
		{"with a byte after it", both, goldenNext, append(slices.Clone(good), 'x'), didwebvh.ReasonProof},
		{"too large", both, goldenNext, append(slices.Clone(good), bytes.Repeat([]byte(" "), 4<<10)...), didwebvh.ReasonTooLarge},
		{"empty", both, goldenNext, nil, didwebvh.ReasonProof},
	} {
		if by, err := didwebvh.CheckWitnessProof(c.list, c.version, c.proof); didwebvh.ReasonOf(err) != c.want || !by.IsZero() {
			t.Errorf("%s: got %v, %v, want %v", c.name, by, err, c.want)
		}
	}
	if p, err := didwebvh.SignWitness(t.Context(), a, "2-x", day2); didwebvh.ReasonOf(err) != didwebvh.ReasonHash || p != nil {
		t.Errorf("signed what is no version: %v", err)
	}
	if p, err := didwebvh.SignWitness(t.Context(), broken{a}, goldenNext, day2); !errors.Is(err, errSigner) || p != nil {
		t.Errorf("the signer's error is lost: %v", err)
	}
}

// TestWitnessFileOfManyEntries: the file a node publishes proves the whole log, and the log without its newest entry for
// whoever has read that one; it holds no more proofs than that takes.
func TestWitnessFileOfManyEntries(t *testing.T) {
	const a, b, c seed = 0x71, 0x72, 0x73
	h := create(t, acme())
	update := []seed{u2, u3, u4, 6, 7, 8}
	for i, s := range []struct {
		set  *didwebvh.WitnessList
		by   []seed
		file int // proofs in the file afterwards
	}{
		{list(2, a, b), []seed{a, b}, 2},
		{nil, []seed{a, b}, 4},
		{list(1, c), []seed{a, b}, 4}, // the old list speaks
		{nil, []seed{c}, 3},
		{nil, []seed{c}, 4},
	} {
		line := rotate(t, h, didwebvh.RotateRequest{Update: update[i], Next: update[i+1].Public(), Witness: s.set, At: day2})
		got, err := h.Proofs(line, approve(t, line, s.by...))
		if err != nil || !got.Met() {
			t.Fatalf("entry %d: %d of %d, %v", i+2, len(got.By), got.Need, err)
		}
		h = extended(t, h, line, got.Witness)
		if n := bytes.Count(got.Witness, []byte("proofValue")); n != s.file {
			t.Errorf("entry %d: %d proofs in the file, want %d", i+2, n, s.file)
		}
		if _, err := didwebvh.Verify(h.Log(), got.Witness, day2.Add(time.Hour)); err != nil {
			t.Errorf("entry %d: the log does not verify with its file: %v", i+2, err)
		}
		if _, err := didwebvh.Verify(h.Prefix(h.Len()-1).Log(), got.Witness, day2.Add(time.Hour)); err != nil {
			t.Errorf("entry %d: the log without it does not verify with its file: %v", i+2, err)
		}
	}
}

// TestWitnessFileHoldsWhatItMerges: two full lists may prove one version, and the file made of both stays readable.
func TestWitnessFileHoldsWhatItMerges(t *testing.T) {
	var old, new []seed
	for i := range 16 {
		old, new = append(old, seed(0x80+i)), append(new, seed(0xa0+i))
	}
	log, ids := chain(t, step{list(16, old...)}, step{list(16, new...)}, step{})
	lines := bytes.SplitAfter(log, []byte("\n"))
	now := day2.Add(time.Hour)
	h, err := didwebvh.Verify(bytes.Join(lines[:3], nil), votes{3: old, 4: old}.file(t, ids), now)
	if err != nil {
		t.Fatal(err)
	}
	h, err = h.Extend(lines[3], votes{4: new}.file(t, ids), now)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(h.Witness(), []byte("proofValue")); n != 32 {
		t.Errorf("%d proofs, want 32", n)
	}
	if _, err := didwebvh.Verify(h.Log(), h.Witness(), now); err != nil {
		t.Errorf("what is kept does not verify: %v", err)
	}
}

func TestDefaultWitnesses(t *testing.T) {
	const scid = goldenSCID
	var all []didwebvh.Candidate
	for i := range 9 {
		all = append(all, didwebvh.Candidate{DID: did.MustParse(fmt.Sprintf("did:web:m%d.example", i)), Key: seed(0x80 + i).Public()})
	}
	rank := func(c didwebvh.Candidate) string {
		sum := sha256.Sum256([]byte(scid + c.DID.String()))
		return string(sum[:])
	}
	sorted := slices.SortedFunc(slices.Values(all), func(x, y didwebvh.Candidate) int { return cmp.Compare(rank(x), rank(y)) })
	for n, threshold := range []int{0, 1, 1, 2, 2, 3, 3, 3, 3, 3} {
		got := didwebvh.DefaultWitnesses(scid, all[:n])
		var want []did.PublicKey
		for _, c := range sorted {
			if slices.Contains(all[:n], c) && len(want) < 5 {
				want = append(want, c.Key)
			}
		}
		if got.Threshold != threshold || !slices.Equal(got.Keys, want) {
			t.Errorf("%d candidates: got %d of %v, want %d of %v", n, got.Threshold, got.Keys, threshold, want)
		}
	}
	own := didwebvh.Candidate{DID: did.MustParse(goldenDID), Key: w.Public()}
	twin := didwebvh.Candidate{DID: all[0].DID, Key: w.Public()}
	sameKey := didwebvh.Candidate{DID: did.MustParse("did:web:zz.example"), Key: all[1].Key}
	one := didwebvh.DefaultWitnesses(scid, []didwebvh.Candidate{own, {DID: all[3].DID}, all[1], sameKey, all[1]})
	if one.Threshold != 1 || !slices.Equal(one.Keys, []did.PublicKey{all[1].Key}) {
		t.Errorf("the own DID, no key, and a key twice: got %v", one)
	}
	a, b := didwebvh.DefaultWitnesses(scid, []didwebvh.Candidate{all[0], twin}), didwebvh.DefaultWitnesses(scid, []didwebvh.Candidate{twin, all[0]})
	if len(a.Keys) != 1 || !slices.Equal(a.Keys, b.Keys) {
		t.Errorf("one DID with two keys: got %v and %v", a, b)
	}
}

func FuzzWitnessProof(f *testing.F) {
	h, file := golden(f)
	for _, b := range append([]vector{{witness: file}}, suite(f)...) {
		v, err := strictjson.Parse(b.witness, 32)
		if err != nil {
			continue
		}
		for _, item := range v.Elements() {
			proofs, _ := item.Get("proof")
			for _, p := range proofs.Elements() {
				f.Add(p.Raw())
			}
		}
	}
	governing := h.Head().Parameters.Witness
	f.Fuzz(func(t *testing.T, proof []byte) {
		by, err := didwebvh.CheckWitnessProof(governing, goldenNext, proof)
		if err == nil && by != w.Public() {
			t.Errorf("by %v", by)
		}
		if err != nil && didwebvh.ReasonOf(err) == 0 {
			t.Errorf("refused without a reason: %v", err)
		}
	})
}
