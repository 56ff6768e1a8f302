package lender

import (
	"context"
	"errors"

	"trustnode/did"
	"trustnode/node/memory"
)

var errTodo = errors.New("not there yet")

// AddEntry adds one entry to the memory of an agent's project.
func (l *Lender) AddEntry(ctx context.Context, in AddInput) (memory.Entry, error) {
	return memory.Entry{}, errTodo
}

// Import streams a file into the memory of an agent's project, where its entries wait in
// quarantine. What was taken is in the report beside an error too.
func (l *Lender) Import(ctx context.Context, in ImportInput) (memory.Report, error) {
	return memory.Report{}, errTodo
}

// Tag changes tags of entries, or releases them from quarantine.
func (l *Lender) Tag(ctx context.Context, in TagInput) (Tagged, error) { return Tagged{}, errTodo }

// Entries lists a project's entries, newest first.
func (l *Lender) Entries(ctx context.Context, in ListInput) (EntryList, error) {
	return EntryList{}, errTodo
}

// Issue signs a permission, or with Preview only says what it would lend.
func (l *Lender) Issue(ctx context.Context, in IssueInput) (Loan, error) { return Loan{}, errTodo }

// Loans lists the permissions this node issued, newest first.
func (l *Lender) Loans(ctx context.Context) ([]Loan, error) { return nil, errTodo }

// Loan gives one, by id or compact form.
func (l *Lender) Loan(ctx context.Context, idOrCompact string) (Loan, error) { return Loan{}, errTodo }

// Read answers one read. Content leaves by c.Send alone, before Read returns nil. Every
// refusal is a *fault.Denied, with the receipt that proves it where there is one.
func (l *Lender) Read(ctx context.Context, c Call) error { return errTodo }

// Status answers a request of op status with a compact receipt.
func (l *Lender) Status(ctx context.Context, c Call) (string, error) { return "", errTodo }

// Serve is one exchange of /trustnode/lend/1: a frame in, a frame out by send. from is
// the organization of the peer, which is no authority. Errors are those of send.
func (l *Lender) Serve(ctx context.Context, from did.DID, frame []byte, send func([]byte) error, abort func()) error {
	return errTodo
}

// Revoke ends a loan at once and for good: after it returned no byte of the loan leaves.
func (l *Lender) Revoke(ctx context.Context, idOrCompact, reason, text string) (Revoked, error) {
	return Revoked{}, errTodo
}

// Audit gives the rows and events of a loan.
func (l *Lender) Audit(ctx context.Context, idOrCompact string) (Audit, error) {
	return Audit{}, errTodo
}

// Run sweeps until ctx ends: loans that ended get their event, nonces are forgotten.
func (l *Lender) Run(ctx context.Context) error { return errTodo }
