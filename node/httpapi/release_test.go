package httpapi

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// released serves answers of n bytes and tells how each Send ended.
func released(t *testing.T, n int, within time.Duration, before func(*release)) (addr string, ended chan error) {
	t.Helper()
	ended = make(chan error, 64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		send := &release{ctx: humago.NewContext(&huma.Operation{}, r, w), within: within}
		if before != nil {
			before(send)
		}
		ended <- send.Send([]byte(strings.Repeat("x", n)))
	}))
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().String(), ended
}

// deaf asks and then does not read.
func deaf(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return c
}

const unreadable = 64 << 20 // more than the kernel keeps for a connection

func TestAnAnswerNobodyReadsIsGivenUp(t *testing.T) {
	addr, ended := released(t, unreadable, 50*time.Millisecond, nil)
	deaf(t, addr)
	var timeout net.Error
	if err := <-ended; !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("got %v", err)
	}
}

func TestAnAbortedAnswerIsGivenUp(t *testing.T) {
	sends := make(chan *release, 1)
	addr, ended := released(t, unreadable, time.Hour, func(r *release) { sends <- r })
	c := deaf(t, addr)
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil { // the answer is on its way
		t.Fatal(err)
	}
	(<-sends).Abort()
	var timeout net.Error
	if err := <-ended; !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("got %v", err)
	}
}

func TestWhatWasAbortedBeforeIsNeverWritten(t *testing.T) {
	addr, ended := released(t, 10, time.Hour, (*release).Abort)
	res, err := http.Get("http://" + addr)
	if err == nil {
		b, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if strings.Contains(string(b), "x") {
			t.Errorf("%q was written", b)
		}
	}
	if err := <-ended; !errors.Is(err, errAborted) {
		t.Errorf("got %v", err)
	}
}

// TestADeadlineEndsWithItsAnswer: a connection is used again after longer than an answer
// may take.
func TestADeadlineEndsWithItsAnswer(t *testing.T) {
	addr, ended := released(t, 10, 50*time.Millisecond, nil)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := bufio.NewReader(c)
	for range 2 {
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(res.Body); err != nil || string(b) != "xxxxxxxxxx" || <-ended != nil {
			t.Errorf("got %q, %v", b, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestAnAnswerInProcessHasNoDeadline(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := (&release{ctx: humago.NewContext(&huma.Operation{}, r, w), within: time.Hour}).Send([]byte("x")); err != nil {
			t.Errorf("got %v", err)
		}
	})
	if b, err := InProcess(h, "").Send(t.Context(), http.MethodGet, "/", "", nil); err != nil || string(b) != "x" {
		t.Errorf("got %q, %v", b, err)
	}
}
