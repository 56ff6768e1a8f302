package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func memoryCommand(s *streams) *cli.Command {
	agent := &cli.StringFlag{Name: "agent", Usage: "own agent, by name or DID"}
	project := &cli.StringFlag{Name: "project", Usage: "project the entries belong to"}
	return &cli.Command{Name: "memory", Usage: "this organization's memory", Subcommands: []*cli.Command{
		{Name: "add", Usage: "add one entry", ArgsUsage: "TEXT", Flags: []cli.Flag{agent, project,
			&cli.StringSliceFlag{Name: "tag", Usage: "tag, may be repeated"},
			&cli.StringFlag{Name: "kind", Usage: "observation, belief, preference, result, decision_note, goal, task or instruction", Value: "observation"}},
			Action: func(c *cli.Context) error { return memoryAdd(c, s) }},
		{Name: "import", Usage: "import a memory file; entries wait in quarantine for memory tag --release", ArgsUsage: "FILE", Flags: []cli.Flag{agent, project,
			&cli.StringFlag{Name: "format", Usage: "auto or mcp", Value: "auto"}},
			Action: func(c *cli.Context) error { return memoryImport(c, s) }},
		{Name: "list", Usage: "list entries, newest first", Flags: []cli.Flag{project, &cli.IntFlag{Name: "limit", Usage: "most entries", Value: 50}},
			Action: func(c *cli.Context) error { return memoryList(c, s) }},
		{Name: "tag", Usage: "add and remove tags, release from quarantine", ArgsUsage: "[ID…]", Flags: []cli.Flag{project,
			&cli.BoolFlag{Name: "release", Usage: "release from quarantine"}, &cli.BoolFlag{Name: "all", Usage: "every entry of the project"},
			&cli.StringSliceFlag{Name: "add", Usage: "tag to add"}, &cli.StringSliceFlag{Name: "remove", Usage: "tag to remove"}},
			Action: func(c *cli.Context) error { return memoryTag(c, s) }},
	}}
}

func memoryAdd(c *cli.Context, s *streams) error {
	a, err := args(c, "TEXT")
	if err != nil {
		return err
	}
	if err := need(c, "agent"); err != nil {
		return err
	}
	in := httpapi.MemoryAdd{Agent: c.String("agent"), Project: c.String("project"), Statement: a[0], Kind: c.String("kind"), Tags: c.StringSlice("tag")}
	return with(c, func(ctx context.Context, k *caller) error {
		var e httpapi.Entry
		if err := k.call(ctx, "POST", "/api/v1/memory", in, &e); err != nil {
			return err
		}
		return s.result(e, func(w writer) { printEntry(w, e) })
	})
}

func printEntry(w writer, e httpapi.Entry) {
	fmt.Fprintf(w, "%s@%d  %s  %s %s  [%s]\n    %s\n", e.ID, e.Rev, e.Created, e.State, e.Kind, strings.Join(e.Tags, " "), oneLine(e.Statement))
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
		q := url.Values{"agent": {c.String("agent")}, "format": {c.String("format")}}
		if c.IsSet("project") {
			q.Set("project", c.String("project"))
		}
		var out httpapi.Imported
		b, err := k.api.Send(ctx, "POST", "/api/v1/memory/imports?"+q.Encode(), "application/octet-stream", progress(s, f))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(b, &out); err != nil {
			return err
		}
		if err := s.result(out, func(w writer) { printImported(w, out) }); err != nil {
			return err
		}
		if len(out.Rejected) > 0 {
			return &failedError{exitFailed, fmt.Sprintf("%s not taken", count(len(out.Rejected), "line")), "correct the lines listed and run the same command; what is in stays in"}
		}
		return nil
	})
}

func printImported(w writer, out httpapi.Imported) {
	fmt.Fprintf(w, "%s imported, %d known before; they wait in quarantine: trustnode memory tag --release\n", count(out.Imported, "entry"), out.Known)
	for _, t := range out.Tags {
		fmt.Fprintf(w, "  %5d  %s\n", t.N, t.Tag)
	}
	for _, r := range out.Rejected {
		fmt.Fprintf(w, "line %d: %s\n", r.Line, r.Reason)
	}
}

func memoryList(c *cli.Context, s *streams) error {
	return with(c, func(ctx context.Context, k *caller) error {
		q := url.Values{"project": {c.String("project")}, "limit": {fmt.Sprint(c.Int("limit"))}}
		var out httpapi.Entries
		if err := k.call(ctx, "GET", "/api/v1/memory?"+q.Encode(), nil, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) {
			for _, e := range out.Entries {
				printEntry(w, e)
			}
			fmt.Fprintf(w, "%d of %s\n", len(out.Entries), count(out.Total, "entry"))
		})
	})
}

func memoryTag(c *cli.Context, s *streams) error {
	if err := need(c, "project"); err != nil {
		return err
	}
	if !c.Bool("all") && !c.Args().Present() {
		return &usageError{"neither --all nor an entry id is given", "trustnode memory list shows the ids"}
	}
	in := httpapi.MemoryTag{Project: c.String("project"), IDs: c.Args().Slice(), All: c.Bool("all"), Add: c.StringSlice("add"), Remove: c.StringSlice("remove"), Release: c.Bool("release")}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.Tagged
		if err := k.call(ctx, "POST", "/api/v1/memory/tags", in, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) { fmt.Fprintf(w, "%s changed, %d released\n", count(out.Changed, "entry"), out.Released) })
	})
}
