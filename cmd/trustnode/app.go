package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"trustnode/node/config"
)

// version is set at link time: -ldflags "-X main.version=1.0.0".
var version = "dev"

// newApp builds the command tree. One file holds each group of verbs.
func newApp(s *streams) *cli.App {
	app := &cli.App{
		Name:      "trustnode",
		Usage:     "lend memory to partners' agents instead of copying it",
		Reader:    s.in,
		Writer:    s.out,
		ErrWriter: s.err,
		// The library would exit inside Run on some errors; run reports each once.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   usage,
		Action:         unknown,
		Commands: []*cli.Command{
			initCommand(s), runCommand(s), statusCommand(s), fedCommand(s), agentCommand(s), memoryCommand(s),
			loanCommand(s), disputeCommand(s), trustCommand(s), eventCommand(s), didCommand(s), verifyCommand(s), testnetCommand(s), versionCommand(s),
		},
	}
	harden(s, app.Commands)
	return app
}

// harden gives every verb the common flags and makes unknown words usage errors.
func harden(s *streams, commands []*cli.Command) {
	for _, c := range commands {
		c.OnUsageError = usage
		if len(c.Subcommands) > 0 {
			c.Action = unknown
			harden(s, c.Subcommands)
			continue
		}
		c.Flags = append(c.Flags, commonFlags()...)
		c.Before = func(c *cli.Context) error {
			s.json = c.Bool("json")
			return nil
		}
	}
}

// commonFlags stand on every verb.
func commonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "data", Usage: "data directory `DIR` of the node", Value: config.DefaultDir()},
		&cli.BoolFlag{Name: "json", Usage: "print the result as JSON"},
	}
}

func usage(_ *cli.Context, err error, _ bool) error { return &usageError{what: err.Error()} }

// unknown answers a group or program called without a known verb.
func unknown(c *cli.Context) error {
	if c.Args().Present() {
		return &usageError{fmt.Sprintf("unknown command %q", c.Args().First()), "trustnode --help lists the commands"}
	}
	if c.Command != nil && c.Command.Name != "" && len(c.Command.Subcommands) > 0 {
		_ = cli.ShowSubcommandHelp(c)
	} else {
		_ = cli.ShowAppHelp(c)
	}
	return nil
}

// need checks flags that must be given.
func need(c *cli.Context, names ...string) error {
	for _, n := range names {
		if !c.IsSet(n) || c.String(n) == "" && len(c.StringSlice(n)) == 0 {
			return &usageError{fmt.Sprintf("--%s is missing", n), fmt.Sprintf("trustnode %s --help", path(c))}
		}
	}
	return nil
}

// args checks the number of arguments and returns them.
func args(c *cli.Context, names ...string) ([]string, error) {
	got := c.Args().Slice()
	if len(got) != len(names) {
		return nil, &usageError{fmt.Sprintf("%s takes %s, got %d arguments", path(c), strings.Join(names, " "), len(got)), fmt.Sprintf("trustnode %s --help", path(c))}
	}
	return got, nil
}

func path(c *cli.Context) string {
	return strings.TrimPrefix(c.Command.HelpName, "trustnode ")
}

func versionCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "version", Usage: "print the version of this program", Action: func(c *cli.Context) error {
		return s.result(map[string]string{"version": version}, func(w writer) { fmt.Fprintln(w, "trustnode", version) })
	}}
}
