package httpapi

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"trustnode/federation"
)

// public registers what anyone may ask.
func (s *server) public(api huma.API, mux *http.ServeMux) {
	s.trustRoute(api)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	s.hosting(mux)
	s.logRoutes(api, mux)
	mux.HandleFunc("GET /agents/{name}/{file}", s.agentFile)
	mux.Handle("GET /metrics", loopback(promhttp.HandlerFor(s.metrics(), promhttp.HandlerOpts{})))
}

func plain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n"))
}

// ready says whether the node lends: 200 while it is fresh or alone, else 503 with the state.
func (s *server) ready(w http.ResponseWriter, _ *http.Request) {
	state, _, _ := s.Member.State(time.Now())
	code := http.StatusServiceUnavailable
	if state == federation.Fresh || state == federation.Alone {
		code = http.StatusOK
	}
	plain(w, code, state.String())
}

// loopback opens a handler to this machine alone.
func loopback(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
			plain(w, http.StatusNotFound, "not found")
			return
		}
		h.ServeHTTP(w, r)
	})
}

// metrics are read from the node when they are asked for. No label comes from a peer.
func (s *server) metrics() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "trustnode", Name: name, Help: help}, f)
	}
	reg.MustRegister(newDIDMetrics(s), newLogMetrics(s), s.queries, s.imports, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		gauge("outbox_waiting", "decisions not yet in the log", func() float64 { return s.own(func(l LogInfo) float64 { return float64(l.Waiting) }) }),
		gauge("witnessed_orgs", "organizations whose cosignature covers the newest own head", func() float64 { return s.own(func(l LogInfo) float64 { return float64(l.Witnessed) }) }),
		gauge("charter_seq", "seq of the charter in force", func() float64 {
			c, ok := s.Member.Charter()
			if !ok {
				return -1
			}
			return float64(c.Head().Seq)
		}),
		gauge("agents_expiring", "live own agents with a third of their time left, or less, that this node cannot renew", s.expiring),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "trustnode", Name: "agent_tokens_refused_total", Help: "calls with a token of no live agent"},
			func() float64 { return float64(s.turnedAway.Load()) }),
		gauge("fresh", "1 while the node is fresh", func() float64 {
			if st, _, _ := s.Member.State(time.Now()); st == federation.Fresh {
				return 1
			}
			return 0
		}))
	return reg
}

func (s *server) own(f func(LogInfo) float64) float64 {
	l, err := s.ownLog(context.Background())
	if err != nil {
		return -1
	}
	return f(l)
}
