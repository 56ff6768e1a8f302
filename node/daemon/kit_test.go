package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"trustnode/did/keys"
	"trustnode/node/config"
	"trustnode/node/httpapi"
	"trustnode/testnet/ports"
)

const seatPass = "correct-horse-battery"

// seat is one organization on loopback: its data directory, and its node while it runs.
type seat struct {
	t    testing.TB
	cfg  config.Config
	node *Node // the running one
	api  *httpapi.Client
	stop func() // ends the running one cleanly; may be called again
}

// newSeat creates an organization whose keys cost little to open.
func newSeat(t testing.TB, name string) *seat {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	addr := [2]string{loopbackPort(t), loopbackPort(t)} // fixed, since the binding names them
	_, err := Init(t.Context(), InitOptions{Dir: dir, Name: name, Domain: name + ".example", HTTP: "127.0.0.1:" + addr[0],
		P2P: []string{"/ip4/127.0.0.1/tcp/" + addr[1]}, Passphrase: []byte(seatPass), keyParams: []keys.Params{{Time: 1, MemoryKiB: 8, Threads: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &seat{t: t, cfg: cfg, stop: func() {}}
}

// loopbackPort is a port that no other node of a test has.
func loopbackPort(t testing.TB) string {
	t.Helper()
	list, err := ports.Claim(1)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(list[0])
}

// offline posts to a seat that does not run.
func (s *seat) offline(path string, in, out any) {
	s.t.Helper()
	o, err := OpenOffline(s.t.Context(), s.cfg, []byte(seatPass), slog.New(slog.DiscardHandler))
	if err != nil {
		s.t.Fatal(err)
	}
	err = httpapi.InProcess(o.Handler(), o.Token()).Call(s.t.Context(), http.MethodPost, path, in, out)
	if err := errors.Join(err, o.Close()); err != nil {
		s.t.Fatalf("%s %s: %v", s.cfg.Name, path, err)
	}
}

// start runs the node until stop, or the end of the test.
func (s *seat) start() {
	s.t.Helper()
	s.startWith(Options{})
}

// startWith is start with options of its own.
func (s *seat) startWith(o Options) {
	s.t.Helper()
	o.Passphrase, o.Log, o.Version = []byte(seatPass), slog.New(slog.DiscardHandler), "test"
	n, err := Open(s.t.Context(), s.cfg, o)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	up, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- errors.Join(n.Run(ctx, false, func() { close(up) }), n.Close()) }()
	ended := false
	s.stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("%s ended with %v", s.cfg.Name, err)
		}
	}
	s.t.Cleanup(s.stop)
	select {
	case <-up:
	case err := <-done:
		done <- nil
		s.t.Fatalf("%s does not start: %v", s.cfg.Name, err)
	}
	s.node, s.api = n, &httpapi.Client{Base: "http://" + n.http, Token: n.Token(), HTTP: &http.Client{Timeout: time.Minute}}
}

func (s *seat) call(method, path string, in, out any) error {
	return s.api.Call(s.t.Context(), method, path, in, out)
}

func (s *seat) must(method, path string, in, out any) {
	s.t.Helper()
	if err := s.call(method, path, in, out); err != nil {
		s.t.Fatalf("%s %s %s: %v", s.cfg.Name, method, path, err)
	}
}

func (s *seat) waitFresh() {
	s.t.Helper()
	var st httpapi.Status
	s.must(http.MethodGet, "/api/v1/status?wait=fresh&timeout_s=30", nil, &st)
	if st.State != "fresh" {
		s.t.Fatalf("%s is %s: %v", s.cfg.Name, st.State, st.Reasons)
	}
}

// founded are running nodes of as many organizations under one charter, which the first
// drafts; the last mediates.
func founded(t testing.TB, name string, orgs ...string) (all []*seat) {
	t.Helper()
	for _, org := range orgs {
		all = append(all, newSeat(t, org))
	}
	founding := httpapi.FedCreate{Name: name}
	for _, s := range all[1:] {
		var join httpapi.FedDraft
		s.offline("/api/v1/federation/join-request", httpapi.JoinRequest{Votes: true}, &join)
		founding.With = append(founding.With, join.Data)
	}
	founding.Mediators = founding.With[len(founding.With)-1:]
	var draft httpapi.FedDraft
	all[0].offline("/api/v1/federation/drafts", founding, &draft)
	for _, s := range all {
		s.offline("/api/v1/federation/sign", httpapi.File{Data: draft.Data}, &draft)
	}
	for _, s := range all {
		s.offline("/api/v1/federation/apply", httpapi.FedApply{Data: draft.Data}, nil)
		s.start()
	}
	for _, s := range all {
		s.waitFresh()
	}
	return all
}

// trio is three running nodes under one charter, one agent that lends and one that borrows.
type trio struct {
	acme, vendor, arbiter *seat
	quant                 httpapi.Agent
}

func newTrio(t *testing.T) trio {
	t.Helper()
	if testing.Short() {
		t.Skip("runs whole nodes")
	}
	all := founded(t, "trio", "acme", "vendor", "arbiter")
	x := trio{acme: all[0], vendor: all[1], arbiter: all[2]}
	x.acme.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "research", Can: []string{"lend"}, Project: "portfolio"}, nil)
	x.vendor.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "quant", Can: []string{"borrow"}}, &x.quant)
	return x
}

// remember gives acme an entry to lend.
func (x trio) remember(statement string) {
	x.acme.t.Helper()
	x.acme.must(http.MethodPost, "/api/v1/memory", httpapi.MemoryAdd{Agent: "research", Statement: statement, Tags: []string{"client:acme"}}, nil)
}

// lend issues a loan to quant.
func (x trio) lend(reads uint64) httpapi.Loan {
	x.acme.t.Helper()
	var l httpapi.Loan
	x.acme.must(http.MethodPost, "/api/v1/permissions", x.loanOf(reads), &l)
	return l
}

func (x trio) loanOf(reads uint64) httpapi.LoanIssue {
	return httpapi.LoanIssue{Lender: "research", Borrower: x.quant.DID, Scope: "tag:client:acme", Purpose: "what the loan is for", Expires: "24h", MaxReads: reads}
}

func (x trio) read(perm string) (httpapi.LoanAnswer, error) {
	var a httpapi.LoanAnswer
	err := x.vendor.call(http.MethodPost, "/api/v1/loans/read", httpapi.LoanRead{As: "quant", Permission: perm, Purpose: "what the read is for"}, &a)
	return a, err
}

// soon waits for a condition of running nodes.
func soon(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never seen: %s", what)
}
