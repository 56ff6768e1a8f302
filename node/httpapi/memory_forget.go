package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/node/lender"
)

// MemoryForget asks to forget entries: by id, of a subject, or with all of some tags.
type MemoryForget struct {
	Project string   `json:"project,omitempty" doc:"required but for a subject, who is forgotten everywhere without it"`
	IDs     []string `json:"ids,omitempty"`
	Subject string   `json:"subject,omitempty" doc:"natural name or pseudonym"`
	Tags    []string `json:"tags,omitempty" doc:"entries that carry all of them, whatever their state"`
	Unlink  bool     `json:"unlink,omitempty" doc:"the natural name of the subject too"`
}

// Forgotten is the result of forgetting.
type Forgotten struct {
	Erased   int      `json:"erased" doc:"entries, with all their revisions"`
	Absent   []string `json:"absent,omitempty" doc:"ids that the project does not have"`
	Projects []string `json:"projects,omitempty" doc:"in which something was erased"`
	Unlinked bool     `json:"unlinked,omitempty" doc:"the name of the subject is gone"`
	Subject  string   `json:"subject,omitempty" doc:"pseudonym of the subject"`
	Backups  []string `json:"backups,omitempty" doc:"when backups were asked of this running node that may still hold it; the newest 100"`
}

func (s *server) memoryForget(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/memory/forget", "memoryForget", "Forget entries for good", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body MemoryForget }) (*struct{ Body Forgotten }, error) {
			b := in.Body
			r, err := s.Lender.Forget(ctx, lender.ForgetInput{Project: b.Project, IDs: b.IDs, Subject: b.Subject, Tags: b.Tags, Unlink: b.Unlink})
			if err != nil {
				return nil, s.refuse(err)
			}
			out := Forgotten{Erased: r.Erased, Absent: r.Absent, Projects: r.Projects, Unlinked: r.Unlinked, Subject: r.Subject}
			for _, at := range r.Backups {
				out.Backups = append(out.Backups, stamp(at))
			}
			return &struct{ Body Forgotten }{out}, nil
		})
	})
}
