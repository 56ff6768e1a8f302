package keys

import (
	"context"
	"crypto/ed25519"
	"path/filepath"
	"testing"

	"trustnode/did/envelope"
	"trustnode/scripts/benchtest"
)

func BenchmarkSign(b *testing.B) {
	s, _ := create(b)
	g := generate(b, s)
	p := envelope.DataIntegrity([64]byte{1})
	b.Run("open handle", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := g.Sign(context.Background(), p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor: ed25519.Sign", func(b *testing.B) {
		key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		for b.Loop() {
			ed25519.Sign(key, p.Bytes())
		}
	})
	b.Run("key from disk", func(b *testing.B) {
		for b.Loop() {
			s.mu.Lock()
			clear(s.opened)
			s.mu.Unlock()
			if _, err := s.Signer(context.Background(), g.Public()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "keys")
	if _, err := Create(dir, passphrase); err != nil {
		b.Fatal(err)
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			if _, err := Open(dir, passphrase); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor: argon2id", func(b *testing.B) {
		l := lock{params: DefaultParams}
		for b.Loop() {
			l.derive(passphrase)
		}
	})
}

// BenchmarkFigureSign is a signature by an open handle beside the bare one.
func BenchmarkFigureSign(b *testing.B) {
	s, _ := create(b)
	g := generate(b, s)
	p := envelope.DataIntegrity([64]byte{1})
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	sign := func() error {
		_, err := g.Sign(context.Background(), p)
		return err
	}
	got, floor := benchtest.Turns(b, 5000, 1, sign, func() error { ed25519.Sign(key, p.Bytes()); return nil })
	benchtest.Latency(b, "keys: sign", got, floor, "ed25519.Sign", benchtest.Target{Ratio: 1.5})
}

// BenchmarkFigureUnlock is opening the keys of a node beside the derivation of their key.
func BenchmarkFigureUnlock(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "keys")
	if _, err := Create(dir, passphrase); err != nil {
		b.Fatal(err)
	}
	open := func() error {
		s, err := Open(dir, passphrase)
		if err == nil {
			s.Close()
		}
		return err
	}
	l := lock{params: DefaultParams}
	got, floor := benchtest.Turns(b, 9, 1, open, func() error { l.derive(passphrase); return nil })
	benchtest.Latency(b, "keys: unlock", got, floor, "argon2id", benchtest.Target{Ratio: 1.1})
}
