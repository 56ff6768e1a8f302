package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/fault"
)

// Event is one event of a log, and how far it is believed here.
type Event struct {
	Event     json.RawMessage `json:"event,omitempty" doc:"the signed statement; absent where the entry has not the form of one"`
	ID        string          `json:"id"`
	Index     uint64          `json:"index"`
	Level     string          `json:"level" enum:"logged,authored"`
	Org       string          `json:"org" doc:"whose log it is in"`
	Standing  string          `json:"standing" enum:"valid,pending,disputed,contested,void"`
	Reason    string          `json:"reason,omitempty" doc:"why it does not stand as valid"`
	Witnessed Witnessed       `json:"witnessed"`
	Words     string          `json:"words" doc:"the event in one sentence, from its data alone"`
	Clock     *int64          `json:"clock_s,omitempty" doc:"the clock of its organization is ahead: seconds by which at lies after the moment at which this node had seen the event, where that is more than the charter's clock_skew_s; it has no other effect"`
}

// Statement is what an event says of itself, believed or not.
type Statement struct {
	Actor   string          `json:"actor"`
	At      string          `json:"at"`
	Body    string          `json:"body"`
	Data    json.RawMessage `json:"data"`
	Kid     string          `json:"kid"`
	Refs    []string        `json:"refs"`
	Subject string          `json:"subject"`
	Type    string          `json:"type"`
}

// Says returns what the event says, to be shown; zero for what has not the form of one. The
// node has decoded it strictly before.
func (e Event) Says() (out Statement) {
	_ = json.Unmarshal(e.Event, &out)
	return out
}

// Witnessed says whose cosignatures cover an event: k of the n that the charter asks for.
type Witnessed struct {
	Have int        `json:"have" doc:"active members beside the origin that have cosigned a head over it"`
	Need int        `json:"need" doc:"how many the charter in force asks for; 0 without one"`
	By   []Sighting `json:"by" doc:"each by its earliest cosignature"`
}

// Sighting is when one organization had seen an event.
type Sighting struct {
	Org string `json:"org"`
	At  string `json:"at"`
}

// EventDetail is one event with all that is known of it here.
type EventDetail struct {
	Event
	Body      json.RawMessage `json:"body,omitempty" doc:"the attached body; absent where none is named, held, or yours to read"`
	Erased    *uint64         `json:"erased,omitempty" doc:"index, in the same log, of the log.erased that took the body away"`
	Missing   []Silent        `json:"missing,omitempty" doc:"where cosignatures are missing: who could still give one, for the operator"`
	Elsewhere []Place         `json:"elsewhere,omitempty" doc:"other places of the same id, which count for nothing"`
}

// Silent is a member that has not cosigned.
type Silent struct {
	Org     string `json:"org"`
	SilentS *int64 `json:"silent_s,omitempty" doc:"seconds since it was heard; absent: not since the start"`
}

// Place is one entry of one log.
type Place struct {
	Org   string `json:"org"`
	Index uint64 `json:"index"`
}

// Events is a page of events.
type Events struct {
	Cursor  string   `json:"cursor,omitempty" doc:"where the next page begins; absent: nothing follows"`
	Events  []Event  `json:"events"`
	Origins []Origin `json:"origins" doc:"every log that the filter could touch"`
	Tail    string   `json:"tail,omitempty" doc:"in the order ingest: goes on behind all that was looked at, whether something follows yet or not"`
}

// Origin says up to where a log is held: absence is claimed only up to there.
type Origin struct {
	AgeS  *int64 `json:"age_s,omitempty" doc:"seconds since the origin, or as many others as the charter asks for, last said how far it goes; absent: not since the start"`
	Held  uint64 `json:"held"`
	Known uint64 `json:"known" doc:"highest size for which a signed head was seen"`
	Org   string `json:"org"`
	// ForkedAt is absent while it has not forked.
	ForkedAt *uint64 `json:"forked_at,omitempty" doc:"the log has forked: entries that its branches have in common; those above are contested"`
}

// EventFilter selects events, as parameters of a call.
type EventFilter struct {
	Org      string `query:"org" maxLength:"2048" doc:"whose log: a DID, the name or domain of an organization held here, or self"`
	Type     string `query:"type" maxLength:"48" doc:"a type, or a prefix that ends in a dot"`
	Subject  string `query:"subject" maxLength:"2048"`
	Actor    string `query:"actor" maxLength:"2048"`
	Ref      string `query:"ref" maxLength:"128" doc:"id that the event rests on"`
	Since    string `query:"since" maxLength:"20" doc:"earliest at, e.g. 2026-12-01T10:00:00Z"`
	Until    string `query:"until" maxLength:"20" doc:"earliest at that is too late"`
	Level    string `query:"level" enum:"logged,authored" doc:"the least; authored unless another standing is asked for"`
	Standing string `query:"standing" enum:"valid,pending,disputed,contested,void" doc:"default valid"`
	Any      bool   `query:"any" doc:"also what does not count: of every level and standing not named"`
	Order    string `query:"order" enum:"log,ingest" doc:"log: by organization and index, as at the first page; ingest: as events came here"`
	Limit    int    `query:"limit" minimum:"1" maximum:"1000" doc:"most events; default 100"`
	Cursor   string `query:"cursor" maxLength:"16384" doc:"cursor or tail of a page before"`
}

// eventRoutes registers what lists, shows and follows events.
func (s *server) eventRoutes(api huma.API) {
	s.route(api, http.MethodGet, "/api/v1/events", "eventList", "Events of all logs held here", http.StatusOK, func(op huma.Operation) {
		op.RejectUnknownQueryParameters = true // a filter that is misspelt would select all
		huma.Register(api, op, func(ctx context.Context, in *EventFilter) (*struct{ Body Events }, error) {
			out, err := s.events(ctx, in)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body Events }{out}, nil
		})
	})
	s.route(api, http.MethodGet, "/api/v1/events/{id}", "eventShow", "One event, with its body, its standing and who saw it", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			ID string `path:"id" maxLength:"128" doc:"of an event, or the index of one of the own log"`
		}) (*struct{ Body EventDetail }, error) {
			out, err := s.eventDetail(ctx, in.ID)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body EventDetail }{out}, nil
		})
	})
	s.watchRoute(api)
}

// queryOf reads a filter. Its organization is one whose log is held, or that the charter lists.
func (s *server) queryOf(ctx context.Context, in *EventFilter) (attestation.Query, error) {
	q, err := in.query()
	if err != nil || in.Org == "" {
		return q, err
	}
	if q.Org, err = s.logOf(ctx, in.Org); err != nil {
		return q, err
	}
	known, err := s.origins(ctx, q.Org)
	if err == nil && len(known) == 0 && q.Org != s.Node.Org {
		err = noLog(q.Org)
	}
	return q, err
}

// logOf is the organization with that DID, name or domain.
func (s *server) logOf(ctx context.Context, who string) (did.DID, error) {
	if who == selfWord {
		return s.Node.Org, nil
	}
	d, err := s.called(ctx, who)
	if refused := (*fault.Denied)(nil); errors.As(err, &refused) { // what names nobody is no name
		err = fault.New(fault.Invalid, "org", "org: %s", refused.Detail).WithHint("%s", cmp.Or(refused.Hint, "give a DID, or the name or domain that lists show"))
	}
	return d, err
}

func (in *EventFilter) query() (q attestation.Query, err error) {
	q = attestation.Query{Type: attestation.Type(in.Type), Subject: in.Subject, Any: in.Any, Limit: in.Limit, Cursor: in.Cursor,
		Level: levels[in.Level], Standing: standings[in.Standing], Order: orders[in.Order]}
	for _, f := range []struct {
		name, text string
		read       func(string) error
	}{
		{"actor", in.Actor, func(t string) (err error) { q.Actor, err = did.Parse(t); return err }},
		{"ref", in.Ref, func(t string) (err error) { q.Ref, err = envelope.ParseID(t); return err }},
		{"since", in.Since, func(t string) (err error) { q.Since, err = envelope.ParseTime(t); return err }},
		{"until", in.Until, func(t string) (err error) { q.Until, err = envelope.ParseTime(t); return err }},
	} {
		if f.text == "" {
			continue
		}
		if err := f.read(f.text); err != nil {
			return q, fault.New(fault.Invalid, f.name, "%s: %v", f.name, err)
		}
	}
	return q, nil
}

// The words of a query; huma has refused all others.
var (
	levels    = map[string]attestation.Level{"logged": attestation.Logged, "authored": attestation.Authored}
	orders    = map[string]attestation.Order{"log": attestation.ByLog, "ingest": attestation.ByIngest}
	standings = map[string]attestation.Standing{"valid": attestation.Valid, "pending": attestation.Pending, "disputed": attestation.Disputed, "contested": attestation.Contested, "void": attestation.Void}
)

func (s *server) events(ctx context.Context, in *EventFilter) (Events, error) {
	q, err := s.queryOf(ctx, in)
	if err != nil {
		return Events{}, err
	}
	page, err := s.query(ctx, q)
	if err != nil {
		return Events{}, err
	}
	out := Events{Events: []Event{}, Cursor: page.Next, Tail: page.Tail}
	look := s.sight()
	for _, f := range page.Found {
		out.Events = append(out.Events, look.event(f))
	}
	out.Origins, err = s.origins(ctx, q.Org)
	return out, err
}

// origins says how far the logs are held that a query of one organization, or of all, could
// touch. A log of which nothing is held is named where the charter lists its organization.
func (s *server) origins(ctx context.Context, only did.DID) ([]Origin, error) {
	heads, err := s.Node.Rec.Heads(ctx)
	if err != nil {
		return nil, err
	}
	out := []Origin{}
	add := func(d did.DID, held, known uint64) {
		if !only.IsZero() && d != only {
			return
		}
		o := Origin{Org: d.String(), Held: held, Known: known, ForkedAt: s.forkedAt(ctx, d)}
		if age, ok := s.Member.Stated(d); ok {
			o.AgeS = seconds(age)
		}
		out = append(out, o)
	}
	seen := map[did.DID]bool{}
	for _, h := range heads {
		seen[h.Org] = true
		add(h.Org, h.Size, h.Known)
	}
	if c, ok := s.Member.Charter(); ok {
		for _, m := range c.Head().Members {
			if !seen[m.DID] {
				add(m.DID, 0, 0)
			}
		}
	}
	slices.SortFunc(out, func(a, b Origin) int { return cmp.Compare(a.Org, b.Org) })
	return out, nil
}

func seconds(d time.Duration) *int64 {
	n := int64(d / time.Second)
	return &n
}

// sight sees events as one answer shows them: under the charter in force at its time.
type sight struct {
	s      *server
	active map[did.DID]bool
	need   int
	skew   time.Duration // that clocks may differ by
}

func (s *server) sight() *sight {
	by, need := s.witnesses(did.DID{})
	g := &sight{s: s, active: map[did.DID]bool{}, need: need}
	if c, ok := s.Member.Charter(); ok {
		g.skew = time.Duration(c.Head().Policy.ClockSkewS) * time.Second
	}
	for _, d := range by {
		g.active[d] = true
	}
	return g
}

// event shows one event. What has not the form of one has a place and a standing only.
func (g *sight) event(f attestation.Found) Event {
	seen := g.s.Events.Witnessed(f.Org, f.Index)
	out := Event{ID: f.Entry.ID().String(), Org: f.Org.String(), Index: f.Index, Level: f.Verdict.Level.String(), Standing: f.Verdict.Standing.String(),
		Reason: string(f.Verdict.Reason), Witnessed: g.counted(f.Org, seen), Words: "not an event"}
	if env, ev, err := f.Entry.Envelope(); err == nil {
		out.Event, out.Words = json.RawMessage(env.Body), attestation.Words(ev)
		out.Clock = clockAhead(ev.At, seen, g.s.Node.Org, g.skew)
	}
	return out
}

// witnessed says who has cosigned a head over one entry.
func (g *sight) witnessed(org did.DID, index uint64) Witnessed {
	return g.counted(org, g.s.Events.Witnessed(org, index))
}

// counted are those of some sightings of a log's entry that count.
func (g *sight) counted(org did.DID, seen []attestation.Seen) Witnessed {
	out := Witnessed{Need: g.need, By: []Sighting{}}
	for _, w := range seen {
		if g.active[w.Org] && w.Org != org {
			out.By = append(out.By, Sighting{Org: w.Org.String(), At: w.At.String()})
		}
	}
	out.Have = len(out.By)
	return out
}

func (s *server) eventDetail(ctx context.Context, text string) (EventDetail, error) {
	found, err := s.Party.Event(ctx, text)
	if fault.Of(err) == fault.NotFound && asOperator(ctx) {
		if id, bad := envelope.ParseID(text); bad == nil {
			err = s.Party.Absent(ctx, id)
		}
	}
	if err != nil {
		return EventDetail{}, err
	}
	look, f := s.sight(), found[0]
	out := EventDetail{Event: look.event(f)}
	for _, o := range found[1:] {
		out.Elsewhere = append(out.Elsewhere, Place{Org: o.Org.String(), Index: o.Index})
	}
	if asOperator(ctx) && out.Witnessed.Have < out.Witnessed.Need {
		out.Missing = look.missing(f.Org, out.Witnessed)
	}
	if out.Body, err = s.bodyOf(ctx, f); err != nil || out.Body != nil {
		return out, err
	}
	if _, ev, bad := f.Entry.Envelope(); bad == nil && !ev.Body.IsZero() {
		_, at, erased, err := s.Node.Rec.ErasedBody(ctx, ev.Body)
		if err != nil {
			return EventDetail{}, err
		}
		if erased {
			out.Erased = &at
		}
	}
	return out, nil
}

// missing lists who could still cosign, those first that were silent longest.
func (g *sight) missing(origin did.DID, w Witnessed) (out []Silent) {
	for d := range g.active {
		if d == origin || slices.ContainsFunc(w.By, func(b Sighting) bool { return b.Org == d.String() }) {
			continue
		}
		m := Silent{Org: d.String()}
		if age, ok := g.s.Member.Silent(d); ok {
			m.SilentS = seconds(age)
		} else if d == g.s.Node.Org {
			m.SilentS = new(int64)
		}
		out = append(out, m)
	}
	rank := func(m Silent) int64 {
		if m.SilentS == nil {
			return -1 << 62
		}
		return -*m.SilentS
	}
	slices.SortFunc(out, func(a, b Silent) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Org, b.Org)) })
	return out
}

// bodyOf returns the body of an event where it is held, and the caller may read it: anyone
// what is for every member, the operator all.
func (s *server) bodyOf(ctx context.Context, f attestation.Found) (json.RawMessage, error) {
	_, ev, err := f.Entry.Envelope()
	if err != nil || ev.Body.IsZero() {
		return nil, nil
	}
	rule, known := attestation.RuleOf(ev.Type)
	if public := known && rule.Readers == attestation.ReadersPublic; !public && !asOperator(ctx) {
		return nil, nil
	}
	b, err := s.Node.Rec.Body(ctx, ev.Body)
	if errors.Is(err, attestation.ErrNotFound) {
		return nil, nil
	}
	if err == nil && !json.Valid(b) {
		return nil, nil // a peer's, of no form that is shown
	}
	return b, err
}
