package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func memoryShowCommand(s *streams, project cli.Flag) *cli.Command {
	return &cli.Command{Name: "show", Usage: "show one entry, or the bytes of one of its revisions as a borrower got them", ArgsUsage: "ID[@REVISION]", Flags: []cli.Flag{project},
		Action: func(c *cli.Context) error { return memoryShow(c, s) }}
}

func memoryShow(c *cli.Context, s *streams) error {
	a, err := args(c, "ID[@REVISION]")
	if err != nil {
		return err
	}
	if err := need(c, "project"); err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var e httpapi.EntryShown
		if err := k.call(ctx, "GET", "/api/v1/memory/entries/"+url.PathEscape(a[0])+"?"+url.Values{"project": {c.String("project")}}.Encode(), nil, &e); err != nil {
			return err
		}
		return s.result(e, func(w writer) {
			if e.View != "" {
				fmt.Fprintln(w, e.View)
				return
			}
			printEntryWhole(w, e)
		})
	})
}

func printEntryWhole(w writer, e httpapi.EntryShown) {
	line := func(name, format string, a ...any) { fmt.Fprintf(w, "%-14s %s\n", name, fmt.Sprintf(format, a...)) }
	given := func(name, text string) {
		if text != "" {
			line(name, "%s", text)
		}
	}
	line("entry", "%s@%d", e.ID, e.Rev)
	line("state", "%s", e.State)
	line("kind", "%s, %s", e.Kind, e.Category)
	line("trust", "%s, going back to %s", e.Trust, strings.Join(e.Origins, ", "))
	given("content type", e.ContentType)
	line("tags", "%s", strings.Join(e.Tags, " "))
	for _, n := range e.Named {
		line("subject", "%s  %s", n.Subject, n.Name)
	}
	line("source", "%s", strings.TrimSpace(e.Source+" "+e.SourceID))
	given("observed at", e.ObservedAt)
	given("derived by", e.DerivedBy)
	given("derived from", strings.Join(e.DerivedFrom, " "))
	given("supersedes", e.Supersedes)
	given("superseded by", e.SupersededBy)
	given("loan", e.Loan)
	given("approval", e.Approval)
	given("writer", e.Writer)
	line("created", "%s", e.Created)
	line("updated", "%s", e.Updated)
	given("review after", e.ReviewAfter)
	given("expires at", e.ExpiresAt)
	if e.Data != "" {
		line("data", "%d bytes", len(e.Data)*3/4)
	}
	fmt.Fprintf(w, "\n%s\n", e.Statement)
}

func memoryStatsCommand(s *streams, project cli.Flag) *cli.Command {
	return &cli.Command{Name: "stats", Usage: "what a project's memory holds, in numbers", Flags: []cli.Flag{project},
		Action: func(c *cli.Context) error { return memoryStats(c, s) }}
}

func memoryStats(c *cli.Context, s *streams) error {
	if err := need(c, "project"); err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var n httpapi.MemoryStats
		if err := k.call(ctx, "GET", "/api/v1/memory/stats?"+url.Values{"project": {c.String("project")}}.Encode(), nil, &n); err != nil {
			return err
		}
		return s.result(n, func(w writer) {
			fmt.Fprintf(w, "%s active, %d in quarantine, %d superseded\n", count(n.States["active"], "entry"), n.States["quarantined"], n.States["superseded"])
			for _, class := range slices.Sorted(maps.Keys(n.Classes)) {
				fmt.Fprintf(w, "  %7d  class %s\n", n.Classes[class], class)
			}
			for _, t := range n.Tags {
				fmt.Fprintf(w, "  %7d  %s\n", t.N, t.Tag)
			}
			if n.More > 0 {
				fmt.Fprintf(w, "  and %s more\n", count(n.More, "tag"))
			}
			if n.Review > 0 {
				fmt.Fprintf(w, "%s to be looked at again: trustnode memory list --review\n", count(n.Review, "entry"))
			}
			if n.Held {
				fmt.Fprintln(w, "what is derived matches nothing just now: a raised class or a new subject is going through it")
			}
		})
	})
}
