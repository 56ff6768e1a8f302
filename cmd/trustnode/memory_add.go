package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func memoryAdd(c *cli.Context, s *streams) error {
	a, err := args(c, "TEXT")
	if err != nil {
		return err
	}
	if err := need(c, "agent"); err != nil {
		return err
	}
	in := httpapi.MemoryAdd{Agent: c.String("agent"), Project: c.String("project"), Statement: a[0], Kind: c.String("kind"), Tags: c.StringSlice("tag")}
	return with(c, func(ctx context.Context, k *caller) error {
		var e httpapi.Entry
		if err := k.call(ctx, "POST", "/api/v1/memory", in, &e); err != nil {
			return err
		}
		return s.result(e, func(w writer) { printEntry(w, e) })
	})
}

func printEntry(w writer, e httpapi.Entry) {
	fmt.Fprintf(w, "%s@%d  %s  %s %s  [%s]\n    %s\n", e.ID, e.Rev, e.Created, e.State, e.Kind, strings.Join(e.Tags, " "), oneLine(e.Statement))
}
