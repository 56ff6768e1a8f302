package lending

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"trustnode/did/envelope"
)

// call is one input of Decide, changed by a row of a table.
type call struct {
	st State
	rq ReadRequest
	p  Permission
	f  Found
	at time.Time
}

func newCall(t testing.TB) *call {
	t.Helper()
	at := clock("2026-12-02T09:15:30Z")
	c, err := Join([][]byte{[]byte(`{"id":"eQtocYooukJ5AQqCkZsHcHY","rev":2}`)}, salt(5))
	if err != nil {
		t.Fatal(err)
	}
	return &call{
		st: ready(), rq: body[ReadRequest](t, "readrequest"), p: body[Permission](t, "permission"), at: at,
		f: Found{At: at, Refs: []Ref{{"eQtocYooukJ5AQqCkZsHcHY", 2}}, Vis: 7, Cursor: "next", Content: c},
	}
}

func (c *call) sealed(t testing.TB) (envelope.Verified[ReadRequest], envelope.Verified[Permission]) {
	t.Helper()
	p := opened(t, c.p)
	c.rq.Perm = p.ID()
	return opened(t, c.rq), p
}

func (c *call) decide(t testing.TB) (Next, error) {
	t.Helper()
	rq, p := c.sealed(t)
	return Decide(c.st, rq, p, c.f, c.at)
}

// denials is the table of everything that makes a read be denied.
var denials = []struct {
	name   string
	change func(t testing.TB, c *call)
	code   Code
	reason string
	state  PermState // of the receipt; empty where there is none
}{
	{"a request to another lender", func(_ testing.TB, c *call) { c.rq.Aud = stranger }, CodeUnauthenticated, ReasonAudience, ""},
	{"a request dated 61 s ago", func(_ testing.TB, c *call) { c.at = c.at.Add(61 * time.Second) }, CodeClockSkew, "", ""},
	{"a request dated 61 s ahead", func(_ testing.TB, c *call) { c.at = c.at.Add(-61 * time.Second) }, CodeClockSkew, "", ""},
	{"a request of somebody else than the borrower", func(_ testing.TB, c *call) { c.rq.Borrower = stranger }, CodeNotFound, "", ""},
	{"a permission this node has no loan of", func(_ testing.TB, c *call) { c.st.Known = false }, CodeNotFound, "", ""},
	{"another op than read", func(_ testing.TB, c *call) { c.rq.Op = OpDiscover }, CodeInvalid, ReasonOp, ""},
	{"a revocation", func(_ testing.TB, c *call) {
		c.st.Revoked = &RevokedBy{At: stamp("2026-12-02T09:00:00Z"), Reason: "ended"}
	}, CodeRevoked, "ended", Revoked},
	{"the end reached to the second", func(_ testing.TB, c *call) { c.p.ExpiresAt = envelope.TimeOf(c.at) }, CodeExpired, "", Expired},
	{"the end passed", func(_ testing.TB, c *call) { c.p.ExpiresAt = envelope.TimeOf(c.at).Add(-time.Second) }, CodeExpired, "", Expired},
	{"a beginning a second away", func(_ testing.TB, c *call) { c.p.NotBefore = envelope.TimeOf(c.at).Add(time.Second) }, CodeRefused, ReasonNotYet, NotYet},
	{"all reads used", func(_ testing.TB, c *call) { c.st.Loan.Reads = c.p.MaxReads }, CodeExhausted, "", Exhausted},
	{"more reads counted than there ever were", func(_ testing.TB, c *call) { c.st.Loan.Reads = c.p.MaxReads + 1 }, CodeExhausted, "", Exhausted},
	{"a pact that ended", func(_ testing.TB, c *call) { c.p.Pact, c.st.PactLive = mustID(goldenRow), false }, CodeRefused, ReasonLapsed, Lapsed},
	{"a node that may not lend", func(_ testing.TB, c *call) { c.st.MayLend, c.st.NodeState = false, "recovering" }, CodeStale, "recovering", Stale},
	{"a clock that is not trusted", func(_ testing.TB, c *call) { c.st.TimeTrusted = false }, CodeUnavailable, ReasonClock, ""},
	{"a lender whose agent object ended", func(_ testing.TB, c *call) { c.st.LenderLive = false }, CodeRefused, ReasonLender, ""},
	{"a borrower whose agent object ended", func(_ testing.TB, c *call) { c.st.BorrowerLive = false }, CodeRefused, ReasonBorrower, ""},
	{"a borrower outside the federation", func(_ testing.TB, c *call) { c.st.Member = false }, CodeRefused, ReasonNotMember, ""},
	{"a borrower whose organization's DID log has forked", func(_ testing.TB, c *call) { c.st.Forked = ReasonDIDLog }, CodeForked, ReasonDIDLog, ""},
	{"a borrower whose organization's log has forked", func(_ testing.TB, c *call) { c.st.Forked = ReasonLog }, CodeForked, ReasonLog, ""},
	{"prices that are not known", func(_ testing.TB, c *call) { c.p.Terms = mustID(goldenRow) }, CodeRefused, ReasonTerms, ""},
	{"a nonce used by other bytes", func(_ testing.TB, c *call) {
		c.st.Nonce = &NonceRecord{Request: mustID(goldenRow), Until: envelope.TimeOf(c.at).Add(time.Second)}
	}, CodeReplay, "", ""},
	{"a permission to discover only", func(_ testing.TB, c *call) { c.p.Patterns = []string{PatternDiscover} }, CodeRefused, ReasonPattern, ""},
	{"no purpose", func(_ testing.TB, c *call) { c.rq.Purpose = "" }, CodeRefused, ReasonPurposeMissing, ""},
	{"a filter outside the scope", func(_ testing.TB, c *call) { c.rq.Filter = MustParse("tag:customs:hold") }, CodeRefused, ReasonOutsideScope, ""},
}

func TestDecideDenies(t *testing.T) {
	for _, d := range denials {
		c := newCall(t)
		c.st.Loan.Reads = 3
		d.change(t, c)
		n, err := c.decide(t)
		if err != nil || n.Verdict != Denied {
			t.Errorf("%s: got %+v, %v, want a denial", d.name, n, err)
			continue
		}
		if n.Denial.Code != d.code || n.Denial.Reason != d.reason || n.Denial.Perm != c.rq.Perm {
			t.Errorf("%s: got %+v, want code %s, reason %q", d.name, n.Denial, d.code, d.reason)
		}
		if n.Loan != c.st.Loan || n.Parents != nil || n.Nonce != nil || n.Side != nil {
			t.Errorf("%s: a denial counts or leaves something: %+v", d.name, n)
		}
		checkDeniedRow(t, d.name, c, n)
		checkDeniedReceipt(t, d.name, c, n, d.state)
	}
}

// What could not be evaluated is denied for that only where nothing else is wrong.
func TestDecideFailed(t *testing.T) {
	cursor := deny(CodeInvalid, "cursor", "", "cursor of another question")
	c := newCall(t)
	rq, p := c.sealed(t)
	n, err := DecideFailed(c.st, rq, p, cursor, c.at)
	if err != nil || n.Verdict != Denied || n.Denial.Reason != "cursor" || n.Loan != c.st.Loan || n.Receipt != nil {
		t.Errorf("got %+v, %v, want the denial for the cursor", n, err)
	}
	for _, d := range denials {
		c := newCall(t)
		d.change(t, c)
		rq, p := c.sealed(t)
		n, err := DecideFailed(c.st, rq, p, cursor, c.at)
		if err != nil || n.Denial == nil || n.Denial.Code != d.code || n.Denial.Reason != d.reason {
			t.Errorf("%s: got %+v, %v, want %s %q", d.name, n.Denial, err, d.code, d.reason)
		}
	}
	c.st.RevocationsRead = false
	if _, err := DecideFailed(c.st, rq, p, cursor, c.at); !errors.Is(err, errCall) {
		t.Errorf("revocations not looked up: got %v", err)
	}
}

func TestStranger(t *testing.T) {
	c := newCall(t)
	rq, _ := c.sealed(t)
	for _, s := range []struct {
		name          string
		ours, trusted bool
		at            time.Time
		code          Code
	}{
		{"a request for an agent of this node", true, true, c.at, CodeNotFound},
		{"a request for somebody else", false, true, c.at, CodeUnauthenticated},
		{"a request that is too old", true, true, c.at.Add(time.Hour), CodeClockSkew},
		{"a request while no time is trusted", true, false, c.at.Add(time.Hour), CodeNotFound},
	} {
		n, err := Stranger(rq, s.ours, s.trusted, s.at, salt(9))
		if err != nil || n.Verdict != Denied || n.Denial.Code != s.code || n.Receipt != nil || n.Nonce != nil {
			t.Errorf("%s: got %+v, %v, want %s", s.name, n, err, s.code)
		}
		row, err := ParseRow(n.Row)
		if got, ok := row.(DeniedRow); err != nil || !ok || got.Scope != "" || got.Code != string(s.code) || got.Request != rq.ID() {
			t.Errorf("%s: row %+v, %v", s.name, row, err)
		}
	}
}

func checkDeniedRow(t *testing.T, name string, c *call, n Next) {
	t.Helper()
	rq, p := c.sealed(t)
	scope := c.p.Scope.String()
	if n.Denial.Code == CodeNotFound {
		scope = "" // a stranger learns nothing of a permission
	}
	want := DeniedRow{
		At: envelope.TimeOf(c.at), Borrower: c.rq.Borrower, Code: string(n.Denial.Code), Reason: n.Denial.Reason, Decision: DecisionDenied,
		Op: c.rq.Op, Perm: p.ID(), Purpose: c.rq.Purpose, Request: rq.ID(), Salt: salt(9), Scope: scope,
	}
	got, err := ParseRow(n.Row)
	if err != nil || got != Row(want) || n.RowID != envelope.IDOf(n.Row) {
		t.Errorf("%s: row: got %+v, %v, want %+v", name, got, err, want)
	}
}

func checkDeniedReceipt(t *testing.T, name string, c *call, n Next, state PermState) {
	t.Helper()
	if state == "" {
		if n.Receipt != nil {
			t.Errorf("%s: got receipt %+v, want none", name, n.Receipt)
		}
		return
	}
	rq, p := c.sealed(t)
	left := uint64(0)
	if c.st.Loan.Reads < c.p.MaxReads {
		left = c.p.MaxReads - c.st.Loan.Reads
	}
	want := Receipt{
		At: envelope.TimeOf(c.at), Kid: "key-1", Left: left, Lender: lender, Op: OpRead, Perm: p.ID(), Request: rq.ID(),
		Row: n.RowID, Seq: c.st.Loan.Reads, Signed: lender, State: state,
	}
	if n.Receipt == nil || *n.Receipt != want {
		t.Errorf("%s: got receipt %+v, want %+v", name, n.Receipt, want)
	} else if err := want.Check(); err != nil {
		t.Errorf("%s: receipt has no valid form: %v", name, err)
	}
}

// Where two rows hold, the one further up decides: what is asked first is said.
func TestDecideOrder(t *testing.T) {
	for i, upper := range denials {
		for _, lower := range denials[i+1:] {
			c := newCall(t)
			lower.change(t, c)
			upper.change(t, c)
			if upper.code == CodeClockSkew && (lower.reason == ReasonClock || lower.code == CodeClockSkew) {
				continue // a skew that an untrusted clock measured is no skew; two skews cancel out
			}
			if c.p.Check() != nil {
				continue // no permission ends before it begins
			}
			if upper.state != "" && upper.state != Revoked && lower.reason == ReasonClock {
				continue // tested below
			}
			n, err := c.decide(t)
			if err != nil || n.Verdict != Denied {
				t.Errorf("%s and %s: got %+v, %v", upper.name, lower.name, n, err)
				continue
			}
			if n.Denial.Code != upper.code || n.Denial.Reason != upper.reason {
				t.Errorf("%s and %s: got %s %s, want %s %s", upper.name, lower.name, n.Denial.Code, n.Denial.Reason, upper.code, upper.reason)
			}
		}
	}
}

// Without trusted time only what needs no time is answered.
func TestDecideWithoutTrustedTime(t *testing.T) {
	for _, d := range denials {
		if d.state == "" || d.state == Revoked {
			continue
		}
		c := newCall(t)
		d.change(t, c)
		c.st.TimeTrusted = false
		if n, err := c.decide(t); err != nil || n.Denial == nil || n.Denial.Reason != ReasonClock || n.Receipt != nil {
			t.Errorf("%s: got %+v, %v, want clock_untrusted", d.name, n.Denial, err)
		}
	}
	c := newCall(t)
	c.st.TimeTrusted, c.st.Revoked = false, &RevokedBy{At: stamp("2026-12-02T09:00:00Z"), Reason: "misuse"}
	if n, err := c.decide(t); err != nil || n.Denial.Code != CodeRevoked || n.Receipt.State != Revoked {
		t.Errorf("revoked: got %+v, %v", n, err)
	}
}

func TestDecideGrants(t *testing.T) {
	for _, d := range []struct {
		name   string
		change func(c *call)
		seq    uint64
		left   uint64
		scope  string
		from   string
	}{
		{"the first read", func(*call) {}, 1, 4999, "tag:terminal:north -tag:customs:hold age<30d", "2026-11-02T09:15:30Z"},
		{"the last read", func(c *call) { c.st.Loan.Reads = 4999 }, 5000, 0, "tag:terminal:north -tag:customs:hold age<30d", "2026-11-02T09:15:30Z"},
		{"the last second", func(c *call) { c.p.ExpiresAt = envelope.TimeOf(c.at).Add(time.Second) }, 1, 4999, "tag:terminal:north -tag:customs:hold age<30d", "2026-11-02T09:15:30Z"},
		{"the first second", func(c *call) { c.p.NotBefore = envelope.TimeOf(c.at) }, 1, 4999, "tag:terminal:north -tag:customs:hold age<30d", "2026-11-02T09:15:30Z"},
		{"a request dated 60 s ahead", func(c *call) { c.at = c.at.Add(-60 * time.Second); c.f.At = c.at }, 1, 4999, "tag:terminal:north -tag:customs:hold age<30d", "2026-11-02T09:14:30Z"},
		{"a live pact", func(c *call) { c.p.Pact = mustID(goldenRow) }, 1, 4999, "tag:terminal:north -tag:customs:hold age<30d", "2026-11-02T09:15:30Z"},
		{"a nonce whose time is over", func(c *call) {
			c.st.Nonce = &NonceRecord{Request: mustID(goldenRow), Until: envelope.TimeOf(c.at)}
		}, 1, 4999, "tag:terminal:north -tag:customs:hold age<30d", "2026-11-02T09:15:30Z"},
		{"a filter, which narrows", func(c *call) { c.rq.Filter = MustParse("tag:berth:7 age<1d") }, 1, 4999, "tag:berth:7 tag:terminal:north -tag:customs:hold age<1d", "2026-12-01T09:15:30Z"},
		{"no age term", func(c *call) { c.p.Scope = MustParse("tag:terminal:north") }, 1, 4999, "tag:terminal:north", ""},
		{"an evaluation of 5 s ago", func(c *call) { c.f.At = c.at.Add(-5 * time.Second) }, 1, 4999, "tag:terminal:north -tag:customs:hold age<30d", "2026-11-02T09:15:25Z"},
	} {
		c := newCall(t)
		d.change(c)
		rq, p := c.sealed(t)
		n, err := Decide(c.st, rq, p, c.f, c.at)
		if err != nil || n.Verdict != Granted {
			t.Errorf("%s: got %+v, %v", d.name, n, err)
			continue
		}
		row := GrantedRow{
			At: envelope.TimeOf(c.at), Borrower: borrower, Count: 1, Decision: DecisionGranted, Entries: c.f.Refs, Hash: c.f.Content.Hash, Op: OpRead,
			Perm: p.ID(), Purpose: c.rq.Purpose, Request: rq.ID(), Salt: salt(9), Scope: d.scope, Seq: d.seq, Side: envelope.IDOf(n.Side),
		}
		if d.from != "" {
			row.AgeFrom = stamp(d.from)
		}
		if got, err := ParseRow(n.Row); err != nil || !reflect.DeepEqual(got, Row(row)) {
			t.Errorf("%s: row: got %+v, %v, want %+v", d.name, got, err, row)
		}
		want := Receipt{
			At: envelope.TimeOf(c.at), Count: 1, Hash: c.f.Content.Hash, Kid: "key-1", Left: d.left, Lender: lender, Op: OpRead,
			Perm: p.ID(), Request: rq.ID(), Row: n.RowID, Seq: d.seq, Signed: lender, State: Valid,
		}
		if *n.Receipt != want || want.Check() != nil || n.Loan != (Loan{"harbor/north", d.seq, 0}) || n.Cursor != "next" {
			t.Errorf("%s: got receipt %+v, loan %+v, want %+v", d.name, *n.Receipt, n.Loan, want)
		}
	}
}

func TestDecideSendsBack(t *testing.T) {
	for _, d := range []struct {
		name   string
		change func(c *call)
	}{
		{"visibility rose after the evaluation", func(c *call) { c.st.Vis++ }},
		{"an evaluation older than its deadline", func(c *call) { c.f.At = c.at.Add(-5*time.Second - 1) }},
		{"an evaluation of later than now", func(c *call) { c.f.At = c.at.Add(1) }},
		{"an evaluation for a replay of what was not answered", func(c *call) { c.f.Replay = true }},
	} {
		c := newCall(t)
		d.change(c)
		if n, err := c.decide(t); !errors.Is(err, ErrMoved) || !reflect.DeepEqual(n, Next{}) {
			t.Errorf("%s: got %+v, %v, want ErrMoved", d.name, n, err)
		}
	}
}

func TestDecideRefusesWrongCalls(t *testing.T) {
	for _, d := range []struct {
		name   string
		change func(c *call)
	}{
		{"revocations not looked up", func(c *call) { c.st.RevocationsRead = false }},
		{"no signer", func(c *call) { c.st.Kid = "" }},
		{"no salt for the row", func(c *call) { c.st.RowSalt = Salt{} }},
		{"nothing rendered", func(c *call) { c.f.Content = Content{} }},
		{"more entries than asked for", func(c *call) { c.rq.Limit, c.f.Refs = 1, make([]Ref, 2) }},
		{"a parent left out", func(c *call) { c.p.Parent = mustID(goldenRow) }},
	} {
		c := newCall(t)
		d.change(c)
		if n, err := c.decide(t); err == nil || errors.Is(err, ErrMoved) || !reflect.DeepEqual(n, Next{}) {
			t.Errorf("%s: got %+v, %v, want an error", d.name, n, err)
		}
	}
	c := newCall(t)
	rq, _ := c.sealed(t)
	c.p.MaxReads++
	if _, err := Decide(c.st, rq, opened(t, c.p), c.f, c.at); !errors.Is(err, errCall) {
		t.Errorf("another permission: got %v", err)
	}
}

func TestDecideReplays(t *testing.T) {
	c := newCall(t)
	c.st.Loan.Reads = c.p.MaxReads - 1 // the answer used the last read
	rq, p := c.sealed(t)
	one, err := Decide(c.st, rq, p, c.f, c.at)
	if err != nil {
		t.Fatal(err)
	}
	after := c.st
	after.Loan, after.Nonce, after.RowSalt = one.Loan, one.Nonce, salt(10)
	again := c.f
	again.Replay = true
	later := c.at.Add(11 * time.Second)
	denied := func(name string, st State, f Found, at time.Time, code Code, reason string) {
		t.Helper()
		n, err := Decide(st, rq, p, f, at)
		if err != nil || n.Verdict != Denied || n.Denial.Code != code || n.Denial.Reason != reason || n.Loan != st.Loan {
			t.Errorf("%s: got %+v, %v", name, n, err)
			return
		}
		if row, err := ParseRow(n.Row); err != nil || code != CodeClockSkew && row.(DeniedRow).Op != OpReplay {
			t.Errorf("%s: row %s, %v", name, n.Row, err)
		}
	}

	n, err := Decide(after, rq, p, again, later)
	if err != nil || n.Verdict != Replayed || *n.Receipt != *one.Receipt || n.Loan != one.Loan || n.Nonce != nil || n.Cursor != "next" {
		t.Errorf("a lost answer comes again: got %+v, %v", n, err)
	}
	want := ReplayRow{
		At: envelope.TimeOf(later), Borrower: borrower, Decision: DecisionGranted, Hash: one.Receipt.Hash, Op: OpReplay, Perm: p.ID(),
		Purpose: c.rq.Purpose, Request: rq.ID(), Salt: salt(10), Seq: 5000,
	}
	if got, err := ParseRow(n.Row); err != nil || got != Row(want) {
		t.Errorf("its row: got %+v, %v, want %+v", got, err, want)
	}
	if _, err := Decide(after, rq, p, c.f, later); !errors.Is(err, ErrMoved) {
		t.Errorf("an evaluation from before the answer: got %v, want ErrMoved", err)
	}
	moved := again
	moved.Vis--
	if _, err := Decide(after, rq, p, moved, later); !errors.Is(err, ErrMoved) {
		t.Errorf("visibility rose after the entries were looked for: got %v, want ErrMoved", err)
	}
	gone := Found{Replay: true}
	denied("an entry left the scope", after, gone, later, CodeStale, ReasonEntryLeft)
	if n, _ := Decide(after, rq, p, gone, later); n.Receipt == nil || *n.Receipt != *one.Receipt {
		t.Errorf("an entry left the scope: got receipt %+v, want the first", n.Receipt)
	}
	ended := after
	ended.Revoked = &RevokedBy{At: stamp("2026-12-02T09:15:35Z"), Reason: "ended"}
	denied("revoked meanwhile", ended, again, later, CodeRevoked, "ended")
	denied("past its date", after, again, c.at.Add(61*time.Second), CodeClockSkew, "")
}

func TestDecideParents(t *testing.T) {
	top := body[Permission](t, "permission")
	top.Borrower, top.Sublend, top.MaxReads = stranger, SublendAsk, 10
	up := opened(t, top)
	with := func(change func(c *call, parent *Parent)) (Next, error) {
		c := newCall(t)
		c.p.Parent, c.p.MaxReads = up.ID(), 8
		parent := Parent{Perm: up, Loan: Loan{Place: "harbor/north", Reads: 7}}
		change(c, &parent)
		c.st.Parents = []Parent{parent}
		return c.decide(t)
	}
	n, err := with(func(*call, *Parent) {})
	if err != nil || n.Verdict != Granted || n.Loan.Reads != 1 || !reflect.DeepEqual(n.Parents, []Loan{{"harbor/north", 8, 1}}) || n.Receipt.Left != 2 {
		t.Errorf("a parent is counted too: got %+v, %v", n, err)
	}
	n, err = with(func(_ *call, p *Parent) { p.Loan.Reads = 10 })
	if err != nil || n.Denial == nil || n.Denial.Code != CodeExhausted {
		t.Errorf("a parent without reads ends its part: got %+v, %v", n.Denial, err)
	}
	n, err = with(func(c *call, _ *Parent) {
		c.at = top.ExpiresAt.Time()
		c.rq.At, c.p.ExpiresAt = top.ExpiresAt, top.ExpiresAt.Add(time.Hour)
	})
	if err != nil || n.Denial == nil || n.Denial.Code != CodeExpired {
		t.Errorf("a parent that expired ends its part: got %+v, %v", n.Denial, err)
	}
}

func TestDecideCaching(t *testing.T) {
	c := newCall(t)
	c.p.CacheS = 60
	if n, err := c.decide(t); err != nil || n.Receipt.CacheUntil != stamp("2026-12-02T09:16:30Z") {
		t.Errorf("window: got %+v, %v", n.Receipt, err)
	}
	c.p.ExpiresAt = stamp("2026-12-02T09:16:00Z")
	if n, err := c.decide(t); err != nil || n.Receipt.CacheUntil != c.p.ExpiresAt {
		t.Errorf("window cut at the end of the loan: got %+v, %v", n.Receipt, err)
	}
}

func TestStatus(t *testing.T) {
	for _, d := range denials {
		if d.reason == ReasonOp || d.reason == ReasonPattern || d.reason == ReasonPurposeMissing || d.reason == ReasonOutsideScope || d.code == CodeReplay {
			continue // not asked of a status
		}
		c := newCall(t)
		c.rq.Op, c.rq.Limit, c.rq.Purpose = OpStatus, 0, ""
		d.change(t, c)
		rq, p := c.sealed(t)
		r, err := Status(c.st, rq, p, c.at)
		if d.state == "" {
			var den *Denial
			if !errors.As(err, &den) || den.Code != d.code || den.Reason != d.reason || r != (Receipt{}) {
				t.Errorf("%s: got %+v, %v, want %s %s", d.name, r, err, d.code, d.reason)
			}
			continue
		}
		if err != nil || r.State != d.state || !r.Row.IsZero() || r.Check() != nil {
			t.Errorf("%s: got %+v, %v, want state %s", d.name, r, err, d.state)
		}
	}
	c := newCall(t)
	c.rq.Op, c.rq.Limit, c.rq.Purpose, c.st.Loan.Reads = OpStatus, 0, "", 12
	rq, p := c.sealed(t)
	want := Receipt{At: envelope.TimeOf(c.at), Kid: "key-1", Left: 4988, Lender: lender, Op: OpStatus, Perm: p.ID(), Request: rq.ID(), Seq: 12, Signed: lender, State: Valid}
	if r, err := Status(c.st, rq, p, c.at); err != nil || r != want {
		t.Errorf("valid: got %+v, %v, want %+v", r, err, want)
	}
	if _, err := Status(c.st, opened(t, body[ReadRequest](t, "readrequest")), opened(t, body[Permission](t, "permission")), c.at); err == nil {
		t.Error("op read: got a status")
	}
}

func TestZeroStateDenies(t *testing.T) {
	c := newCall(t)
	c.st = State{RevocationsRead: true, Signer: lender, Kid: "key-1", RowSalt: salt(1), Vis: 7}
	if n, err := c.decide(t); err != nil || n.Verdict != Denied {
		t.Errorf("got %+v, %v", n, err)
	}
	c.st.Known = true
	if n, err := c.decide(t); err != nil || n.Verdict != Denied {
		t.Errorf("known: got %+v, %v", n, err)
	}
}

func TestRefuse(t *testing.T) {
	c := newCall(t)
	rq, _ := c.sealed(t)
	n, err := Refuse(rq, Unknown(), Scope{}, c.at, salt(4))
	if err != nil || n.Verdict != Denied || n.Receipt != nil {
		t.Fatalf("got %+v, %v", n, err)
	}
	want := DeniedRow{At: envelope.TimeOf(c.at), Borrower: borrower, Code: "not_found", Decision: DecisionDenied, Op: OpRead, Perm: c.rq.Perm, Purpose: c.rq.Purpose, Request: rq.ID(), Salt: salt(4)}
	if got, err := ParseRow(n.Row); err != nil || got != Row(want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestViolation(t *testing.T) {
	want := map[string]string{
		"a revocation": ViolationReadAfterEnd, "the end reached to the second": ViolationReadAfterEnd, "the end passed": ViolationReadAfterEnd,
		"all reads used": ViolationOverCount, "more reads counted than there ever were": ViolationOverCount, "a filter outside the scope": ViolationOutsideScope,
	}
	for _, d := range denials {
		if got := (&Denial{Code: d.code, Reason: d.reason}).Violation(); got != want[d.name] {
			t.Errorf("%s: got %q, want %q", d.name, got, want[d.name])
		}
	}
}

// A request that lay around is told its age: the clock is to blame only where it is new.
func TestDenySkewSaysTheAge(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d := denySkew(at, envelope.TimeOf(at.Add(-66*time.Second)))
	if d.Code != CodeClockSkew || d.Detail != "the request is 66 s old and good for 60 s" || d.Hint != "sign a new one (if it is new, this host's clock is off)" {
		t.Errorf("got %+v", d)
	}
	if d := denySkew(at, envelope.TimeOf(at.Add(66*time.Second))); d.Hint != "set this host's clock, it is off by 66 s" {
		t.Errorf("got %+v", d)
	}
}
