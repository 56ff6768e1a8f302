package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"trustnode/federation/lending"
	"trustnode/node/client"
)

var loanDiscover = tool{
	name: "loan_discover", title: "See which tags are lent", reads: true, abroad: true, lent: true,
	about: "See which tags the entries have that a permission of yours with pattern discover covers, to know what to ask for. It counts as one read and names your purpose to the lender.",
	in: []field{permissionField,
		{name: "purpose", shape: text, need: true, most: lending.MaxPurpose, about: "what you look for, one line; the lender sees and keeps it"},
		{name: "filter", shape: text, most: 2048, about: "a narrower scope within that of the permission"}},
	call: (*Services).discover,
}

// discovered are the tags of a discovery.
type discovered struct {
	Permission string   `json:"permission"`
	Tags       []string `json:"tags"`
	Withheld   bool     `json:"withheld"` // some are left out: too few entries have them
	Receipt    string   `json:"receipt"`
	Left       uint64   `json:"left"`
	State      string   `json:"state"`
}

func (s *Services) discover(ctx context.Context, who caller, a args) (*mcp.CallToolResult, error) {
	d, err := s.Client.Discover(ctx, client.DiscoverInput{As: who.agent.Agent.String(), Perm: a.text("permission"), Purpose: a.text("purpose"), Filter: a.text("filter")})
	if err != nil {
		return nil, err
	}
	if err := s.Tokens.MarkLent(ctx, who.token, d.Perm, d.ReceiptID, d.ExpiresAt); err != nil {
		return nil, err
	}
	out := discovered{Permission: d.Perm.String(), Tags: append([]string{}, d.Tags...), Withheld: d.Withheld, Receipt: d.ReceiptID.String(), Left: d.Receipt.Left, State: string(d.Receipt.State)}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d reads left; receipt %s\n", count(len(d.Tags), "tag", "tags"), out.Left, out.Receipt)
	for _, t := range d.Tags {
		b.WriteString("> " + clean(t) + "\n")
	}
	if d.Withheld {
		b.WriteString("more are left out, since few entries have them\n")
	}
	return answer(out, b.String()), nil
}
