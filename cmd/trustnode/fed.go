package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"trustnode/node/daemon"
	"trustnode/node/httpapi"
)

func fedCommand(s *streams) *cli.Command {
	out := &cli.StringFlag{Name: "o", Usage: "write to `FILE`; without it to standard output"}
	governance := &cli.StringFlag{Name: "governance-keys", Usage: "`DIR` of the governance key, where the organization has one"}
	return &cli.Command{Name: "fed", Usage: "federations: create, join, sign, apply", Subcommands: []*cli.Command{
		{Name: "join-request", Usage: "write this organization's join file", Flags: []cli.Flag{out, governance, &cli.BoolFlag{Name: "no-vote", Usage: "join without a vote"}},
			Action: func(c *cli.Context) error { return joinRequest(c, s) }},
		{Name: "create", Usage: "draft the charter of a new federation", Flags: []cli.Flag{out, governance,
			&cli.StringFlag{Name: "name", Usage: "name of the federation"},
			&cli.StringSliceFlag{Name: "with", Usage: "join `FILE` of another member, may be repeated"},
			&cli.StringSliceFlag{Name: "mediator", Usage: "join `FILE` of a mediator; the first is the neutral one"},
			&cli.StringSliceFlag{Name: "recovery", Usage: "multikey of a recovery key, kept on no node; needed while there are two voters or fewer"}},
			Action: func(c *cli.Context) error { return fedCreate(c, s) }},
		{Name: "recovery-key", Usage: "make a recovery key for fed create --recovery; it is shown once", Action: func(c *cli.Context) error { return recoveryKey(s) }},
		{Name: "diff", Usage: "say in words what a draft binds its signer to", ArgsUsage: "DRAFT", Action: func(c *cli.Context) error { return fedDiff(c, s) }},
		{Name: "sign", Usage: "sign a draft; without -o in place", ArgsUsage: "DRAFT", Flags: []cli.Flag{&cli.StringFlag{Name: "o", Usage: "write to `FILE` in place of the draft"}, governance, &cli.BoolFlag{Name: "now", Usage: "sign without waiting for ballots"}},
			Action: func(c *cli.Context) error { return fedSign(c, s) }},
		{Name: "apply", Usage: "verify a charter alone, with no network, and put it in force here", ArgsUsage: "FILE",
			Flags:  []cli.Flag{&cli.StringFlag{Name: "fingerprint", Usage: "fed1-… of the federation, when this node signed no part of it"}},
			Action: func(c *cli.Context) error { return fedApply(c, s) }},
		{Name: "status", Usage: "the federation this node is in", Action: func(c *cli.Context) error { return fedStatus(c, s) }},
	}}
}

// recoveryKey needs no node: the key is to lie on none.
func recoveryKey(s *streams) error {
	text, multikey, err := daemon.NewRecoveryKey()
	if err != nil {
		return err
	}
	return s.result(map[string]string{"id": multikey, "recovery_key": text}, func(w writer) {
		fmt.Fprintf(w, "recovery key  %s\nnames it      %s\n", text, multikey)
		fmt.Fprintln(w, "Write the recovery key down and keep it away from every node; give the other to fed create --recovery.")
	})
}

func joinRequest(c *cli.Context, s *streams) error {
	g, err := ceremony(c)
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var d httpapi.FedDraft
		if err := k.call(ctx, "POST", "/api/v1/federation/join-request", httpapi.JoinRequest{Votes: !c.Bool("no-vote"), Ceremony: g}, &d); err != nil {
			return err
		}
		return s.file(c, d, func(w writer) { fmt.Fprintf(w, "join file, fingerprint %s\n", d.Fingerprint) })
	})
}

// file writes a draft's bytes to -o and tells about it: as JSON on standard output, or in
// words on standard error where standard output carries the file.
func (s *streams) file(c *cli.Context, d httpapi.FedDraft, text func(w writer)) error {
	name := c.String("o")
	if name == "" && s.json {
		return s.print(d)
	}
	if err := s.write(c, d.Data); err != nil {
		return err
	}
	if s.json && name != "-" {
		d.Data = nil
		return s.print(d)
	}
	w := s.out
	if name == "" || name == "-" {
		w = s.err
	}
	text(w)
	return nil
}

func fedCreate(c *cli.Context, s *streams) error {
	if err := need(c, "name"); err != nil {
		return err
	}
	in := httpapi.FedCreate{Name: c.String("name"), With: [][]byte{}, Mediators: [][]byte{}, Recovery: c.StringSlice("recovery")}
	for _, f := range c.StringSlice("with") {
		b, err := s.read(f)
		if err != nil {
			return err
		}
		in.With = append(in.With, b)
	}
	for _, f := range c.StringSlice("mediator") {
		b, err := s.read(f)
		if err != nil {
			return err
		}
		in.Mediators = append(in.Mediators, b)
	}
	var err error
	if in.Ceremony, err = ceremony(c); err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var d httpapi.FedDraft
		if err := k.call(ctx, "POST", "/api/v1/federation/drafts", in, &d); err != nil {
			return err
		}
		return s.file(c, d, func(w writer) {
			fmt.Fprintf(w, "draft %s, fingerprint %s\n", d.ID, d.Fingerprint)
			fmt.Fprintf(w, "every member signs it: trustnode fed sign --now %s\n", orDash(c.String("o")))
		})
	})
}

// ceremony is where the governance key lies, if one is named, with its passphrase.
func ceremony(c *cli.Context) (httpapi.Ceremony, error) {
	dir := c.String("governance-keys")
	if dir == "" {
		return httpapi.Ceremony{}, nil
	}
	dir, err := filepath.Abs(dir) // the node may run elsewhere
	if err != nil {
		return httpapi.Ceremony{}, err
	}
	b, err := governancePassphrase("passphrase of the governance keys in " + dir)
	if err != nil {
		return httpapi.Ceremony{}, err
	}
	defer clear(b)
	return httpapi.Ceremony{Governance: dir, GovPass: string(b)}, nil
}

func orDash(s string) string {
	if s == "" {
		return "DRAFT"
	}
	return s
}

// draft reads the one file argument of a verb.
func draft(c *cli.Context, s *streams, what string) (string, []byte, error) {
	a, err := args(c, what)
	if err != nil {
		return "", nil, err
	}
	b, err := s.read(a[0])
	return a[0], b, err
}

func fedDiff(c *cli.Context, s *streams) error {
	_, b, err := draft(c, s, "DRAFT")
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var d httpapi.FedWords
		if err := k.call(ctx, "POST", "/api/v1/federation/diff", httpapi.File{Data: b}, &d); err != nil {
			return err
		}
		return s.result(d, func(w writer) {
			for _, l := range d.Lines {
				fmt.Fprintln(w, l)
			}
			fmt.Fprintf(w, "fingerprint  %s\n", d.Fingerprint)
			who(w, d.Signed, d.Missing)
		})
	})
}

func who(w writer, signed, missing []string) {
	for _, o := range signed {
		fmt.Fprintf(w, "signed       %s\n", o)
	}
	for _, o := range missing {
		fmt.Fprintf(w, "missing      %s\n", o)
	}
}

func fedSign(c *cli.Context, s *streams) error {
	name, b, err := draft(c, s, "DRAFT")
	if err != nil {
		return err
	}
	if !c.Bool("now") {
		return &usageError{"signing waits for ballots, which this version does not exchange", "trustnode fed sign --now " + name}
	}
	g, err := ceremony(c)
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var d httpapi.FedDraft
		if err := k.call(ctx, "POST", "/api/v1/federation/sign", httpapi.FedSign{Data: b, Ceremony: g}, &d); err != nil {
			return err
		}
		if !c.IsSet("o") {
			if err := c.Set("o", name); err != nil {
				return err
			}
		}
		return s.file(c, d, func(w writer) {
			fmt.Fprintf(w, "signed %s\n", d.ID)
			who(w, d.Signed, d.Missing)
		})
	})
}

func fedApply(c *cli.Context, s *streams) error {
	_, b, err := draft(c, s, "FILE")
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var d httpapi.FedApplied
		in := httpapi.FedApply{Data: b, Fingerprint: c.String("fingerprint")}
		if err := k.call(ctx, "POST", "/api/v1/federation/apply", in, &d); err != nil {
			return err
		}
		return s.result(d, func(w writer) {
			for _, l := range d.Walk {
				fmt.Fprintln(w, l)
			}
			fmt.Fprintf(w, "charter %d is in force here: %s\n", d.Seq, d.Fingerprint)
		})
	})
}

func fedStatus(c *cli.Context, s *streams) error {
	return with(c, func(ctx context.Context, k *caller) error {
		var st httpapi.Status
		if err := k.call(ctx, "GET", "/api/v1/status", nil, &st); err != nil {
			return err
		}
		return s.result(st, func(w writer) { printStatus(w, st) })
	})
}
