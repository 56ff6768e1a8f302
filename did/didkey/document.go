package didkey

import "trustnode/did"

const contexts = `["https://www.w3.org/ns/did/v1","https://w3id.org/security/multikey/v1"]`

// signing are the relationships of a key that signs, in the order of the document's members.
var signing = []did.Relationship{
	did.AssertionMethod, did.Authentication, did.CapabilityDelegation, did.CapabilityInvocation,
}

// document returns the document of d in its RFC 8785 form, so that it has one byte string. DIDs and multikeys hold no
// character that JSON escapes.
func document(d did.DID, key did.PublicKey) []byte {
	id, text := d.String(), keyText(d)
	method := id + "#" + text
	b := make([]byte, 0, 1024)
	b = append(b, `{"@context":`+contexts...)
	if key.Algorithm() != did.X25519 {
		for _, rel := range signing {
			b = append(b, `,"`+string(rel)+`":["`+method+`"]`...)
		}
	}
	b = append(b, `,"id":"`+id+`"`...)
	if key.Algorithm() != did.Ed25519 {
		b = append(b, `,"`+string(did.KeyAgreement)+`":["`+method+`"]`...)
	}
	b = append(b, `,"verificationMethod":[{"controller":"`+id+`","id":"`+method+`","publicKeyMultibase":"`+text+`","type":"Multikey"}]}`...)
	return b
}
