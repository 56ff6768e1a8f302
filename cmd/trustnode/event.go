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
			&cli.StringFlag{Name: "org", Usage: "organization whose log"}, &cli.StringFlag{Name: "type", Usage: "type, or a prefix that ends in a dot"},
			&cli.StringFlag{Name: "subject", Usage: "a DID or an id the events are about"}, &cli.StringFlag{Name: "actor", Usage: "in whose name"},
			&cli.BoolFlag{Name: "any", Usage: "also events that do not count: pending, disputed, void"},
			&cli.IntFlag{Name: "limit", Value: 100, Usage: "most events, 1..1000"}},
			Action: func(c *cli.Context) error {
				return with(c, func(ctx context.Context, k *caller) error {
					q := url.Values{"limit": {fmt.Sprint(c.Int("limit"))}}
					if c.Bool("any") {
						q.Set("any", "true")
					}
					for _, f := range []string{"org", "type", "subject", "actor"} {
						if c.IsSet(f) {
							q.Set(f, c.String(f))
						}
					}
					var out httpapi.Events
					if err := k.call(ctx, "GET", "/api/v1/events?"+q.Encode(), nil, &out); err != nil {
						return err
					}
					return s.result(out, func(w writer) { printEvents(w, out) })
				})
			}},
	}}
}

func printEvents(w writer, out httpapi.Events) {
	for _, e := range out.Events {
		standing := ""
		if e.Standing != attestation.Valid.String() {
			standing = ", " + e.Standing
		}
		fmt.Fprintf(w, "%s  %s %d  %-18s %s  %s, witnessed by %d%s\n", e.At, orgWord(e.Org), e.Index, e.Type, orgWord(e.Subject), e.Level, len(e.Witnessed), standing)
	}
	for _, o := range out.Origins {
		fmt.Fprintf(w, "held         %s: %s\n", o.Org, count(o.Held, "entry"))
	}
}
