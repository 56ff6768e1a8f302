package lender

import (
	"context"
	"slices"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/store"
)

// replacement is the permission that a new one takes the place of, with the revocation
// that ends it.
type replacement struct {
	k          *known
	revocation envelope.Verified[lending.Revocation]
}

// fillOld takes over what the open permission says and the operator does not. Nonce, time
// and charter are new, and so is what the memory holds now.
func (i *issuing) fillOld(ctx context.Context, in *IssueInput) error {
	id, err := resolve(in.Replaces)
	if err != nil {
		return err
	}
	k, err := i.l.issued(ctx, id)
	if err != nil {
		return err
	}
	i.old = &replacement{k: k}
	p := k.perm.Body()
	if !p.Parent.IsZero() {
		return fault.New(fault.Invalid, "replaces", "permission %s is a part of another one", id).WithHint("let its borrower ask for a new one, and revoke this: trustnode loan revoke %s", id)
	}
	if err := same("lender", &in.Lender, p.Lender.String(), i.named(ctx, in.Lender)); err != nil {
		return err
	}
	if err := same("borrower", &in.Borrower, p.Borrower.String(), i.named(ctx, in.Borrower)); err != nil {
		return err
	}
	setDefault(&in.Scope, p.Scope.String())
	setDefault(&in.Purpose, p.Purpose)
	setDefault(&in.Expires, p.ExpiresAt.String())
	setDefault(&in.Provenance, p.Provenance)
	setDefault(&in.Sublend, p.Sublend)
	if !p.NotBefore.IsZero() {
		setDefault(&in.NotBefore, p.NotBefore.String())
	}
	if in.MaxReads == 0 {
		in.MaxReads = p.MaxReads
	}
	if in.CacheS == nil {
		in.CacheS = &p.CacheS
	}
	if len(in.Patterns) == 0 {
		in.Patterns = p.Patterns
	}
	if len(in.WriteTo) == 0 && slices.Contains(in.Patterns, lending.PatternDownstreamWrite) {
		in.WriteTo = p.WriteTo
	}
	return nil
}

// signEnd signs the revocation of the permission that is replaced.
func (i *issuing) signEnd(ctx context.Context) (err error) {
	if i.old != nil {
		i.old.revocation, err = i.l.revocation(ctx, i.old.k, "ended", i.at)
	}
	return err
}

// retire ends, in the transaction of the new permission, the one that it replaces; one
// that has ended is not replaced.
func (i *issuing) retire(tx store.Tx) error {
	if i.old == nil {
		return nil
	}
	if err := i.l.alive(tx, i.old.k, i.at); err != nil {
		return err
	}
	_, err := i.l.revokeIn(tx, i.old.k, i.old.revocation, "replaced by a new permission")
	return err
}
