package main

import (
	"github.com/urfave/cli/v2"
)

func memoryCommand(s *streams) *cli.Command {
	agent := &cli.StringFlag{Name: "agent", Usage: "own agent, by name or DID"}
	project := &cli.StringFlag{Name: "project", Usage: "project the entries belong to"}
	return &cli.Command{Name: "memory", Usage: "this organization's memory", Subcommands: []*cli.Command{
		memoryAddCommand(s, agent, project),
		memoryImportCommand(s, agent, project),
		memoryListCommand(s, project),
		memoryShowCommand(s, project),
		memorySearchCommand(s),
		memoryTagCommand(s, project),
		memoryUntagCommand(s, project),
		memoryForgetCommand(s, project),
		memoryStatsCommand(s, project),
	}}
}
