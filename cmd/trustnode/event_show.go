package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

func eventShow(c *cli.Context, s *streams) error {
	a, err := args(c, "ID|INDEX")
	if err != nil {
		return err
	}
	if err := namesEvent(a[0]); err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.EventDetail
		if err := k.call(ctx, "GET", "/api/v1/events/"+url.PathEscape(a[0]), nil, &out); err != nil {
			return err
		}
		err := s.result(out, func(w writer) { printEvent(w, out) })
		if hint := tooFew(out); hint != "" {
			fmt.Fprintf(printable{s.err}, "hint: %s\n", hint)
		}
		return err
	})
}

// namesEvent refuses what is neither an id nor an index: another word could be that of a route beside the events.
func namesEvent(text string) error {
	if _, err := strconv.ParseUint(text, 10, 64); err == nil {
		return nil
	}
	if _, err := envelope.ParseID(text); err != nil {
		return fault.Wrap(fault.Invalid, "event", err).WithHint("name an event by its id, or one of the own log by its index: trustnode event list")
	}
	return nil
}

func printEvent(w writer, e httpapi.EventDetail) {
	ev := e.Says()
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "%-10s %s\n", name, text)
		}
	}
	line("event", e.ID)
	line("says", strings.TrimPrefix(ev.Type+": "+oneLine(e.Words), ": "))
	line("log", fmt.Sprintf("entry %d of %s", e.Index, e.Org))
	line("at", ev.At)
	if e.Clock != nil {
		line("clock", ahead(*e.Clock)+" of when this node had seen it; it has no other effect")
	}
	line("key", ev.Kid)
	line("subject", ev.Subject)
	line("actor", ev.Actor)
	line("refs", strings.Join(ev.Refs, " "))
	line("level", e.Level)
	line("standing", because(e.Standing, e.Reason))
	line("witnessed", witnessedBy(e.Witnessed))
	for _, p := range e.Elsewhere {
		line("also", fmt.Sprintf("entry %d of %s, which counts for nothing", p.Index, p.Org))
	}
	line("data", pretty(ev.Data))
	switch {
	case e.Body != nil:
		line("body", ev.Body+"\n           "+pretty(e.Body))
	case e.Erased != nil:
		line("body", fmt.Sprintf("%s, erased, by log.erased at %d", ev.Body, *e.Erased))
	case ev.Body != "":
		line("body", ev.Body+", not held here")
	}
}

func because(standing, reason string) string {
	if reason == "" {
		return standing
	}
	return standing + ": " + attestation.Reason(reason).Words()
}

// witnessedBy says how many, and each with the time by which it had seen the event.
func witnessedBy(w httpapi.Witnessed) string {
	out := fmt.Sprintf("%d of %d", w.Have, w.Need)
	if w.Need == 0 {
		return out + ": no charter asks for a witness"
	}
	var by []string
	for _, b := range w.By {
		by = append(by, orgWord(b.Org)+" "+b.At)
	}
	if len(by) == 0 {
		return out
	}
	return out + ": " + strings.Join(by, ", ")
}

// tooFew says who is missing where fewer have seen an event than the charter asks for.
func tooFew(e httpapi.EventDetail) string {
	if e.Witnessed.Have >= e.Witnessed.Need || len(e.Missing) == 0 {
		return ""
	}
	m := e.Missing[0]
	how := "not heard since the start"
	if m.SilentS != nil {
		how = "silent for " + span(time.Duration(*m.SilentS)*time.Second)
	}
	return fmt.Sprintf("witnessed %d of %d, %s %s: trustnode doctor", e.Witnessed.Have, e.Witnessed.Need, domain(m.Org), how)
}

// pretty indents JSON below the text beside its name.
func pretty(b json.RawMessage) string {
	var out bytes.Buffer
	if len(b) == 0 || json.Indent(&out, b, "           ", "  ") != nil {
		return ""
	}
	return out.String()
}
