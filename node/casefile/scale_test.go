package casefile

import (
	"errors"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/scripts/benchtest"
)

// perManifest is how many exhibits a manifest of these tests lists.
const perManifest = 2000

// filed files a case with a list of exhibits: kind, id, kind, id, …
func (w *world) filed(n int, list []any) []byte {
	rest := list[min(len(list), 2*perManifest):]
	w.file(uint64(n), w.manifest(list[:len(list)-len(rest)]...))
	for len(rest) > 0 {
		k := min(len(rest), 2*perManifest)
		w.evidence(w.acme, w.manifest(rest[:k]...))
		rest = rest[k:]
	}
	return w.build()
}

// acts is the file of a case with n signed requests after the end of its loan, each with the row that refuses it.
func acts(t testing.TB, n int) []byte {
	w := newWorld(t, "acme", "vendor", "arbiter")
	w.lend()
	list := []any{"permission", w.perm, "revocation", w.revoked}
	for range n {
		id := w.request("again")
		list = append(list, "readrequest", id, "row", w.deny(id))
	}
	w.cover(w.acme)
	return w.filed(n, list)
}

// events is the file of a case to which n events belong that lie under one head.
func events(t testing.TB, n int) []byte {
	w := newWorld(t, "acme", "vendor", "arbiter")
	w.lend()
	list := []any{"permission", w.perm}
	for range n {
		list = append(list, "event", w.violation())
	}
	w.head(w.acme)
	return w.filed(n, list)
}

// BenchmarkFigureCaseOfEvents verifies a case to which 10,000 events belong; BenchmarkFigureCaseOfActs one of 10,000 acts.
// The floor is the signatures of the file, on all processors.
func BenchmarkFigureCaseOfEvents(b *testing.B) {
	figure(b, "verify: a case of 10,000 events, in process", events(b, 10_000))
}

func BenchmarkFigureCaseOfActs(b *testing.B) {
	figure(b, "verify: a case of 10,000 acts, in process", acts(b, 10_000))
}

func figure(b *testing.B, name string, file []byte) {
	whole := func() error {
		if r := verify(file, Options{}); !r.OK {
			return errors.New(r.Broken)
		}
		return nil
	}
	s, err := open(b.Context(), file, Options{})
	if err != nil {
		b.Fatal(err)
	}
	key := envelopetest.Repeat(1)
	pre := envelope.DataIntegrity([64]byte{1})
	sig := must(key.Sign(b.Context(), pre))
	bare := func() error {
		return Parallel(b.Context(), len(s.Entries)+len(s.objects), func(int) { _ = did.PublicKey.Verify(key.Public(), pre.Bytes(), sig) })
	}
	got, floor := benchtest.Turns(b, 10, 1, whole, bare)
	benchtest.Latency(b, name, got, floor, "its Ed25519 verifies on all processors", benchtest.Target{P50: 500 * time.Millisecond})
}
