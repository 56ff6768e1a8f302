package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func loanIssue(c *cli.Context, s *streams) error {
	if err := need(c, "lender", "borrower", "scope", "purpose"); err != nil {
		return err
	}
	in := httpapi.LoanIssue{Lender: c.String("lender"), Borrower: c.String("borrower"), Scope: c.String("scope"), Purpose: c.String("purpose"),
		Expires: c.String("expires"), MaxReads: c.Uint64("max-reads"), Preview: c.Bool("preview")}
	return with(c, func(ctx context.Context, k *caller) error {
		var l httpapi.Loan
		if err := k.call(ctx, "POST", "/api/v1/permissions", in, &l); err != nil {
			return err
		}
		return s.result(l, func(w writer) { printLoan(w, l) })
	})
}

func printLoan(w writer, l httpapi.Loan) {
	if l.ID != "" {
		fmt.Fprintf(w, "loan      %s  %s\n", l.ID, l.State)
	}
	if l.Rests != "" {
		fmt.Fprintf(w, "rests     %s; no read is answered until that is decided\n", l.Rests)
	}
	fmt.Fprintf(w, "lender    %s\nborrower  %s\nscope     %s\npurpose   %s\nends      %s, or after %d reads (%d left)\n", l.Lender, l.Borrower, l.Scope, l.Purpose, l.ExpiresAt, l.MaxReads, l.Left)
	if l.Matches > 0 {
		fmt.Fprintf(w, "matches   %s when it was issued\n", count(l.Matches, "entry"))
	}
	for i, h := range l.Hygiene {
		words := ""
		if i < len(l.Words) {
			words = l.Words[i]
		}
		fmt.Fprintf(w, "note      %s  %s\n", h, words)
	}
	if l.Permission != "" {
		fmt.Fprintf(w, "permission, to hand to the borrower:\n%s\n", l.Permission)
	}
}
