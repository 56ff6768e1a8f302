package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"trustnode/did/strictjson"
	"trustnode/federation/lending"
	"trustnode/node/client"
)

var loanRead = tool{
	name: "loan_read", title: "Read what is lent", reads: true, abroad: true, lent: true,
	about: "Read entries of another organization's live memory under a permission of yours. Each answer counts as one read, names your purpose to the lender, and brings a receipt that the lender signed.",
	in: []field{permissionField,
		{name: "purpose", shape: text, need: true, most: lending.MaxPurpose, about: "what you read it for, one line; the lender sees and keeps it"},
		{name: "filter", shape: text, most: 2048, about: "a narrower scope within that of the permission, e.g. tag:terminal:north age<7d"},
		{name: "query", shape: text, most: lending.MaxQuery, about: "words by which the matches are ordered; such an answer has no cursor"},
		{name: "limit", shape: number, most: lending.MaxLimit, about: "how many entries, 1 to 100; 20 if left out"},
		{name: "cursor", shape: text, most: 512, about: "cursor of the answer before; each page is a read of its own"}},
	call: (*Services).read,
}

// lentEntries are what a read brought.
type lentEntries struct {
	Permission string `json:"permission"`
	Entries    []raw  `json:"entries"`
	Receipt    string `json:"receipt"`
	Hash       string `json:"hash"`
	Seq        uint64 `json:"seq"`
	Left       uint64 `json:"left"`
	State      string `json:"state"`
	At         string `json:"at"`
	Cursor     string `json:"cursor,omitempty"`
}

// read reads as the calling agent. That it did is noted before anything is handed out: what
// the agent writes next may be what it read.
func (s *Services) read(ctx context.Context, who caller, a args) (*mcp.CallToolResult, error) {
	r, err := s.Client.Read(ctx, client.ReadInput{As: who.agent.Agent.String(), Perm: a.text("permission"), Purpose: a.text("purpose"),
		Filter: a.text("filter"), Query: a.text("query"), Limit: int(a.number("limit")), Cursor: a.text("cursor")})
	if err != nil {
		return nil, err
	}
	if err := s.Tokens.MarkLent(ctx, who.token, r.Perm, r.ReceiptID, r.ExpiresAt); err != nil {
		return nil, err
	}
	at, err := s.Node.Clock.Now()
	if err != nil {
		return nil, err
	}
	b := r.Receipt
	out := lentEntries{Permission: r.Perm.String(), Entries: []raw{}, Receipt: r.ReceiptID.String(), Hash: b.Hash.String(), Seq: b.Seq, Left: b.Left,
		State: string(b.State), At: b.At.String(), Cursor: r.Cursor}
	var text strings.Builder
	fmt.Fprintf(&text, "%s lent by %s under %s; read %d, %d left; receipt %s.", count(len(r.Entries), "entry", "entries"), b.Lender, out.Permission, b.Seq, b.Left, out.Receipt)
	if len(r.Entries) > 0 {
		text.WriteString(" " + sourceNote + "\n")
	}
	for i, view := range r.Entries {
		doc, err := strictjson.Parse(view, maxDepth)
		if err != nil {
			return nil, err
		}
		entryText(&text, i+1, doc, at)
		out.Entries = append(out.Entries, view)
	}
	if r.Cursor != "" {
		fmt.Fprintf(&text, "\nmore: cursor %s\n", r.Cursor)
	}
	return answer(out, text.String()), nil
}
