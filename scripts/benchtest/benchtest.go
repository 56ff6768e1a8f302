// Package benchtest answers: how far is a measured figure from what the machine itself
// allows?
//
// A figure and its floor are measured in one run, in turns, so that a busy machine slows
// both alike; their ratio is what is compared with a target. Each figure becomes metrics
// of the Go benchmark that measures it and, where TRUSTNODE_FIGURES names a file, one
// line of it: name, measured, floor, ratio, target and verdict, apart by tabs.
// scripts/bench makes and prints that file. A missed target fails nothing.
package benchtest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// file is the environment variable that names the file of figures.
const file = "TRUSTNODE_FIGURES"

// Target is what a figure has to reach; zero members ask for nothing.
type Target struct {
	Ratio float64       // p50 is at most this many times the floor's
	Share float64       // the rate is at least this share of the floor's
	P50   time.Duration // at most
	P99   time.Duration // at most
	Rate  float64       // per second, at least
}

// Spread is what was measured of one operation.
type Spread struct{ P50, P99 time.Duration }

// Of sorts samples and returns their spread. There must be one at least.
func Of(samples []time.Duration) Spread {
	slices.Sort(samples)
	return Spread{samples[len(samples)/2], samples[len(samples)*99/100]}
}

// Each is the spread of one of n equal parts.
func (s Spread) Each(n int) Spread {
	return Spread{s.P50 / time.Duration(n), s.P99 / time.Duration(n)}
}

// Turns runs both functions n times in turn, each time batch calls of each, and returns
// the spread of one call. An error ends the benchmark.
func Turns(b *testing.B, n, batch int, figure, floor func() error) (f, g Spread) {
	b.Helper()
	a, c := make([]time.Duration, n), make([]time.Duration, n)
	for i := range n {
		a[i], c[i] = timed(b, batch, figure), timed(b, batch, floor)
	}
	return Of(a), Of(c)
}

// Work is Turns in processor time of the whole process, of one call each: for what takes
// long enough to be interrupted by others. On one core it is what a quiet machine takes.
func Work(b *testing.B, n int, figure, floor func() error) (f, g Spread) {
	b.Helper()
	a, c := make([]time.Duration, n), make([]time.Duration, n)
	for i := range n {
		a[i], c[i] = worked(b, figure), worked(b, floor)
	}
	return Of(a), Of(c)
}

func worked(b *testing.B, f func() error) time.Duration {
	start := CPU()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	return CPU() - start
}

// CPU is the processor time this process has taken.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func timed(b *testing.B, batch int, f func() error) time.Duration {
	start := time.Now()
	for range batch {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start) / time.Duration(batch)
}

// Latency reports an operation beside its floor, which words name.
func Latency(b *testing.B, name string, got, floor Spread, words string, t Target) {
	b.Helper()
	ratio := float64(got.P50) / float64(floor.P50)
	ok := (t.Ratio == 0 || ratio <= t.Ratio) && (t.P50 == 0 || got.P50 <= t.P50) && (t.P99 == 0 || got.P99 <= t.P99)
	b.ReportMetric(0, "ns/op") // of the whole benchmark, which says nothing
	b.ReportMetric(float64(got.P50), "p50-ns")
	b.ReportMetric(float64(got.P99), "p99-ns")
	b.ReportMetric(float64(floor.P50), "floor-ns")
	write(b, name, fmt.Sprintf("p50 %s p99 %s", short(got.P50), short(got.P99)), fmt.Sprintf("%s (%s)", short(floor.P50), words), ratio, t, ok)
}

// Rate reports how many a second there are beside a floor; ratio is the share of it.
func Rate(b *testing.B, name string, got, floor float64, words string, t Target) {
	b.Helper()
	share := got / floor
	ok := (t.Share == 0 || share >= t.Share) && (t.Rate == 0 || got >= t.Rate)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(got, "per-s")
	b.ReportMetric(floor, "floor-per-s")
	write(b, name, count(got)+"/s", fmt.Sprintf("%s/s (%s)", count(floor), words), share, t, ok)
}

// Ratio reports an amount, such as bytes, beside the least that it can be; it is at most most
// times that.
func Ratio(b *testing.B, name string, got, floor float64, words string, most float64) {
	b.Helper()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(got/floor, "times-floor")
	line(b, name, count(got), fmt.Sprintf("%s (%s)", count(floor), words), fmt.Sprintf("%.2f", got/floor), fmt.Sprintf("<= %.3gx", most), got <= most*floor)
}

// Count reports a number that has a greatest value, such as allocations.
func Count(b *testing.B, name string, got, most float64) {
	b.Helper()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(got, "count")
	line(b, name, count(got), "-", "-", "<= "+count(most), got <= most)
}

func write(b *testing.B, name, got, floor string, ratio float64, t Target, ok bool) {
	line(b, name, got, floor, fmt.Sprintf("%.2f", ratio), t.String(), ok)
}

func line(b *testing.B, name, got, floor, ratio, target string, ok bool) {
	verdict := "ok"
	if !ok {
		verdict = "MISS"
	}
	if target == "" {
		target, verdict = "-", "-"
	}
	path := os.Getenv(file)
	if path == "" {
		b.Logf("%s: %s, floor %s, ratio %s, target %s: %s", name, got, floor, ratio, target, verdict)
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, strings.Join([]string{name, got, floor, ratio, target, verdict}, "\t")); err != nil {
		b.Fatal(err)
	}
}

// String says what is asked for.
func (t Target) String() string {
	var out []string
	add := func(set bool, format string, v any) {
		if set {
			out = append(out, fmt.Sprintf(format, v))
		}
	}
	add(t.Ratio > 0, "<= %.2gx", t.Ratio)
	add(t.Share > 0, ">= %.0f%%", t.Share*100)
	add(t.P50 > 0, "p50 <= %s", t.P50)
	add(t.P99 > 0, "p99 <= %s", t.P99)
	add(t.Rate > 0, ">= %s/s", count(t.Rate))
	return strings.Join(out, ", ")
}

// short prints three digits of a duration.
func short(d time.Duration) string {
	unit := time.Second
	for _, u := range []time.Duration{time.Nanosecond, time.Microsecond, time.Millisecond} {
		if d < 1000*u {
			unit = u
			break
		}
	}
	return strings.TrimLeft(fmt.Sprintf("%.3g", float64(d)/float64(unit)), " ") + unit.String()[1:]
}

// count prints a number with its thousands apart.
func count(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
