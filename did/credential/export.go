package credential

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/integrity"
	"trustnode/did/keyring"
	"trustnode/did/strictjson"
)

// The contexts and types of VC 2.0 that appear here. The last defines terms that no other context does.
const (
	contextV1        = "https://www.w3.org/2018/credentials/v1"
	contextV2        = "https://www.w3.org/ns/credentials/v2"
	contextUndefined = "https://www.w3.org/ns/credentials/undefined-terms/v2"

	typeCredential = "VerifiableCredential"
	typeAgent      = "AgentCredential"
)

// URN is what the id of an agent object follows in its credential's id.
const URN = "urn:trustnode:agent:"

// MediaType is the media type of what Export returns.
const MediaType = "application/vc"

// Export returns the agent object v as a Verifiable Credential: SPEC.md, section 1. It depends on v and org's key alone,
// its proof is dated at issued_at, and Ed25519 is deterministic: exporting again gives the same bytes, which are in RFC
// 8785 form. Errors: keyring.ErrHolder if org is not the key of the organization that signed v, and those of org.
func Export(ctx context.Context, v envelope.Verified[keyring.Agent], org envelope.Signer) ([]byte, error) {
	a := v.Body()
	// Under any other key the credential would be dead on arrival; the agent's own key must not speak for its organization.
	if key := org.Public(); key == a.Key.Pub || !slices.Contains(v.Signers(), key) {
		return nil, fmt.Errorf("credential of agent %s of %s with key %s: %w", a.Name, a.Org, key.Multikey(), keyring.ErrHolder)
	}
	doc := agentCredential(v.ID(), a)
	signed, err := doc.Canonical()
	if err != nil {
		return nil, err
	}
	contexts, _ := doc.Get("@context")
	proof, err := integrity.Make(ctx, org, sha256.Sum256(signed), integrity.Options{
		Context: contexts, Created: a.IssuedAt.Time(), Method: a.Org.String() + "#" + a.Kid, Purpose: did.AssertionMethod,
	})
	if err != nil {
		return nil, err
	}
	return doc.With("proof", proof).Canonical()
}

// agentCredential is the credential without its proof, a pure function of the agent object.
func agentCredential(id envelope.ID, a keyring.Agent) strictjson.Value {
	capabilities := make([]string, len(a.Capabilities))
	for i, c := range a.Capabilities {
		capabilities[i] = string(c)
	}
	return strictjson.ObjectOf(
		strictjson.Member{Name: "@context", Value: strictjson.StringsOf(contextV2, contextUndefined)},
		text("id", URN+id.String()),
		strictjson.Member{Name: "type", Value: strictjson.StringsOf(typeCredential, typeAgent)},
		text("issuer", a.Org.String()),
		text("validFrom", a.NotBefore.String()),
		text("validUntil", a.NotAfter.String()),
		strictjson.Member{Name: "credentialSubject", Value: strictjson.ObjectOf(
			text("id", a.Agent.String()),
			text("kind", string(a.Kind)),
			text("name", a.Name),
			strictjson.Member{Name: "capabilities", Value: strictjson.StringsOf(capabilities...)},
		)},
	)
}

func text(name, s string) strictjson.Member {
	return strictjson.Member{Name: name, Value: strictjson.StringOf(s)}
}
