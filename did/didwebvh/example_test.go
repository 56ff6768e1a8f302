package didwebvh_test

import (
	"context"
	"fmt"

	"trustnode/did/didwebvh"
)

// An organization makes its DID, later rotates its issuer key, and anybody
// verifies the log from its bytes.
func Example() {
	ctx := context.Background()
	id, first, err := didwebvh.Create(ctx, didwebvh.CreateRequest{
		Domain: "acme.example", Update: u1, Next: u2.Public(), Recovery: rec.Public(), Issuer: i1.Public(), At: day1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	history, err := didwebvh.Verify(first, nil, day1)
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := didwebvh.Rotate(ctx, history, didwebvh.RotateRequest{
		Update: u2, Next: u3.Public(), Issuer: i2.Public(), At: day2,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	history, err = history.Extend(second, nil, day2)
	fmt.Println(id == history.DID(), history.Len(), err)

	stolen := didwebvh.RotateRequest{Update: u1, Next: u3.Public(), At: day2}
	_, err = didwebvh.Rotate(ctx, history, stolen)
	fmt.Println(err)
	// Output:
	// true 2 <nil>
	// z6Mkon3Necd6NkkyfoGoHxid2znGc59LU3K7mubaRcFbLfLX: the key is not among the committed update keys
}
