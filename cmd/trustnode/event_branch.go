package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

// eventBranch lists what is kept of the second branch of a log. It is not judged, and no filter applies but the log.
func eventBranch(c *cli.Context, s *streams) error {
	if err := need(c, "org"); err != nil {
		return err
	}
	for _, f := range []string{"type", "subject", "actor", "ref", "since", "until", "level", "standing", "any", "order"} {
		if c.IsSet(f) {
			return &usageError{"--branch goes with --org, --limit, --cursor, --all and --ids alone: what is on a second branch is not judged", help(c)}
		}
	}
	q, err := filter(c, "limit")
	if err != nil {
		return err
	}
	q.Del("org")
	if c.IsSet("cursor") {
		if _, err := strconv.ParseUint(c.String("cursor"), 10, 64); err != nil {
			return &usageError{"--cursor with --branch is the index where a page ended", help(c)}
		}
		q.Set("from", c.String("cursor"))
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.LogBranch
		for {
			var page httpapi.LogBranch
			if err := k.call(ctx, "GET", "/api/v1/log/"+url.PathEscape(c.String("org"))+"/branch?"+q.Encode(), nil, &page); err != nil {
				return err
			}
			page.Events = append(out.Events, page.Events...)
			if out = page; !c.Bool("all") || out.Next == nil {
				break
			}
			q.Set("from", fmt.Sprint(*out.Next))
		}
		return s.result(out, func(w writer) { printOtherBranch(w, out, c.Bool("ids")) })
	})
}

func printOtherBranch(w writer, b httpapi.LogBranch, ids bool) {
	var t table
	names := orgNames{}
	for _, e := range b.Events {
		ev := e.Says()
		at := ev.At
		if d, err := time.Parse(time.RFC3339, at); err == nil {
			at = d.UTC().Format(time.DateTime)
		}
		row := []string{at, fmt.Sprintf("%s %d", names.of(b.Org), e.Index), ev.Type, strings.Map(shown, oneLine(e.Words)), "other branch, not judged"}
		if ids {
			row = append([]string{e.ID}, row...)
		}
		t.add(row)
	}
	t.print(w)
	if b.Next != nil {
		fmt.Fprintf(w, "more  the same with --cursor %d, or --all\n", *b.Next)
	}
	fmt.Fprintf(w, "kept  %s of a second branch of %s, from %d on: below that both are one; none of them counts here\n", count(b.To-b.From, "entry"), names.of(b.Org), b.From)
}
