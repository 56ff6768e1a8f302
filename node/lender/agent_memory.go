package lender

import (
	"context"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/node/fault"
	"trustnode/node/memory"
	"trustnode/node/self"
)

// SearchInput is what an own agent asks of its project's memory by a tool.
type SearchInput struct {
	Scope string // as people type it; empty: every active entry
	Query string // orders the matches of a scope; empty: newest first
	Limit int    // 1..100; 0 is 20
}

// Search is Look for a tool, where a scope may be left out: then it finds the newest entries.
// Errors are *fault.Denied.
func (l *Lender) Search(ctx context.Context, agent did.DID, in SearchInput) (Looked, error) {
	if in.Limit == 0 {
		in.Limit = memory.DefaultLimit
	}
	switch {
	case in.Limit < 1 || in.Limit > memory.MaxLimit:
		return Looked{}, fault.New(fault.Invalid, "limit", "limit is not 1 to %d", memory.MaxLimit).WithHint("ask for at most %d entries", memory.MaxLimit)
	case strings.TrimSpace(in.Scope) != "":
		return l.Look(ctx, LookInput{As: agent.String(), Scope: in.Scope, Query: in.Query, Limit: in.Limit})
	case in.Query != "":
		return Looked{}, fault.New(fault.Invalid, "query", "a query orders what a scope found, and there is no scope").WithHint("say what to look through, e.g. tag:client:acme")
	}
	out, err := l.newest(ctx, agent, in.Limit)
	return out, refusal(err)
}

// newest are the newest active entries of an agent's place that have not expired.
func (l *Lender) newest(ctx context.Context, agent did.DID, limit int) (Looked, error) {
	at, err := l.n.Clock.Now()
	if err != nil {
		return Looked{}, err
	}
	a, err := l.agent(self.ViewGetter(ctx, l.n.DB), agent.String())
	if err != nil {
		return Looked{}, err
	}
	in, err := place(a)
	if err != nil {
		return Looked{}, err
	}
	var out Looked
	var after *memory.Entry
	for {
		page, err := l.n.Entries.List(ctx, in, memory.Filter{Limit: limit, After: after})
		if err != nil {
			return Looked{}, err
		}
		for _, e := range page {
			switch {
			case len(out.Entries) == limit, ended(e, at):
			case closed(e) && !e.WrittenBy(agent):
				out.Withheld++
			default:
				out.Entries = append(out.Entries, e)
			}
		}
		if len(page) < limit || len(out.Entries) == limit {
			return out, nil
		}
		after = &page[len(page)-1]
	}
}

func ended(e memory.Entry, at time.Time) bool {
	return !e.ExpiresAt.IsZero() && !at.Before(e.ExpiresAt)
}

// closed says that an entry's class is one that its writer alone reads directly (I-17).
func closed(e memory.Entry) bool {
	switch e.Class() {
	case "public", "internal", "confidential":
		return false
	}
	return true
}
