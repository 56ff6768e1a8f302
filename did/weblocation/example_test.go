package weblocation_test

import (
	"fmt"

	"trustnode/did/weblocation"
)

// The text behind "did:web:" is read in the form a client would connect to.
func Example() {
	for _, text := range []string{"acme.example", "domain%3A1100:api:v1", "127%2E0%2E0%2E1", "acme.example:%2e%2e"} {
		l, err := weblocation.Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(l.File("did.json"))
	}
	// Output:
	// https://acme.example/.well-known/did.json
	// https://domain:1100/api/v1/did.json
	// not a web location: host "127.0.0.1" is an address
	// not a web location: path segment ".."
}
