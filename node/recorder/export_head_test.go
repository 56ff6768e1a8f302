package recorder_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"filippo.io/torchwood"

	"trustnode/attestation"
	"trustnode/did"
)

// TestTheHeadThatLeavesIsOneTheQuorumSaw: an auditor is given the newest head only where
// enough organizations cosigned it, and with it the policy that it meets.
func TestTheHeadThatLeavesIsOneTheQuorumSaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme, beta, gamma := newParty("acme", 0x11), newParty("beta", 0x21), newParty("gamma", 0x31)
		ring := knows(acme, beta, gamma)
		a, b := running(t, acme, ring), listener(t, ring, beta)
		ctx := context.Background()
		if _, err := b.HeadFor(ctx, acme.did, 0); !errors.Is(err, attestation.ErrNotFound) {
			t.Errorf("a log that is not held: %v", err)
		}
		a.event(t, barrier(1))
		flush(t, a)
		if err := a.Cosign(ctx, beta.did, &wire{from: acme.did, to: map[did.DID]*node{beta.did: b}}); err != nil {
			t.Fatal(err)
		}
		seen, err := a.HeadFor(ctx, acme.did, 1)
		if err != nil {
			t.Fatal(err)
		}
		a.event(t, barrier(2))
		flush(t, a)
		newest, err := a.HeadFor(ctx, acme.did, 0)
		if err != nil || newest.Head.Size <= seen.Head.Size {
			t.Fatalf("with no witness asked for, size %d after %d (%v)", newest.Head.Size, seen.Head.Size, err)
		}
		if n, err := a.HeadFor(ctx, acme.did, 1); err != nil || n.Head != seen.Head {
			t.Errorf("with one asked for, size %d (%v), want %d", n.Head.Size, err, seen.Head.Size)
		}
		if n, err := a.HeadFor(ctx, acme.did, 2); err != nil || n.Head != newest.Head {
			t.Errorf("with more than there are, size %d (%v), want the newest, %d", n.Head.Size, err, newest.Head.Size)
		}
		p, err := a.PolicyOf(ctx, seen, []did.DID{acme.did, beta.did, gamma.did}, 1)
		if err != nil {
			t.Fatal(err)
		}
		text, err := p.Bytes()
		if err != nil || len(p.Witnesses) != 2 {
			t.Fatalf("%+v: %v", p, err)
		}
		policy, err := torchwood.ParsePolicy(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := torchwood.VerifyCheckpoint(seen.Bytes(), policy); err != nil {
			t.Error(err)
		}
		if _, _, err := torchwood.VerifyCheckpoint(newest.Bytes(), policy); err == nil {
			t.Error("a head that nobody cosigned meets the policy")
		}
		newest.Head.Size++
		if _, err := a.PolicyOf(ctx, newest, nil, 0); err == nil {
			t.Error("a head that nobody signed has a policy")
		}
	})
}
