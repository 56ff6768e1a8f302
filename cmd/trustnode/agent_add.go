package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"trustnode/did"
	"trustnode/node/daemon"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

func agentAdd(c *cli.Context, s *streams) error {
	in, err := agentWish(c)
	if err != nil {
		return err
	}
	if c.IsSet("request") {
		if in.Request, err = s.read(c.String("request")); err != nil {
			return err
		}
	}
	return agentUsage(with(c, func(ctx context.Context, k *caller) error {
		switch {
		case c.IsSet("draft"):
			return agentDraft(ctx, c, s, k, in)
		case in.Kind == "human" && in.For == "" && len(in.Request) == 0:
			return personAdd(ctx, c, s, k, in)
		}
		err := agentIssue(ctx, s, k, in)
		var d *fault.Denied
		if errors.As(err, &d) && d.Reason == "person" { // one that ended: --kind need not be said again
			in.Kind = "human"
			return personAdd(ctx, c, s, k, in)
		}
		return err
	}))
}

// agentUsage tells a word of the command line that is none of those the node knows from a refusal.
func agentUsage(err error) error {
	d := (*fault.Denied)(nil)
	if errors.As(err, &d) && d.Code == fault.Invalid && slices.Contains([]string{"name", "capability", "kind", "days", "display", "for", "project"}, d.Reason) {
		return &usageError{d.Detail, d.Hint}
	}
	return err
}

// agentWish reads what is asked for. A request may come without words: then the answer
// says which are wanted.
func agentWish(c *cli.Context) (httpapi.AgentAdd, error) {
	in := httpapi.AgentAdd{Name: c.String("name"), Can: c.StringSlice("can"), Project: c.String("project"), Kind: c.String("kind"),
		Days: c.Int("days"), Display: c.String("display"), For: c.String("for")}
	switch {
	case in.Name != "" && c.Args().Present():
		return in, &usageError{fmt.Sprintf("two names, %s and %s", in.Name, c.Args().First()), help(c)}
	case in.Name == "" && (c.Args().Present() || !c.IsSet("request")):
		a, err := args(c, "NAME")
		if err != nil {
			return in, err
		}
		in.Name = a[0]
	}
	if c.IsSet("draft") && c.IsSet("request") {
		return in, &usageError{"--draft makes a file for the holder of a key, --request takes it back", help(c)}
	}
	if c.IsSet("draft") && in.For == "" {
		return in, &usageError{"--for is missing: whose key is to sign the draft", help(c)}
	}
	return in, nil
}

func agentIssue(ctx context.Context, s *streams, k *caller, in httpapi.AgentAdd) error {
	var out httpapi.Agent
	if err := k.call(ctx, "POST", "/api/v1/agents", in, &out); err != nil {
		return err
	}
	return s.result(out, func(w writer) {
		fmt.Fprintf(w, "%s  %s\ncan %s until %s\n", out.Name, out.DID, strings.Join(out.Can, ", "), out.NotAfter)
	})
}

func agentDraft(ctx context.Context, c *cli.Context, s *streams, k *caller, in httpapi.AgentAdd) error {
	var d httpapi.AgentDraft
	if err := k.call(ctx, "POST", "/api/v1/agents/drafts", in, &d); err != nil {
		return err
	}
	name := c.String("draft")
	if name == "-" {
		_, err := s.out.Write(d.Data)
		return err
	}
	if err := writeFile(name, d.Data); err != nil {
		return err
	}
	d.Data = nil
	return s.result(d, func(w writer) {
		fmt.Fprintf(w, "draft of %s for %s\n", d.Name, d.DID)
		fmt.Fprintf(w, "Its holder signs %s (trustnode agent request --key-dir DIR %s, or by did/keyring/SPEC.md);\nthen give the same words with --request in place of --draft, within 7 days.\n", name, name)
	})
}

// personAdd makes a person of this organization. The key lies in the person's own store;
// this process opens it, and the node sees its signature alone.
func personAdd(ctx context.Context, c *cli.Context, s *streams, k *caller, in httpapi.AgentAdd) error {
	dir, err := daemon.PersonDir(c.String("data"), in.Name)
	if err != nil {
		return err
	}
	pass, err := holderPassphrase("passphrase of "+in.Name+" alone", dir)
	if err != nil {
		return err
	}
	defer clear(pass)
	key, err := personKey(ctx, k, in.Name, dir, pass)
	if err != nil {
		return err
	}
	in.For = key.String()
	var d httpapi.AgentDraft
	if err := k.call(ctx, "POST", "/api/v1/agents/drafts", in, &d); err != nil {
		return err
	}
	if in.Request, err = daemon.SignRequest(ctx, dir, pass, d.Data); err != nil {
		return err
	}
	in.Can, in.Kind, in.Display = d.Can, d.Kind, d.Display // what a renewal left out, the person has signed now
	if err := agentIssue(ctx, s, k, in); err != nil {
		return err
	}
	return daemon.RetireKeys(ctx, dir, pass, key)
}

// personKey is the key a person signs with: the one the organization knows, unless that was
// revoked.
func personKey(ctx context.Context, k *caller, name, dir string, pass []byte) (did.DID, error) {
	var was httpapi.AgentInfo
	err := k.call(ctx, "GET", agentPath(name), nil, &was)
	if fault.Of(err) == fault.NotFound {
		return daemon.HolderKey(ctx, dir, pass, did.DID{})
	}
	if err != nil {
		return did.DID{}, err
	}
	old, err := did.Parse(was.DID)
	if err != nil {
		return did.DID{}, err
	}
	if err := daemon.RetireKeys(ctx, dir, pass, old); err != nil {
		return did.DID{}, err
	}
	if was.State != "revoked" {
		return old, nil
	}
	return daemon.HolderKey(ctx, dir, pass, old)
}

func agentRequestCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "request", Usage: "for whoever holds an agent's key: name it, or sign the draft of its organization", ArgsUsage: "[DRAFT]", Flags: []cli.Flag{
		&cli.StringFlag{Name: "key-dir", Usage: "`DIR` of the key, which is made if it is not there"},
		&cli.StringFlag{Name: "o", Usage: "write the request to `FILE`; without it to standard output"}},
		Description: "Needs no node and no network. Without DRAFT it prints the key's DID, for the organization's --for; with DRAFT it says what that asks, and signs it.\n" +
			"The key is opened by TRUSTNODE_PERSON_PASSPHRASE or a prompt.",
		Action: func(c *cli.Context) error { return agentRequest(c, s) }}
}

func agentRequest(c *cli.Context, s *streams) error {
	if err := need(c, "key-dir"); err != nil {
		return err
	}
	if c.Args().Len() > 1 {
		return &usageError{fmt.Sprintf("agent request takes one DRAFT, got %q as well", c.Args().Get(1)), help(c)}
	}
	dir := c.String("key-dir")
	var draft []byte
	if c.Args().Present() {
		var err error
		if draft, err = s.read(c.Args().First()); err != nil {
			return err
		}
		if _, err := daemon.ReadDraft(draft); err != nil { // before anybody types a passphrase
			return err
		}
	}
	pass, err := holderPassphrase("passphrase of the key in "+dir, dir)
	if err != nil {
		return err
	}
	defer clear(pass)
	if draft != nil {
		return requestSign(c, s, dir, pass, draft)
	}
	d, err := daemon.HolderKey(c.Context, dir, pass, did.DID{})
	if err != nil {
		return err
	}
	return s.result(map[string]string{"did": d.String()}, func(w writer) { fmt.Fprintln(w, d) })
}

func requestSign(c *cli.Context, s *streams, dir string, pass, draft []byte) error {
	a, err := daemon.ReadDraft(draft)
	if err != nil {
		return err
	}
	file, err := daemon.SignRequest(c.Context, dir, pass, draft)
	if err != nil {
		return err
	}
	words := fmt.Sprintf("signed: %s acts for %s as %s %s from %s to %s", a.Agent, orgWord(a.Org.String()), a.Kind, a.Name, a.NotBefore, a.NotAfter)
	if name := c.String("o"); s.json && name != "" && name != "-" {
		if err := writeFile(name, file); err != nil {
			return err
		}
		return s.print(map[string]string{"did": a.Agent.String(), "org": a.Org.String(), "name": a.Name, "not_after": a.NotAfter.String()})
	}
	fmt.Fprintln(printable{s.err}, words)
	return s.write(c, file)
}

// holderPassphrase opens a key that is not the node's; for one that is not made yet the
// terminal asks twice.
func holderPassphrase(what, dir string) ([]byte, error) {
	if _, err := os.Stat(dir); err != nil {
		return personSecret.getNew(what)
	}
	return personPassphrase(what)
}
