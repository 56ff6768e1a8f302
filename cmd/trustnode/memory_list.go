package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func memoryList(c *cli.Context, s *streams) error {
	return with(c, func(ctx context.Context, k *caller) error {
		q := url.Values{"project": {c.String("project")}, "limit": {fmt.Sprint(c.Int("limit"))}}
		var out httpapi.Entries
		if err := k.call(ctx, "GET", "/api/v1/memory?"+q.Encode(), nil, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) {
			for _, e := range out.Entries {
				printEntry(w, e)
			}
			fmt.Fprintf(w, "%d of %s\n", len(out.Entries), count(out.Total, "entry"))
		})
	})
}
