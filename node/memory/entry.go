package memory

import (
	"crypto/rand"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/federation/lending"
)

// Entry is one record of memory, 04 section 1. Its content never changes in
// place; tags, class and state do, each change being a revision. Times are
// whole seconds UTC, zero where absent.
type Entry struct {
	ID    string // "e" and base58btc of 16 random bytes
	Rev   uint64 // from 1
	Place Place
	Kind  Kind

	Statement   string // NFC text, at most MaxStatement bytes
	ContentType string // media type; text/plain, text/markdown and application/json live in Statement
	Data        []byte // content of any other type, Statement being its caption

	Source      Source
	DerivedBy   string   // the job that derived it, or empty
	DerivedFrom []string // ids of its parents, in this place
	Depth       uint64   // 0 for a direct event, else 1 + that of the deepest parent
	Origins     []string // sorted trusts of the direct events it goes back to
	Trust       Trust

	Subjects []string // sorted pseudonyms, "s…"
	Tags     []string // sorted, reserved ones included

	Created, Updated       time.Time // by this node's clock
	ReviewAfter, ExpiresAt time.Time // as the writer asked

	State         State
	Supersedes    string  // id of the entry that this one corrects, or empty
	SupersededBy  string  // id of the correction, where State is Superseded
	Authorization string  // id of an approval: a pointer, no secret and no power
	Writer        did.DID // the agent who wrote it; zero for the operator
	Loan          string  // id of the permission it was learnt under, where Source.Type is SourceLoan and it is known
}

// Source is the direct event that an entry was taken from.
type Source struct {
	Type       SourceType
	ID         string    // id of the event, in the source's own terms; never lent
	ObservedAt time.Time // as claimed
}

// Ref returns the reference of this revision.
func (e Entry) Ref() lending.Ref { return lending.Ref{Entry: e.ID, Rev: e.Rev} }

// Class returns the class among the tags: public, internal, confidential,
// personal or regulated.
func (e Entry) Class() string {
	for _, t := range e.Tags {
		if c, ok := strings.CutPrefix(t, classPrefix); ok {
			return c
		}
	}
	return ""
}

// Draft is what a writer gives; ingestion makes an entry of it.
type Draft struct {
	Kind        Kind // zero is Observation
	Statement   string
	ContentType string // empty is text/plain
	Data        []byte
	Source      Source // a zero Type is what the surface implies
	DerivedBy   string
	DerivedFrom []string
	Subjects    []string // pseudonyms
	// Tags without order. The reserved ones (class:, origin:) are taken from
	// the operator alone.
	Tags                   []string
	ReviewAfter, ExpiresAt time.Time
	Authorization          string
	// Supersedes is the entry that this one corrects: it leaves every scope in
	// the same transaction.
	Supersedes string
	Loan       string // as Entry.Loan
}

// newID returns 16 random bytes as an id: it tells neither number nor time.
func newID() string { return pseudonym("e") }

func pseudonym(prefix string) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + did.Base58(b[:])
}
