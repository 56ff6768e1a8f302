package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

// loanRevoke ends one loan, or all loans to a borrower, or what all loans hold of a person.
func loanRevoke(c *cli.Context, s *streams) error {
	if name := c.String("subject"); name != "" {
		return revokeSubject(c, s, name)
	}
	in := httpapi.LoanRevoke{Reason: c.String("reason"), Text: c.String("text")}
	if b := c.String("borrower"); b != "" {
		if _, err := args(c); err != nil {
			return err
		}
		return revokeBorrower(c, s, b, in)
	}
	a, err := args(c, "PERMISSION")
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.LoanRevoked
		err := k.call(ctx, "POST", "/api/v1/permissions/"+url.PathEscape(a[0])+"/revoke", in, &out)
		if byPerson(err) {
			out, err = revokePerson(ctx, c, k, a[0], in)
		}
		if err != nil {
			return err
		}
		return s.result(out, func(w writer) {
			fmt.Fprintf(w, "loan %s ended at %s after %s\n", out.Loan, out.At, count(out.Reads, "read"))
		})
	})
}

func revokeBorrower(c *cli.Context, s *streams, borrower string, in httpapi.LoanRevoke) error {
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.BorrowerRevoked
		if err := k.call(ctx, "POST", "/api/v1/borrowers/"+url.PathEscape(borrower)+"/revoke", in, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) {
			if out.Before {
				fmt.Fprintf(w, "%s was revoked already, at %s, reason %s: that stays, and nothing changed\n", out.Borrower, out.At, out.Reason)
				return
			}
			fmt.Fprintf(w, "nothing is lent to %s any more, since %s and for good, reason %s: %s ended after %s\n", out.Borrower, out.At, out.Reason, count(out.Loans, "open loan"), count(out.Reads, "read"))
		})
	})
}
