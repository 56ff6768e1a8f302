package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"trustnode/node/daemon"
)

func passphraseCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "passphrase", Usage: "put the keys under another passphrase; no node may run",
		Description: "The old one comes from TRUSTNODE_PASSPHRASE or the terminal, the new one from TRUSTNODE_NEW_PASSPHRASE or the terminal; both also with _FILE.\n" +
			"Update keys that lie in the data directory under the same passphrase are changed with the node's.",
		Flags:  []cli.Flag{&cli.StringFlag{Name: "of", Usage: "keys in `DIR` instead, such as update or governance keys kept apart"}},
		Action: func(c *cli.Context) error { return changePassphrase(c, s) }}
}

func changePassphrase(c *cli.Context, s *streams) error {
	dir := c.String("of")
	what := dir
	if dir == "" {
		what = c.String("data")
	}
	old, err := passphrase("old passphrase of " + what)
	if err != nil {
		return err
	}
	defer clear(old)
	next, err := newSecret.getNew("new passphrase of " + what)
	if err != nil {
		return err
	}
	defer clear(next)
	changed := []string{dir}
	if dir != "" {
		err = daemon.ChangePassphraseOf(dir, old, next)
	} else {
		cfg, bad := configOf(c)
		if bad != nil {
			return bad
		}
		changed, err = daemon.ChangePassphrase(c.Context, cfg, old, next)
	}
	if err != nil {
		return err
	}
	return s.result(map[string][]string{"changed": changed}, func(w writer) {
		for _, d := range changed {
			fmt.Fprintf(w, "%s is under the new passphrase\n", d)
		}
	})
}
