package lender

import (
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/memory"
)

// Config is what an operator may change. The zero Config is the default.
type Config struct {
	// RequirePact refuses a loan to another organization without a pact.
	RequirePact bool
	// RefuseHygiene are the codes of lending.LintCodes that refuse a loan.
	RefuseHygiene []string
	// DiscoverMin is on how many entries in scope a tag must be for a discovery to tell
	// it, 1..100; 0 is DefaultDiscoverMin.
	DiscoverMin int
	// HiddenTags are prefixes of tags that no discovery tells.
	HiddenTags []string
	// ReadsPerSecond is what one borrower may ask; 0 is DefaultRate.
	ReadsPerSecond int
	// Queue is how many calls may be under way; 0 is DefaultQueue.
	Queue int
}

// AddInput asks for one entry, by the operator's hand.
type AddInput struct {
	Agent     string // own agent in whose place it goes, by name or DID
	Project   string // empty: the agent's; else it must be the agent's, or becomes it
	Statement string
	Kind      string // empty: observation
	Tags      []string

	ContentType string   // empty: text/plain
	Data        []byte   // of a type that does not live in the statement
	Subjects    []string // natural names or pseudonyms; a new name gets a pseudonym
	Source      string   // type of the source; empty: operator
	SourceID    string   // in the source's own terms
	ObservedAt  string   // a time, as the source claims it
	DerivedBy   string   // the job that derived it
	DerivedFrom []string // ids of entries of the same place
	ReviewAfter string   // a duration from now, or a time
	ExpiresAt   string   // likewise
	Supersedes  string   // id of the entry that this one corrects
	Approval    string   // id of an approval: a pointer, no power
}

// TagInput asks to change tags in a project.
type TagInput struct {
	Project     string
	IDs         []string // at most MaxTagged
	All         bool     // every active and quarantined entry instead
	Add, Remove []string
	Release     bool // out of quarantine
	Quarantine  bool // into it
	// Natural names or pseudonyms. A new name is given a pseudonym; one to remove has to
	// be known.
	AddSubjects, RemoveSubjects []string
}

// Tagged says what a change of tags did.
type Tagged struct {
	Changed  int // entries in a new revision
	Released int // of these, out of quarantine
}

// ListInput asks for entries of a project.
type ListInput struct {
	Project string
	Limit   int    // 0 or more than memory.MaxList: memory.MaxList
	State   string // empty: active and quarantined
	Tag     string // of active entries
	Review  bool   // only what was to be looked at again by now, the longest overdue first
}

// EntryList is a page of entries, newest first, active and quarantined.
type EntryList struct {
	Entries []memory.Entry
	Total   int // entries in the project
}

// IssueInput asks for a permission. What answers a request or replaces a permission takes
// over from it what is left empty.
type IssueInput struct {
	As       string // an own agent that acts instead of the operator: needs an approval
	Request  string // id of the loan request that it answers, or empty
	Replaces string // open permission that ends with it, by id or compact form, or empty

	Lender   string   // own agent, by name or DID
	Borrower string   // DID of an agent, or name of an own one
	Scope    string   // as people type it
	Purpose  string   // 1..200 bytes
	Expires  string   // duration such as 720h or 30d, or a time such as 2026-12-01T10:00:00Z
	MaxReads uint64   // granted answers
	Patterns []string // of read, discover, downstream_write; empty: read

	NotBefore  string   // when it begins, as Expires; empty or "none": at once
	CacheS     *uint64  // caching window in seconds, 0..86400; nil: none
	Provenance string   // "allow", or empty or "none"
	Sublend    string   // "ask", or empty or "none"
	WriteTo    []string // at most 4 destinations, with pattern downstream_write
	CostCap    string   // refused: there are no prices without a pact

	// Signed is the permission in its compact form, where a person's own key signed what
	// a preview gave; all else but Request is then left out.
	Signed string

	Preview bool // say what would be lent, issue nothing
}

// Loan is a permission this node issued and how it stands.
type Loan struct {
	ID          envelope.ID // zero in a preview
	Compact     string      // the permission, to hand to the borrower; empty in a preview
	Permission  lending.Permission
	BorrowerOrg did.DID
	Place       string // what is lent, "tenant/project"
	Reads, Left uint64 // granted answers, those under its parts included; what remains
	Under       uint64 // how many of Reads were under its parts
	State       lending.PermState
	Revocation  envelope.ID    // zero while there is none
	Issued      envelope.ID    // the event loan.issued
	Matches     uint64         // entries in scope at issue
	Hygiene     []string       // codes of what could be narrower
	Words       []string       // one sentence for each code
	Request     envelope.ID    // loan request that it answers, or zero
	Replaces    envelope.ID    // permission that ended with its issue, or zero
	Growth      *Growth        // nil unless it has grown
	Survey      *memory.Survey // of a preview
	Body        []byte         // of a preview, where a person lends: what that person is to sign
}

// Call is one request of a borrower, as it came: the same bytes by every carrier.
type Call struct {
	Request    string // compact readrequest
	Permission string // compact, or empty
	Send       Sender // for the content; not used by Status
}

// Sender releases one answer.
type Sender interface {
	// Send hands the whole answer to the caller's connection and returns when that
	// has taken it, or failed.
	Send(answer []byte) error
	// Abort makes a Send under way return soon. It may be called more than once, and
	// when none is under way.
	Abort()
}

// Revoked says what a revocation did.
type Revoked struct {
	ID    envelope.ID // of the revocation; of the first one where there was one
	Loan  envelope.ID
	At    time.Time
	Reads uint64 // granted before it
}

// Audit is all that happened under one permission.
type Audit struct {
	ID       envelope.ID // of the permission
	Borrowed bool        // it was lent to this organization
	Granted  uint64      // answers, of a borrowed loan those that were received
	Under    uint64      // answers under parts of it, which are not among these
	GapFree  bool        // these are seq 1..Granted, without repetition; none is missing but those of Gone
	Gone     []GoneRead  // granted reads whose row was erased or is past its age
	Rows     []AuditRow
	Events   []AuditEvent
}

// AuditRow is one row, in the order of commit.
type AuditRow struct {
	N     uint64 // number among the rows of this node's log; 0 while it is not there
	ID    envelope.ID
	Row   lending.Row
	Body  []byte // canonical bytes
	Index uint64 // of the audit.rows event that binds it, where Bound
	Bound bool
}

// AuditEvent is one event about the loan, by either side.
type AuditEvent struct {
	ID      envelope.ID
	Org     did.DID
	Index   uint64
	Type    string
	At      time.Time
	Subject string
}
