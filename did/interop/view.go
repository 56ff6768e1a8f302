package interop

import (
	"time"

	"github.com/hyperledger/aries-framework-go/component/models/did/endpoint"
	ariesdid "github.com/hyperledger/aries-framework-go/pkg/doc/did"

	"trustnode/did"
)

// View returns the aries form of a resolved document. It holds what speaks for the DID now: methods of the DID's own whose key is usable
// and does not end by itself, with the raw key (32 bytes for Ed25519; aries' own 2020 and Multikey methods carry the codec with it, and
// then its verifier refuses the key), and services with a string for endpoint, of which the first is kept. A deactivated
// DID has no view: nil.
func View(r did.Resolution) *ariesdid.Doc {
	if r.Document.IsZero() {
		return nil
	}
	d := r.Document
	doc := &ariesdid.Doc{
		Context:     []string{ariesdid.ContextV1},
		ID:          d.ID().String(),
		AlsoKnownAs: append([]string(nil), d.AlsoKnownAs()...),
		Created:     timeOrNil(r.Created),
		Updated:     timeOrNil(r.Updated),
	}
	own := make(map[string]ariesdid.VerificationMethod)
	for _, m := range d.Methods() {
		if m.Err != nil || !m.Expires.IsZero() || !m.Revoked.IsZero() || !speaksFor(d.ID(), m) {
			continue
		}
		own[m.ID] = *ariesdid.NewVerificationMethodFromBytes(m.ID, m.Type, m.Controller, m.Public.Raw())
		doc.VerificationMethod = append(doc.VerificationMethod, own[m.ID])
	}
	doc.Authentication = verifications(d, own, did.Authentication, ariesdid.Authentication)
	doc.AssertionMethod = verifications(d, own, did.AssertionMethod, ariesdid.AssertionMethod)
	doc.KeyAgreement = verifications(d, own, did.KeyAgreement, ariesdid.KeyAgreement)
	doc.CapabilityInvocation = verifications(d, own, did.CapabilityInvocation, ariesdid.CapabilityInvocation)
	doc.CapabilityDelegation = verifications(d, own, did.CapabilityDelegation, ariesdid.CapabilityDelegation)
	doc.Service = services(d)
	return doc
}

// speaksFor reports whether m is d's own: neither its id nor its controller is another DID.
func speaksFor(d did.DID, m did.Method) bool {
	u, err := did.ParseURL(m.ID)
	return err == nil && u.DID() == d && (m.Controller == "" || m.Controller == d.String())
}

func verifications(d did.Document, own map[string]ariesdid.VerificationMethod, rel did.Relationship, as ariesdid.VerificationRelationship) []ariesdid.Verification {
	var out []ariesdid.Verification
	for _, id := range d.Listed(rel) {
		if m, ok := own[id]; ok {
			out = append(out, *ariesdid.NewReferencedVerification(&m, as))
		}
	}
	return out
}

func services(d did.Document) []ariesdid.Service {
	var out []ariesdid.Service
	for _, s := range d.Services() {
		if len(s.Endpoints) == 0 {
			continue
		}
		var kind any = s.Types
		if len(s.Types) == 1 {
			kind = s.Types[0]
		}
		out = append(out, ariesdid.Service{ID: s.ID, Type: kind, ServiceEndpoint: endpoint.NewDIDCommV1Endpoint(s.Endpoints[0])})
	}
	return out
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
