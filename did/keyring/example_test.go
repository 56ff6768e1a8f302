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
