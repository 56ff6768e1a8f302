package casefile

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
)

var update = flag.Bool("update", false, "write the golden files anew")

func verify(b []byte, o Options) Report { return Verify(context.Background(), bytes.NewReader(b), o) }

func text(r Report) string {
	var out strings.Builder
	for _, l := range r.Lines {
		out.WriteString(l.Kind + "\t" + l.Text + "\n")
	}
	return out.String()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs:\n%s", name, got)
	}
}

func TestTheFileOfAWholeCaseAndItsReportAreGolden(t *testing.T) {
	w := story(t)
	b := w.build()
	golden(t, "case.tnb", b)
	r := verify(b, Options{Name: "some/folder/case.tnb"})
	if !r.OK || r.Broken != "" {
		t.Fatalf("does not verify: %s", r.Broken)
	}
	golden(t, "case.txt", []byte(text(r)))
}

// TestTheFileOfACaseAcrossRotationsIsGolden has both parties rotate their keys, before and
// after what the case rests on.
func TestTheFileOfACaseAcrossRotationsIsGolden(t *testing.T) {
	w := rotatedStory(t)
	b := w.build()
	golden(t, "rotated.tnb", b)
	if r := verify(b, Options{}); !r.OK {
		t.Errorf("%s\n%s", r.Broken, text(r))
	}
}

func TestTheGoldenFilesVerifyByTheirBytesAlone(t *testing.T) {
	for _, name := range []string{"case.tnb", "rotated.tnb"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if r := verify(b, Options{}); !r.OK {
			t.Errorf("%s: %s", name, r.Broken)
		}
	}
}

func TestBuildingTwiceGivesTheSameBytes(t *testing.T) {
	w := story(t)
	if !bytes.Equal(w.build(), w.build()) {
		t.Error("two files of one case differ")
	}
}

// refused wants a file not to verify, with a sentence that names a line.
func refused(t *testing.T, what string, b []byte) {
	t.Helper()
	r := verify(b, Options{Name: "case.tnb"})
	last := r.Lines[len(r.Lines)-1]
	if r.OK || last != (Line{"result", "does not verify"}) {
		t.Errorf("%s: verifies", what)
		return
	}
	if !strings.HasPrefix(r.Broken, "line ") {
		t.Errorf("%s: names no line: %s", what, r.Broken)
	}
}

func TestOneChangedByteAnywhereIsFound(t *testing.T) {
	b := story(t).build()
	offsets := map[int]bool{}
	for i := range bytes.IndexByte(b, '\n') + 1 {
		offsets[i] = true
	}
	for i := bytes.LastIndexByte(b[:len(b)-1], '\n'); i < len(b); i++ {
		offsets[i] = true
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := len(offsets) + 520; len(offsets) < n && !testing.Short(); {
		offsets[rnd.IntN(len(b))] = true
	}
	for i := range offsets {
		c := bytes.Clone(b)
		c[i] ^= 1 << (i % 7)
		refused(t, "offset "+number(uint64(i)), c)
	}
}

func TestOneByteMoreOrLessIsFound(t *testing.T) {
	b := story(t).build()
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 40 {
		i := rnd.IntN(len(b))
		refused(t, "dropped byte "+number(uint64(i)), slices.Delete(bytes.Clone(b), i, i+1))
		refused(t, "added byte "+number(uint64(i)), slices.Insert(bytes.Clone(b), i, ' '))
		if i > 0 {
			refused(t, "cut at "+number(uint64(i)), b[:i])
		}
	}
	refused(t, "a newline more", append(bytes.Clone(b), '\n'))
}

func linesOf(b []byte) [][]byte {
	return bytes.SplitAfter(b[:len(b):len(b)], []byte("\n"))[:bytes.Count(b, []byte("\n"))]
}

func TestLinesDroppedDuplicatedOrSwappedAreFound(t *testing.T) {
	lines := linesOf(story(t).build())
	for i := range lines {
		refused(t, "dropped line "+number(uint64(i+1)), bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil))
		refused(t, "doubled line "+number(uint64(i+1)), bytes.Join(slices.Insert(slices.Clone(lines), i, lines[i]), nil))
		for _, j := range []int{0, i / 3, i - 1} {
			if j < 0 || j == i {
				continue
			}
			c := slices.Clone(lines)
			c[i], c[j] = c[j], c[i]
			refused(t, "swapped lines "+number(uint64(j+1))+" and "+number(uint64(i+1)), bytes.Join(c, nil))
		}
	}
}

func TestMessagesSayWhatBroke(t *testing.T) {
	b := story(t).build()
	lines := linesOf(b)
	at := func(kind bundle.Kind, nth int) int {
		for i, l := range lines[1:] {
			if p, err := bundle.ParseLine(bytes.TrimSuffix(l, []byte("\n"))); err == nil && p.Kind() == kind {
				if nth--; nth < 0 {
					return i + 1
				}
			}
		}
		t.Fatal("no such line")
		return 0
	}
	change := func(i int, member string, offset int) []byte {
		c := slices.Clone(lines)
		l := bytes.Clone(c[i])
		p := bytes.Index(l, []byte(member)) + len(member) + offset
		l[p] = map[bool]byte{true: 'B', false: 'A'}[l[p] == 'A']
		c[i] = l
		return bytes.Join(c, nil)
	}
	for _, tt := range []struct {
		name string
		file []byte
		want string
	}{
		{"the signature of an event", change(at(bundle.KindEntry, 0), `"entry":"`, 20), "does not lead to the head of size"},
		{"the hash path of a row", change(at(bundle.KindRow, 0), `"row":"`, 30), "row"},
		{"the id of a body", change(at(bundle.KindBody, 0), `"id":"zQm`, 5), "body has id"},
		{"the signature of an object", change(at(bundle.KindEnvelope, 3), `"sig":"`, 5), "signature"},
		{"an entry of a DID log", change(at(bundle.KindDIDLog, 0), `"did_log":"`, 300), "DID log of"},
		{"the case in the header", change(0, `"about":["zQm`, 5), "line 1:"},
	} {
		r := verify(tt.file, Options{})
		if r.OK || !strings.Contains(r.Broken, tt.want) {
			t.Errorf("%s: got %q, want %q in it", tt.name, r.Broken, tt.want)
		}
	}
}

func TestTrustStartsAtTheFingerprint(t *testing.T) {
	w := story(t)
	b := w.build()
	fed := charter.Fingerprint(w.chain.Federation())
	other := charter.Fingerprint(envelope.IDOf([]byte("other")))
	set, _, _, err := Open(t.Context(), b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(set.Entries, func(e Entry) bool { return e.event().Org == w.acme.did })
	size, root := set.Entries[i].Head.Size, set.Entries[i].Head.Root
	for _, tt := range []struct {
		name string
		o    Options
		ok   bool
		want string
	}{
		{"without one the file's own genesis vouches, aloud", Options{}, true, "against the genesis in this file only, compare " + fed},
		{"without one strict refuses", Options{Strict: true}, false, "a fingerprint is needed"},
		{"with the right one", Options{Fingerprint: fed, Strict: true}, true, "walked 0..0 from the fingerprint"},
		{"with that of another federation", Options{Fingerprint: other}, false, "fingerprint is of something else"},
		{"with pins of its charter", Options{Strict: true, Known: known(t, "head %s 0 %s", w.chain.Federation(), w.chain.Head().ID)}, true, "walked 0..0 from the genesis that the pins know; newest"},
		{"with pins of a later charter", Options{Strict: true, Known: known(t, "head %s 3 %s", w.chain.Federation(), w.id)}, true, "walked 0..0 from the genesis that the pins know; newest"},
		{"with pins of another charter", Options{Known: known(t, "head %s 0 %s", w.chain.Federation(), w.id)}, false, "the pins name " + w.id.String()},
		{"with pins of another federation", Options{Strict: true, Known: known(t, "head %s 0 %s", w.id, w.id)}, false, "a fingerprint is needed"},
		{"with pins of another DID log", Options{Known: known(t, "did %s 1 1-QmOther", w.acme.did)}, false, "does not hold version 1-QmOther"},
		{"with the pin of a head in it", Options{Known: known(t, "log %s %d %s", w.acme.did, size, root)}, true, "against the genesis in this file only"},
		{"with the pin of another head of its size", Options{Known: known(t, "cosign %s %d %s", w.acme.did, size, w.id)}, false, "it signed two heads"},
		{"with a typing mistake", Options{Fingerprint: fed[:len(fed)-1] + "?"}, false, "not a fingerprint"},
	} {
		r := verify(b, tt.o)
		if r.OK != tt.ok || !strings.Contains(text(r), tt.want) {
			t.Errorf("%s: ok %v, %s", tt.name, r.OK, text(r))
		}
		if r.OK == (r.Broken != "") {
			t.Errorf("%s: ok %v and broken %q", tt.name, r.OK, r.Broken)
		}
	}
}

func TestWhatIsNoCaseFileDoesNotVerify(t *testing.T) {
	w := story(t)
	for _, tt := range []struct {
		name string
		file []byte
		want string
	}{
		{"nothing", nil, "not the header of a bundle"},
		{"a text", []byte("hello\n"), "not the header of a bundle"},
		{"a DID log", w.acme.didLog, "not the header of a bundle"},
		{"an empty bundle", []byte("{\"trustnode\":\"bundle\",\"v\":1}\n"), "no charter"},
		{"a header about a case, and nothing else", []byte(`{"about":["` + w.id.String() + `"],"trustnode":"bundle","v":1}` + "\n"), "no charter"},
	} {
		r := verify(tt.file, Options{Name: "case.tnb"})
		if r.OK || !strings.Contains(text(r), tt.want) {
			t.Errorf("%s: ok %v, %s", tt.name, r.OK, text(r))
		}
	}
}

func FuzzVerify(f *testing.F) {
	b := story(f).build()
	f.Add(b)
	for i, l := range linesOf(b) {
		if i > 0 {
			f.Add(slices.Concat(linesOf(b)[0], l))
		}
	}
	f.Fuzz(func(t *testing.T, c []byte) {
		if r := verify(c, Options{}); r.OK && !bytes.Equal(c, b) && bytes.HasPrefix(c, []byte(`{"about"`)) {
			t.Fatal("another case file verifies")
		}
	})
}

// FuzzVerifyAnew puts a line in the place of another and writes the header anew, so that
// every check below it is reached.
func FuzzVerifyAnew(f *testing.F) {
	w := story(f)
	whole := must(split(context.Background(), w.build())).lines
	for i, l := range whole {
		f.Add(i, l.raw)
	}
	f.Fuzz(func(t *testing.T, i int, raw []byte) {
		l, err := bundle.ParseLine(raw)
		if i < 0 || i >= len(whole) || err != nil {
			return
		}
		var lines []bundle.Line
		for j, k := range whole {
			if j != i {
				lines = append(lines, k.Line)
			}
		}
		file, err := encode([]envelope.ID{w.id}, append(lines, l))
		if err != nil {
			return
		}
		if r := verify(file, Options{}); r.OK && !slices.ContainsFunc(whole, func(k line) bool { return bytes.Equal(k.raw, raw) }) {
			t.Fatalf("line %d can be %s", i, raw)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	file := story(b).build()
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if r := verify(file, Options{}); !r.OK {
			b.Fatal(r.Broken)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	w := story(b)
	for b.Loop() {
		w.build()
	}
}

// known are pins of one line.
func known(t *testing.T, format string, a ...any) Known {
	t.Helper()
	slot, value, err := pins.Parse(fmt.Sprintf(format, a...))
	p := pins.Memory()
	if err == nil {
		err = p.Put(t.Context(), slot, value)
	}
	if err != nil {
		t.Fatal(err)
	}
	return Known{p}
}
