package log_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope/envelopetest"
)

// branch is a tree held as leaves.
type branch []tlog.Hash

func (b branch) ReadHashes(at []int64) ([]tlog.Hash, error) {
	stored := map[int64]tlog.Hash{}
	for i, leaf := range b {
		hashes, err := tlog.StoredHashesForRecordHash(int64(i), leaf, tlog.HashReaderFunc(func(x []int64) ([]tlog.Hash, error) {
			var out []tlog.Hash
			for _, n := range x {
				out = append(out, stored[n])
			}
			return out, nil
		}))
		if err != nil {
			return nil, err
		}
		for j, h := range hashes {
			stored[tlog.StoredHashIndex(0, int64(i))+int64(j)] = h
		}
	}
	var out []tlog.Hash
	for _, x := range at {
		out = append(out, stored[x])
	}
	return out, nil
}

func (b branch) head(size int) attestation.Head {
	return attestation.Head{Size: uint64(size), Root: attlog.RootOf(b[:size])}
}

func (b branch) note(t *testing.T, size int, by byte) attlog.Note {
	t.Helper()
	n, err := attlog.Sign(t.Context(), envelopetest.Repeat(by), did.MustParse(goldenDID), b.head(size))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestGoldenForkIsRebuilt: section 9 of the attestation specification prints these hashes. The
// root it prints of a does not follow from what it says of a, and is not compared.
func TestGoldenForkIsRebuilt(t *testing.T) {
	own, other := branch(leavesOf(goldenLog(t, 0xa2))), branch(leavesOf(goldenLog(t, 0xaf)))
	a, b := other.note(t, 3, 0x11), own.note(t, 4, 0x13)
	f, err := attlog.ProveFork(b, a, own)
	if err != nil {
		t.Fatal(err)
	}
	left, err := f.Left.Root()
	if err != nil || left.String() != "zQmU8LucBfeHNvRydzsXn1Fbhq4r9MuKvuqbRjKy4UdSFMK" {
		t.Errorf("left alone gives %s, %v", left, err)
	}
	ta, tb, l, r := f.Texts()
	if ta != string(a.Bytes()) || tb != string(b.Bytes()) ||
		l != "6YwnmJrtL8gTbhx0jq5xRU2feCm3Eb6G0Eye6SoV2ygXLavz6onQM4vDv2Rt_1OVhigxOZ5tg_8rbrZas6B5kA" || r != "efOi9e1xgWNRFlgz5yJPlL7mRoW0Dl2dgHTZ_pYdnEs" {
		t.Errorf("evidence\n%s\n%s\n%s\n%s", ta, tb, l, r)
	}
	back, err := attlog.ParseFork(ta, tb, l, r)
	if err != nil {
		t.Fatal(err)
	}
	keys := func(size uint64) []did.PublicKey {
		if size <= 3 {
			return []did.PublicKey{envelopetest.Repeat(0x11).Public()}
		}
		return []did.PublicKey{envelopetest.Repeat(0x13).Public()}
	}
	if err := back.By(keys); err != nil {
		t.Error(err)
	}
	swapped := func(size uint64) []did.PublicKey { return keys(7 - size) }
	if err := back.By(swapped); !errors.Is(err, attlog.ErrUnsigned) {
		t.Errorf("under the keys of other places: %v", err)
	}
}

// TestNoHonestLogForks is I-11: the heads of one log make no evidence, whatever the sizes,
// and those of two logs that part anywhere do, from the first size where they differ.
func TestNoHonestLogForks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 11))
	log := make(branch, 1024)
	for i := range log {
		log[i] = tlog.RecordHash([]byte{byte(i), byte(i >> 8)})
	}
	d := did.MustParse(goldenDID)
	bare := func(h attestation.Head) attlog.Note { return attlog.Note{Org: d, Head: h} }
	heads := make([]attestation.Head, len(log)+1)
	edge := attlog.NewRange(0)
	for i := range log {
		if err := edge.Append(log[i]); err != nil {
			t.Fatal(err)
		}
		root, err := edge.Root()
		if err != nil {
			t.Fatal(err)
		}
		heads[i+1] = attestation.Head{Size: uint64(i + 1), Root: root}
	}
	for n1 := 1; n1 <= len(log); n1++ {
		for n2 := n1; n2 <= len(log); n2 += 1 + rng.IntN(1+len(log)/4) {
			left, right := rangeOf(t, log, n1, n2)
			f := attlog.Fork{A: bare(heads[n1]), B: bare(heads[n2]), Left: left, Right: right}
			if n1 == n2 {
				f.Left, f.Right = attlog.Range{}, attlog.Range{}
			}
			if err := f.Check(); !errors.Is(err, attlog.ErrConsistent) {
				t.Fatalf("%d and %d of one log: %v", n1, n2, err)
			}
		}
	}
	for range 200 {
		part := rng.IntN(300)
		other := append(branch{}, log[:301]...)
		other[part] = tlog.RecordHash([]byte("other"))
		n1, n2 := 1+rng.IntN(300), 1+rng.IntN(300)
		_, err := attlog.ProveFork(bare(other.head(n1)), bare(log.head(n2)), pick(n1 > n2, other, log))
		if differ := min(n1, n2) > part; differ != (err == nil) || !differ && !errors.Is(err, attlog.ErrConsistent) {
			t.Fatalf("parted at %d, sizes %d and %d: %v", part, n1, n2, err)
		}
	}
}

func pick(first bool, a, b branch) tlog.HashReader {
	if first {
		return a[:300]
	}
	return b[:300]
}

// rangeOf are the compact ranges [0, n1) and [n1, n2).
func rangeOf(t *testing.T, log branch, n1, n2 int) (left, right attlog.Range) {
	t.Helper()
	left, right = attlog.NewRange(0), attlog.NewRange(uint64(n1))
	for _, h := range log[:n1] {
		if err := left.Append(h); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range log[n1:n2] {
		if err := right.Append(h); err != nil {
			t.Fatal(err)
		}
	}
	return left, right
}

// TestEvidenceOfAWitness: whose cosignature stands on both heads has equivocated too; one that
// stands on one of them, or is false, has not.
func TestEvidenceOfAWitness(t *testing.T) {
	own, other := branch(leavesOf(goldenLog(t, 0xa2))), branch(leavesOf(goldenLog(t, 0xaf)))
	beta, gamma := did.MustParse("did:web:beta.example"), did.MustParse("did:web:gamma.example")
	keys := func(w did.DID) []did.PublicKey {
		return map[did.DID][]did.PublicKey{beta: {envelopetest.Repeat(0x21).Public()}, gamma: {envelopetest.Repeat(0x22).Public()}}[w]
	}
	cosign := func(n attlog.Note, w did.DID, by byte) attlog.Note {
		line, err := attlog.Cosign(t.Context(), envelopetest.Repeat(by), w, n, parseTime(t, "2026-12-15T09:00:06Z").Time())
		if err != nil {
			t.Fatal(err)
		}
		return n.With(line)
	}
	a, b := cosign(cosign(other.note(t, 4, 0x13), beta, 0x21), gamma, 0x22), cosign(cosign(own.note(t, 4, 0x13), beta, 0x21), gamma, 0x23)
	f, err := attlog.ProveFork(a, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Witnesses(keys); len(got) != 1 || got[0] != beta {
		t.Errorf("equivocators %v", got)
	}
	same, err := attlog.ProveFork(a, cosign(other.note(t, 4, 0x13), beta, 0x21), nil)
	if !errors.Is(err, attlog.ErrConsistent) || same.Witnesses(keys) != nil {
		t.Errorf("two notes of one head: %v", err)
	}
}

// TestEachByteOfEvidenceCounts is C-13 for forks: no changed character leaves evidence that
// says the same.
func TestEachByteOfEvidenceCounts(t *testing.T) {
	own, other := branch(leavesOf(goldenLog(t, 0xa2))), branch(leavesOf(goldenLog(t, 0xaf)))
	f, err := attlog.ProveFork(other.note(t, 3, 0x11), own.note(t, 4, 0x13), own)
	if err != nil {
		t.Fatal(err)
	}
	var texts [4]string
	texts[0], texts[1], texts[2], texts[3] = f.Texts()
	keys := func(size uint64) []did.PublicKey {
		return []did.PublicKey{envelopetest.Repeat(map[bool]byte{true: 0x11, false: 0x13}[size <= 3]).Public()}
	}
	for part := range texts {
		for i := range texts[part] {
			changed := texts
			b := []byte(changed[part])
			b[i] ^= 1
			changed[part] = string(b)
			g, err := attlog.ParseFork(changed[0], changed[1], changed[2], changed[3])
			if err == nil && g.By(keys) == nil {
				t.Fatalf("part %d, byte %d changed: still evidence", part, i)
			}
		}
	}
	for name, x := range map[string][4]string{
		"no left": {texts[0], texts[1], "", texts[3]}, "no ranges": {texts[0], texts[1], "", ""}, "line break": {texts[0], texts[1], texts[2] + "\n", texts[3]},
		"swapped": {texts[1], texts[0], texts[2], texts[3]}, "longer": {texts[0], texts[1], texts[2] + strings.Repeat("A", 9000), texts[3]},
	} {
		if _, err := attlog.ParseFork(x[0], x[1], x[2], x[3]); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzFork(f *testing.F) {
	f.Add("a", "b", "l", "r")
	f.Fuzz(func(t *testing.T, a, b, l, r string) {
		fork, err := attlog.ParseFork(a, b, l, r)
		if err != nil {
			return
		}
		if ta, tb, tl, tr := fork.Texts(); ta != a || tb != b || tl != l || tr != r {
			t.Error("evidence has two spellings")
		}
	})
}
