package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

// loanCompare holds the lender's rows to the receipts kept here.
func loanCompare(c *cli.Context, s *streams) error {
	a, err := args(c, "PERMISSION")
	if err != nil {
		return err
	}
	if err := need(c, "as"); err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.LoanCompared
		if err := k.call(ctx, "POST", "/api/v1/loans/compare", httpapi.LoanCompare{As: c.String("as"), Permission: a[0]}, &out); err != nil {
			return err
		}
		if err := s.result(out, func(w writer) { printCompared(w, out) }); err != nil {
			return err
		}
		if n := len(out.Missing) + len(out.Extra) + len(out.Different); n > 0 {
			return &failedError{exitUnverified, fmt.Sprintf("the lender's rows and the receipts here disagree on %s", count(n, "act")),
				"trustnode event prove ROW -o FILE proves a row that is in the lender's log; trustnode dispute file --loan PERMISSION takes it further"}
		}
		return nil
	})
}

func printCompared(w writer, c httpapi.LoanCompared) {
	for _, k := range []struct {
		name string
		list []httpapi.Mismatch
	}{{"missing", c.Missing}, {"extra", c.Extra}, {"different", c.Different}} {
		for _, m := range k.list {
			what := "row " + m.Row
			if m.Seq > 0 {
				what = fmt.Sprintf("answer %d", m.Seq)
			}
			fmt.Fprintf(w, "%-9s %s: %s\n", k.name, what, m.Why)
		}
	}
	fmt.Fprintf(w, "%s of the lender, %d proven by its log; %s agree, %d missing, %d extra, %d different\n",
		count(c.Rows, "row"), c.Proven, count(c.Agree, "answer"), len(c.Missing), len(c.Extra), len(c.Different))
}
