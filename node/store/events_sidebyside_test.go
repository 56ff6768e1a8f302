package store_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/node/store"
)

// gated holds the updates of a database back while it is closed.
type gated struct {
	store.DB
	closed  atomic.Bool
	reached chan struct{}
	open    chan struct{}
}

func (g *gated) Update(ctx context.Context, fn func(store.Tx) error) error {
	if g.closed.CompareAndSwap(true, false) {
		close(g.reached)
		<-g.open
	}
	return g.DB.Update(ctx, fn)
}

// TestAPeersAppendLeavesTheRowsAlone: an append to another log, computed before rows came and
// committed after them, takes nothing of them back, nor of the mark.
func TestAPeersAppendLeavesTheRowsAlone(t *testing.T) {
	ctx := context.Background()
	g := &gated{DB: store.Memory(), reached: make(chan struct{}), open: make(chan struct{})}
	defer g.Close()
	e, err := store.OpenEvents(ctx, g)
	if err != nil {
		t.Fatal(err)
	}
	f := filler{t, e}
	f.rows(1, 2)
	peer := did.MustParse("did:web:peer0.example")
	for i := 1; store.SharesLock(peer, org); i++ {
		peer = did.MustParse(fmt.Sprintf("did:web:peer%d.example", i))
	}
	some := func(n int) attestation.Batch {
		return attestation.Batch{Org: peer, From: f.size(peer), Entries: []attestation.Entry{f.entry(peer, n, func(*attestation.Event) {})}}
	}
	f.must(e.Append(ctx, some(1)))
	late := some(2)
	g.closed.Store(true)
	done := make(chan error, 1)
	go func() { done <- e.Append(ctx, late) }()
	<-g.reached
	f.rows(3, 5)
	close(g.open)
	f.must(<-done)
	again, err := store.OpenEvents(ctx, g)
	f.must(err)
	for name, e := range map[string]*store.Events{"as it is": e, "opened anew": again} {
		rows, covered := e.RowCounts()
		mark, _ := e.Mark(ctx)
		if rows != 7 || covered != 7 || mark != 8 {
			t.Errorf("%s: %d rows, %d covered, mark %d", name, rows, covered, mark)
		}
		if size := (filler{t, e}).size(peer); size != 2 {
			t.Errorf("%s: the peer's log has %d entries", name, size)
		}
	}
}
