package main

import (
	"github.com/urfave/cli/v2"
)

func loanCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "loan", Usage: "lend memory and borrow it", Subcommands: []*cli.Command{
		loanIssueCommand(s), loanRequestCommand(s), loanDeclineCommand(s), loanDiscoverCommand(s),
		{Name: "read", Usage: "read under a permission", ArgsUsage: "PERMISSION", Flags: []cli.Flag{
			&cli.StringFlag{Name: "as", Usage: "own borrowing agent, by name or DID"},
			&cli.StringFlag{Name: "purpose", Usage: "what this read is for; it is signed and kept"},
			&cli.StringFlag{Name: "filter", Usage: "narrower scope"},
			&cli.StringFlag{Name: "query", Usage: "order the entries by how well they answer this `TEXT`, best first"},
			&cli.IntFlag{Name: "limit", Usage: "most entries, 1..100", Value: 20},
			&cli.StringFlag{Name: "cursor", Usage: "where the answer before this one ended"},
			&cli.BoolFlag{Name: "print-request", Usage: "sign the read and print the body of POST /api/v1/reads; nothing is sent, and no receipt is kept here"}},
			Action: func(c *cli.Context) error { return loanRead(c, s) }},
		{Name: "revoke", Usage: "end a loan, or every loan to a borrower, at once and for good", ArgsUsage: "PERMISSION", Flags: []cli.Flag{
			&cli.StringFlag{Name: "borrower", Usage: "instead of one loan all to `DID`, an agent or an organization, now and later"},
			&cli.StringFlag{Name: "subject", Usage: "instead of a loan take every entry of the person `NAME` out of every scope"},
			&cli.StringFlag{Name: "reason", Usage: "ended, misuse, key_compromise, data_subject, policy, mistake or other", Value: "ended"},
			&cli.StringFlag{Name: "text", Usage: "words for the borrower"}},
			Action: func(c *cli.Context) error { return loanRevoke(c, s) }},
		{Name: "audit", Usage: "everything that happened under a permission, or who read what", ArgsUsage: "PERMISSION", Flags: []cli.Flag{
			&cli.StringFlag{Name: "subject", Usage: "instead: everyone who ever read an entry of the person `NAME`, or pseudonym"},
			&cli.StringFlag{Name: "entry", Usage: "instead: everyone who ever read the entry `ID`"},
			&cli.BoolFlag{Name: "compare", Usage: "as a borrower: hold the lender's rows to the receipts kept here"},
			&cli.StringFlag{Name: "as", Usage: "with --compare: own agent that the permission is for"},
			&cli.StringFlag{Name: "check", Usage: "instead: whether this node returned the receipt, answer or statement in `FILE`, or - for standard input"},
			&cli.StringFlag{Name: "o", Usage: "with --check: write the proof of the row to `FILE`, which anyone verifies"}},
			Action: func(c *cli.Context) error { return loanAudit(c, s) }},
		loanShowCommand(s), loanListCommand(s),
	}}
}
