package httpapi

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"trustnode/did"
)

// didMetrics are what is known of DIDs, read when it is asked for. DIDs label a series only
// if they are this organization's or a record's of the charter, which bounds them; reasons
// are this program's own words.
type didMetrics struct {
	s                                   *server
	state, age, forks, refused, witness *prometheus.Desc
}

func newDIDMetrics(s *server) *didMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("trustnode_"+name, help, labels, nil)
	}
	return &didMetrics{s,
		desc("did_state", "1 for the state of a member's DID as held here", "did", "state"),
		desc("did_head_age_seconds", "seconds since the head of a member's DID was last confirmed, or verified", "did"),
		desc("did_forks_total", "branches of DID logs that are kept beside what is held"),
		desc("did_refused_total", "DID logs and documents that were offered and not taken, by reason", "reason"),
		desc("witness_refused_total", "entries of others' DID logs that were not witnessed, by reason", "reason"),
	}
}

// Describe implements prometheus.Collector.
func (m *didMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.state, m.age, m.forks, m.refused, m.witness} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *didMetrics) Collect(ch chan<- prometheus.Metric) {
	ctx := context.Background()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, d := range m.listed() {
		v, err := m.s.Node.Ring.Head(ctx, d)
		if err != nil {
			gauge(m.state, 1, d.String(), "missing")
			continue
		}
		gauge(m.state, 1, d.String(), v.State.String())
		since := v.VerifiedAt
		if _, at := m.s.Node.Ring.Confirmed(d); !at.IsZero() {
			since = at
		}
		if !since.IsZero() {
			gauge(m.age, max(0, time.Since(since).Seconds()), d.String())
		}
	}
	count := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	count(m.forks, m.branches(ctx))
	for reason, n := range m.s.Resolver.Refused() {
		count(m.refused, float64(n), reason)
	}
	for reason, n := range m.s.Member.Refused() {
		count(m.witness, float64(n), reason)
	}
}

// listed are the DIDs that label series: the own one, and those of the charter.
func (m *didMetrics) listed() []did.DID {
	out := []did.DID{m.s.Node.Org}
	c, _ := m.s.Member.Charter()
	for _, r := range c.Head().Members {
		if r.DID != m.s.Node.Org {
			out = append(out, r.DID)
		}
	}
	return out
}

// branches counts what is kept beside the histories. It is kept for ever, so the number
// never falls.
func (m *didMetrics) branches(ctx context.Context) float64 {
	list, err := m.s.Node.Ring.List(ctx)
	if err != nil {
		return 0
	}
	n := 0
	for _, v := range list {
		b, _ := m.s.Node.Ring.Branches(ctx, v.DID)
		n += len(b)
	}
	return float64(n)
}
