package daemon

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/httpapi"
)

// asks signs a request of quant's, as its builder would.
func (s siege) asks(perm string, edit func(*lending.ReadRequest)) string {
	t := s.vendor.t
	t.Helper()
	ctx := context.Background()
	agent := did.MustParse(s.quant.DID)
	key, kid, err := s.vendor.node.sign.Agent(ctx, agent)
	if err != nil {
		t.Fatal(err)
	}
	id, err := envelope.ParseID(perm)
	if err != nil {
		t.Fatal(err)
	}
	k, err := s.acme.node.lender.Loan(ctx, perm)
	if err != nil {
		t.Fatal(err)
	}
	rq := lending.ReadRequest{At: envelope.TimeOf(time.Now()), Aud: k.Permission.Lender, Borrower: agent, Kid: kid, Limit: 100, Nonce: lending.NewSalt(), Op: lending.OpRead, Perm: id, Purpose: "secret purpose of the read"}
	if edit != nil {
		edit(&rq)
	}
	e, err := envelope.Seal(ctx, rq, key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.Compact()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// post sends bytes to the borrower's door of acme, as anybody on the network can.
func (s siege) post(body string, header ...string) (int, []byte) {
	t := s.acme.t
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.acme.cfg.HTTP+"/api/v1/reads", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil // cut
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	return res.StatusCode, b
}

func callBody(request, permission string) string {
	m := map[string]string{"request": request}
	if permission != "" {
		m["permission"] = permission
	}
	b, _ := json.Marshal(m)
	return string(b)
}

// flip changes one bit of the signature of a compact object.
func flip(compact string) string {
	body, sig, _ := strings.Cut(compact, ".")
	b, _ := base64.RawURLEncoding.DecodeString(sig)
	b[10] ^= 1
	return body + "." + base64.RawURLEncoding.EncodeToString(b)
}

const lent = "acme sells at 12, which nobody else may know"

// TestNoHostileReadIsAnswered sends what a borrower's builder, a thief of a
// permission and a stranger can make, over real HTTP: none is answered with content.
func TestNoHostileReadIsAnswered(t *testing.T) {
	s := newSiege(t)
	s.remember(lent)
	l, other := s.lend(50), s.lend(50)
	var thief, spare httpapi.Agent
	s.arbiter.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "thief", Can: []string{"borrow"}}, &thief)
	s.acme.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "spare", Can: []string{"lend"}, Project: "portfolio"}, &spare)
	good := s.asks(l.ID, nil)
	if code, b := s.post(callBody(good, l.Permission)); code != 200 || !bytes.Contains(b, []byte(lent)) {
		t.Fatalf("the good read: %d %s", code, b)
	}
	receipt := func() string { // a receipt as it leaves
		_, b := s.post(callBody(s.asks(l.ID, nil), ""))
		var a struct {
			Receipt string `json:"receipt"`
		}
		_ = json.Unmarshal(b, &a)
		if a.Receipt == "" {
			t.Fatalf("no receipt in %.300s", b)
		}
		return a.Receipt
	}()
	nonce := lending.NewSalt()
	once := s.asks(l.ID, func(r *lending.ReadRequest) { r.Nonce = nonce })
	s.post(callBody(once, ""))
	at := func(d time.Duration) func(*lending.ReadRequest) {
		return func(r *lending.ReadRequest) { r.At = envelope.TimeOf(time.Now().Add(d)) }
	}
	body, sig, _ := strings.Cut(good, ".")
	signedBy := func(h *fort, name string, as string) string {
		ctx := context.Background()
		row, err := h.node.self.OwnAgent(viewOf(h.node), name)
		if err != nil {
			t.Fatal(err)
		}
		key, kid, err := h.node.sign.Agent(ctx, row.Agent)
		if err != nil {
			t.Fatal(err)
		}
		id, _ := envelope.ParseID(l.ID)
		who := row.Agent
		if as != "" {
			who = did.MustParse(as)
		}
		e, err := envelope.Seal(ctx, lending.ReadRequest{At: envelope.TimeOf(time.Now()), Aud: did.MustParse(l.Lender), Borrower: who, Kid: kid, Limit: 10,
			Nonce: lending.NewSalt(), Op: lending.OpRead, Perm: id, Purpose: "p"}, key)
		if err != nil {
			t.Fatal(err)
		}
		c, err := e.Compact()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	eventually(t, "the thief's agent at acme", func() bool {
		code, _ := s.post(callBody(signedBy(s.arbiter, "thief", ""), ""))
		return code == http.StatusNotFound
	})
	for _, tt := range []struct {
		name, body string
		want       int
	}{
		{"an altered signature", callBody(flip(good), ""), 401},
		{"a permission as a request", callBody(l.Permission, ""), 0},
		{"a receipt as a request", callBody(receipt, ""), 0},
		{"a request as the permission", callBody(s.asks(l.ID, nil), good), 400},
		{"the permission of another loan beside it", callBody(s.asks(l.ID, nil), other.Permission), 400},
		{"an altered permission beside it", callBody(s.asks(l.ID, nil), flip(l.Permission)), 400},
		{"the nonce of another request", callBody(s.asks(l.ID, func(r *lending.ReadRequest) { r.Nonce, r.Purpose = nonce, "other" }), ""), 422},
		{"a request of ten minutes ago", callBody(s.asks(l.ID, at(-10*time.Minute)), ""), 0},
		{"a request of ten minutes ahead", callBody(s.asks(l.ID, at(10*time.Minute)), ""), 0},
		{"a request to another lender's agent", callBody(s.asks(l.ID, func(r *lending.ReadRequest) { r.Aud = did.MustParse(spare.DID) }), ""), 0},
		{"a request to the borrower itself", callBody(s.asks(l.ID, func(r *lending.ReadRequest) { r.Aud = did.MustParse(s.quant.DID) }), ""), 0},
		{"a status request as a read", callBody(s.asks(l.ID, func(r *lending.ReadRequest) { r.Op, r.Purpose, r.Limit = lending.OpStatus, "", 0 }), ""), 400},
		{"a thief with the permission and an own key", callBody(signedBy(s.arbiter, "thief", ""), l.Permission), 404},
		{"a thief that names the borrower", callBody(signedBy(s.arbiter, "thief", s.quant.DID), l.Permission), 401},
		{"the lender's own other agent", callBody(signedBy(s.acme, "spare", ""), l.Permission), 404},
		{"a member twice", `{"request":"` + good + `","request":"` + good + `"}`, 400},
		{"a member in another case", `{"Request":"` + good + `"}`, 400},
		{"an unknown member", `{"request":"` + good + `","as":"operator"}`, 400},
		{"a line break in base64", `{"request":"` + body[:10] + `\n` + body[10:] + "." + sig + `"}`, 0},
		{"padding in base64", callBody(good+"=", ""), 0},
		{"a third part", callBody(good+"."+sig, ""), 0},
		{"32 KiB and more", `{"request":"` + strings.Repeat("A", 40<<10) + `"}`, 413},
		{"deep JSON", strings.Repeat(`{"request":`, 1000), 400},
		{"a list", `["request"]`, 400},
		{"nothing", ``, 0},
		{"NUL bytes", "\x00\x00\x00", 400},
	} {
		code, b := s.post(tt.body)
		if code < 400 || tt.want != 0 && code != tt.want {
			t.Errorf("%s: %d, want %d: %.200s", tt.name, code, tt.want, b)
		}
		if bytes.Contains(b, []byte(lent)) || bytes.Contains(b, []byte("goroutine ")) || bytes.Contains(b, []byte(".go:")) || code >= 500 {
			t.Errorf("%s tells too much: %d %.300s", tt.name, code, b)
		}
	}
	if code, b := s.post(callBody(good, ""), "Content-Encoding", "gzip"); code == 200 && !bytes.Contains(b, []byte(lent)) {
		t.Errorf("a coded body: %d", code)
	}
	var a httpapi.LoanAudit
	s.acme.must(http.MethodGet, "/api/v1/permissions/"+l.ID+"/audit", nil, &a)
	if !a.GapFree {
		t.Error("the audit has a gap")
	}
}

// TestNoContentAfterRevokeReturnedOverHTTP races readers on real connections with the
// revocation: who begins to ask after it returned gets nothing.
func TestNoContentAfterRevokeReturnedOverHTTP(t *testing.T) {
	s := newSiege(t)
	s.remember(lent)
	for range 6 {
		l := s.lend(1_000_000)
		var revoked atomic.Bool
		var wg sync.WaitGroup
		var before, after atomic.Int64
		for range 8 {
			wg.Go(func() {
				for end := false; !end; {
					end = revoked.Load() // read before the request is sent
					code, b := s.post(callBody(s.asks(l.ID, nil), ""))
					switch {
					case end && bytes.Contains(b, []byte(lent)):
						after.Add(1)
					case code == 200:
						before.Add(1)
					}
				}
			})
		}
		time.Sleep(30 * time.Millisecond)
		s.acme.must(http.MethodPost, "/api/v1/permissions/"+l.ID+"/revoke", httpapi.LoanRevoke{Reason: "ended"}, nil)
		revoked.Store(true)
		wg.Wait()
		if after.Load() > 0 {
			t.Errorf("%d answers with content after the end, %d before it", after.Load(), before.Load())
		}
		var a httpapi.LoanAudit
		s.acme.must(http.MethodGet, "/api/v1/permissions/"+l.ID+"/audit", nil, &a)
		if !a.GapFree || a.Granted < uint64(before.Load()) {
			t.Errorf("%d answers, %d rows, gap-free %v", before.Load(), a.Granted, a.GapFree)
		}
	}
}

// TestTheOperatorsRoutesAreTheOperators goes through every operator's route without its
// token, by every trick of path and header.
func TestTheOperatorsRoutesAreTheOperators(t *testing.T) {
	s := newSiege(t)
	token := s.acme.node.Token()
	base := "http://" + s.acme.cfg.HTTP
	paths := []string{"/api/v1/status", "/api/v1/agents", "/api/v1/permissions", "/api/v1/memory?project=portfolio", "/api/v1/events", "/api/v1/disputes", "/api/v1/identities/self",
		"/api/v1//status", "//api/v1/status", "/api/v1/./status", "/api/v1/log/../status", "/healthz/../api/v1/status", "/api/v1/%73tatus", "/api/v1/status/", "/API/v1/status", "/api/v1/trust/..%2fstatus"}
	headers := [][2]string{{}, {"Authorization", "Bearer "}, {"Authorization", "bearer " + token}, {"Authorization", "Bearer  " + token},
		{"Authorization", "Bearer " + token[:len(token)-1]}, {"Authorization", "Basic " + token}, {"X-Forwarded-For", "127.0.0.1"}, {"X-Real-Ip", "127.0.0.1"}, {"X-Original-Url", "/healthz"},
		{"X-Http-Method-Override", "GET"}, {"Cookie", "token=" + token}, {"X-Authorization", "Bearer " + token}, {"Host", "localhost"}}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, p := range paths {
		for _, h := range headers {
			for _, m := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "get"} {
				r, err := http.NewRequestWithContext(t.Context(), m, base+p, nil)
				if err != nil {
					t.Fatal(err)
				}
				if h[0] != "" {
					r.Header.Set(h[0], h[1])
				}
				res, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.StatusCode < 300 || res.StatusCode >= 500 {
					t.Errorf("%s %s with %s: %d", m, p, h[0], res.StatusCode)
				}
			}
		}
	}
}

// TestLogsTellNothingLent runs a story at level debug: what was lent, why, and every
// secret stay out of the log.
func TestLogsTellNothingLent(t *testing.T) {
	s := newSiege(t)
	s.remember(lent)
	l := s.lend(5)
	if _, err := s.read(l.ID); err != nil {
		t.Fatal(err)
	}
	s.post(callBody(flip(s.asks(l.ID, nil)), ""))
	s.acme.must(http.MethodPost, "/api/v1/permissions/"+l.ID+"/revoke", httpapi.LoanRevoke{Reason: "ended", Text: "secret reason"}, nil)
	if _, err := s.read(l.ID); err == nil {
		t.Fatal("read after the end")
	}
	tokens := []string{s.acme.node.Token(), s.vendor.node.Token(), l.Permission}
	for _, h := range []*fort{s.acme, s.vendor, s.arbiter} {
		h.stop()
		if !strings.Contains(h.logs.String(), "level=DEBUG") {
			t.Errorf("%s logged nothing at debug", h.cfg.Name)
		}
		for _, secret := range append(tokens, lent, "secret purpose", "secret reason", attackPass) {
			if i := strings.Index(h.logs.String(), secret); i >= 0 {
				t.Errorf("%s logged %.20q: %.200s", h.cfg.Name, secret, h.logs.String()[max(0, i-100):])
			}
		}
	}
}
