package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func didCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "did", Usage: "identities", Subcommands: []*cli.Command{
		{Name: "show", Usage: "show an organization's DID: head, keys, fingerprint", ArgsUsage: "[DID]", Action: func(c *cli.Context) error {
			return with(c, func(ctx context.Context, k *caller) error {
				var d httpapi.Identity
				who := c.Args().First()
				if who == "" {
					who = "self"
				}
				if err := k.call(ctx, "GET", "/api/v1/identities/"+url.PathEscape(who), nil, &d); err != nil {
					return err
				}
				return s.result(d, func(w writer) {
					fmt.Fprintf(w, "%s\nstate        %s, version %s, verified %s\nfingerprint  %s\n", d.DID, d.State, d.Version, d.VerifiedAt, d.Fingerprint)
					for _, key := range d.Keys {
						fmt.Fprintf(w, "key          %s\n", key)
					}
				})
			})
		}},
		{Name: "rotate", Usage: "replace this organization's issuer key by revealing the next update key", Action: func(c *cli.Context) error {
			return with(c, func(ctx context.Context, k *caller) error {
				var d httpapi.Identity
				if err := k.call(ctx, "POST", "/api/v1/identities/rotate", nil, &d); err != nil {
					return err
				}
				return s.result(d, func(w writer) { fmt.Fprintf(w, "%s is now at version %s\n", d.DID, d.Version) })
			})
		}},
	}}
}
