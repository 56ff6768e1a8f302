package envelope

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	"trustnode/did"
)

// Signature is one signature on an object. KeyID repeats the fragment of the verification method, as a hint.
type Signature struct {
	KeyID string
	Sig   did.Signature
}

// compare orders by KeyID, then by the text of the signature as it stands in DSSE JSON.
func (s Signature) compare(o Signature) int {
	if c := cmp.Compare(s.KeyID, o.KeyID); c != 0 || s.Sig == o.Sig {
		return c
	}
	return strings.Compare(base64.StdEncoding.EncodeToString(s.Sig[:]), base64.StdEncoding.EncodeToString(o.Sig[:]))
}

// Envelope is a signed object, unverified. Signatures are in order and differ. Body is shared, not copied: nobody may
// change it. Made by ParseDSSE, ParseCompact, Join and Seal.
type Envelope struct {
	Type       Type
	Body       []byte
	Signatures []Signature
}

// ID returns the id of the body, which is the object's id.
func (e Envelope) ID() ID { return IDOf(e.Body) }

// Preimage returns what each signature of e covers.
func (e Envelope) Preimage() Preimage { return pae(e.Type, e.Body) }

// With returns e with more signatures, in order and each once. e itself is unchanged.
func (e Envelope) With(sigs ...Signature) Envelope {
	all := append(slices.Clone(e.Signatures), sigs...)
	slices.SortFunc(all, Signature.compare)
	e.Signatures = slices.Compact(all)
	return e
}

// Join makes an envelope of a body and the signature of its one signer, as they lie in a log entry. The keyid is the
// body's kid; a body that is not canonical or lacks one is a *FormError.
func Join(t Type, body []byte, sig did.Signature) (Envelope, error) {
	kid, err := kidOf(body)
	if err != nil {
		return Envelope{}, err
	}
	return Envelope{Type: t, Body: body, Signatures: []Signature{{KeyID: kid, Sig: sig}}}, nil
}

// kidOf reads the member kid of a canonical object.
func kidOf(body []byte) (string, error) {
	d := decoder{s: string(body), room: MaxDepth}
	at := -1
	f := d.object(style{multiline: true}, func(key string, start int) {
		if key == "kid" {
			at = start
		}
	})
	if f == nil {
		f = d.end()
	}
	if f != nil {
		return "", f
	}
	if at < 0 {
		return "", &FormError{Path: "kid", What: "missing"}
	}
	d.i = at
	kid, f := d.text(style{})
	if f != nil {
		return "", f.under("kid")
	}
	if !validKeyID(kid) {
		return "", &FormError{Path: "kid", What: whatKeyID}
	}
	return kid, nil
}

const whatKeyID = "not the fragment of a DID URL"

func validKeyID(s string) bool { return len(s) <= MaxKeyID && did.IsFragment(s) }
