package client

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"trustnode/attestation/audit"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/lender"
	"trustnode/node/self"
	"trustnode/node/self/selftest"
	"trustnode/node/store"
)

// wire connects the borrower's node to the lender's, and lets a test stand in between.
type wire struct {
	k *kit

	mu     sync.Mutex
	frames [][]byte                                                     // guarded by mu: what was asked
	change func(ctx context.Context, ask func() []byte) ([]byte, error) // guarded by mu; nil passes on
	closed bool                                                         // guarded by mu: the lender's node is down
	asked  map[string]int                                               // guarded by mu
}

func (w *wire) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[what]++
}

// Sync implements self.Peers: the lender's log and agents arrive.
func (w *wire) Sync(context.Context) error {
	w.count("sync")
	if w.down() {
		return errDown
	}
	w.k.pull()
	return nil
}

// Fetch implements self.Peers, with the lender's grants.
func (w *wire) Fetch(ctx context.Context, ids ...envelope.ID) error {
	w.count("fetch")
	if w.down() {
		return errDown
	}
	for _, id := range ids {
		if w.k.acme.Lib.MayRead(ctx, w.k.vendor.Org, id) != nil {
			continue
		}
		o, err := w.k.acme.Lib.Get(ctx, id)
		if err != nil {
			continue
		}
		if err := w.k.vendor.DB.Update(ctx, func(tx store.Tx) error { return w.k.vendor.Lib.Put(tx, o) }); err != nil {
			return err
		}
	}
	return nil
}

// Lend implements self.Peers.
func (w *wire) Lend(ctx context.Context, org did.DID, frame []byte) ([]byte, error) {
	w.mu.Lock()
	w.frames = append(w.frames, bytes.Clone(frame))
	change := w.change
	w.mu.Unlock()
	if w.down() || org != w.k.acme.Org {
		return nil, errDown
	}
	ask := func() []byte { return w.k.exchange(frame) }
	if change != nil {
		return change(ctx, ask)
	}
	return ask(), nil
}

func (w *wire) down() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

func (w *wire) set(closed bool, change func(ctx context.Context, ask func() []byte) ([]byte, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed, w.change = closed, change
}

var errDown = errors.New("nobody is there")

// kit is a lender's and a borrower's node.
type kit struct {
	*Client
	w        *selftest.World
	acme     *selftest.Node
	vendor   *selftest.Node
	lender   *lender.Lender
	wire     *wire
	research did.DID
	quant    did.DID
	t        testing.TB
	ended    []Ended
}

func newKit(t testing.TB) *kit { t.Helper(); return newKitWith(t, selftest.Option{}) }

func newKitWith(t testing.TB, o selftest.Option) *kit {
	t.Helper()
	w := selftest.New(t, o, "acme", "vendor", "arbiter")
	k := &kit{w: w, acme: w.Nodes[0], vendor: w.Nodes[1], t: t}
	k.research = k.acme.AddAgent(t, "research", keyring.Lend)
	k.quant = k.vendor.AddAgent(t, "quant", keyring.Borrow)
	k.lender = lender.New(k.acme.Node, lender.Config{ReadsPerSecond: 1_000_000})
	k.wire = &wire{k: k, asked: map[string]int{}}
	k.vendor.Peers = k.wire
	k.Client = New(k.vendor.Node, Config{OnEnded: func(e Ended) { k.ended = append(k.ended, e) }})
	if _, err := k.lender.AddEntry(t.Context(), lender.AddInput{Agent: "research", Project: "portfolio", Statement: "One.", Tags: []string{"client:acme"}}); err != nil {
		t.Fatal(err)
	}
	return k
}

// pull brings the lender's log to the borrower.
func (k *kit) pull() { k.t.Helper(); k.acme.Sync(k.t, k.vendor) }

// exchange is one exchange of frames with the lender.
func (k *kit) exchange(frame []byte) []byte {
	var out []byte
	if err := k.lender.Serve(context.Background(), k.vendor.Org, frame, func(b []byte) error { out = slices.Clone(b); return nil }, func() {}); err != nil {
		k.t.Error(err)
	}
	return out
}

func (k *kit) issue(t testing.TB, maxReads uint64) lender.Loan {
	t.Helper()
	l, err := k.lender.Issue(t.Context(), lender.IssueInput{Lender: "research", Borrower: k.quant.String(), Scope: "tag:client:acme -tag:confidential", Purpose: "S7", Expires: "720h", MaxReads: maxReads})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (k *kit) revoke(t testing.TB, l lender.Loan) {
	t.Helper()
	if _, err := k.lender.Revoke(t.Context(), l.ID.String(), "ended", ""); err != nil {
		t.Fatal(err)
	}
}

func (k *kit) ask(perm string) ReadInput {
	return ReadInput{As: "quant", Perm: perm, Purpose: "S7 drawdown check"}
}

func (k *kit) mustRead(t testing.TB, perm string) ReadResult {
	t.Helper()
	r, err := k.Read(t.Context(), k.ask(perm))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// refused reads, wants a refusal without content, and returns it.
func (k *kit) refused(t testing.TB, perm string, code fault.Code, verified bool) *fault.Denied {
	t.Helper()
	r, err := k.Read(t.Context(), k.ask(perm))
	var d *fault.Denied
	if !errors.As(err, &d) {
		t.Fatalf("got %v, want a refusal with code %s", err, code)
	}
	if d.Code != code || d.Verified != verified || d.Hint == "" {
		t.Errorf("got %+v (%v), want code %s, verified %v, and a hint", d, d, code, verified)
	}
	if r.Entries != nil || r.Refs != nil || !r.ReceiptID.IsZero() {
		t.Errorf("a refusal came with content: %+v", r)
	}
	return d
}

// rows lists the borrower's own rows about a loan, in the log or on their way.
func (k *kit) rows(t testing.TB, perm envelope.ID) (out []lending.Row) {
	t.Helper()
	waiting, err := k.vendor.Rec.WaitingRows(t.Context(), perm.String())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	take := func(_ uint64, row audit.Row) error {
		if seen[string(row.Body)] {
			return nil
		}
		seen[string(row.Body)] = true
		r, err := lending.ParseRow(row.Body)
		out = append(out, r)
		return err
	}
	err = k.vendor.Rec.RowsOf(t.Context(), perm.String(), take)
	for _, row := range waiting {
		err = errors.Join(err, take(0, row))
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (k *kit) events(t testing.TB, perm envelope.ID) (out []string) {
	t.Helper()
	if err := k.vendor.Rec.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return k.vendor.Events(t, perm.String())
}

var _ self.Peers = (*wire)(nil)
