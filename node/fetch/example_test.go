package fetch_test

import (
	"context"
	"errors"
	"fmt"

	"trustnode/did"
	"trustnode/node/fault"
	"trustnode/node/fetch"
)

// A DID may name any host, also one that leads back into the node's own network. The request is refused before a
// connection is made, and the operator is told which setting would allow it.
func Example() {
	f := fetch.New(fetch.Config{})
	_, err := f.Material(context.Background(), did.MustParse("did:web:localhost%3A8420"))
	var refused *fetch.Error
	fmt.Println(errors.As(err, &refused), errors.Is(err, did.ErrUnavailable))
	fmt.Println(refused.Cause, refused.URL)
	fmt.Println("hint:", fault.From(err).Hint)
	// Output:
	// true true
	// address https://localhost:8420/.well-known/did.json
	// hint: if the peer is in your own network, add its addresses to identity.fetch_allow_cidrs
}
