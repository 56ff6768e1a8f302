package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"

	"trustnode/did/envelope"
	"trustnode/node/fault"
)

func eventCommand(s *streams) *cli.Command {
	verbs := []*cli.Command{
		{Name: "list", Usage: "list events, oldest first", Flags: append(filterFlags(),
			&cli.StringFlag{Name: "order", Value: "log", Usage: "log: by organization and index; ingest: as events came here"},
			&cli.IntFlag{Name: "limit", Value: 100, Usage: "most events, 1..1000"}, &cli.StringFlag{Name: "cursor", Usage: "go on where a page ended"},
			&cli.BoolFlag{Name: "branch", Usage: "what is kept of the second branch of the log of --org, which has forked"},
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
	}
	for _, v := range verbs {
		act := v.Action
		v.Action = func(c *cli.Context) error { return misnamed(act(c)) }
	}
	return &cli.Command{Name: "event", Usage: "signed events of all logs held here", Subcommands: verbs}
}

// misnamed makes a usage error of an argument or a flag that the node could not read.
func misnamed(err error) error {
	if d := (*fault.Denied)(nil); errors.As(err, &d) && d.Code == fault.Invalid {
		return &argumentError{d}
	}
	return err
}

// filterFlags are the flags that select events; each is a parameter of the same name.
func filterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "org", Usage: "`ORG` whose log: its DID, the name it is listed by, or self"},
		&cli.StringFlag{Name: "type", Usage: "type, or a prefix that ends in a dot"},
		&cli.StringFlag{Name: "subject", Usage: "a DID or an id the events are about"},
		&cli.StringFlag{Name: "actor", Usage: "in whose name"},
		&cli.StringFlag{Name: "ref", Usage: "`ID` that the events rest on"},
		&cli.StringFlag{Name: "since", Usage: "at this time or later, e.g. 2026-12-01T10:00:00Z"},
		&cli.StringFlag{Name: "until", Usage: "before this time"},
		&cli.StringFlag{Name: "level", Usage: "at least logged or authored; default authored"},
		&cli.StringFlag{Name: "standing", Usage: "valid, pending, disputed, contested or void; default valid"},
		&cli.BoolFlag{Name: "any", Usage: "also events that do not count: pending, disputed, contested, void"},
		&cli.BoolFlag{Name: "ids", Usage: "begin each line with the id, which event show and prove take"},
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
	if t := c.String("type"); t != "" && !strings.Contains(t, ".") {
		return nil, noType(t, c)
	}
	if err := period(c); err != nil {
		return nil, err
	}
	for _, f := range append([]string{"org", "type", "subject", "actor", "ref", "since", "until", "level", "standing"}, more...) {
		if c.IsSet(f) {
			q.Set(f, fmt.Sprint(c.Value(f)))
		}
	}
	return q, nil
}

// period refuses times that are none, and a period that ends before it begins.
func period(c *cli.Context) error {
	var at [2]envelope.Time
	for i, name := range []string{"since", "until"} {
		if !c.IsSet(name) {
			continue
		}
		var err error
		if at[i], err = envelope.ParseTime(c.String(name)); err != nil {
			return &usageError{fmt.Sprintf("--%s: %v", name, err), "in UTC, to the second: --" + name + " 2026-12-01T10:00:00Z"}
		}
	}
	if c.IsSet("since") && c.IsSet("until") && !at[0].Before(at[1]) {
		return &usageError{"--since is not before --until: nothing lies between", help(c)}
	}
	return nil
}
