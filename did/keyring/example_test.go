package keyring_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/pins"
)

// A node learns a partner's log from a file, and later a peer shows it an older one.
func Example() {
	ctx := context.Background()
	org, first, _ := didwebvh.Create(ctx, didwebvh.CreateRequest{
		Domain: "acme.example", Update: u1, Next: u2.Public(), Recovery: rec.Public(), Issuer: i1.Public(), At: day1,
	})
	history, _ := didwebvh.Verify(first, nil, day1)
	second, _ := didwebvh.Rotate(ctx, history, didwebvh.RotateRequest{
		Update: u2, Next: u3.Public(), Issuer: i2.Public(), At: day2,
	})

	ring := keyring.New(keyring.Memory(), pins.Memory(), func() time.Time { return seen })
	if err := ring.Load(ctx); err != nil {
		fmt.Println(err)
	}
	for _, lines := range [][]byte{first, second} {
		result, err := ring.Offer(ctx, org, lines, nil)
		fmt.Println(result.Advanced, result.Version.Number, err)
	}
	_, err := ring.Offer(ctx, org, first, nil)
	fmt.Println(err != nil)

	_, err = ring.HeadSource().Key(ctx, org, i1.kid())
	fmt.Println(errors.Is(err, envelope.ErrRetired))
	// Output:
	// true 1 <nil>
	// true 2 <nil>
	// true
	// true
}

// Two valid entries of one number appear. Nothing new is accepted until somebody decides, and the other entry stays as evidence.
func ExampleRing_AcceptHead() {
	ctx := context.Background()
	org, first, _ := didwebvh.Create(ctx, didwebvh.CreateRequest{
		Domain: "acme.example", Update: u1, Next: u2.Public(), Recovery: rec.Public(), Issuer: i1.Public(), At: day1,
	})
	history, _ := didwebvh.Verify(first, nil, day1)
	branch := func(issuer seed) didwebvh.History {
		line, _ := didwebvh.Rotate(ctx, history, didwebvh.RotateRequest{Update: u2, Next: u3.Public(), Issuer: issuer.Public(), At: day2})
		h, _ := history.Extend(line, nil, day2)
		return h
	}
	thief, ours := branch(i2), branch(i3)

	ring := keyring.New(keyring.Memory(), pins.Memory(), func() time.Time { return seen })
	_, err := ring.Offer(ctx, org, thief.Log(), nil)
	fmt.Println(err)
	_, err = ring.Offer(ctx, org, ours.Log(), nil)
	fmt.Println(errors.Is(err, keyring.ErrFrozen))

	result, err := ring.AcceptHead(ctx, org, ours.Head().ID, "charter 8")
	fmt.Println(result.Version.State, err)
	fork, err := ring.Forked(ctx, org)
	fmt.Println(fork.Offered == thief.Head().ID, fork.Decided, err)
	// Output:
	// <nil>
	// true
	// held <nil>
	// true charter 8 <nil>
}
