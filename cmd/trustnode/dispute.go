package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"trustnode/attestation/trust"
	"trustnode/did/envelope"
	"trustnode/node/httpapi"
)

func disputeCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "dispute", Usage: "cases between organizations", Subcommands: []*cli.Command{
		{Name: "file", Usage: "file a case; the node attaches what proves it", Flags: []cli.Flag{
			&cli.StringFlag{Name: "loan", Usage: "permission, by id or compact form"},
			&cli.StringFlag{Name: "reason", Usage: "code of the claim, e.g. R1: read after the end"},
			&cli.StringSliceFlag{Name: "relief", Usage: "score (default), revoke, suspend, …"}},
			Action: func(c *cli.Context) error { return disputeFile(c, s) }},
		{Name: "list", Usage: "cases this node knows", Action: func(c *cli.Context) error { return disputeList(c, s) }},
		{Name: "show", Usage: "a case: claims, evidence and what its check found, next step", ArgsUsage: "CASE", Action: func(c *cli.Context) error { return disputeShow(c, s) }},
		{Name: "answer", Usage: "answer a case", ArgsUsage: "CASE", Flags: []cli.Flag{
			&cli.BoolFlag{Name: "deny", Usage: "deny every claim"},
			&cli.IntSliceFlag{Name: "admit", Usage: "admit claim `N`, may be repeated"},
			&cli.StringFlag{Name: "text", Usage: "words for the mediator"}},
			Action: func(c *cli.Context) error { return disputeAnswer(c, s) }},
		{Name: "rule", Usage: "rule on a case as its mediator; accepts the seat first", ArgsUsage: "CASE", Flags: []cli.Flag{
			&cli.StringFlag{Name: "outcome", Usage: "claimant, respondent, partial, undecided or abusive"},
			&cli.IntFlag{Name: "severity", Usage: "points, 0..100, inside the band of the claim"},
			&cli.StringFlag{Name: "reasons", Usage: "why; shown to the parties"},
			&cli.StringFlag{Name: "summary", Usage: "one public sentence"}},
			Action: func(c *cli.Context) error { return disputeRule(c, s) }},
		{Name: "export", Usage: "write the case file, which anyone verifies offline", ArgsUsage: "CASE", Flags: []cli.Flag{&cli.StringFlag{Name: "o", Usage: "write to `FILE`"}},
			Action: func(c *cli.Context) error { return disputeExport(c, s) }},
	}}
}

func disputeFile(c *cli.Context, s *streams) error {
	if err := need(c, "loan", "reason"); err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.Case
		in := httpapi.DisputeFile{Loan: c.String("loan"), Reason: c.String("reason"), Relief: c.StringSlice("relief")}
		if err := k.call(ctx, "POST", "/api/v1/disputes", in, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) { printCase(w, out) })
	})
}

func disputeList(c *cli.Context, s *streams) error {
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.Cases
		if err := k.call(ctx, "GET", "/api/v1/disputes", nil, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) {
			for _, x := range out.Cases {
				fmt.Fprintf(w, "%s  %-13s %-10s %s against %s  %s\n", x.ID, x.State, x.Role, orgWord(x.Claimant), orgWord(x.Respondent), due(x))
			}
			if len(out.Cases) == 0 {
				fmt.Fprintln(w, "no cases")
			}
		})
	})
}

// due says in words when silence leads where.
func due(x httpapi.Case) string {
	t, err := time.Parse(time.RFC3339, x.Deadline)
	if err != nil {
		return ""
	}
	left := time.Until(t).Round(time.Hour)
	return fmt.Sprintf("%s at %s (in %d d %d h)", x.Next, x.Deadline, int(left.Hours())/24, int(left.Hours())%24)
}

func one(c *cli.Context, f func(ctx context.Context, k *caller, id string) error) error {
	a, err := args(c, "CASE")
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error { return f(ctx, k, url.PathEscape(a[0])) })
}

func disputeShow(c *cli.Context, s *streams) error {
	return one(c, func(ctx context.Context, k *caller, id string) error {
		var out httpapi.Case
		if err := k.call(ctx, "GET", "/api/v1/disputes/"+id, nil, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) { printCase(w, out) })
	})
}

func printCase(w writer, x httpapi.Case) {
	fmt.Fprintf(w, "case        %s  %s\n", x.ID, x.State)
	fmt.Fprintf(w, "claimant    %s\nrespondent  %s\n", x.Claimant, x.Respondent)
	if x.Mediator != "" {
		fmt.Fprintf(w, "mediator    %s\n", x.Mediator)
	}
	for _, cl := range x.Claims {
		fmt.Fprintf(w, "claim %d     %s by %s under %s: %s claimed, %d proven, %s %s\n", cl.N, cl.Code, cl.Subject, cl.Perm, count(cl.Acts, "act"), cl.Proven, cl.Finding, cl.Reply)
		if cl.Result != "" {
			fmt.Fprintf(w, "            ruled %s, severity %d.%03d\n", cl.Result, cl.Severity/1000, cl.Severity%1000)
		}
	}
	for _, it := range x.Items {
		fmt.Fprintf(w, "item %-6d %-12s %-12s %s by %s %s\n", it.N, it.Finding, it.Kind, it.ID, orgWord(it.By), it.Why)
	}
	for _, e := range x.Events {
		fmt.Fprintf(w, "%s  %-18s %s %d\n", e.At, e.Type, orgWord(e.Org), e.Index)
	}
	if x.Answer != "" {
		fmt.Fprintf(w, "answer      %s\n", oneLine(x.Answer))
	}
	if r := x.Ruling; r != nil {
		fmt.Fprintf(w, "ruling      %s by %s at %s: %s\n", r.Outcome, r.By, r.At, r.Summary)
		if r.Reasons != "" {
			fmt.Fprintf(w, "            %s\n", oneLine(r.Reasons))
		}
	}
	if d := due(x); d != "" {
		fmt.Fprintf(w, "silence     leads to %s\n", d)
	}
}

func disputeAnswer(c *cli.Context, s *streams) error {
	if !c.Bool("deny") && len(c.IntSlice("admit")) == 0 {
		return &usageError{"neither --deny nor --admit is given", "trustnode dispute answer CASE --deny --text WORDS"}
	}
	return one(c, func(ctx context.Context, k *caller, id string) error {
		var out httpapi.Case
		in := httpapi.DisputeAnswer{Deny: c.Bool("deny"), Admit: c.IntSlice("admit"), Text: c.String("text")}
		if err := k.call(ctx, "POST", "/api/v1/disputes/"+id+"/answer", in, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) { printCase(w, out) })
	})
}

func disputeRule(c *cli.Context, s *streams) error {
	if err := need(c, "outcome", "reasons"); err != nil {
		return err
	}
	if n := c.Int("severity"); n < 0 || n > 100 {
		return &usageError{fmt.Sprintf("--severity is %d, points are 0..100", n), "the band of each claim bounds it: see trustnode dispute show CASE"}
	}
	return one(c, func(ctx context.Context, k *caller, id string) error {
		var out httpapi.Case
		in := httpapi.DisputeRule{Outcome: c.String("outcome"), Severity: c.Int("severity"), Reasons: c.String("reasons"), Summary: c.String("summary")}
		if err := k.call(ctx, "POST", "/api/v1/disputes/"+id+"/rule", in, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) { printCase(w, out) })
	})
}

func disputeExport(c *cli.Context, s *streams) error {
	return one(c, func(ctx context.Context, k *caller, id string) error {
		b, err := k.raw(ctx, "GET", "/api/v1/disputes/"+id+"/export", "", nil)
		if err != nil {
			return err
		}
		if err := s.write(c, b); err != nil {
			return err
		}
		if c.String("o") == "" || c.String("o") == "-" {
			return nil
		}
		out := map[string]any{"id": envelope.IDOf(b).String(), "file": c.String("o"), "bytes": len(b)}
		return s.result(out, func(w writer) {
			fmt.Fprintf(w, "%s  %d bytes; anyone checks it: trustnode verify %s\n", c.String("o"), len(b), c.String("o"))
		})
	})
}

func trustCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "trust", Usage: "how a party has kept its word", Subcommands: []*cli.Command{
		{Name: "show", Usage: "the score of a DID, computed here from signed events", ArgsUsage: "DID", Flags: []cli.Flag{
			&cli.StringFlag{Name: "as-of", Usage: "a moment, e.g. 2026-12-01T10:00:00Z; default the last full hour"},
			&cli.StringFlag{Name: "perspective", Usage: "a DID whose partners count full; default the federation"},
			&cli.BoolFlag{Name: "signed", Usage: "print the signed answer"}},
			Action: func(c *cli.Context) error { return trustShow(c, s) }},
	}}
}

func trustShow(c *cli.Context, s *streams) error {
	a, err := args(c, "DID")
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		q := url.Values{}
		for flag, name := range map[string]string{"as-of": "as_of", "perspective": "perspective"} {
			if c.IsSet(flag) {
				q.Set(name, c.String(flag))
			}
		}
		b, err := k.raw(ctx, "GET", "/api/v1/trust/"+url.PathEscape(a[0])+"?"+q.Encode(), "", nil)
		if err != nil {
			return err
		}
		if c.Bool("signed") {
			_, err := fmt.Fprintf(s.out, "%s\n", b)
			return err
		}
		e, err := envelope.ParseDSSE(b, trust.MaxAnswerBytes*2)
		if err != nil {
			return err
		}
		answer, err := envelope.Decode[trust.Answer](e)
		if err != nil {
			return err
		}
		public, err := answer.Public()
		if err != nil {
			return err
		}
		if s.json {
			_, err := fmt.Fprintf(s.out, "%s\n", public)
			return err
		}
		printScore(s.out, answer)
		return nil
	})
}

func printScore(w writer, a trust.Answer) {
	fmt.Fprintf(w, "%s\n%d of 1000, %s, as of %s (confidence %d.%02d %%)\n", a.Subject, a.Composite, a.Tier, a.AsOf, a.ConfidenceBP/100, a.ConfidenceBP%100)
	for _, d := range trust.Dimensions {
		v := a.Dimensions.Of(d)
		fmt.Fprintf(w, "  %-20s %3d.%03d  +%d.%03d −%d.%03d from %d events\n", strings.ReplaceAll(string(d), "_", " "), v.Milli/1000, v.Milli%1000, v.Bonus/1000, v.Bonus%1000, v.Penalty/1000, v.Penalty%1000, v.Events)
	}
	fmt.Fprintf(w, "loans ended %d with %d organizations; cases open %d, lost %d, won %d\n", a.Gates.Have.Ended, a.Gates.Have.Orgs, a.Disputes.Open, a.Disputes.Lost, a.Disputes.Won)
	if a.Gates.Next != "" {
		fmt.Fprintf(w, "%s asks for %d ended loans with %d organizations\n", a.Gates.Next, a.Gates.Need.Ended, a.Gates.Need.Orgs)
	}
	for _, l := range a.StaleLogs {
		fmt.Fprintf(w, "note: the log of %s is known to be longer than what is held here\n", l)
	}
}
