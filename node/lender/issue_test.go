package lender

import (
	"context"
	"strings"
	"testing"
	"time"

	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self"
	"trustnode/node/self/selftest"
)

func TestIssueRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		world  func(t *testing.T, k *kit)
		wish   func(in *IssueInput)
		code   fault.Code
		reason string
	}{
		{"a lender nobody knows", nil, func(in *IssueInput) { in.Lender = "ghost" }, fault.NotFound, "agent"},
		{"a borrower nobody knows", nil, func(in *IssueInput) { in.Borrower = "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp" }, fault.NotFound, "agent"},
		{"a borrower that may not borrow", func(t *testing.T, k *kit) {
			k.acme.Change(t, k.quant, func(a *self.AgentRow) { a.Capabilities = []string{"lend"} })
		}, nil, fault.Refused, "borrower_ended"},
		{"a borrower whose time is over", func(t *testing.T, k *kit) { k.w.Clock.Add(29 * 24 * time.Hour) }, nil, fault.Refused, "lender_ended"},
		{"a lender that may not lend", func(t *testing.T, k *kit) {
			k.acme.Change(t, k.research, func(a *self.AgentRow) { a.Capabilities = []string{"borrow"} })
		}, nil, fault.Refused, "lender_ended"},
		{"no scope", nil, func(in *IssueInput) { in.Scope = "" }, fault.Invalid, "scope"},
		{"a scope without inclusion", nil, func(in *IssueInput) { in.Scope = "-tag:confidential" }, fault.Invalid, "scope"},
		{"no purpose", nil, func(in *IssueInput) { in.Purpose = "" }, fault.Invalid, "purpose"},
		{"a purpose with a control character", nil, func(in *IssueInput) { in.Purpose = "a\x1b[2J" }, fault.Invalid, "purpose"},
		{"no end", nil, func(in *IssueInput) { in.Expires = "" }, fault.Invalid, "expires"},
		{"an end in the past", nil, func(in *IssueInput) { in.Expires = "2026-12-01T00:00:00Z" }, fault.Invalid, ""},
		{"no reads", nil, func(in *IssueInput) { in.MaxReads = 0 }, fault.Invalid, ""},
		{"a pattern that is none", nil, func(in *IssueInput) { in.Patterns = []string{"copy", "read"} }, fault.Invalid, ""},
		{"writing to nowhere", nil, func(in *IssueInput) { in.Patterns = []string{"downstream_write"} }, fault.Invalid, "write_to"},
		{"a destination without writing", nil, func(in *IssueInput) { in.WriteTo = []string{"lender:inbox"} }, fault.Invalid, ""},
		{"a cost cap without prices", nil, func(in *IssueInput) { in.CostCap = "100/USD" }, fault.Invalid, "cost_cap"},
		{"a caching window over a day", nil, func(in *IssueInput) { s := uint64(86401); in.CacheS = &s }, fault.Invalid, ""},
		{"provenance of another word", nil, func(in *IssueInput) { in.Provenance = "always" }, fault.Invalid, "provenance"},
		{"sub-lending of another word", nil, func(in *IssueInput) { in.Sublend = "allow" }, fault.Invalid, "sublend"},
		{"a beginning that is none", nil, func(in *IssueInput) { in.NotBefore = "soon" }, fault.Invalid, "not_before"},
		{"a beginning after the end", nil, func(in *IssueInput) { in.NotBefore = "721h" }, fault.Invalid, ""},
		{"an agent that acts by itself", nil, func(in *IssueInput) { in.As = "research" }, fault.NeedsApproval, "no_gate"},
		{"an agent nobody knows that acts by itself", nil, func(in *IssueInput) { in.As = "ghost" }, fault.NotFound, "agent"},
		{"a preview by an agent", nil, func(in *IssueInput) { in.As, in.Preview = "research", true }, fault.NeedsApproval, "no_gate"},
		{"a request that is none", nil, func(in *IssueInput) { in.Request = "x" }, fault.Invalid, "request"},
		{"a request nobody made", nil, func(in *IssueInput) { in.Request = envelope.IDOf([]byte("x")).String() }, fault.NotFound, "request"},
		{"a replaced permission nobody issued", nil, func(in *IssueInput) { in.Replaces = envelope.IDOf([]byte("x")).String() }, fault.NotFound, ""},
		{"a request and a replaced permission", nil, func(in *IssueInput) { in.Request, in.Replaces = "x", "y" }, fault.Invalid, "request"},
		{"a longer time than the charter allows", nil, func(in *IssueInput) { in.Expires = "31d" }, fault.Refused, "ttl"},
		{"more reads than the charter allows", nil, func(in *IssueInput) { in.MaxReads = 1_000_001 }, fault.Refused, "max_reads"},
		{"a node that is alone", func(t *testing.T, k *kit) { k.acme.Standing.Set(federation.Alone) }, nil, fault.Refused, "alone"},
		{"a node that is not confirmed", func(t *testing.T, k *kit) { k.acme.Standing.Set(federation.Unconfirmed) }, nil, fault.Refused, "unconfirmed"},
		{"a federation without the borrower's organization", func(t *testing.T, k *kit) {
			k.acme.Standing.Use(selftest.New(t, selftest.Option{Seed: 0x50}, "one", "two", "three").Chain())
		}, nil, fault.Refused, "not_member"},
		{"a clock that fell behind", func(t *testing.T, k *kit) { k.acme.Must(t); k.w.Clock.Add(-time.Minute) }, nil, fault.ClockSkew, "clock_untrusted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := memoryKit(t)
			k.add(t, "One.", "client:acme")
			if c.world != nil {
				c.world(t, k)
			}
			in := k.wish(5)
			if c.wish != nil {
				c.wish(&in)
			}
			_, err := k.Issue(t.Context(), in)
			refusedWith(t, err, c.code, c.reason)
			if all, err := k.Loans(t.Context()); err != nil || len(all) != 0 {
				t.Errorf("loans: got %v, %v, want none", all, err)
			}
		})
	}
}

func TestRequirePact(t *testing.T) {
	k := newKit(t, selftest.Option{}, Config{RequirePact: true})
	k.add(t, "One.", "client:acme")
	_, err := k.Issue(t.Context(), k.wish(5))
	refusedWith(t, err, fault.Refused, "hygiene")
}

func TestIssue(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	in := k.wish(7)
	in.Preview = true
	p, err := k.Issue(t.Context(), in)
	if err != nil || !p.ID.IsZero() || p.Compact != "" || p.Matches != 1 || len(p.Words) != len(p.Hygiene) {
		t.Errorf("preview: got %+v, %v", p, err)
	}
	if all, err := k.Loans(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("a preview left %v, %v", all, err)
	}
	in.Preview = false
	loan, err := k.Issue(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.Loan(t.Context(), loan.Compact)
	if err != nil || got.ID != loan.ID || got.Compact != loan.Compact || got.Left != 7 || got.State != lending.Valid || got.Issued != loan.Issued || got.BorrowerOrg != k.vendor.Org {
		t.Errorf("loan: got %+v, %v, want %+v", got, err, loan)
	}
	pin := lending.CharterPin{ID: k.w.Chain().Head().ID}
	if got.Permission.GoverningCharter == nil || *got.Permission.GoverningCharter != pin || got.Permission.Revocation != k.acme.Org.String()+"#lending" {
		t.Errorf("permission: got %+v", got.Permission)
	}
	k.w.Clock.Add(time.Second)
	second := k.issue(t, 7)
	if second.ID == loan.ID {
		t.Error("two equal loans have one id")
	}
	all, err := k.Loans(t.Context())
	if err != nil || len(all) != 2 || all[0].ID != second.ID {
		t.Errorf("loans: got %v, %v", all, err)
	}
	checkPermissionObject(t, k, loan)
}

// Both organizations may be given the permission, and it verifies by itself.
func checkPermissionObject(t *testing.T, k *kit, loan Loan) {
	t.Helper()
	o, err := k.acme.Lib.Get(t.Context(), loan.ID)
	if err != nil || o.What != "permission" {
		t.Fatal(o, err)
	}
	if k.acme.Lib.MayRead(t.Context(), k.vendor.Org, loan.ID) != nil || k.acme.Lib.MayRead(t.Context(), k.w.Nodes[2].Org, loan.ID) == nil {
		t.Error("the permission is not for the borrower's organization alone")
	}
	e, err := envelope.ParseDSSE(o.Bytes, maxObject)
	if err != nil {
		t.Fatal(err)
	}
	row, err := self.Agent(self.ViewGetter(t.Context(), k.vendor.DB), k.research)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := envelope.Open[lending.Permission](t.Context(), e, anyTime(row)); err != nil || v.ID() != loan.ID {
		t.Errorf("at the borrower: %v", err)
	}
}

// Words that help a person narrow a loan.
func TestIssueWords(t *testing.T) {
	k := memoryKit(t)
	for range 3 {
		k.add(t, "One.", "client:acme")
	}
	in := k.wish(500)
	in.Scope = "tag:client:acne"
	in.Preview = true
	p, err := k.Issue(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	wantTexts(t, "hygiene", p.Hygiene, "H1", "H10", "H2", "H5", "H7")
	if !strings.Contains(p.Words[4], "client:acme is near") {
		t.Errorf("words: %q", p.Words)
	}
	for i, w := range p.Words {
		if w == "" {
			t.Errorf("%s has no words", p.Hygiene[i])
		}
	}
}

// Two agents of one organization need no federation.
func TestOwnLoan(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	k.acme.Standing.Set(federation.Alone)
	desk := k.acme.AddAgent(t, "desk", keyring.Borrow)
	in := k.wish(5)
	in.Borrower = "desk"
	loan, err := k.Issue(t.Context(), in)
	if err != nil || loan.Permission.GoverningCharter != nil || loan.Permission.Borrower != desk {
		t.Fatalf("got %+v, %v", loan, err)
	}
	rq := k.seal(t, k.acme, lending.ReadRequest{At: envelope.TimeOf(selftest.Start), Aud: k.research, Borrower: desk, Nonce: lending.NewSalt(), Op: lending.OpRead, Perm: loan.ID, Purpose: "x"})
	if _, r := k.mustRead(t, rq); r.Seq != 1 {
		t.Errorf("got %+v", r)
	}
	k.acme.Standing.Set(federation.Recovering)
	rq = k.seal(t, k.acme, lending.ReadRequest{At: envelope.TimeOf(selftest.Start), Aud: k.research, Borrower: desk, Nonce: lending.NewSalt(), Op: lending.OpRead, Perm: loan.ID, Purpose: "x"})
	_, _, err = k.read(t.Context(), rq)
	refusedWith(t, err, fault.Stale, "recovering")
}

// late are peers that bring an agent when they are asked.
type late struct {
	self.Offline
	asked int
	sync  func()
}

func (l *late) Sync(context.Context) error { l.asked++; l.sync(); return nil }

func TestUnknownBorrowerIsAskedForOnce(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	row := k.vendor.NewAgentRow(t, "fresh", keyring.Borrow)
	peers := &late{sync: func() {
		go func() { time.Sleep(20 * time.Millisecond); k.acme.Know(t, row) }()
	}}
	k.acme.Peers = peers
	in := k.wish(5)
	in.Borrower = row.Agent.String()
	if _, err := k.Issue(t.Context(), in); err != nil || peers.asked != 1 {
		t.Errorf("got %v after %d questions", err, peers.asked)
	}
}
