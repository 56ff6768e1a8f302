package charter

import (
	"context"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Three organizations found a federation, each with the same file and no network.
func Example() {
	ctx := context.Background()
	k := world(acme, vendor, arbiter)
	body, err := New(Options{
		Name:      "fin-lending",
		Members:   []Member{acme.join(true).Member(0), vendor.join(true).Member(0), arbiter.join(true).Member(0)},
		Mediators: []did.DID{arbiter.did},
	}, t0)
	if err != nil {
		fmt.Println(err)
		return
	}
	draft, err := envelope.Seal(ctx, body)
	if err != nil {
		fmt.Println(err)
		return
	}
	f := File{Charters: []envelope.Envelope{draft}}
	for _, a := range []actor{vendor, acme, arbiter} {
		res, _ := Review(ctx, Chain{}, f, k, t0.Add(time.Minute))
		fmt.Printf("%d of %d signed\n", len(res.Tally.Signed), res.Tally.Need)
		if f, err = f.Sign(ctx, a.did, a); err != nil {
			fmt.Println(err)
			return
		}
	}
	res, err := Apply(ctx, Chain{}, f, k, t0.Add(time.Minute))
	fmt.Println(res.Chain.Head().Name, len(res.Chain.Head().Voters()), err)
	fmt.Println(CanMediate(res.Chain.Head().Body, acme.did, vendor.did))
	// Output:
	// 0 of 3 signed
	// 1 of 3 signed
	// 2 of 3 signed
	// fin-lending 3 <nil>
	// true
}
