package envelope_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/scripts/benchtest"
)

// kibibyte is a permission whose body has 1 KiB.
func kibibyte(b *testing.B) (envelope.Envelope, envelope.KeySource, *envelopetest.Signer) {
	b.Helper()
	signer := envelopetest.Repeat(1)
	p := samplePermission(b)
	p.Scope += strings.Repeat(" -tag:x", (1024-478)/7)
	e, err := envelope.Seal(context.Background(), p, signer)
	if err != nil {
		b.Fatal(err)
	}
	if n := len(e.Body); n < 1020 || n > 1028 {
		b.Fatalf("body has %d bytes", n)
	}
	return e, envelopetest.Keys{harbor: {"key-1": signer.Public()}}, signer
}

// BenchmarkOpen stands beside BenchmarkVerifyFloor: opening a 1 KiB object costs at most 1.3 times one verification of
// the same pre-image, in at most 25 allocations.
func BenchmarkOpen(b *testing.B) {
	e, src, _ := kibibyte(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := envelope.Open[permission](context.Background(), e, src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerifyFloor(b *testing.B) {
	e, _, signer := kibibyte(b)
	msg, sig := e.Preimage().Bytes(), e.Signatures[0].Sig
	b.ReportAllocs()
	for b.Loop() {
		if err := signer.Public().Verify(msg, sig); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	e, _, _ := kibibyte(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := envelope.Decode[permission](e); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeTheOtherWay is what Decode replaces: encoding/json and a comparison with the RFC 8785 transform.
func BenchmarkDecodeTheOtherWay(b *testing.B) {
	e, _, _ := kibibyte(b)
	b.ReportAllocs()
	for b.Loop() {
		var p permission
		if err := json.Unmarshal(e.Body, &p); err != nil {
			b.Fatal(err)
		}
		if out, err := jcs.Transform(e.Body); err != nil || string(out) != string(e.Body) {
			b.Fatal("not canonical")
		}
	}
}

func BenchmarkMarshal(b *testing.B) {
	p := samplePermission(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := envelope.Marshal(p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseDSSE(b *testing.B) {
	e, _, _ := kibibyte(b)
	raw := e.DSSE()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := envelope.ParseDSSE(raw, 4096); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseCompact(b *testing.B) {
	e, _, _ := kibibyte(b)
	text, err := e.Compact()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := envelope.ParseCompact(text, e.Type, 4096); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeKey(b *testing.B) {
	text := envelopetest.Repeat(1).Public().Multikey()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := did.DecodeKey(text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFigureOpen is opening a 1 KiB object beside one verification of the same pre-image.
func BenchmarkFigureOpen(b *testing.B) {
	e, src, signer := kibibyte(b)
	msg, sig := e.Preimage().Bytes(), e.Signatures[0].Sig
	open := func() error {
		_, err := envelope.Open[permission](context.Background(), e, src)
		return err
	}
	got, floor := benchtest.Turns(b, 5000, 1, open, func() error { return signer.Public().Verify(msg, sig) })
	benchtest.Latency(b, "envelope: open 1 KiB", got, floor, "Ed25519 verify", benchtest.Target{Ratio: 1.3})
}

// BenchmarkFigureOpenAllocations is what opening it allocates.
func BenchmarkFigureOpenAllocations(b *testing.B) {
	e, src, _ := kibibyte(b)
	n := testing.AllocsPerRun(100, func() {
		if _, err := envelope.Open[permission](context.Background(), e, src); err != nil {
			b.Fatal(err)
		}
	})
	benchtest.Count(b, "envelope: open 1 KiB, allocations", n, 25)
}
