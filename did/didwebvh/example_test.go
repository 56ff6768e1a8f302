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

// An entry that names witnesses is published with their proofs: each signs the
// versionId, and the organization counts what came back.
func ExampleHistory_Proofs() {
	ctx := context.Background()
	_, first, _ := didwebvh.Create(ctx, acme())
	history, err := didwebvh.Verify(first, nil, day1)
	if err != nil {
		fmt.Println(err)
		return
	}
	line, err := didwebvh.Rotate(ctx, history, didwebvh.RotateRequest{
		Update: u2, Next: u3.Public(), Witness: list(2, w, gov), At: day2,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var proofs [][]byte
	for _, witness := range []seed{w, w, gov} {
		p, err := didwebvh.SignWitness(ctx, witness, didwebvh.VersionID(line), day2)
		if err != nil {
			fmt.Println(err)
			return
		}
		proofs = append(proofs, p)
		tally, err := history.Proofs(line, proofs)
		fmt.Println(len(tally.By), "of", tally.Need, tally.Met(), err)
		if tally.Met() {
			history, err = history.Extend(line, tally.Witness, day2)
			fmt.Println("entry", history.Len(), err)
		}
	}
	// Output:
	// 1 of 2 false <nil>
	// 1 of 2 false <nil>
	// 2 of 2 true <nil>
	// entry 2 <nil>
}
