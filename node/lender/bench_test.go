package lender

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/memory"
	"trustnode/node/store"
)

// big is a lender on disk with n entries, of which 20 match the loan.
func big(b *testing.B, n int) (*kit, Loan) {
	b.Helper()
	k := newKit(b, onDisk(b.TempDir()), Config{})
	k.add(b, "First.", "other")
	in, err := memory.NewPlace(tenant, folio)
	if err != nil {
		b.Fatal(err)
	}
	w, err := memory.NewWriter(in, k.research, memory.ByOperator)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; i < n; i += 500 {
		err := k.acme.DB.Update(b.Context(), func(tx store.Tx) error {
			for j := i; j < i+500 && j < n; j++ {
				tags := []string{"other"}
				if j%(n/20) == 0 {
					tags = []string{"client:acme"}
				}
				d := memory.Draft{Statement: fmt.Sprintf("Berth %d is closed for dredging until further notice.", j), Tags: tags}
				if _, err := k.acme.Entries.Put(tx, w, d); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return k, k.issue(b, 1_000_000)
}

func drop([]byte) error { return nil }

// One caller: a read as it comes over a stream, durable, 10,000 entries, 20 results.
func BenchmarkRead(b *testing.B) {
	k, loan := big(b, 10_000)
	var frames [][]byte
	b.ReportAllocs()
	for b.Loop() {
		if len(frames) == 0 {
			b.StopTimer()
			for range 500 {
				frames = append(frames, frame(b, lending.MethodRead, k.request(b, loan), ""))
			}
			b.StartTimer()
		}
		if err := k.Serve(context.Background(), did.DID{}, frames[0], drop, func() {}); err != nil {
			b.Fatal(err)
		}
		frames = frames[1:]
	}
	check(b, k, loan)
}

// check wants every read to have been granted.
func check(b *testing.B, k *kit, loan Loan) {
	b.Helper()
	l, err := k.Loan(b.Context(), loan.ID.String())
	if err != nil || l.Reads < uint64(b.N) {
		b.Errorf("%d of %d reads were granted, %v", l.Reads, b.N, err)
	}
}

// What no read can be below: one verify, one sign, one synced update.
func BenchmarkReadFloor(b *testing.B) {
	k, loan := big(b, 20)
	e, err := envelope.ParseCompact(k.request(b, loan), lending.ReadRequestType, lending.MaxRequest)
	if err != nil {
		b.Fatal(err)
	}
	key, _, err := k.vendor.Signers.Agent(b.Context(), k.quant)
	if err != nil {
		b.Fatal(err)
	}
	msg := e.Preimage()
	for b.Loop() {
		if err := key.Public().Verify(msg.Bytes(), e.Signatures[0].Sig); err != nil {
			b.Fatal(err)
		}
		if _, err := key.Sign(b.Context(), msg); err != nil {
			b.Fatal(err)
		}
		if err := k.acme.DB.Update(b.Context(), func(tx store.Tx) error { return tx.Set([]byte("floor"), e.Body) }); err != nil {
			b.Fatal(err)
		}
	}
}

// 32 callers on one permission.
func BenchmarkReadParallel(b *testing.B) {
	k, loan := big(b, 10_000)
	frames := make([][]byte, b.N)
	for i := range frames {
		frames[i] = frame(b, lending.MethodRead, k.request(b, loan), "")
	}
	var next atomic.Int64
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			f := frames[next.Add(1)-1]
			if err := k.Serve(context.Background(), did.DID{}, f, drop, func() {}); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
	check(b, k, loan)
}

// The state of a permission, signed.
func BenchmarkStatus(b *testing.B) {
	k, loan := big(b, 20)
	rq := k.request(b, loan, func(rq *lending.ReadRequest) { rq.Op = lending.OpStatus })
	for b.Loop() {
		if _, err := k.Status(context.Background(), Call{Request: rq}); err != nil {
			b.Fatal(err)
		}
	}
}
