package log_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope/envelopetest"
)

func sha256Sum(b []byte) [32]byte { return sha256.Sum256(b) }

// stored is a tree held as its stored hashes, in the order of sumdb/tlog.
type stored []tlog.Hash

func (s stored) ReadHashes(at []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(at))
	for i, x := range at {
		out[i] = s[x]
	}
	return out, nil
}

func grow(t *testing.T, n int) (stored, []tlog.Hash) {
	t.Helper()
	var s stored
	var leaves []tlog.Hash
	for i := range n {
		leaf := tlog.RecordHash(fmt.Append(nil, i))
		h, err := tlog.StoredHashesForRecordHash(int64(i), leaf, s)
		if err != nil {
			t.Fatal(err)
		}
		s, leaves = append(s, h...), append(leaves, leaf)
	}
	return s, leaves
}

func TestTreesAgreeWithAnotherImplementation(t *testing.T) {
	s, leaves := grow(t, 70)
	edge := attlog.NewRange(0)
	for n := 0; n <= 70; n++ {
		want, err := tlog.TreeHash(int64(n), s)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := edge.Root(); err != nil || got.Sum() != want {
			t.Fatalf("root of size %d differs (%v)", n, err)
		}
		read, err := attlog.ReadRange(0, uint64(n), s)
		if err != nil || fmt.Sprint(read.Hashes()) != fmt.Sprint(edge.Hashes()) {
			t.Fatalf("edge of size %d differs (%v)", n, err)
		}
		if n < 70 {
			if err := edge.Append(leaves[n]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func headAt(t *testing.T, s stored, n uint64) attestation.Head {
	t.Helper()
	h, err := attlog.RootAt(n, s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestInclusionOfEachLeafAndOfNoOther(t *testing.T) {
	s, leaves := grow(t, 40)
	for size := uint64(1); size <= 40; size++ {
		head := headAt(t, s, size)
		for i := range size {
			p, err := attlog.Include(i, size, s)
			if err != nil {
				t.Fatal(err)
			}
			if err := attlog.CheckInclusion(head, i, leaves[i], p); err != nil {
				t.Fatalf("%d of %d: %v", i, size, err)
			}
			if attlog.CheckInclusion(head, (i+1)%size, leaves[i], p) == nil && size > 1 {
				t.Fatalf("%d of %d holds one further", i, size)
			}
			if len(p) > 0 {
				p[0][3] ^= 1
				if attlog.CheckInclusion(head, i, leaves[i], p) == nil {
					t.Fatalf("%d of %d holds with a changed hash", i, size)
				}
			}
		}
	}
}

func TestExtensionOfEachSizeAndOfNoOther(t *testing.T) {
	s, _ := grow(t, 40)
	for a := uint64(0); a <= 40; a++ {
		for b := a; b <= 40; b++ {
			p, err := attlog.Extend(a, b, s)
			if err != nil {
				t.Fatal(err)
			}
			old, head := headAt(t, s, a), headAt(t, s, b)
			if err := attlog.CheckExtension(old, head, p); err != nil {
				t.Fatalf("%d to %d: %v", a, b, err)
			}
			if a == 0 || a == b {
				continue
			}
			head.Root = headAt(t, s, b-1).Root
			if attlog.CheckExtension(old, head, p) == nil {
				t.Fatalf("%d to %d holds for another root", a, b)
			}
		}
	}
	if attlog.CheckExtension(headAt(t, s, 7), headAt(t, s, 7), []tlog.Hash{{}}) == nil {
		t.Error("hashes between equal sizes are taken")
	}
	same := headAt(t, s, 6)
	same.Size = 7
	if attlog.CheckExtension(headAt(t, s, 7), same, nil) == nil {
		t.Error("another root of the same size is taken")
	}
}

func TestRangeOfTheWrongLengthIsRefused(t *testing.T) {
	for _, c := range []struct {
		begin, end uint64
		n          int
	}{{0, 4, 2}, {0, 4, 0}, {3, 4, 2}, {4, 3, 0}, {0, 1 << 54, 1}} {
		if _, err := attlog.ParseRange(c.begin, c.end, make([]tlog.Hash, c.n)); err == nil {
			t.Errorf("range [%d, %d) of %d hashes is taken", c.begin, c.end, c.n)
		}
	}
}

func TestNoteLinesAreJudgedOneByOne(t *testing.T) {
	n := goldenNote(t)
	w := did.MustParse("did:web:beta.example")
	keys := func(d did.DID) []did.PublicKey {
		if d == w {
			return []did.PublicKey{envelopetest.Repeat(0x21).Public()}
		}
		return nil
	}
	bad := n.Lines[1]
	bad.Sig = append([]byte(nil), bad.Sig...)
	bad.Sig[20] ^= 1
	unknown := n.Lines[1]
	unknown.Name = "did:web:gamma.example/witness"
	later, err := attlog.Cosign(context.Background(), envelopetest.Repeat(0x21), w, n, time.Date(2026, 12, 16, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	n.Lines = []attlog.Line{bad, unknown, n.Lines[0], later, n.Lines[1]}
	seen, verdicts := n.Cosignatures(keys)
	want := []attlog.LineVerdict{attlog.LineFalse, attlog.LineUnknown, attlog.LineUnknown, attlog.LineGood, attlog.LineGood}
	if fmt.Sprint(verdicts) != fmt.Sprint(want) {
		t.Errorf("verdicts %v, want %v", verdicts, want)
	}
	if len(seen) != 1 || seen[0].At.String() != "2026-12-15T09:00:06Z" {
		t.Errorf("cosignatures %v, wanted the earliest alone", seen)
	}
	if err := n.Verify(envelopetest.Repeat(0x13).Public()); err != nil {
		t.Errorf("a false line beside it takes the log's own with it: %v", err)
	}
}

func TestTheLogsOwnLineIsJudgedUnderTheKeysThatMaySign(t *testing.T) {
	own, other := envelopetest.Repeat(0x13).Public(), envelopetest.Repeat(0x11).Public()
	forged := goldenNote(t).Lines[0]
	forged.Sig = append([]byte(nil), forged.Sig...)
	forged.Sig[20] ^= 1
	short := forged
	short.Sig = short.Sig[:63]
	witness := goldenNote(t).Lines[1]
	cases := []struct {
		name  string
		lines []attlog.Line
		keys  []did.PublicKey
		want  attlog.LineVerdict
	}{
		{"its key is among them", goldenNote(t).Lines, []did.PublicKey{other, own}, attlog.LineGood},
		{"a false line under the key beside the true one", []attlog.Line{forged, goldenNote(t).Lines[0]}, []did.PublicKey{own}, attlog.LineGood},
		{"a false line under the key alone", []attlog.Line{forged}, []did.PublicKey{own}, attlog.LineFalse},
		{"a false line, and another key after it", []attlog.Line{forged}, []did.PublicKey{own, other}, attlog.LineFalse},
		{"a signature cut short", []attlog.Line{short}, []did.PublicKey{own}, attlog.LineFalse},
		{"another key alone", goldenNote(t).Lines, []did.PublicKey{other}, attlog.LineUnknown},
		{"no key", goldenNote(t).Lines, nil, attlog.LineUnknown},
		{"a witness line alone", []attlog.Line{witness}, []did.PublicKey{own}, attlog.LineUnknown},
	}
	for _, c := range cases {
		n := goldenNote(t)
		n.Lines = c.lines
		if got := n.Under(c.keys); got != c.want {
			t.Errorf("%s: verdict %d, want %d", c.name, got, c.want)
		}
	}
}

func TestTheOriginIsNoWitnessOfItself(t *testing.T) {
	n := goldenNote(t)
	own, err := attlog.Cosign(context.Background(), envelopetest.Repeat(0x14), n.Org, n, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	seen, _ := attlog.Note{Org: n.Org, Head: n.Head, Lines: []attlog.Line{own}}.Cosignatures(func(did.DID) []did.PublicKey {
		return []did.PublicKey{envelopetest.Repeat(0x14).Public()}
	})
	if len(seen) != 0 {
		t.Errorf("counted %v", seen)
	}
}

func TestNoteHasOneSpelling(t *testing.T) {
	good := string(goldenNote(t).Bytes())
	if n, err := attlog.ParseNote([]byte(good)); err != nil || string(n.Bytes()) != good {
		t.Fatalf("the golden note: %v", err)
	}
	cases := map[string]string{
		"an extension line":            strings.Replace(good, "LF8=\n\n", "LF8=\nx\n\n", 1),
		"a size with a zero before it": strings.Replace(good, "\n4\n", "\n04\n", 1),
		"a negative size":              strings.Replace(good, "\n4\n", "\n-4\n", 1),
		"a size above 2^53":            strings.Replace(good, "\n4\n", "\n9007199254740992\n", 1),
		"loose bits in the root":       strings.Replace(good, "LF8=", "LF9=", 1),
		"a carriage return":            strings.Replace(good, "LF8=\n", "LF8=\r\n", 1),
		"another word after the DID":   strings.Replace(good, ":acme.example/log\n", ":acme.example/tlog\n", 1),
		"no signature":                 good[:strings.Index(good, "\n\n")+2],
		"no last newline":              good[:len(good)-1],
		"an empty line between":        strings.Replace(good, "\n— did:web:", "\n\n— did:web:", 1),
		"a hyphen for the dash":        strings.Replace(good, "— did:web:", "- did:web:", 1),
		"a number sign in a name":      strings.Replace(good, "beta.example/witness", "beta#example/witness", 1),
		"66 lines":                     good + strings.Repeat(good[strings.Index(good, "— did:web:"):], 64),
		"nothing":                      "",
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			if n, err := attlog.ParseNote([]byte(text)); err == nil {
				t.Errorf("read as %+v", n)
			}
		})
	}
}

func TestEachByteOfAProofCounts(t *testing.T) {
	leaf := goldenLog(t, 0xa2)[1].Hash()
	i2, w := envelopetest.Repeat(0x13).Public(), envelopetest.Repeat(0x21).Public()
	whole := func(b []byte) bool {
		p, err := attlog.ParseProof(b)
		if err != nil || p.Check(leaf) != nil || p.Note.Verify(i2) != nil {
			return false
		}
		seen, _ := p.Note.Cosignatures(func(did.DID) []did.PublicKey { return []did.PublicKey{w} })
		return len(seen) == 1 && seen[0].Witness.String() == "did:web:beta.example"
	}
	if !whole([]byte(goldenProof)) {
		t.Fatal("the golden proof does not verify")
	}
	for i := range goldenProof {
		b := []byte(goldenProof)
		b[i] ^= 1
		if whole(b) {
			t.Errorf("byte %d changed, and it verifies", i)
		}
		if whole([]byte(goldenProof[:i] + goldenProof[i+1:])) {
			t.Errorf("byte %d dropped, and it verifies", i)
		}
	}
}

func TestWitnessRequestIsWhatItWasWritten(t *testing.T) {
	n := goldenNote(t)
	n.Lines = n.Lines[:1]
	want := attlog.Request{Old: 3, Proof: []tlog.Hash{{1}, {2}}, Note: n}
	got, err := attlog.ParseRequest(want.Bytes())
	if err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("read as %+v (%v)", got, err)
	}
	text := string(want.Bytes())
	for name, bad := range map[string]string{
		"no old line":      strings.TrimPrefix(text, "old 3\n"),
		"a signed size":    strings.Replace(text, "old 3", "old +3", 1),
		"a hash too short": strings.Replace(text, "AQAA", "AQ", 1),
		"no note":          text[:strings.Index(text, "\n\n")],
		"64 hashes":        "old 3\n" + strings.Repeat((tlog.Hash{}).String()+"\n", 64) + text[strings.Index(text, "\n\n")+1:],
	} {
		if _, err := attlog.ParseRequest([]byte(bad)); err == nil {
			t.Errorf("%s: read", name)
		}
	}
	if n, err := attlog.ParseConflict(attlog.FormatSize(1024)); err != nil || n != 1024 {
		t.Errorf("size of a conflict: %d (%v)", n, err)
	}
}

func FuzzNote(f *testing.F) {
	f.Add([]byte(goldenProof[strings.Index(goldenProof, "\n\n")+2:]))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := attlog.ParseNote(b); err == nil && !bytes.Equal(n.Bytes(), b) {
			t.Fatalf("%q is written again as %q", b, n.Bytes())
		}
	})
}

func FuzzProof(f *testing.F) {
	f.Add([]byte(goldenProof))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := attlog.ParseProof(b)
		if err != nil {
			return
		}
		if !bytes.Equal(p.Bytes(), b) {
			t.Fatalf("%q is written again as %q", b, p.Bytes())
		}
		_ = p.Check(tlog.Hash{})
	})
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte("old 3\n" + (tlog.Hash{}).String() + "\n\n" + goldenProof[strings.Index(goldenProof, "\n\n")+2:]))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := attlog.ParseRequest(b); err == nil && !bytes.Equal(r.Bytes(), b) {
			t.Fatalf("%q is written again as %q", b, r.Bytes())
		}
	})
}
