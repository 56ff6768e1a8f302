package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/client"
	"trustnode/node/fault"
	"trustnode/node/lender"
)

var loanList = tool{
	name: "loan_list", title: "List own loans and requests", reads: true, abroad: true,
	about: "List the loans to you and by you: what may be read, for what, until when, and what is left; and what came of your requests.",
	in:    []field{{name: "state", shape: text, most: 32, about: "one state alone: of a loan valid, not_yet, revoked, expired, exhausted, budget_exhausted, lapsed or stale; of a request requested, declined, issued or lapsed"}},
	call:  (*Services).list,
}

// loan is a permission of which the agent is a side.
type loan struct {
	Permission string `json:"permission"`
	Role       string `json:"role"` // borrower or lender
	Lender     string `json:"lender"`
	Borrower   string `json:"borrower"`
	Scope      string `json:"scope,omitempty"`
	Purpose    string `json:"purpose,omitempty"`
	ExpiresAt  string `json:"expires_at"`
	MaxReads   uint64 `json:"max_reads"`
	Reads      uint64 `json:"reads"`
	Left       uint64 `json:"left"`
	State      string `json:"state"`
	expires    time.Time
}

var states = []lending.PermState{lending.Valid, lending.NotYet, lending.Revoked, lending.Expired, lending.Exhausted, lending.BudgetExhausted, lending.Lapsed, lending.Stale}

var askStates = []lending.AskState{lending.AskRequested, lending.AskDeclined, lending.AskIssued, lending.AskLapsed}

func (s *Services) list(ctx context.Context, who caller, a args) (*mcp.CallToolResult, error) {
	state := a.text("state")
	if state != "" && !slices.Contains(states, lending.PermState(state)) && !slices.Contains(askStates, lending.AskState(state)) {
		return nil, fault.New(fault.Invalid, "state", "%.40q is no state of a loan or request", state).WithHint("leave it out to see all")
	}
	all, err := s.loansOf(ctx, who)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(l loan) bool { return state != "" && l.State != state })
	slices.SortStableFunc(all, func(a, b loan) int { return b.expires.Compare(a.expires) })
	requests, err := s.requestsOf(ctx, who)
	if err != nil {
		return nil, err
	}
	requests = slices.DeleteFunc(requests, func(r asking) bool { return state != "" && r.State != state })
	out := struct {
		Loans    []loan   `json:"loans"`
		Requests []asking `json:"requests"`
		More     bool     `json:"more,omitempty"`
	}{all[:min(len(all), maxListed)], requests, len(all) > maxListed}
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n", count(len(all), "loan", "loans"))
	for _, l := range out.Loans {
		what := "lent to you by " + l.Lender
		if l.Role == "lender" {
			what = "lent by you to " + l.Borrower
		}
		fmt.Fprintf(&b, "%s: %s, %s until %s, %d of %d reads left", l.Permission, what, l.State, l.ExpiresAt, l.Left, l.MaxReads)
		if l.Scope != "" {
			fmt.Fprintf(&b, "; scope %q, for %q", clean(l.Scope), clean(l.Purpose))
		}
		b.WriteString("\n")
	}
	for _, r := range requests {
		b.WriteString(r.words())
	}
	return answer(out, b.String()), nil
}

// loansOf are the loans of which an agent is a side; those of others do not show.
func (s *Services) loansOf(ctx context.Context, who caller) ([]loan, error) {
	out := []loan{}
	taken, err := s.Client.Loans(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range taken {
		if l.Borrower == who.agent.Agent {
			out = append(out, borrowed(l))
		}
	}
	given, err := s.Lender.Loans(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range given {
		if l.Permission.Lender == who.agent.Agent {
			out = append(out, lent(l))
		}
	}
	return out, nil
}

func borrowed(l client.Loan) loan {
	out := loan{Permission: l.ID.String(), Role: "borrower", Lender: l.Lender.String(), Borrower: l.Borrower.String(), ExpiresAt: envelope.TimeOf(l.ExpiresAt).String(),
		MaxReads: l.MaxReads, Reads: l.Reads, Left: l.Left, State: string(l.State), expires: l.ExpiresAt}
	if p := l.Permission; p != nil {
		out.Scope, out.Purpose = p.Scope.String(), p.Purpose
	}
	return out
}

func lent(l lender.Loan) loan {
	p := l.Permission
	return loan{Permission: l.ID.String(), Role: "lender", Lender: p.Lender.String(), Borrower: p.Borrower.String(), Scope: p.Scope.String(), Purpose: p.Purpose,
		ExpiresAt: p.ExpiresAt.String(), MaxReads: p.MaxReads, Reads: l.Reads, Left: l.Left, State: string(l.State), expires: p.ExpiresAt.Time()}
}

var permissionField = field{name: "permission", shape: text, need: true, most: 8192, about: "id of the permission, as loan_list tells it, or its compact form"}

var loanStatus = tool{
	name: "loan_status", title: "Ask how a loan stands", reads: true, abroad: true,
	about: "Ask the lender how a loan to you stands now. It counts no read. Where the lender does not confirm it, access has ended for now.",
	in:    []field{permissionField},
	call:  (*Services).status,
}

// standing is how a loan stands.
type standing struct {
	Permission string `json:"permission"`
	State      string `json:"state"`
	Left       uint64 `json:"left"`
	Verified   bool   `json:"verified"`
	At         string `json:"at,omitempty"`
	Receipt    string `json:"receipt,omitempty"`
	Hint       string `json:"hint,omitempty"`
}

func (s *Services) status(ctx context.Context, who caller, a args) (*mcp.CallToolResult, error) {
	st, err := s.Client.Status(ctx, who.agent.Agent.String(), a.text("permission"))
	if err != nil {
		return nil, err
	}
	out := standing{Permission: st.Perm.String(), State: string(st.State), Left: st.Left, Verified: st.Verified, Receipt: st.Receipt}
	if !st.Verified {
		out.Hint = client.SilenceHint
		return answer(out, fmt.Sprintf("%s: %s, not verified. %s.", out.Permission, out.State, out.Hint)), nil
	}
	out.At = envelope.TimeOf(st.At).String()
	return answer(out, fmt.Sprintf("%s: the lender signed at %s that it is %s, %d reads left.", out.Permission, out.At, out.State, out.Left)), nil
}

var loanReceipts = tool{
	name: "loan_receipts", title: "Show receipts of own reads", reads: true,
	about: "Show what the lender signed for each of your reads under a permission: proof of what was read, and when.",
	in: []field{permissionField,
		{name: "from_seq", shape: number, most: 1 << 53 / 2, about: "number of the first read to show; 1 if left out"}},
	call: (*Services).receipts,
}

// receipt is one read and its proof.
type receipt struct {
	Seq     uint64 `json:"seq"`
	Receipt string `json:"receipt"`
	Request string `json:"request"`
	Hash    string `json:"hash"`
	At      string `json:"at"`
	Compact string `json:"compact,omitempty"`
}

func (s *Services) receipts(ctx context.Context, who caller, a args) (*mcp.CallToolResult, error) {
	pairs, err := s.Client.SignedReceipts(ctx, who.agent.Agent, a.text("permission"), a.number("from_seq"))
	if err != nil {
		return nil, err
	}
	out := struct {
		Receipts []receipt `json:"receipts"`
		Next     uint64    `json:"next_seq,omitempty"`
	}{Receipts: []receipt{}}
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n", count(len(pairs), "receipt", "receipts"))
	for _, p := range pairs {
		r := receipt{Seq: p.Seq, Receipt: p.Receipt.String(), Request: p.Request.String(), Hash: p.Hash.String(), At: envelope.TimeOf(p.At).String(), Compact: p.Compact}
		out.Receipts = append(out.Receipts, r)
		fmt.Fprintf(&b, "read %d at %s: receipt %s, content hash %s\n", r.Seq, r.At, r.Receipt, r.Hash)
	}
	if len(pairs) == client.MaxReceipts {
		out.Next = pairs[len(pairs)-1].Seq + 1
		fmt.Fprintf(&b, "there may be more: from_seq %d\n", out.Next)
	}
	return answer(out, b.String()), nil
}
