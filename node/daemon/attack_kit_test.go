package daemon

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/envelope"
	"trustnode/did/keys"
	"trustnode/federation/gossip"
	"trustnode/node/config"
	"trustnode/node/httpapi"
	"trustnode/node/library"
	"trustnode/node/self"
)

const attackPass = "correct-horse-battery"

// fort is one organization of an attack: a whole node on loopback, with its insides.
type fort struct {
	t    *testing.T
	cfg  config.Config
	node *Node // the running one
	api  *httpapi.Client
	logs *bytes.Buffer // guarded by the handler of slog
	stop func()

	members func(gossip.Members) gossip.Members // optional: how others are dialled
}

// newFort creates an organization whose keys cost nothing to open.
func newFort(t *testing.T, name string) *fort {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	_, err := Init(t.Context(), InitOptions{Dir: dir, Name: strings.ToUpper(name), Domain: name + ".example", HTTP: "127.0.0.1:" + loopbackPort(t),
		P2P: []string{"/ip4/127.0.0.1/tcp/" + loopbackPort(t)}, Passphrase: []byte(attackPass), keyParams: []keys.Params{{Time: 1, MemoryKiB: 8, Threads: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &fort{t: t, cfg: cfg}
}

// offline opens a fort that does not run.
func (h *fort) offline(f func(c *httpapi.Client, n *Node)) {
	h.t.Helper()
	o, err := OpenOffline(h.t.Context(), h.cfg, []byte(attackPass), slog.New(slog.DiscardHandler))
	if err != nil {
		h.t.Fatal(err)
	}
	f(httpapi.InProcess(o.Handler(), o.Token()), o.n)
	if err := o.Close(); err != nil {
		h.t.Fatal(err)
	}
}

// start runs the fort until the test ends or stop is called.
func (h *fort) start() {
	h.t.Helper()
	h.logs = &bytes.Buffer{}
	log := slog.New(slog.NewTextHandler(h.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	n, err := Open(h.t.Context(), h.cfg, Options{Passphrase: []byte(attackPass), Log: log, Version: "attack", testingOnlyMembers: h.members})
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- errors.Join(n.Run(ctx, false, func() { close(ready) }), n.Close()) }()
	select {
	case <-ready:
	case err := <-done:
		h.t.Fatal(err)
	}
	h.node = n
	h.api = &httpapi.Client{Base: "http://" + h.cfg.HTTP, Token: n.Token(), HTTP: &http.Client{Timeout: time.Minute}}
	stopped := false
	h.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			h.t.Errorf("%s: %v", h.cfg.Name, err)
		}
	}
	h.t.Cleanup(h.stop)
}

func (h *fort) call(method, path string, in, out any) error {
	return h.api.Call(h.t.Context(), method, path, in, out)
}

func (h *fort) must(method, path string, in, out any) {
	h.t.Helper()
	if err := h.call(method, path, in, out); err != nil {
		h.t.Fatalf("%s %s: %v", method, path, err)
	}
}

// waitFresh waits until the fort may lend.
func (h *fort) waitFresh() {
	h.t.Helper()
	var st httpapi.Status
	h.must(http.MethodGet, "/api/v1/status?wait=fresh&timeout_s=30", nil, &st)
	if st.State != "fresh" {
		h.t.Fatalf("%s is %s: %v", h.cfg.Name, st.State, st.Reasons)
	}
}

// federated makes three forts under one charter, with the last as mediator. They do not run.
func federated(t *testing.T, names ...string) []*fort {
	t.Helper()
	if testing.Short() {
		t.Skip("runs whole nodes")
	}
	var out []*fort
	for _, n := range names {
		out = append(out, newFort(t, n))
	}
	var joins [][]byte
	for _, h := range out[1:] {
		h.offline(func(c *httpapi.Client, _ *Node) {
			var f httpapi.FedDraft
			post(t, c, "/api/v1/federation/join-request", httpapi.JoinRequest{Votes: true}, &f)
			joins = append(joins, f.Data)
		})
	}
	var draft httpapi.FedDraft
	out[0].offline(func(c *httpapi.Client, _ *Node) {
		post(t, c, "/api/v1/federation/drafts", httpapi.FedCreate{Name: "siege", With: joins, Mediators: joins[len(joins)-1:]}, &draft)
	})
	for _, h := range out {
		h.offline(func(c *httpapi.Client, _ *Node) {
			post(t, c, "/api/v1/federation/sign", httpapi.File{Data: draft.Data}, &draft)
		})
	}
	for _, h := range out {
		h.offline(func(c *httpapi.Client, _ *Node) {
			post(t, c, "/api/v1/federation/apply", httpapi.FedApply{Data: draft.Data}, nil)
		})
	}
	return out
}

func post(t *testing.T, c *httpapi.Client, path string, in, out any) {
	t.Helper()
	if err := c.Call(t.Context(), http.MethodPost, path, in, out); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// siege is three running forts with an agent that lends and one that borrows.
type siege struct {
	acme, vendor, arbiter *fort
	quant                 httpapi.Agent
}

func newSiege(t *testing.T) siege {
	t.Helper()
	hs := federated(t, "acme", "vendor", "arbiter")
	for _, h := range hs {
		h.start()
	}
	for _, h := range hs {
		h.waitFresh()
	}
	s := siege{acme: hs[0], vendor: hs[1], arbiter: hs[2]}
	s.acme.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "research", Can: []string{"lend"}, Project: "portfolio"}, nil)
	s.vendor.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "quant", Can: []string{"borrow"}}, &s.quant)
	return s
}

// remember gives acme an entry to lend.
func (s siege) remember(statement string) {
	s.acme.t.Helper()
	s.acme.must(http.MethodPost, "/api/v1/memory", httpapi.MemoryAdd{Agent: "research", Statement: statement, Tags: []string{"client:acme"}}, nil)
}

// lend issues a loan to quant.
func (s siege) lend(reads uint64) httpapi.Loan {
	s.acme.t.Helper()
	var l httpapi.Loan
	s.acme.must(http.MethodPost, "/api/v1/permissions", httpapi.LoanIssue{Lender: "research", Borrower: s.quant.DID, Scope: "tag:client:acme",
		Purpose: "secret purpose of the loan", Expires: "24h", MaxReads: reads}, &l)
	return l
}

func (s siege) read(perm string) (httpapi.LoanAnswer, error) {
	var a httpapi.LoanAnswer
	err := s.vendor.call(http.MethodPost, "/api/v1/loans/read", httpapi.LoanRead{As: "quant", Permission: perm, Purpose: "secret purpose of the read"}, &a)
	return a, err
}

// freshNonce is a fresh one of an event.
func freshNonce() string {
	var b [16]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// tells hands events of a house to another node: any events, signed with its real key,
// under heads that it signs. Nothing of it is kept in the house, n is its opened directory.
func (h *fort) tells(n, to *Node, events ...attestation.Event) {
	h.t.Helper()
	ctx := context.Background()
	key, kid, err := n.sign.Issuer(ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	fed, _ := to.member.Seams().Members.Head()
	edge := n.events.Edge(h.cfg.Org)
	h.catchUp(n, to, edge.End())
	for part := range slices.Chunk(events, attestation.MaxBatch) {
		p := attestation.Package{Did: h.cfg.Org, Federation: fed.Federation, From: edge.End()}
		for _, ev := range part {
			p.Entries = append(p.Entries, h.signed(ev, key, kid))
			if err := edge.Append(p.Entries[len(p.Entries)-1].Hash()); err != nil {
				h.t.Fatal(err)
			}
		}
		root, err := edge.Root()
		if err != nil {
			h.t.Fatal(err)
		}
		note, err := attlog.Sign(ctx, key, h.cfg.Org, attestation.Head{Size: edge.End(), Root: root})
		if err != nil {
			h.t.Fatal(err)
		}
		p.Note = note.Bytes()
		if res, err := to.self.Rec.Ingest(ctx, p); err != nil || res.Fresh != len(part) {
			h.t.Fatalf("entries from %d were not taken: %v %v", p.From, res, err)
		}
	}
}

// catchUp hands over what the house has in its log and the other node lacks: it may have
// stopped before it was heard.
func (h *fort) catchUp(n, to *Node, size uint64) {
	h.t.Helper()
	ctx := context.Background()
	for {
		held, err := to.self.Rec.Head(ctx, h.cfg.Org)
		if err != nil && !errors.Is(err, attestation.ErrNotFound) {
			h.t.Fatal(err)
		}
		if held.Size >= size {
			return
		}
		p, err := n.self.Rec.Package(ctx, h.cfg.Org, held.Size, size)
		if err != nil {
			h.t.Fatal(err)
		}
		fed, _ := to.member.Seams().Members.Head()
		p.Federation = fed.Federation
		if res, err := to.self.Rec.Ingest(ctx, p); err != nil || res.Size <= held.Size {
			h.t.Fatalf("the log was not caught up from %d: %v %v", held.Size, res, err)
		}
	}
}

func (h *fort) signed(ev attestation.Event, key envelope.Signer, kid string) attestation.Entry {
	h.t.Helper()
	ev.At, ev.Kid, ev.Org, ev.Nonce = envelope.TimeOf(time.Now()), kid, h.cfg.Org, freshNonce()
	if ev.Data == nil {
		ev.Data = envelope.Raw("{}")
	}
	if ev.Refs == nil {
		ev.Refs = []envelope.ID{}
	}
	e, err := envelope.Seal(context.Background(), ev, key)
	if err != nil {
		h.t.Fatal(err)
	}
	en, err := attestation.EntryOf(e)
	if err != nil {
		h.t.Fatal(err)
	}
	return en
}

func canon(t *testing.T, v any) envelope.Raw {
	t.Helper()
	b, err := envelope.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// eventually waits for a condition of a running node.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never seen: %s", what)
}

// ghostDID is the DID of an agent whose key nobody has.
func ghostDID(t *testing.T, b byte) did.DID {
	t.Helper()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
	pub, err := did.NewEd25519(key.Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	d, err := didkey.FromKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// viewOf reads single keys of a node's state.
func viewOf(n *Node) library.Getter { return self.ViewGetter(context.Background(), n.self.DB) }

// copyOf copies a stopped fort's directory, to run on other ports or to come back later.
func copyOf(t *testing.T, h *fort, name string) *fort {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(h.cfg.Dir)); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &fort{t: t, cfg: cfg}
}
