package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func memoryTagCommand(s *streams, project cli.Flag) *cli.Command {
	return &cli.Command{Name: "tag", Usage: "add and remove tags and subjects, put into quarantine and release from it", ArgsUsage: "[ID…]", Flags: []cli.Flag{project,
		&cli.BoolFlag{Name: "release", Usage: "release from quarantine"}, &cli.BoolFlag{Name: "quarantine", Usage: "put into quarantine: no scope reaches it"},
		&cli.BoolFlag{Name: "all", Usage: "every entry of the project"},
		&cli.StringSliceFlag{Name: "add", Usage: "tag to add; class:personal replaces the class"}, &cli.StringSliceFlag{Name: "remove", Usage: "tag to remove"},
		subjectFlag("`NAME` of a person the entries are about; may be repeated")},
		Action: func(c *cli.Context) error {
			return memoryTag(c, s, httpapi.MemoryTag{Add: c.StringSlice("add"), Remove: c.StringSlice("remove"), AddSubjects: subjects(c),
				Release: c.Bool("release"), Quarantine: c.Bool("quarantine")})
		}}
}

func memoryUntagCommand(s *streams, project cli.Flag) *cli.Command {
	return &cli.Command{Name: "untag", Usage: "remove tags and subjects", ArgsUsage: "[ID…]", Flags: []cli.Flag{project,
		&cli.BoolFlag{Name: "all", Usage: "from every entry of the project"},
		&cli.StringSliceFlag{Name: "tag", Usage: "tag to remove, may be repeated"},
		subjectFlag("`NAME` of a person the entries are not about; may be repeated")},
		Action: func(c *cli.Context) error {
			return memoryTag(c, s, httpapi.MemoryTag{Remove: c.StringSlice("tag"), RemoveSubjects: subjects(c)})
		}}
}

func memoryTag(c *cli.Context, s *streams, in httpapi.MemoryTag) error {
	if err := need(c, "project"); err != nil {
		return err
	}
	if !c.Bool("all") && !c.Args().Present() {
		return &usageError{"neither --all nor an entry id is given", "trustnode memory list shows the ids"}
	}
	in.Project, in.IDs, in.All = c.String("project"), c.Args().Slice(), c.Bool("all")
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.Tagged
		if err := k.call(ctx, "POST", "/api/v1/memory/tags", in, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) { fmt.Fprintf(w, "%s changed, %d released\n", count(out.Changed, "entry"), out.Released) })
	})
}
