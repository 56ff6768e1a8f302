package lender

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Reader is a permission under which something was read.
type Reader struct {
	Perm        envelope.ID
	Borrower    did.DID
	BorrowerOrg did.DID
	Purpose     string // as granted
	First, Last time.Time
	Count       uint64 // granted answers that held it
}

// Readers is everyone who ever read of one person, or one entry.
type Readers struct {
	Subject string // pseudonym, or empty
	Entry   string // id, or empty
	Entries int    // that carry the subject now
	Readers []Reader
	// Waiting says that rows of the last moment may be missing: the log does not take them.
	Waiting bool
}

// Readers lists everyone who ever read an entry of a person, by the subjects the entries
// carried when they were read, and by those they carry now, also after erasure (04 section
// 8). Where both differ, count is the larger of the two, so of one answer that held several
// entries nothing is counted twice. subject is a name or a pseudonym.
func (l *Lender) Readers(ctx context.Context, subject string) (Readers, error) {
	s, err := l.subject(self.ViewGetter(ctx, l.n.DB), subject)
	if err != nil {
		return Readers{}, refusal(err)
	}
	out := Readers{Subject: s.Pseudonym}
	if out.Waiting, err = l.catchUp(ctx); err != nil {
		return Readers{}, refusal(err)
	}
	prefixes := []string{subjectReaders(s.Pseudonym)}
	err = l.n.Entries.OfSubject(ctx, tenant, s.Pseudonym, memory.Place{}, func(in memory.Place, id string) bool {
		prefixes = append(prefixes, entryReaders(in.String(), id))
		return len(prefixes) <= maxSubjectEntries
	})
	if err != nil {
		return Readers{}, refusal(err)
	}
	out.Entries = len(prefixes) - 1
	out.Readers, err = l.readersUnder(ctx, prefixes)
	return out, refusal(err)
}

// EntryReaders lists everyone who ever read one entry in any revision, also one that was
// forgotten since. entry is its id, with or without a revision.
func (l *Lender) EntryReaders(ctx context.Context, entry string) (Readers, error) {
	entry = plainIDs([]string{entry})[0]
	if _, err := lending.ParseRef(entry + "@1"); err != nil {
		return Readers{}, fault.New(fault.Invalid, "entry", "%.60q is not the id of an entry", entry).WithHint("trustnode memory list shows the ids")
	}
	out := Readers{Entry: entry}
	var err error
	if out.Waiting, err = l.catchUp(ctx); err != nil {
		return Readers{}, refusal(err)
	}
	places, err := l.places(ctx)
	if err != nil {
		return Readers{}, refusal(err)
	}
	var prefixes []string
	for _, p := range places {
		prefixes = append(prefixes, entryReaders(p.String(), entry))
	}
	out.Readers, err = l.readersUnder(ctx, prefixes)
	return out, refusal(err)
}

// places are those of which something was lent: the projects of own agents, and of loans
// of agents that have moved or ended since.
func (l *Lender) places(ctx context.Context) ([]memory.Place, error) {
	ids, err := l.scanIDs(ctx, keyIssued, MaxLoans)
	if err != nil {
		return nil, err
	}
	var out []memory.Place
	for _, id := range ids {
		k, err := l.permission(ctx, id)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, k.place) {
			out = append(out, k.place)
		}
	}
	return out, nil
}

// catchUp brings the index of readers up to now; waiting says that the log did not take
// all that is committed.
func (l *Lender) catchUp(ctx context.Context) (waiting bool, err error) {
	flush, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	if err := l.n.Rec.Flush(flush); err != nil {
		l.n.Log.DebugContext(ctx, "the log does not take what is committed", "error", err)
		waiting = true
	}
	return waiting, l.indexReaders(ctx)
}

// readersUnder unites what lies under some prefixes, newest reader first.
func (l *Lender) readersUnder(ctx context.Context, prefixes []string) ([]Reader, error) {
	found := map[envelope.ID]readerRow{}
	var bad error
	err := l.n.DB.View(ctx, func(r store.Reader) error {
		for _, p := range prefixes {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := r.Scan([]byte(p), nil, func(k, v []byte) bool {
				var row readerRow
				var id envelope.ID
				if id, bad = envelope.ParseID(string(bytes.TrimPrefix(k, []byte(p)))); bad != nil {
					return false
				}
				if bad = envelope.Unmarshal(v, &row); bad != nil {
					return false
				}
				was := found[id]
				sum := was.plus(row)
				sum.Count = max(was.Count, row.Count)
				found[id] = sum
				return true
			})
			if err != nil || bad != nil {
				return cmp.Or(err, bad)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]Reader, 0, len(found))
	for id, row := range found {
		k, err := l.permission(ctx, id)
		if err != nil {
			return nil, err
		}
		p := k.perm.Body()
		out = append(out, Reader{Perm: id, Borrower: p.Borrower, BorrowerOrg: k.issued.BorrowerOrg, Purpose: p.Purpose, First: row.First.Time(), Last: row.Last.Time(), Count: row.Count})
	}
	slices.SortFunc(out, func(a, b Reader) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Perm.String(), b.Perm.String()))
	})
	return out, nil
}
