package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func memoryForgetCommand(s *streams, project cli.Flag) *cli.Command {
	return &cli.Command{Name: "forget", Usage: "remove entries for good: by id, of a person, or with all of some tags", ArgsUsage: "[ID…]", Flags: []cli.Flag{project,
		&cli.StringFlag{Name: "subject", Usage: "`NAME` or pseudonym of the person; in all projects unless --project names one"},
		&cli.StringSliceFlag{Name: "tag", Usage: "entries that carry this tag, whatever their state; several: all of them"},
		&cli.BoolFlag{Name: "unlink", Usage: "with --subject: the person's name too"}},
		Action: func(c *cli.Context) error { return memoryForget(c, s) }}
}

func memoryForget(c *cli.Context, s *streams) error {
	in := httpapi.MemoryForget{Project: c.String("project"), IDs: c.Args().Slice(), Subject: c.String("subject"), Tags: c.StringSlice("tag"), Unlink: c.Bool("unlink")}
	given := 0
	for _, yes := range []bool{len(in.IDs) > 0, in.Subject != "", len(in.Tags) > 0} {
		if yes {
			given++
		}
	}
	if given != 1 {
		return &usageError{"what to forget is not one of: entry ids, --subject, --tag", "trustnode memory list shows the ids"}
	}
	if in.Subject == "" {
		if err := need(c, "project"); err != nil {
			return err
		}
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.Forgotten
		if err := k.call(ctx, "POST", "/api/v1/memory/forget", in, &out); err != nil {
			return err
		}
		if err := s.result(out, func(w writer) { printForgotten(w, out) }); err != nil {
			return err
		}
		if len(out.Absent) > 0 {
			return &failedError{exitFailed, count(len(out.Absent), "entry") + " not in the project: " + strings.Join(out.Absent, " "), "the others are forgotten; trustnode memory list shows the ids"}
		}
		return nil
	})
}

func printForgotten(w writer, f httpapi.Forgotten) {
	fmt.Fprintf(w, "%s forgotten", count(f.Erased, "entry"))
	if len(f.Projects) > 0 {
		fmt.Fprintf(w, " in %s", strings.Join(f.Projects, ", "))
	}
	fmt.Fprintln(w)
	if f.Unlinked {
		fmt.Fprintf(w, "the name of the subject is forgotten; its pseudonym %s stays in audit rows: only by it can they still be asked for\n", f.Subject)
	}
	for _, at := range f.Backups {
		fmt.Fprintf(w, "a backup of %s may still hold it\n", at)
	}
	if f.Erased > 0 || f.Unlinked {
		fmt.Fprintln(w, "backups made of the stopped node are not known here: delete those that are older than this")
	}
}
