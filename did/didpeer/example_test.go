package didpeer_test

import (
	"context"
	"errors"
	"fmt"

	"trustnode/did"
	"trustnode/did/didpeer"
)

// A partner's agent introduces itself by its long form and uses the short one from then on.
func Example() {
	const introduced = "did:peer:4zQmcgP4LUtDbdsibF5YMJb4QMU5FrA68b7iwcv2xPryGumF:" +
		"zQGRmdZSahP9Ktpp55GhdQy7qtFafFEjW13z7XvVXTHF6PSNjKGgHX5UQNj2CKc6wDaTqNboHMgiBCYjjTHdLH59ZF63vtRGmCRa" +
		"nHr8PFvhKanJWHQCg4Y5cQs3Uvd5haetLNhB8t6FhN55jFobmjogLuXR5q3dygagGGeN8XbQiu3ccjyqJNfdRaNH1hV7T6WGPXZi" +
		"omCkZDeyfz"
	ctx := context.Background()
	long := did.MustParse(introduced)
	short, err := didpeer.Short(long)
	if err != nil {
		fmt.Println(err)
		return
	}
	stored := map[did.DID][]byte{short: []byte(introduced)}

	var r did.Resolver = didpeer.Resolver{}
	_, err = r.Resolve(ctx, short, did.Material{}, did.Options{})
	fmt.Println(errors.Is(err, did.ErrAbsent))

	known, err := r.Resolve(ctx, short, did.Material{Log: stored[short]}, did.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(known.Document.ID() == short, known.Document.AlsoKnownAs()[0] == introduced)
	fmt.Println(known.Document.Key("k", did.AssertionMethod))
	// Output:
	// true
	// true true
	// z6Mkj3PUd1WjvaDhNZhhhXQdz5UnZXmS7ehtx8bsPpD47kKc <nil>
}
