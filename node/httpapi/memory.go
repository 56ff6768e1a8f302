package httpapi

import (
	"context"
	"io"
	"maps"
	"net/http"
	"slices"

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
	s.route(api, http.MethodPost, "/api/v1/memory/imports", "memoryImport", "Import a memory file as it is streamed", http.StatusOK, func(op huma.Operation) {
		op.MaxBodyBytes, op.BodyReadTimeout = -1, -1 // read as it comes, under the importer's own caps
		huma.Register(api, op, s.importFile)
	})
}

// importIn reads the file from the connection, never whole into memory.
type importIn struct {
	Agent   string `query:"agent" required:"true"`
	Project string `query:"project"`
	Format  string `query:"format"`
	file    io.Reader
}

// Resolve implements huma.Resolver.
func (in *importIn) Resolve(ctx huma.Context) []error {
	in.file = ctx.BodyReader()
	return nil
}

func (s *server) importFile(ctx context.Context, in *importIn) (*struct{ Body Imported }, error) {
	r, err := s.Lender.Import(ctx, lender.ImportInput{Agent: in.Agent, Project: in.Project, Format: in.Format, File: in.file})
	if err != nil {
		return nil, s.refuse(err)
	}
	out := Imported{Imported: r.Imported, Known: r.Repeated, Rejected: []Rejected{}, Tags: []TagCount{}}
	for _, x := range r.Rejected {
		out.Rejected = append(out.Rejected, Rejected{Line: x.Line, Reason: x.Reason, Detail: x.Detail})
	}
	for _, tag := range slices.Sorted(maps.Keys(r.Tags)) {
		out.Tags = append(out.Tags, TagCount{Tag: tag, N: r.Tags[tag]})
	}
	return &struct{ Body Imported }{out}, nil
}
