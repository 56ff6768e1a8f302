package verifier_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
	"trustnode/node/verifier"
)

func shared(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "casefile", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func judgeProof(b []byte, change ...func(*verifier.Options)) verifier.Report {
	o := verifier.Options{Name: "proof.tnb", Now: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, f := range change {
		f(&o)
	}
	return verifier.Verify(context.Background(), bytes.NewReader(b), o)
}

// TestAProofIsJudgedByWhatItIsAbout: the files of a case and of an event have one header;
// what its first id names tells them apart.
func TestAProofIsJudgedByWhatItIsAbout(t *testing.T) {
	for name, want := range map[string]verifier.Kind{"proof.tnb": verifier.KindProof, "proof-public.tnb": verifier.KindProof, "proof-with.tnb": verifier.KindProof, "proof-row.tnb": verifier.KindProof, "case.tnb": verifier.KindCase, "rotated.tnb": verifier.KindCase} {
		r := judgeProof(shared(t, name))
		if r.Kind != want || !r.OK {
			t.Errorf("%s is a %s, want %s: %s", name, r.Kind, want, r.Why)
		}
	}
}

func TestWhatAProofSays(t *testing.T) {
	r := judgeProof(shared(t, "proof.tnb"))
	var text strings.Builder
	for _, l := range r.Lines {
		text.WriteString(l.Kind + "\t" + l.Text + "\n")
	}
	for _, want := range []string{"loan.issued", "stood up to 6, rotated at 7", "witnessed by 2", "fed1-admq-ppgp", "result\tverifies"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not said:\n%s", want, text.String())
		}
	}
	for name, want := range map[string]string{
		"proof.tnb":        "acme.example said at 3: loan zQmdASYZ… to z6MkgeAY…: 5 reads until 2026-12-31T10:00:20Z",
		"proof-with.tnb":   "acme.example wrote down that did:key:z6MkgeAYjgfXDoaxMou4TKNEtGJ8cYHARPASB12ehQ8b13ie asked under loan zQmdASYZJPcKM5sAddBPFnwaNptnPE8YBmedjukRZ6sy7bS and was refused as \"revoked\": row 0, committed at 6, after the revocation at 5",
		"proof-public.tnb": " of acme.example 8  ",
		"proof-row.tnb":    "was given answer 1, of 0 entries, under loan zQmdASYZJPcKM5sAddBPFnwaNptnPE8YBmedjukRZ6sy7bS: row 1, committed at 4",
	} {
		var claims []string
		for _, l := range judgeProof(shared(t, name)).Lines {
			if l.Kind == "claim" || l.Kind == "ok" && strings.HasPrefix(l.Text, "body ") {
				claims = append(claims, l.Text)
			}
		}
		if !strings.Contains(strings.Join(claims, "\n"), want) {
			t.Errorf("%s: %q is not said in %q", name, want, claims)
		}
	}
	if r := judgeProof(shared(t, "proof.tnb"), func(o *verifier.Options) { o.Strict = true }); r.OK {
		t.Error("strict verification takes the word of the file")
	}
	if r := judgeProof(shared(t, "proof.tnb"), func(o *verifier.Options) {
		o.Fingerprint = "fed1-cfty-5puv-redc-auo2-xlbf-5qzy-j7d6-3ghr-qhf5"
	}); r.OK {
		t.Error("another fingerprint is taken")
	}
}

func TestWhoeverVerifiesAsksForWitnesses(t *testing.T) {
	for _, c := range []struct {
		name, file string
		ask        int
		want       verifier.Outcome
		says       string
	}{
		{"as many as there are", "proof.tnb", 2, verifier.Verifies, ""},
		{"one more", "proof.tnb", 3, verifier.Pending, "is witnessed by 2 organizations, 3 are asked for"},
		{"of a case, as many as there are", "case.tnb", 1, verifier.Verifies, ""},
		{"of a case, more", "case.tnb", 5, verifier.Broken, "5 are asked for"},
	} {
		r := judgeProof(shared(t, c.file), func(o *verifier.Options) { o.Witnesses = c.ask })
		if r.Outcome != c.want || !strings.Contains(r.Why, c.says) {
			t.Errorf("%s: %s: %s", c.name, r.Outcome, r.Why)
		}
	}
}

// TestWitnessesAreAskedOfWhatAProofIsAbout takes the cosignatures from some entries of genuine proofs.
func TestWitnessesAreAskedOfWhatAProofIsAbout(t *testing.T) {
	for _, c := range []struct {
		name, file string
		strip      func(attestation.Event) bool
		want       verifier.Outcome
	}{
		{"an event, from what it rests on", "proof.tnb", func(e attestation.Event) bool { return e.Type != "loan.issued" }, verifier.Verifies},
		{"an event", "proof.tnb", func(e attestation.Event) bool { return e.Type == "loan.issued" }, verifier.Pending},
		{"a row, from what it rests on", "proof-row.tnb", func(e attestation.Event) bool { return e.Type != "audit.rows" }, verifier.Verifies},
		{"a row", "proof-row.tnb", func(e attestation.Event) bool { return e.Type == "audit.rows" }, verifier.Pending},
	} {
		about, lines := proofLines(t, shared(t, c.file))
		for i, l := range lines {
			if k, ok := l.(bundle.Entry); ok {
				if _, e, _ := attestation.Entry(k.Entry).Envelope(); c.strip(e) {
					lines[i] = unwitnessed(t, lines[i:i+1])[0]
				}
			}
		}
		if r := judgeProof(anew(t, about, lines...), func(o *verifier.Options) { o.Witnesses = 2 }); r.Outcome != c.want {
			t.Errorf("%s: %s, want %s: %s", c.name, r.Outcome, c.want, r.Why)
		}
	}
}

// TestOneChangedByteOfAProofIsFound is attestation I-10.
func TestOneChangedByteOfAProofIsFound(t *testing.T) {
	for _, name := range []string{"proof.tnb", "proof-with.tnb"} {
		t.Run(name, func(t *testing.T) { everyByteCounts(t, shared(t, name)) })
	}
}

func everyByteCounts(t *testing.T, b []byte) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range 60 {
		i, bit := rnd.IntN(len(b)), rnd.IntN(8)
		c := bytes.Clone(b)
		c[i] ^= 1 << bit
		if judgeProof(c).OK {
			t.Errorf("bit %d of byte %d is nothing", bit, i)
		}
		if judgeProof(slices.Delete(bytes.Clone(b), i, i+1)).OK {
			t.Errorf("byte %d is nothing", i)
		}
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	for i := range lines[:len(lines)-1] {
		if judgeProof(bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil)).OK {
			t.Errorf("line %d is nothing", i+1)
		}
	}
}

// anew writes lines below a header about some ids that fits them.
func anew(t *testing.T, about []envelope.ID, lines ...bundle.Line) []byte {
	t.Helper()
	b, err := bundle.Encode(bundle.Header{}, lines...)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(b, []byte("\n"))
	root := attlog.RootOf(attlog.Leaves(bytes.Split(bytes.TrimSuffix(rest, []byte("\n")), []byte("\n"))))
	head, err := bundle.EncodeHeader(bundle.Header{About: append(slices.Clone(about), root)})
	if err != nil {
		t.Fatal(err)
	}
	return append(append(head, '\n'), rest...)
}

func proofLines(t *testing.T, b []byte) (about []envelope.ID, out []bundle.Line) {
	t.Helper()
	head, rest, _ := bytes.Cut(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
	h, err := bundle.ParseHeader(head)
	if err != nil {
		t.Fatal(err)
	}
	for raw := range bytes.SplitSeq(rest, []byte("\n")) {
		l, err := bundle.ParseLine(raw)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return h.About[:len(h.About)-1], out
}

// TestAProofRestsOnEachLine writes proofs anew without one line, and with lines of another
// file: what is missing leaves it pending or broken, what is too much fails it.
func TestAProofRestsOnEachLine(t *testing.T) {
	for _, name := range []string{"proof-public.tnb", "proof-with.tnb", "proof-row.tnb"} {
		t.Run(name, func(t *testing.T) { restsOnEachLine(t, name) })
	}
}

func restsOnEachLine(t *testing.T, name string) {
	id, lines := proofLines(t, shared(t, name))
	if r := judgeProof(anew(t, id, lines...)); !r.OK {
		t.Fatal(r.Why)
	}
	for i, l := range lines {
		r := judgeProof(anew(t, id, slices.Delete(slices.Clone(lines), i, i+1)...))
		switch k := l.(type) {
		case bundle.Body: // of which the entry holds the id, unless the file is about it too
			r.OK = r.OK && slices.Contains(id, k.ID())
		case bundle.Envelope: // without the charter it rests on the DID of the organization
			if r.OK && strings.Contains(r.Lines[len(r.Lines)-1].Text, "fed1-") {
				t.Error("a proof without a charter names a federation")
			}
			r.OK = false
		}
		if r.OK {
			t.Errorf("a proof without line %d, a %s, verifies", i+2, l.Kind())
		}
	}
	_, whole := proofLines(t, shared(t, "rotated.tnb"))
	have := map[string]bool{}
	for _, l := range lines {
		b, _ := bundle.EncodeLine(l)
		have[string(b)] = true
	}
	for _, l := range whole {
		b, _ := bundle.EncodeLine(l)
		if have[string(b)] {
			continue
		}
		if r := judgeProof(anew(t, id, append(slices.Clone(lines), l)...)); r.OK {
			t.Errorf("a proof with a %s that it does not rest on verifies: %.200s", l.Kind(), b)
		}
	}
}

// TestWhatAFileIsAboutIsNamedAndProven writes headers that name more, less, or the same twice.
func TestWhatAFileIsAboutIsNamedAndProven(t *testing.T) {
	about, lines := proofLines(t, shared(t, "proof-with.tnb"))
	if r := judgeProof(anew(t, about, lines...)); !r.OK || len(about) != 4 {
		t.Fatal(r.Why)
	}
	for name, ids := range map[string][]envelope.ID{
		"one less":        about[:3],
		"the body less":   {about[0], about[2], about[3]},
		"the row less":    {about[0], about[1], about[3]},
		"one twice":       append(slices.Clone(about), about[0]),
		"one that is not": append(slices.Clone(about), envelope.IDOf([]byte("other"))),
		"none":            nil,
	} {
		if r := judgeProof(anew(t, ids, lines...)); r.OK {
			t.Errorf("%s: it verifies", name)
		}
	}
}
