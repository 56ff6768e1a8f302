package client

import (
	"context"
	"testing"

	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/lending"
	"trustnode/node/fault"
)

func (k *kit) mustCompare(t testing.TB, perm string) Compared {
	t.Helper()
	c, err := k.Compare(t.Context(), "quant", perm)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// honest is read some times, denied once, replayed never; its lender's log is here.
func honest(t *testing.T, reads int) (*kit, string) {
	t.Helper()
	k := newKit(t)
	loan := k.issue(t, 1000)
	for range reads {
		k.mustRead(t, loan.Compact)
	}
	in := k.ask(loan.Compact)
	in.Filter = "tag:confidential"
	if _, err := k.Read(t.Context(), in); fault.Of(err) != fault.Refused {
		t.Fatal(err)
	}
	if err := k.acme.Rec.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.pull()
	return k, loan.ID.String()
}

func TestCompareAgrees(t *testing.T) {
	const reads = 2*lending.MaxAuditRows + 3 // three pages
	k, perm := honest(t, reads)
	c := k.mustCompare(t, perm)
	if c.Agree != reads || c.Proven != c.Rows || c.Rows != reads+2 || len(c.Missing)+len(c.Different) != 0 {
		t.Errorf("got %+v", c)
	}
	// Only what was never kept of the refused request is not known here.
	for _, m := range c.Extra {
		t.Errorf("extra: %+v", m)
	}
	pairs, err := k.Receipts(t.Context(), perm)
	if err != nil {
		t.Fatal(err)
	}
	r := (&comparing{r: &reading{c: k.Client}})
	receipt, err := r.receipt(t.Context(), pairs[0].Receipt)
	if err != nil {
		t.Fatal(err)
	}
	if o, err := k.vendor.Lib.Get(t.Context(), receipt.Row); err != nil || o.What != "row" {
		t.Errorf("the proven row is not kept: %+v, %v", o, err)
	}
}

// What a lender changes in what it shows is named.
func TestCompareNames(t *testing.T) {
	page := func(k *kit, change func(p *lending.AuditPage)) {
		k.wire.set(false, func(_ context.Context, ask func() []byte) ([]byte, error) {
			r, _ := lending.ParseReply(ask())
			p, err := lending.ParseAuditPage(r.Answer)
			if err != nil {
				t.Fatal(err)
			}
			change(&p)
			b, err := p.Bytes()
			return lending.AnswerFrame(b), err
		})
	}
	// rewrite shows another row than the first granted one, which nothing proves.
	rewrite := func(change func(r *lending.GrantedRow)) func(p *lending.AuditPage) {
		return func(p *lending.AuditPage) {
			for i, line := range p.Rows {
				row, err := lending.ParseRow(line.Row)
				if err != nil {
					t.Fatal(err)
				}
				g, ok := row.(lending.GrantedRow)
				if !ok {
					continue
				}
				change(&g)
				b, _, err := lending.MarshalRow(g)
				if err != nil {
					t.Fatal(err)
				}
				p.Rows[i].Row = b
				return
			}
		}
	}
	for _, c := range []struct {
		name                           string
		change                         func(p *lending.AuditPage)
		proven, agree                  int
		missing, extra, different, all int
	}{
		{"nothing changed", func(*lending.AuditPage) {}, 5, 3, 0, 0, 0, 5},
		{"the last row left out", func(p *lending.AuditPage) { p.Rows = p.Rows[:len(p.Rows)-2] }, 3, 2, 1, 0, 0, 3},
		{"all left out", func(p *lending.AuditPage) { p.Rows = nil }, 0, 0, 3, 0, 0, 0},
		{"one twice", func(p *lending.AuditPage) { p.Rows = append(p.Rows, p.Rows[1]) }, 6, 3, 0, 0, 1, 6},
		{"another hash", rewrite(func(r *lending.GrantedRow) { r.Hash = envelope.IDOf([]byte("x")) }), 4, 2, 0, 0, 1, 5},
		{"another request", rewrite(func(r *lending.GrantedRow) { r.Request = envelope.IDOf([]byte("x")) }), 4, 2, 0, 0, 1, 5},
		{"another purpose", rewrite(func(r *lending.GrantedRow) { r.Purpose = "to sell it" }), 4, 2, 0, 0, 1, 5},
		{"an answer nobody received", rewrite(func(r *lending.GrantedRow) { r.Seq = 900 }), 4, 2, 1, 1, 0, 5},
		{"no row at all", func(p *lending.AuditPage) { p.Rows[1].Row = []byte(`{}`) }, 4, 2, 1, 0, 1, 5},
		{"a path of another row", func(p *lending.AuditPage) { p.Rows[1].Path = p.Rows[2].Path }, 4, 3, 0, 0, 0, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, perm := honest(t, 3)
			page(k, c.change)
			got := k.mustCompare(t, perm)
			if got.Proven != c.proven || got.Agree != c.agree || len(got.Missing) != c.missing || len(got.Extra) != c.extra || len(got.Different) != c.different || got.Rows != c.all {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestCompareRefuses(t *testing.T) {
	k, perm := honest(t, 1)
	k.vendor.AddAgent(t, "other", keyring.Borrow)
	_, err := k.Compare(t.Context(), "other", perm)
	if d := fault.From(err); d == nil || d.Reason != "not_borrower" {
		t.Errorf("another agent: got %v", err)
	}
	for name, reply := range map[string][]byte{
		"nothing": nil, "a portal": []byte("<!doctype html>"), "another page": lending.AnswerFrame([]byte(`{"perm":"x"}`)),
	} {
		k.wire.set(false, func(context.Context, func() []byte) ([]byte, error) { return reply, nil })
		_, err := k.Compare(t.Context(), "quant", perm)
		if d := fault.From(err); d == nil || d.Code != fault.Unavailable || d.Reason != "reply" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	k.wire.set(true, nil)
	_, err = k.Compare(t.Context(), "quant", perm)
	if d := fault.From(err); d == nil || d.Code != fault.Unavailable || d.Reason != "unreachable" {
		t.Errorf("nobody there: got %v", err)
	}
}

// The lender shows an organization its own rows alone, by a request of op audit alone.
func TestAuditPageIsForItsBorrower(t *testing.T) {
	k, perm := honest(t, 1)
	other := k.vendor.AddAgent(t, "other", keyring.Borrow)
	id, err := envelope.ParseID(perm)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(rq *lending.ReadRequest)
		code   fault.Code
	}{
		{"another agent", func(rq *lending.ReadRequest) { rq.Borrower = other }, fault.NotFound},
		{"no such permission", func(rq *lending.ReadRequest) { rq.Perm = envelope.IDOf([]byte("x")) }, fault.NotFound},
		{"op read", func(rq *lending.ReadRequest) { rq.Op, rq.Purpose = lending.OpRead, "x" }, fault.Invalid},
		{"another lender", func(rq *lending.ReadRequest) { rq.Aud = other }, fault.Unauthenticated},
		{"an hour old", func(rq *lending.ReadRequest) { rq.At = rq.At.Add(-3600e9) }, fault.ClockSkew},
	} {
		rq := lending.ReadRequest{At: envelope.TimeOf(k.w.Clock.Now()), Aud: k.research, Borrower: k.quant, Nonce: lending.NewSalt(), Op: lending.OpAudit, Perm: id}
		c.change(&rq)
		r, ok := lending.ParseReply(k.exchange(k.frameOf(t, lending.MethodAudit, rq)))
		if !ok || r.Problem == nil {
			t.Errorf("%s: it was answered", c.name)
			continue
		}
		if d := fault.ParseProblem(r.Problem); d.Code != c.code {
			t.Errorf("%s: got %s, want %s", c.name, d.Code, c.code)
		}
	}
}
