package lender

import (
	"context"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self"
	"trustnode/node/store"
)

// RevokeSigned is Revoke for a loan of a person, whose own key signed the revocation.
func (l *Lender) RevokeSigned(ctx context.Context, compact, text string) (Revoked, error) {
	if err := checkReasonText(text); err != nil {
		return Revoked{}, err
	}
	e, err := envelope.ParseCompact(compact, lending.RevocationType, lending.MaxReceipt)
	if err != nil {
		return Revoked{}, refusal(err)
	}
	b, err := envelope.Decode[lending.Revocation](e)
	if err != nil {
		return Revoked{}, refusal(err)
	}
	id, err := envelope.ParseID(b.Target)
	if err != nil || b.TargetKind != lending.TargetPermission {
		return Revoked{}, fault.New(fault.Invalid, "target", "the revocation is not of a permission").WithHint("sign one of target_kind permission")
	}
	k, err := l.issued(ctx, id)
	if err != nil {
		return Revoked{}, err
	}
	v, err := l.openRevocation(ctx, k, e)
	if err != nil {
		return Revoked{}, refusal(err)
	}
	ctx = store.Urgent(ctx)
	g := l.hold(k, l.aboveEnding(ctx, k))
	defer l.drop(id, g)
	out, err := l.commitRevocation(ctx, k, v, text)
	if err != nil {
		return Revoked{}, l.notRevoked(ctx, id.String(), err)
	}
	l.finish(ctx, k, g)
	return out, nil
}

// openRevocation verifies that the loan's own lender signed it, now.
func (l *Lender) openRevocation(ctx context.Context, k *known, e envelope.Envelope) (envelope.Verified[lending.Revocation], error) {
	var none envelope.Verified[lending.Revocation]
	row, err := self.Agent(self.ViewGetter(ctx, l.n.DB), k.perm.Body().Lender)
	if err != nil {
		return none, err
	}
	v, err := envelope.Open[lending.Revocation](ctx, e, anyTime(row))
	if err != nil {
		return none, err
	}
	if at, _ := l.clock(); at.Sub(v.Body().At.Time()).Abs() > signedLife {
		return none, fault.New(fault.Invalid, "at", "the revocation is dated %s, now is %s", v.Body().At, envelope.TimeOf(at)).WithHint("sign it anew")
	}
	return v, nil
}
