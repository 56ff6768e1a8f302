package store_test

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gowebpki/jcs"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/did/strictjson"
	"trustnode/node/store"
	"trustnode/scripts/benchtest"
)

var benchTime = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

// longLog is the log of an organization that rotated its update key until it has that many entries.
func longLog(b *testing.B, domain string, entries int) didwebvh.History {
	b.Helper()
	key := func(n int) *envelopetest.Signer { return envelopetest.Repeat(byte(n + 3)) }
	_, line, err := didwebvh.Create(b.Context(), didwebvh.CreateRequest{
		Domain: domain, Update: key(0), Next: key(1).Public(), Recovery: envelopetest.Repeat(1).Public(), Issuer: envelopetest.Repeat(2).Public(), At: benchTime,
	})
	if err != nil {
		b.Fatal(err)
	}
	now := benchTime.Add(time.Hour)
	h, err := didwebvh.Verify(line, nil, now)
	for n := 1; err == nil && n < entries; n++ {
		if line, err = didwebvh.Rotate(b.Context(), h, didwebvh.RotateRequest{Update: key(n), Next: key(n + 1).Public(), At: benchTime}); err == nil {
			h, err = h.Extend(line, nil, now)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	return h
}

// entryFloor is the work a log entry cannot be verified without: one signature, the entry canonical twice and its proof
// once, three hashes.
func entryFloor(b *testing.B, v didwebvh.Version) func() error {
	b.Helper()
	doc, err := strictjson.Parse(v.Line, 32)
	if err != nil {
		b.Fatal(err)
	}
	proofs, _ := doc.Get("proof")
	texts := [][]byte{v.Line, v.Line, proofs.Elements()[0].Raw()}
	signer, pre := envelopetest.Repeat(9), envelope.DataIntegrity([64]byte{1})
	sig, err := signer.Sign(b.Context(), pre)
	if err != nil {
		b.Fatal(err)
	}
	key := signer.Public()
	return func() error {
		for _, text := range texts {
			c, err := jcs.Transform(text)
			if err != nil {
				return err
			}
			sha256.Sum256(c)
		}
		return key.Verify(pre.Bytes(), sig)
	}
}

// BenchmarkFigureStart loads 64 organizations of 100 entries each from a database on disk; its floor is the work of
// their entries on all processors.
func BenchmarkFigureStart(b *testing.B) {
	const orgs, entries = 64, 100
	db, p := benchDB(b), pins.Memory()
	now := func() time.Time { return benchTime.Add(time.Hour) }
	first := keyring.New(store.NewRing(db), p, now)
	var last didwebvh.Version
	for n := range orgs {
		h := longLog(b, fmt.Sprintf("org%d.example", n), entries)
		if _, err := first.Offer(b.Context(), h.DID(), h.Log(), nil); err != nil {
			b.Fatal(err)
		}
		last = h.Head()
	}
	load := func() error {
		ring := keyring.New(store.NewRing(db), p, now)
		if err := ring.Load(b.Context()); err != nil {
			return err
		}
		if all, err := ring.List(b.Context()); err != nil || len(all) != orgs || all[0].State != did.Held {
			return fmt.Errorf("%d loaded: %v", len(all), err)
		}
		return nil
	}
	one := entryFloor(b, last)
	floor := func() error {
		cores := runtime.GOMAXPROCS(0)
		errs := make([]error, cores)
		var wg sync.WaitGroup
		for i := range cores {
			wg.Go(func() {
				for n := i; n < orgs*entries && errs[i] == nil; n += cores {
					errs[i] = one()
				}
			})
		}
		wg.Wait()
		return errs[0]
	}
	got, bare := benchtest.Turns(b, 7, 1, load, floor)
	benchtest.Latency(b, "keyring: start, 64 organizations of 100 entries", got, bare, "entry floors on all cores", benchtest.Target{Ratio: 1.5, P50: 1500 * time.Millisecond})
}
