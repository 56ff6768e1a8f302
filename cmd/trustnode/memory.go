package main

import (
	"github.com/urfave/cli/v2"
)

func memoryCommand(s *streams) *cli.Command {
	agent := &cli.StringFlag{Name: "agent", Usage: "own agent, by name or DID"}
	project := &cli.StringFlag{Name: "project", Usage: "project the entries belong to"}
	return &cli.Command{Name: "memory", Usage: "this organization's memory", Subcommands: []*cli.Command{
		{Name: "add", Usage: "add one entry", ArgsUsage: "TEXT", Flags: []cli.Flag{agent, project,
			&cli.StringSliceFlag{Name: "tag", Usage: "tag, may be repeated"},
			&cli.StringFlag{Name: "kind", Usage: "observation, belief, preference, result, decision_note, goal, task or instruction", Value: "observation"}},
			Action: func(c *cli.Context) error { return memoryAdd(c, s) }},
		memoryImportCommand(s, agent, project),
		{Name: "list", Usage: "list entries, newest first", Flags: []cli.Flag{project, &cli.IntFlag{Name: "limit", Usage: "most entries", Value: 50}},
			Action: func(c *cli.Context) error { return memoryList(c, s) }},
		{Name: "tag", Usage: "add and remove tags, release from quarantine", ArgsUsage: "[ID…]", Flags: []cli.Flag{project,
			&cli.BoolFlag{Name: "release", Usage: "release from quarantine"}, &cli.BoolFlag{Name: "all", Usage: "every entry of the project"},
			&cli.StringSliceFlag{Name: "add", Usage: "tag to add"}, &cli.StringSliceFlag{Name: "remove", Usage: "tag to remove"}},
			Action: func(c *cli.Context) error { return memoryTag(c, s) }},
	}}
}
