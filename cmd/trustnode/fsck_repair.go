package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func fsckRepair(c *cli.Context, s *streams) error {
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.LogsRepaired
		if err := k.call(ctx, "POST", "/api/v1/logs/repair", nil, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) {
			for _, l := range out.Logs {
				fmt.Fprintf(w, "repaired     %s: %s from peers, %s made anew\n", orgWord(l.Org), count(uint64(len(l.Entries)), "entry"), count(uint64(l.Tiles), "tile"))
			}
			fmt.Fprintln(w, "sound        every log gives its signed root")
		})
	})
}
