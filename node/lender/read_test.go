package lender

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
	"trustnode/federation"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self"
	"trustnode/node/self/selftest"
)

// Each row changes the world or the request, and says what the read then gets.
var refusals = []struct {
	name     string
	world    func(t testing.TB, k *kit, l Loan)
	request  func(rq *lending.ReadRequest)
	code     fault.Code
	reason   string
	verified bool   // a receipt proves it
	row      string // "" leaves none
}{
	{"a request of 61 seconds ago", nil, func(rq *lending.ReadRequest) { rq.At = rq.At.Add(-61 * time.Second) }, fault.ClockSkew, "", false, "clock_skew"},
	{"a request of 61 seconds from now", nil, func(rq *lending.ReadRequest) { rq.At = rq.At.Add(61 * time.Second) }, fault.ClockSkew, "", false, "clock_skew"},
	{"a request for another lender", nil, func(rq *lending.ReadRequest) { rq.Aud = rq.Borrower }, fault.Unauthenticated, "audience", false, "unauthenticated audience"},
	{"another op", nil, func(rq *lending.ReadRequest) { rq.Op = lending.OpDiscover }, fault.Invalid, "op", false, "invalid op"},
	{"no purpose", nil, func(rq *lending.ReadRequest) { rq.Purpose = "" }, fault.Refused, "purpose_missing", false, "refused purpose_missing"},
	{"a filter outside the scope", nil, func(rq *lending.ReadRequest) { rq.Filter = lending.MustParse("tag:confidential") }, fault.Refused, "outside_scope", false, "refused outside_scope"},
	{"a cursor of nowhere", nil, func(rq *lending.ReadRequest) { rq.Cursor = "AAAA" }, fault.Invalid, "cursor", false, "invalid cursor"},
	{"the end reached to the second", func(t testing.TB, k *kit, l Loan) {
		k.w.Clock.Add(l.Permission.ExpiresAt.Time().Sub(k.acme.Must(t)))
	}, func(rq *lending.ReadRequest) {}, fault.Expired, "", true, "expired"},
	{"a revocation", func(t testing.TB, k *kit, l Loan) { k.revoke(t, l) }, nil, fault.Revoked, "misuse", true, "revoked misuse"},
	{"a revocation, and a filter outside the scope", func(t testing.TB, k *kit, l Loan) { k.revoke(t, l) },
		func(rq *lending.ReadRequest) { rq.Filter = lending.MustParse("tag:confidential") }, fault.Revoked, "misuse", true, "revoked misuse"},
	{"a revocation, and a cursor of nowhere", func(t testing.TB, k *kit, l Loan) { k.revoke(t, l) },
		func(rq *lending.ReadRequest) { rq.Cursor = "AAAA" }, fault.Revoked, "misuse", true, "revoked misuse"},
	{"a lender's agent that was revoked", func(t testing.TB, k *kit, l Loan) {
		k.acme.Change(t, k.research, func(a *self.AgentRow) { a.Revoked = true })
	}, nil, fault.Refused, "lender_ended", false, "refused lender_ended"},
	{"a borrower's agent that was revoked", func(t testing.TB, k *kit, l Loan) {
		k.acme.Change(t, k.quant, func(a *self.AgentRow) { a.Revoked = true })
	}, nil, fault.Refused, "borrower_ended", false, "refused borrower_ended"},
	{"a borrower's agent that may no longer borrow", func(t testing.TB, k *kit, l Loan) {
		k.acme.Change(t, k.quant, func(a *self.AgentRow) { a.Capabilities = []string{"lend"} })
	}, nil, fault.Refused, "borrower_ended", false, "refused borrower_ended"},
	{"a borrower whose organization is no member", func(t testing.TB, k *kit, l Loan) {
		k.acme.Standing.Use(selftest.New(t, selftest.Option{Seed: 0x50}, "one", "two", "three").Chain())
	}, nil, fault.Refused, "not_member", false, "refused not_member"},
	{"a node that is not fresh any more", func(t testing.TB, k *kit, l Loan) { k.acme.Standing.Set(federation.Unconfirmed) }, nil, fault.Stale, "unconfirmed", true, "stale unconfirmed"},
	{"a node that has no federation any more", func(t testing.TB, k *kit, l Loan) { k.acme.Standing.Set(federation.Alone) }, nil, fault.Stale, "alone", true, "stale alone"},
	{"a clock that fell behind", func(t testing.TB, k *kit, l Loan) { k.acme.Must(t); k.w.Clock.Add(-time.Minute) }, nil, fault.Unavailable, "clock_untrusted", false, "unavailable clock_untrusted"},
}

func (k *kit) revoke(t testing.TB, l Loan) {
	t.Helper()
	if _, err := k.Revoke(t.Context(), l.ID.String(), "misuse", ""); err != nil {
		t.Fatal(err)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			k := memoryKit(t)
			k.add(t, "One.", "client:acme")
			loan := k.issue(t, 5)
			k.mustRead(t, k.request(t, loan))
			if c.world != nil {
				c.world(t, k, loan)
			}
			change := c.request
			if change == nil {
				change = func(*lending.ReadRequest) {}
			}
			_, _, err := k.read(t.Context(), k.request(t, loan, change))
			d := refusedWith(t, err, c.code, c.reason)
			if d.Verified != c.verified || d.Verified != (d.Receipt != "") || d.Perm != loan.ID {
				t.Errorf("got %+v, want verified %v", d, c.verified)
			}
			if d.Receipt != "" {
				if r, err := k.receipt(t.Context(), d.Receipt); err != nil || r.Seq != 1 || r.State == lending.Valid {
					t.Errorf("receipt: %+v, %v", r, err)
				}
			}
			rows := k.rowsOf(t, loan.ID)
			if got := rows[len(rows)-1]; !strings.HasSuffix(got, " denied "+c.row) {
				t.Errorf("last row is %q, want one that ends with %q", got, c.row)
			}
			if l, err := k.Loan(t.Context(), loan.ID.String()); err != nil || l.Reads != 1 {
				t.Errorf("%d reads are counted, %v; want 1", l.Reads, err)
			}
		})
	}
}

// A node that was fresh lends on in its time of grace, and a new loan has to wait.
func TestStaleWithGrace(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 5)
	k.acme.Standing.Set(federation.Stale)
	k.mustRead(t, k.request(t, loan))
	_, err := k.Issue(t.Context(), k.wish(5))
	refusedWith(t, err, fault.Refused, "stale")
}

// What is not authenticated leaves no row and learns nothing.
func TestStrangers(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 5)
	good := k.request(t, loan)
	spy := k.vendor.AddAgent(t, "spy", keyring.Borrow)
	unknown := k.vendor.NewAgentRow(t, "ghost", keyring.Borrow).Agent
	for _, c := range []struct {
		name, request string
		code          fault.Code
		rows          int
	}{
		{"nothing", "", fault.Invalid, 1},
		{"no request", "a.b", fault.Invalid, 1},
		{"a permission instead of a request", loan.Compact, fault.Invalid, 1},
		{"a signature of another request", strings.Split(good, ".")[0] + "." + strings.Split(k.request(t, loan), ".")[1], fault.Unauthenticated, 1},
		{"an agent nobody knows", k.seal(t, k.vendor, lending.ReadRequest{At: envelope.TimeOf(selftest.Start), Aud: k.research, Borrower: unknown, Nonce: lending.NewSalt(), Op: lending.OpRead, Perm: loan.ID, Purpose: "x"}), fault.Unauthenticated, 1},
		{"another agent of the borrower's organization", k.seal(t, k.vendor, lending.ReadRequest{At: envelope.TimeOf(selftest.Start), Aud: k.research, Borrower: spy, Nonce: lending.NewSalt(), Op: lending.OpRead, Perm: loan.ID, Purpose: "x"}), fault.NotFound, 2},
		{"a permission nobody issued", k.seal(t, k.vendor, lending.ReadRequest{At: envelope.TimeOf(selftest.Start), Aud: k.research, Borrower: spy, Nonce: lending.NewSalt(), Op: lending.OpRead, Perm: envelope.IDOf([]byte("x")), Purpose: "x"}), fault.NotFound, 2},
	} {
		_, _, err := k.read(t.Context(), c.request)
		if d := fault.From(err); d == nil || d.Code != c.code || d.Receipt != "" {
			t.Errorf("%s: got %v, want %s", c.name, err, c.code)
		}
		if rows := k.rowsOf(t, loan.ID); len(rows) != c.rows {
			t.Errorf("%s: rows are %v, want %d", c.name, rows, c.rows)
		}
	}
	checkStrangersLookAlike(t, k, loan, spy)
}

// A permission of somebody else cannot be told from one that is not there.
func checkStrangersLookAlike(t *testing.T, k *kit, loan Loan, spy did.DID) {
	t.Helper()
	ask := func(perm envelope.ID, op string) fault.Denied {
		rq := lending.ReadRequest{At: envelope.TimeOf(selftest.Start), Aud: k.research, Borrower: spy, Nonce: lending.NewSalt(), Op: op, Perm: perm}
		var err error
		if op == lending.OpStatus {
			_, err = k.Status(t.Context(), Call{Request: k.seal(t, k.vendor, rq)})
		} else {
			rq.Purpose = "x"
			_, _, err = k.read(t.Context(), k.seal(t, k.vendor, rq))
		}
		d := *fault.From(err)
		d.Perm = envelope.ID{}
		return fault.Denied{Code: d.Code, Reason: d.Reason, Hint: d.Hint, Detail: d.Detail, Verified: d.Verified, Receipt: d.Receipt}
	}
	for _, op := range []string{lending.OpRead, lending.OpStatus} {
		if theirs, none := ask(loan.ID, op), ask(envelope.IDOf([]byte("none")), op); theirs != none {
			t.Errorf("%s: got %+v for another's permission, %+v for none", op, theirs, none)
		}
	}
}

// Every bit of a signed request counts.
func TestFlippedRequests(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 1000)
	good := k.request(t, loan)
	for i := range good {
		for _, c := range []byte("Az-") {
			if good[i] == c || good[i] == '.' {
				continue
			}
			bad := good[:i] + string(c) + good[i+1:]
			if _, _, err := k.read(t.Context(), bad); err == nil {
				t.Fatalf("byte %d as %c was taken", i, c)
			}
		}
	}
	if l, _ := k.Loan(t.Context(), loan.ID.String()); l.Reads != 0 {
		t.Errorf("%d reads are counted", l.Reads)
	}
	k.mustRead(t, good) // none of them used the nonce up
}

func TestStatus(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 5)
	k.mustRead(t, k.request(t, loan))
	status := func() lending.Receipt {
		t.Helper()
		compact, err := k.Status(t.Context(), Call{Request: k.request(t, loan, func(rq *lending.ReadRequest) { rq.Op, rq.Purpose = lending.OpStatus, "" })})
		if err != nil {
			t.Fatal(err)
		}
		r, err := k.receipt(t.Context(), compact)
		if err != nil || r.Op != lending.OpStatus || !r.Row.IsZero() || r.Seq != 1 || r.Left != 4 {
			t.Errorf("got %+v, %v", r, err)
		}
		return r
	}
	if r := status(); r.State != lending.Valid {
		t.Errorf("got %s", r.State)
	}
	k.revoke(t, loan)
	if r := status(); r.State != lending.Revoked {
		t.Errorf("after a revocation: got %s", r.State)
	}
	if _, err := k.Status(t.Context(), Call{Request: k.request(t, loan)}); fault.From(err).Reason != "op" {
		t.Errorf("a read request for a status: got %v", err)
	}
	wantTexts(t, "rows", k.rowsOf(t, loan.ID), "issue", "read granted 1", "revoke misuse")
}

func TestReplay(t *testing.T) {
	k := memoryKit(t)
	one := k.add(t, "One.", "client:acme")
	loan := k.issue(t, 1)
	rq := k.request(t, loan)
	first := &taker{}
	if err := k.Read(t.Context(), Call{Request: rq, Permission: loan.Compact, Send: first}); err != nil {
		t.Fatal(err)
	}
	k.add(t, "Two.", "client:acme")
	again := &taker{}
	if err := k.Read(t.Context(), Call{Request: rq, Send: again}); err != nil || string(again.sent[0]) != string(first.sent[0]) {
		t.Errorf("the same bytes again: %v, got %s, want %s", err, again.sent, first.sent)
	}
	_, _, err := k.read(t.Context(), k.request(t, loan))
	refusedWith(t, err, fault.Exhausted, "")
	if _, err := k.Tag(t.Context(), TagInput{Project: folio, IDs: []string{one.ID}, Add: []string{"confidential"}}); err != nil {
		t.Fatal(err)
	}
	_, _, err = k.read(t.Context(), rq)
	d := refusedWith(t, err, fault.Stale, "entry_left")
	if r, err := k.receipt(t.Context(), d.Receipt); err != nil || !r.Granted() || r.Seq != 1 {
		t.Errorf("receipt of a replay whose entry left: %+v, %v", r, err)
	}
	k.w.Clock.Add(61 * time.Second)
	_, _, err = k.read(t.Context(), rq)
	refusedWith(t, err, fault.ClockSkew, "")
	wantTexts(t, "rows", k.rowsOf(t, loan.ID), "issue", "read granted 1", "replay granted 1", "read denied exhausted", "replay denied stale entry_left", "read denied clock_skew")
}

func TestNonces(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 10)
	nonce := lending.NewSalt()
	with := func(purpose string, at time.Duration) string {
		return k.request(t, loan, func(rq *lending.ReadRequest) { rq.Nonce, rq.Purpose, rq.At = nonce, purpose, rq.At.Add(at) })
	}
	// A forged request with the nonce uses it up for nobody.
	forged := with("a", 0)
	_, _, err := k.read(t.Context(), forged[:len(forged)-4]+"AAAA")
	refusedWith(t, err, fault.Unauthenticated, "")
	k.mustRead(t, with("b", 60*time.Second))
	_, _, err = k.read(t.Context(), with("c", 0))
	refusedWith(t, err, fault.Replay, "")
	// A request dated a minute from now and repeated each second counts once.
	late := with("b", 60*time.Second)
	for range 179 {
		k.w.Clock.Add(time.Second)
		if err := k.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		k.read(t.Context(), late)
	}
	if l, _ := k.Loan(t.Context(), loan.ID.String()); l.Reads != 1 {
		t.Errorf("%d reads are counted, want 1", l.Reads)
	}
	k.w.Clock.Add(time.Second)
	if err := k.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.mustRead(t, with("d", 0)) // 180 s after: forgotten, and the date forbids the old one
}

// Entries that come and go between two reads, pages, and memory that changes while it is read.
func TestLiveness(t *testing.T) {
	k := memoryKit(t)
	ids := map[string]string{}
	for i := range 5 {
		text := fmt.Sprintf("E%d.", i)
		ids[text] = k.add(t, text, "client:acme").ID
	}
	loan := k.issue(t, 100)
	var got []string
	cursor := ""
	for {
		a, _ := k.mustRead(t, k.request(t, loan, func(rq *lending.ReadRequest) { rq.Limit, rq.Cursor = 2, cursor }))
		got = append(got, statements(t, a)...)
		if cursor = a.Cursor; cursor == "" {
			break
		}
	}
	if len(got) != 5 {
		t.Errorf("three pages hold %v", got)
	}
	// The visibility epoch rises between evaluation and decision: the read sees it.
	once := sync.Once{}
	k.testingOnlyFound = func() {
		once.Do(func() {
			if _, err := k.Tag(context.Background(), TagInput{Project: folio, IDs: []string{ids["E3."]}, Add: []string{"confidential"}}); err != nil {
				t.Error(err)
			}
		})
	}
	a, _ := k.mustRead(t, k.request(t, loan))
	if strings.Contains(strings.Join(statements(t, a), " "), "E3.") {
		t.Error("an entry that was excluded before the decision was lent")
	}
	flip := 0
	k.testingOnlyFound = func() {
		flip++
		in := TagInput{Project: folio, IDs: []string{ids["E1."]}, Add: []string{fmt.Sprintf("t%d", flip)}}
		if _, err := k.Tag(context.Background(), in); err != nil {
			t.Error(err)
		}
	}
	_, _, err := k.read(t.Context(), k.request(t, loan))
	refusedWith(t, err, fault.Unavailable, "memory_busy")
	k.testingOnlyFound = nil
	if l, _ := k.Loan(t.Context(), loan.ID.String()); l.Reads != 4 {
		t.Errorf("%d reads are counted, want 4", l.Reads)
	}
}

// A revocation that falls between evaluation and decision is seen.
func TestRevokedBetween(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 5)
	once := sync.Once{}
	k.testingOnlyFound = func() { once.Do(func() { k.revoke(t, loan) }) }
	_, _, err := k.read(t.Context(), k.request(t, loan))
	refusedWith(t, err, fault.Revoked, "misuse")
	// And one between commit and release: counted, and nothing left.
	k.testingOnlyFound = nil
	loan = k.issue(t, 5)
	again := sync.Once{}
	k.testingOnlyBeforeSend = func() { again.Do(func() { k.revoke(t, loan) }) }
	_, _, err = k.read(t.Context(), k.request(t, loan))
	refusedWith(t, err, fault.Revoked, "misuse")
	wantTexts(t, "rows", k.rowsOf(t, loan.ID), "issue", "read granted 1", "revoke misuse", "replay denied revoked misuse")
}

// A lender whose key changed signs with the new one, and with none that is not its own.
func TestLenderKeyChanges(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 10)
	k.mustRead(t, k.request(t, loan))
	next := envelopetest.Repeat(0x66)
	rekey := func(a *self.AgentRow) { a.KID, a.Pub = next.Public().Multikey(), next.Public() }
	k.acme.Change(t, k.research, rekey)
	_, _, err := k.read(t.Context(), k.request(t, loan))
	refusedWith(t, err, fault.Unavailable, "no_key")
	k.acme.Rekey(k.research, next)
	if _, r := k.mustRead(t, k.request(t, loan)); r.Seq != 2 || r.Kid != next.Public().Multikey() {
		t.Errorf("got %+v", r)
	}
}

func TestLimits(t *testing.T) {
	k := newKit(t, selftest.Option{}, Config{ReadsPerSecond: 3, Queue: 1})
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 100)
	for range 3 {
		k.mustRead(t, k.request(t, loan))
	}
	_, _, err := k.read(t.Context(), k.request(t, loan))
	refusedWith(t, err, fault.RateLimited, "reads")
	k.w.Clock.Add(time.Second)
	inside, leave := make(chan struct{}), make(chan struct{})
	k.testingOnlyBeforeSend = func() { close(inside); <-leave }
	done := make(chan error, 1)
	go func() { _, _, err := k.read(context.Background(), k.request(t, loan)); done <- err }()
	<-inside
	_, _, err = k.read(t.Context(), k.request(t, loan))
	refusedWith(t, err, fault.Unavailable, "busy")
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
	wantTexts(t, "rows", k.rowsOf(t, loan.ID), "issue", "read granted 1", "read granted 2", "read granted 3", "read granted 4")
}
