package lender

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
	"trustnode/node/notice"
	"trustnode/node/self"
	"trustnode/node/self/selftest"
	"trustnode/node/store"
)

// kit is a lender's node and a borrower that signs requests by hand.
type kit struct {
	*Lender
	w        *selftest.World
	acme     *selftest.Node
	vendor   *selftest.Node
	research did.DID // lending agent of acme
	quant    did.DID // borrowing agent of vendor
}

const folio = "portfolio"

func newKit(t testing.TB, o selftest.Option, cfg Config) *kit {
	t.Helper()
	w := selftest.New(t, o, "acme", "vendor", "arbiter")
	k := &kit{w: w, acme: w.Nodes[0], vendor: w.Nodes[1]}
	k.research = k.acme.AddAgent(t, "research", keyring.Lend)
	k.quant = k.vendor.AddAgent(t, "quant", keyring.Borrow)
	if cfg.ReadsPerSecond == 0 {
		cfg.ReadsPerSecond = 1_000_000
	}
	k.Lender = New(k.acme.Node, cfg)
	return k
}

// memoryKit is one whose data are in memory.
func memoryKit(t testing.TB) *kit { t.Helper(); return newKit(t, selftest.Option{}, Config{}) }

// onDisk opens the databases of nodes under a directory.
func onDisk(dir string) selftest.Option {
	return selftest.Option{Open: func(t testing.TB, node string) (state, audit store.DB) {
		return badger(t, dir+"/"+node+"/state"), badger(t, dir+"/"+node+"/audit")
	}}
}

func badger(t testing.TB, dir string) store.DB {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := store.OpenBadger(dir, quiet())
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// add adds an entry with these tags.
func (k *kit) add(t testing.TB, statement string, tags ...string) memory.Entry {
	t.Helper()
	e, err := k.AddEntry(t.Context(), AddInput{Agent: "research", Project: folio, Statement: statement, Tags: tags})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// issue issues a loan of 30 days over tag:client:acme.
func (k *kit) issue(t testing.TB, maxReads uint64) Loan {
	t.Helper()
	l, err := k.Issue(t.Context(), k.wish(maxReads))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (k *kit) wish(maxReads uint64) IssueInput {
	return IssueInput{Lender: "research", Borrower: k.quant.String(), Scope: "-tag:confidential tag:client:acme age<90d", Purpose: "pressure-test strategy S7",
		Expires: "720h", MaxReads: maxReads}
}

// request is a request for a loan; change may alter it before it is signed.
func (k *kit) request(t testing.TB, l Loan, change ...func(*lending.ReadRequest)) string {
	t.Helper()
	rq := lending.ReadRequest{At: envelope.TimeOf(k.w.Clock.Now()), Aud: l.Permission.Lender, Borrower: k.quant, Nonce: lending.NewSalt(), Op: lending.OpRead, Perm: l.ID, Purpose: "S7 drawdown check"}
	for _, c := range change {
		c(&rq)
	}
	return k.seal(t, k.vendor, rq)
}

// seal signs a request with the key of its borrower, which is held by n.
func (k *kit) seal(t testing.TB, n *selftest.Node, rq lending.ReadRequest) string {
	t.Helper()
	key, kid, err := n.Signers.Agent(t.Context(), rq.Borrower)
	if err != nil {
		t.Fatal(err)
	}
	rq.Kid = kid
	e, err := envelope.Seal(t.Context(), rq, key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.Compact()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// taker takes what is sent.
type taker struct {
	mu   sync.Mutex
	sent [][]byte
}

func (s *taker) Send(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, slices.Clone(b))
	return nil
}

func (s *taker) Abort() {}

// read reads and opens the answer.
func (k *kit) read(ctx context.Context, compact string) (lending.Answer, lending.Receipt, error) {
	s := &taker{}
	if err := k.Read(ctx, Call{Request: compact, Send: s}); err != nil {
		if len(s.sent) > 0 {
			return lending.Answer{}, lending.Receipt{}, fmt.Errorf("sent and refused: %w", err)
		}
		return lending.Answer{}, lending.Receipt{}, err
	}
	if len(s.sent) != 1 {
		return lending.Answer{}, lending.Receipt{}, fmt.Errorf("%d answers were sent", len(s.sent))
	}
	a, err := lending.ParseAnswer(s.sent[0])
	if err != nil {
		return a, lending.Receipt{}, err
	}
	r, err := k.receipt(ctx, a.Receipt)
	return a, r, err
}

// receipt opens a receipt of the lender.
func (k *kit) receipt(ctx context.Context, compact string) (lending.Receipt, error) {
	e, err := envelope.ParseCompact(compact, lending.ReceiptType, lending.MaxReceipt)
	if err != nil {
		return lending.Receipt{}, err
	}
	row, err := self.Agent(self.ViewGetter(ctx, k.acme.DB), k.research)
	if err != nil {
		return lending.Receipt{}, err
	}
	v, err := envelope.Open[lending.Receipt](ctx, e, anyTime(row))
	if err != nil {
		return lending.Receipt{}, err
	}
	return v.Body(), nil
}

// mustRead is read of what is granted.
func (k *kit) mustRead(t testing.TB, compact string) (lending.Answer, lending.Receipt) {
	t.Helper()
	a, r, err := k.read(t.Context(), compact)
	if err != nil {
		t.Fatal(err)
	}
	return a, r
}

// refusedWith wants a refusal with this code and reason; it returns it.
func refusedWith(t testing.TB, err error, code fault.Code, reason string) *fault.Denied {
	t.Helper()
	var d *fault.Denied
	if !errors.As(err, &d) {
		t.Fatalf("got %v, want a refusal with code %s", err, code)
	}
	if d.Code != code || d.Reason != reason {
		t.Errorf("got %s %q (%v), want %s %q", d.Code, d.Reason, d, code, reason)
	}
	return d
}

// rowsOf lists the rows of a loan as "op decision code seq".
func (k *kit) rowsOf(t testing.TB, id envelope.ID) []string {
	t.Helper()
	a, err := k.Audit(t.Context(), id.String())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range a.Rows {
		switch b := r.Row.(type) {
		case lending.GrantedRow:
			out = append(out, fmt.Sprintf("%s %s %d", b.Op, b.Decision, b.Seq))
		case lending.DeniedRow:
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", b.Op, b.Decision, b.Code, b.Reason)))
		case lending.ReplayRow:
			out = append(out, fmt.Sprintf("%s %s %d", b.Op, b.Decision, b.Seq))
		case lending.IssueRow:
			out = append(out, b.Op)
		case lending.RevokeRow:
			out = append(out, b.Op+" "+b.Reason)
		case lending.GrowthRow:
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %d of %d %s", b.Op, b.Matches, b.Issued, strings.Join(b.Classes, " "))))
		default:
			out = append(out, fmt.Sprintf("%T", b))
		}
	}
	return out
}

func wantEqual[T any](t testing.TB, what string, got, want []T, same func(a, b T) bool) {
	t.Helper()
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func wantTexts(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	wantEqual(t, what, got, want, func(a, b string) bool { return a == b })
}

// statements lists what an answer's entries say.
func statements(t testing.TB, a lending.Answer) []string {
	t.Helper()
	var out []string
	for _, e := range a.Entries {
		_, rest, _ := strings.Cut(string(e), `"statement":"`)
		text, _, ok := strings.Cut(rest, `"`)
		if !ok {
			t.Fatalf("no statement in %s", e)
		}
		out = append(out, text)
	}
	return out
}

func within(t testing.TB, d time.Duration, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(d):
		t.Fatalf("%s took over %s", what, d)
	}
}

func (k *kit) notices(t testing.TB) []notice.Notice {
	t.Helper()
	ns, err := notice.List(t.Context(), k.acme.DB)
	if err != nil {
		t.Fatal(err)
	}
	return ns
}
