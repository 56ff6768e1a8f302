package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func memoryListCommand(s *streams, project cli.Flag) *cli.Command {
	return &cli.Command{Name: "list", Usage: "list entries, newest first", Flags: []cli.Flag{project, &cli.IntFlag{Name: "limit", Usage: "most entries", Value: 50},
		&cli.StringFlag{Name: "state", Usage: "active, quarantined or superseded", DefaultText: "active and quarantined"},
		&cli.StringFlag{Name: "tag", Usage: "only active entries with this tag"},
		&cli.BoolFlag{Name: "review", Usage: "only what was to be looked at again by now, the longest overdue first"}},
		Action: func(c *cli.Context) error { return memoryList(c, s) }}
}

func memoryList(c *cli.Context, s *streams) error {
	return with(c, func(ctx context.Context, k *caller) error {
		q := url.Values{"project": {c.String("project")}, "limit": {fmt.Sprint(c.Int("limit"))}, "state": {c.String("state")}, "tag": {c.String("tag")}}
		if c.Bool("review") {
			q.Set("review", "true")
		}
		var out httpapi.Entries
		if err := k.call(ctx, "GET", "/api/v1/memory?"+q.Encode(), nil, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) {
			for _, e := range out.Entries {
				printEntry(w, e)
				if c.Bool("review") {
					fmt.Fprintf(w, "    to be looked at since %s\n", e.ReviewAfter)
				}
			}
			fmt.Fprintf(w, "%d of %s\n", len(out.Entries), count(out.Total, "entry"))
		})
	})
}
