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
		{Name: "revoke", Usage: "end a loan, at once and for good", ArgsUsage: "PERMISSION", Flags: []cli.Flag{
			&cli.StringFlag{Name: "reason", Usage: "ended, misuse, key_compromise, data_subject, policy, mistake or other", Value: "ended"},
			&cli.StringFlag{Name: "text", Usage: "words for the borrower"}},
			Action: func(c *cli.Context) error { return loanRevoke(c, s) }},
		{Name: "audit", Usage: "everything that happened under a permission", ArgsUsage: "PERMISSION", Action: func(c *cli.Context) error { return loanAudit(c, s) }},
		loanShowCommand(s), loanListCommand(s),
	}}
}
