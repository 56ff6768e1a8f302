package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func agentCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "agent", Usage: "agents of this organization", Subcommands: []*cli.Command{
		{Name: "add", Usage: "make an agent, bind it to this organization for 30 days", ArgsUsage: "NAME", Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "can", Usage: "`CAPABILITY`: lend or borrow, may be repeated"},
			&cli.StringFlag{Name: "project", Usage: "project whose memory the agent works in"}},
			Action: func(c *cli.Context) error { return agentAdd(c, s) }},
		{Name: "list", Usage: "list the agents", Action: func(c *cli.Context) error {
			return with(c, func(ctx context.Context, k *caller) error {
				var l httpapi.Agents
				if err := k.call(ctx, "GET", "/api/v1/agents", nil, &l); err != nil {
					return err
				}
				return s.result(l, func(w writer) {
					for _, a := range l.Agents {
						fmt.Fprintf(w, "%-16s %s  %s  until %s\n", a.Name, a.DID, strings.Join(a.Can, ","), a.NotAfter)
					}
					if len(l.Agents) == 0 {
						fmt.Fprintln(w, "no agents")
					}
				})
			})
		}},
	}}
}

func agentAdd(c *cli.Context, s *streams) error {
	a, err := args(c, "NAME")
	if err != nil {
		return err
	}
	if err := need(c, "can"); err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.Agent
		in := httpapi.AgentAdd{Name: a[0], Can: c.StringSlice("can"), Project: c.String("project")}
		if err := k.call(ctx, "POST", "/api/v1/agents", in, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) {
			fmt.Fprintf(w, "%s  %s\ncan %s until %s\n", out.Name, out.DID, strings.Join(out.Can, ", "), out.NotAfter)
		})
	})
}
