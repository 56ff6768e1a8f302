package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

const eventEraseHelp = `Erases what is private of this organization: the body of the event ID (or the body ID itself), or the
audit row ID; INDEX names an event of the own log. Its bytes go from the databases and from every backup taken from then on. The event,
its index and every proof stay and verify as before; log.erased says in the log that it was done,
and members who were shown the body drop it within a day, unless an open case rests on it.

What every member may read, and events of others, are refused. There is no way back.`

func eventErase(s *streams) *cli.Command {
	return &cli.Command{Name: "erase", Usage: "erase a private body or an audit row; its proof stays", ArgsUsage: "ID|INDEX", Description: eventEraseHelp,
		Action: func(c *cli.Context) error {
			a, err := args(c, "ID|INDEX")
			if err != nil {
				return err
			}
			return with(c, func(ctx context.Context, k *caller) error {
				var out httpapi.EventErased
				if err := k.call(ctx, "POST", "/api/v1/events/"+url.PathEscape(a[0])+"/erase", nil, &out); err != nil {
					return err
				}
				return s.result(out, func(w writer) { printErased(w, out) })
			})
		}}
}

func printErased(w writer, e httpapi.EventErased) {
	what := "row"
	if e.Cause == "body" {
		what = "private body of"
		for i, at := range e.Indexes {
			if i > 0 {
				what += ","
			}
			what += fmt.Sprintf(" event %d", at)
		}
	}
	switch {
	case e.Already:
		fmt.Fprintf(w, "erased       %s, before this: nothing was done\n", what)
	case e.Waits:
		fmt.Fprintf(w, "erased       %s; log.erased waits until the log takes it\n", what)
	default:
		fmt.Fprintf(w, "erased       %s; its proof stays\n", what)
	}
}
