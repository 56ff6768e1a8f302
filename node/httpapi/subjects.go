package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/node/lender"
)

// SubjectRevoke asks to take a person's entries out of every scope.
type SubjectRevoke struct {
	Reason string `json:"reason,omitempty" doc:"data_subject (where it is left out), policy, mistake or other"`
}

// SubjectRevoked says what that did.
type SubjectRevoked struct {
	Subject string   `json:"subject" doc:"pseudonym"`
	At      string   `json:"at"`
	Entries int      `json:"entries" doc:"entries that carry the subject now"`
	Before  bool     `json:"before" doc:"it was revoked before, and nothing changed"`
	Backups []string `json:"backups,omitempty" doc:"when backups were asked of this running node before, which do not know of it; the newest 100"`
}

// Readers is everyone who ever read of one person, or one entry.
type Readers struct {
	Subject string       `json:"subject,omitempty" doc:"pseudonym"`
	Entry   string       `json:"entry,omitempty"`
	Entries int          `json:"entries,omitempty" doc:"entries that carry the subject now"`
	Readers []ReaderInfo `json:"readers"`
	Waiting bool         `json:"waiting,omitempty" doc:"reads of the last moment may be missing: the log does not take what is decided"`
}

// ReaderInfo is a permission under which it was read.
type ReaderInfo struct {
	Permission string `json:"permission"`
	Borrower   string `json:"borrower"`
	Org        string `json:"org" doc:"the borrower's organization"`
	Purpose    string `json:"purpose" doc:"as granted"`
	First      string `json:"first"`
	Last       string `json:"last"`
	Count      uint64 `json:"count" doc:"granted answers that held it"`
}

// subjects are the operator's routes about data subjects and who read of them.
func (s *server) subjects(api huma.API) {
	s.route(api, http.MethodGet, "/api/v1/subjects/{subject}/readers", "subjectReaders", "Everyone who ever read an entry of a person, also after erasure", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *SubjectPath) (*struct{ Body Readers }, error) {
			r, err := s.Lender.Readers(ctx, in.Subject)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body Readers }{readersOf(r)}, nil
		})
	})
	s.route(api, http.MethodPost, "/api/v1/subjects/{subject}/revoke", "subjectRevoke", "Take every entry of a person out of every scope, at once and for good", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			SubjectPath
			Body SubjectRevoke
		}) (*struct{ Body SubjectRevoked }, error) {
			reason := in.Body.Reason
			if reason == "" {
				reason = "data_subject"
			}
			r, err := s.Lender.RevokeSubject(ctx, in.Subject, reason)
			if err != nil {
				return nil, s.refuse(err)
			}
			out := SubjectRevoked{Subject: r.Subject, At: stamp(r.At), Entries: r.Entries, Before: r.Before}
			for _, at := range r.Backups {
				out.Backups = append(out.Backups, stamp(at))
			}
			return &struct{ Body SubjectRevoked }{out}, nil
		})
	})
	s.route(api, http.MethodGet, "/api/v1/entries/{entry}/readers", "entryReaders", "Everyone who ever read one entry, also after erasure", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			Entry string `path:"entry" maxLength:"64"`
		}) (*struct{ Body Readers }, error) {
			r, err := s.Lender.EntryReaders(ctx, in.Entry)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body Readers }{readersOf(r)}, nil
		})
	})
}

// SubjectPath names a person in the path.
type SubjectPath struct {
	Subject string `path:"subject" maxLength:"1024" doc:"name or pseudonym"`
}

func readersOf(r lender.Readers) Readers {
	out := Readers{Subject: r.Subject, Entry: r.Entry, Entries: r.Entries, Waiting: r.Waiting, Readers: []ReaderInfo{}}
	for _, x := range r.Readers {
		out.Readers = append(out.Readers, ReaderInfo{Permission: x.Perm.String(), Borrower: x.Borrower.String(), Org: x.BorrowerOrg.String(),
			Purpose: x.Purpose, First: stamp(x.First), Last: stamp(x.Last), Count: x.Count})
	}
	return out
}
