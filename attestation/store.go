package attestation

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Beyond is returned when entries are asked for above the size of a log.
type Beyond struct{ Size uint64 }

// Error implements error.
func (e *Beyond) Error() string { return fmt.Sprintf("the log has %d entries", e.Size) }

// Row is one audit row on its way to the store; package audit says what it is.
type Row struct {
	Kind string    // the op of the row
	Body []byte    // canonical JSON object with a salt
	For  []did.DID // who may see it besides a mediator
	Keys []string  // what finds it, such as a permission's id
}

// Cover says which rows an audit.rows event puts into the log.
type Cover struct {
	Index uint64 // of the event
	First uint64 // number of the first row, from 1
	Size  uint64 // number of rows
}

// Erasure is what a log.erased takes away: a body with the index of the event
// that names it, or a row by its number.
type Erasure struct {
	Body  envelope.ID // zero where it is a row
	Index uint64      // of the event whose body it is
	Row   uint64      // from 1; 0 where it is a body
}

// Batch is what one append adds to one log: all of it or nothing.
type Batch struct {
	Org     did.DID
	From    uint64  // size of the log before
	Entries []Entry // 0 to MaxBatch
	Note    []byte  // optional: a verified note of size at least From+len(Entries)
	Seen    []Seen  // its verified cosignatures

	// The rest is for the own log alone.
	Mark   uint64   // last outbox number taken in; 0 leaves the mark
	Rows   []Row    // numbered on from the last row
	Bodies [][]byte // bodies made with the entries
	Covers []Cover
	Lost   *Cover    // rows that no audit.rows will cover: Index is of the log.gap that says so; with no Rows beside
	Erased []Erasure // what log.erased of this batch name, rows of the batch included
}

// Order is the order of a query's answer. The zero value is ByLog.
type Order uint8

// The orders, append-only.
const (
	ByLog    Order = iota + 1 // by organization and index, as the logs were at the first page
	ByIngest                  // as events came here, for whoever follows
)

// String returns the order's word.
func (o Order) String() string { return word(int(max(o, ByLog)), "log", "ingest") }

// Query selects events over all logs. Zero fields select everything that counts.
type Query struct {
	Org      did.DID
	Type     Type // exact, or a prefix that ends in "."
	Subject  string
	Actor    did.DID
	Ref      envelope.ID
	Since    envelope.Time // the earliest At; zero for none
	Until    envelope.Time // the earliest At that is too late; zero for none
	Level    Level         // the least; zero is Authored for what is valid, else Logged
	Standing Standing      // zero is Valid
	Any      bool          // without Level and Standing: also what does not count
	Order    Order
	Limit    int    // 1 to MaxPage; 0 is 100
	Cursor   string // Next or Tail of a page before, of the same query
}

// Accepts reports whether q selects events with a verdict.
func (q Query) Accepts(v Verdict) bool {
	level, standing := q.Level, q.Standing
	if level == 0 {
		level = Logged
		if !q.Any && standing <= Valid {
			level = Authored
		}
	}
	if standing == 0 && !q.Any {
		standing = Valid
	}
	return v.Level >= level && (standing == 0 || v.Standing == standing)
}

// Found is one event of a page.
type Found struct {
	Org     did.DID
	Index   uint64
	Entry   Entry
	Verdict Verdict
	// Cursor goes on behind this event; in the order ByIngest alone.
	Cursor string
}

// Page is one answer to a Query. It may hold fewer events than were asked for, even none,
// and others follow: what was looked at for it is bounded too.
type Page struct {
	Found []Found
	Next  string // where the next page begins; "" when nothing follows
	// Tail goes on behind all that was looked at, whether something follows yet or not: for
	// who waits for more. In the order ByIngest alone.
	Tail string
}

// Store keeps every log held here. It is safe for concurrent use.
type Store interface {
	// Append is all or nothing and durable on return; ErrConflict when
	// b.From is not the size of the log, ErrTooLarge over the caps.
	Append(ctx context.Context, b Batch) error
	// Log returns the log of d, or ErrNotFound when nothing of it is held.
	Log(ctx context.Context, d did.DID) (Log, error)
	// Mark returns the last outbox number taken in; it never falls.
	Mark(ctx context.Context) (uint64, error)
	// Query returns one page. All pages of a query hold each event it selects once, in
	// order: ByLog those of the logs as they were at the first page, ByIngest those that
	// came meanwhile too. What is not judged yet ends a page ByIngest that asks for more
	// than Logged, so that nobody passes it; an event that comes to count after it was judged
	// otherwise stands where it came to count. ErrCursor for a cursor of another query,
	// ErrCursorAhead for one of more than is held.
	Query(ctx context.Context, q Query) (Page, error)
}

// Log is one organization's log as held here, at the size it had when asked
// for. It is safe for concurrent use.
type Log interface {
	tlog.HashReader // stored hashes of the tree
	// Head returns size and root, and the newest note that covers no more
	// than is held; nil when there is none.
	Head() (Head, []byte)
	// Find returns the first index of an event's id, or ErrNotFound.
	Find(ctx context.Context, id envelope.ID) (uint64, error)
	// Entries yields the entries of indexes from to to-1 in order, or
	// returns a *Beyond. The error of yield ends it and is returned.
	Entries(ctx context.Context, from, to uint64, yield func(uint64, Entry) error) error
}
