package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func loanDiscoverCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "discover", Usage: "which tags there are under a permission of pattern discover", ArgsUsage: "PERMISSION", Flags: []cli.Flag{
		&cli.StringFlag{Name: "as", Usage: "own borrowing agent, by name or DID"},
		&cli.StringFlag{Name: "purpose", Usage: "what this look is for; it is signed and kept"},
		&cli.StringFlag{Name: "filter", Usage: "narrower scope"}},
		Action: func(c *cli.Context) error { return loanDiscover(c, s) }}
}

func loanDiscover(c *cli.Context, s *streams) error {
	a, err := args(c, "PERMISSION")
	if err != nil {
		return err
	}
	if err := need(c, "as", "purpose"); err != nil {
		return err
	}
	in := httpapi.LoanDiscover{As: c.String("as"), Permission: a[0], Purpose: c.String("purpose"), Filter: c.String("filter")}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.LoanTags
		if err := k.call(ctx, "POST", "/api/v1/loans/discover", in, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) {
			for _, t := range out.Tags {
				fmt.Fprintln(w, t)
			}
			if out.Withheld {
				fmt.Fprintln(w, "more tags are withheld: too few entries have them")
			}
			fmt.Fprintf(w, "%s by read %d, %d left; receipt %s\n", count(len(out.Tags), "tag"), out.Receipt.Seq, out.Receipt.Left, out.Receipt.ID)
			if len(out.Tags) > 0 {
				fmt.Fprintf(w, "ask for some: trustnode loan request --as %s --from %s --tags %s --purpose TEXT\n", c.String("as"), out.Receipt.ID, out.Tags[0])
			}
		})
	})
}
