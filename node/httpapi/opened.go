package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/node/fault"
)

// Limits of what strangers ask, where the configuration opens events to them.
const (
	// maxPublicCalls is how many of their calls are answered at once, tiles among them; streams have places of their own.
	maxPublicCalls = 16
	// publicWrite is how long one of them may take to read its answer, so that nobody keeps a place by reading slowly.
	publicWrite = 30 * time.Second
	// publicWatchLife is how long a stream of theirs lasts: others get its place, and its cursor goes on from there.
	publicWatchLife = 5 * time.Minute
)

// publicEvents are the operations that need no token where the configuration says so.
var publicEvents = map[string]bool{"eventList": true, "eventShow": true, "eventProve": true, "eventC2SP": true, "eventWatch": true, "logHead": true}

// opened reports whether the configuration opens an operation.
func (s *server) opened(id string) bool { return s.PublicEvents && publicEvents[id] }

// openly answers a stranger's call of an opened operation, as one of few.
func (s *server) openly(api huma.API, ctx huma.Context, next func(huma.Context)) {
	if ctx.Operation().OperationID == watchID {
		next(ctx)
		return
	}
	w, _ := ctx.BodyWriter().(http.ResponseWriter)
	leave, err := s.enter(w)
	if err != nil {
		writeProblem(api, ctx, err)
		return
	}
	defer leave()
	next(ctx)
}

// enter takes a place among the calls of strangers, which leave gives back. fault.RateLimited where none is free.
func (s *server) enter(w http.ResponseWriter) (leave func(), err error) {
	leave, ok := take(s.publicCalls)
	if !ok {
		return nil, fault.New(fault.RateLimited, "public", "%d calls without a token are under way", cap(s.publicCalls)).WithHint("ask again in a moment")
	}
	if err := known(http.NewResponseController(w).SetWriteDeadline(time.Now().Add(publicWrite))); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// take puts an item into places, which leave takes out; false where they are full.
func take(places chan struct{}) (leave func(), ok bool) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, true
	default:
		return nil, false
	}
}

// lifetime ends a stranger's stream in time.
func (w *watch) lifetime(ctx context.Context) (context.Context, context.CancelFunc) {
	if w.public {
		return context.WithTimeout(ctx, publicWatchLife)
	}
	return context.WithCancel(ctx)
}
