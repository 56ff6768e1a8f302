package httpapi

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"trustnode/attestation"
	"trustnode/federation/gossip"
	"trustnode/node/recorder"
)

// Counts are numbers of the process that the use cases do not know.
type Counts struct {
	Gossip    gossip.Stats // zero while the node is not linked
	PinsBytes int64        // size of the file of pins
	FreeBytes uint64       // that may still be written below the data directory
}

// logMetrics are what is known of logs, read when it is asked for. Organizations label a
// series only if a log of theirs is held, which the charter bounds; all other labels are this
// program's own words.
type logMetrics struct {
	s                                                      *server
	size, age, state, stage, events, void, backlog, parked *prometheus.Desc
	witness, dropped, lines, equivocations, pins, free     *prometheus.Desc
}

func newLogMetrics(s *server) *logMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("trustnode_"+name, help, labels, nil)
	}
	return &logMetrics{s: s,
		size:          desc("log_size", "entries held of a log", "org"),
		age:           desc("log_head_age_seconds", "seconds since an organization, or as many others as the charter asks for, last said how far its log goes", "org"),
		state:         desc("log_state", "1 for each state that the own log is in", "state"),
		stage:         desc("log_append_seconds", "how long the stages of appending take", "stage"),
		events:        desc("events_total", "events that reached a level since the start", "level"),
		void:          desc("events_void_total", "events that never count, since the start", "org", "reason"),
		backlog:       desc("verify_backlog", "events that wait for their verdict"),
		parked:        desc("parked_events", "events whose effect waits for an object that nobody has given", "org"),
		witness:       desc("witness_requests_total", "requests of peers to cosign, by the status answered; 0: this node failed", "status"),
		dropped:       desc("ingest_dropped_total", "messages that were not taken in, by reason; sync brings what they held", "reason"),
		lines:         desc("sync_lines_total", "what was offered by sync, by what became of it", "result"),
		equivocations: desc("equivocations_total", "logs that were ever proven to have forked, whatever a charter has said of them since"),
		pins:          desc("pins_bytes", "size of the file of pins"),
		free:          desc("free_bytes", "bytes that may still be written", "dir"),
	}
}

// Describe implements prometheus.Collector.
func (m *logMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.size, m.age, m.state, m.stage, m.events, m.void, m.backlog, m.parked, m.witness, m.dropped, m.lines, m.equivocations, m.pins, m.free} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *logMetrics) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	m.logs(gauge)
	m.recorded(ch, gauge, count)
	if m.s.Counts == nil {
		return
	}
	c := m.s.Counts()
	gauge(m.pins, float64(c.PinsBytes))
	gauge(m.free, float64(c.FreeBytes), "data")
	count(m.dropped, c.Gossip.Dropped, "full")
	for status, n := range c.Gossip.Witnessed {
		count(m.witness, n, strconv.Itoa(status))
	}
	for o, word := range outcomes {
		count(m.lines, c.Gossip.Lines[o], word)
	}
}

var outcomes = map[gossip.Outcome]string{0: "failed", gossip.Taken: "taken", gossip.Held: "held", gossip.Behind: "behind", gossip.Parked: "parked", gossip.False: "false", gossip.Forked: "forked"}

// logs tells of each log that is held.
func (m *logMetrics) logs(gauge func(*prometheus.Desc, float64, ...string)) {
	ctx := context.Background()
	heads, err := m.s.Node.Rec.Heads(ctx)
	if err != nil {
		return // a scrape without them is told by their absence
	}
	for _, h := range heads {
		gauge(m.size, float64(h.Size), h.Org.String())
		if age, ok := m.s.Member.Stated(h.Org); ok {
			gauge(m.age, age.Seconds(), h.Org.String())
		}
	}
	parked, err := m.s.Member.Parked(ctx)
	if err != nil {
		return
	}
	for d, n := range parked {
		gauge(m.parked, float64(n), d.String())
	}
}

// states says which states the own log is in: several may hold at once, and it is open where none else does.
func (m *logMetrics) states() map[string]bool {
	rec := m.s.Node.Rec
	now, _ := rec.State()
	full, forked := rec.Full() != "", rec.Forked(m.s.Node.Org)
	return map[string]bool{
		recorder.Open.String(): now == recorder.Open && !full && !forked, recorder.Recovering.String(): now == recorder.Recovering, recorder.Corrupt.String(): now == recorder.Corrupt,
		"no_space": full, "forked": forked,
	}
}

// recorded tells what the recorder counted.
func (m *logMetrics) recorded(ch chan<- prometheus.Metric, gauge func(*prometheus.Desc, float64, ...string), count func(*prometheus.Desc, uint64, ...string)) {
	for state, is := range m.states() {
		v := 0.0
		if is {
			v = 1
		}
		gauge(m.state, v, state)
	}
	count(m.equivocations, uint64(m.s.Node.Rec.Parted()))
	st := m.s.Node.Rec.Stats()
	count(m.events, st.Logged, attestation.Logged.String())
	count(m.events, st.Authored, attestation.Authored.String())
	gauge(m.backlog, float64(st.Backlog))
	for v, n := range st.Void {
		count(m.void, n, v.Org.String(), string(v.Reason))
	}
	bounds := recorder.StageBounds()
	for stage, t := range st.Append {
		buckets := map[float64]uint64{}
		for i, b := range bounds {
			buckets[b] = t.Buckets[i]
		}
		ch <- prometheus.MustNewConstHistogram(m.stage, t.Count, t.Seconds, buckets, string(stage))
	}
}

// query asks the logs, timed.
func (s *server) query(ctx context.Context, q attestation.Query) (attestation.Page, error) {
	start := time.Now()
	defer func() { s.queries.Observe(time.Since(start).Seconds()) }()
	return s.Events.Query(ctx, q)
}
