package keyring

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"trustnode/did/envelope"
)

// A request is an agent object before its organization signed it: the body, under the
// signature of the agent's own key alone. It grants nothing. SPEC.md, "Request".

// ErrRequest is wrapped when a request is not for what the organization would issue.
var ErrRequest = errors.New("request is not for the agent object the organization would issue")

// Draft returns an agent object that nobody signed: what an organization hands to whoever
// holds the agent's key. Errors: *envelope.FormError, envelope.ErrTooLarge.
func Draft(a Agent) (envelope.Envelope, error) { return envelope.Seal(context.Background(), a) }

// RequestAgent signs an agent object with the agent's own key alone. Whoever calls it has
// read the body: it says for which organization and under which name the key will act.
// Errors: ErrHolder for a key that the body does not name, those of envelope.Seal.
func RequestAgent(ctx context.Context, a Agent, agent envelope.Signer) (envelope.Envelope, error) {
	if agent.Public() != a.Key.Pub {
		return envelope.Envelope{}, fmt.Errorf("agent key %s: %w", agent.Public().Multikey(), ErrHolder)
	}
	e, err := Draft(a)
	if err != nil {
		return envelope.Envelope{}, err
	}
	return envelope.Cosign(ctx, e, agent)
}

// OpenRequest verifies a request: its form, and exactly one signature, that of key.pub,
// whatever keyid names it. The result is a wish, not an agent: the organization decides
// whether it is what it would issue. Errors: those of envelope.Decode,
// *envelope.FormError, envelope.ErrSignature.
func OpenRequest(e envelope.Envelope) (Agent, error) {
	a, err := envelope.Decode[Agent](e)
	if err != nil {
		return Agent{}, err
	}
	if n := len(e.Signatures); n != 1 {
		return Agent{}, form("signatures", "%d, not the agent's alone", n)
	}
	if err := a.Key.Pub.Verify(e.Preimage().Bytes(), e.Signatures[0].Sig); err != nil {
		return Agent{}, fmt.Errorf("request for agent %s: %w", a.Name, err)
	}
	return a, nil
}

// CountersignAgent makes a request the agent object that want describes: the organization
// signs what it would issue itself, byte for byte, and nothing else. The agent's signature
// comes to stand under its key's text. Errors: those of OpenRequest, ErrRequest, ErrHolder
// where the organization's key is the agent's.
func CountersignAgent(ctx context.Context, request envelope.Envelope, want Agent, org envelope.Signer) (envelope.Envelope, error) {
	a, err := OpenRequest(request)
	if err != nil {
		return envelope.Envelope{}, err
	}
	draft, err := Draft(want)
	if err != nil {
		return envelope.Envelope{}, err
	}
	if !bytes.Equal(draft.Body, request.Body) {
		return envelope.Envelope{}, fmt.Errorf("agent %s: %w", a.Name, ErrRequest)
	}
	if org.Public() == a.Key.Pub {
		return envelope.Envelope{}, fmt.Errorf("one key for the organization and its agent: %w", ErrHolder)
	}
	sig, err := org.Sign(ctx, draft.Preimage())
	if err != nil {
		return envelope.Envelope{}, err
	}
	return draft.With(
		envelope.Signature{KeyID: want.Kid, Sig: sig},
		envelope.Signature{KeyID: a.Key.Pub.Multikey(), Sig: request.Signatures[0].Sig},
	), nil
}
