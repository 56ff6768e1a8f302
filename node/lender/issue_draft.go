package lender

import (
	"context"
	"slices"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
)

// leaveOut is the word that leaves out what a replaced permission had.
const leaveOut = "none"

// fill takes over what a request or a replaced permission says and the operator does not.
func (i *issuing) fill(ctx context.Context, in *IssueInput) error {
	if in.Request != "" && in.Replaces != "" {
		return fault.New(fault.Invalid, "request", "a permission answers a request or replaces one, not both").WithHint("leave one of them out")
	}
	if in.Request != "" {
		return i.fillAsked(ctx, in)
	}
	if in.Replaces != "" {
		return i.fillOld(ctx, in)
	}
	return nil
}

// draft makes the permission's body.
func (i *issuing) draft(in IssueInput) error {
	scope, err := lending.Parse(in.Scope)
	if err != nil {
		return fault.Wrap(fault.Invalid, "scope", err).WithHint("say what is included, e.g. tag:client:acme -tag:confidential age<90d")
	}
	end, err := lending.ParseEnd(in.Expires, i.at)
	if err != nil {
		return fault.Wrap(fault.Invalid, "expires", err).WithHint("e.g. --expires 720h or --expires 2026-12-31T00:00:00Z")
	}
	if err := envelope.CheckText(in.Purpose, false); err != nil || in.Purpose == "" {
		return fault.New(fault.Invalid, "purpose", "the purpose is not 1 to %d bytes of plain text on one line", lending.MaxPurpose).WithHint("give --purpose, without line breaks")
	}
	i.p = lending.Permission{
		Lender: i.lender.Agent, Kid: i.lender.KID, Borrower: i.borrower.Agent, Scope: scope, Purpose: in.Purpose,
		IssuedAt: envelope.TimeOf(i.at), ExpiresAt: end, MaxReads: in.MaxReads, Patterns: []string{lending.PatternRead},
		Revocation: i.revocation(), Nonce: lending.NewNonce(),
	}
	if i.parent != nil {
		i.p.Parent = i.parent.perm.ID()
	}
	if i.stand.cross && !i.stand.head.ID.IsZero() {
		i.p.GoverningCharter = &lending.CharterPin{ID: i.stand.head.ID, Seq: i.stand.head.Seq}
	}
	return i.options(in)
}

// revocation is where a permission of this organization is checked.
func (i *issuing) revocation() string { return i.l.n.Org.String() + "#lending" }

// options are the members that most permissions do without.
func (i *issuing) options(in IssueInput) (err error) {
	if len(in.Patterns) > 0 {
		i.p.Patterns = sorted(in.Patterns)
	}
	i.p.WriteTo = sorted(in.WriteTo)
	if i.p.Allows(lending.PatternDownstreamWrite) && len(i.p.WriteTo) == 0 {
		return fault.New(fault.Invalid, "write_to", "pattern downstream_write names no destination").WithHint("give --write-to, up to four times")
	}
	if in.CostCap != "" {
		return fault.New(fault.Invalid, "cost_cap", "a cost cap needs prices, which come with a pact that both signed").WithHint("leave --cost-cap out: without prices nothing is billed")
	}
	if in.NotBefore != "" && in.NotBefore != leaveOut {
		if i.p.NotBefore, err = lending.ParseEnd(in.NotBefore, i.at); err != nil {
			return fault.Wrap(fault.Invalid, "not_before", err).WithHint("e.g. --not-before 24h or --not-before 2026-12-31T00:00:00Z")
		}
	}
	if in.CacheS != nil {
		i.p.CacheS = *in.CacheS
	}
	if i.p.Provenance, err = option("provenance", in.Provenance, lending.ProvenanceAllow); err != nil {
		return err
	}
	i.p.Sublend, err = option("sublend", in.Sublend, lending.SublendAsk)
	return err
}

// option reads a member that has one value, or is absent.
func option(name, got, only string) (string, error) {
	switch got {
	case "", leaveOut:
		return "", nil
	case only:
		return only, nil
	}
	return "", fault.New(fault.Invalid, name, "%s is %q or %q, not %.40q", name, only, leaveOut, got).WithHint("leave it out, or give %q", only)
}

// sorted returns a set in its one order; nil where it is empty.
func sorted(in []string) []string {
	if len(in) == 0 {
		return nil
	}
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}
