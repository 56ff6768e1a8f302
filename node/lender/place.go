package lender

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"trustnode/did"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/memory"
	"trustnode/node/self"
	"trustnode/node/store"
)

// tenant is the only one of this version.
const tenant = "main"

// agent finds an own agent by name or DID.
func (l *Lender) agent(g library.Getter, nameOrDID string) (self.AgentRow, error) {
	row, err := l.n.OwnAgent(g, nameOrDID)
	if errors.Is(err, self.ErrNoAgent) {
		return row, fault.New(fault.NotFound, "agent", "no agent %.80q of this organization", nameOrDID).
			WithHint("trustnode agent list shows the agents, trustnode agent add makes one")
	}
	return row, err
}

// place is where an agent's memory lies, by its row alone.
func place(a self.AgentRow) (memory.Place, error) {
	if a.Project == "" {
		return memory.Place{}, noPlace(fmt.Sprintf("agent %s has no project", a.Name))
	}
	return memory.NewPlace(tenant, a.Project)
}

func noPlace(detail string) error {
	return fault.New(fault.Invalid, "no_place", detail).WithHint("name one with --project; an agent keeps the first project it is given")
}

// settle returns an agent's place. The first operator's verb that names agent and
// project fixes it; from then on another project is refused.
func (l *Lender) settle(tx store.Tx, nameOrDID, project string) (self.AgentRow, memory.Place, error) {
	a, err := l.agent(tx, nameOrDID)
	if err != nil {
		return a, memory.Place{}, err
	}
	if project != "" && a.Project != "" && project != a.Project {
		return a, memory.Place{}, fault.New(fault.Refused, "other_project", "agent %s works in another project", a.Name).
			WithHint("leave --project out, or use an agent of that project")
	}
	if a.Project == "" && project != "" {
		a.Project = project
		if _, err := place(a); err != nil {
			return a, memory.Place{}, err
		}
		if err := l.n.PutAgent(tx, a); err != nil {
			return a, memory.Place{}, err
		}
	}
	in, err := place(a)
	return a, in, err
}

// AddEntry adds one entry to the memory of an agent's project, by the operator's hand.
func (l *Lender) AddEntry(ctx context.Context, in AddInput) (memory.Entry, error) {
	d, err := l.draft(in)
	if err != nil {
		return memory.Entry{}, refusal(err)
	}
	var out memory.Entry
	err = l.n.DB.Update(ctx, func(tx store.Tx) error {
		_, at, err := l.settle(tx, in.Agent, in.Project)
		if err != nil {
			return err
		}
		w, err := memory.NewWriter(at, did.DID{}, memory.ByOperator)
		if err != nil {
			return err
		}
		n := d // the function may run twice
		if n.Subjects, err = l.pseudonyms(tx, in.Subjects); err != nil {
			return err
		}
		out, err = l.n.Entries.Put(tx, w, n)
		return named(err)
	})
	if err != nil {
		return memory.Entry{}, refusal(err)
	}
	return out, nil
}

// project is the place of a verb that names a project and no agent.
func project(name string) (memory.Place, error) {
	if name == "" {
		return memory.Place{}, noPlace("no project is named")
	}
	return memory.NewPlace(tenant, name)
}

// Tag changes tags of entries, or releases them from quarantine.
func (l *Lender) Tag(ctx context.Context, in TagInput) (Tagged, error) {
	at, err := project(in.Project)
	if err != nil {
		return Tagged{}, refusal(err)
	}
	if in.All == (len(in.IDs) > 0) {
		return Tagged{}, fault.New(fault.Invalid, "ids", "either ids or all entries").WithHint("name entries, or give --all")
	}
	if len(in.IDs) > MaxTagged {
		return Tagged{}, fault.New(fault.TooLarge, "ids", "%d ids, at most %d", len(in.IDs), MaxTagged).WithHint("ask in parts")
	}
	before, err := l.n.Entries.Size(ctx, at, memory.Quarantined)
	if err != nil {
		return Tagged{}, refusal(err)
	}
	var out Tagged
	if out.Changed, err = l.tag(ctx, at, in); err != nil {
		return out, refusal(err)
	}
	after, err := l.n.Entries.Size(ctx, at, memory.Quarantined)
	out.Released = max(0, before-after)
	return out, refusal(err)
}

func (l *Lender) tag(ctx context.Context, at memory.Place, in TagInput) (n int, err error) {
	c := memory.Change{Add: in.Add, Remove: in.Remove, Release: in.Release, Quarantine: in.Quarantine}
	err = l.n.DB.Update(ctx, func(tx store.Tx) (err error) {
		if c.RemoveSubjects, err = l.knownSubjects(tx, in.RemoveSubjects); err != nil {
			return err
		}
		if c.AddSubjects, err = l.pseudonyms(tx, in.AddSubjects); err != nil || in.All {
			return err
		}
		changed, err := l.n.Entries.Tag(tx, at, plainIDs(in.IDs), c)
		n = len(changed)
		return err
	})
	if err == nil && in.All {
		n, err = l.n.Entries.TagAll(ctx, at, c, nil)
	}
	if err != nil {
		return n, err
	}
	return n, l.n.Entries.Settle(ctx, at)
}

// plainIDs takes ids as they are printed, ID@REVISION, too.
func plainIDs(in []string) []string {
	out := make([]string, len(in))
	for i, id := range in {
		out[i], _, _ = strings.Cut(id, "@")
	}
	return out
}

// Entries lists a project's entries, newest first.
func (l *Lender) Entries(ctx context.Context, in ListInput) (EntryList, error) {
	at, err := project(in.Project)
	if err != nil {
		return EntryList{}, refusal(err)
	}
	if in.Review {
		return l.review(ctx, at, in.Limit)
	}
	states, err := listed(in)
	if err != nil {
		return EntryList{}, refusal(err)
	}
	var out EntryList
	for _, s := range states {
		n, err := l.n.Entries.Size(ctx, at, s)
		if err != nil {
			return EntryList{}, refusal(err)
		}
		es, err := l.n.Entries.List(ctx, at, memory.Filter{State: s, Tag: in.Tag, Limit: in.Limit})
		if err != nil {
			return EntryList{}, refusal(err)
		}
		out.Total += n
		out.Entries = append(out.Entries, es...)
	}
	newestFirst(out.Entries)
	if in.Limit > 0 && len(out.Entries) > in.Limit {
		out.Entries = out.Entries[:in.Limit]
	}
	return out, nil
}
