package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func loanRevoke(c *cli.Context, s *streams) error {
	a, err := args(c, "PERMISSION")
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.LoanRevoked
		in := httpapi.LoanRevoke{Reason: c.String("reason"), Text: c.String("text")}
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
