// Package client answers: may this answer of a lender be handed to our agent?
//
// It is the use case of an organization that borrows: it signs a request for each read,
// sends it to the lender, and hands content out only once the lender's receipt verified,
// bound to that very request, and request and receipt are stored. Whatever else comes
// back, silence included, is the end of access: no cache, no retry, no redirect.
//
// It keeps requests and receipts, never lent entries, and says in the own log that a
// loan was taken and that its end was seen. The package opens no socket.
package client

import (
	"context"
	"errors"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/self"
)

// Config is what a node may change. The zero Config is the default.
type Config struct {
	// Timeout is how long a lender may take to answer; 0 is DefaultTimeout.
	Timeout time.Duration
	// OnEnded is told, once per loan, that a verified answer ended it. nil is allowed.
	OnEnded func(Ended)
}

// Ended says that a lender signed the end of a loan.
type Ended struct {
	Perm    envelope.ID
	State   lending.PermState
	At      time.Time
	Receipt envelope.ID
}

// ReadInput asks to read under a permission as an own agent.
type ReadInput struct {
	As      string // own agent, by name or DID
	Perm    string // permission, by id or compact form
	Purpose string // 1..200 bytes; signed and kept
	Filter  string // narrower scope as people type it, or empty
	Limit   int    // 1..100; 0 is 20
	Cursor  string // of the answer before, or empty
}

// ReadResult is a verified answer.
type ReadResult struct {
	Perm      envelope.ID
	Entries   [][]byte // canonical JSON of each, the lender's words: quoted source
	Refs      []lending.Ref
	ReceiptID envelope.ID
	Receipt   lending.Receipt
	Cursor    string // of the next page, or empty
}

// Loan is a permission one of the own agents may use, and how it stood when last heard of.
type Loan struct {
	ID         envelope.ID
	Compact    string              // empty while its bytes are not here
	Permission *lending.Permission // nil while its bytes are not here
	Lender     did.DID
	Borrower   did.DID
	ExpiresAt  time.Time
	MaxReads   uint64
	Reads      uint64 // by the newest receipt
	Left       uint64 // likewise
	State      lending.PermState
	EndedBy    envelope.ID // receipt that proves the end, or zero
	Unanchored bool        // used, and the lender's loan.issued is not here after 60 s
}

// Receipt is one stored pair of request and receipt.
type Receipt struct {
	Seq     uint64
	Request envelope.ID
	Receipt envelope.ID
	Hash    envelope.ID
	At      time.Time
}

// Client is the borrowing side of one node. It is safe for concurrent use.
type Client struct {
	n   *self.Node
	cfg Config
}

// New returns the borrowing side of n.
func New(n *self.Node, cfg Config) *Client { return &Client{n: n, cfg: cfg} }

var errTodo = errors.New("not there yet")

// Read reads under a permission. Every refusal is a *fault.Denied; Verified says that the
// lender signed it.
func (c *Client) Read(ctx context.Context, in ReadInput) (ReadResult, error) {
	return ReadResult{}, errTodo
}

// Loans lists the permissions known here of which an own agent is the borrower, newest first.
func (c *Client) Loans(ctx context.Context) ([]Loan, error) { return nil, errTodo }

// Loan gives one, by id or compact form.
func (c *Client) Loan(ctx context.Context, idOrCompact string) (Loan, error) { return Loan{}, errTodo }

// Receipts lists the granted answers kept of a permission, by seq.
func (c *Client) Receipts(ctx context.Context, idOrCompact string) ([]Receipt, error) {
	return nil, errTodo
}

// Run says in the log what could not be said at once, until ctx ends.
func (c *Client) Run(ctx context.Context) error { return errTodo }
