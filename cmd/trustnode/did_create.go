package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"trustnode/node/daemon"
	"trustnode/node/fault"
)

func didCreateCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "create", Usage: "make a DID without a node, for a lab or another program", Flags: []cli.Flag{
		&cli.StringFlag{Name: "domain", Usage: "`DOMAIN` in the DID, e.g. lab.example"},
		&cli.StringFlag{Name: "path", Usage: "`PATH` under the domain, e.g. ids/a; default its .well-known"},
		&cli.StringFlag{Name: "out", Usage: "`DIR` for the keys and the files; it must not exist yet"},
		&cli.StringFlag{Name: "update-keys", Usage: "`DIR` for the key of the next entry, best on a removable medium; default below --out"},
	},
		Description: "A node makes its own identity: trustnode init. This one belongs to no node, and none takes it over.",
		Action:      func(c *cli.Context) error { return didCreate(c, s) }}
}

// created is what did create made.
type created struct {
	ID          string   `json:"id"`
	DID         string   `json:"did"`
	Fingerprint string   `json:"fingerprint"`
	Dir         string   `json:"dir"`
	Files       []string `json:"files"`
	URL         string   `json:"url"`
	RecoveryKey string   `json:"recovery_key"`
}

func didCreate(c *cli.Context, s *streams) error {
	if err := need(c, "domain", "out"); err != nil {
		return err
	}
	var path []string
	if p := strings.Trim(c.String("path"), "/"); p != "" {
		path = strings.Split(p, "/")
	}
	pass, err := newPassphrase("new passphrase of " + c.String("out"))
	if err != nil {
		return err
	}
	defer clear(pass)
	r, err := daemon.CreateIdentity(c.Context, daemon.CreateOptions{Dir: c.String("out"), Domain: c.String("domain"), Path: path, UpdateKeys: c.String("update-keys"), Passphrase: pass})
	if d := (*fault.Denied)(nil); errors.As(err, &d) && d.Code == fault.Invalid && d.Reason == "domain" {
		return &usageError{d.Detail, d.Hint}
	}
	if err != nil {
		return err
	}
	out := created{ID: r.DID.String(), DID: r.DID.String(), Fingerprint: r.Fingerprint, Dir: r.Dir, URL: r.URL, RecoveryKey: r.Recovery}
	for _, f := range r.Files {
		out.Files = append(out.Files, filepath.Join(r.Dir, f))
	}
	return s.result(out, func(w writer) {
		fmt.Fprintf(w, "did            %s\n", r.DID)
		fmt.Fprintf(w, "fingerprint    %s   compare it aloud with whoever is to trust it\n", r.Fingerprint)
		fmt.Fprintf(w, "files          %s\n", strings.Join(out.Files, " "))
		fmt.Fprintf(w, "published at   %s and beside it; nothing else of %s belongs on a web server\n", r.URL, r.Dir)
		fmt.Fprintf(w, "recovery key   %s\n", r.Recovery)
		fmt.Fprintf(w, "next           trustnode did resolve --log %s %s\n", out.Files[0], r.DID)
		fmt.Fprintln(w, "Write the recovery key down and keep it away from this machine; it is not stored and not shown again.")
	})
}
