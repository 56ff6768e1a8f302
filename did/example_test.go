package did_test

import (
	"fmt"

	"trustnode/did"
)

// A document is asked which key a partner may have signed a statement with.
func Example() {
	partner := did.MustParse("did:web:partner.example")
	document, err := did.ParseDocument([]byte(`{
		"id": "did:web:partner.example",
		"verificationMethod": [{
			"id": "#sign-1", "type": "Multikey", "controller": "did:web:partner.example",
			"publicKeyMultibase": "z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
		}],
		"assertionMethod": ["#sign-1", "#lost"]
	}`), partner)
	if err != nil {
		fmt.Println(err)
		return
	}
	key, err := document.Key("sign-1", did.AssertionMethod)
	fmt.Println(key, err)
	_, err = document.Key("sign-1", did.Authentication)
	fmt.Println(err)
	fmt.Println(document.Warnings())
	fmt.Println(key.Verify([]byte("a statement"), did.Signature{}))
	// Output:
	// z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK <nil>
	// did:web:partner.example#sign-1 is not in authentication: verification method lacks the relationship
	// [{did:web:partner.example#lost assertionMethod names a method that is not in this document}]
	// signature does not verify
}
