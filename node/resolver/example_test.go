package resolver_test

import (
	"context"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/node/fetch"
	"trustnode/node/resolver"
)

// page is a web server with one did.json.
type page struct {
	did did.DID
	doc string
}

func (p page) Fetch(_ context.Context, d did.DID) (fetch.Fetched, error) {
	if d != p.did {
		return fetch.Fetched{}, fmt.Errorf("%s: %w", d, did.ErrAbsent)
	}
	return fetch.Fetched{Material: did.Material{Log: []byte(p.doc)}, SPKI: fetch.SPKI{1}}, nil
}

// A DID that nobody here holds is answered by its host, where it may be asked; a key
// answers for itself.
func Example() {
	ctx, now := context.Background(), time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	beta := did.MustParse("did:web:beta.example")
	r := resolver.Alone(page{beta, `{"id":"did:web:beta.example"}`}, func() time.Time { return now })

	key, err := r.Resolve(ctx, did.MustParse("did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"), did.Options{})
	fmt.Println(key.State, key.Version, err)

	_, err = r.Resolve(ctx, beta, did.Options{})
	fmt.Println(err)

	got, err := r.Fresh(ctx, beta, did.Options{})
	fmt.Println(got.State, r.ConfirmedBy(got), err)
	fmt.Println(got.Warnings[0].What)
	// Output:
	// held static <nil>
	// NOT_FOUND: no material for this DID: did:web:beta.example: DID is not held here
	// held host <nil>
	// nothing proves this document but where it came from
}
