package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func loanRequestCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "request", Usage: "ask a lender for a loan", Flags: []cli.Flag{
		&cli.StringFlag{Name: "as", Usage: "own borrowing agent, by name or DID"},
		&cli.StringFlag{Name: "lender", Usage: "DID of the lending agent"},
		&cli.StringFlag{Name: "purpose", Usage: "what for; it is signed, and the lender reads it first"},
		&cli.StringFlag{Name: "scope", Usage: "what is asked for, e.g. 'tag:client:acme age<90d'; without, the lender chooses"},
		&cli.StringFlag{Name: "from", Usage: "`RECEIPT` of a discovery, of which --tags are asked for"},
		&cli.StringFlag{Name: "tags", Usage: "with --from: entries that have one of these, e.g. `a,b`"},
		&cli.StringFlag{Name: "expires", Usage: "duration such as 720h, or a time", Value: "720h"},
		&cli.Uint64Flag{Name: "max-reads", Usage: "answers asked for", Value: 100},
		&cli.StringSliceFlag{Name: "pattern", Usage: "`PATTERN`: read (default), discover, downstream_write; may be repeated"},
		&cli.StringFlag{Name: "cost-cap", Usage: "most that may be billed: `AMOUNT/ASSET[/CHAIN]`, in smallest units"},
		&cli.StringFlag{Name: "parent", Usage: "own `PERMISSION` that provides for sub-lending; with --for"},
		&cli.StringFlag{Name: "for", Usage: "`DID` of the agent to be let in; with --parent"},
		&cli.StringFlag{Name: "in-reply-to", Usage: "own request `ID` that this one counters"},
		&cli.BoolFlag{Name: "preview", Usage: "say what would be asked, and what is known of the lender; send nothing"}},
		Action: func(c *cli.Context) error { return loanRequest(c, s) }}
}

func loanRequest(c *cli.Context, s *streams) error {
	if err := need(c, "as", "purpose"); err != nil {
		return err
	}
	in := httpapi.LoanRequest{As: c.String("as"), Lender: c.String("lender"), Purpose: c.String("purpose"), Scope: c.String("scope"), From: c.String("from"),
		Expires: c.String("expires"), MaxReads: c.Uint64("max-reads"), Patterns: c.StringSlice("pattern"), Parent: c.String("parent"), For: c.String("for"),
		InReplyTo: c.String("in-reply-to"), Preview: c.Bool("preview")}
	if t := c.String("tags"); t != "" {
		in.Tags = strings.Split(t, ",")
	}
	if in.Lender == "" && in.From == "" && in.Parent == "" && in.InReplyTo == "" {
		return need(c, "lender")
	}
	if text := c.String("cost-cap"); text != "" {
		p := strings.SplitN(text, "/", 3)
		if len(p) < 2 {
			return &usageError{fmt.Sprintf("--cost-cap %q is no AMOUNT/ASSET", text), "e.g. --cost-cap 5000/EUR"}
		}
		in.CostCap = &httpapi.Money{Amount: p[0], Asset: p[1], Chain: strings.Join(p[2:], "")}
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var r httpapi.LoanRequestInfo
		if err := k.call(ctx, "POST", "/api/v1/loans/requests", in, &r); err != nil {
			return err
		}
		return s.result(r, func(w writer) { printRequest(w, r) })
	})
}

func loanDeclineCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "decline", Usage: "decline a loan request", ArgsUsage: "REQUEST", Flags: []cli.Flag{
		&cli.StringFlag{Name: "reason", Usage: "one line for the borrower: what would have to be different"}},
		Action: func(c *cli.Context) error {
			a, err := args(c, "REQUEST")
			if err != nil {
				return err
			}
			if err := need(c, "reason"); err != nil {
				return err
			}
			return with(c, func(ctx context.Context, k *caller) error {
				var r httpapi.LoanRequestInfo
				if err := k.call(ctx, "POST", "/api/v1/loans/requests/"+url.PathEscape(a[0])+"/decline", httpapi.LoanDecline{Reason: c.String("reason")}, &r); err != nil {
					return err
				}
				return s.result(r, func(w writer) { printRequest(w, r) })
			})
		}}
}

// printRequest says what is asked, by whom, and what this side knows of the other.
func printRequest(w writer, r httpapi.LoanRequestInfo) {
	if r.ID != "" {
		fmt.Fprintf(w, "request   %s  %s\n", r.ID, requestState(r))
	}
	fmt.Fprintf(w, "borrower  %s of %s\nlender    %s of %s\n", r.Borrower, orgWord(r.BorrowerOrg), r.Lender, orgWord(r.LenderOrg))
	if r.For != "" {
		fmt.Fprintf(w, "for       %s, as a part of %s\n", r.For, r.Parent)
	}
	scope := r.Scope
	if scope == "" {
		scope = "left to the lender"
	}
	fmt.Fprintf(w, "purpose   %s\nscope     %s\nasks      %s until %s, to %s\n", r.Purpose, scope, count(r.MaxReads, "read"), r.ExpiresAt, strings.Join(r.Patterns, ", "))
	if m := r.CostCap; m != nil {
		fmt.Fprintf(w, "pays      at most %s of %s\n", m.Amount, m.Asset)
	}
	if r.Beyond {
		fmt.Fprintln(w, "beyond    its scope goes beyond every discovery that was opened to this borrower")
	}
	if r.Round > 1 {
		fmt.Fprintf(w, "round     %d, in reply to %s\n", r.Round, r.InReplyTo)
	}
	if r.Replied != "" {
		fmt.Fprintf(w, "countered by %s\n", r.Replied)
	}
	printOther(w, r)
	printNext(w, r)
}

func requestState(r httpapi.LoanRequestInfo) string {
	switch {
	case !r.Heard:
		return r.State + ", unanswered: whether it arrived is not known"
	case r.State == "requested":
		return "requested, lapses " + r.Until
	case r.State == "declined":
		return "declined: " + r.Reason
	}
	return r.State
}

func printOther(w writer, r httpapi.LoanRequestInfo) {
	who := map[string]string{"lender": "the borrower", "borrower": "the lender"}[r.Role]
	o := r.Other
	switch {
	case o.Trust != nil:
		fmt.Fprintf(w, "trust     %s has %d of 1000, tier %s, %s lost\n", who, o.Trust.Composite, o.Trust.Tier, count(uint64(o.Trust.Disputes), "dispute"))
	case o.NoTrust != "":
		fmt.Fprintf(w, "trust     no score of %s: %s\n", who, o.NoTrust)
	}
	if o.Loans == 0 {
		fmt.Fprintf(w, "past      no loan with the organization of %s yet\n", who)
		return
	}
	fmt.Fprintf(w, "past      %s with its organization, %d valid, %d revoked, %s", count(o.Loans, "loan"), o.Valid, o.Revoked, count(o.Reads, "read"))
	if o.Broken > 0 {
		fmt.Fprintf(w, "; under %d of them it did what it may not", o.Broken)
	}
	fmt.Fprintln(w)
}

// printNext says what can be done now.
func printNext(w writer, r httpapi.LoanRequestInfo) {
	switch {
	case r.Permission != "":
		fmt.Fprintf(w, "loan      %s\n", r.Permission)
	case r.State != "requested":
	case r.Role == "lender":
		fmt.Fprintf(w, "next      trustnode loan issue --request %s (narrower with --scope, --max-reads, --expires; look first with --preview)\n          trustnode loan decline %s --reason TEXT\n", r.ID, r.ID)
	default:
		fmt.Fprintf(w, "next      trustnode loan show %s asks the lender how it stands\n", r.ID)
	}
}

func printRequests(w writer, l httpapi.LoanRequests) {
	for _, r := range l.Requests {
		state := r.State
		if !r.Heard {
			state = "unanswered"
		}
		scope := r.Scope
		if scope == "" {
			scope = "(scope left to the lender)"
		}
		fmt.Fprintf(w, "%s  %-9s %-10s %d reads  %s  %s\n", r.ID, r.Role, state, r.MaxReads, scope, oneLine(r.Purpose))
	}
	if len(l.Requests) == 0 {
		fmt.Fprintln(w, "no loan requests")
	}
}
