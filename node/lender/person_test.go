package lender

import (
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self"
)

// person makes a lending person of acme, and an agent that signs receipts for it.
func (k *kit) person(t testing.TB) (ines, desk did.DID) {
	t.Helper()
	ines = k.acme.AddAgent(t, "ines", keyring.Lend)
	k.acme.Change(t, ines, func(a *self.AgentRow) { a.Kind, a.Project = human, folio })
	return ines, k.acme.AddAgent(t, "desk", keyring.Receipts)
}

// signedLoan previews a loan of a person and signs it as that person does: elsewhere.
func (k *kit) signedLoan(t testing.TB, ines did.DID, change ...func(*lending.Permission)) string {
	t.Helper()
	in := k.wish(5)
	in.Lender, in.Preview = "ines", true
	l, err := k.Issue(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var p lending.Permission
	if err := envelope.Unmarshal(l.Body, &p); err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(&p)
	}
	return sealAs(t, k.acme, ines, func(string) lending.Permission { return p })
}

// A person lends by a key the node never has; an agent signs the receipts.
func TestAPersonLends(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	ines, desk := k.person(t)
	in := k.wish(5)
	in.Lender = "ines"
	_, err := k.Issue(t.Context(), in)
	refusedWith(t, err, fault.Refused, "person")
	signed := k.signedLoan(t, ines)
	l, err := k.Issue(t.Context(), IssueInput{Signed: signed})
	if err != nil || l.Compact != signed || l.Permission.Lender != ines {
		t.Fatal(l, err)
	}
	_, err = k.Issue(t.Context(), IssueInput{Signed: signed})
	refusedWith(t, err, fault.Conflict, "issued")

	opened := func(compact string) lending.Receipt {
		t.Helper()
		e, err := envelope.ParseCompact(compact, lending.ReceiptType, lending.MaxReceipt)
		if err != nil {
			t.Fatal(err)
		}
		v, err := envelope.Open[lending.Receipt](t.Context(), e, self.SignerSource(self.ViewGetter(t.Context(), k.acme.DB)))
		if err != nil {
			t.Fatal(err)
		}
		return v.Body()
	}
	s := &taker{}
	if err := k.Read(t.Context(), Call{Request: k.request(t, l), Send: s}); err != nil {
		t.Fatal(err)
	}
	a, err := lending.ParseAnswer(s.sent[0])
	if err != nil {
		t.Fatal(err)
	}
	if r := opened(a.Receipt); r.Lender != ines || r.Signed != desk || r.Seq != 1 || r.Hash != a.Hash() {
		t.Errorf("got %+v", r)
	}
	status, err := k.Status(t.Context(), Call{Request: k.request(t, l, func(r *lending.ReadRequest) { r.Op, r.Purpose = lending.OpStatus, "" })})
	if err != nil {
		t.Fatal(err)
	}
	if r := opened(status); r.Signed != desk || r.State != lending.Valid || r.Left != 4 {
		t.Errorf("status: got %+v", r)
	}
	// The agent that signs receipts ends: nothing is answered until another one is there.
	k.acme.Change(t, desk, func(a *self.AgentRow) { a.Revoked = true })
	_, _, err = k.read(t.Context(), k.request(t, l))
	if d := fault.From(err); d == nil || d.Code != fault.Unavailable {
		t.Errorf("without a signer: got %v", err)
	}
	second := k.acme.AddAgent(t, "desk2", keyring.Receipts)
	s = &taker{}
	if err := k.Read(t.Context(), Call{Request: k.request(t, l), Send: s}); err != nil {
		t.Fatal(err)
	}
	if a, err = lending.ParseAnswer(s.sent[0]); err != nil {
		t.Fatal(err)
	}
	if r := opened(a.Receipt); r.Signed != second || r.Seq != 2 {
		t.Errorf("got %+v", r)
	}

	// Only the person ends it.
	_, err = k.Revoke(t.Context(), l.ID.String(), "ended", "")
	refusedWith(t, err, fault.Refused, "person")
	revocation := func(change func(*lending.Revocation)) string {
		r := lending.Revocation{At: envelope.TimeOf(k.w.Clock.Now()), Issuer: ines, Reason: "ended", Target: l.ID.String(), TargetKind: lending.TargetPermission}
		change(&r)
		return sealAs(t, k.acme, r.Issuer, func(kid string) lending.Revocation { r.Kid = kid; return r })
	}
	for name, c := range map[string]func(*lending.Revocation){
		"of another agent":      func(r *lending.Revocation) { r.Issuer = k.research },
		"of another permission": func(r *lending.Revocation) { r.Target = envelope.IDOf([]byte("x")).String() },
		"of a borrower":         func(r *lending.Revocation) { r.TargetKind, r.Target = lending.TargetBorrower, k.quant.String() },
		"of an hour ago":        func(r *lending.Revocation) { r.At = r.At.Add(-time.Hour) },
	} {
		if got, err := k.RevokeSigned(t.Context(), revocation(c), ""); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	if got, err := k.RevokeSigned(t.Context(), revocation(func(*lending.Revocation) {}), "done"); err != nil || got.Reads != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	s = &taker{}
	err = k.Read(t.Context(), Call{Request: k.request(t, l), Send: s})
	if d := refusedWith(t, err, fault.Revoked, "ended"); d.Receipt == "" || opened(d.Receipt).Signed != second {
		t.Errorf("got %+v", d)
	}
}

// What a person signed is held to what the node would have drafted.
func TestASignedLoanIsJudged(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	ines, _ := k.person(t)
	for name, c := range map[string]struct {
		change func(p *lending.Permission)
		code   fault.Code
		reason string
	}{
		"dated long ago":             {func(p *lending.Permission) { p.IssuedAt = p.IssuedAt.Add(-11 * time.Minute) }, fault.Invalid, "issued_at"},
		"dated ahead":                {func(p *lending.Permission) { p.IssuedAt = p.IssuedAt.Add(11 * time.Minute) }, fault.Invalid, "issued_at"},
		"checked elsewhere":          {func(p *lending.Permission) { p.Revocation = "https://x.example/api" }, fault.Invalid, "revocation"},
		"longer than the charter":    {func(p *lending.Permission) { p.ExpiresAt = p.ExpiresAt.Add(2 * 24 * time.Hour) }, fault.Refused, "ttl"},
		"more than the charter":      {func(p *lending.Permission) { p.MaxReads = 1_000_001 }, fault.Refused, "max_reads"},
		"without its charter":        {func(p *lending.Permission) { p.GoverningCharter = nil }, fault.Refused, "no_charter"},
		"under another charter":      {func(p *lending.Permission) { p.GoverningCharter.Seq++ }, fault.Refused, "no_charter"},
		"as a part of nothing known": {func(p *lending.Permission) { p.Parent = envelope.IDOf([]byte("x")) }, fault.Invalid, "parent"},
		"under a pact":               {func(p *lending.Permission) { p.Pact = envelope.IDOf([]byte("x")) }, fault.Invalid, "pact"},
		"for an agent nobody knows":  {func(p *lending.Permission) { p.Borrower = did.MustParse("did:web:x.example:agents:y") }, fault.NotFound, "agent"},
	} {
		_, err := k.Issue(t.Context(), IssueInput{Signed: k.signedLoan(t, ines, c.change)})
		t.Log(name)
		refusedWith(t, err, c.code, c.reason)
	}
	good := k.signedLoan(t, ines)
	if _, err := k.Issue(t.Context(), IssueInput{Signed: good[:len(good)-4] + "AAAA"}); fault.Of(err) != fault.Unauthenticated {
		t.Errorf("a bad signature: got %v", err)
	}
	if _, err := k.Issue(t.Context(), IssueInput{Signed: good, Replaces: envelope.IDOf([]byte("x")).String()}); fault.Of(err) != fault.Invalid {
		t.Errorf("that replaces: got %v", err)
	}
	other := k.vendor.AddAgent(t, "other", keyring.Borrow)
	a := k.mustAsk(t, k.wantLoan(t, func(r *lending.LoanRequest) {
		r.Borrower, r.Aud, r.Purpose, r.Scope = other, ines, "pressure-test strategy S7", lending.Scope{}
		r.ExpiresAt = r.At.Add(720 * time.Hour)
	}))
	if _, err := k.Issue(t.Context(), IssueInput{Signed: good, Request: a.ID.String()}); fault.Of(err) != fault.Invalid {
		t.Errorf("for the request of another: got %v", err)
	}
	mine := k.mustAsk(t, k.wantLoan(t, func(r *lending.LoanRequest) {
		r.Aud, r.Purpose, r.Scope = ines, "pressure-test strategy S7", lending.Scope{}
		r.ExpiresAt = r.At.Add(720 * time.Hour)
	}))
	if l, err := k.Issue(t.Context(), IssueInput{Signed: good, Request: mine.ID.String()}); err != nil || l.Request != mine.ID {
		t.Errorf("for a request: got %+v, %v", l, err)
	}
	if all, err := k.Loans(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("got %d loans, %v", len(all), err)
	}
}
