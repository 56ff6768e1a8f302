package member

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/keys"
	"trustnode/did/pins"
	"trustnode/node/store"
	"trustnode/scripts/benchtest"
)

// asked is an entry that a witness is asked for.
type asked struct {
	org  did.DID
	line []byte
}

// witnessOnDisk is a node with its pins in a file, and n logs whose next entry it governs.
func witnessOnDisk(b *testing.B, n int) (*org, []asked) {
	b.Helper()
	ctx := b.Context()
	clock := newDial()
	o := found(b, "witness", clock)
	own := must(o.node.Ring.Log(ctx, o.did, 0))
	o.stop()
	file, err := pins.Open(filepath.Join(b.TempDir(), "pins"), clock.Now)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { file.Close() })
	// What is offered here is pinned in memory: the file is to hold what is witnessed.
	o.pins, o.state, o.audit = &split{pins.Memory(), file}, store.Memory(), store.Memory()
	ring := keyring.New(store.NewRing(o.state), o.pins, clock.Now)
	_, err = ring.Offer(ctx, o.did, own, nil)
	secret := must(keys.Memory())
	update, next, after, issuer := key(b, secret), key(b, secret), key(b, secret), key(b, secret)
	var out []asked
	for i := 0; err == nil && i < n; i++ {
		d, line, made := didwebvh.Create(ctx, didwebvh.CreateRequest{Domain: fmt.Sprintf("org%d.example", i), Update: update, Next: next.Public(),
			Recovery: newPaper(b).Public(), Issuer: issuer.Public(), At: clock.Now()})
		if err = made; err == nil {
			_, err = ring.Offer(ctx, d, append(line, '\n'), nil)
		}
		if err == nil {
			h := must(ring.History(ctx, d))
			out = append(out, asked{d, must(didwebvh.Rotate(ctx, h, didwebvh.RotateRequest{Update: next, Next: after.Public(), At: clock.Now(),
				Witness: &didwebvh.WitnessList{Threshold: 1, Keys: []did.PublicKey{o.witness}}}))})
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	o.start()
	return o, out
}

// split keeps what a witness signs in a file, and all else in memory.
type split struct {
	pins.Pins
	file pins.Pins
}

func (s *split) Put(ctx context.Context, slot pins.Slot, value string) error {
	if slot.Kind == pins.KindWitness {
		return s.file.Put(ctx, slot, value)
	}
	return s.Pins.Put(ctx, slot, value)
}

// BenchmarkFigureWitness is a request to witness an entry up to its durable proof; its floor
// is one signature verified, one line appended and synced, one signature made.
func BenchmarkFigureWitness(b *testing.B) {
	const n = 400
	o, list := witnessOnDisk(b, n)
	at := 0
	request := func() error {
		a := list[at]
		at++
		proof, err := o.WitnessEntry(b.Context(), a.org, a.line)
		if err == nil && len(proof) == 0 {
			err = errors.New("no proof")
		}
		return err
	}
	f, err := os.Create(filepath.Join(b.TempDir(), "floor"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	secret := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	pub, err := did.NewEd25519(secret.Public().(ed25519.PublicKey))
	if err != nil {
		b.Fatal(err)
	}
	p := envelope.DataIntegrity([64]byte{1}).Bytes()
	sig, row := did.Signature(ed25519.Sign(secret, p)), make([]byte, 180)
	floor := func() error {
		err := pub.Verify(p, sig)
		if err == nil {
			_, err = f.Write(row)
		}
		if err == nil {
			err = f.Sync()
		}
		ed25519.Sign(secret, p)
		return err
	}
	got, bare := benchtest.Turns(b, n, 1, request, floor)
	benchtest.Latency(b, "member: witness request to durable proof", got, bare, "verify + append + fsync + sign", benchtest.Target{Ratio: 1.3})
}
