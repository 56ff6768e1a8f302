package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// TestAWatchOutlivesItsNode: a watch tells each event once while its node is killed and
// started again, and ends with 0 when it is interrupted.
func TestAWatchOutlivesItsNode(t *testing.T) {
	t.Parallel()
	f := newFolk(t)
	alone(f)
	f.operator("solo")
	cmd := f.command("event", "watch", "--data", "solo", "--type", "agent.", "--since", "2020-01-01T00:00:00Z", "--json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	lines := make(chan watched)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			var w watched
			if json.Unmarshal(s.Bytes(), &w) != nil {
				return
			}
			lines <- w
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	cursor := ""
	next := func(agent string) {
		t.Helper()
		select {
		case w, ok := <-lines:
			if !ok || !strings.Contains(w.Words, `"`+agent+`"`) || w.Cursor == "" || w.Cursor == cursor {
				t.Fatalf("got %+v, want %s", w, agent)
			}
			cursor = w.Cursor
		case <-time.After(40 * time.Second):
			t.Fatalf("nothing of %s", agent)
		}
	}
	next("research")
	next("quant")
	f.must("agent", "add", "--data", "solo", "third", "--can", "lend")
	next("third")
	f.kill("solo")
	f.must("agent", "add", "--data", "solo", "meanwhile", "--can", "lend") // by a command that opens the directory
	f.start("solo")
	next("meanwhile")
	f.must("agent", "add", "--data", "solo", "last", "--can", "lend")
	next("last")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for w := range lines {
		t.Errorf("more than once: %+v", w)
	}
	if err := cmd.Wait(); err != nil || strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), "away") {
		t.Errorf("ended with %v, said %q", err, said.String())
	}
}

// TestAWatchSaysWhyItWaits: what a node answers is told once for as long as it is the same, and a watch ends with an
// answer that would not change.
func TestAWatchSaysWhyItWaits(t *testing.T) {
	dir := logged(t)
	busy, other := fault.New(fault.RateLimited, "watch", "64 streams are open already").WithHint("close one of them"), fault.New(fault.Unavailable, "drain", "").WithHint("it is slow")
	answers := []error{busy, busy, other, nil}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/events/watch" {
			_, _ = io.WriteString(w, `{"events":[],"origins":[]}`)
			return
		}
		err := answers[0]
		if answers = answers[1:]; err == nil {
			_, _ = io.WriteString(w, "id: x\ndata: of another program\n\n")
			return
		}
		p := fault.ProblemOf(err)
		w.WriteHeader(p.Status)
		_ = json.NewEncoder(w).Encode(p)
	}))
	defer srv.Close()
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(f, "%d\n%s\n", os.Getpid(), srv.Listener.Addr()); err != nil {
		t.Fatal(err)
	}
	a := call("event", "watch", "--data", dir)
	if a.code != exitFailed || len(answers) != 0 || strings.Count(a.err, "hint: close one of them\n") != 1 || strings.Count(a.err, "hint: it is slow\n") != 1 || strings.Contains(a.err, "away") {
		t.Error(a)
	}
}

// TestWhatLasts: asking again is worth it after a connection that ended and what the node says of now, and after nothing else.
func TestWhatLasts(t *testing.T) {
	_, refused := net.Dial("tcp", "127.0.0.1:1")
	for _, c := range []struct {
		err    error
		lasts  bool
		isAway bool
	}{
		{nil, false, true}, {refused, false, true}, {io.ErrUnexpectedEOF, false, true}, {context.Canceled, false, true},
		{fault.New(fault.Unavailable, httpapi.ReasonNoNode, ""), false, true}, {fault.New(fault.Unavailable, httpapi.ReasonNotRunning, ""), false, true},
		{fault.New(fault.RateLimited, "watch", ""), false, false}, {fault.New(fault.Unavailable, "drain", ""), false, false},
		{fault.New(fault.Invalid, "cursor", ""), true, false}, {fault.New(fault.Internal, "", ""), true, false}, {fault.New(fault.Unauthenticated, "token", ""), true, false},
		{bufio.ErrTooLong, true, false}, {json.Unmarshal([]byte("{"), new(int)), true, false}, {os.ErrPermission, true, false}, {errOutput, true, false},
	} {
		if got := lasting(c.err); got != c.lasts {
			t.Errorf("%v: lasting %v", c.err, got)
		}
		if !c.lasts && (waitsFor(c.err).hint == "" && strings.Contains(waitsFor(c.err).what, "away")) != c.isAway {
			t.Errorf("%v: %q", c.err, waitsFor(c.err))
		}
	}
}
