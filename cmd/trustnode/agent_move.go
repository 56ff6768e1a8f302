package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func agentMoveCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "move", Usage: "give an own agent another project; its entries and running loans stay where they are", ArgsUsage: "NAME|DID", Flags: []cli.Flag{
		&cli.StringFlag{Name: "project", Usage: "project whose memory it works in from now on"}},
		Action: func(c *cli.Context) error { return agentMove(c, s) }}
}

func agentMove(c *cli.Context, s *streams) error {
	a, err := args(c, "NAME|DID")
	if err != nil {
		return err
	}
	if err := need(c, "project"); err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.AgentMoved
		if err := k.call(ctx, "POST", "/api/v1/agents/"+url.PathEscape(a[0])+"/move", httpapi.AgentMove{Project: c.String("project")}, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) { fmt.Fprintf(w, "%s works in %s\n", out.Name, out.Project) })
	})
}
