package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"trustnode/did/strictjson"
	"trustnode/federation/lending"
	"trustnode/node/lender"
	"trustnode/node/memory"
)

const scopeText = "what to find, e.g. tag:client:acme -tag:draft age<90d; terms must all hold"

var memorySearch = tool{
	name: "memory_search", title: "Search own memory", reads: true,
	about: "Find entries in the memory of your own project. Entries of class personal or regulated that another wrote are only counted.",
	in: []field{
		{name: "scope", shape: text, most: 2048, about: scopeText + "; without it the newest entries"},
		{name: "query", shape: text, most: lending.MaxQuery, about: "words by which the matches are ordered; without them the newest come first"},
		{name: "limit", shape: number, most: memory.MaxLimit, about: "how many entries, 1 to 100; 20 if left out"}},
	call: (*Services).search,
}

// found are entries as programs read them.
type found struct {
	Entries  []raw  `json:"entries"`
	Withheld int    `json:"withheld,omitempty"`
	Hint     string `json:"hint,omitempty"`
}

func (s *Services) search(ctx context.Context, who caller, a args) (*mcp.CallToolResult, error) {
	r, err := s.Lender.Search(ctx, who.agent.Agent, lender.SearchInput{Scope: a.text("scope"), Query: a.text("query"), Limit: int(a.number("limit"))})
	if err != nil {
		return nil, err
	}
	at, err := s.Node.Clock.Now()
	if err != nil {
		return nil, err
	}
	out := found{Entries: []raw{}, Withheld: r.Withheld}
	var b strings.Builder
	fmt.Fprintf(&b, "%s.", count(len(r.Entries), "entry", "entries"))
	if r.Withheld > 0 {
		out.Hint = "entries of class personal or regulated are read by a loan: ask their owner for one"
		fmt.Fprintf(&b, " %d more are personal or regulated and were written by another; %s.", r.Withheld, out.Hint)
	}
	if len(r.Entries) > 0 {
		b.WriteString(" " + sourceNote + "\n")
	}
	for i, e := range r.Entries {
		view := e.View()
		doc, err := strictjson.Parse(view, maxDepth)
		if err != nil {
			return nil, err
		}
		entryText(&b, i+1, doc, at)
		out.Entries = append(out.Entries, view)
	}
	return answer(out, b.String()), nil
}

var memoryAdd = tool{
	name: "memory_add", title: "Add to own memory",
	about: "Keep one statement in the memory of your own project. How far it is trusted is decided by where it comes from: what you write after reading a loan counts as lent unless you name another source.",
	in: []field{
		{name: "statement", shape: text, need: true, most: memory.MaxStatement, about: "what to keep, in plain sentences"},
		{name: "kind", shape: text, most: 32, about: "observation (default), belief, preference, result, decision_note, goal, task or instruction"},
		{name: "tags", shape: texts, most: memory.MaxTags, about: "up to 31 words such as client:acme; class: and origin: are the operator's"},
		{name: "subjects", shape: texts, most: memory.MaxSubjects, about: "names of persons it is about; they are kept apart from it, as pseudonyms"},
		{name: "source_id", shape: text, most: maxItem, about: "id of the entry of this project, or of the receipt of your read, that it comes from"},
		{name: "derived_from", shape: texts, most: memory.MaxParents, about: "ids of the entries of this project that it sums up"},
		{name: "review_after", shape: text, most: 32, about: "from this time on it is to be checked before it is relied on, e.g. 2026-12-01T10:00:00Z"},
		{name: "expires_at", shape: text, most: 32, about: "from this time on it is forgotten"},
		{name: "authorization_reference", shape: text, most: maxItem, about: "id of an approval it belongs to; it grants nothing"}},
	call: (*Services).add,
}

// added is an entry that was taken in.
type added struct {
	ID        string `json:"id"`
	Trust     string `json:"trust"`
	Source    string `json:"source"`
	State     string `json:"state"`
	ExpiresAt string `json:"expires_at,omitempty"`
}

func (s *Services) add(ctx context.Context, who caller, a args) (*mcp.CallToolResult, error) {
	in := lender.RememberInput{Statement: a.text("statement"), Kind: a.text("kind"), Tags: a.texts("tags"), SourceID: a.text("source_id"),
		DerivedFrom: a.texts("derived_from"), Subjects: a.texts("subjects"), Authorization: a.text("authorization_reference")}
	var err error
	if in.ReviewAfter, err = a.time("review_after"); err != nil {
		return nil, err
	}
	if in.ExpiresAt, err = a.time("expires_at"); err != nil {
		return nil, err
	}
	lent, err := s.Tokens.LentBy(ctx, who.token, who.session)
	if err != nil {
		return nil, err
	}
	if lent != nil {
		in.Lent = &lender.Lent{Receipt: lent.Receipt, Perm: lent.Perm, Ends: lent.Ends.Time()}
	}
	e, err := s.Lender.Remember(ctx, who.agent.Agent, in)
	if err != nil {
		return nil, err
	}
	out := added{ID: e.ID, Trust: e.Trust.String(), Source: e.Source.Type.String(), State: e.State.String()}
	text := fmt.Sprintf("kept as %s, trust %s, source %s", out.ID, out.Trust, out.Source)
	if !e.ExpiresAt.IsZero() {
		out.ExpiresAt = e.ExpiresAt.UTC().Format(stampLayout)
		text += ", until " + out.ExpiresAt
	}
	if e.State != memory.Active {
		text += "; it is " + out.State + " until the operator releases it"
	}
	return answer(out, text), nil
}

const stampLayout = "2006-01-02T15:04:05Z"

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
