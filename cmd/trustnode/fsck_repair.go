package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"trustnode/node/config"
	"trustnode/node/daemon"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// repaired is what fsck --repair prints as JSON: every log gives its signed root, or the verb fails.
type repaired struct {
	OK bool `json:"ok"`
	httpapi.LogsRepaired
}

func fsckRepair(c *cli.Context, s *streams, cfg config.Config) error {
	if _, held := daemon.Held(cfg.Dir); !held {
		return fault.New(fault.Unavailable, "repair", "no node runs on %s, and what is damaged comes from its peers", cfg.Dir).
			WithHint("trustnode run --data %s, then the same again; without --repair all of it is verified", cfg.Dir)
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.LogsRepaired
		if err := k.call(ctx, "POST", "/api/v1/logs/repair", nil, &out); err != nil {
			return err
		}
		return s.result(repaired{true, out}, func(w writer) {
			for _, l := range out.Logs {
				fmt.Fprintf(w, "repaired     %s: %s from peers, %s made anew\n", orgWord(l.Org), count(uint64(len(l.Entries)), "entry"), count(uint64(l.Tiles), "tile"))
			}
			fmt.Fprintln(w, "sound        every log gives its signed root")
		})
	})
}
