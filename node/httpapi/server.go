// Package httpapi answers: what can be asked of this node over HTTP, and who may ask?
//
// It serves three kinds of callers: anyone (identity, health, scores), a borrower's agent
// by its own signed request, and the operator by bearer token. Handlers translate; they
// decide nothing. Errors are RFC 9457 problems with a stable code, OpenAPI 3.1 stands at
// /openapi.json and is made from the handlers. The package also holds the JSON types and
// the client that commands use.
package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"

	"trustnode/node/fault"
	"trustnode/node/recorder"
)

// Limits of the server.
const (
	maxOperatorBody = 16 << 20 // bytes of an operator's JSON
	maxReadBody     = 32 << 10 // bytes of a borrower's call: two compact objects
	bodyTimeout     = 30 * time.Second
	// ReadHeaderTimeout, IdleTimeout and MaxHeaderBytes are for the http.Server around it.
	ReadHeaderTimeout = 10 * time.Second
	IdleTimeout       = 2 * time.Minute
	MaxHeaderBytes    = 32 << 10
)

// operatorOnly marks a route of the operator in the API's description.
var operatorOnly = []map[string][]string{{"operator": {}}}

// operatorOrAnyone marks a route that tells the operator more than others.
var operatorOrAnyone = []map[string][]string{{"operator": {}}, {}}

// open are the operations that need no token: a signed answer for anyone, and what a
// borrower's agent proves by its own signature. Every other one is the operator's.
var open = map[string]bool{"trustShow": true, "read": true, "permissionStatus": true, "discover": true, "loanAsk": true, "loanAsked": true}

// server is the state behind the handlers.
type server struct {
	Services
	token [sha256.Size]byte
	log   *slog.Logger
	// turnedAway counts calls with a token of no live agent.
	turnedAway atomic.Uint64
	// watches and publicWatches hold one item for each open stream of events.
	watches, publicWatches chan struct{}
	publicCalls            chan struct{}        // one item for each call of a stranger under way
	queries                prometheus.Histogram // how long queries of events take
}

// New returns the handler of every route. token is the operator's.
func New(s Services, token, version string, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	cfg := huma.DefaultConfig("trustnode", version)
	cfg.Info.Description = "The node an organization runs to lend memory to partners' agents."
	cfg.CreateHooks = nil // answers carry no $schema links: they are what was asked for and nothing else
	cfg.DocsPath, cfg.SchemasPath = "", ""
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"operator": {Type: "http", Scheme: "bearer", Description: "DIR/operator.token"},
		"agent":    {Type: "http", Scheme: "bearer", Description: "a token of one agent, from trustnode agent token NAME --for http"},
	}
	api := humago.New(mux, cfg)
	srv := &server{Services: s, token: sha256.Sum256([]byte(token)), log: log,
		watches: make(chan struct{}, maxWatches), publicWatches: make(chan struct{}, maxPublicWatches), publicCalls: make(chan struct{}, maxPublicCalls),
		queries: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "trustnode", Name: "query_seconds", Help: "how long a page of events takes", Buckets: recorder.StageBounds()})}
	api.UseMiddleware(noStore, srv.authorize(api))
	srv.public(api, mux)
	srv.borrower(api)
	srv.asking(api)
	srv.auditPage(api)
	srv.operator(api)
	mux.HandleFunc("/", noRoute)
	return srv.logged(srv.resolving(mux))
}

// authorize refuses the operator's routes without the operator's token, before any body
// is read.
func (s *server) authorize(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		id, header := ctx.Operation().OperationID, ctx.Header("Authorization")
		if s.isOperator(header) {
			next(huma.WithValue(ctx, operatorKey{}, true))
			return
		}
		if open[id] {
			next(ctx)
			return
		}
		if s.opened(id) {
			s.openly(api, ctx, next)
			return
		}
		if text, ok := agentToken(header); ok && forAgents[id] {
			who, err := s.callerOf(ctx.Context(), text)
			if err != nil {
				writeProblem(api, ctx, err)
				return
			}
			next(huma.WithValue(ctx, callerKey{}, who))
			return
		}
		writeProblem(api, ctx, errOperators())
	}
}

// errOperators refuses what only the operator may ask.
func errOperators() error {
	return fault.New(fault.Unauthenticated, "token", "this route is the operator's").WithHint("send the text of DIR/operator.token as bearer token")
}

// operatorKey marks the context of an operator's call.
type operatorKey struct{}

// asOperator reports whether a call is the operator's.
func asOperator(ctx context.Context) bool { return ctx.Value(operatorKey{}) != nil }

// isOperator compares hashes, so that time tells nothing of the token.
func (s *server) isOperator(header string) bool {
	text, ok := strings.CutPrefix(header, "Bearer ")
	sum := sha256.Sum256([]byte(text))
	return ok && subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1
}

// noStore keeps answers about loans and memory out of caches on the way.
func noStore(ctx huma.Context, next func(huma.Context)) {
	if strings.HasPrefix(ctx.Operation().Path, "/api/") {
		ctx.SetHeader("Cache-Control", "no-store")
	}
	next(ctx)
}

// noRoute answers what no route is for, in the form of every refusal.
func noRoute(w http.ResponseWriter, r *http.Request) {
	problemOf(w, 0, fault.New(fault.NotFound, "route", "there is no %s %.200s", r.Method, r.URL.Path).WithHint("/openapi.json lists what can be asked"))
}

// logged writes one line per request at debug: method, route, status, never a body or a
// query.
func (s *server) logged(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		h.ServeHTTP(w, r)
		s.log.DebugContext(r.Context(), "http", "method", r.Method, "route", r.Pattern, "took", time.Since(start))
	})
}
