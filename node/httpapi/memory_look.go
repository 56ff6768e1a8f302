package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/node/lender"
)

// Looked is what an own agent may see of its project.
type Looked struct {
	Entries  []Entry `json:"entries"`
	Total    int     `json:"total" doc:"matches that it may see"`
	Withheld int     `json:"withheld" doc:"matches of class personal or regulated that another wrote: those are for a loan"`
}

// EntryShown is one entry with the names of its subjects.
type EntryShown struct {
	Entry
	Named []NamedSubject `json:"named,omitempty"`
	View  string         `json:"view,omitempty" doc:"the revision asked for, as a borrower got it: RFC 8785 bytes"`
}

// NamedSubject is a pseudonym and whom it stands for.
type NamedSubject struct {
	Subject string `json:"subject"`
	Name    string `json:"name,omitempty" doc:"absent where it was unlinked"`
}

// MemoryStats are the numbers of a project.
type MemoryStats struct {
	Project string         `json:"project"`
	States  map[string]int `json:"states"`
	Classes map[string]int `json:"classes" doc:"active entries by class"`
	Tags    []TagCount     `json:"tags" doc:"of active entries, the most used first, at most 100"`
	More    int            `json:"more,omitempty" doc:"tags beyond those"`
	Review  int            `json:"review" doc:"entries to be looked at again, counted up to 1000"`
	Held    bool           `json:"held,omitempty" doc:"derived entries match nothing while a raised class goes through"`
}

func (s *server) memoryLook(api huma.API) {
	s.route(api, http.MethodGet, "/api/v1/memory/search", "memorySearch", "What an own agent may read of its project", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			As    string `query:"as" required:"true" doc:"own agent, by name or DID"`
			Scope string `query:"scope" required:"true"`
			Query string `query:"query" doc:"orders the matches"`
			Limit int    `query:"limit" minimum:"0" maximum:"100"`
		}) (*struct{ Body Looked }, error) {
			l, err := s.Lender.Look(ctx, lender.LookInput{As: in.As, Scope: in.Scope, Query: in.Query, Limit: in.Limit})
			if err != nil {
				return nil, s.refuse(err)
			}
			out := Looked{Entries: []Entry{}, Total: l.Total, Withheld: l.Withheld}
			for _, e := range l.Entries {
				out.Entries = append(out.Entries, entryOf(e))
			}
			return &struct{ Body Looked }{out}, nil
		})
	})
	s.route(api, http.MethodGet, "/api/v1/memory/entries/{id}", "memoryShow", "One entry, ID or ID@REVISION", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			ID      string `path:"id" maxLength:"64"`
			Project string `query:"project"`
		}) (*struct{ Body EntryShown }, error) {
			e, err := s.Lender.Show(ctx, in.Project, in.ID)
			if err != nil {
				return nil, s.refuse(err)
			}
			out := EntryShown{Entry: entryOf(e.Entry), View: string(e.View)}
			for _, n := range e.Subjects {
				out.Named = append(out.Named, NamedSubject{n.Pseudonym, n.Name})
			}
			return &struct{ Body EntryShown }{out}, nil
		})
	})
	s.route(api, http.MethodGet, "/api/v1/memory/stats", "memoryStats", "What a project's memory holds, in numbers", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			Project string `query:"project"`
		}) (*struct{ Body MemoryStats }, error) {
			n, err := s.Lender.Stats(ctx, in.Project)
			if err != nil {
				return nil, s.refuse(err)
			}
			out := MemoryStats{Project: in.Project, States: n.States, Classes: n.Classes, Tags: []TagCount{}, More: n.More, Review: n.Review, Held: n.Held}
			for _, t := range n.Tags {
				out.Tags = append(out.Tags, TagCount{Tag: t.Tag, N: t.N})
			}
			return &struct{ Body MemoryStats }{out}, nil
		})
	})
}
