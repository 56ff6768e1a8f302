package lender

import (
	"testing"

	"trustnode/did"
	"trustnode/node/fault"
)

func TestABorrowerWhoseCallsHangHoldsUpItselfAlone(t *testing.T) {
	l := newLimiter(DefaultRate)
	slow, other := did.MustParse("did:web:slow.example"), did.MustParse("did:web:other.example")
	var held []func()
	for range maxUnder {
		done, err := l.hold(slow)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, done)
	}
	if _, err := l.hold(slow); fault.Of(err) != fault.RateLimited {
		t.Errorf("one call too many: got %v, want rate_limited", err)
	}
	done, err := l.hold(other)
	if err != nil {
		t.Errorf("another borrower: %v", err)
	}
	done()
	held[0]()
	if done, err = l.hold(slow); err != nil {
		t.Errorf("after a call ended: %v", err)
	}
	done()
	for _, done := range held[1:] {
		done()
	}
	if len(l.under) != 0 {
		t.Errorf("%d borrowers are remembered without a call", len(l.under))
	}
}
