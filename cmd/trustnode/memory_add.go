package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
	"trustnode/node/memory"
)

func memoryAddCommand(s *streams, agent, project cli.Flag) *cli.Command {
	return &cli.Command{Name: "add", Usage: "add one entry", ArgsUsage: "TEXT", Flags: []cli.Flag{agent, project,
		&cli.StringSliceFlag{Name: "tag", Usage: "tag, may be repeated"},
		&cli.StringFlag{Name: "kind", Usage: "observation, belief, preference, result, decision_note, goal, task or instruction", Value: "observation"},
		subjectFlag("`NAME` of a person it is about, kept apart under a pseudonym; may be repeated"),
		&cli.StringFlag{Name: "supersedes", Usage: "`ID` of the entry that this one corrects: it leaves every scope at once"},
		&cli.StringSliceFlag{Name: "derived-from", Usage: "`ID` of an entry that this one is derived from, may be repeated"},
		&cli.StringFlag{Name: "derived-by", Usage: "the `JOB` that derived it"},
		&cli.StringFlag{Name: "source", Usage: "conversation_event, document, tool_result, operator, import or loan", DefaultText: "operator"},
		&cli.StringFlag{Name: "source-id", Usage: "`ID` of the source in its own terms; never lent"},
		&cli.StringFlag{Name: "observed-at", Usage: "`TIME` the source claims"},
		&cli.StringFlag{Name: "review-after", Usage: "check before relying on it after this `TIME`, or duration such as 30d"},
		&cli.StringFlag{Name: "expires-at", Usage: "forget it at this `TIME`, or after a duration such as 30d"},
		&cli.StringFlag{Name: "content-type", Usage: "media `TYPE`; TEXT is the caption of any but text/plain, text/markdown, application/json", DefaultText: "text/plain"},
		&cli.StringFlag{Name: "data-file", Usage: "`FILE` that holds the content of such a type, at most 256 KiB"},
		&cli.StringFlag{Name: "authorization-reference", Usage: "`ID` of an approval: a pointer, it grants nothing"}},
		Action: func(c *cli.Context) error { return memoryAdd(c, s) }}
}

func memoryAdd(c *cli.Context, s *streams) error {
	a, err := args(c, "TEXT")
	if err != nil {
		return err
	}
	if err := need(c, "agent"); err != nil {
		return err
	}
	in := httpapi.MemoryAdd{
		Agent: c.String("agent"), Project: c.String("project"), Statement: a[0], Kind: c.String("kind"), Tags: c.StringSlice("tag"),
		Subjects: subjects(c), Supersedes: c.String("supersedes"), DerivedFrom: c.StringSlice("derived-from"), DerivedBy: c.String("derived-by"),
		Source: c.String("source"), SourceID: c.String("source-id"), ObservedAt: c.String("observed-at"), ReviewAfter: c.String("review-after"),
		ExpiresAt: c.String("expires-at"), ContentType: c.String("content-type"), Approval: c.String("authorization-reference"),
	}
	if name := c.String("data-file"); name != "" {
		if in.Data, err = dataOf(s, name); err != nil {
			return err
		}
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var e httpapi.Entry
		if err := k.call(ctx, "POST", "/api/v1/memory", in, &e); err != nil {
			return err
		}
		return s.result(e, func(w writer) { printEntry(w, e) })
	})
}

// dataOf reads a file of at most what one entry holds.
func dataOf(s *streams, name string) (string, error) {
	f, err := s.openFile(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, memory.MaxData+1))
	if err != nil {
		return "", err
	}
	if len(b) > memory.MaxData {
		return "", &usageError{fmt.Sprintf("%s is over 256 KiB", name), "an entry holds at most 256 KiB of data"}
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

func printEntry(w writer, e httpapi.Entry) {
	fmt.Fprintf(w, "%s@%d  %s  %s %s  [%s]\n    %s\n", e.ID, e.Rev, e.Created, e.State, e.Kind, strings.Join(e.Tags, " "), oneLine(e.Statement))
}
