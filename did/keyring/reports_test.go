package keyring_test

import (
	"errors"
	"fmt"
	"testing"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
)

// The tests here are named by the public bug reports they answer: section 15
// of the identity specification.

// TestB1LeakedUpdateKey (swiyu-admin-ch/didtoolbox-java#13, decentralized-identity/didwebvh#59): A rotated to B in
// entry 2, and the holder of the leaked A writes another entry 2.
func TestB1LeakedUpdateKey(t *testing.T) {
	ctx := t.Context()
	t.Run("with pre-rotation the thief's entry is no entry", func(t *testing.T) {
		one := acme(t)
		two := rotated(t, one, u2, u3, i2)
		r := fresh(t)
		r.hold(t, two)
		line := wild{
			parameters: fmt.Sprintf(`{"updateKeys":[%q],"nextKeyHashes":[%q]}`, u1.kid(), didwebvh.KeyHash(u3.Public())),
			state:      string(one.Head().Document.Raw()), by: u1,
		}.line(t, one)
		_, err := r.Offer(ctx, one.DID(), append(append(one.Log(), line...), '\n'), nil)
		if didwebvh.ReasonOf(err) != didwebvh.ReasonKey {
			t.Errorf("got %v", err)
		}
		if head, err := r.Head(ctx, one.DID()); err != nil || head != version(two, did.Held) {
			t.Errorf("head %+v, %v", head, err)
		}
	})
	t.Run("without it both verify, and freeze the DID", func(t *testing.T) {
		one := plain(t, u1, []seed{i1}, nil)
		entry := func(next, issuer seed) didwebvh.History {
			return wild{
				parameters: fmt.Sprintf(`{"updateKeys":[%q]}`, next.kid()),
				state:      document(one.DID().String(), []seed{issuer}, nil, ""), by: u1,
			}.after(t, one)
		}
		true2, thief := entry(u2, i2), entry(u3, i3)
		r := fresh(t)
		r.hold(t, true2)
		var f *keyring.Fork
		_, err := r.Offer(ctx, one.DID(), thief.Log(), nil)
		if !errors.As(err, &f) || f.Held != true2.Head().ID || f.Offered != thief.Head().ID || f.HeldLine == nil || f.OfferedLine == nil {
			t.Errorf("got %v", err)
		}
		for _, k := range []seed{i1, i2, i3} {
			if _, err := r.HeadSource().Key(ctx, one.DID(), k.kid()); !errors.Is(err, keyring.ErrFrozen) {
				t.Errorf("a key: %v", err)
			}
		}
	})
}

// TestB2ShortenedLog (decentralized-identity/didwebvh-ts#176): the first entries of a valid log verify, and are refused
// below the pin.
func TestB2ShortenedLog(t *testing.T) {
	ctx := t.Context()
	one := acme(t)
	h := one
	for n := range 4 {
		update := seed(100 + n)
		if n == 0 {
			update = u2
		}
		h = rotated(t, h, update, seed(101+n), 0)
	}
	for _, lost := range []bool{false, true} {
		for n := 1; n < h.Len(); n++ {
			r := fresh(t)
			r.hold(t, h)
			if lost {
				r = newHome(t, keyring.Memory(), r.pins)
			}
			var back *keyring.Rollback
			_, err := r.Offer(ctx, h.DID(), h.Prefix(n).Log(), nil)
			if !errors.As(err, &back) || back.Number != h.Len() || back.Held != h.Head().ID {
				t.Errorf("%d of %d, state lost %v: %v", n, h.Len(), lost, err)
			}
			head, err := r.Head(ctx, h.DID())
			if !lost && (err != nil || head != version(h, did.Held)) || lost && err == nil {
				t.Errorf("%d of %d, state lost %v: head %+v, %v", n, h.Len(), lost, head, err)
			}
		}
	}
}

// TestB10KeyOfAnotherRelationship (openwallet-foundation/credo-ts PR#2928, hyperledger/aries-framework-go#1652): a key
// listed only in authentication signs an assertion.
func TestB10KeyOfAnotherRelationship(t *testing.T) {
	logged := plain(t, u1, []seed{i1}, []seed{i2})
	doc := []byte(document(beta.String(), []seed{i1}, []seed{i2}, ""))
	r := trusting(t, doc)
	r.hold(t, logged)
	for d, at := range map[did.DID]string{logged.DID(): logged.Head().ID, beta: idOf(doc)} {
		for name, src := range map[string]envelope.KeySource{"at the head": r.HeadSource(), "at its version": r.AtSource(at)} {
			if _, err := src.Key(t.Context(), d, i2.kid()); !errors.Is(err, envelope.ErrUnknownKey) || !errors.Is(err, did.ErrRelationship) {
				t.Errorf("%s %s: %v", d, name, err)
			}
			if _, err := src.Key(t.Context(), d, i1.kid()); err != nil {
				t.Errorf("%s %s: the assertion key: %v", d, name, err)
			}
		}
		if keys, err := r.At(d, at); err != nil || len(keys) != 1 || keys[0] != i1.Public() {
			t.Errorf("%s: keys %v, %v", d, keys, err)
		}
	}
}
