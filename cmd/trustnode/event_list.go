package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"trustnode/attestation"
	"trustnode/node/httpapi"
)

func eventList(c *cli.Context, s *streams) error {
	if c.Bool("branch") {
		return eventBranch(c, s)
	}
	q, err := filter(c, "order", "limit", "cursor")
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		out, err := events(ctx, k, q, c.Bool("all"))
		if err != nil {
			return err
		}
		if t := attestation.Type(c.String("type")); len(out.Events) == 0 && t != "" && !attestation.Covers(t) {
			return noType(string(t), c)
		}
		return s.result(out, func(w writer) { printEvents(w, out, c.Bool("ids")) })
	})
}

// noType refuses a type that is not known and that no event has.
func noType(t string, c *cli.Context) error {
	hint := help(c)
	if prefix := strings.TrimSuffix(t, ".") + "."; attestation.Covers(attestation.Type(prefix)) {
		hint = "--type " + prefix + " lists all that begin so"
	}
	return &usageError{fmt.Sprintf("no type %.48q is known, and no event has it", t), hint}
}

// events asks for one page, or for that and all that follow.
func events(ctx context.Context, k *caller, q url.Values, all bool) (out httpapi.Events, err error) {
	for {
		var page httpapi.Events
		if err := k.call(ctx, "GET", "/api/v1/events?"+q.Encode(), nil, &page); err != nil {
			return httpapi.Events{}, err
		}
		found := append(out.Events, page.Events...)
		if out = page; len(found) > 0 {
			out.Events = found
		}
		if !all || page.Cursor == "" {
			return out, nil
		}
		q.Set("cursor", page.Cursor)
	}
}

func printEvents(w writer, out httpapi.Events, ids bool) {
	names := orgNames{}
	for _, o := range out.Origins {
		names.add(o.Org)
	}
	var t table
	for _, e := range out.Events {
		t.add(eventRow(names, e, ids))
	}
	t.print(w)
	if len(out.Events) == 0 {
		fmt.Fprintln(w, "no events")
	}
	if out.Cursor != "" {
		fmt.Fprintf(w, "more  the same with --cursor %s, or --all\n", out.Cursor)
	}
	printOrigins(w, names, out.Origins)
}

// printOrigins says how far each log is held, and so what the list can say at all.
func printOrigins(w writer, names orgNames, list []httpapi.Origin) {
	var t table
	for _, o := range list {
		held := count(o.Held, "entry")
		if o.Known > o.Held {
			held = fmt.Sprintf("%d of %s", o.Held, count(o.Known, "entry"))
		}
		said := "nobody has said since the start how far it goes"
		if o.AgeS != nil {
			said = "its length was said " + ago(time.Duration(*o.AgeS)*time.Second)
		}
		t.add([]string{"held", names.of(o.Org), held, said})
	}
	t.print(w)
	for _, o := range list {
		if o.ForkedAt != nil {
			fmt.Fprintf(w, "forked  %s at %d: %s above it contested, --any shows what does not count\n", names.of(o.Org), *o.ForkedAt, are(o.Held-min(o.Held, *o.ForkedAt), "entry"))
		}
	}
	if len(list) > 0 {
		fmt.Fprintln(w, "absence is claimed only up to held")
	}
}

// are counts what has a plural and says that it is.
func are(n uint64, what string) string {
	if n == 1 {
		return count(n, what) + " is"
	}
	return count(n, what) + " are"
}

// ago says how long something is past.
func ago(d time.Duration) string {
	if d < time.Second {
		return "just now"
	}
	return span(d) + " ago"
}

// span is a length of time in its largest unit.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d d", d/(24*time.Hour))
}

// eventRow is an event in the columns of a list, behind its id if that is asked for.
func eventRow(names orgNames, e httpapi.Event, id bool) []string {
	ev := e.Says()
	at := ev.At
	if t, err := time.Parse(time.RFC3339, at); err == nil {
		at = t.UTC().Format(time.DateTime)
	}
	last := standingWord(e) + ", " + witnessedWord(e.Witnessed)
	if e.Clock != nil {
		last += ", clock " + ahead(*e.Clock)
	}
	row := []string{at, fmt.Sprintf("%s %d", names.of(e.Org), e.Index), ev.Type, strings.Map(shown, oneLine(e.Words)), last}
	if id {
		row = append([]string{e.ID}, row...)
	}
	return row
}

// ahead says by how much a clock is.
func ahead(s int64) string { return span(time.Duration(s)*time.Second) + " ahead" }

// standingWord is the level of an event, and its standing where that is not valid.
func standingWord(e httpapi.Event) string {
	if e.Standing == attestation.Valid.String() {
		return e.Level
	}
	if e.Reason == "" {
		return e.Level + ", " + e.Standing
	}
	return fmt.Sprintf("%s, %s (%s)", e.Level, e.Standing, e.Reason)
}

// witnessedWord says how many have seen an event of how many that the charter asks for.
func witnessedWord(w httpapi.Witnessed) string {
	return fmt.Sprintf("witnessed %d/%d", w.Have, w.Need)
}

// orgNames names organizations as shortly as they are told apart: by domain, and where two
// have one, by the beginning of what makes a DID its own too.
type orgNames map[string][]string // DIDs by domain

func (n orgNames) add(did string) {
	d := domain(did)
	for _, have := range n[d] {
		if have == did {
			return
		}
	}
	n[d] = append(n[d], did)
}

func (n orgNames) of(did string) string {
	n.add(did)
	if d := domain(did); len(n[d]) == 1 {
		return d
	}
	return orgWord(did)
}

// domain is where an organization lives, or its whole DID where that says nothing of it.
func domain(did string) string {
	p := strings.Split(did, ":")
	switch {
	case len(p) > 3 && p[1] == "webvh":
		return strings.Join(p[3:], "/")
	case len(p) > 2 && p[1] == "web":
		return strings.Join(p[2:], "/")
	}
	return did
}

// table prints rows in columns as wide as what stands in them.
type table struct {
	rows   [][]string
	widths []int
}

// maxColumn is the width that a column is filled up to; what is longer moves the rest.
const maxColumn = 64

func (t *table) add(row []string) {
	t.rows = append(t.rows, row)
	t.widen(row)
}

// widen makes columns as wide as a row needs.
func (t *table) widen(row []string) {
	for i, cell := range row {
		if i == len(t.widths) {
			t.widths = append(t.widths, 0)
		}
		t.widths[i] = max(t.widths[i], min(maxColumn, utf8.RuneCountInString(cell)))
	}
}

func (t *table) print(w writer) {
	for _, row := range t.rows {
		fmt.Fprintln(w, t.line(row))
	}
}

func (t *table) line(row []string) string {
	var b strings.Builder
	for i, cell := range row {
		if i > 0 {
			b.WriteString("  ")
		}
		b.WriteString(cell)
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", max(0, t.widths[i]-utf8.RuneCountInString(cell))))
		}
	}
	return b.String()
}
