package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/node/lender"
)

// memory are the operator's routes about its own entries.
func (s *server) memory(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/memory", "memoryAdd", "Add one entry", http.StatusCreated, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body MemoryAdd }) (*struct{ Body Entry }, error) {
			add, err := addInput(in.Body)
			if err != nil {
				return nil, s.refuse(err)
			}
			e, err := s.Lender.AddEntry(ctx, add)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body Entry }{entryOf(e)}, nil
		})
	})
	s.route(api, http.MethodGet, "/api/v1/memory", "memoryList", "List entries, newest first", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			Project string `query:"project"`
			Limit   int    `query:"limit" minimum:"0"`
			State   string `query:"state" doc:"active, quarantined or superseded; by default the first two"`
			Tag     string `query:"tag" doc:"of active entries"`
			Review  bool   `query:"review" doc:"only what was to be looked at again by now"`
		}) (*struct{ Body Entries }, error) {
			l, err := s.Lender.Entries(ctx, lender.ListInput{Project: in.Project, Limit: in.Limit, State: in.State, Tag: in.Tag, Review: in.Review})
			if err != nil {
				return nil, s.refuse(err)
			}
			out := Entries{Entries: []Entry{}, Total: l.Total}
			for _, e := range l.Entries {
				out.Entries = append(out.Entries, entryOf(e))
			}
			return &struct{ Body Entries }{out}, nil
		})
	})
	s.route(api, http.MethodPost, "/api/v1/memory/tags", "memoryTag", "Change tags, release from quarantine", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body MemoryTag }) (*struct{ Body Tagged }, error) {
			b := in.Body
			t, err := s.Lender.Tag(ctx, lender.TagInput{Project: b.Project, IDs: b.IDs, All: b.All, Add: b.Add, Remove: b.Remove, Release: b.Release,
				Quarantine: b.Quarantine, AddSubjects: b.AddSubjects, RemoveSubjects: b.RemoveSubjects})
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body Tagged }{Tagged{Changed: t.Changed, Released: t.Released}}, nil
		})
	})
	s.memoryImport(api)
}
