package lender

import (
	"context"
	"strings"

	"trustnode/did"
	"trustnode/node/fault"
	"trustnode/node/memory"
)

// SearchInput is what an own agent asks of its project's memory by a tool.
type SearchInput struct {
	Scope string // as people type it; empty: every active entry
	Query string // orders the matches of a scope; empty: newest first
	Limit int    // 1..100; 0 is 20
}

// Search is Look for a tool, where a scope may be left out: then it finds the newest entries
// that a scope over all of them would find (memory.Newest).
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
	a, at, err := l.looker(ctx, agent.String())
	if err != nil {
		return Looked{}, refusal(err)
	}
	f, err := l.n.Entries.Newest(ctx, at, a.Agent, in.Limit)
	if err != nil {
		return Looked{}, refusal(err)
	}
	return l.found(ctx, at, f)
}
