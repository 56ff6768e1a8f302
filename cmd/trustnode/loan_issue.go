package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func loanIssueCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "issue", Usage: "issue a permission, alone, for a request, or in place of another", Flags: []cli.Flag{
		&cli.StringFlag{Name: "request", Usage: "`ID` of the loan request that it answers: what is not said here is as asked, and nothing may be wider"},
		&cli.StringFlag{Name: "replaces", Usage: "open `PERMISSION` that ends with it: what is not said here is as there"},
		&cli.StringFlag{Name: "as", Usage: "own `AGENT` that acts instead of you: needs an approval"},
		&cli.StringFlag{Name: "lender", Usage: "own lending agent, by name or DID"},
		&cli.StringFlag{Name: "borrower", Usage: "DID of the borrowing agent"},
		&cli.StringFlag{Name: "scope", Usage: "what is lent, e.g. 'tag:client:acme -tag:confidential age<90d'"},
		&cli.StringFlag{Name: "purpose", Usage: "what for"},
		&cli.StringFlag{Name: "expires", Usage: "duration such as 720h, or a time", Value: "720h"},
		&cli.Uint64Flag{Name: "max-reads", Usage: "most answers it may give", Value: 100},
		&cli.StringSliceFlag{Name: "pattern", Usage: "`PATTERN`: read (default), discover, downstream_write; may be repeated"},
		&cli.StringFlag{Name: "not-before", Usage: "when it begins: duration, time, or none"},
		&cli.Uint64Flag{Name: "cache", Usage: "how many `SECONDS` the borrower may keep an answer; a revocation may take that long"},
		&cli.BoolFlag{Name: "provenance", Usage: "let the borrower name the lender in what it makes"},
		&cli.BoolFlag{Name: "sublend", Usage: "let the borrower ask you to let a third agent in"},
		&cli.StringSliceFlag{Name: "write-to", Usage: "`DESTINATION` of pattern downstream_write; up to four times"},
		&cli.StringFlag{Name: "cost-cap", Usage: "most that may be billed; needs prices, which come with a pact"},
		&cli.BoolFlag{Name: "preview", Usage: "say what would be lent and issue nothing"}},
		Action: func(c *cli.Context) error { return loanIssue(c, s) }}
}

func loanIssue(c *cli.Context, s *streams) error {
	in := issueWish(c)
	if in.Request == "" && in.Replaces == "" {
		if err := need(c, "lender", "borrower", "scope", "purpose"); err != nil {
			return err
		}
	}
	path := "/api/v1/permissions"
	if c.Bool("preview") {
		path += "/preview"
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var l httpapi.Loan
		err := k.call(ctx, "POST", path, in, &l)
		if byPerson(err) {
			l, err = issuePerson(ctx, c, s, k, in)
		}
		if err != nil {
			return err
		}
		return s.result(l, func(w writer) { printLoan(w, l) })
	})
}

// issueWish reads what is asked for. What has a default here is left out where a request or
// another permission says it.
func issueWish(c *cli.Context) httpapi.LoanIssue {
	in := httpapi.LoanIssue{As: c.String("as"), Request: c.String("request"), Replaces: c.String("replaces"), Lender: c.String("lender"), Borrower: c.String("borrower"),
		Scope: c.String("scope"), Purpose: c.String("purpose"), Patterns: c.StringSlice("pattern"), NotBefore: c.String("not-before"),
		WriteTo: c.StringSlice("write-to"), CostCap: c.String("cost-cap")}
	fresh := in.Request == "" && in.Replaces == ""
	if fresh || c.IsSet("expires") {
		in.Expires = c.String("expires")
	}
	if fresh || c.IsSet("max-reads") {
		in.MaxReads = c.Uint64("max-reads")
	}
	if c.IsSet("cache") {
		n := c.Uint64("cache")
		in.CacheS = &n
	}
	if c.IsSet("provenance") {
		in.Provenance = map[bool]string{true: "allow", false: "none"}[c.Bool("provenance")]
	}
	if c.IsSet("sublend") {
		in.Sublend = map[bool]string{true: "ask", false: "none"}[c.Bool("sublend")]
	}
	return in
}

func printLoan(w writer, l httpapi.Loan) {
	if l.ID != "" {
		fmt.Fprintf(w, "loan      %s  %s\n", l.ID, l.State)
	}
	if l.Rests != "" {
		fmt.Fprintf(w, "rests     %s; no read is answered until that is decided\n", l.Rests)
	}
	fmt.Fprintf(w, "lender    %s\nborrower  %s\nscope     %s\npurpose   %s\nends      %s, or after %d reads (%d left)\n", l.Lender, l.Borrower, l.Scope, l.Purpose, l.ExpiresAt, l.MaxReads, l.Left)
	printTerms(w, l)
	if l.Matches > 0 && l.Survey == nil {
		fmt.Fprintf(w, "matches   %s when it was issued\n", count(l.Matches, "entry"))
	}
	for i, h := range l.Hygiene {
		words := ""
		if i < len(l.Words) {
			words = l.Words[i]
		}
		fmt.Fprintf(w, "note      %s  %s\n", h, words)
	}
	if l.Survey != nil {
		printSurvey(w, l)
	}
	if l.Permission != "" {
		fmt.Fprintf(w, "permission, to hand to the borrower:\n%s\n", l.Permission)
	}
}
