package didweb_test

import (
	"fmt"

	"trustnode/did"
	"trustnode/did/didweb"
)

// A member's did.json is pinned when it joins. Later its server has other documents: one moves an address, one has
// another key.
func Example() {
	d := did.MustParse("did:web:beta.example")
	id, err := didweb.ParseIdentifier(d)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(id.URL())

	joined := document("did:web:beta.example", method("did:web:beta.example", "sign-1", k1), "sign-1")
	pinned, err := didweb.Take(d, joined, didweb.SPKI{}, at, didweb.Joined)
	if err != nil {
		fmt.Println(err)
		return
	}
	moved := with(joined, `"service":[{"id":"#lending","type":"TrustnodeLending","serviceEndpoint":"https://beta.example/v2"}]`)
	other := document("did:web:beta.example", method("did:web:beta.example", "sign-1", k2), "sign-1")
	for _, next := range [][]byte{joined, moved, other} {
		change, err := didweb.Judge(pinned, joined, next)
		fmt.Println(change.Verdict, change.Added, err)
	}
	// Output:
	// https://beta.example/.well-known/did.json
	// unchanged [] <nil>
	// other bytes, same keys [] <nil>
	// changed, not trusted [z6MkmNZGTCcVSQG2dp1cBYssQWkNEwFHBvsNmBzJs6iGY9eA] <nil>
}
