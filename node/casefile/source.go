package casefile

import (
	"context"
	"iter"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
)

// Source is what a case file is written from. Implementations are safe for concurrent
// use; what is not held here, or may not be given, is attestation.ErrNotFound.
type Source interface {
	Ledger
	Papers
}

// Ledger reads the logs held here.
type Ledger interface {
	// Facts yields the events that count and that q selects, each with its body where
	// that is held and with every organization's earliest cosignature.
	Facts(ctx context.Context, q attestation.Query) iter.Seq2[attestation.Fact, error]
	// Log returns the log of an organization.
	Log(ctx context.Context, d did.DID) (attestation.Log, error)
	// Notes returns the cosigned notes of a log of sizes above from and up to to, in
	// order, at most max of them.
	Notes(ctx context.Context, d did.DID, from, to uint64, max int) ([][]byte, error)
	// Body returns an attached body or a document by id.
	Body(ctx context.Context, id envelope.ID) ([]byte, error)
}

// Papers reads what else is held here.
type Papers interface {
	// Object returns a signed object by id: permission, revocation, read request,
	// receipt or agent object.
	Object(ctx context.Context, id envelope.ID) (envelope.Envelope, error)
	// Row returns an audit row, own or another's, with its path and the id of its
	// audit.rows event.
	Row(ctx context.Context, id envelope.ID) (audit.RowProof, error)
	// DIDLog returns the exact log of a did:webvh from its first line, and its witness
	// file, nil where none is needed.
	DIDLog(ctx context.Context, d did.DID) (log, witness []byte, err error)
	// Charters returns every accepted charter from the genesis to the head.
	Charters(ctx context.Context) ([]envelope.Envelope, error)
}
