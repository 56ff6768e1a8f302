package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/node/lender"
	"trustnode/node/memory"
)

// memory are the operator's routes about its own entries.
func (s *server) memory(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/memory", "memoryAdd", "Add one entry", http.StatusCreated, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body MemoryAdd }) (*struct{ Body Entry }, error) {
			b := in.Body
			e, err := s.Lender.AddEntry(ctx, lender.AddInput{Agent: b.Agent, Project: b.Project, Statement: b.Statement, Kind: b.Kind, Tags: b.Tags})
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
		}) (*struct{ Body Entries }, error) {
			l, err := s.Lender.Entries(ctx, lender.ListInput{Project: in.Project, Limit: in.Limit})
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
			t, err := s.Lender.Tag(ctx, lender.TagInput{Project: b.Project, IDs: b.IDs, All: b.All, Add: b.Add, Remove: b.Remove, Release: b.Release})
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body Tagged }{Tagged{Changed: t.Changed, Released: t.Released}}, nil
		})
	})
	s.memoryImport(api)
}

func entryOf(e memory.Entry) Entry {
	return Entry{ID: e.ID, Rev: e.Rev, Project: e.Place.Project(), Category: e.Kind.Category(), Kind: e.Kind.String(), Statement: e.Statement, Tags: e.Tags,
		Trust: e.Trust.String(), State: e.State.String(), Created: stamp(e.Created)}
}
