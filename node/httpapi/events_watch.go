package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/attestation"
	"trustnode/node/fault"
)

// Limits of streams of events.
const (
	// maxWatches is how many streams the operator has at once; strangers have fewer, where
	// they have any. Each holds a connection and nothing else: what waits is in the log.
	maxWatches       = 64
	maxPublicWatches = 16
	// Heartbeat is the longest silence on a stream.
	Heartbeat = 15 * time.Second
	// watchWrite is how long a client may take for one page.
	watchWrite = 30 * time.Second
	// watchPage is the most events of one write: 16 KiB each, and their witnesses.
	watchPage = 100
	// watchGather is how long what comes together is gathered before it is looked for.
	watchGather = 20 * time.Millisecond
	// maxWatchLine is the longest line of a stream that a client reads, in bytes.
	maxWatchLine = 1 << 20
)

// watchID is the id of the one operation whose answer has no end.
const watchID = "eventWatch"

// watchRoute streams events as they come, as server-sent events whose id is a cursor.
func (s *server) watchRoute(api huma.API) {
	s.route(api, http.MethodGet, "/api/v1/events/watch", watchID, "Events as they come: server-sent events, id is the cursor to go on from", http.StatusOK, func(op huma.Operation) {
		op.RejectUnknownQueryParameters = true
		op.Responses = map[string]*huma.Response{"200": {Description: "one event of the stream for each event, as eventList gives it", Content: map[string]*huma.MediaType{"text/event-stream": {}}}}
		huma.Register(api, op, func(ctx context.Context, in *struct {
			EventFilter
			LastEventID string `header:"Last-Event-ID" maxLength:"16384" doc:"goes before cursor"`
		}) (*huma.StreamResponse, error) {
			w, err := s.watch(ctx, &in.EventFilter, in.LastEventID)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &huma.StreamResponse{Body: w.stream}, nil
		})
	})
}

// watch is one stream.
type watch struct {
	s       *server
	q       attestation.Query
	page    attestation.Page // found and not sent yet
	changed <-chan struct{}  // closed when something may have come since page was looked for
	public  bool             // a stranger's
	done    func()           // gives the place back
}

// watch begins a stream where the last one ended, or with what comes from now on. With since
// and no cursor it begins with what is held.
func (s *server) watch(ctx context.Context, in *EventFilter, last string) (*watch, error) {
	q, err := s.queryOf(ctx, in)
	if err != nil {
		return nil, err
	}
	q.Order, q.Limit = attestation.ByIngest, watchPage
	if last != "" {
		q.Cursor = last
	}
	if s.Info().P2P == nil {
		return nil, fault.New(fault.Unavailable, ReasonNotRunning, "no node runs here, so nothing comes").WithHint("trustnode run, then look again")
	}
	w := &watch{s: s, q: q, public: !asOperator(ctx)}
	places := s.watches
	if w.public {
		places = s.publicWatches
	}
	var ok bool
	if w.done, ok = take(places); !ok {
		return nil, fault.New(fault.RateLimited, "watch", "%d streams are open already", cap(places)).WithHint("close one of them")
	}
	if err := w.first(ctx); err != nil {
		w.done()
		return nil, err
	}
	return w, nil
}

// first looks for the first page.
func (w *watch) first(ctx context.Context) (err error) {
	if w.q.Cursor == "" && w.q.Since.IsZero() {
		if w.q.Cursor, err = w.s.Events.Tail(ctx, w.q); err != nil {
			return err
		}
	}
	return w.look(ctx)
}

// look looks for what follows. What comes meanwhile closes changed, so that none of it waits for the heartbeat.
func (w *watch) look(ctx context.Context) (err error) {
	w.changed = w.s.Node.Rec.Changed()
	w.page, err = w.s.query(ctx, w.q)
	return err
}

// stream sends until the client goes, the node stops, a write takes too long, or a stranger's time is up.
func (w *watch) stream(hctx huma.Context) {
	defer w.done()
	hctx.SetHeader("Content-Type", "text/event-stream")
	hctx.SetHeader("X-Accel-Buffering", "no") // for a proxy that would gather what is sent
	hctx.SetStatus(http.StatusOK)
	beat := time.NewTicker(Heartbeat)
	defer beat.Stop()
	out, ok := hctx.BodyWriter().(http.ResponseWriter)
	if !ok {
		return
	}
	line := http.NewResponseController(out)
	ctx, cancel := w.lifetime(hctx.Context())
	defer cancel()
	for {
		if line.SetWriteDeadline(time.Now().Add(watchWrite)) != nil || w.send(out) != nil || line.Flush() != nil {
			return
		}
		more := w.page.Next != "" && ctx.Err() == nil && !closed(w.s.Stopping)
		if !more && !w.wait(ctx, beat.C) {
			return
		}
		if err := w.look(ctx); err != nil {
			if ctx.Err() == nil {
				w.s.log.WarnContext(ctx, "a stream of events ends", "err", err)
			}
			return
		}
	}
}

// wait waits until it may be worth looking again; false ends the stream.
func (w *watch) wait(ctx context.Context, beat <-chan time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-w.s.Stopping:
		return false
	case <-beat:
		return true
	case <-w.changed:
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(watchGather):
		return true
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// send writes the page, and where to go on: a client remembers that even where no event was
// for it. Without an event it is the heartbeat.
func (w *watch) send(out io.Writer) error {
	var b bytes.Buffer
	look := w.s.sight()
	for _, f := range w.page.Found {
		data, err := json.Marshal(look.event(f))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "id: %s\ndata: %s\n\n", f.Cursor, data)
	}
	if w.q.Cursor = w.page.Next; w.q.Cursor == "" {
		w.q.Cursor = w.page.Tail
	}
	fmt.Fprintf(&b, ": %s\nid: %s\n\n", time.Now().UTC().Format(time.RFC3339), w.q.Cursor)
	_, err := out.Write(b.Bytes())
	return err
}

// Watch reads a stream of events from path, which holds the filter, behind the cursor last,
// until ctx ends, the stream does, or yield returns an error, which is returned. yield is
// given each event, and the cursor behind it; an event without an id is a cursor alone. A
// stream that is silent for three heartbeats has ended.
func (c *Client) Watch(ctx context.Context, path, last string, yield func(cursor string, e Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, err := c.do(ctx, http.MethodGet, path, "", nil, "Accept", "text/event-stream", "Last-Event-ID", last)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := refusedBy(res); err != nil {
		return err
	}
	silence := time.AfterFunc(3*Heartbeat, cancel)
	defer silence.Stop()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxWatchLine)
	var id string
	var e Event
	for lines.Scan() {
		silence.Reset(3 * Heartbeat)
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			id = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				return err
			}
		case "": // the end of an event, or a comment
			if lines.Text() == "" && id != "" {
				if err := yield(id, e); err != nil {
					return err
				}
				id, e = "", Event{}
			}
		}
	}
	return lines.Err()
}
