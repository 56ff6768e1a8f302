package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func memoryTag(c *cli.Context, s *streams) error {
	if err := need(c, "project"); err != nil {
		return err
	}
	if !c.Bool("all") && !c.Args().Present() {
		return &usageError{"neither --all nor an entry id is given", "trustnode memory list shows the ids"}
	}
	in := httpapi.MemoryTag{Project: c.String("project"), IDs: c.Args().Slice(), All: c.Bool("all"), Add: c.StringSlice("add"), Remove: c.StringSlice("remove"), Release: c.Bool("release")}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.Tagged
		if err := k.call(ctx, "POST", "/api/v1/memory/tags", in, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) { fmt.Fprintf(w, "%s changed, %d released\n", count(out.Changed, "entry"), out.Released) })
	})
}
