package lender

import (
	"context"
	"errors"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
	"trustnode/node/self"
)

// An own agent's direct way to the memory of its project, 04 section 1. The place is that of
// the agent's row; nothing the agent says moves it.

// SearchInput is what an own agent asks of its project's memory.
type SearchInput struct {
	Scope string // as people type it; empty: every active entry
	Limit int    // 1..100; 0 is 20
}

// Searched are entries of a project as one of its agents may see them, newest first.
type Searched struct {
	Entries []memory.Entry
	// Withheld is how many more of this page are personal or regulated and were written by
	// another: those are for a loan alone (I-17).
	Withheld int
}

// Search finds active entries in the place of an own agent. Errors are *fault.Denied.
func (l *Lender) Search(ctx context.Context, agent did.DID, in SearchInput) (Searched, error) {
	in.Limit = limitOf(in.Limit)
	if in.Limit < 1 || in.Limit > memory.MaxLimit {
		return Searched{}, fault.New(fault.Invalid, "limit", "limit is not 1 to %d", memory.MaxLimit).WithHint("ask for at most %d entries", memory.MaxLimit)
	}
	a, err := l.agent(self.ViewGetter(ctx, l.n.DB), agent.String())
	if err != nil {
		return Searched{}, refusal(err)
	}
	at, err := place(a)
	if err != nil {
		return Searched{}, refusal(err)
	}
	found, err := l.candidates(ctx, at, in)
	if err != nil {
		return Searched{}, refusal(err)
	}
	out := Searched{Entries: []memory.Entry{}}
	for _, e := range found {
		if closed(e) && e.Writer != agent {
			out.Withheld++
			continue
		}
		out.Entries = append(out.Entries, e)
	}
	return out, nil
}

func limitOf(n int) int {
	if n == 0 {
		return memory.DefaultLimit
	}
	return n
}

// closed says that an entry's class is one that its writer alone reads directly.
func closed(e memory.Entry) bool {
	c := e.Class()
	return c == "personal" || c == "regulated"
}

func (l *Lender) candidates(ctx context.Context, in memory.Place, q SearchInput) ([]memory.Entry, error) {
	at, err := l.n.Clock.Now()
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(q.Scope) == "" {
		return l.newest(ctx, in, q.Limit, at)
	}
	s, err := lending.Parse(q.Scope)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "scope", err).WithHint("say what is included, e.g. tag:client:acme")
	}
	f, err := l.n.Entries.Find(ctx, in, s, memory.Query{Limit: q.Limit, Own: true}, at)
	if err != nil {
		return nil, err
	}
	var out []memory.Entry
	for _, ref := range f.Refs {
		e, err := l.n.Entries.Get(ctx, in, ref.Entry)
		if errors.Is(err, memory.ErrNotFound) {
			continue // it went meanwhile
		}
		if err != nil {
			return nil, err
		}
		if e.State == memory.Active {
			out = append(out, e)
		}
	}
	return out, nil
}

// newest are the newest active entries of a place that have not expired.
func (l *Lender) newest(ctx context.Context, in memory.Place, limit int, at time.Time) ([]memory.Entry, error) {
	var out []memory.Entry
	var after *memory.Entry
	for {
		page, err := l.n.Entries.List(ctx, in, memory.Filter{Limit: limit, After: after})
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			if live := e.ExpiresAt.IsZero() || at.Before(e.ExpiresAt); live && len(out) < limit {
				out = append(out, e)
			}
		}
		if len(page) < limit || len(out) == limit {
			return out, nil
		}
		after = &page[len(page)-1]
	}
}
