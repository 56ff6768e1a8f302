package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func memoryImportCommand(s *streams, agent, project cli.Flag) *cli.Command {
	return &cli.Command{Name: "import", Usage: "import a memory file; entries wait in quarantine for memory tag --release", ArgsUsage: "FILE", Flags: []cli.Flag{agent, project,
		&cli.StringFlag{Name: "format", Usage: "auto, mcp, openmemory, mem0, letta, graphiti, langgraph or jsonl", Value: "auto"},
		&cli.BoolFlag{Name: "dry-run", Usage: "report entries per tag and what would not be taken, and write nothing"},
		&cli.BoolFlag{Name: "messages", Usage: "of an agent file (letta), its messages too"},
		&cli.StringSliceFlag{Name: "map", Usage: "GROUP=PROJECT: where a group of the file's goes (graphiti), may be repeated"}},
		Action: func(c *cli.Context) error { return memoryImport(c, s) }}
}

func memoryImport(c *cli.Context, s *streams) error {
	a, err := args(c, "FILE")
	if err != nil {
		return err
	}
	if err := need(c, "agent"); err != nil {
		return err
	}
	f, err := s.openFile(a[0])
	if err != nil {
		return err
	}
	defer f.Close()
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.Imported
		b, err := k.api.Send(ctx, "POST", "/api/v1/memory/imports?"+importQuery(c).Encode(), "application/octet-stream", progress(s, f))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(b, &out); err != nil {
			return err
		}
		if err := s.result(out, func(w writer) { printImported(w, out) }); err != nil {
			return err
		}
		if n := rejected(out); n > 0 {
			return &failedError{exitFailed, fmt.Sprintf("%s not taken", count(n, "line")), rejectedHint(out)}
		}
		return nil
	})
}

func importQuery(c *cli.Context) url.Values {
	q := url.Values{"agent": {c.String("agent")}, "format": {c.String("format")}, "map": c.StringSlice("map")}
	if c.IsSet("project") {
		q.Set("project", c.String("project"))
	}
	for flag, name := range map[string]string{"dry-run": "dry_run", "messages": "messages"} {
		if c.Bool(flag) {
			q.Set(name, "true")
		}
	}
	return q
}

func rejected(out httpapi.Imported) (n int) {
	for _, r := range out.Reasons {
		n += r.N
	}
	return n
}

func rejectedHint(out httpapi.Imported) string {
	for _, r := range out.Reasons {
		if r.What == "group" {
			return "name a project for each group: --map GROUP=PROJECT"
		}
	}
	if out.DryRun {
		return "correct the lines listed, or import the others without --dry-run"
	}
	return "correct the lines listed and run the same command; what is in stays in"
}

func printImported(w writer, out httpapi.Imported) {
	if out.DryRun {
		fmt.Fprintf(w, "would import %s, %d known before; nothing was written\n", count(out.Imported, "entry"), out.Known)
	} else if out.Imported == 0 {
		fmt.Fprintf(w, "nothing new: 0 entries imported, %d known before\n", out.Known)
	} else {
		fmt.Fprintf(w, "%s imported, %d known before; they wait in quarantine: trustnode memory tag --release\n", count(out.Imported, "entry"), out.Known)
	}
	for _, t := range out.Tags {
		fmt.Fprintf(w, "  %5d  %s\n", t.N, t.Tag)
	}
	for _, l := range out.Left {
		fmt.Fprintf(w, "left out: %d %s\n", l.N, l.What)
	}
	for _, r := range out.Rejected {
		fmt.Fprintf(w, "line %d", r.Line)
		if r.Item > 0 {
			fmt.Fprintf(w, ", item %d", r.Item)
		}
		fmt.Fprintf(w, ": %s", r.Reason)
		if r.Detail != "" {
			fmt.Fprintf(w, " (%s)", r.Detail)
		}
		fmt.Fprintln(w)
	}
	if more := rejected(out) - len(out.Rejected); more > 0 {
		fmt.Fprintf(w, "and %d more lines\n", more)
	}
}
