package log_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/scripts/benchtest"
)

// BenchmarkFigureOffline verifies one event from its entry and its proof with three
// witnesses, where the keys are known; the floor is five verifications: event, head and
// three cosignatures.
func BenchmarkFigureOffline(b *testing.B) {
	ctx := b.Context()
	issuer, head := envelopetest.Repeat(0x11).Public(), envelopetest.Repeat(0x13).Public()
	entry, proof, witnesses := witnessedProof(b)
	src := envelope.KeySourceFunc(func(context.Context, did.DID, string) (did.Key, error) {
		return did.Key{Public: issuer, Version: "1"}, nil
	})
	offline := func() error {
		c, err := entry.Claim()
		if err != nil {
			return err
		}
		if _, err := c.Open(ctx, src); err != nil {
			return err
		}
		p, err := attlog.ParseProof(proof)
		if err != nil {
			return err
		}
		if err := errors.Join(p.Check(entry.Hash()), p.Note.Verify(head)); err != nil {
			return err
		}
		seen, _ := p.Note.Cosignatures(func(d did.DID) []did.PublicKey { return []did.PublicKey{witnesses[d]} })
		if len(seen) != 3 {
			return fmt.Errorf("%d cosignatures", len(seen))
		}
		return nil
	}
	env, _, err := entry.Envelope()
	if err != nil {
		b.Fatal(err)
	}
	pre := env.Preimage().Bytes()
	five := func() error {
		for range 5 {
			if err := issuer.Verify(pre, entry.Signature()); err != nil {
				return err
			}
		}
		return nil
	}
	got, floor := benchtest.Turns(b, 1000, 1, offline, five)
	benchtest.Latency(b, "log: one event offline, three witnesses", got, floor, "five Ed25519 verifies", benchtest.Target{P50: time.Millisecond})
}

// witnessedProof is entry 1 of the worked example with its proof under a head that three
// have cosigned.
func witnessedProof(b *testing.B) (attestation.Entry, []byte, map[did.DID]did.PublicKey) {
	b.Helper()
	entries := goldenLog(b, 0xa2)
	leaves := leavesOf(entries)
	n, err := attlog.Sign(b.Context(), envelopetest.Repeat(0x13), did.MustParse(goldenDID), attestation.Head{Size: 4, Root: attlog.RootOf(leaves)})
	if err != nil {
		b.Fatal(err)
	}
	keys := map[did.DID]did.PublicKey{}
	for i := range byte(3) {
		w, s := did.MustParse(fmt.Sprintf("did:web:w%d.example", i)), envelopetest.Repeat(0x21+i)
		line, err := attlog.Cosign(b.Context(), s, w, n, time.Date(2026, 12, 15, 9, 0, 6, 0, time.UTC))
		if err != nil {
			b.Fatal(err)
		}
		n, keys[w] = n.With(line), s.Public()
	}
	path, err := attlog.PathOf(leaves, 1)
	if err != nil {
		b.Fatal(err)
	}
	return entries[1], attlog.Proof{Index: 1, Path: path, Note: n}.Bytes(), keys
}
