package httpapi

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/node/fault"
	"trustnode/node/lender"
	"trustnode/node/memory"
)

// importStall is how long an import waits for more of its file.
const importStall = time.Minute

func (s *server) memoryImport(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/memory/imports", "memoryImport", "Import a memory file as it is streamed", http.StatusOK, func(op huma.Operation) {
		op.MaxBodyBytes, op.BodyReadTimeout = -1, -1 // read as it comes, under the importer's own caps and importStall
		huma.Register(api, op, s.importFile)
	})
}

// importIn reads the file from the connection, never whole into memory.
type importIn struct {
	Agent    string   `query:"agent" required:"true"`
	Project  string   `query:"project"`
	Format   string   `query:"format" doc:"auto, mcp, openmemory, mem0, letta, graphiti, langgraph or jsonl"`
	DryRun   bool     `query:"dry_run" doc:"report and write nothing"`
	Messages bool     `query:"messages" doc:"of an agent file, its messages too"`
	Map      []string `query:"map,explode" doc:"group=project, for each group of the file's"`
	file     io.Reader
}

// Resolve implements huma.Resolver.
func (in *importIn) Resolve(ctx huma.Context) []error {
	in.file = stalling{ctx.BodyReader(), ctx.SetReadDeadline}
	return nil
}

// stalling gives up on a body of which nothing comes, where the connection can.
type stalling struct {
	r     io.Reader
	until func(time.Time) error
}

func (s stalling) Read(p []byte) (int, error) {
	if err := s.until(time.Now().Add(importStall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return s.r.Read(p)
}

func (s *server) importFile(ctx context.Context, in *importIn) (*struct{ Body Imported }, error) {
	groups, err := groupsOf(in.Map)
	if err != nil {
		return nil, s.refuse(err)
	}
	r, err := s.Lender.Import(ctx, lender.ImportInput{
		Agent: in.Agent, Project: in.Project, Format: in.Format, File: in.file, DryRun: in.DryRun, Messages: in.Messages, Groups: groups,
	})
	if err != nil {
		return nil, s.refuse(err)
	}
	out := importedOf(r)
	out.DryRun = in.DryRun
	return &struct{ Body Imported }{out}, nil
}

// groupsOf reads "group=project"; a group may hold "=", a project cannot.
func groupsOf(list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, m := range list {
		i := strings.LastIndexByte(m, '=')
		if i <= 0 || i == len(m)-1 || out[m[:i]] != "" {
			return nil, fault.New(fault.Invalid, "map", "%.80q is no group=project, or names a group again", m).WithHint("--map GROUP=PROJECT, once for each group")
		}
		out[m[:i]] = m[i+1:]
	}
	return out, nil
}

func importedOf(r memory.Report) Imported {
	out := Imported{Imported: r.Imported, Known: r.Repeated, Rejected: []Rejected{}, Reasons: counted(r.Reasons), Left: counted(r.Left), Tags: []TagCount{}}
	for _, x := range r.Rejected {
		out.Rejected = append(out.Rejected, Rejected{Line: x.Line, Item: x.Item, Reason: x.Reason, Detail: x.Detail})
	}
	for _, tag := range slices.Sorted(maps.Keys(r.Tags)) {
		out.Tags = append(out.Tags, TagCount{Tag: tag, N: r.Tags[tag]})
	}
	return out
}

func counted(of map[string]int) []Counted {
	out := []Counted{}
	for _, what := range slices.Sorted(maps.Keys(of)) {
		out = append(out, Counted{what, of[what]})
	}
	return out
}
