// Package oracle answers: how has this party kept its word, and who says so?
//
// It turns the events of all logs held here, and the cases they make, into the score of
// package trust, and signs the answer as this organization. Nothing is stored or
// published: an answer is a fold, asked with a moment. Whatever two honest nodes may
// differ in (rows, arrival, clocks) has no part in it, so equal logs give equal answers.
package oracle

import (
	"context"
	"time"

	"trustnode/attestation/trust"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/mediation"
	"trustnode/node/self"
)

// Cases gives every case known here as of a moment. *party.Party is one.
type Cases interface {
	Cases(ctx context.Context, asOf time.Time) ([]mediation.Case, error)
}

// Oracle answers for one node. It is safe for concurrent use.
type Oracle struct {
	n     *self.Node
	cases Cases
}

// New returns the oracle of n.
func New(n *self.Node, cases Cases) *Oracle { return &Oracle{n, cases} }

// Signed is an answer with the envelope this organization signed; its id is the ETag.
type Signed struct {
	Answer   trust.Answer
	Envelope envelope.Envelope
}

// Show computes the score of a DID. A zero asOf is now, floored to the hour; one in the
// future is invalid. A zero perspective is the federation. A DID nobody here knows is
// not_found. Refusals are *fault.Denied.
func (o *Oracle) Show(ctx context.Context, subject did.DID, asOf time.Time, perspective did.DID) (Signed, error) {
	return Signed{}, nil
}
