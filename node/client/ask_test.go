package client

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/lender"
	"trustnode/node/self"
	"trustnode/node/store"
)

func (k *kit) want() AskInput {
	return AskInput{As: "quant", Lender: k.research.String(), Purpose: "plan the week", Expires: "240h", MaxReads: 10, Scope: "-tag:confidential tag:client:acme"}
}

func (k *kit) mustAsk(t testing.TB, in AskInput) Asked {
	t.Helper()
	k.pull()
	a, err := k.Ask(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Asked for, issued narrower, seen, read.
func TestAskIssueRead(t *testing.T) {
	k := newKit(t)
	k.pull()
	p := k.want()
	p.Preview = true
	if a, err := k.Ask(t.Context(), p); err != nil || !a.ID.IsZero() || a.Body.Scope.String() != "tag:client:acme -tag:confidential" || a.LenderOrg != k.acme.Org || len(k.wire.frames) != 0 {
		t.Fatalf("preview: got %+v, %v, %d frames", a, err, len(k.wire.frames))
	}
	a := k.mustAsk(t, k.want())
	if a.State != lending.AskRequested || !a.Heard || a.Round != 1 {
		t.Errorf("got %+v", a)
	}
	if all, err := k.lender.Requests(t.Context()); err != nil || len(all) != 1 || all[0].ID != a.ID {
		t.Fatalf("the lender has %+v, %v", all, err)
	}
	l, err := k.lender.Issue(t.Context(), lender.IssueInput{Request: a.ID.String(), MaxReads: 3})
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.Asked(t.Context(), a.ID.String())
	if err != nil || got.State != lending.AskIssued || got.Perm != l.ID {
		t.Fatalf("got %+v, %v", got, err)
	}
	if r := k.mustRead(t, got.Perm.String()); r.Receipt.Left != 2 {
		t.Errorf("got %+v", r)
	}
	k.wire.set(true, nil)
	if again, err := k.Asked(t.Context(), a.ID.String()); err != nil || again.Perm != l.ID {
		t.Errorf("with the lender down: got %+v, %v", again, err)
	}
	if all, err := k.AskedAll(t.Context()); err != nil || len(all) != 1 || all[0].State != lending.AskIssued {
		t.Errorf("got %+v, %v", all, err)
	}
}

// A decline is read, and countered.
func TestAskCounter(t *testing.T) {
	k := newKit(t)
	a := k.mustAsk(t, k.want())
	if _, err := k.lender.Decline(t.Context(), a.ID.String(), "five reads are enough"); err != nil {
		t.Fatal(err)
	}
	if got, err := k.Asked(t.Context(), a.ID.String()); err != nil || got.State != lending.AskDeclined || got.Reason != "five reads are enough" {
		t.Errorf("got %+v, %v", got, err)
	}
	b := k.mustAsk(t, AskInput{As: "quant", InReplyTo: a.ID.String(), Purpose: "plan the week", Expires: "240h", MaxReads: 5})
	if b.Round != 2 || b.Body.InReplyTo != a.ID || b.Body.Aud != k.research || b.Body.Scope.String() != "tag:client:acme -tag:confidential" {
		t.Errorf("got %+v", b)
	}
	k.w.Clock.Add(24 * time.Hour)
	if got, err := k.Asked(t.Context(), b.ID.String()); err != nil || got.State != lending.AskLapsed {
		t.Errorf("a day later: got %+v, %v", got, err)
	}
}

// Whatever a lender answers, a request is either known to wait, or gone.
func TestAskSilence(t *testing.T) {
	k := newKit(t)
	k.pull()
	for name, change := range map[string]func(ctx context.Context, ask func() []byte) ([]byte, error){
		"it hangs": func(ctx context.Context, ask func() []byte) ([]byte, error) {
			ask()
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"it breaks off": func(_ context.Context, ask func() []byte) ([]byte, error) { ask(); return nil, errors.New("reset") },
		"no JSON":       func(_ context.Context, ask func() []byte) ([]byte, error) { ask(); return []byte("<html>"), nil },
		"an empty answer": func(_ context.Context, ask func() []byte) ([]byte, error) {
			ask()
			return lending.AnswerFrame([]byte("{}")), nil
		},
		"an internal error": func(_ context.Context, ask func() []byte) ([]byte, error) {
			ask()
			return lending.ProblemFrame(fault.ProblemOf(fault.New(fault.Internal, "", "x")).JSON(), 500), nil
		},
	} {
		k.cfg.Timeout = 50 * time.Millisecond
		k.wire.set(false, change)
		_, err := k.Ask(t.Context(), k.want())
		var d *fault.Denied
		if !errors.As(err, &d) || d.Code != fault.Unavailable || d.Reason != "unanswered" || !strings.Contains(d.Hint, "loan show z") {
			t.Errorf("%s: got %v", name, err)
		}
		k.wire.set(false, nil)
		k.cfg.Timeout = DefaultTimeout
	}
	all, err := k.AskedAll(t.Context())
	if err != nil || len(all) != 5 {
		t.Fatalf("got %d, %v", len(all), err)
	}
	for _, a := range all {
		if a.Heard {
			t.Errorf("%s counts as heard", a.ID)
		}
		if got, err := k.Asked(t.Context(), a.ID.String()); err != nil || !got.Heard || got.State != lending.AskRequested {
			t.Errorf("asked again: got %+v, %v", got, err)
		}
	}
	k.acme.Change(t, k.quant, nothingMay)
	_, err = k.Ask(t.Context(), k.want())
	if d := (*fault.Denied)(nil); !errors.As(err, &d) || d.Code != fault.Refused {
		t.Errorf("got %v", err)
	}
	if now, _ := k.AskedAll(t.Context()); len(now) != 5 {
		t.Errorf("a refused request is kept: %d", len(now))
	}
}

// A permission that is not for the request, or of another request, is none.
func TestAskAnsweredWrongly(t *testing.T) {
	k := newKit(t)
	other := k.vendor.AddAgent(t, "other", keyring.Borrow)
	a := k.mustAsk(t, k.want())
	b := k.mustAsk(t, k.want())
	wrong, err := k.lender.Issue(t.Context(), lender.IssueInput{Lender: "research", Borrower: other.String(), Scope: "tag:client:acme", Purpose: "x", Expires: "24h", MaxReads: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, told := range map[string]lending.Asked{
		"for another agent":  {ID: a.ID, State: lending.AskIssued, Permission: wrong.Compact, Round: 1, Until: a.Body.ExpiresAt},
		"of another request": {ID: b.ID, State: lending.AskDeclined, Round: 1, Until: a.Body.ExpiresAt},
		"no permission":      {ID: a.ID, State: lending.AskIssued, Permission: "e30.AAAA", Round: 1, Until: a.Body.ExpiresAt},
	} {
		k.wire.set(false, func(context.Context, func() []byte) ([]byte, error) {
			body, err := told.Bytes()
			return lending.AnswerFrame(body), err
		})
		if got, err := k.Asked(t.Context(), a.ID.String()); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	k.wire.set(false, nil)
	if got, err := k.Asked(t.Context(), a.ID.String()); err != nil || got.State != lending.AskRequested {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAskRefuses(t *testing.T) {
	k := newKit(t)
	k.pull()
	k.vendor.AddAgent(t, "clerk", keyring.Lend)
	for name, c := range map[string]struct {
		change func(in *AskInput)
		code   fault.Code
		reason string
	}{
		"an agent nobody knows":        {func(in *AskInput) { in.As = "ghost" }, fault.NotFound, "agent"},
		"an agent that may not borrow": {func(in *AskInput) { in.As = "clerk" }, fault.Refused, "borrower_ended"},
		"no lender":                    {func(in *AskInput) { in.Lender = "" }, fault.Invalid, "lender"},
		"a lender nobody knows":        {func(in *AskInput) { in.Lender = "did:web:x.example:agents:y" }, fault.NotFound, "agent"},
		"no purpose":                   {func(in *AskInput) { in.Purpose = "" }, fault.Invalid, "purpose"},
		"no end":                       {func(in *AskInput) { in.Expires = "" }, fault.Invalid, "expires"},
		"no reads":                     {func(in *AskInput) { in.MaxReads = 0 }, fault.Invalid, ""},
		"a scope that is none":         {func(in *AskInput) { in.Scope = "everything" }, fault.Invalid, "scope"},
		"tags without a discovery":     {func(in *AskInput) { in.Tags = []string{"a"} }, fault.Invalid, "tags"},
		"a receipt that is none":       {func(in *AskInput) { in.Scope, in.From = "", "x" }, fault.Invalid, "from"},
		"a receipt and a scope":        {func(in *AskInput) { in.From = "x" }, fault.Invalid, "scope"},
		"a parent without an agent":    {func(in *AskInput) { in.Parent = "x" }, fault.Invalid, "for"},
		"a reply to nothing":           {func(in *AskInput) { in.InReplyTo = "zQmWqWvRc8M51bNroaakyX9mq2bQW57Du1ESq8cZbjAyWNC" }, fault.NotFound, "request"},
	} {
		in := k.want()
		c.change(&in)
		_, err := k.Ask(t.Context(), in)
		var d *fault.Denied
		if !errors.As(err, &d) || d.Code != c.code || d.Reason != c.reason {
			t.Errorf("%s: got %v, want %s %s", name, err, c.code, c.reason)
		}
	}
	if all, err := k.AskedAll(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("left %v, %v", all, err)
	}
}

// Look which tags there are, then ask for some of them.
func TestDiscoverThenAsk(t *testing.T) {
	k := newKit(t)
	for range 5 {
		if _, err := k.lender.AddEntry(t.Context(), lender.AddInput{Agent: "research", Statement: "Two.", Tags: []string{"client:acme", "week:49"}}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := k.lender.Issue(t.Context(), lender.IssueInput{Lender: "research", Borrower: k.quant.String(), Scope: "tag:client:acme -tag:confidential", Purpose: "look around", Expires: "720h", MaxReads: 3, Patterns: []string{"discover"}})
	if err != nil {
		t.Fatal(err)
	}
	k.pull()
	d, err := k.Discover(t.Context(), DiscoverInput{As: "quant", Perm: l.ID.String(), Purpose: "what is there", Filter: "tag:client:acme age<30d"})
	if err != nil || strings.Join(d.Tags, " ") != "client:acme week:49" || d.Withheld || d.Receipt.Seq != 1 {
		t.Fatalf("got %+v, %v", d, err)
	}
	if ps, err := k.Receipts(t.Context(), l.ID.String()); err != nil || len(ps) != 1 || ps[0].Receipt != d.ReceiptID {
		t.Errorf("receipts: got %v, %v", ps, err)
	}
	in := k.want()
	in.Lender, in.Scope, in.From, in.Tags = "", "", d.ReceiptID.String(), []string{"week:49", "week:50"}
	a, err := k.Ask(t.Context(), in)
	if err != nil || a.Body.Scope.String() != "tag:client:acme any(week:49,week:50) -tag:confidential age<30d" || a.Body.Aud != k.research {
		t.Fatalf("got %+v, %v", a, err)
	}
	if r, err := k.lender.Request(t.Context(), a.ID.String()); err != nil || r.Beyond {
		t.Errorf("got %+v, %v", r, err)
	}
	read := k.issue(t, 2)
	k.pull()
	in.From = k.mustRead(t, read.ID.String()).ReceiptID.String()
	if _, err := k.Ask(t.Context(), in); fault.Of(err) != fault.NotFound {
		t.Errorf("from the receipt of a read: got %v", err)
	}
	_, err = k.Discover(t.Context(), DiscoverInput{As: "quant", Perm: read.ID.String(), Purpose: "x"})
	if fault.Of(err) != fault.Refused {
		t.Errorf("under a loan for reading: got %v", err)
	}
}

// What a lender says of tags counts only with a receipt of exactly these.
func TestDiscoverForged(t *testing.T) {
	k := newKit(t)
	for range 5 {
		if _, err := k.lender.AddEntry(t.Context(), lender.AddInput{Agent: "research", Statement: "Two.", Tags: []string{"client:acme", "week:49"}}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := k.lender.Issue(t.Context(), lender.IssueInput{Lender: "research", Borrower: k.quant.String(), Scope: "tag:client:acme -tag:confidential", Purpose: "look around", Expires: "720h", MaxReads: 30, Patterns: []string{"discover"}})
	if err != nil {
		t.Fatal(err)
	}
	k.pull()
	for name, change := range map[string]func(s string) string{
		"as it is":               func(s string) string { return s },
		"a tag more":             func(s string) string { return strings.Replace(s, `"week:49"`, `"week:49","week:50"`, 1) },
		"a tag less":             func(s string) string { return strings.Replace(s, `,"week:49"`, ``, 1) },
		"another one":            func(s string) string { return strings.Replace(s, `week:49`, `week:48`, 1) },
		"withheld the other way": func(s string) string { return strings.Replace(s, `"withheld":false`, `"withheld":true`, 1) },
		"a member more":          func(s string) string { return strings.Replace(s, `"withheld"`, `"more":1,"withheld"`, 1) },
		"no receipt":             func(s string) string { return strings.Replace(s, `"receipt"`, `"recipe"`, 1) },
	} {
		k.wire.set(false, func(_ context.Context, ask func() []byte) ([]byte, error) { return []byte(change(string(ask()))), nil })
		d, err := k.Discover(t.Context(), DiscoverInput{As: "quant", Perm: l.ID.String(), Purpose: "what is there"})
		if (err == nil) != (name == "as it is") || err != nil && (d.Tags != nil || fault.Of(err) != fault.Revoked) {
			t.Errorf("%s: got %+v, %v", name, d, err)
		}
	}
}

// nothingMay takes all capabilities of an agent.
func nothingMay(a *self.AgentRow) { a.Capabilities = []string{"lend"} }

// An agent has so many requests that wait and no more, and what is kept of the others is
// bounded: the oldest that does not wait goes. The newest are listed.
func TestRequestsOfOneAgentAreBounded(t *testing.T) {
	k := newKit(t)
	k.pull()
	agent := k.quant
	at := k.w.Clock.Now()
	id := func(i int) envelope.ID { return envelope.IDOf([]byte(strconv.Itoa(i))) }
	put := func(i int, state lending.AskState) error {
		when := at.Add(time.Duration(i) * time.Second)
		return k.vendor.DB.Update(t.Context(), func(tx store.Tx) error {
			row := askedRow{Asked: envelope.TimeOf(when), LenderOrg: k.acme.Org, Round: 1, State: state, Until: envelope.TimeOf(when.Add(24 * time.Hour))}
			if err := k.admit(tx, agent, id(i), when); err != nil {
				return err
			}
			return store.PutRow(tx, idKey(keyAsked, id(i)), row)
		})
	}
	has := func(i int) bool {
		_, ok, err := store.GetRow[askedRow](viewOf(t.Context(), k.Client), idKey(keyAsked, id(i)))
		return err == nil && ok
	}
	for i := range maxKeptAsks + 5 {
		state := lending.AskDeclined
		if i < maxOpenAsks {
			state = lending.AskRequested
		}
		if i == maxOpenAsks {
			if err := put(i, state); fault.Of(err) != fault.RateLimited || has(i) {
				t.Fatalf("one too many: got %v", err)
			}
			if _, err := k.Ask(t.Context(), k.want()); fault.Of(err) != fault.RateLimited || len(k.wire.frames) > 0 {
				t.Fatalf("got %v", err)
			}
			// One of them is answered: another one may wait.
			row, _, err := store.GetRow[askedRow](viewOf(t.Context(), k.Client), idKey(keyAsked, id(0)))
			row.State = lending.AskDeclined
			if err := errors.Join(err, k.vendor.DB.Update(t.Context(), func(tx store.Tx) error { return store.PutRow(tx, idKey(keyAsked, id(0)), row) })); err != nil {
				t.Fatal(err)
			}
		}
		if err := put(i, state); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	for i, want := range map[int]bool{0: false, 1: true, maxOpenAsks - 1: true, maxOpenAsks: false, maxOpenAsks + 3: false, maxOpenAsks + 4: true, maxKeptAsks + 4: true} {
		if has(i) != want {
			t.Errorf("request %d is kept: %v, want %v", i, has(i), want)
		}
	}
	k.testingOnlyPiece = 3
	if ids, err := k.newestAsked(t.Context()); err != nil || !slices.Equal(ids, []envelope.ID{id(maxKeptAsks + 4), id(maxKeptAsks + 3), id(maxKeptAsks + 2)}) {
		t.Errorf("newest: got %v, %v", ids, err)
	}
}
