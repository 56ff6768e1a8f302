package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/urfave/cli/v2"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/daemon"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// byPerson says that only a person's own key can sign what was asked for.
func byPerson(err error) bool {
	var d *fault.Denied
	return errors.As(err, &d) && d.Code == fault.Refused && d.Reason == "person"
}

// issuePerson issues a loan of a person: the node says what is to be signed, this process
// holds that to what was typed, shows it and opens the person's key, and the node sees the
// signature alone.
func issuePerson(ctx context.Context, c *cli.Context, s *streams, k *caller, in httpapi.LoanIssue) (httpapi.Loan, error) {
	var l httpapi.Loan
	if in.Replaces != "" {
		return l, fault.New(fault.Invalid, "replaces", "a person's loan is not replaced in one act").WithHint("issue the new one, then end the old: trustnode loan revoke %s", in.Replaces)
	}
	if err := k.call(ctx, "POST", "/api/v1/permissions/preview", in, &l); err != nil {
		return l, err
	}
	var p lending.Permission
	if err := envelope.Unmarshal([]byte(l.Body), &p); err != nil {
		return l, err
	}
	if err := checkTerms(in, p, time.Now()); err != nil {
		return l, err
	}
	if err := errors.Join(byName(ctx, k, "lender", in.Lender, p.Lender), byName(ctx, k, "borrower", in.Borrower, p.Borrower)); err != nil {
		return l, err
	}
	fmt.Fprintln(s.err, "to be signed:")
	printLoan(printable{s.err}, termsOf(p, in.Request))
	signed, err := signAs(ctx, c, k, p.Lender, p)
	if err != nil {
		return l, err
	}
	var out httpapi.Loan
	err = k.call(ctx, "POST", "/api/v1/permissions", httpapi.LoanIssue{Request: in.Request, Signed: signed}, &out)
	return out, err
}

// revokePerson ends a loan of a person by that person's own key.
func revokePerson(ctx context.Context, c *cli.Context, k *caller, perm string, in httpapi.LoanRevoke) (httpapi.LoanRevoked, error) {
	var out httpapi.LoanRevoked
	var l httpapi.Loan
	if err := k.call(ctx, "GET", "/api/v1/permissions/"+url.PathEscape(perm), nil, &l); err != nil {
		return out, err
	}
	e, err := envelope.ParseCompact(l.Permission, lending.PermissionType, lending.MaxPermission)
	if err != nil {
		return out, err
	}
	if id := e.ID().String(); perm != id && perm != l.Permission {
		return out, fault.New(fault.Conflict, "permission", "the node shows permission %s, you said %.80s", id, perm).WithHint("nothing was signed: this node does not do what it is told, look into it")
	}
	p, err := envelope.Decode[lending.Permission](e)
	if err != nil {
		return out, err
	}
	who := p.Lender
	signed, err := signAs(ctx, c, k, who, lending.Revocation{At: envelope.TimeOf(time.Now()), Issuer: who, Kid: p.Kid, Reason: in.Reason, Target: e.ID().String(), TargetKind: lending.TargetPermission})
	if err != nil {
		return out, err
	}
	err = k.call(ctx, "POST", "/api/v1/revocations", httpapi.RevocationSigned{Signed: signed, Text: in.Text}, &out)
	return out, err
}

// signAs opens the store of a person of this organization and signs.
func signAs[T envelope.Body](ctx context.Context, c *cli.Context, k *caller, who did.DID, body T) (string, error) {
	var a httpapi.AgentInfo
	if err := k.call(ctx, "GET", agentPath(who.String()), nil, &a); err != nil {
		return "", err
	}
	dir, err := daemon.PersonDir(c.String("data"), a.Name)
	if err != nil {
		return "", err
	}
	pass, err := personPassphrase("passphrase of " + a.Name + " alone")
	if err != nil {
		return "", err
	}
	defer clear(pass)
	return daemon.SignAs(ctx, dir, pass, who, body)
}
