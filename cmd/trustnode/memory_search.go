package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func memorySearchCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "search", Usage: "what an own agent may read of its project, without a loan", ArgsUsage: "[QUERY]", Flags: []cli.Flag{
		&cli.StringFlag{Name: "as", Usage: "own agent, by name or DID"},
		&cli.StringFlag{Name: "scope", Usage: "`SCOPE`, e.g. 'tag:client:acme -tag:confidential age<90d'"},
		&cli.IntFlag{Name: "limit", Usage: "most entries, 1 to 100", Value: 20}},
		Action: func(c *cli.Context) error { return memorySearch(c, s) }}
}

func memorySearch(c *cli.Context, s *streams) error {
	if err := need(c, "as", "scope"); err != nil {
		return err
	}
	if c.Args().Len() > 1 {
		return &usageError{"memory search takes one QUERY", "quote a text that holds spaces"}
	}
	return with(c, func(ctx context.Context, k *caller) error {
		q := url.Values{"as": {c.String("as")}, "scope": {c.String("scope")}, "query": {c.Args().First()}, "limit": {fmt.Sprint(c.Int("limit"))}}
		var out httpapi.Looked
		if err := k.call(ctx, "GET", "/api/v1/memory/search?"+q.Encode(), nil, &out); err != nil {
			return err
		}
		err := s.result(out, func(w writer) {
			for _, e := range out.Entries {
				printEntry(w, e)
			}
			fmt.Fprintf(w, "%d of %s\n", len(out.Entries), count(out.Total, "entry"))
		})
		if err == nil && out.Withheld > 0 {
			fmt.Fprintf(s.err, "hint: %s of class personal or regulated that another wrote: ask for a loan, trustnode loan issue --help\n", count(out.Withheld, "more match"))
		}
		return err
	})
}
