package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"trustnode/attestation"
	"trustnode/node/httpapi"
)

func eventCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "event", Usage: "signed events of all logs held here", Subcommands: []*cli.Command{
		{Name: "list", Usage: "list events, oldest first", Flags: []cli.Flag{
			&cli.StringFlag{Name: "org", Usage: "`DID` whose log, or self"}, &cli.StringFlag{Name: "type", Usage: "type, or a prefix that ends in a dot"},
			&cli.StringFlag{Name: "subject", Usage: "a DID or an id the events are about"}, &cli.StringFlag{Name: "actor", Usage: "in whose name"},
			&cli.BoolFlag{Name: "any", Usage: "also events that do not count: pending, disputed, contested, void"},
			&cli.IntFlag{Name: "limit", Value: 100, Usage: "most events, 1..1000"}, &cli.StringFlag{Name: "cursor", Usage: "go on where a page ended"},
			&cli.BoolFlag{Name: "all", Usage: "every page, from the first or from --cursor on"}},
			Action: func(c *cli.Context) error {
				return with(c, func(ctx context.Context, k *caller) error {
					q := url.Values{"limit": {fmt.Sprint(c.Int("limit"))}}
					if c.Bool("any") {
						q.Set("any", "true")
					}
					for _, f := range []string{"org", "type", "subject", "actor", "cursor"} {
						if c.IsSet(f) {
							q.Set(f, c.String(f))
						}
					}
					out, err := events(ctx, k, q, c.Bool("all"))
					if err != nil {
						return err
					}
					return s.result(out, func(w writer) { printEvents(w, out) })
				})
			}},
		eventProve(s),
		eventExport(s),
	}}
}

// events asks for one page, or for that and all that follow.
func events(ctx context.Context, k *caller, q url.Values, all bool) (out httpapi.Events, err error) {
	for {
		var page httpapi.Events
		if err := k.call(ctx, "GET", "/api/v1/events?"+q.Encode(), nil, &page); err != nil {
			return httpapi.Events{}, err
		}
		out.Events, out.Origins, out.Cursor = append(out.Events, page.Events...), page.Origins, page.Cursor
		if !all || page.Cursor == "" {
			return out, nil
		}
		q.Set("cursor", page.Cursor)
	}
}

func printEvents(w writer, out httpapi.Events) {
	for _, e := range out.Events {
		standing := ""
		if e.Standing != attestation.Valid.String() {
			standing = ", " + e.Standing
		}
		fmt.Fprintf(w, "%s  %s %d  %-18s %s  %s, witnessed by %d%s\n", e.At, orgWord(e.Org), e.Index, e.Type, orgWord(e.Subject), e.Level, len(e.Witnessed), standing)
	}
	if out.Cursor != "" {
		fmt.Fprintf(w, "more         trustnode event list --cursor %s, or --all\n", out.Cursor)
	}
	for _, o := range out.Origins {
		fmt.Fprintf(w, "held         %s: %s\n", o.Org, count(o.Held, "entry"))
	}
}
