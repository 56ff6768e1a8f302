package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didweb"
	"trustnode/node/fault"
)

func cause(err error) Cause {
	var e *Error
	if errors.As(err, &e) {
		return e.Cause
	}
	return 0
}

func TestFetchWeb(t *testing.T) {
	var seen *http.Request
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		seen = r
		http.SetCookie(rw, &http.Cookie{Name: "c", Value: "1"})
		rw.Write(document("did:web:x"))
	}))
	f := w.fetcher()
	for range 2 {
		got, err := f.Fetch(t.Context(), w.did("example.com", "user", "alice"))
		if err != nil {
			t.Fatal(err)
		}
		want := Fetched{did.Material{Log: document("did:web:x")}, sha256.Sum256(w.server.Certificate().RawSubjectPublicKeyInfo)}
		if !bytes.Equal(got.Material.Log, want.Material.Log) || got.Material.Witness != nil || got.SPKI != want.SPKI {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if seen.URL.Path != "/user/alice/did.json" || seen.Method != http.MethodGet || seen.ProtoMajor != 1 {
		t.Errorf("got %s %s %s", seen.Method, seen.URL, seen.Proto)
	}
	want := http.Header{"User-Agent": {"trustnode"}, "Accept-Encoding": {"identity"}, "Connection": {"close"}}
	if len(seen.Header) != len(want) {
		t.Errorf("got header %v, want %v", seen.Header, want)
	}
	for k := range want {
		if !slices.Equal(seen.Header[k], want[k]) {
			t.Errorf("got %s %q, want %q", k, seen.Header[k], want[k])
		}
	}
}

func TestFetchWebvh(t *testing.T) {
	for name, c := range map[string]struct {
		witness http.HandlerFunc
		want    string
		err     Cause
	}{
		"with a witness file":            {says(200, "[]"), "[]", 0},
		"without a witness file":         {says(404, "nothing"), "", 0},
		"with a witness file taken away": {says(410, ""), "", 0},
		"with a broken witness file":     {says(500, ""), "", CauseStatus},
		"with a witness file elsewhere":  {says(301, ""), "", CauseRedirect},
		"with a witness file too large":  {says(200, strings.Repeat("x", maxWitness+1)), "", CauseTooLarge},
		"with an empty witness file":     {says(200, ""), "", CauseEmpty},
	} {
		var order []string
		mux := http.NewServeMux()
		mux.HandleFunc("/.well-known/did.jsonl", func(w http.ResponseWriter, r *http.Request) {
			order = append(order, "log")
			io.WriteString(w, "entry\n")
		})
		mux.HandleFunc("/.well-known/did-witness.json", func(w http.ResponseWriter, r *http.Request) {
			order = append(order, "witness")
			c.witness(w, r)
		})
		w := newWorld(t, mux)
		got, err := w.fetcher().Fetch(t.Context(), webvh(w.did("example.com")))
		if cause(err) != c.err || (err == nil) != (c.err == 0) {
			t.Errorf("%s: got %v, want %v", name, err, c.err)
		}
		if !slices.Equal(order, []string{"log", "witness"}) {
			t.Errorf("%s: asked for %v; a host swaps its witness file first, so the log is read first", name, order)
		}
		if err != nil {
			if got.Material.Log != nil || got.SPKI != (SPKI{}) {
				t.Errorf("%s: got %+v beside an error", name, got)
			}
			continue
		}
		if string(got.Material.Log) != "entry\n" || string(got.Material.Witness) != c.want || (got.Material.Witness == nil) != (c.want == "") {
			t.Errorf("%s: got %+v", name, got.Material)
		}
	}
}

func TestLogMayBeLargerThanADocument(t *testing.T) {
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "did-witness.json") {
			http.NotFound(rw, r)
			return
		}
		rw.Write(make([]byte, maxDocument+1))
	}))
	if m, err := w.fetcher().Material(t.Context(), webvh(w.did("example.com"))); err != nil || len(m.Log) != maxDocument+1 {
		t.Errorf("a log: got %d bytes, %v", len(m.Log), err)
	}
	if m, err := w.fetcher().Material(t.Context(), w.did("example.com")); cause(err) != CauseTooLarge || m.Log != nil {
		t.Errorf("a document: got %d bytes, %v", len(m.Log), err)
	}
}

// vectors are the answers of a server that local/did-web-cases.json lists, and what comes of each.
type vectors struct {
	URL                 []struct{ DID, URL string }
	RejectBeforeRequest []string `json:"reject_before_request"`
	Response            []struct{ Case, Want string }
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	b, err := os.ReadFile("../../did/didweb/testdata/did-web-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.URL) != 6 || len(v.RejectBeforeRequest) != 19 || len(v.Response) != 9 {
		t.Fatalf("%d, %d, %d cases, expected 6, 19, 9", len(v.URL), len(v.RejectBeforeRequest), len(v.Response))
	}
	return v
}

func TestVectorsOfPlaces(t *testing.T) {
	for _, v := range readVectors(t).URL {
		if p, err := placeOf(did.MustParse(v.DID)); err != nil || p.url != v.URL || p.witnessURL != "" {
			t.Errorf("%s: got %+v, %v, want %s", v.DID, p, err, v.URL)
		}
	}
}

// TestVectorsRefusedBeforeRequest: no name is looked up and no address is about to be dialed, although every network is
// allowed.
func TestVectorsRefusedBeforeRequest(t *testing.T) {
	w := newWorld(t, says(200, "{}"))
	f := w.fetcher()
	for _, s := range readVectors(t).RejectBeforeRequest {
		d, err := did.Parse(s)
		if err == nil {
			_, err = f.Fetch(t.Context(), d)
		}
		if !errors.Is(err, did.ErrSyntax) && !(cause(err) == CauseIdentifier && errors.Is(err, didweb.ErrIdentifier)) {
			t.Errorf("%s: got %v", s, err)
		}
	}
	if n := w.judged.Load(); n != 0 || len(w.dns.asked()) != 0 || w.lis.accepted.Load() != 0 {
		t.Errorf("%d dials, %d connections, queries %v; want none", n, w.lis.accepted.Load(), w.dns.asked())
	}
	// The counters count: a DID that names a place dials once.
	if _, err := f.Fetch(t.Context(), w.did("example.com")); err != nil || w.judged.Load() != 1 || w.lis.accepted.Load() != 1 {
		t.Errorf("%d dials, %d connections, %v; want one", w.judged.Load(), w.lis.accepted.Load(), err)
	}
}

// TestVectorsOfResponses is identity B-5 (a redirect is refused).
func TestVectorsOfResponses(t *testing.T) {
	const nothing = did.ErrorName("")
	var evil int
	redirect := func(to string) func(string) http.HandlerFunc {
		return func(string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "other") || r.Host == "a.example.com" {
					evil++
				}
				http.Redirect(w, r, to, http.StatusFound)
			}
		}
	}
	body := func(format string) func(string) http.HandlerFunc {
		return func(d string) http.HandlerFunc {
			return says(200, strings.ReplaceAll(format, "DOC", string(document(d))))
		}
	}
	type play struct {
		handler func(d string) http.HandlerFunc
		cause   Cause         // of the fetch; 0: it gives bytes
		name    did.ErrorName // of the resolution that follows
	}
	plays := map[string]play{
		"document id differs":         {func(string) http.HandlerFunc { return says(200, string(document("did:web:evil.example"))) }, 0, did.InvalidDIDDocument},
		"redirect to private address": {redirect("https://127.0.0.1:1/other/did.json"), CauseRedirect, nothing},
		"404":                         {func(string) http.HandlerFunc { return says(404, "{}") }, CauseAbsent, did.NotFound},
		"JSON with comments (universal-resolver#456)": {body("/* ours */ DOC"), 0, did.InvalidDIDDocument},
		"no @context":            {body("DOC"), 0, nothing},
		"redirect to other host": {redirect("https://a.example.com/other/did.json"), CauseRedirect, nothing},
		"64 MiB body": {func(string) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				for range 64 << 10 {
					if _, err := w.Write(bytes.Repeat([]byte(" "), 1<<10)); err != nil {
						return
					}
				}
			}
		}, CauseTooLarge, nothing},
		"410":              {func(string) http.HandlerFunc { return says(410, "") }, CauseAbsent, did.NotFound},
		"duplicate member": {func(d string) http.HandlerFunc { return says(200, `{"id":"`+d+`","id":"`+d+`"}`) }, 0, did.InvalidDIDDocument},
	}
	cases := readVectors(t).Response
	if len(plays) != len(cases) {
		t.Fatalf("%d plays for %d cases", len(plays), len(cases))
	}
	for _, c := range cases {
		p, ok := plays[c.Case]
		if !ok {
			t.Errorf("%s: no play", c.Case)
			continue
		}
		var d did.DID
		w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { p.handler(d.String())(rw, r) }))
		d = w.did("example.com", "user")
		m, err := w.fetcher().Material(t.Context(), d)
		if cause(err) != p.cause {
			t.Errorf("%s: got %v, want %v", c.Case, err, p.cause)
		}
		if err != nil && !errors.Is(err, did.ErrAbsent) {
			if !errors.Is(err, did.ErrUnavailable) || m.Log != nil || p.name != nothing {
				t.Errorf("%s: got %q, %v", c.Case, m.Log, err)
			}
			continue
		}
		r, err := didweb.Resolver{}.Resolve(t.Context(), d, m, did.Options{Now: time.Now()})
		var name did.ErrorName
		if e := (*did.ResolutionError)(nil); errors.As(err, &e) {
			name = e.Name
		}
		if name != p.name || (err == nil) != (p.name == nothing) || err == nil && r.Document.IsZero() {
			t.Errorf("%s: got %v, want %s", c.Case, err, p.name)
		}
	}
	if evil != 0 {
		t.Errorf("%d redirects were followed", evil)
	}
}

func TestAnswersThatAreRefused(t *testing.T) {
	header := func(k, v, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(k, v)
			io.WriteString(w, body)
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    Cause
		kind    error
	}{
		"moved for good": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusMovedPermanently)
		}, CauseRedirect, did.ErrUnavailable},
		"moved on the same host": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		}, CauseRedirect, did.ErrUnavailable},
		"moved to a place that is no URL": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "ht tp:%%")
			w.WriteHeader(308)
		}, CauseRedirect, did.ErrUnavailable},
		"moved to nowhere":              {says(302, ""), CauseRedirect, did.ErrUnavailable},
		"not modified":                  {says(304, ""), CauseRedirect, did.ErrUnavailable},
		"gone":                          {says(410, "x"), CauseAbsent, did.ErrAbsent},
		"not found":                     {says(404, "x"), CauseAbsent, did.ErrAbsent},
		"forbidden":                     {says(403, "{}"), CauseStatus, did.ErrUnavailable},
		"too many requests":             {says(429, "{}"), CauseStatus, did.ErrUnavailable},
		"broken":                        {says(503, "{}"), CauseStatus, did.ErrUnavailable},
		"a part":                        {says(206, "{}"), CauseStatus, did.ErrUnavailable},
		"no content":                    {says(204, ""), CauseStatus, did.ErrUnavailable},
		"a status out of range":         {says(999, "{}"), CauseStatus, did.ErrUnavailable},
		"no bytes":                      {says(200, ""), CauseEmpty, did.ErrUnavailable},
		"a length beyond the cap":       {header("Content-Length", "67108864", "{}"), CauseTooLarge, did.ErrTooLarge},
		"one byte too many":             {says(200, strings.Repeat(" ", maxDocument+1)), CauseTooLarge, did.ErrTooLarge},
		"fewer bytes than announced":    {header("Content-Length", "5", "{}"), CauseConnect, io.ErrUnexpectedEOF},
		"gzip, though none was offered": {header("Content-Encoding", "gzip", "\x1f\x8b bomb"), CauseEncoding, did.ErrUnavailable},
		"gzip behind identity": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Encoding"] = []string{"identity", "gzip"}
			io.WriteString(w, "bomb")
		}, CauseEncoding, did.ErrUnavailable},
		"two codings in one line": {header("Content-Encoding", "identity, br", "bomb"), CauseEncoding, did.ErrUnavailable},
		"a connection that ends":  {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, CauseConnect, did.ErrUnavailable},
		"a flood of header": {func(w http.ResponseWriter, _ *http.Request) {
			for i := range 4096 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 100))
			}
			io.WriteString(w, "{}")
		}, CauseConnect, did.ErrUnavailable},
		"a flood of interim answers": {func(w http.ResponseWriter, _ *http.Request) {
			for range 4096 {
				w.Header().Set("Link", strings.Repeat("x", 100))
				w.WriteHeader(http.StatusEarlyHints)
			}
			io.WriteString(w, "{}")
		}, CauseConnect, did.ErrUnavailable},
	} {
		w := newWorld(t, c.handler)
		m, err := w.fetcher().Material(t.Context(), w.did("example.com"))
		if cause(err) != c.want || !errors.Is(err, c.kind) || m.Log != nil {
			t.Errorf("%s: got %q, %v; want %v", name, m.Log, err, c.want)
		}
		if n := w.lis.accepted.Load(); n != 1 {
			t.Errorf("%s: %d connections, want 1", name, n)
		}
	}
}

func TestAllowedAnswers(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"as many bytes as may be": says(200, strings.Repeat(" ", maxDocument)),
		"a body in chunks": func(w http.ResponseWriter, _ *http.Request) {
			for range 3 {
				io.WriteString(w, "{}")
				w.(http.Flusher).Flush()
			}
		},
		"a coding that changes nothing": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "identity")
			io.WriteString(w, "{}")
		},
		"another media type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, "{}")
		},
	} {
		w := newWorld(t, h)
		if m, err := w.fetcher().Material(t.Context(), w.did("example.com")); err != nil || len(m.Log) == 0 {
			t.Errorf("%s: got %d bytes, %v", name, len(m.Log), err)
		}
	}
}

// TestServersThatDragOn: whatever a server holds back, the time for all of it is one.
func TestServersThatDragOn(t *testing.T) {
	wait := func(r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Second):
		}
	}
	drip := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			io.WriteString(w, " ")
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"a server that says nothing":               func(_ http.ResponseWriter, r *http.Request) { wait(r) },
		"a body byte by byte":                      drip,
		"a body byte by byte, its length promised": func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Length", "200000"); drip(w, r) },
		"a body that stops": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "{")
			w.(http.Flusher).Flush()
			wait(r)
		},
		"a witness file that never comes": func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "did.jsonl") {
				io.WriteString(w, "entry")
				return
			}
			wait(r)
		},
	} {
		w := newWorld(t, h)
		d := w.did("example.com")
		if strings.Contains(name, "witness") {
			d = webvh(d)
		}
		start := time.Now()
		m, err := w.quick().Material(t.Context(), d)
		if cause(err) != CauseTimeout || !errors.Is(err, did.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || m.Log != nil {
			t.Errorf("%s: got %q, %v", name, m.Log, err)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

func TestEndlessBodyIsCutAtTheCap(t *testing.T) {
	sent := make(chan int, 1)
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		n := 0
		for {
			k, err := rw.Write(make([]byte, 32<<10))
			n += k
			if err != nil {
				sent <- n
				return
			}
		}
	}))
	if _, err := w.fetcher().Material(t.Context(), w.did("example.com")); cause(err) != CauseTooLarge {
		t.Errorf("got %v", err)
	}
	if n := <-sent; n > 32<<20 { // what fits into the buffers of two sockets, not more
		t.Errorf("the server got rid of %d bytes", n)
	}
}

func TestTLS(t *testing.T) {
	stranger := newWorld(t, says(200, "{}"))
	stranger.config.RootCAs = nil // the system's
	_, err := stranger.fetcher().Material(t.Context(), stranger.did("example.com"))
	var unknown *tls.CertificateVerificationError
	if cause(err) != CauseTLS || !errors.As(err, &unknown) {
		t.Errorf("an unknown issuer: got %v", err)
	}
	w := newWorld(t, says(200, "{}"))
	w.dns.names["other.example"] = []string{"127.0.0.1"}
	if _, err := w.fetcher().Material(t.Context(), w.did("other.example")); cause(err) != CauseTLS {
		t.Errorf("another host: got %v", err)
	}
	old := newWorldTLS(t, says(200, "{}"), &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	if _, err := old.fetcher().Material(t.Context(), old.did("example.com")); cause(err) != CauseTLS {
		t.Errorf("TLS 1.1: got %v", err)
	}
	twelve := newWorldTLS(t, says(200, "{}"), &tls.Config{MaxVersion: tls.VersionTLS12})
	if _, err := twelve.fetcher().Material(t.Context(), twelve.did("example.com")); err != nil {
		t.Errorf("TLS 1.2: got %v", err)
	}
}

func TestDIDsWithoutAPlace(t *testing.T) {
	w := newWorld(t, says(200, "{}"))
	for _, d := range []did.DID{{}, did.MustParse("did:key:z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S"), did.MustParse("did:webvh:x:example.com"),
		did.MustParse("did:webvh:" + scid + ":localhost"), did.MustParse("did:web:169.254.169.254:latest:meta-data")} {
		_, err := w.fetcher().Material(t.Context(), d)
		if cause(err) != CauseIdentifier || !errors.Is(err, did.ErrAbsent) || fault.Of(err) != fault.Invalid {
			t.Errorf("%s: got %v", d, err)
		}
	}
	if w.judged.Load() != 0 || len(w.dns.asked()) != 0 {
		t.Errorf("%d dials, queries %v", w.judged.Load(), w.dns.asked())
	}
}

func TestErrorsForCallers(t *testing.T) {
	for c := CauseIdentifier; c <= CauseCancelled; c++ {
		e := &Error{Cause: c}
		want := fault.Unavailable
		switch c {
		case CauseAbsent:
			want = fault.NotFound
		case CauseIdentifier:
			want = fault.Invalid
		}
		d := fault.From(fmt.Errorf("resolving: %w", e))
		if d.Code != want || d.Reason != c.String() || d.Hint != e.FaultHint() || c.String() == "" {
			t.Errorf("%v: got %+v", c, d)
		}
		if errors.Is(e, did.ErrAbsent) == errors.Is(e, did.ErrUnavailable) {
			t.Errorf("%v: matches both or neither of a source's errors", c)
		}
	}
	if got := Cause(0).String(); got != "cause 0" {
		t.Errorf("got %s", got)
	}
	e := &Error{Cause: CauseStatus, URL: "https://a.example/did.json", Status: 503}
	if got := e.Error(); got != "https://a.example/did.json: answered with an error (503)" {
		t.Errorf("got %s", got)
	}
}
