package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func loanShow(c *cli.Context, s *streams) error {
	a, err := args(c, "PERMISSION")
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var l httpapi.Loan
		if err := k.call(ctx, "GET", "/api/v1/permissions/"+url.PathEscape(a[0]), nil, &l); err != nil {
			return err
		}
		return s.result(l, func(w writer) { printLoan(w, l) })
	})
}

func loanList(c *cli.Context, s *streams) error {
	return with(c, func(ctx context.Context, k *caller) error {
		var l httpapi.Loans
		if err := k.call(ctx, "GET", "/api/v1/permissions", nil, &l); err != nil {
			return err
		}
		return s.result(l, func(w writer) {
			for _, x := range l.Loans {
				if x.Rests != "" {
					x.State = "rests"
				}
				fmt.Fprintf(w, "%s  %-9s %-9s %d of %d reads  %s  %s\n", x.ID, x.Role, x.State, x.Reads, x.MaxReads, x.Scope, oneLine(x.Purpose))
			}
			if len(l.Loans) == 0 {
				fmt.Fprintln(w, "no loans")
			}
		})
	})
}
