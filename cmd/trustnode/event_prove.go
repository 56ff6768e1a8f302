package main

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"trustnode/did/envelope"
	"trustnode/node/httpapi"
)

func eventProve(s *streams) *cli.Command {
	return &cli.Command{Name: "prove", Usage: "write the file that proves an event or an audit row, which anyone verifies offline", ArgsUsage: "ID|INDEX",
		Description: "ID is that of an event of any log held here, or of an audit row; INDEX that of an event of the own log.\n" +
			"A private body is in the file only where --with names it: whoever has the file reads it.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "o", Usage: "write to `FILE`, or - for standard output"},
			&cli.StringSliceFlag{Name: "with", Usage: "`REF` proven in the same file: an event, a row, or the body of one of these events; may be repeated"},
			&cli.StringFlag{Name: "c2sp", Usage: "make the directory `DIR` with entry, proof and policy for any C2SP tlog-proof tool"}},
		Action: func(c *cli.Context) error { return proveEvent(c, s) }}
}

func proveEvent(c *cli.Context, s *streams) error {
	a, err := args(c, "ID|INDEX")
	if err != nil {
		return err
	}
	if c.IsSet("c2sp") && (c.IsSet("o") || c.IsSet("with")) {
		return &usageError{"--c2sp writes one event for outside tools, -o and --with are of the file that trustnode verify reads", help(c)}
	}
	if !c.IsSet("c2sp") {
		if err := s.toFile(c); err != nil {
			return err
		}
	}
	return with(c, func(ctx context.Context, k *caller) error {
		path := "/api/v1/events/" + url.PathEscape(a[0])
		if c.IsSet("c2sp") {
			return proveC2SP(ctx, s, k, path+"/c2sp", filepath.Clean(c.String("c2sp")))
		}
		path += "/proof"
		if c.IsSet("with") {
			path += "?with=" + url.QueryEscape(strings.Join(c.StringSlice("with"), ","))
		}
		b, err := k.raw(ctx, "GET", path, "", nil)
		if err != nil {
			return err
		}
		if err := s.write(c, b); err != nil {
			return err
		}
		name := c.String("o")
		if name == "" || name == "-" {
			return nil
		}
		out := map[string]any{"id": envelope.IDOf(b).String(), "file": name, "bytes": len(b)}
		return s.result(out, func(w writer) {
			fmt.Fprintf(w, "%s  %d bytes; anyone checks it: trustnode verify %s\n", name, len(b), name)
		})
	})
}

// proveC2SP writes one event as outside tools take it.
func proveC2SP(ctx context.Context, s *streams, k *caller, route, dir string) error {
	var e httpapi.EventC2SP
	if err := k.call(ctx, "GET", route, nil, &e); err != nil {
		return err
	}
	if err := free(dir); err != nil {
		return err
	}
	t, err := newTree(dir)
	if err != nil {
		return err
	}
	for name, b := range map[string][]byte{"entry": e.Entry, "proof": []byte(e.Proof), "policy": []byte(e.Policy)} {
		if err := t.put(name, b); err != nil {
			return err
		}
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	return s.result(e, func(w writer) {
		fmt.Fprintf(w, "event    %s %d of %s  %s\n", orgWord(e.Org), e.Index, count(e.Size, "entry"), e.ID)
		fmt.Fprintf(w, "head     signed, %s\n", witnessedWords(e.Witnessed, e.Need))
		fmt.Fprintf(w, "written  %s  entry, proof, policy\n", dir)
	})
}
