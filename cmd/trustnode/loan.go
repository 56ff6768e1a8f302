package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func loanCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "loan", Usage: "lend memory and borrow it", Subcommands: []*cli.Command{
		{Name: "issue", Usage: "issue a permission", Flags: []cli.Flag{
			&cli.StringFlag{Name: "lender", Usage: "own lending agent, by name or DID"},
			&cli.StringFlag{Name: "borrower", Usage: "DID of the borrowing agent"},
			&cli.StringFlag{Name: "scope", Usage: "what is lent, e.g. 'tag:client:acme -tag:confidential age<90d'"},
			&cli.StringFlag{Name: "purpose", Usage: "what for"},
			&cli.StringFlag{Name: "expires", Usage: "duration such as 720h, or a time", Value: "720h"},
			&cli.Uint64Flag{Name: "max-reads", Usage: "most answers it may give", Value: 100},
			&cli.BoolFlag{Name: "preview", Usage: "say what would be lent and issue nothing"}},
			Action: func(c *cli.Context) error { return loanIssue(c, s) }},
		{Name: "read", Usage: "read under a permission", ArgsUsage: "PERMISSION", Flags: []cli.Flag{
			&cli.StringFlag{Name: "as", Usage: "own borrowing agent, by name or DID"},
			&cli.StringFlag{Name: "purpose", Usage: "what this read is for; it is signed and kept"},
			&cli.StringFlag{Name: "filter", Usage: "narrower scope"},
			&cli.IntFlag{Name: "limit", Usage: "most entries, 1..100", Value: 20},
			&cli.StringFlag{Name: "cursor", Usage: "where the answer before this one ended"}},
			Action: func(c *cli.Context) error { return loanRead(c, s) }},
		{Name: "revoke", Usage: "end a loan, at once and for good", ArgsUsage: "PERMISSION", Flags: []cli.Flag{
			&cli.StringFlag{Name: "reason", Usage: "ended, misuse, key_compromise, data_subject, policy, mistake or other", Value: "ended"},
			&cli.StringFlag{Name: "text", Usage: "words for the borrower"}},
			Action: func(c *cli.Context) error { return loanRevoke(c, s) }},
		{Name: "audit", Usage: "everything that happened under a permission", ArgsUsage: "PERMISSION", Action: func(c *cli.Context) error { return loanAudit(c, s) }},
		{Name: "show", Usage: "a permission and how it stands", ArgsUsage: "PERMISSION", Action: func(c *cli.Context) error { return loanShow(c, s) }},
		{Name: "list", Usage: "loans of this node, lent and borrowed", Action: func(c *cli.Context) error { return loanList(c, s) }},
	}}
}

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

func loanRead(c *cli.Context, s *streams) error {
	a, err := args(c, "PERMISSION")
	if err != nil {
		return err
	}
	if err := need(c, "as", "purpose"); err != nil {
		return err
	}
	in := httpapi.LoanRead{As: c.String("as"), Permission: a[0], Purpose: c.String("purpose"), Filter: c.String("filter"), Limit: c.Int("limit"), Cursor: c.String("cursor")}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.LoanAnswer
		if err := k.call(ctx, "POST", "/api/v1/loans/read", in, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) {
			for _, e := range out.Entries {
				printLent(w, e)
			}
			fmt.Fprintf(w, "%s by read %d, %d left; receipt %s\n", count(len(out.Entries), "entry"), out.Receipt.Seq, out.Receipt.Left, out.Receipt.ID)
			if out.Cursor != "" {
				fmt.Fprintf(w, "more: --cursor %s\n", out.Cursor)
			}
		})
	})
}

// printLent shows a lender's entry as what it is: a quotation.
func printLent(w writer, entry any) {
	var e struct {
		ID, Kind, Statement, Trust string
		Rev                        uint64
		Tags                       []string
	}
	b, err := json.Marshal(entry)
	if err == nil {
		err = json.Unmarshal(b, &e)
	}
	if err != nil {
		fmt.Fprintf(w, "an entry that cannot be shown: %v\n", err)
		return
	}
	fmt.Fprintf(w, "%s@%d  %s, trust %s  [%s]\n    %q\n", e.ID, e.Rev, e.Kind, e.Trust, strings.Join(e.Tags, " "), strings.Join(strings.Fields(e.Statement), " "))
}

func loanRevoke(c *cli.Context, s *streams) error {
	a, err := args(c, "PERMISSION")
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.LoanRevoked
		in := httpapi.LoanRevoke{Reason: c.String("reason"), Text: c.String("text")}
		if err := k.call(ctx, "POST", "/api/v1/permissions/"+url.PathEscape(a[0])+"/revoke", in, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) {
			fmt.Fprintf(w, "loan %s ended at %s after %s\n", out.Loan, out.At, count(out.Reads, "read"))
		})
	})
}

func loanAudit(c *cli.Context, s *streams) error {
	a, err := args(c, "PERMISSION")
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.LoanAudit
		if err := k.call(ctx, "GET", "/api/v1/permissions/"+url.PathEscape(a[0])+"/audit", nil, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) { printAudit(w, out) })
	})
}

func printAudit(w writer, a httpapi.LoanAudit) {
	for _, r := range a.Rows {
		seq, pos := "", "not in the log yet"
		if r.Seq > 0 {
			seq = fmt.Sprintf(" %d", r.Seq)
		}
		if r.Index != nil {
			pos = fmt.Sprintf("log %d", *r.Index)
		}
		what := strings.TrimSpace(r.Decision + " " + r.Code)
		fmt.Fprintf(w, "%s  %-8s%-4s %-16s %-12s %s\n", r.At, r.Op, seq, what, pos, oneLine(r.Purpose))
		switch {
		case len(r.Entries) > 0:
			fmt.Fprintf(w, "    %s, hash %s\n", count(len(r.Entries), "entry"), r.Hash)
		case r.Hash != "":
			fmt.Fprintf(w, "    hash %s\n", r.Hash)
		}
	}
	printGone(w, a.Gone)
	names := orgNames{}
	for _, e := range a.Events {
		names.add(e.Org)
	}
	for _, e := range a.Events {
		seen := ""
		if e.Witnessed != nil {
			seen = ", " + witnessedWord(*e.Witnessed)
		}
		fmt.Fprintf(w, "%s  event    %-20s log %d of %s%s\n", e.At, e.Type, e.Index, names.of(e.Org), seen)
	}
	did, whole := "granted", "seq has no gap"
	if !a.GapFree {
		whole = "SEQ HAS A GAP"
	}
	if a.Side == "borrower" {
		did = "received"
		if !a.GapFree {
			whole = "others did not arrive here, or their rows are erased or past their age"
		}
	}
	fmt.Fprintf(w, "%s %s, %s\n", count(a.Granted, "answer"), did, whole)
}

// printGone tells of the reads whose rows are no more, those past their age in runs.
func printGone(w writer, gone []httpapi.GoneRead) {
	for i := 0; i < len(gone); i++ {
		g := gone[i]
		if g.Erased != nil {
			fmt.Fprintf(w, "read %d: its row is erased, log.erased at %d\n", g.Seq, *g.Erased)
			continue
		}
		last := i
		for last+1 < len(gone) && gone[last+1].Erased == nil && gone[last+1].Seq == gone[last].Seq+1 {
			last++
		}
		if last == i {
			fmt.Fprintf(w, "read %d: its row is past its age\n", g.Seq)
		} else {
			fmt.Fprintf(w, "reads %d to %d: their rows are past their age\n", g.Seq, gone[last].Seq)
		}
		i = last
	}
}

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
