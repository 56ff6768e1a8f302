package daemon

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keys"
	"trustnode/federation/lending"
	"trustnode/node/config"
	"trustnode/node/httpapi"
	"trustnode/node/lender"
	"trustnode/node/memory"
	"trustnode/node/store"
	"trustnode/scripts/benchtest"
)

// house is a running node whose agent research lends to its agent quant, over a project
// of many entries of which twenty are in scope.
type house struct {
	n      *Node
	addr   string
	lender did.DID
	quant  did.DID
	kid    string
	signer envelope.Signer
}

const (
	benchEntries = 10_000
	benchMatches = 20
	benchScope   = "tag:client:acme -tag:confidential age<90d"
)

func openHouse(b *testing.B) *house {
	b.Helper()
	ctx := b.Context()
	dir, pass := filepath.Join(b.TempDir(), "acme"), []byte("correct-horse-battery")
	addr := freeAddr(b)
	if _, err := Init(ctx, InitOptions{Dir: dir, Name: "Acme Finance", Domain: "acme.example", HTTP: addr, P2P: []string{"/ip4/127.0.0.1/tcp/0"},
		Passphrase: pass, keyParams: []keys.Params{{Time: 1, MemoryKiB: 8, Threads: 1}}}); err != nil {
		b.Fatal(err)
	}
	cfg, err := config.Read(dir)
	if err != nil {
		b.Fatal(err)
	}
	cfg.ReadsPerS = 1_000_000
	n, err := Open(ctx, cfg, Options{Passphrase: pass, Log: slog.New(slog.DiscardHandler), Version: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	runCtx, stop := context.WithCancel(context.Background())
	listening, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- n.Run(runCtx, false, func() { close(listening) }) }()
	b.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, n.Close()); err != nil {
			b.Error(err)
		}
	})
	select {
	case <-listening:
	case err := <-ended:
		b.Fatal(err)
	}
	h := &house{n: n, addr: addr}
	h.agents(b)
	h.fill(b)
	return h
}

func freeAddr(b *testing.B) string { return "127.0.0.1:" + loopbackPort(b) }

func (h *house) agents(b *testing.B) {
	b.Helper()
	op := &httpapi.Client{Base: "http://" + h.addr, Token: h.n.Token(), HTTP: http.DefaultClient}
	var research, quant httpapi.Agent
	err := errors.Join(
		op.Call(b.Context(), http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "research", Can: []string{"lend"}, Project: "portfolio"}, &research),
		op.Call(b.Context(), http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "quant", Can: []string{"borrow"}}, &quant))
	if err != nil {
		b.Fatal(err)
	}
	h.lender, h.quant = did.MustParse(research.DID), did.MustParse(quant.DID)
	if h.signer, h.kid, err = h.n.sign.Agent(b.Context(), h.quant); err != nil {
		b.Fatal(err)
	}
}

// fill writes the entries: the scope's tag is on twice as many as match, the others of
// them are excluded; so is every second entry of the project.
func (h *house) fill(b *testing.B) {
	b.Helper()
	place, err := memory.NewPlace("main", "portfolio")
	if err != nil {
		b.Fatal(err)
	}
	w, err := memory.NewWriter(place, h.lender, memory.ByOperator)
	if err != nil {
		b.Fatal(err)
	}
	for from := 0; from < benchEntries; from += 500 {
		err := h.n.self.DB.Update(b.Context(), func(tx store.Tx) error {
			for i := from; i < from+500; i++ {
				tags := []string{fmt.Sprintf("desk:%d", i%200)}
				if i%(benchEntries/benchMatches) < 2 {
					tags = append(tags, "client:acme")
				}
				if i%2 == 1 {
					tags = append(tags, "confidential")
				}
				d := memory.Draft{Statement: fmt.Sprintf("Position %d was hedged before the rebalancing of 1 December.", i), Tags: tags}
				if _, err := h.n.self.Entries.Put(tx, w, d); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func (h *house) loan(b *testing.B, reads uint64) lender.Loan {
	b.Helper()
	l, err := h.n.lender.Issue(b.Context(), lender.IssueInput{Lender: "research", Borrower: h.quant.String(), Scope: benchScope,
		Purpose: "pressure-test strategy S7", Expires: "720h", MaxReads: reads})
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// requests signs n requests, each with a nonce of its own; they are good for a minute.
func (h *house) requests(b *testing.B, op string, perm envelope.ID, n int) []string {
	b.Helper()
	out := make([]string, n)
	for i := range out {
		rq := lending.ReadRequest{At: envelope.TimeOf(time.Now()), Aud: h.lender, Borrower: h.quant, Kid: h.kid, Nonce: lending.NewSalt(), Op: op, Perm: perm}
		if op == lending.OpRead {
			rq.Limit, rq.Purpose = benchMatches, "S7 drawdown check"
		}
		e, err := envelope.Seal(b.Context(), rq, h.signer)
		if err != nil {
			b.Fatal(err)
		}
		if out[i], err = e.Compact(); err != nil {
			b.Fatal(err)
		}
	}
	return out
}

// wire is the bytes of the HTTP request of one read.
func wire(addr, request string) []byte {
	body := `{"request":"` + request + `"}`
	return fmt.Appendf(nil, "POST /api/v1/reads HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", addr, len(body), body)
}

func wires(addr string, requests []string) [][]byte {
	out := make([][]byte, len(requests))
	for i, r := range requests {
		out[i] = wire(addr, r)
	}
	return out
}

// conn is one caller's connection: it sends whole requests and reads whole answers, so
// that little of what is measured is the caller.
type conn struct {
	net.Conn
	r *bufio.Reader
}

func dial(b *testing.B, addr string) *conn {
	b.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return &conn{c, bufio.NewReaderSize(c, 64<<10)}
}

// call returns the status and the body of the answer.
func (c *conn) call(request []byte) (status int, body []byte, err error) {
	if _, err := c.Write(request); err != nil {
		return 0, nil, err
	}
	length := -1
	for first := true; ; first = false {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return 0, nil, err
		}
		line = strings.TrimSpace(line)
		switch {
		case first:
			status, err = strconv.Atoi(strings.Fields(line)[1])
		case line == "":
			if length < 0 {
				return 0, nil, errors.New("an answer of unknown length")
			}
			body = make([]byte, length)
			_, err = io.ReadFull(c.r, body)
			return status, body, err
		case strings.HasPrefix(strings.ToLower(line), "content-length:"):
			length, err = strconv.Atoi(strings.TrimSpace(line[len("content-length:"):]))
		}
		if err != nil {
			return 0, nil, err
		}
	}
}

// granted reads an answer and returns the receipt in it.
func granted(b *testing.B, status int, body []byte) lending.Receipt {
	b.Helper()
	if status != http.StatusOK {
		b.Fatalf("status %d: %s", status, body)
	}
	a, err := lending.ParseAnswer(body)
	if err != nil {
		b.Fatal(err)
	}
	var entries []json.RawMessage
	var all struct{ Entries json.RawMessage }
	if err := errors.Join(json.Unmarshal(body, &all), json.Unmarshal(all.Entries, &entries)); err != nil || len(entries) != benchMatches {
		b.Fatalf("%d entries: %v", len(entries), err)
	}
	e, err := envelope.ParseCompact(a.Receipt, lending.ReceiptType, lending.MaxReceipt)
	if err != nil {
		b.Fatal(err)
	}
	r, err := envelope.Decode[lending.Receipt](e)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// echo is a bare HTTP server that answers every request with the same bytes.
func echo(b *testing.B, answer []byte) string {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		_, _ = w.Write(answer)
	})}
	go func() { _ = srv.Serve(ln) }()
	b.Cleanup(func() { srv.Close() })
	return ln.Addr().String()
}

// bare is the cryptography and the durable write that one read cannot do without.
type bare struct {
	pub    did.PublicKey
	pre    envelope.Preimage
	sig    did.Signature
	signer envelope.Signer
	file   *os.File
	row    []byte
}

// bareBytes is about what one read writes: row, request, receipt, nonce, counter.
const bareBytes = 4096

func (h *house) bare(b *testing.B) *bare {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "bare"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	e, err := envelope.ParseCompact(h.requests(b, lending.OpRead, envelope.IDOf(nil), 1)[0], lending.ReadRequestType, lending.MaxRequest)
	if err != nil {
		b.Fatal(err)
	}
	return &bare{h.signer.Public(), e.Preimage(), e.Signatures[0].Sig, h.signer, f, make([]byte, bareBytes)}
}

func (f *bare) crypto() error {
	_, err := f.signer.Sign(context.Background(), f.pre)
	return errors.Join(err, f.pub.Verify(f.pre.Bytes(), f.sig))
}

func (f *bare) append() error {
	_, err := f.file.Write(f.row)
	return errors.Join(err, f.file.Sync())
}

// BenchmarkFigureRead is one caller's durable reads over loopback HTTP; the floor is one
// verification, one signature, one synced append and an HTTP echo of the same bytes.
func BenchmarkFigureRead(b *testing.B) {
	const reads, warm = 1500, 200
	h := openHouse(b)
	l := h.loan(b, reads+warm)
	c := dial(b, h.addr)
	var answer []byte
	for _, w := range wires(h.addr, h.requests(b, lending.OpRead, l.ID, warm)) {
		status, body, err := c.call(w)
		if err != nil {
			b.Fatal(err)
		}
		granted(b, status, body)
		answer = body
	}
	f, server := h.bare(b), echo(b, answer)
	ec := dial(b, server)
	all := wires(h.addr, h.requests(b, lending.OpRead, l.ID, reads))
	i := 0
	read := func() error {
		status, _, err := c.call(all[i])
		if i++; err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d", status)
		}
		return err
	}
	floor := func() error {
		_, _, err := ec.call(all[0])
		return errors.Join(err, f.crypto(), f.append())
	}
	got, least := benchtest.Turns(b, reads, 1, read, floor)
	benchtest.Latency(b, "read: one caller, 20 of 10,000 entries", got, least, "verify + sign + synced append + echo", benchtest.Target{P50: time.Millisecond})
}

// BenchmarkFigureHotReads is 32 callers on one permission. Every answer is kept and
// checked: seq 1..n, each once. What the cores would answer if nobody else used them is
// told beside it: a shared machine changes that little.
func BenchmarkFigureHotReads(b *testing.B) {
	for _, callers := range []int{32, 64} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) { hotReads(b, callers) })
	}
}

func hotReads(b *testing.B, callers int) {
	const reads = 6_000
	h := openHouse(b)
	l := h.loan(b, reads)
	conns := make([]*conn, callers)
	for i := range conns {
		conns[i] = dial(b, h.addr)
	}
	all := wires(h.addr, h.requests(b, lending.OpRead, l.ID, reads))
	answers, status := make([][]byte, reads), make([]int, reads)
	var next atomic.Int64
	var wg sync.WaitGroup
	runtime.GC()
	start, cpu := time.Now(), benchtest.CPU()
	for _, c := range conns {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < reads; i = next.Add(1) - 1 {
				var err error
				if status[i], answers[i], err = c.call(all[i]); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	took, work := time.Since(start), benchtest.CPU()-cpu
	if b.Failed() {
		b.FailNow()
	}
	seen := make([]bool, reads+1)
	for i, body := range answers {
		seq := granted(b, status[i], body).Seq
		if seq < 1 || seq > reads || seen[seq] {
			b.Fatalf("seq %d is out of range or there twice", seq)
		}
		seen[seq] = true
	}
	f := h.bare(b)
	each, _ := benchtest.Turns(b, 2000, 1, f.crypto, func() error { return nil })
	cores := float64(runtime.GOMAXPROCS(0))
	least := cores * float64(time.Second) / float64(each.P50)
	t := benchtest.Target{Rate: 4000}
	if callers == 64 {
		t.Rate = 10_000
	}
	benchtest.Rate(b, fmt.Sprintf("read: %d callers on one permission, exact", callers), reads/took.Seconds(), least, "cores / (verify + sign)", t)
	benchtest.Rate(b, fmt.Sprintf("read: %d callers, by processor time of node and callers", callers), cores*reads/work.Seconds(), least, "cores / (verify + sign)", t)
}

// BenchmarkFigureStatus is the node's time for one status request.
func BenchmarkFigureStatus(b *testing.B) {
	const n = 2000
	h := openHouse(b)
	l := h.loan(b, 1)
	all, f, i := h.requests(b, lending.OpStatus, l.ID, n), h.bare(b), 0
	ask := func() error {
		_, err := h.n.lender.Status(b.Context(), lender.Call{Request: all[i]})
		i++
		return err
	}
	got, least := benchtest.Turns(b, n, 1, ask, f.crypto)
	benchtest.Latency(b, "status: node time", got, least, "verify + sign", benchtest.Target{P50: 200 * time.Microsecond})
}

// BenchmarkFigureRevoke is a revocation while reads of the loan are under way. A read
// that began after the revocation returned must be denied.
func BenchmarkFigureRevoke(b *testing.B) {
	for _, c := range []struct{ callers, loans int }{{32, 60}, {1000, 12}} {
		b.Run(strconv.Itoa(c.callers), func(b *testing.B) { revokes(b, c.callers, c.loans) })
	}
}

func revokes(b *testing.B, callers, loans int) {
	h := openHouse(b)
	conns := make([]*conn, callers)
	for i := range conns {
		conns[i] = dial(b, h.addr)
	}
	f := h.bare(b)
	var took, least []time.Duration
	for range loans {
		took = append(took, h.revoked(b, conns))
		start := time.Now()
		if err := f.append(); err != nil {
			b.Fatal(err)
		}
		least = append(least, time.Since(start))
	}
	benchtest.Latency(b, fmt.Sprintf("revoke: %s reads in flight", strconv.Itoa(callers)), benchtest.Of(took), benchtest.Of(least), "one synced append", benchtest.Target{P99: 10 * time.Millisecond})
}

// revoked reads one loan over all connections, revokes it meanwhile and returns how long
// that took.
func (h *house) revoked(b *testing.B, conns []*conn) time.Duration {
	b.Helper()
	l := h.loan(b, 1_000_000)
	const each = 4
	all := wires(h.addr, h.requests(b, lending.OpRead, l.ID, each*len(conns)))
	var returned atomic.Int64 // nanoseconds from begin; 0: not yet
	var answers, late atomic.Int64
	begin := time.Now()
	enough := make(chan struct{})
	var wg sync.WaitGroup
	for i, c := range conns {
		wg.Go(func() {
			for k := 0; ; k++ {
				after := returned.Load() != 0
				status, body, err := c.call(all[(i*each+k)%len(all)])
				if err != nil {
					b.Error(err)
					return
				}
				if after && status == http.StatusOK {
					late.Add(1)
				}
				if answers.Add(1) == int64(len(conns)) {
					close(enough)
				}
				if status != http.StatusOK && bytes.Contains(body, []byte(`"revoked"`)) {
					return
				}
			}
		})
	}
	<-enough
	start := time.Now()
	if _, err := h.n.lender.Revoke(b.Context(), l.ID.String(), "ended", ""); err != nil {
		b.Fatal(err)
	}
	took := time.Since(start)
	returned.Store(int64(time.Since(begin)))
	wg.Wait()
	if late.Load() > 0 {
		b.Fatalf("%d reads that began after the revocation were granted", late.Load())
	}
	return took
}
