package main

import (
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"
)

func eventCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "event", Usage: "signed events of all logs held here", Subcommands: []*cli.Command{
		{Name: "list", Usage: "list events, oldest first", Flags: append(filterFlags(),
			&cli.StringFlag{Name: "order", Value: "log", Usage: "log: by organization and index; ingest: as events came here"},
			&cli.IntFlag{Name: "limit", Value: 100, Usage: "most events, 1..1000"}, &cli.StringFlag{Name: "cursor", Usage: "go on where a page ended"},
			&cli.BoolFlag{Name: "all", Usage: "every page, from the first or from --cursor on"}),
			Action: func(c *cli.Context) error { return eventList(c, s) }},
		{Name: "show", Usage: "one event: its body, how far it is believed and why, who saw it and when", ArgsUsage: "ID|INDEX",
			Description: "ID is that of an event of any log held here; INDEX that of an event of the own log.",
			Action:      func(c *cli.Context) error { return eventShow(c, s) }},
		{Name: "watch", Usage: "follow events as they come to a running node, until interrupted", Flags: append(filterFlags(),
			&cli.StringFlag{Name: "cursor", Usage: "go on where a watch ended, or an event list --order ingest; default: from now on, or from --since"}),
			Description: "With --json each line is one event with the cursor behind it. What comes while the node is away is told when it is back.",
			Action:      func(c *cli.Context) error { return eventWatch(c, s) }},
		eventProve(s),
		eventExport(s),
		eventErase(s),
	}}
}

// filterFlags are the flags that select events; each is a parameter of the same name.
func filterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "org", Usage: "`DID` whose log, or self"},
		&cli.StringFlag{Name: "type", Usage: "type, or a prefix that ends in a dot"},
		&cli.StringFlag{Name: "subject", Usage: "a DID or an id the events are about"},
		&cli.StringFlag{Name: "actor", Usage: "in whose name"},
		&cli.StringFlag{Name: "ref", Usage: "`ID` that the events rest on"},
		&cli.StringFlag{Name: "since", Usage: "at this time or later, e.g. 2026-12-01T10:00:00Z"},
		&cli.StringFlag{Name: "until", Usage: "before this time"},
		&cli.StringFlag{Name: "level", Usage: "at least logged or authored; default authored"},
		&cli.StringFlag{Name: "standing", Usage: "valid, pending, disputed, contested or void; default valid"},
		&cli.BoolFlag{Name: "any", Usage: "also events that do not count: pending, disputed, contested, void"},
	}
}

// filter gives the flags that were set as parameters, and those of more.
func filter(c *cli.Context, more ...string) (url.Values, error) {
	q := url.Values{}
	for name, words := range map[string][]string{"level": {"logged", "authored"}, "standing": {"valid", "pending", "disputed", "contested", "void"}, "order": {"log", "ingest"}} {
		if c.IsSet(name) {
			if err := oneOf(c, name, words...); err != nil {
				return nil, err
			}
		}
	}
	if n := c.Int("limit"); c.IsSet("limit") && (n < 1 || n > 1000) {
		return nil, &usageError{fmt.Sprintf("--limit is %d, pages hold 1..1000", n), help(c)}
	}
	if c.Bool("any") {
		q.Set("any", "true")
	}
	for _, f := range append([]string{"org", "type", "subject", "actor", "ref", "since", "until", "level", "standing"}, more...) {
		if c.IsSet(f) {
			q.Set(f, fmt.Sprint(c.Value(f)))
		}
	}
	return q, nil
}
