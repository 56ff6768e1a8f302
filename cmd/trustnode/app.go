package main

import (
	"fmt"
	"slices"
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
		Version:   version,
		Usage:     "lend memory to partners' agents instead of copying it",
		Reader:    s.in,
		Writer:    s.out,
		ErrWriter: s.err,
		// The library would exit inside Run on some errors; run reports each once.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   usage,
		Action:         unknown,
		Description: "A verb speaks to the running node of --data, or opens the directory itself when none runs.\n" +
			"Flags stand before or after arguments; \"--\" ends them. Every verb takes --data DIR and --json.\n" +
			"Exit codes: 0 done, 1 failed, 2 usage, 3 refused or awaiting approval, 4 does not verify.\n" +
			"Environment: TRUSTNODE_DATA; TRUSTNODE_PASSPHRASE or TRUSTNODE_PASSPHRASE_FILE, and the same with\n" +
			"UPDATE_, GOVERNANCE_ or PERSON_ before PASSPHRASE for the stores that have their own.",
		Commands: []*cli.Command{
			initCommand(s), runCommand(s), statusCommand(s), doctorCommand(s), backupCommand(s), restoreCommand(s), fsckCommand(s), fedCommand(s), agentCommand(s), memoryCommand(s),
			loanCommand(s), disputeCommand(s), trustCommand(s), eventCommand(s), didCommand(s), passphraseCommand(s), verifyCommand(s), mcpCommand(s), testnetCommand(s), versionCommand(s),
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
		for _, f := range c.Flags {
			if b, ok := f.(*cli.BoolFlag); ok {
				b.DisableDefaultText = true
			}
		}
		c.Before = func(c *cli.Context) error {
			s.json = c.Bool("json")
			if c.Command.ArgsUsage == "" && c.Args().Present() {
				return &usageError{fmt.Sprintf("%s takes no argument, got %q", path(c), c.Args().First()), help(c)}
			}
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

func usage(c *cli.Context, err error, _ bool) error { return &usageError{err.Error(), help(c)} }

// help says where a verb is explained.
func help(c *cli.Context) string {
	if c.Command == nil || c.Command.HelpName == "" {
		return "trustnode --help"
	}
	return c.Command.HelpName + " --help"
}

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

// oneOf refuses a flag whose value is none of those it may have.
func oneOf(c *cli.Context, flag string, values ...string) error {
	if v := c.String(flag); !slices.Contains(values, v) {
		return &usageError{fmt.Sprintf("%s %.40q is none of %s", dashed(flag), v, strings.Join(values, ", ")), help(c)}
	}
	return nil
}

// dashed is a flag as it is typed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// need checks flags that must be given.
func need(c *cli.Context, names ...string) error {
	for _, n := range names {
		if !c.IsSet(n) || c.String(n) == "" && len(c.StringSlice(n)) == 0 {
			return &usageError{dashed(n) + " is missing", help(c)}
		}
	}
	return nil
}

// args checks the number of arguments and returns them.
func args(c *cli.Context, names ...string) ([]string, error) {
	got := c.Args().Slice()
	switch {
	case len(got) < len(names):
		return nil, &usageError{fmt.Sprintf("%s: %s is missing", path(c), names[len(got)]), help(c)}
	case len(got) > len(names):
		return nil, &usageError{fmt.Sprintf("%s takes %s, got %q as well", path(c), strings.Join(names, " "), got[len(names)]), "quote a text that holds spaces"}
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
