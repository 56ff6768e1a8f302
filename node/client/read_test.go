package client

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/lender"
	"trustnode/node/self"
)

// The story of a loan as its borrower sees it.
func TestStory(t *testing.T) {
	k := newKit(t)
	loan := k.issue(t, 5)
	r := k.mustRead(t, loan.ID.String()) // by id: the bytes are asked for
	if r.Perm != loan.ID || len(r.Entries) != 1 || !bytes.Contains(r.Entries[0], []byte("One.")) || r.Receipt.Seq != 1 || r.Receipt.Left != 4 || r.Receipt.State != lending.Valid {
		t.Errorf("got %+v", r)
	}
	if k.wire.asked["fetch"] != 1 || k.wire.asked["sync"] != 0 {
		t.Errorf("asked %v", k.wire.asked)
	}
	checkKept(t, k, loan, r)
	k.revoke(t, loan)
	d := k.refused(t, loan.Compact, fault.Revoked, true)
	if d.Reason != "ended" || d.Perm != loan.ID || d.Receipt == "" {
		t.Errorf("refusal: got %+v", d)
	}
	asked := len(k.wire.frames)
	again := k.refused(t, loan.Compact, fault.Revoked, true) // remembered, not asked again
	if len(k.wire.frames) != asked || again.Receipt != d.Receipt {
		t.Errorf("the lender was asked again, or the proof is another one: %+v", again)
	}
	if len(k.ended) != 1 || k.ended[0].Perm != loan.ID || k.ended[0].State != lending.Revoked {
		t.Errorf("told of %+v", k.ended)
	}
	// Both events rest on the lender's, which is not here yet.
	if got := k.events(t, loan.ID); len(got) != 0 {
		t.Errorf("events %v before the loan is known here", got)
	}
	k.pull()
	for range 2 {
		if err := k.sayPending(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	checkSaid(t, k, loan)
}

func checkKept(t *testing.T, k *kit, loan lender.Loan, r ReadResult) {
	t.Helper()
	pairs, err := k.Receipts(t.Context(), loan.ID.String())
	if err != nil || len(pairs) != 1 || pairs[0].Seq != 1 || pairs[0].Receipt != r.ReceiptID || pairs[0].Hash != r.Receipt.Hash || pairs[0].Request != r.Receipt.Request {
		t.Fatalf("receipts: got %+v, %v", pairs, err)
	}
	for id, what := range map[envelope.ID]string{loan.ID: "permission", r.ReceiptID: "receipt", r.Receipt.Request: "readrequest"} {
		if o, err := k.vendor.Lib.Get(t.Context(), id); err != nil || o.What != what {
			t.Errorf("%s is not kept: %v", what, err)
		}
	}
	rows := k.rows(t, loan.ID)
	if got, ok := rows[0].(lending.ReceivedRow); len(rows) != 1 || !ok || got.Receipt != r.ReceiptID || got.Seq != 1 {
		t.Errorf("rows: got %+v", rows)
	}
}

func checkSaid(t *testing.T, k *kit, loan lender.Loan) {
	t.Helper()
	if err := k.vendor.Rec.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for f, err := range k.vendor.Rec.Facts(t.Context(), attestation.Query{Org: k.vendor.Org, Subject: loan.ID.String()}) {
		if err != nil {
			t.Fatal(err)
		}
		e := f.Event.Body()
		got = append(got, string(e.Type))
		if e.Refs[0] != loan.Issued || e.Actor != k.quant {
			t.Errorf("%s rests on %s in the name of %s", e.Type, e.Refs[0], e.Actor)
		}
		var d attestation.LoanEndSeen
		if e.Type == "loan.end_seen" && (e.Decode(&d) != nil || !d.Verified || d.Permission != loan.ID) {
			t.Errorf("loan.end_seen says %+v", d)
		}
	}
	if !slices.Equal(got, []string{"loan.taken", "loan.end_seen"}) {
		t.Errorf("own events: got %v", got)
	}
	l, err := k.Loan(t.Context(), loan.ID.String())
	if err != nil || l.State != lending.Revoked || l.Reads != 1 || l.Left != 4 || l.EndedBy.IsZero() || l.Unanchored || l.Permission == nil || l.Compact != loan.Compact {
		t.Errorf("loan: got %+v, %v", l, err)
	}
	if rows := k.rows(t, loan.ID); len(rows) != 2 {
		t.Errorf("rows: got %+v", rows)
	}
}

// Where the lender's event is known, both are said with the read itself.
func TestSaidAtOnce(t *testing.T) {
	k := newKit(t)
	loan := k.issue(t, 1)
	k.pull()
	k.mustRead(t, loan.Compact)
	if d := k.refused(t, loan.Compact, fault.Exhausted, true); d.Perm != loan.ID {
		t.Errorf("got %+v", d)
	}
	if got := k.events(t, loan.ID); !slices.Equal(got, []string{"loan.issued", "loan.taken", "loan.end_seen"}) && !slices.Equal(got, []string{"loan.taken", "loan.end_seen", "loan.issued"}) {
		t.Errorf("events: got %v", got)
	}
}

// A loan the lender's log names is listed before it is used, and one that is used
// without the lender's event is unanchored after a minute.
func TestLoans(t *testing.T) {
	k := newKit(t)
	first := k.issue(t, 5)
	k.pull()
	second := k.issue(t, 7)
	k.mustRead(t, second.Compact)
	all, err := k.Loans(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("got %+v, %v", all, err)
	}
	byID := map[envelope.ID]Loan{all[0].ID: all[0], all[1].ID: all[1]}
	if l := byID[first.ID]; l.Permission != nil || l.MaxReads != 5 || l.Left != 5 || l.Borrower != k.quant || l.Unanchored {
		t.Errorf("offered: got %+v", l)
	}
	if l := byID[second.ID]; l.Permission == nil || l.Reads != 1 || l.Unanchored {
		t.Errorf("used: got %+v", l)
	}
	k.w.Clock.Add(time.Minute)
	if l, err := k.Loan(t.Context(), second.ID.String()); err != nil || !l.Unanchored {
		t.Errorf("after a minute: got %+v, %v", l, err)
	}
	if _, err := k.Loan(t.Context(), envelope.IDOf([]byte("x")).String()); fault.Of(err) != fault.NotFound {
		t.Errorf("a loan nobody issued: got %v", err)
	}
	k.w.Clock.Add(720 * time.Hour)
	if l, err := k.Loan(t.Context(), first.ID.String()); err != nil || l.State != lending.Expired {
		t.Errorf("after its end: got %+v, %v", l, err)
	}
}

func TestReadRefusesBeforeAsking(t *testing.T) {
	k := newKit(t)
	loan := k.issue(t, 5)
	k.vendor.AddAgent(t, "other", keyring.Borrow)
	k.vendor.AddAgent(t, "cook", keyring.Lend)
	for _, c := range []struct {
		name   string
		change func(in *ReadInput)
		code   fault.Code
		reason string
	}{
		{"an agent nobody knows", func(in *ReadInput) { in.As = "ghost" }, fault.NotFound, "agent"},
		{"an agent of another organization", func(in *ReadInput) { in.As = k.research.String() }, fault.NotFound, "agent"},
		{"an agent that may not borrow", func(in *ReadInput) { in.As = "cook" }, fault.Refused, "borrower_ended"},
		{"an agent the permission is not for", func(in *ReadInput) { in.As = "other" }, fault.Refused, "not_borrower"},
		{"no permission", func(in *ReadInput) { in.Perm = "" }, fault.Invalid, "permission"},
		{"a permission nobody issued", func(in *ReadInput) { in.Perm = envelope.IDOf([]byte("x")).String() }, fault.NotFound, "permission"},
		{"a permission with another signature", func(in *ReadInput) { in.Perm = in.Perm[:len(in.Perm)-6] + "AAAAAA" }, fault.Unauthenticated, ""},
		{"no purpose", func(in *ReadInput) { in.Purpose = " " }, fault.Invalid, "purpose_missing"},
		{"a purpose that moves the cursor", func(in *ReadInput) { in.Purpose = "a\x1b[2J" }, fault.Invalid, "purpose_missing"},
		{"a filter that is none", func(in *ReadInput) { in.Filter = "everything" }, fault.Invalid, "filter"},
		{"a limit over 100", func(in *ReadInput) { in.Limit = 101 }, fault.Invalid, "limit"},
	} {
		in := k.ask(loan.Compact)
		c.change(&in)
		_, err := k.Read(t.Context(), in)
		if d := fault.From(err); d == nil || d.Code != c.code || d.Reason != c.reason {
			t.Errorf("%s: got %v, want %s %s", c.name, err, c.code, c.reason)
		}
	}
	if len(k.wire.frames) != 0 {
		t.Errorf("the lender was asked %d times", len(k.wire.frames))
	}
}

// A permission that is to be checked at an address this node does not ask is refused by name.
func TestAddresses(t *testing.T) {
	k := newKit(t)
	loan := k.issue(t, 5)
	key, _, err := k.acme.Signers.Agent(t.Context(), k.research)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"https://acme.example/api/v1/permissions", k.vendor.Org.String() + "#lending"} {
		p := loan.Permission
		p.Revocation = address
		e, err := envelope.Seal(t.Context(), p, key)
		if err != nil {
			t.Fatal(err)
		}
		compact, err := e.Compact()
		if err != nil {
			t.Fatal(err)
		}
		if d := k.refused(t, compact, fault.Invalid, false); d.Reason != "revocation_address" || !strings.Contains(d.Detail, address) {
			t.Errorf("%s: got %+v", address, d)
		}
	}
}

// A refusal of the request itself says nothing of the loan.
func TestOtherRefusals(t *testing.T) {
	k := newKit(t)
	loan := k.issue(t, 5)
	in := k.ask(loan.Compact)
	in.Filter = "tag:confidential"
	_, err := k.Read(t.Context(), in)
	if d := fault.From(err); d == nil || d.Code != fault.Refused || d.Reason != "outside_scope" || d.Verified || d.Perm != loan.ID || d.Hint == "" {
		t.Errorf("got %+v", d)
	}
	if len(k.ended) != 0 || len(k.rows(t, loan.ID)) != 0 {
		t.Error("the loan counts as ended")
	}
	k.mustRead(t, loan.Compact)
}

// Verified refusals that are not the end.
func TestStaleIsNotTheEnd(t *testing.T) {
	k := newKit(t)
	loan := k.issue(t, 5)
	k.pull()
	k.acme.Standing.Set(10) // unconfirmed
	k.refused(t, loan.Compact, fault.Stale, true)
	if len(k.ended) != 0 {
		t.Errorf("told of an end: %+v", k.ended)
	}
	k.acme.Standing.Set(12) // fresh
	k.mustRead(t, loan.Compact)
}

func TestLenderOffline(t *testing.T) {
	k := newKit(t)
	loan := k.issue(t, 5)
	k.mustRead(t, loan.Compact)
	k.wire.set(true, nil)
	d := k.refused(t, loan.Compact, fault.Revoked, false)
	if d.Hint != "the lender did not confirm this loan; access has ended for now. Ask the lender, or agree availability in the pact" || d.Receipt != "" {
		t.Errorf("got %+v", d)
	}
	k.wire.set(false, nil)
	k.mustRead(t, loan.Compact) // the lender decides again
	k.vendor.Peers = self.Offline{}
	if d := k.refused(t, loan.Compact, fault.Unavailable, false); d.Reason != "offline" {
		t.Errorf("own node offline: got %+v", d)
	}
	if len(k.ended) != 0 {
		t.Errorf("told of %+v", k.ended)
	}
}

// Whatever comes back but the one right answer: no content, code revoked, a row.
func TestFailsClosed(t *testing.T) {
	k := newKit(t)
	loan := k.issue(t, 1000)
	other := k.issue(t, 1000)
	otherFrame := func(change func(rq *lending.ReadRequest)) []byte {
		rq := lending.ReadRequest{At: envelope.TimeOf(k.w.Clock.Now()), Aud: k.research, Borrower: k.quant, Nonce: lending.NewSalt(), Op: lending.OpRead, Perm: loan.ID, Purpose: "x"}
		change(&rq)
		return k.exchange(k.frame(t, rq))
	}
	receiptOf := func(frame []byte) string {
		r, _ := lending.ParseReply(frame)
		a, err := lending.ParseAnswer(r.Answer)
		if err != nil {
			t.Fatal(err)
		}
		return a.Receipt
	}
	type reply = func(ctx context.Context, ask func() []byte) ([]byte, error)
	same := func(b []byte) reply {
		return func(context.Context, func() []byte) ([]byte, error) { return b, nil }
	}
	for name, change := range map[string]reply{
		"an error":               func(context.Context, func() []byte) ([]byte, error) { return nil, errors.New("stream was reset") },
		"nothing":                same(nil),
		"an empty frame":         same([]byte{}),
		"a portal":               same([]byte("<!doctype html><title>Sign in</title>")),
		"a redirect":             same([]byte(`{"problem":{"status":302,"location":"https://elsewhere.example"},"status":302}`)),
		"an empty object":        same([]byte(`{}`)),
		"an empty answer":        same([]byte(`{"answer":{},"status":200}`)),
		"internal error":         same([]byte(`{"problem":{"code":"internal","status":500},"status":500}`)),
		"unavailable":            same([]byte(`{"problem":{"code":"unavailable","status":503},"status":503}`)),
		"a revocation unsigned":  same([]byte(`{"problem":{"code":"revoked","status":403},"status":403}`)),
		"an expiry unsigned":     same([]byte(`{"problem":{"code":"expired","status":403},"status":403}`)),
		"a receipt of no format": same([]byte(`{"problem":{"code":"revoked","receipt":"a.b","status":403},"status":403}`)),
		"a code nobody knows":    same([]byte(`{"problem":{"code":"teapot","status":418},"status":418}`)),
		"an answer to another request": func(context.Context, func() []byte) ([]byte, error) {
			return otherFrame(func(*lending.ReadRequest) {}), nil
		},
		"an answer under another permission": func(context.Context, func() []byte) ([]byte, error) {
			return otherFrame(func(rq *lending.ReadRequest) { rq.Perm = other.ID }), nil
		},
		"a valid receipt as a refusal": func(_ context.Context, ask func() []byte) ([]byte, error) {
			return []byte(`{"problem":{"code":"revoked","receipt":"` + receiptOf(ask()) + `","status":403},"status":403}`), nil
		},
		"another receipt in the answer": func(_ context.Context, ask func() []byte) ([]byte, error) {
			mine, theirs := ask(), otherFrame(func(*lending.ReadRequest) {})
			return bytes.Replace(mine, []byte(receiptOf(mine)), []byte(receiptOf(theirs)), 1), nil
		},
		"another entry": func(_ context.Context, ask func() []byte) ([]byte, error) {
			return bytes.Replace(ask(), []byte("One."), []byte("Two."), 1), nil
		},
		"no entry": func(_ context.Context, ask func() []byte) ([]byte, error) {
			b := ask()
			i, j := bytes.Index(b, []byte("[")), bytes.LastIndex(b, []byte(`],"receipt"`))
			return append(append(slices.Clone(b[:i+1]), []byte{}...), b[j:]...), nil
		},
		"an answer a minute late": func(_ context.Context, ask func() []byte) ([]byte, error) {
			b := ask()
			k.w.Clock.Add(61 * time.Second)
			return b, nil
		},
		"a status receipt": func(context.Context, func() []byte) ([]byte, error) {
			rq := lending.ReadRequest{At: envelope.TimeOf(k.w.Clock.Now()), Aud: k.research, Borrower: k.quant, Nonce: lending.NewSalt(), Op: lending.OpStatus, Perm: loan.ID}
			return k.exchange(k.frameOf(t, lending.MethodStatus, rq)), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(k.rows(t, loan.ID))
			k.wire.set(false, change)
			d := k.refused(t, loan.Compact, fault.Revoked, false)
			if d.Receipt != "" || d.Perm != loan.ID || d.Reason != "unconfirmed" {
				t.Errorf("got %+v", d)
			}
			rows := k.rows(t, loan.ID)
			if len(rows) != before+1 {
				t.Fatalf("%d rows more, want 1", len(rows)-before)
			}
			if row, ok := rows[before].(lending.EndedRow); !ok || row.State != lending.Revoked || !row.Receipt.IsZero() {
				t.Errorf("row: got %+v", rows[before])
			}
		})
	}
	if len(k.ended) != 0 {
		t.Errorf("told of %+v", k.ended)
	}
	k.wire.set(false, nil)
	k.mustRead(t, loan.Compact)
}

// A lender that says nothing is given two seconds and no more.
func TestSilence(t *testing.T) {
	k := newKit(t)
	loan := k.issue(t, 5)
	k.Client = New(k.vendor.Node, Config{Timeout: 20 * time.Millisecond})
	k.wire.set(false, func(ctx context.Context, _ func() []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() })
	k.refused(t, loan.Compact, fault.Revoked, false)
	// An answer that came after the deadline counts as none.
	k.wire.set(false, func(ctx context.Context, ask func() []byte) ([]byte, error) { b := ask(); <-ctx.Done(); return b, nil })
	k.refused(t, loan.Compact, fault.Revoked, false)
}

// Each byte of an answer counts: changed anywhere, nothing is handed out.
func TestFlippedAnswers(t *testing.T) {
	k := newKit(t)
	loan := k.issue(t, 1_000_000)
	in := k.ask(loan.Compact)
	at := 0
	n := 1
	k.wire.set(false, func(_ context.Context, ask func() []byte) ([]byte, error) {
		b := ask()
		n = len(b)
		b[at] ^= 1 << (at % 7)
		return b, nil
	})
	step := 1
	if testing.Short() {
		step = 7
	}
	for ; at < n; at += step {
		r, err := k.Read(t.Context(), in)
		if err == nil || r.Entries != nil {
			t.Fatalf("byte %d changed: got %+v", at, r)
		}
	}
	if pairs, err := k.Receipts(t.Context(), loan.ID.String()); err != nil || len(pairs) != 0 {
		t.Errorf("%d receipts are kept, %v", len(pairs), err)
	}
}

// frame is a frame with a request of the borrower made by hand.
func (k *kit) frame(t testing.TB, rq lending.ReadRequest) []byte {
	t.Helper()
	return k.frameOf(t, lending.MethodRead, rq)
}

func (k *kit) frameOf(t testing.TB, method string, rq lending.ReadRequest) []byte {
	t.Helper()
	key, kid, err := k.vendor.Signers.Agent(t.Context(), rq.Borrower)
	if err != nil {
		t.Fatal(err)
	}
	rq.Kid = kid
	e, err := envelope.Seal(t.Context(), rq, key)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := e.Compact()
	if err != nil {
		t.Fatal(err)
	}
	b, err := lending.Frame{Method: method, Request: compact}.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// An unknown lender is asked for once.
func TestUnknownLender(t *testing.T) {
	k := newKit(t)
	row := k.acme.NewAgentRow(t, "late", keyring.Lend)
	k.acme.Know(t, row)
	if _, err := k.lender.AddEntry(t.Context(), lender.AddInput{Agent: "late", Project: "portfolio", Statement: "x", Tags: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	loan, err := k.lender.Issue(t.Context(), lender.IssueInput{Lender: "late", Borrower: k.quant.String(), Scope: "tag:client:acme", Purpose: "x", Expires: "1h", MaxReads: 3})
	if err != nil {
		t.Fatal(err)
	}
	go func() { time.Sleep(50 * time.Millisecond); k.vendor.Know(t, row) }()
	k.mustRead(t, loan.Compact)
	if k.wire.asked["sync"] != 1 {
		t.Errorf("asked %v", k.wire.asked)
	}
}
