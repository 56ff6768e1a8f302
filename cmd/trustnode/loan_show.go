package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

func loanShowCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "show", Usage: "a loan: who read what, why, and what is left; or a loan request", ArgsUsage: "PERMISSION or REQUEST",
		Action: func(c *cli.Context) error { return loanShow(c, s) }}
}

func loanListCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "list", Usage: "loans of this node, lent and borrowed", Flags: []cli.Flag{
		&cli.BoolFlag{Name: "requests", Usage: "loan requests instead, received and sent"}},
		Action: func(c *cli.Context) error { return loanList(c, s) }}
}

// loanStory is a loan with what happened under it.
type loanStory struct {
	httpapi.Loan
	Story []string `json:"story"`
}

func loanShow(c *cli.Context, s *streams) error {
	a, err := args(c, "PERMISSION")
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		path := "/api/v1/permissions/" + url.PathEscape(a[0])
		l := loanStory{Story: []string{}}
		err := k.call(ctx, "GET", path, nil, &l.Loan)
		var d *fault.Denied
		if errors.As(err, &d) && d.Code == fault.NotFound {
			return showRequest(ctx, s, k, a[0], err)
		}
		if err != nil {
			return err
		}
		var audit httpapi.LoanAudit
		if err := k.call(ctx, "GET", path+"/audit", nil, &audit); err != nil && fault.Of(err) != fault.NotFound {
			return err
		}
		l.Story = happened(l.Loan, audit)
		return s.result(l, func(w writer) {
			printLoan(w, l.Loan)
			for _, line := range l.Story {
				fmt.Fprintln(w, line)
			}
		})
	})
}

// showRequest shows what may be a request; where it is none either, it was a loan that was
// asked for.
func showRequest(ctx context.Context, s *streams, k *caller, id string, notLoan error) error {
	var r httpapi.LoanRequestInfo
	err := k.call(ctx, "GET", "/api/v1/loans/requests/"+url.PathEscape(id), nil, &r)
	if code := fault.Of(err); code == fault.NotFound || code == fault.Invalid {
		return notLoan
	}
	if err != nil {
		return err
	}
	return s.result(r, func(w writer) { printRequest(w, r) })
}

func loanList(c *cli.Context, s *streams) error {
	if c.Bool("requests") {
		return with(c, func(ctx context.Context, k *caller) error {
			var l httpapi.LoanRequests
			if err := k.call(ctx, "GET", "/api/v1/loans/requests", nil, &l); err != nil {
				return err
			}
			return s.result(l, func(w writer) { printRequests(w, l) })
		})
	}
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
