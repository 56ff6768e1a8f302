package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"trustnode/attestation/log"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/federation/bundle"
	"trustnode/scripts/benchtest"
)

// BenchmarkFigureDemo times the built program: the demo from start to end, then the
// verification of the case file that it leaves.
func BenchmarkFigureDemo(b *testing.B) {
	dir := b.TempDir()
	bin, err := build()
	if err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for _, name := range []string{"1", "2", "3"} {
		start := time.Now()
		if out, err := exec.Command(bin, "testnet", "demo", "--dir", filepath.Join(dir, name)).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		took = append(took, time.Since(start))
	}
	version := process(bin, "--version")
	demo, start := benchtest.Of(took), benchtest.Spread{}
	start, _ = benchtest.Turns(b, 20, 1, version, func() error { return nil })
	benchtest.Latency(b, "demo: end to end, three nodes", demo, start, "the program starts and ends", benchtest.Target{P50: 15 * time.Second})
	verifyCold(b, bin, filepath.Join(dir, "1", "case.tnb"), version)
}

// verifyCold verifies a case file in a process of its own; its floor reads the file and
// checks as many signatures as it holds. What the bare program takes is told beside it.
func verifyCold(b *testing.B, bin, file string, version func() error) {
	n, err := signatures(file)
	if err != nil {
		b.Fatal(err)
	}
	verify := process(bin, "verify", file)
	floor := reading(b, file, n)
	got, least := benchtest.Turns(b, 20, 1, verify, floor)
	benchtest.Latency(b, "verify case.tnb, cold", got, least, "its signatures + reading it", benchtest.Target{P50: 100 * time.Millisecond})
	start, _ := benchtest.Turns(b, 20, 1, version, func() error { return nil })
	benchtest.Latency(b, "verify case.tnb, cold, beside a bare start", got, start, "trustnode --version", benchtest.Target{})
}

func process(bin string, args ...string) func() error {
	return func() error {
		out, err := exec.Command(bin, args...).CombinedOutput()
		if err != nil {
			err = errors.Join(err, errors.New(string(out)))
		}
		return err
	}
}

// reading reads a file and verifies n signatures.
func reading(b *testing.B, file string, n int) func() error {
	s, pre := envelopetest.Repeat(1), envelope.DataIntegrity([64]byte{1})
	sig, err := s.Sign(b.Context(), pre)
	if err != nil {
		b.Fatal(err)
	}
	key := s.Public()
	return func() error {
		if _, err := os.ReadFile(file); err != nil {
			return err
		}
		for range n {
			if err := key.Verify(pre.Bytes(), sig); err != nil {
				return err
			}
		}
		return nil
	}
}

// signatures counts those in a case file: of objects, of entries, of each head with its
// cosignatures once, and of DID log entries.
func signatures(file string) (n int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r, err := bundle.NewReader(f)
	if err != nil {
		return 0, err
	}
	heads := map[string]bool{}
	for {
		l, err := r.Next()
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
		switch l := l.(type) {
		case bundle.DIDLog:
			n += bytes.Count(l.Log, []byte("\n"))
		case bundle.Envelope:
			n += len(l.Signatures)
		case bundle.Compact:
			n++
		case bundle.Entry:
			n++
			p, err := log.ParseProof(l.Proof)
			if err != nil {
				return 0, err
			}
			if text := string(p.Note.Bytes()); !heads[text] {
				heads[text] = true
				n += len(p.Note.Lines)
			}
		}
	}
}
