package client

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self"
)

// watched are signers that count what is signed after it is over.
type watched struct {
	self.Signers
	over       atomic.Bool
	late, sign atomic.Int64
}

func (w *watched) Agent(ctx context.Context, d did.DID) (envelope.Signer, string, error) {
	s, kid, err := w.Signers.Agent(ctx, d)
	return watchedSigner{s, w}, kid, err
}

type watchedSigner struct {
	envelope.Signer
	w *watched
}

func (s watchedSigner) Sign(ctx context.Context, p envelope.Preimage) (did.Signature, error) {
	runtime.Gosched()
	if s.w.over.Load() {
		s.w.late.Add(1)
	}
	s.w.sign.Add(1)
	return s.Signer.Sign(ctx, p)
}

// end revokes the borrowing agent as its own node does.
func (k *kit) end(revoked bool) {
	k.vendor.Change(k.t, k.quant, func(a *self.AgentRow) { a.Revoked = revoked })
	if revoked {
		k.AgentEnded()
	}
}

// Nothing is signed in an agent's name once its end has returned, whatever was under way.
func TestARevokedAgentSignsNothing(t *testing.T) {
	k := newKit(t)
	w := &watched{Signers: k.vendor.Signers}
	k.vendor.Node.Signers = w
	loan := k.issue(t, 100_000)
	k.mustRead(t, loan.Compact)
	w.sign.Store(0)
	const rounds = 300
	for i := range rounds {
		w.over.Store(false)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for range i % 20 {
					runtime.Gosched()
				}
				_, err := k.Read(context.Background(), k.ask(loan.Compact))
				if err != nil && fault.From(err).Reason != lending.ReasonBorrower {
					t.Errorf("round %d: %v", i, err)
				}
			})
		}
		time.Sleep(time.Duration(i) * time.Microsecond)
		k.end(true)
		w.over.Store(true)
		wg.Wait()
		d := k.refused(t, loan.Compact, fault.Refused, false)
		if d.Reason != lending.ReasonBorrower {
			t.Errorf("got %+v", d)
		}
		k.end(false)
	}
	if w.late.Load() > 0 {
		t.Errorf("%d of %d requests were signed after the end had returned", w.late.Load(), w.sign.Load())
	}
	if n := w.sign.Load(); n == 0 || n == 2*rounds {
		t.Errorf("%d of %d reads were signed: the rounds did not race", n, 2*rounds)
	}
}

// What an agent read while it was revoked is on record, and nobody is handed it.
func TestContentForAnAgentThatEndedMeanwhile(t *testing.T) {
	k := newKit(t)
	loan := k.issue(t, 10)
	k.wire.set(false, func(_ context.Context, ask func() []byte) ([]byte, error) {
		answer := ask()
		k.end(true)
		return answer, nil
	})
	if d := k.refused(t, loan.Compact, fault.Refused, false); d.Reason != lending.ReasonBorrower {
		t.Errorf("got %+v", d)
	}
	if pairs, err := k.Receipts(t.Context(), loan.ID.String()); err != nil || len(pairs) != 1 {
		t.Errorf("receipts: %v, %v", pairs, err)
	}
	if rows := k.rows(t, loan.ID); len(rows) != 1 {
		t.Errorf("rows: %v", rows)
	}
}
