package main

import (
	"context"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// draftLife is how far the date of a draft may lie from this machine's clock.
const draftLife = 10 * time.Minute

// checkTerms holds what a node drafted to what was typed: a person's key answers for every
// word of it, and the node is not the person. What was left out is the node's or the
// request's to fill in, where it has a default; else it has to be absent.
func checkTerms(in httpapi.LoanIssue, p lending.Permission, now time.Time) error {
	other := func(what, detail string, args ...any) error {
		return fault.New(fault.Conflict, what, detail, args...).WithHint("nothing was signed: this node does not do what it is told, look into it before you lend")
	}
	if p.IssuedAt.Time().Sub(now).Abs() > draftLife {
		return fault.New(fault.Conflict, "issued_at", "the draft is dated %s, this machine's clock says %s", p.IssuedAt, envelope.TimeOf(now)).WithHint("nothing was signed: set the clock that is wrong")
	}
	asked := in.Request != ""
	if len(in.Patterns) == 0 && !asked {
		in.Patterns = []string{lending.PatternRead}
	}
	cache := uint64(0)
	if in.CacheS != nil {
		cache = *in.CacheS
	}
	for _, x := range []struct {
		what      string
		same      bool
		got, want any
	}{
		{"lender", sameAgent(in.Lender, p.Lender), p.Lender, in.Lender},
		{"borrower", sameAgent(in.Borrower, p.Borrower), p.Borrower, in.Borrower},
		{"scope", asked && in.Scope == "" || sameScope(in.Scope, p), p.Scope, in.Scope},
		{"purpose", asked && in.Purpose == "" || in.Purpose == p.Purpose, p.Purpose, in.Purpose},
		{"max_reads", asked && in.MaxReads == 0 || in.MaxReads == p.MaxReads, p.MaxReads, in.MaxReads},
		{"expires", asked && in.Expires == "" || sameTime(in.Expires, p.ExpiresAt, p), p.ExpiresAt, in.Expires},
		{"not_before", sameTime(absent(in.NotBefore), p.NotBefore, p), p.NotBefore, in.NotBefore},
		{"patterns", asked && len(in.Patterns) == 0 || sameSet(in.Patterns, p.Patterns), p.Patterns, in.Patterns},
		{"write_to", sameSet(in.WriteTo, p.WriteTo), p.WriteTo, in.WriteTo},
		{"cache_s", cache == p.CacheS, p.CacheS, cache},
		{"provenance", absent(in.Provenance) == p.Provenance, p.Provenance, in.Provenance},
		{"sublend", absent(in.Sublend) == p.Sublend, p.Sublend, in.Sublend},
	} {
		if !x.same {
			return other(x.what, "%s of the draft is %v, you said %v", x.what, x.got, x.want)
		}
	}
	if !p.Pact.IsZero() || !p.Terms.IsZero() || p.CostCap != nil || !asked && !p.Parent.IsZero() {
		return other("draft", "the draft has a pact, a price or a parent that nobody asked for")
	}
	return nil
}

// sameAgent compares a DID. A name says nothing here: byName asks whose it is.
func sameAgent(typed string, got did.DID) bool {
	d, err := did.Parse(typed)
	return err != nil || d == got
}

// sameScope says whether the draft lends what was typed; of a part of a loan, no more than
// that.
func sameScope(typed string, p lending.Permission) bool {
	s, err := lending.Parse(typed)
	if err == nil && !p.Parent.IsZero() {
		s, err = s.And(p.Scope)
	}
	return err == nil && s.Equal(p.Scope)
}

// sameTime compares a time as it was typed; a duration runs from the date of the draft, whose
// part of a second is not known here.
func sameTime(typed string, got envelope.Time, p lending.Permission) bool {
	if typed == "" {
		return got.IsZero()
	}
	t, err := lending.ParseEnd(typed, p.IssuedAt.Time())
	return err == nil && !got.IsZero() && got.Sub(t).Abs() <= time.Second
}

func sameSet(typed, got []string) bool {
	typed = slices.Clone(typed)
	slices.Sort(typed)
	return slices.Equal(slices.Compact(typed), got)
}

// absent is a member as it stands in a permission: none is no member.
func absent(typed string) string {
	if typed == "none" {
		return ""
	}
	return typed
}

// byName holds an agent that was named to the one of the draft. Which name is whose the node
// alone knows; who signs sees the DID among the terms.
func byName(ctx context.Context, k *caller, what, typed string, got did.DID) error {
	if _, err := did.Parse(typed); err == nil || typed == "" {
		return nil
	}
	var a httpapi.AgentInfo
	if err := k.call(ctx, "GET", agentPath(typed), nil, &a); err != nil {
		return err
	}
	if a.Name != typed || a.DID != got.String() {
		return fault.New(fault.Conflict, what, "the %s of the draft is %s, you said %s, who is %s", what, got, typed, a.DID).WithHint("nothing was signed: trustnode agent list shows who is who")
	}
	return nil
}

// termsOf are a draft's own words, whatever the node says beside it.
func termsOf(p lending.Permission, request string) httpapi.Loan {
	l := httpapi.Loan{Lender: p.Lender.String(), Borrower: p.Borrower.String(), Scope: p.Scope.String(), Purpose: p.Purpose, ExpiresAt: p.ExpiresAt.String(),
		MaxReads: p.MaxReads, Left: p.MaxReads, Patterns: p.Patterns, CacheS: p.CacheS, Provenance: p.Provenance, Sublend: p.Sublend, WriteTo: p.WriteTo, Request: request}
	if !p.NotBefore.IsZero() {
		l.NotBefore = p.NotBefore.String()
	}
	if !p.Parent.IsZero() {
		l.Parent = p.Parent.String()
	}
	return l
}
