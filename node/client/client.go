// Package client answers: may this answer of a lender be handed to our agent?
//
// It is the use case of an organization that borrows: it signs a request for each read,
// sends it to the lender, and hands content out only once the lender's receipt verified,
// bound to that very request, and request and receipt are stored. Whatever else comes
// back, silence included, is the end of access: no retry, no redirect, and no cache but for
// the window that the lender signed into permission and receipt, in memory alone.
//
// It keeps requests and receipts, never lent entries, and says in the own log that a
// loan was taken and that its end was seen. The package opens no socket.
//
// # What is stored
//
// In state:
//
//	bor/<perm>/<seq, 8 bytes>  pairRow: request and receipt of a granted answer
//	bl/<perm>                  loanRow: how the loan stood when last heard of
//	ba/<request>               askedRow: a loan request and its lender's last word
//	bq/<agent>                 []envelope.ID: requests kept of an own agent, oldest first
//	bp/<perm>                  something about the loan is still to be said in the log
//
// Signed objects (permissions, requests, receipts) lie in node/library.
//
// # What it does not do
//
// What gossip says or the own clock ends a loan here, and decides over no read: the next one
// asks the lender. A permission whose revocation address is https is refused by name.
package client

import (
	"encoding/binary"
	"sync"
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
	// OnEnded is told, once per loan, that it was heard to be over, and once that a verified
	// answer ended it. nil is allowed.
	OnEnded func(Ended)
}

// Ended says that a loan is over.
type Ended struct {
	Perm    envelope.ID
	State   lending.PermState
	At      time.Time
	Receipt envelope.ID // in which the lender signed it; zero where its log, or the own clock, says so
}

// ReadInput asks to read under a permission as an own agent.
type ReadInput struct {
	As      string // own agent, by name or DID
	Perm    string // permission, by id or compact form
	Purpose string // 1..200 bytes; signed and kept
	Filter  string // narrower scope as people type it, or empty
	Query   string // orders the entries by how well they answer it; such an answer has no cursor
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
	Compact   string        // the receipt as the lender signed it
	Salt      lending.Salt  // by which its hash covers the entries
	Cursor    string        // of the next page, or empty
	Cached    bool          // it was answered before, within the window the lender signed: Receipt.CacheUntil
	ExpiresAt envelope.Time // when the permission ends
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
	Unanchored bool        // used for 60 s, and the lender's loan.issued is not here
}

// Pair is a request and the receipt of its granted answer.
type Pair struct {
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

	cache cache

	// signing is held, shared, from a look at an agent's row to its signature.
	signing sync.RWMutex

	testingOnlyPiece int // instead of MaxLoans, where not 0
}

// New returns the borrowing side of n.
func New(n *self.Node, cfg Config) *Client {
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.OnEnded == nil {
		cfg.OnEnded = func(Ended) {}
	}
	return &Client{n: n, cfg: cfg}
}

const (
	keyPair    = "bor/"
	keyLoan    = "bl/"
	keyPending = "bp/"
)

// pairRow is one granted answer that was handed out.
type pairRow struct {
	At      envelope.Time `json:"at"`
	Hash    envelope.ID   `json:"hash"`
	Receipt envelope.ID   `json:"receipt"`
	Request envelope.ID   `json:"request"`
}

// loanRow is what the borrower knows of a loan it used or tried to use.
type loanRow struct {
	Borrower  did.DID           `json:"borrower"`
	Deleted   envelope.Time     `json:"deleted,omitempty"`       // when the last entry learnt under it was forgotten
	DelEvent  envelope.ID       `json:"deleted_event,omitempty"` // loan.deleted
	EndEvent  envelope.ID       `json:"end_event,omitempty"`     // loan.end_seen
	EndedAt   envelope.Time     `json:"ended_at,omitempty"`      // when the end was seen
	EndedBy   envelope.ID       `json:"ended_by,omitempty"`      // receipt that proves it
	First     envelope.Time     `json:"first,omitempty"`         // first granted answer
	Heard     lending.PermState `json:"heard,omitempty"`         // of an end that no answer has verified
	HeardAt   envelope.Time     `json:"heard_at,omitempty"`
	HeardSaid envelope.ID       `json:"heard_said,omitempty"` // its loan.end_seen
	Left      uint64            `json:"left"`
	Lender    did.DID           `json:"lender"`
	LenderOrg did.DID           `json:"lender_org"`
	Reads     uint64            `json:"reads"`
	State     lending.PermState `json:"state"`
	Taken     envelope.ID       `json:"taken,omitempty"` // event loan.taken
}

// unsaid says whether something is still to be said in the log.
func (r loanRow) unsaid() bool {
	return !r.First.IsZero() && r.Taken.IsZero() || !r.EndedBy.IsZero() && r.EndEvent.IsZero() || r.unheard() || !r.Deleted.IsZero() && r.DelEvent.IsZero()
}

// unheard says whether an end that was heard of is still to be said. One that was verified
// since says more.
func (r loanRow) unheard() bool {
	return r.Heard != "" && r.HeardSaid.IsZero() && r.EndedBy.IsZero()
}

func idKey(prefix string, id envelope.ID) []byte { return []byte(prefix + id.String()) }

func pairKey(perm envelope.ID, seq uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte(keyPair+perm.String()+"/"), seq)
}
