package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func agentCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "agent", Usage: "agents and people who act for this organization", Subcommands: []*cli.Command{
		agentAddCommand(s),
		{Name: "list", Usage: "list the agents, ended and revoked ones too", Action: func(c *cli.Context) error { return agentList(c, s) }},
		{Name: "show", Usage: "show an agent: state, capabilities, validity, tokens", ArgsUsage: "NAME|DID",
			Description: "An own agent is named by its name or DID, one of another member by its DID.",
			Action:      func(c *cli.Context) error { return agentShow(c, s) }},
		{Name: "revoke", Usage: "end an agent, at once and for good", ArgsUsage: "NAME|DID", Flags: []cli.Flag{
			&cli.StringFlag{Name: "reason", Usage: "`CODE`: ended, key_compromise, misuse, policy, mistake or other", Value: "ended"},
			&cli.Uint64Flag{Name: "taint-from", Usage: "with key_compromise: last `INDEX` of the own log at which its acts are surely its own; later ones become disputed", DefaultText: "nothing is put in doubt"}},
			Description: "Its tokens and the loans it lent end before this returns, and its key never acts for this organization again.\n" +
				"The name may be given anew, with another key: trustnode agent add NAME --can …",
			Action: func(c *cli.Context) error { return agentRevoke(c, s) }},
		{Name: "token", Usage: "make a token by which a program calls this node as an agent", ArgsUsage: "[NAME|DID]", Flags: []cli.Flag{
			&cli.StringFlag{Name: "for", Usage: "`SURFACE` it opens: http or mcp"},
			&cli.StringFlag{Name: "revoke", Usage: "end the token that begins with `PREFIX`, as agent show lists it"}},
			Description: "The token is printed once and kept nowhere. It ends with its agent, or by --revoke.\n" +
				"For http it opens the routes under /api/v1/loans that docs/operating.md names, for mcp the tools of that agent (trustnode mcp), and nothing else.",
			Action: func(c *cli.Context) error { return agentToken(c, s) }},
		agentRequestCommand(s),
		agentMoveCommand(s),
	}}
}

func agentAddCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "add", Usage: "make an agent and bind it to this organization, or renew one that ended", ArgsUsage: "NAME", Flags: []cli.Flag{
		&cli.StringFlag{Name: "name", Usage: "the `NAME`, in place of the argument"},
		&cli.StringSliceFlag{Name: "can", Usage: "`CAPABILITY`: lend, borrow, receipts, propose; a person also approve. May be repeated; an agent that ended keeps its own without"},
		&cli.StringFlag{Name: "kind", Usage: "`KIND`: agent (default) or human, whose key opens with the person's own passphrase"},
		&cli.IntFlag{Name: "days", Usage: "how many days it holds, 1 to 30; the node renews agents in time", DefaultText: "30"},
		&cli.StringFlag{Name: "display", Usage: "a role in up to 64 bytes; everybody sees it"},
		&cli.StringFlag{Name: "project", Usage: "project whose memory the agent works in"},
		&cli.StringFlag{Name: "for", Usage: "`DID` of whoever holds the agent's key elsewhere: did:key:z6Mk…"},
		&cli.StringFlag{Name: "draft", Usage: "write to `FILE` what the holder of that key has to sign, and issue nothing"},
		&cli.StringFlag{Name: "request", Usage: "take the `FILE` that the holder signed"}},
		Description: "Without --for the node makes the agent's key and keeps it.\n" +
			"With --for DID --draft FILE it writes a draft for whoever holds that key; the same words with --request FILE take the signed one back, within 7 days.\n" +
			"A person's key lies under DIR/keys/people, is opened by TRUSTNODE_PERSON_PASSPHRASE or a prompt, and no running node has it.",
		Action: func(c *cli.Context) error { return agentAdd(c, s) }}
}

// agentPath is the route of one agent.
func agentPath(who string) string { return "/api/v1/agents/" + url.PathEscape(who) }

func agentList(c *cli.Context, s *streams) error {
	return with(c, func(ctx context.Context, k *caller) error {
		var l httpapi.Agents
		if err := k.call(ctx, "GET", "/api/v1/agents", nil, &l); err != nil {
			return err
		}
		return s.result(l, func(w writer) {
			for _, a := range l.Agents {
				fmt.Fprintf(w, "%-16s %s  %s%s  %s\n", a.Name, a.DID, strings.Join(a.Can, ","), person(a.Kind), standing(a.State, a.NotAfter))
			}
			if len(l.Agents) == 0 {
				fmt.Fprintln(w, "no agents")
			}
		})
	})
}

func person(kind string) string {
	if kind == "human" {
		return " (person)"
	}
	return ""
}

// standing says how an agent stands, in a list.
func standing(state, end string) string {
	switch state {
	case "revoked":
		return "revoked"
	case "ended":
		return "ended at " + end
	case "not_yet":
		return "not yet valid, until " + end
	}
	return "until " + end
}

func agentShow(c *cli.Context, s *streams) error {
	a, err := args(c, "NAME|DID")
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var d httpapi.AgentInfo
		if err := k.call(ctx, "GET", agentPath(a[0]), nil, &d); err != nil {
			return err
		}
		return s.result(d, func(w writer) { tellAgent(w, d) })
	})
}

func tellAgent(w writer, d httpapi.AgentInfo) {
	line := func(what, format string, args ...any) {
		fmt.Fprintf(w, "%-13s %s\n", what, fmt.Sprintf(format, args...))
	}
	role := ""
	if d.Display != "" {
		role = ", " + d.Display
	}
	fmt.Fprintf(w, "%s%s of %s%s\n%s\n", d.Name, person(d.Kind), orgWord(d.Org), role, d.DID)
	line("state", "%s", strings.ReplaceAll(d.State, "_", " "))
	line("can", "%s", strings.Join(d.Can, ", "))
	if len(d.Inert) > 0 {
		line("grants nothing", "%s (listed, not known here)", strings.Join(d.Inert, ", "))
	}
	line("valid", "%s to %s, serial %d", d.NotBefore, d.NotAfter, d.Serial)
	if d.RenewsAt != "" {
		line("renewed", "by this node from %s on", d.RenewsAt)
	}
	if d.Index != nil {
		line("issued", "at index %d of its organization's log", *d.Index)
	} else {
		line("issued", "not in the log yet")
	}
	if d.Project != "" {
		line("project", "%s", d.Project)
	}
	for _, t := range d.Tokens {
		line("token", "%s…  for %s, made %s", t.Prefix, t.For, t.Made)
	}
	if d.Message != "" {
		fmt.Fprintln(w, d.Message)
	}
	if d.Hint != "" {
		fmt.Fprintln(w, "hint: "+d.Hint)
	}
}

func agentRevoke(c *cli.Context, s *streams) error {
	a, err := args(c, "NAME|DID")
	if err != nil {
		return err
	}
	if err := oneOf(c, "reason", "ended", "key_compromise", "misuse", "policy", "mistake", "other"); err != nil {
		return err
	}
	if c.IsSet("taint-from") && c.String("reason") != "key_compromise" {
		return &usageError{"--taint-from goes with --reason key_compromise alone", help(c)}
	}
	in := httpapi.AgentRevoke{Reason: c.String("reason")}
	if c.IsSet("taint-from") {
		n := c.Uint64("taint-from")
		in.TaintFrom = &n
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var r httpapi.AgentRevoked
		if err := k.call(ctx, "POST", agentPath(a[0])+"/revoke", in, &r); err != nil {
			return err
		}
		return s.result(r, func(w writer) {
			fmt.Fprintf(w, "%s is revoked: its tokens are gone, %s ended with it, and nothing is done in its name any more\n", r.Name, count(r.Loans, "loan"))
			if r.Index == nil {
				fmt.Fprintln(w, "agent.revoked waits until the own log takes it; partners learn of it then")
				return
			}
			fmt.Fprintf(w, "agent.revoked stands at index %d of the log; partners learn of it by sync\n", *r.Index)
		})
	})
}

func agentToken(c *cli.Context, s *streams) error {
	if c.IsSet("revoke") {
		if c.IsSet("for") || c.Args().Present() {
			return &usageError{"--revoke names a token by itself", help(c)}
		}
		return with(c, func(ctx context.Context, k *caller) error {
			var t httpapi.TokenEnded
			if err := k.call(ctx, "DELETE", "/api/v1/tokens/"+url.PathEscape(c.String("revoke")), nil, &t); err != nil {
				return err
			}
			return s.result(t, func(w writer) { fmt.Fprintf(w, "token %s… has ended\n", t.Prefix) })
		})
	}
	a, err := args(c, "NAME|DID")
	if err != nil {
		return err
	}
	if err := need(c, "for"); err != nil {
		return err
	}
	if err := oneOf(c, "for", "http", "mcp"); err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var t httpapi.TokenMade
		if err := k.call(ctx, "POST", agentPath(a[0])+"/tokens", httpapi.TokenMake{For: c.String("for")}, &t); err != nil {
			return err
		}
		return s.result(t, func(w writer) {
			fmt.Fprintln(w, t.Token)
			fmt.Fprintf(s.err, "This is shown once. It opens %s for %s until the agent ends, or: trustnode agent token --revoke %s\n", t.For, a[0], t.Prefix)
		})
	})
}
