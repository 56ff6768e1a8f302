package lender

import (
	"context"
	"errors"
	"strings"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
	"trustnode/node/store"
)

// draft reads what the operator typed, all but the subjects.
func (l *Lender) draft(in AddInput) (memory.Draft, error) {
	now, err := l.n.Clock.Now()
	if err != nil {
		return memory.Draft{}, fault.Wrap(fault.ClockSkew, "clock", err).WithHint("set this host's clock")
	}
	d := memory.Draft{
		Statement: in.Statement, ContentType: in.ContentType, Data: in.Data, Tags: in.Tags, DerivedBy: in.DerivedBy, DerivedFrom: plainIDs(in.DerivedFrom),
		Authorization: in.Approval, Source: memory.Source{ID: in.SourceID},
	}
	d.Supersedes, _, _ = strings.Cut(in.Supersedes, "@")
	if in.Kind != "" {
		if d.Kind, err = memory.ParseKind(in.Kind); err != nil {
			return memory.Draft{}, err
		}
	}
	if in.Source != "" {
		if d.Source.Type, err = memory.ParseSourceType(in.Source); err != nil {
			return memory.Draft{}, err
		}
	}
	for _, t := range []struct {
		flag, text string
		to         func(envelope.Time)
	}{
		{"review_after", in.ReviewAfter, func(t envelope.Time) { d.ReviewAfter = t.Time() }},
		{"expires_at", in.ExpiresAt, func(t envelope.Time) { d.ExpiresAt = t.Time() }},
	} {
		if t.text == "" {
			continue
		}
		end, err := lending.ParseEnd(t.text, now)
		if err != nil || !now.Before(end.Time()) {
			return memory.Draft{}, fault.New(fault.Invalid, t.flag, "%.40q is neither a duration nor a time to come", t.text).WithHint("e.g. 720h, 30d or 2027-01-31T00:00:00Z")
		}
		t.to(end)
	}
	if in.ObservedAt != "" {
		t, err := envelope.ParseTime(in.ObservedAt)
		if err != nil {
			return memory.Draft{}, fault.New(fault.Invalid, "observed_at", "%.40q is no time", in.ObservedAt).WithHint("e.g. 2026-11-28T06:31:00Z")
		}
		d.Source.ObservedAt = t.Time()
	}
	return d, nil
}

// named says of an entry that a draft names what is wrong with it.
func named(err error) error {
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return fault.New(fault.NotFound, "entry", "an entry that this one is derived from or corrects is not in the project").WithHint("trustnode memory list shows the ids")
	case errors.Is(err, memory.ErrSuperseded):
		return fault.New(fault.Conflict, "superseded", "the entry is corrected already").WithHint("correct its correction: trustnode memory show ID names it")
	}
	return err
}

// pseudonyms maps names of subjects; a name that is new gets its pseudonym.
func (l *Lender) pseudonyms(tx store.Tx, names []string) ([]string, error) {
	var out []string
	for _, n := range names {
		s, err := l.n.Entries.NameSubject(tx, tenant, n)
		if err != nil {
			return nil, err
		}
		out = append(out, s.Pseudonym)
	}
	return out, nil
}

// knownSubjects maps names of subjects that have to be known.
func (l *Lender) knownSubjects(g memory.Getter, names []string) ([]string, error) {
	var out []string
	for _, n := range names {
		s, err := l.subject(g, n)
		if err != nil {
			return nil, err
		}
		out = append(out, s.Pseudonym)
	}
	return out, nil
}

// subject finds a data subject by name or pseudonym.
func (l *Lender) subject(g memory.Getter, text string) (memory.Subject, error) {
	s, err := l.n.Entries.Subject(g, tenant, text)
	if errors.Is(err, memory.ErrNoSubject) {
		return s, fault.New(fault.NotFound, "subject", "no subject of that name is known here").
			WithHint("names are matched exactly; memory tag --subject NAME gives an entry one")
	}
	return s, err
}

// listed are the states that a list shows.
func listed(in ListInput) ([]memory.State, error) {
	switch {
	case in.State != "":
		s, err := memory.ParseState(in.State)
		return []memory.State{s}, err
	case in.Tag != "":
		return []memory.State{memory.Active}, nil
	}
	return []memory.State{memory.Active, memory.Quarantined}, nil
}

// review lists what is to be looked at again.
func (l *Lender) review(ctx context.Context, at memory.Place, limit int) (EntryList, error) {
	now, err := l.n.Clock.Now()
	if err != nil {
		return EntryList{}, refusal(err)
	}
	es, err := l.n.Entries.Review(ctx, at, now, limit)
	return EntryList{Entries: es, Total: len(es)}, refusal(err)
}
