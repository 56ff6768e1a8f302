package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"trustnode/node/daemon"
	"trustnode/node/fault"
)

func passphraseCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "passphrase", Usage: "put the keys under another passphrase; no node may run",
		Description: "The old one comes from TRUSTNODE_PASSPHRASE or the terminal, the new one from TRUSTNODE_NEW_PASSPHRASE or the terminal; both also with _FILE.\n" +
			"With --of the old one may also be in TRUSTNODE_GOVERNANCE_PASSPHRASE, TRUSTNODE_UPDATE_PASSPHRASE or TRUSTNODE_PERSON_PASSPHRASE.\n" +
			"Update keys that lie in the data directory under the same passphrase are changed with the node's.",
		Flags:  []cli.Flag{&cli.StringFlag{Name: "of", Usage: "keys in `DIR` instead, such as update or governance keys kept apart, or the key of one person"}},
		Action: func(c *cli.Context) error { return changePassphrase(c, s) }}
}

func changePassphrase(c *cli.Context, s *streams) error {
	dir := c.String("of")
	what := dir
	if dir != "" && !daemon.StoreExists(dir) {
		return fault.New(fault.NotFound, "keys", "no key store in %s", dir).WithHint("--of names the directory that holds the keys, such as DIR/update-keys, or that of agent request --key-dir")
	}
	if dir == "" {
		what = c.String("data")
		if h, held := daemon.Held(what); held && h.HTTP != "" {
			return fault.New(fault.Conflict, "locked", "a node runs on %s, as process %d", what, h.PID).WithHint("stop it, change the passphrase, and start it with the new one")
		}
	}
	old, err := oldPassphrase(dir, "old passphrase of "+what)
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

// oldPassphrase is the one that protects the keys in dir now, "" for the node's: of what the
// environment gives, what opens them.
func oldPassphrase(dir, prompt string) ([]byte, error) {
	if dir == "" {
		return passphrase(prompt)
	}
	var said []byte
	for _, x := range []*secret{governanceSecret, updateSecret, personSecret, nodeSecret} {
		b, err := x.given()
		if err != nil || b != nil && daemon.StoreOpens(dir, b) {
			return b, err
		}
		if said == nil {
			said = b
		}
	}
	if said != nil {
		return said, nil // it opens nothing, or did before a crash
	}
	return passphrase(prompt)
}
