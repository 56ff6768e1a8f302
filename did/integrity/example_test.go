package integrity_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/integrity"
	"trustnode/did/strictjson"
)

// A document gets a proof; somebody adds a context and then changes a claim.
func Example() {
	signer := envelopetest.Repeat(1)
	doc, _ := strictjson.Parse([]byte(`{"@context":["https://www.w3.org/ns/credentials/v2"],"berth":"7"}`), 8)
	canonical, _ := doc.Canonical()
	contexts, _ := doc.Get("@context")
	made, err := integrity.Make(context.Background(), signer, sha256.Sum256(canonical), integrity.Options{
		Context: contexts, Created: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC),
		Method: "did:web:acme.example#key-1", Purpose: did.AssertionMethod,
	})
	if err != nil {
		fmt.Println(err)
	}
	secured := doc.With("proof", made)
	longer := secured.With("@context", strictjson.StringsOf("https://www.w3.org/ns/credentials/v2", "https://acme.example/v1"))
	for _, v := range []strictjson.Value{secured, longer, longer.With("berth", strictjson.StringOf("8"))} {
		raw, _ := v.Get("proof")
		p, err := integrity.Parse(raw)
		if err != nil {
			fmt.Println(err)
		}
		signed, err := p.Signed(v)
		if err != nil {
			fmt.Println(err)
		}
		fmt.Println(string(signed), p.Verify(signer.Public(), sha256.Sum256(signed)))
	}
	// Output:
	// {"@context":["https://www.w3.org/ns/credentials/v2"],"berth":"7"} <nil>
	// {"@context":["https://www.w3.org/ns/credentials/v2"],"berth":"7"} <nil>
	// {"@context":["https://www.w3.org/ns/credentials/v2"],"berth":"8"} signature does not verify
}
