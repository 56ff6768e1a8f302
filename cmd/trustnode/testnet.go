package main

import (
	"log/slog"

	"github.com/urfave/cli/v2"

	"trustnode/testnet"
)

func testnetCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "testnet", Usage: "several whole nodes on this machine", Subcommands: []*cli.Command{
		{Name: "demo", Usage: "walk the whole road with three nodes and say what each step proves", Flags: []cli.Flag{
			&cli.BoolFlag{Name: "keep", Usage: "leave the nodes running and print their addresses"},
			&cli.StringFlag{Name: "dir", Usage: "folder for data directories and case file; default a new temporary one"},
			&cli.BoolFlag{Name: "verbose", Usage: "print the nodes' logs to standard error"}},
			Action: func(c *cli.Context) error {
				log := quiet()
				if c.Bool("verbose") {
					log = slog.New(slog.NewTextHandler(s.err, nil))
				}
				return testnet.Demo(c.Context, testnet.DemoOptions{Out: s.out, JSON: c.Bool("json"), Keep: c.Bool("keep"), Dir: c.String("dir"), Log: log})
			}},
	}}
}
