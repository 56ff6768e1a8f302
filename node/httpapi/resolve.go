package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/did"
	"trustnode/did/didweb"
	"trustnode/did/didwebvh"
	"trustnode/did/resolution"
	"trustnode/node/fault"
	"trustnode/node/resolver"
)

// wellKnown is where the files of the own DID are served.
const wellKnown = "/.well-known/"

// noCache is the option of DID Resolution 1.0 by which the operator has a DID's host
// asked. From anybody else it is a feature that is not supported.
const noCache = "noCache=true"

// resolving answers the resolver's endpoint and hands everything else on. It stands before
// the router, which would redirect an identifier with two slashes to another one.
func (s *server) resolving(next http.Handler) http.Handler {
	stored, fresh := resolution.Handler(s.Resolver.Service(false)), resolution.Handler(s.Resolver.Service(true))
	operator := s.Resolver.Service(false)
	operator.Resolve = hinting(operator.Resolve)
	hinted := resolution.Handler(operator)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.EscapedPath(), resolution.Endpoint) {
			next.ServeHTTP(w, r)
			return
		}
		r.Pattern = resolution.Endpoint
		// A fork must be seen at once, so an answer is asked for anew each time.
		w.Header().Set("Cache-Control", "no-cache")
		query, asked := without(r.URL.RawQuery, noCache)
		switch operator := s.isOperator(r.Header.Get("Authorization")); {
		case operator && asked:
			u := *r.URL
			u.RawQuery = query
			r = r.WithContext(r.Context())
			r.URL = &u
			fresh.ServeHTTP(w, r)
		case operator:
			hinted.ServeHTTP(w, r)
		default:
			stored.ServeHTTP(w, r)
		}
	})
}

// hinting tells the operator, of a DID that is not held and has a host, how to have that asked.
func hinting(resolve resolution.Resolve) resolution.Resolve {
	return func(ctx context.Context, d did.DID, o did.Options) (did.Resolution, error) {
		res, err := resolve(ctx, d, o)
		hosted := d.Method() == didwebvh.Method || d.Method() == didweb.Method
		var e *did.ResolutionError
		if hosted && errors.As(err, &e) && e.Name == did.NotFound && errors.Is(err, did.ErrAbsent) {
			return did.Resolution{}, &did.ResolutionError{Name: did.NotFound, Detail: resolution.NotHeld + "; with ?" + noCache + " its host is asked, and nothing of that is kept", Err: err}
		}
		return res, err
	}
}

// without takes one option out of a query, once.
func without(query, option string) (string, bool) {
	var rest []string
	found := false
	for pair := range strings.SplitSeq(query, "&") {
		if pair == option && !found {
			found = true
			continue
		}
		rest = append(rest, pair)
	}
	return strings.Join(rest, "&"), found
}

// hosting serves the files of the own DID.
func (s *server) hosting(mux *http.ServeMux) {
	for file, kind := range map[string]string{resolver.FileLog: "text/jsonl", resolver.FileWitness: "application/json", resolver.FileWeb: "application/did+json"} {
		mux.HandleFunc("GET "+wellKnown+file, func(w http.ResponseWriter, r *http.Request) { s.hosted(w, r, file, kind) })
	}
}

// hosted serves one file as the newest version has it. Each request takes one snapshot, and
// no snapshot's log lacks a proof, so a reader who takes the log first never does.
func (s *server) hosted(w http.ResponseWriter, r *http.Request, file, kind string) {
	p, err := s.Resolver.Published(r.Context())
	if err != nil {
		if fault.Of(err) != fault.NotFound {
			s.log.ErrorContext(r.Context(), "the own DID cannot be served", "err", err)
			plain(w, http.StatusServiceUnavailable, "the DID log cannot be read")
			return
		}
		plain(w, http.StatusNotFound, "this organization has no such file")
		return
	}
	body := map[string][]byte{resolver.FileLog: p.Log, resolver.FileWitness: p.Witness, resolver.FileWeb: p.Web}[file]
	if body == nil {
		w.Header().Set("Cache-Control", "no-cache")
		switch {
		case file == resolver.FileWeb && p.State == did.Deactivated:
			plain(w, http.StatusGone, "this DID has ended")
		case file == resolver.FileWeb:
			plain(w, http.StatusServiceUnavailable, "this DID is "+p.State.String())
		default:
			plain(w, http.StatusNotFound, "no entry of this DID has to be witnessed")
		}
		return
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("ETag", `"`+p.Version+`"`)
	h.Set("Cache-Control", fmt.Sprintf("max-age=%d", p.TTL))
	h.Set("Access-Control-Allow-Origin", "*") // readers in browsers: did:web, "Read (Resolve)"
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// HeadAccept is an operator's decision for one version of a DID.
type HeadAccept struct {
	DID      string `json:"did"`
	Version  string `json:"version" doc:"versionId, or the id of a did:web document's bytes"`
	Reason   string `json:"reason" doc:"why it is right and who compared it; kept in an audit row"`
	Document []byte `json:"document,omitempty" doc:"a did:web document that was brought by hand, base64"`
}

// HeadAccepted says where the DID stands after it.
type HeadAccepted struct {
	ID      string `json:"id" doc:"version that stands now"`
	DID     string `json:"did"`
	From    string `json:"from,omitempty" doc:"version that stood before"`
	State   string `json:"state"`
	Changed bool   `json:"changed"`
}

// HostFile says how one file of the own DID stands on its web server.
type HostFile struct {
	File  string `json:"file"`
	URL   string `json:"url"`
	State string `json:"state" doc:"same, behind, ahead, other, missing, unreachable or unneeded"`
	Words string `json:"words"`
}

// HostCheck says how the web server of the own DID stands.
type HostCheck struct {
	ID    string     `json:"id" doc:"versionId of the head here"`
	DID   string     `json:"did"`
	Files []HostFile `json:"files"`
}

// HostPlace says where the files of the own DID have to be reached.
type HostPlace struct {
	ID   string `json:"id" doc:"versionId of the head here"`
	DID  string `json:"did"`
	Base string `json:"base" doc:"URL of the folder of the files"`
}

func (s *server) resolveRoutes(api huma.API) {
	s.route(api, http.MethodGet, "/api/v1/identities/host", "didHost", "Where the files of the own DID have to be reached", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, _ *struct{}) (*struct{ Body HostPlace }, error) {
			p, err := s.Resolver.Published(ctx)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body HostPlace }{HostPlace{ID: p.Version, DID: p.DID.String(), Base: p.URLOf("")}}, nil
		})
	})
	s.route(api, http.MethodPost, "/api/v1/identities/accept", "didAcceptHead", "Decide for one version of a forked or changed DID", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body HeadAccept }) (*struct{ Body HeadAccepted }, error) {
			d, err := did.Parse(in.Body.DID)
			if err != nil {
				return nil, s.refuse(fault.Wrap(fault.Invalid, "did", err))
			}
			a := resolver.Accept{DID: d, Version: in.Body.Version, Reason: in.Body.Reason}
			if len(in.Body.Document) > 0 {
				a.Document = in.Body.Document
			}
			res, err := s.Resolver.AcceptHead(ctx, a)
			if err != nil {
				return nil, s.refuse(err)
			}
			v := res.Version
			return &struct{ Body HeadAccepted }{HeadAccepted{ID: v.ID, DID: d.String(), From: res.From.ID, State: v.State.String(), Changed: res.Advanced}}, nil
		})
	})
	s.route(api, http.MethodPost, "/api/v1/identities/host-check", "didHostCheck", "Compare the files of the own DID on its web server with what is held here", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, _ *struct{}) (*struct{ Body HostCheck }, error) {
			p, err := s.Resolver.Published(ctx)
			if err != nil {
				return nil, s.refuse(err)
			}
			list, err := s.Resolver.CheckHost(ctx)
			if err != nil {
				return nil, s.refuse(err)
			}
			out := HostCheck{ID: p.Version, DID: p.DID.String(), Files: []HostFile{}}
			for _, f := range list {
				out.Files = append(out.Files, HostFile{File: f.File, URL: f.URL, State: string(f.State), Words: f.Words})
			}
			return &struct{ Body HostCheck }{out}, nil
		})
	})
}
