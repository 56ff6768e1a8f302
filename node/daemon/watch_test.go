package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// watching reads a stream until a number of events came.
func (s *seat) watching(query, last string, n int) (names []string, cursor string, err error) {
	enough := errors.New("enough")
	ctx, cancel := context.WithTimeout(s.t.Context(), 40*time.Second)
	defer cancel()
	api := &httpapi.Client{Base: s.api.Base, Token: s.api.Token, HTTP: &http.Client{}}
	err = api.Watch(ctx, "/api/v1/events/watch?"+query, last, func(c string, e httpapi.Event) error {
		cursor = c
		if e.ID != "" {
			if names = append(names, e.Words); len(names) == n {
				return enough
			}
		}
		return nil
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return names, cursor, err
}

// TestEventsAreFollowed: a watch tells what comes, once and in order, goes on behind what its
// reader has handled, across a restart too, and ends when the node stops.
func TestEventsAreFollowed(t *testing.T) {
	s := newSeat(t, "acme")
	s.start()
	agent := func(n int) {
		s.must(http.MethodPost, "/api/v1/agents", map[string]any{"name": fmt.Sprintf("agent%d", n), "can": []string{"lend"}}, nil)
	}
	agent(0)
	soon(t, "the first agent counts", func() bool {
		var l httpapi.Events
		s.must(http.MethodGet, "/api/v1/events?type=agent.issued", nil, &l)
		return len(l.Events) == 1
	})
	began := make(chan string, 1)
	go func() { // a watch from now on: agent0 is not of it
		ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
		defer cancel()
		api := &httpapi.Client{Base: s.api.Base, Token: s.api.Token, HTTP: &http.Client{}}
		_ = api.Watch(ctx, "/api/v1/events/watch?type=agent.", "", func(c string, _ httpapi.Event) error { began <- c; return errors.New("enough") })
	}()
	cursor := <-began
	for n := 1; n <= 5; n++ {
		agent(n)
	}
	says := func(names []string, from, to int) bool {
		want := []string{}
		for n := from; n <= to; n++ {
			want = append(want, fmt.Sprintf(`agent "agent%d"`, n))
		}
		return slices.EqualFunc(names, want, func(a, b string) bool { return len(a) > len(b) && a[:len(b)] == b })
	}
	got, cursor, err := s.watching("type=agent.", cursor, 3)
	if err != nil || !says(got, 1, 3) {
		t.Fatalf("%q (%v)", got, err)
	}
	s.stop()
	s.start()
	got, cursor, err = s.watching("type=agent.", cursor, 2)
	if err != nil || !says(got, 4, 5) {
		t.Fatalf("after a restart: %q (%v)", got, err)
	}
	if got, _, err = s.watching("type=agent.&since=2020-01-01T00:00:00Z", "", 6); err != nil || !says(got, 0, 5) {
		t.Fatalf("from a time on: %q (%v)", got, err)
	}
	if _, _, err = s.watching("type=loan.", cursor, 1); fault.From(err).Code != fault.Invalid || fault.From(err).Reason != "cursor" {
		t.Errorf("a cursor of another filter: %v", err)
	}

	ended := make(chan error, 1)
	go func() {
		_, _, err := s.watching("type=agent.", cursor, 1)
		ended <- err
	}()
	time.Sleep(50 * time.Millisecond)
	start := time.Now()
	s.stop()
	if err := <-ended; err != nil && errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 20*time.Second {
		t.Errorf("the stream outlives the node: %v", err)
	}
}

// TestWatchesAreBounded: no more streams are open at once than the limit, and one that is
// closed makes room.
func TestWatchesAreBounded(t *testing.T) {
	s := newSeat(t, "acme")
	s.start()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	api := &httpapi.Client{Base: s.api.Base, Token: s.api.Token, HTTP: &http.Client{}}
	begun := make(chan bool)
	refused := make(chan error)
	open := func(ctx context.Context) {
		first := true
		err := api.Watch(ctx, "/api/v1/events/watch", "", func(string, httpapi.Event) error {
			if first {
				first = false
				begun <- true
			}
			return nil
		})
		if first {
			refused <- err
		}
	}
	one, closeOne := context.WithCancel(ctx)
	defer closeOne()
	for i := range 64 {
		if i == 0 {
			go open(one)
		} else {
			go open(ctx)
		}
	}
	for range 64 {
		select {
		case <-begun:
		case err := <-refused:
			t.Fatal(err)
		}
	}
	go open(ctx)
	if err := <-refused; fault.From(err).Code != fault.RateLimited {
		t.Fatalf("one more: %v", err)
	}
	closeOne()
	soon(t, "a place for another", func() bool {
		go open(ctx)
		select {
		case <-begun:
			return true
		case <-refused:
			return false
		}
	})
}

// begun is a connection that does something as the answer begins.
type begun struct {
	http.ResponseWriter
	then func()
}

func (b *begun) WriteHeader(code int) {
	b.then()
	b.ResponseWriter.WriteHeader(code)
}

func (b *begun) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// TestAWatchMissesNothingAsItBegins: what comes between the first look and the first answer is told by the next one, not
// by the heartbeat.
func TestAWatchMissesNothingAsItBegins(t *testing.T) {
	s := newSeat(t, "acme")
	s.start()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.node.Handler().ServeHTTP(&begun{w, func() {
			s.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "one", Can: []string{"lend"}}, nil)
			soon(t, "it counts", func() bool {
				var l httpapi.Events
				s.must(http.MethodGet, "/api/v1/events?type=agent.issued", nil, &l)
				return len(l.Events) == 1
			})
		}}, r)
	}))
	defer srv.Close()
	ctx, cancel := context.WithTimeout(t.Context(), httpapi.Heartbeat*2/3)
	defer cancel()
	told := errors.New("told")
	api := &httpapi.Client{Base: srv.URL, Token: s.api.Token, HTTP: &http.Client{}}
	err := api.Watch(ctx, "/api/v1/events/watch?type=agent.", "", func(_ string, e httpapi.Event) error {
		if e.ID != "" {
			return told
		}
		return nil
	})
	if !errors.Is(err, told) {
		t.Errorf("before the first heartbeat: %v", err)
	}
}
