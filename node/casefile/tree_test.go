package casefile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/scripts/benchtest"
)

// logOf is a log of n entries and more: opened, with n events before and n after a rotation, its head cosigned by two.
func logOf(t testing.TB, n int) *world {
	w := newWorld(t, "acme", "vendor", "arbiter")
	w.lend()
	for i := range 2 * n {
		if i == n {
			w.rotate(w.acme, true)
		}
		w.violation()
	}
	w.violation()
	w.head(w.acme)
	return w
}

func (w *world) violation() envelope.ID {
	return w.append(w.acme, attestation.Draft{Type: "loan.violation", Subject: w.perm.String(), Refs: []envelope.ID{w.perm},
		Data: attestation.LoanViolation{Borrower: w.quant.did, Class: "read_after_end", Number: 1, Permission: w.perm}})
}

// tree is the directory of a log, in memory.
type tree map[string][]byte

func (f tree) read(_ context.Context, path string) ([]byte, error) {
	b, ok := f[path]
	if !ok {
		return nil, os.ErrNotExist
	}
	return b, nil
}

// export writes the log of acme under its newest head.
func (w *world) export() tree { return w.under(w.acme.notes[len(w.acme.notes)-1]) }

func (w *world) under(n attlog.Note) tree {
	f := tree{}
	if err := attlog.Export(context.Background(), n, attlog.TilesOf(w.acme), func(path string, b []byte) error { f[path] = b; return nil }); err != nil {
		w.t.Fatal(err)
	}
	return f
}

func (w *world) openTree(f tree) (Tree, error) {
	return OpenTree(context.Background(), w.ring.Ring, f.read, Names{}, nil)
}

func TestAWholeLogVerifies(t *testing.T) {
	w := logOf(t, 300)
	var told []uint64
	tree, err := OpenTree(t.Context(), w.ring.Ring, w.export().read, Names{}, func(done, _ uint64) { told = append(told, done) })
	if err != nil {
		t.Fatal(err)
	}
	if n := uint64(len(w.acme.entries)); tree.Note.Head.Size != n || len(told) != 1 || told[0] != n {
		t.Errorf("%d entries, told of %d of %d", tree.Note.Head.Size, told, n)
	}
	if len(tree.Seen) != 2 || len(tree.Keys.Spans()) != 2 || tree.Types["loan.violation"] != 601 || len(tree.Waits)+len(tree.Disputed) != 0 {
		t.Errorf("%+v", tree)
	}
}

// TestAChangeAnywhereInALogIsFound flips bits of each file, cuts and drops files, and exchanges them.
func TestAChangeAnywhereInALogIsFound(t *testing.T) {
	w := logOf(t, 130)
	whole := w.export()
	rnd := rand.New(rand.NewPCG(rand.Uint64(), 1))
	for path := range whole {
		for what, change := range map[string]func(tree){
			"a bit of":   func(f tree) { b := append([]byte{}, f[path]...); b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8); f[path] = b },
			"the end of": func(f tree) { f[path] = f[path][:len(f[path])-1] },
			"more than":  func(f tree) { f[path] = append(append([]byte{}, f[path]...), 0) },
			"nothing of": func(f tree) { delete(f, path) },
			"another than": func(f tree) {
				for other, b := range whole {
					if other != path && string(b) != string(whole[path]) {
						f[path] = b
					}
				}
			},
		} {
			f := tree{}
			for k, v := range whole {
				f[k] = v
			}
			change(f)
			got, err := w.openTree(f)
			unknown := path == attlog.CheckpointFile && err == nil && len(got.Seen) == 1 && len(got.Waits) == 1 // a line of another name is one of nobody known
			if !unknown && !errors.As(err, new(*Fault)) {
				t.Errorf("%s %s: %v", what, path, err)
			}
		}
	}
}

// rebuilt is the log with entries changed by whoever holds all keys of heads: the tree is true.
func (w *world) rebuilt(change func([]attestation.Entry) []attestation.Entry) tree {
	o, was := w.acme, *w.acme
	defer func() { *o = was }()
	o.entries, o.hashes, o.notes = change(append([]attestation.Entry{}, o.entries...)), nil, nil
	for i, e := range o.entries {
		o.hashes = append(o.hashes, must(tlog.StoredHashes(int64(i), e, hashReader(o.hashes)))...)
	}
	w.head(o)
	return w.export()
}

func TestAFalseEntryUnderATrueHeadIsNamed(t *testing.T) {
	w := logOf(t, 130)
	flip := func(i int) func([]attestation.Entry) []attestation.Entry {
		return func(all []attestation.Entry) []attestation.Entry {
			e := append(attestation.Entry{}, all[i]...)
			e[1+40] ^= 1
			all[i] = e
			return all
		}
	}
	rotated := 0
	for i, e := range w.acme.entries {
		if _, ev, _ := e.Envelope(); ev.Type == "key.rotated" && rotated == 0 {
			rotated = i
		}
	}
	for _, c := range []struct {
		name   string
		change func([]attestation.Entry) []attestation.Entry
		want   string
	}{
		{"as it was", func(all []attestation.Entry) []attestation.Entry { return all }, ""},
		{"a false signature", flip(123), "acme.example 123 loan.violation: "},
		{"two of them, the first is named", func(all []attestation.Entry) []attestation.Entry { return flip(50)(flip(200)(all)) }, "acme.example 50 loan.violation: "},
		{"an old key after its rotation", func(all []attestation.Entry) []attestation.Entry {
			return append(all[:rotated+1], append([]attestation.Entry{all[rotated-1]}, all[rotated+1:]...)...)
		},
			fmt.Sprintf("acme.example %d loan.violation: ", rotated+1)},
		{"without its first entry", func(all []attestation.Entry) []attestation.Entry { return all[1:] }, "acme.example 0 "},
		{"without a rotation", func(all []attestation.Entry) []attestation.Entry { return append(all[:rotated], all[rotated+1:]...) }, fmt.Sprintf("acme.example %d loan.violation: ", rotated)},
		{"an entry of another", func(all []attestation.Entry) []attestation.Entry { all[77] = w.vendor.entries[0]; return all }, "acme.example 77 is an event of "},
		{"what is no entry", func(all []attestation.Entry) []attestation.Entry { all[66] = attestation.Entry("x"); return all }, "acme.example 66: "},
	} {
		_, err := w.openTree(w.rebuilt(c.change))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestALogWaitsForItsDIDLog(t *testing.T) {
	w := logOf(t, 3)
	var f *Fault
	if _, err := OpenTree(t.Context(), newRing().Ring, w.export().read, Names{}, nil); !errors.As(err, &f) || !f.Pending {
		t.Errorf("without a DID log: %v", err)
	}
	// the DID log of acme as it was before it rotated, and none of a witness
	r := newRing()
	first, _, _ := strings.Cut(string(w.acme.didLog), "\n")
	must(r.Offer(t.Context(), w.acme.did, []byte(first+"\n"), nil))
	if _, err := OpenTree(t.Context(), r.Ring, w.export().read, Names{}, nil); !errors.As(err, &f) || !f.Pending || !strings.Contains(f.What, "key.rotated") {
		t.Errorf("with an old DID log: %v", err)
	}
	must(r.Offer(t.Context(), w.acme.did, w.acme.didLog, nil))
	if tree, err := OpenTree(t.Context(), r.Ring, w.export().read, Names{}, nil); err != nil || len(tree.Seen) != 0 || len(tree.Waits) != 1 {
		t.Errorf("without those of witnesses: %+v, %v", tree, err)
	}
}

// BenchmarkFigureWholeLog verifies a log offline; TRUSTNODE_LONG makes it one of 10^6 entries. The floor is one Ed25519 verify for each,
// on all processors.
func BenchmarkFigureWholeLog(b *testing.B) {
	n := 20_000
	if os.Getenv("TRUSTNODE_LONG") != "" {
		n = 1_000_000
	}
	w := logOf(b, n/2)
	dir := b.TempDir()
	for path, data := range w.export() {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755), os.WriteFile(filepath.Join(dir, path), data, 0o644)); err != nil {
			b.Fatal(err)
		}
	}
	files := func(_ context.Context, path string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, path)) }
	whole := func() error {
		_, err := OpenTree(b.Context(), w.ring.Ring, files, Names{}, nil)
		return err
	}
	key, pre := envelopetest.Repeat(1), envelope.DataIntegrity([64]byte{1})
	sig := must(key.Sign(b.Context(), pre))
	bare := func() error {
		return Parallel(b.Context(), n, func(int) { _ = did.PublicKey.Verify(key.Public(), pre.Bytes(), sig) })
	}
	rounds := 5
	if n > 100_000 {
		rounds = 1
	}
	got, floor := benchtest.Turns(b, rounds, 1, whole, bare)
	rate := func(s benchtest.Spread) float64 { return float64(n) / s.P50.Seconds() }
	benchtest.Rate(b, fmt.Sprintf("verify: a whole log of %d entries, offline", n), rate(got), rate(floor), "Ed25519 verifies on all processors", benchtest.Target{Share: 0.6})
}
