package lender

import (
	"context"
	"errors"
	"slices"
	"strings"

	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
	"trustnode/node/self"
)

// LookInput is what an own agent asks of the memory of its project.
type LookInput struct {
	As    string // own agent, by name or DID
	Scope string // as people type it
	Query string // orders the matches; empty: newest first
	Limit int    // 1..100; 0 is 20
}

// Looked is what it may see.
type Looked struct {
	Entries  []memory.Entry
	Total    int // matches that it may see
	Withheld int // matches of class personal or regulated that another wrote
}

// Look evaluates a scope for an own agent in its own place, with no loan and no row. What is
// personal or regulated is shown to its writer alone; of the others' it learns the number
// (04 section 1, I-17).
func (l *Lender) Look(ctx context.Context, in LookInput) (Looked, error) {
	a, at, err := l.looker(ctx, in.As)
	if err != nil {
		return Looked{}, refusal(err)
	}
	s, err := lending.Parse(in.Scope)
	if err != nil {
		return Looked{}, fault.Wrap(fault.Invalid, "scope", err).WithHint("say what is included, e.g. tag:client:acme -tag:confidential age<90d")
	}
	f, err := l.n.Entries.Search(ctx, at, a.Agent, s, memory.Query{Text: in.Query, Limit: in.Limit})
	if err != nil {
		return Looked{}, refusal(err)
	}
	return l.found(ctx, at, f)
}

// looker is an own agent that has not ended, and the place that it may look into.
func (l *Lender) looker(ctx context.Context, as string) (self.AgentRow, memory.Place, error) {
	a, err := l.agent(self.ViewGetter(ctx, l.n.DB), as)
	if err != nil {
		return a, memory.Place{}, err
	}
	if now, _ := l.clock(); a.Revoked || !now.Before(a.NotAfter.Time()) {
		return a, memory.Place{}, fault.New(fault.Refused, "agent_ended", "agent %s has ended", a.Name).WithHint("trustnode agent list shows who is live")
	}
	at, err := place(a)
	return a, at, err
}

// found reads the entries that were found.
func (l *Lender) found(ctx context.Context, at memory.Place, f memory.Found) (Looked, error) {
	out := Looked{Total: f.Total, Withheld: f.Withheld}
	for _, ref := range f.Refs {
		e, err := l.n.Entries.Get(ctx, at, ref.Entry)
		if errors.Is(err, memory.ErrNotFound) || err == nil && e.Rev != ref.Rev {
			continue // it changed since, perhaps its class
		}
		if err != nil {
			return Looked{}, refusal(err)
		}
		out.Entries = append(out.Entries, e)
	}
	return out, nil
}

// Shown is one entry, or one of its earlier revisions.
type Shown struct {
	memory.Entry        // as it is now
	View         []byte // canonical JSON of the revision asked for, as a borrower got it; nil where none was named
	Subjects     []memory.Subject
}

// Show gives an entry of a project, ID or ID@REVISION.
func (l *Lender) Show(ctx context.Context, projectName, text string) (Shown, error) {
	at, err := project(projectName)
	if err != nil {
		return Shown{}, refusal(err)
	}
	id, rev, _ := strings.Cut(text, "@")
	e, err := l.n.Entries.Get(ctx, at, id)
	if errors.Is(err, memory.ErrNotFound) {
		return Shown{}, fault.New(fault.NotFound, "entry", "the project has no such entry").WithHint("trustnode memory list shows the ids; another project's entries are not here")
	}
	if err != nil {
		return Shown{}, refusal(err)
	}
	out := Shown{Entry: e}
	get := self.ViewGetter(ctx, l.n.DB)
	for _, s := range e.Subjects {
		named, err := l.n.Entries.Subject(get, tenant, s)
		if err != nil {
			return Shown{}, refusal(err)
		}
		out.Subjects = append(out.Subjects, named)
	}
	if rev == "" {
		return out, nil
	}
	ref, err := lending.ParseRef(text)
	if err != nil {
		return Shown{}, fault.Wrap(fault.Invalid, "entry", err).WithHint("an entry is named ID or ID@REVISION")
	}
	views, err := l.n.Entries.Render(ctx, at, []lending.Ref{ref})
	if err != nil {
		return Shown{}, refusal(err)
	}
	out.View = views[0]
	return out, nil
}

// MemoryStats are the numbers of a project's memory.
type MemoryStats struct {
	States  map[string]int
	Classes map[string]int // active entries by class
	Tags    []TagNumber    // of active entries, the most used first, at most MaxStatTags
	More    int            // tags beyond those
	Review  int            // entries to be looked at again, at most memory.MaxList
	Held    bool           // what is derived is held back while a raise goes through
}

// TagNumber is a tag and how many active entries carry it.
type TagNumber struct {
	Tag string
	N   int
}

// Stats counts what a project's memory holds.
func (l *Lender) Stats(ctx context.Context, projectName string) (MemoryStats, error) {
	at, err := project(projectName)
	if err != nil {
		return MemoryStats{}, refusal(err)
	}
	out := MemoryStats{States: map[string]int{}, Classes: map[string]int{}}
	for _, s := range []memory.State{memory.Active, memory.Quarantined, memory.Superseded} {
		if out.States[s.String()], err = l.n.Entries.Size(ctx, at, s); err != nil {
			return MemoryStats{}, refusal(err)
		}
	}
	err = l.n.Entries.Tags(ctx, at, func(tag string, n int) bool {
		if class, ok := strings.CutPrefix(tag, "class:"); ok {
			out.Classes[class] = n
		} else {
			out.Tags = append(out.Tags, TagNumber{tag, n})
		}
		return true
	})
	if err != nil {
		return MemoryStats{}, refusal(err)
	}
	slices.SortStableFunc(out.Tags, func(a, b TagNumber) int { return b.N - a.N })
	if out.More = max(0, len(out.Tags)-MaxStatTags); out.More > 0 {
		out.Tags = out.Tags[:MaxStatTags]
	}
	due, err := l.review(ctx, at, 0)
	if err != nil {
		return MemoryStats{}, err
	}
	out.Review = due.Total
	held, err := l.n.Entries.Held(ctx)
	out.Held = slices.Contains(held, at)
	return out, refusal(err)
}
