package didweb_test

import (
	"context"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/did/didweb"
)

// The DID says where its document is; the bytes that are there say which version it is.
func Example() {
	d := did.MustParse("did:web:beta.example")
	id, err := didweb.ParseIdentifier(d)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(id.URL())
	raw := document("did:web:beta.example", method("did:web:beta.example", "sign-1", k1), "sign-1")
	r, err := didweb.Resolver{}.Resolve(context.Background(), d, did.Material{Log: raw}, did.Options{Now: time.Now()})
	fmt.Println(r.State, len(r.Document.Methods()), err)
	// Output:
	// https://beta.example/.well-known/did.json
	// held 1 <nil>
}
