package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

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
