package didjwk_test

import (
	"context"
	"fmt"

	"trustnode/did"
	"trustnode/did/didjwk"
)

// A partner's agent is named by its key; the document says what that key may do.
func Example() {
	agent := did.MustParse("did:jwk:eyJrdHkiOiJPS1AiLCJjcnYiOiJFZDI1NTE5IiwieCI6IkxtX000MmNCM0hrVWlPRFFzWFJjd2VNNlRCeWZ6RUhHTzlORDI3NEpjT1kifQ")
	r, err := didjwk.Resolver{}.Resolve(context.Background(), agent, did.Material{}, did.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.State, r.Version)
	key, err := r.Document.Key(didjwk.Fragment, did.AssertionMethod)
	fmt.Println(key.Algorithm(), err)
	_, err = r.Document.Key(didjwk.Fragment, did.KeyAgreement)
	fmt.Println(err != nil)
	// Output:
	// held static
	// Ed25519 <nil>
	// true
}
