package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"trustnode/did/envelope"
)

func eventProve(c *cli.Context, s *streams) error {
	a, err := args(c, "ID")
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		b, err := k.raw(ctx, "GET", "/api/v1/events/"+url.PathEscape(a[0])+"/proof", "", nil)
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
