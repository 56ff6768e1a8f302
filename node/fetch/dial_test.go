package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/did"
)

// TestPrivateAddressesAreNotDialed: the name says nothing of where it leads, the address does. The server listens on
// 127.0.0.1; every spelling of it is refused before a connection is made.
func TestPrivateAddressesAreNotDialed(t *testing.T) {
	for name, addrs := range map[string][]string{
		"loopback":                     {"127.0.0.1"},
		"another loopback":             {"127.0.0.2"},
		"mapped into IPv6":             {"::ffff:127.0.0.1"},
		"behind a translator":          {"64:ff9b::7f00:1"},
		"loopback of IPv6":             {"::1"},
		"unspecified":                  {"0.0.0.0"},
		"unspecified of IPv6":          {"::"},
		"the metadata service":         {"169.254.169.254"},
		"several, none of them public": {"10.0.0.1", "127.0.0.1", "fd00::1"},
	} {
		w := newWorld(t, says(200, "{}"))
		w.config.AllowCIDRs = nil
		w.dns.names["example.com"] = addrs
		m, err := w.fetcher().Material(t.Context(), w.did("example.com"))
		var refused *AddressError
		if cause(err) != CauseAddress || !errors.As(err, &refused) || !errors.Is(err, did.ErrUnavailable) || m.Log != nil {
			t.Errorf("%s: got %q, %v", name, m.Log, err)
		}
		if n := w.lis.accepted.Load(); n != 0 {
			t.Errorf("%s: %d connections", name, n)
		}
		if n := w.judged.Load(); n < int64(len(addrs)) {
			t.Errorf("%s: %d addresses judged, want %d", name, n, len(addrs))
		}
	}
}

// TestRebinding: the address that is connected to is the one that was judged, so an answer that changes helps nobody.
func TestRebinding(t *testing.T) {
	w := newWorld(t, says(200, "{}"))
	f := w.fetcher()
	if _, err := f.Material(t.Context(), w.did("example.com")); err != nil {
		t.Fatal(err)
	}
	w.dns.names["example.com"] = []string{"192.168.0.1"}
	if _, err := f.Material(t.Context(), w.did("example.com")); cause(err) != CauseAddress {
		t.Errorf("got %v", err)
	}
	if n := w.lis.accepted.Load(); n != 1 {
		t.Errorf("%d connections, want the first alone", n)
	}
}

func TestNamesAreLookedUpAsTheyAre(t *testing.T) {
	w := newWorld(t, says(200, "{}"))
	_, err := w.fetcher().Material(t.Context(), w.did("intranet.example"))
	if cause(err) != CauseName || !errors.Is(err, did.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if got := w.dns.asked(); len(got) == 0 || slices.ContainsFunc(got, func(s string) bool { return s != "intranet.example" }) {
		t.Errorf("asked for %q", got)
	}
	for host, want := range map[string]string{"a.example": "a.example.", "localhost": "localhost", "127.0.0.1": "127.0.0.1", "::1": "::1"} {
		if got := absolute(host); got != want {
			t.Errorf("%s: got %s, want %s", host, got, want)
		}
	}
}

func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "http://127.0.0.1:1")
	w := newWorld(t, says(200, "{}"))
	if _, err := w.fetcher().Material(t.Context(), w.did("example.com")); err != nil {
		t.Error(err)
	}
	if p := NewTransport(Config{}).Proxy; p != nil {
		t.Error("the transport has a proxy")
	}
}

func TestNothingListens(t *testing.T) {
	w := newWorld(t, says(200, "{}"))
	d := w.did("example.com")
	w.server.Close()
	if _, err := w.fetcher().Material(t.Context(), d); cause(err) != CauseConnect || !errors.Is(err, did.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// silent is a server that accepts a connection and then says nothing. It tells of the end of each.
func silent(t *testing.T) (d did.DID, began, ended chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	began, ended = make(chan struct{}), make(chan struct{})
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		close(began)
		io.Copy(io.Discard, c)
		close(ended)
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return did.MustParse("did:web:example.com%3A" + port), began, ended
}

func within(t *testing.T, limit time.Duration, c chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(limit):
		t.Errorf("not within %v", limit)
	}
}

// TestSilentHandshake: such a server costs the time of one fetch, and the connection ends with it.
func TestSilentHandshake(t *testing.T) {
	w := newWorld(t, says(200, "{}"))
	d, _, ended := silent(t)
	f := w.quick()
	start := time.Now()
	if _, err := f.Material(t.Context(), d); cause(err) != CauseTimeout || time.Since(start) > 3*time.Second {
		t.Errorf("got %v after %v", err, time.Since(start))
	}
	within(t, 3*time.Second, ended)
}

// TestDialEndsWithItsCaller: net/http lets a dial go on that nobody waits for; here it is ended.
func TestDialEndsWithItsCaller(t *testing.T) {
	w := newWorld(t, says(200, "{}"))
	d, began, ended := silent(t)
	ctx, cancel := context.WithCancel(t.Context())
	got := start(w.fetcher(), ctx, d)
	<-began
	cancel()
	if o := <-got; cause(o.err) != CauseCancelled {
		t.Errorf("got %v", o.err)
	}
	within(t, budget/2, ended)
}

// TestTransportForOthers: what other packages build on refuses by itself.
func TestTransportForOthers(t *testing.T) {
	var hits atomic.Int64
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		if r.URL.Path == "/away" {
			http.Redirect(rw, r, "https://127.0.0.1:1/", http.StatusFound)
		}
	}))
	_, port, _ := net.SplitHostPort(w.lis.Addr().String())
	client := &http.Client{Transport: NewTransport(w.config)}
	resp, err := client.Post("https://example.com:"+port, "application/json", strings.NewReader("{}"))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("got %v, %v", resp, err)
	}
	resp.Body.Close()
	if _, err := client.Get("http://example.com:" + port); !errors.Is(err, errPlain) {
		t.Errorf("http: got %v", err)
	}
	w.config.AllowCIDRs = nil
	client = &http.Client{Transport: NewTransport(w.config)}
	for _, url := range []string{"https://example.com:" + port, "https://127.0.0.1:" + port, "https://[::1]:" + port, "https://localhost:" + port} {
		var refused *AddressError
		if _, err := client.Get(url); !errors.As(err, &refused) {
			t.Errorf("%s: got %v", url, err)
		}
	}
	if hits.Load() != 1 {
		t.Errorf("%d requests reached the server", hits.Load())
	}
}

func TestContextIsHeeded(t *testing.T) {
	entered := make(chan struct{}, 1)
	w := newWorld(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-r.Context().Done()
	}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-entered
		cancel()
	}()
	_, err := w.fetcher().Material(ctx, w.did("example.com"))
	if cause(err) != CauseCancelled || !errors.Is(err, context.Canceled) || !errors.Is(err, did.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if _, err := w.fetcher().Material(ctx, w.did("example.com")); cause(err) != CauseCancelled {
		t.Errorf("with an ended context: got %v", err)
	}
}
