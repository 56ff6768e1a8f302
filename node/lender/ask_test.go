package lender

import (
	"fmt"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self"
	"trustnode/node/self/selftest"
	"trustnode/node/store"
)

// wantLoan is a loan request of quant to research; change may alter it before it is signed.
func (k *kit) wantLoan(t testing.TB, change ...func(*lending.LoanRequest)) string {
	t.Helper()
	rq := lending.LoanRequest{At: envelope.TimeOf(k.w.Clock.Now()), Aud: k.research, Borrower: k.quant, ExpiresAt: envelope.TimeOf(k.w.Clock.Now().Add(240 * time.Hour)),
		MaxReads: 10, Nonce: lending.NewSalt(), Patterns: []string{"read"}, Purpose: "plan the week", Scope: lending.MustParse("tag:client:acme -tag:confidential")}
	for _, c := range change {
		c(&rq)
	}
	return sealAs(t, k.vendor, rq.Borrower, func(kid string) lending.LoanRequest { rq.Kid = kid; return rq })
}

// sealAs signs a body with the key of an agent that is held by n.
func sealAs[T envelope.Body](t testing.TB, n *selftest.Node, who did.DID, body func(kid string) T) string {
	t.Helper()
	key, kid, err := n.Signers.Agent(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	e, err := envelope.Seal(t.Context(), body(kid), key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.Compact()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (k *kit) mustAsk(t testing.TB, compact string) lending.Asked {
	t.Helper()
	a, err := k.Ask(t.Context(), compact)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// poll asks how a request stands, as its borrower.
func (k *kit) poll(t testing.TB, id envelope.ID, change ...func(*lending.ReadRequest)) (lending.Asked, error) {
	t.Helper()
	rq := lending.ReadRequest{At: envelope.TimeOf(k.w.Clock.Now()), Aud: k.research, Borrower: k.quant, Nonce: lending.NewSalt(), Op: lending.OpStatus, Perm: id}
	for _, c := range change {
		c(&rq)
	}
	return k.Asked(t.Context(), k.seal(t, k.vendor, rq))
}

// Request, permission, read: from asking to having.
func TestAskAndIssue(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	compact := k.wantLoan(t)
	a := k.mustAsk(t, compact)
	if a.State != lending.AskRequested || a.Round != 1 || a.Permission != "" || a.Until.String() != "2026-12-03T09:15:30Z" {
		t.Errorf("got %+v", a)
	}
	if again := k.mustAsk(t, compact); again != a {
		t.Errorf("the same bytes again: got %+v, want %+v", again, a)
	}
	all, err := k.Requests(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != a.ID || all[0].Body.Purpose != "plan the week" || all[0].Org != k.vendor.Org || all[0].State != lending.AskRequested {
		t.Fatalf("requests: got %+v, %v", all, err)
	}
	l, err := k.Issue(t.Context(), IssueInput{Request: a.ID.String(), MaxReads: 4, Scope: "tag:client:acme -tag:confidential age<30d"})
	if err != nil {
		t.Fatal(err)
	}
	if l.Request != a.ID || l.Permission.Purpose != "plan the week" || l.Permission.MaxReads != 4 || l.Permission.Borrower != k.quant || l.Permission.Lender != k.research {
		t.Errorf("got %+v", l)
	}
	got, err := k.poll(t, a.ID)
	if err != nil || got.State != lending.AskIssued || got.Permission != l.Compact {
		t.Errorf("polled: got %+v, %v", got, err)
	}
	if _, r := k.mustRead(t, k.request(t, l)); r.Seq != 1 || r.Left != 3 {
		t.Errorf("got %+v", r)
	}
	_, err = k.Issue(t.Context(), IssueInput{Request: a.ID.String()})
	refusedWith(t, err, fault.Conflict, "issued")
	_, err = k.Decline(t.Context(), a.ID.String(), "too late")
	refusedWith(t, err, fault.Conflict, "issued")
	if r, err := k.Request(t.Context(), a.ID.String()); err != nil || r.Perm != l.ID || r.Past.Loans != 1 || r.Past.Reads != 1 || r.Past.Valid != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
}

// A permission that answers a request gives what was asked for or less.
func TestAnswerIsNarrower(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	a := k.mustAsk(t, k.wantLoan(t))
	for _, c := range []struct {
		name   string
		wish   IssueInput
		code   fault.Code
		reason string
	}{
		{"more reads", IssueInput{MaxReads: 11}, fault.Refused, "wider"},
		{"a later end", IssueInput{Expires: "241h"}, fault.Refused, "wider"},
		{"another pattern", IssueInput{Patterns: []string{"discover", "read"}}, fault.Refused, "wider"},
		{"another scope", IssueInput{Scope: "tag:client:acme"}, fault.Refused, "wider"},
		{"another purpose", IssueInput{Purpose: "something else"}, fault.Refused, "wider"},
		{"another borrower", IssueInput{Borrower: k.research.String()}, fault.Invalid, "borrower"},
		{"another lender", IssueInput{Lender: "ghost"}, fault.Invalid, "lender"},
	} {
		c.wish.Request = a.ID.String()
		_, err := k.Issue(t.Context(), c.wish)
		if d := refusedWith(t, err, c.code, c.reason); d.Hint == "" {
			t.Errorf("%s: no hint", c.name)
		}
	}
	if r, err := k.Request(t.Context(), a.ID.String()); err != nil || r.State != lending.AskRequested {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := k.Issue(t.Context(), IssueInput{Request: a.ID.String(), Lender: "research", Borrower: k.quant.String()}); err != nil {
		t.Error(err)
	}
	open := k.mustAsk(t, k.wantLoan(t, func(r *lending.LoanRequest) { r.Scope = lending.Scope{} }))
	_, err := k.Issue(t.Context(), IssueInput{Request: open.ID.String()})
	refusedWith(t, err, fault.Invalid, "scope")
	if _, err := k.Issue(t.Context(), IssueInput{Request: open.ID.String(), Scope: "tag:client:acme"}); err != nil {
		t.Error(err)
	}
}

// Who may ask, for what, and how often; a refusal leaves nothing behind.
func TestAskRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		world  func(t *testing.T, k *kit)
		change func(k *kit, r *lending.LoanRequest)
		code   fault.Code
		reason string
	}{
		{"an agent nobody knows", func(t *testing.T, k *kit) { k.quant = k.vendor.NewAgentRow(t, "ghost", keyring.Borrow).Agent }, nil, fault.Unauthenticated, ""},
		{"an agent that may not borrow", func(t *testing.T, k *kit) {
			k.acme.Change(t, k.quant, func(a *self.AgentRow) { a.Capabilities = []string{"lend"} })
		}, nil, fault.Refused, "borrower_ended"},
		{"a revoked agent", func(t *testing.T, k *kit) { k.acme.Change(t, k.quant, func(a *self.AgentRow) { a.Revoked = true }) }, nil, fault.Refused, "borrower_ended"},
		{"an agent that the lender revoked", func(t *testing.T, k *kit) {
			if _, err := k.RevokeBorrower(t.Context(), k.quant.String(), "misuse", ""); err != nil {
				t.Fatal(err)
			}
		}, nil, fault.Refused, "borrower_revoked"},
		{"addressed to another organization", nil, func(k *kit, r *lending.LoanRequest) { r.Aud = k.quant }, fault.Unauthenticated, "audience"},
		{"addressed to an agent nobody knows", nil, func(_ *kit, r *lending.LoanRequest) { r.Aud = did.MustParse("did:web:x.example:agents:y") }, fault.Unauthenticated, "audience"},
		{"addressed to an agent that may not lend", func(t *testing.T, k *kit) {
			k.acme.Change(t, k.research, func(a *self.AgentRow) { a.Capabilities = []string{"borrow"} })
		}, nil, fault.Refused, "lender_ended"},
		{"a minute and a second old", nil, func(k *kit, r *lending.LoanRequest) { r.At = envelope.TimeOf(k.w.Clock.Now().Add(-61 * time.Second)) }, fault.ClockSkew, ""},
		{"a minute and a second ahead", nil, func(k *kit, r *lending.LoanRequest) { r.At = envelope.TimeOf(k.w.Clock.Now().Add(61 * time.Second)) }, fault.ClockSkew, ""},
		{"of a node that is stale", func(t *testing.T, k *kit) { k.acme.Standing.Set(federation.Stale) }, nil, fault.Refused, "stale"},
		{"of an organization that is no member", func(t *testing.T, k *kit) {
			k.acme.Standing.Use(selftest.New(t, selftest.Option{Seed: 0x50}, "one", "two", "three").Chain())
		}, nil, fault.Refused, "not_member"},
		{"a reply to nothing", nil, func(_ *kit, r *lending.LoanRequest) { r.InReplyTo = envelope.IDOf([]byte("x")) }, fault.NotFound, "in_reply_to"},
		{"a part of a permission nobody issued", nil, func(k *kit, r *lending.LoanRequest) { r.Parent, r.For = envelope.IDOf([]byte("x")), k.research }, fault.NotFound, ""},
		{"while the clock is not trusted", func(t *testing.T, k *kit) { k.acme.Must(t); k.w.Clock.Add(-time.Minute) }, nil, fault.Unavailable, "clock_untrusted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := memoryKit(t)
			if c.world != nil {
				c.world(t, k)
			}
			_, err := k.Ask(t.Context(), k.wantLoan(t, func(r *lending.LoanRequest) {
				if c.change != nil {
					c.change(k, r)
				}
			}))
			refusedWith(t, err, c.code, c.reason)
			if all, err := k.Requests(t.Context()); err != nil || len(all) != 0 {
				t.Errorf("left %v, %v", all, err)
			}
		})
	}
	k := memoryKit(t)
	for name, text := range map[string]string{"nothing": "", "no object": "x.y", "a request to read": k.seal(t, k.vendor, lending.ReadRequest{At: envelope.TimeOf(selftest.Start), Aud: k.research, Borrower: k.quant, Nonce: lending.NewSalt(), Op: lending.OpRead, Perm: envelope.IDOf(nil)})} {
		if _, err := k.Ask(t.Context(), text); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// A nonce is one request's, for as long as the request may arrive.
func TestAskNonce(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	n := lending.NewSalt()
	with := func(r *lending.LoanRequest) { r.Nonce = n }
	k.mustAsk(t, k.wantLoan(t, with))
	_, err := k.Ask(t.Context(), k.wantLoan(t, with, func(r *lending.LoanRequest) { r.MaxReads = 11 }))
	refusedWith(t, err, fault.Replay, "")
	k.w.Clock.Add(121 * time.Second)
	if err := k.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.mustAsk(t, k.wantLoan(t, with))
	l := k.issue(t, 5)
	k.mustRead(t, k.request(t, l, func(r *lending.ReadRequest) { r.Nonce = n })) // a read is another thing than a request
}

// Requests that wait are few; whoever waits no longer makes room.
func TestAskCaps(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	var first lending.Asked
	for i := range MaxAsks {
		a := k.mustAsk(t, k.wantLoan(t))
		if i == 0 {
			first = a
		}
	}
	_, err := k.Ask(t.Context(), k.wantLoan(t))
	refusedWith(t, err, fault.RateLimited, "requests")
	if _, err := k.Decline(t.Context(), first.ID.String(), "no"); err != nil {
		t.Fatal(err)
	}
	second := k.mustAsk(t, k.wantLoan(t))
	_, err = k.Ask(t.Context(), k.wantLoan(t))
	refusedWith(t, err, fault.RateLimited, "requests")
	if _, err := k.Issue(t.Context(), IssueInput{Request: second.ID.String()}); err != nil {
		t.Fatal(err)
	}
	k.mustAsk(t, k.wantLoan(t))
	for n := MaxAsks; n < MaxAsksOfOrg; n += MaxAsks {
		row := k.vendor.NewAgentRow(t, fmt.Sprintf("more-%d", n), keyring.Borrow)
		k.acme.Know(t, row)
		for range MaxAsks {
			k.mustAsk(t, k.wantLoan(t, func(r *lending.LoanRequest) { r.Borrower = row.Agent }))
		}
	}
	row := k.vendor.NewAgentRow(t, "last", keyring.Borrow)
	k.acme.Know(t, row)
	_, err = k.Ask(t.Context(), k.wantLoan(t, func(r *lending.LoanRequest) { r.Borrower = row.Agent }))
	refusedWith(t, err, fault.RateLimited, "requests")
	k.w.Clock.Add(24 * time.Hour)
	k.mustAsk(t, k.wantLoan(t))
}

// A request that nobody answers lapses, and what led to nothing is forgotten in time.
func TestAskLapses(t *testing.T) {
	k := memoryKit(t)
	a := k.mustAsk(t, k.wantLoan(t))
	k.w.Clock.Add(24*time.Hour - time.Second)
	if got, err := k.poll(t, a.ID); err != nil || got.State != lending.AskRequested {
		t.Errorf("a second before: got %+v, %v", got, err)
	}
	k.w.Clock.Add(time.Second)
	if got, err := k.poll(t, a.ID); err != nil || got.State != lending.AskLapsed {
		t.Errorf("then: got %+v, %v", got, err)
	}
	_, err := k.Issue(t.Context(), IssueInput{Request: a.ID.String()})
	refusedWith(t, err, fault.Conflict, "lapsed")
	_, err = k.Decline(t.Context(), a.ID.String(), "no")
	refusedWith(t, err, fault.Conflict, "lapsed")
	k.w.Clock.Add(keepAsks)
	if err := k.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all, err := k.Requests(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("left %v, %v", all, err)
	}
	if _, err := k.acme.Lib.Get(t.Context(), a.ID); err == nil {
		t.Error("its bytes are still here")
	}
}

// What a borrower reads of its request, and nobody else.
func TestPoll(t *testing.T) {
	k := memoryKit(t)
	a := k.mustAsk(t, k.wantLoan(t))
	if _, err := k.Decline(t.Context(), a.ID.String(), "narrow it to one week"); err != nil {
		t.Fatal(err)
	}
	if got, err := k.poll(t, a.ID); err != nil || got.State != lending.AskDeclined || got.Reason != "narrow it to one week" {
		t.Errorf("got %+v, %v", got, err)
	}
	other := k.vendor.AddAgent(t, "other", keyring.Borrow)
	_, mine := k.poll(t, envelope.IDOf([]byte("x")))
	for name, change := range map[string]func(*lending.ReadRequest){
		"another agent":  func(r *lending.ReadRequest) { r.Borrower = other },
		"another lender": func(r *lending.ReadRequest) { r.Aud = k.quant },
	} {
		_, err := k.poll(t, a.ID, change)
		if d := refusedWith(t, err, fault.NotFound, "request"); d.Error() != mine.Error() {
			t.Errorf("%s: got %q, of one that is not there %q", name, d, mine)
		}
	}
	_, err := k.poll(t, a.ID, func(r *lending.ReadRequest) { r.Op, r.Purpose = lending.OpRead, "x" })
	refusedWith(t, err, fault.Invalid, "op")
	_, err = k.poll(t, a.ID, func(r *lending.ReadRequest) { r.At = r.At.Add(-61 * time.Second) })
	refusedWith(t, err, fault.ClockSkew, "")
	for _, reason := range []string{"", "a\nb", fmt.Sprintf("%201s", "x")} {
		_, err := k.Decline(t.Context(), a.ID.String(), reason)
		refusedWith(t, err, fault.Invalid, "reason")
	}
}

// A counter follows what it replies to, eight rounds at most.
func TestRounds(t *testing.T) {
	k := memoryKit(t)
	reply := func(to envelope.ID) string {
		return k.wantLoan(t, func(r *lending.LoanRequest) { r.InReplyTo = to })
	}
	first := k.mustAsk(t, k.wantLoan(t))
	last := first
	for round := uint64(2); round <= lending.MaxRounds; round++ {
		if last = k.mustAsk(t, reply(last.ID)); last.Round != round {
			t.Fatalf("got round %d, want %d", last.Round, round)
		}
	}
	_, err := k.Ask(t.Context(), reply(last.ID))
	refusedWith(t, err, fault.Refused, "rounds")
	_, err = k.Ask(t.Context(), reply(first.ID))
	refusedWith(t, err, fault.Conflict, "in_reply_to")
	if got, err := k.poll(t, first.ID); err != nil || got.State != lending.AskDeclined {
		t.Errorf("the first: got %+v, %v", got, err)
	}
	waiting := 0
	all, err := k.Requests(t.Context())
	for _, r := range all {
		if r.State == lending.AskRequested {
			waiting++
		}
	}
	if err != nil || waiting != 1 || len(all) != lending.MaxRounds {
		t.Errorf("%d of %d wait, %v", waiting, len(all), err)
	}
	other := k.vendor.AddAgent(t, "other", keyring.Borrow)
	_, err = k.Ask(t.Context(), k.wantLoan(t, func(r *lending.LoanRequest) { r.InReplyTo, r.Borrower = last.ID, other }))
	refusedWith(t, err, fault.NotFound, "in_reply_to")
}

// A third agent is let in by the lender, within what its borrower has.
func TestSublend(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme", "week:49")
	third := k.vendor.AddAgent(t, "third", keyring.Borrow)
	in := k.wish(20)
	plain, err := k.Issue(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	in.Sublend = "ask"
	up, err := k.Issue(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	forThird := func(parent envelope.ID) func(*lending.LoanRequest) {
		return func(r *lending.LoanRequest) {
			r.Parent, r.For, r.Scope = parent, third, lending.MustParse("tag:week:49")
		}
	}
	_, err = k.Ask(t.Context(), k.wantLoan(t, forThird(plain.ID)))
	refusedWith(t, err, fault.Refused, "parent")
	_, err = k.Ask(t.Context(), k.wantLoan(t, forThird(up.ID), func(r *lending.LoanRequest) { r.Borrower = third }))
	refusedWith(t, err, fault.NotFound, "")
	a := k.mustAsk(t, k.wantLoan(t, forThird(up.ID)))
	l, err := k.Issue(t.Context(), IssueInput{Request: a.ID.String()})
	if err != nil {
		t.Fatal(err)
	}
	p := l.Permission
	if p.Parent != up.ID || p.Borrower != third || p.Scope.String() != "tag:client:acme tag:week:49 -tag:confidential age<90d" || !p.Scope.Within(up.Permission.Scope) {
		t.Errorf("got %+v", p)
	}
	if _, r := k.mustRead(t, k.request(t, l, func(r *lending.ReadRequest) { r.Borrower = third })); r.Seq != 1 {
		t.Errorf("read by the third: got %+v", r)
	}
	if got, err := k.Loan(t.Context(), up.ID.String()); err != nil || got.Reads != 1 {
		t.Errorf("its parent: got %+v, %v", got, err)
	}
	a = k.mustAsk(t, k.wantLoan(t, forThird(up.ID), func(r *lending.LoanRequest) { r.MaxReads = 30 }))
	_, err = k.Issue(t.Context(), IssueInput{Request: a.ID.String()})
	refusedWith(t, err, fault.Refused, "parent")
	if _, err := k.Revoke(t.Context(), up.ID.String(), "ended", ""); err != nil {
		t.Fatal(err)
	}
	_, _, err = k.read(t.Context(), k.request(t, l, func(r *lending.ReadRequest) { r.Borrower = third }))
	refusedWith(t, err, fault.Revoked, "ended")
	_, err = k.Issue(t.Context(), IssueInput{Request: a.ID.String(), MaxReads: 5})
	refusedWith(t, err, fault.Conflict, "revoked")
	_, err = k.Ask(t.Context(), k.wantLoan(t, forThird(up.ID)))
	refusedWith(t, err, fault.Conflict, "revoked")
}

// A counter frees the place of what it replies to, and does not fill the list for that: what is
// kept of one organization is capped, and what was countered goes soon.
func TestKeptAsksAreCapped(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	kept := func() uint64 {
		t.Helper()
		n, _, err := store.GetRow[keptAsks](self.ViewGetter(t.Context(), k.acme.DB), []byte(keyKeptAsks+k.vendor.Org.String()))
		if err != nil {
			t.Fatal(err)
		}
		return n.Kept
	}
	var last envelope.ID
	for range lending.MaxRounds {
		last = k.mustAsk(t, k.wantLoan(t, func(r *lending.LoanRequest) { r.InReplyTo = last })).ID
	}
	if _, err := k.Issue(t.Context(), IssueInput{Request: last.String()}); err != nil {
		t.Fatal(err)
	}
	if n := kept(); n != lending.MaxRounds-1 {
		t.Errorf("%d are kept beside the one that a loan answers", n)
	}
	full := keptAsks{MaxAsksKept}
	if err := k.acme.DB.Update(t.Context(), func(tx store.Tx) error {
		return store.PutRow(tx, []byte(keyKeptAsks+k.vendor.Org.String()), full)
	}); err != nil {
		t.Fatal(err)
	}
	_, err := k.Ask(t.Context(), k.wantLoan(t))
	refusedWith(t, err, fault.RateLimited, "requests_kept")
	k.w.Clock.Add(keepCountered + time.Second)
	if err := k.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all, err := k.Requests(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%d are left, %v, want what a loan answers", len(all), err)
	}
	if n := kept(); n != MaxAsksKept-(lending.MaxRounds-1) {
		t.Errorf("%d count as kept", n)
	}
	k.mustAsk(t, k.wantLoan(t))
}

// A request that was declined stays for its borrower to learn why, and then goes.
func TestDeclinedAsksGo(t *testing.T) {
	k := memoryKit(t)
	a := k.mustAsk(t, k.wantLoan(t))
	if _, err := k.Decline(t.Context(), a.ID.String(), "too broad"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration
		left  int
	}{{keepDeclined, 1}, {time.Second, 0}} {
		k.w.Clock.Add(c.after)
		if err := k.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if all, err := k.Requests(t.Context()); err != nil || len(all) != c.left {
			t.Errorf("%d are left, %v, want %d", len(all), err, c.left)
		}
	}
}
