package lender

import (
	"strings"
	"testing"
	"time"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self/selftest"
)

// discoverable is a loan of pattern discover over tag:client:acme.
func (k *kit) discoverable(t testing.TB, maxReads uint64) Loan {
	t.Helper()
	in := k.wish(maxReads)
	in.Patterns = []string{"discover"}
	l, err := k.Issue(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// look is a request to discover.
func (k *kit) look(t testing.TB, l Loan, change ...func(*lending.ReadRequest)) string {
	t.Helper()
	return k.request(t, l, append([]func(*lending.ReadRequest){func(r *lending.ReadRequest) { r.Op = lending.OpDiscover }}, change...)...)
}

func (k *kit) discover(t testing.TB, compact string) (lending.Tags, lending.Receipt, error) {
	t.Helper()
	s := &taker{}
	if err := k.Discover(t.Context(), Call{Request: compact, Send: s}); err != nil {
		if len(s.sent) > 0 {
			t.Errorf("sent and refused: %v", err)
		}
		return lending.Tags{}, lending.Receipt{}, err
	}
	tags, err := lending.ParseTags(s.sent[0])
	if err != nil {
		t.Fatal(err)
	}
	r, err := k.receipt(t.Context(), tags.Receipt)
	if err != nil || r.Hash != tags.Hash() || r.Op != lending.OpDiscover {
		t.Errorf("receipt: got %+v, %v", r, err)
	}
	for _, word := range []string{"One.", "eQ", "2026", "count\""} {
		if strings.Contains(string(s.sent[0][strings.Index(string(s.sent[0]), `"tags"`):]), word) {
			t.Errorf("the answer tells %q: %s", word, s.sent[0])
		}
	}
	return tags, r, nil
}

// Tags that enough entries have, and nothing else.
func TestDiscover(t *testing.T) {
	k := newKit(t, selftest.Option{}, Config{HiddenTags: []string{"deal:"}, DiscoverMin: 3})
	for range 3 {
		k.add(t, "One.", "client:acme", "week:49", "deal:secret")
	}
	k.add(t, "Two.", "client:acme", "week:50", "deal:rare")
	k.add(t, "Three.", "client:acme", "confidential", "week:51")
	l := k.discoverable(t, 10)
	tags, r, err := k.discover(t, k.look(t, l))
	if err != nil {
		t.Fatal(err)
	}
	wantTexts(t, "tags", tags.Tags, "client:acme", "week:49")
	if !tags.Withheld || r.Seq != 1 || r.Left != 9 || r.Count != 1 {
		t.Errorf("got %+v %+v", tags, r)
	}
	for name, c := range map[string]struct {
		filter   string
		want     string
		withheld bool
	}{
		"within a filter too":                {"tag:week:49 tag:client:acme", "client:acme week:49", false},
		"nothing by a tag of too few":        {"tag:week:50", "", false},
		"all that are left are told":         {"tag:week:49", "client:acme week:49", false},
		"nothing by a hidden tag":            {"tag:deal:secret", "", false},
		"nor by its exclusion":               {"tag:week:49 -tag:deal:secret", "", false},
		"nor by a group":                     {"any(deal:secret,week:49)", "", false},
		"nor by a class":                     {"tag:class:internal", "", false},
		"nor by one that no entry has":       {"tag:deal:none", "", false},
		"a filter that nothing in scope has": {"tag:none", "", false},
	} {
		tags, _, err := k.discover(t, k.look(t, l, func(r *lending.ReadRequest) { r.Filter = lending.MustParse(c.filter) }))
		if err != nil || strings.Join(tags.Tags, " ") != c.want || tags.Withheld != c.withheld {
			t.Errorf("%s: got %v, %v, %v", name, tags.Tags, tags.Withheld, err)
		}
	}
	_, _, err = k.discover(t, k.look(t, l))
	refusedWith(t, err, fault.Exhausted, "")
}

// Whether a tag of too few entries is there is told by nothing: not by a filter for it, not by
// one without it, not beside a tag of many.
func TestDiscoverIsNoOracle(t *testing.T) {
	k := newKit(t, selftest.Option{}, Config{DiscoverMin: 5})
	k.add(t, "Rare.", "client:acme", "patient:miller")
	for range 6 {
		k.add(t, "x", "client:acme", "week:1")
	}
	l := k.discoverable(t, 20)
	for _, filter := range []string{"tag:%s", "-tag:%s", "any(%s,week:1)", "tag:week:1 -tag:%s", "tag:client:acme tag:%s"} {
		var got [2]lending.Tags
		for i, tag := range []string{"patient:miller", "patient:nobody"} {
			f, err := lending.Parse(strings.ReplaceAll(filter, "%s", tag))
			if err != nil { // an exclusion alone is no scope
				f = lending.MustParse("tag:client:acme " + strings.ReplaceAll(filter, "%s", tag))
			}
			if got[i], _, err = k.discover(t, k.look(t, l, func(r *lending.ReadRequest) { r.Filter = f })); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Join(got[0].Tags, " ") != strings.Join(got[1].Tags, " ") || got[0].Withheld != got[1].Withheld {
			t.Errorf("%s: a tag of one entry is answered %v %v, one of none %v %v", filter, got[0].Tags, got[0].Withheld, got[1].Tags, got[1].Withheld)
		}
	}
	if all, _, err := k.discover(t, k.look(t, l)); err != nil || !all.Withheld || len(all.Tags) != 2 {
		t.Errorf("without a filter: %+v, %v", all, err)
	}
}

// A discovery is decided as a read: what may not be, is not, with a row.
func TestDiscoverRefuses(t *testing.T) {
	k := memoryKit(t)
	for range 5 {
		k.add(t, "One.", "client:acme")
	}
	l, readable := k.discoverable(t, 5), k.issue(t, 5)
	for _, c := range []struct {
		name    string
		compact string
		code    fault.Code
		reason  string
	}{
		{"a loan for reading", k.look(t, readable), fault.Refused, "pattern"},
		{"no purpose", k.look(t, l, func(r *lending.ReadRequest) { r.Purpose = "" }), fault.Refused, "purpose_missing"},
		{"a request to read", k.request(t, l), fault.Invalid, "op"},
		{"a limit", k.look(t, l, func(r *lending.ReadRequest) { r.Limit = 5 }), fault.Invalid, "limit"},
		{"a query", k.look(t, l, func(r *lending.ReadRequest) { r.Query = "x" }), fault.Invalid, "query"},
		{"a cursor", k.look(t, l, func(r *lending.ReadRequest) { r.Cursor = "x" }), fault.Invalid, "cursor"},
		{"outside the scope", k.look(t, l, func(r *lending.ReadRequest) { r.Filter = lending.MustParse("tag:confidential") }), fault.Refused, "outside_scope"},
		{"a permission nobody issued", k.look(t, l, func(r *lending.ReadRequest) { r.Perm = envelope.IDOf([]byte("x")) }), fault.NotFound, ""},
		{"addressed to another", k.look(t, l, func(r *lending.ReadRequest) { r.Aud = k.quant }), fault.Unauthenticated, "audience"},
		{"a minute and a second old", k.look(t, l, func(r *lending.ReadRequest) { r.At = r.At.Add(-61 * time.Second) }), fault.ClockSkew, ""},
	} {
		_, _, err := k.discover(t, c.compact)
		if d := refusedWith(t, err, c.code, c.reason); d.Code != fault.Unauthenticated && d.Perm.IsZero() {
			t.Errorf("%s: names no permission", c.name)
		}
	}
	_, _, err := k.read(t.Context(), k.request(t, l))
	refusedWith(t, err, fault.Refused, "pattern")
	if _, _, err := k.discover(t, k.look(t, l)); err != nil {
		t.Error(err)
	}
	if _, err := k.Revoke(t.Context(), l.ID.String(), "ended", ""); err != nil {
		t.Fatal(err)
	}
	_, _, err = k.discover(t, k.look(t, l))
	if d := refusedWith(t, err, fault.Revoked, "ended"); !d.Verified || d.Receipt == "" {
		t.Errorf("no receipt: %+v", d)
	}
	rows := k.rowsOf(t, l.ID)
	granted := 0
	for _, r := range rows {
		if r == "discover granted 1" {
			granted++
		}
	}
	if granted != 1 || rows[len(rows)-1] != "discover denied revoked ended" {
		t.Errorf("rows: got %q", rows)
	}
}

// A lost answer is given again while the tags are what they were, and counts nothing.
func TestDiscoverAgain(t *testing.T) {
	k := memoryKit(t)
	for range 5 {
		k.add(t, "One.", "client:acme")
	}
	l := k.discoverable(t, 5)
	rq := k.look(t, l)
	first, r, err := k.discover(t, rq)
	if err != nil {
		t.Fatal(err)
	}
	k.add(t, "Another one.", "client:acme")
	again, r2, err := k.discover(t, rq)
	if err != nil || again.Hash() != first.Hash() || r2 != r {
		t.Errorf("got %+v %+v, %v", again, r2, err)
	}
	for range 5 {
		k.add(t, "More.", "client:acme", "week:49")
	}
	_, _, err = k.discover(t, rq)
	refusedWith(t, err, fault.Stale, "entry_left")
	_, _, err = k.discover(t, k.look(t, l, func(x *lending.ReadRequest) { x.Nonce = again.Salt }))
	if err != nil {
		t.Error(err)
	}
	wantTexts(t, "rows", k.rowsOf(t, l.ID), "issue", "discover granted 1", "replay granted 1", "replay denied stale entry_left", "discover granted 2")
}

// A revocation that commits while a discovery is under way wins.
func TestDiscoverAgainstRevoke(t *testing.T) {
	k := memoryKit(t)
	for range 5 {
		k.add(t, "One.", "client:acme")
	}
	for _, hook := range []*func(){&k.testingOnlyFound, &k.testingOnlyBeforeSend} {
		l := k.discoverable(t, 5)
		*hook = func() {
			*hook = nil
			if _, err := k.Revoke(t.Context(), l.ID.String(), "ended", ""); err != nil {
				t.Error(err)
			}
		}
		_, _, err := k.discover(t, k.look(t, l))
		refusedWith(t, err, fault.Revoked, "ended")
	}
}

// A request beyond what was discovered is shown as that.
func TestBeyondDiscovery(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	ask := func(scope string) bool {
		a := k.mustAsk(t, k.wantLoan(t, func(r *lending.LoanRequest) { r.Scope = lending.MustParse(scope) }))
		r, err := k.Request(t.Context(), a.ID.String())
		if err != nil {
			t.Fatal(err)
		}
		return r.Beyond
	}
	if ask("tag:other") {
		t.Error("nothing was discovered, and something is beyond it")
	}
	k.discoverable(t, 5)
	if !ask("tag:other") || ask("tag:client:acme tag:week:49 -tag:confidential age<90d") {
		t.Error("what is beyond is not told from what is within")
	}
}

// TestDiscoverAfterASubjectIsRevoked: what is revoked for a person raises the epoch of the
// tenant, and discoveries of its places are still answered.
func TestDiscoverAfterASubjectIsRevoked(t *testing.T) {
	k := newKit(t, selftest.Option{}, Config{DiscoverMin: 1})
	k.add(t, "One.", "client:acme")
	k.about(t, "Ada", "Unrelated.", "other")
	l := k.discoverable(t, 50)
	if _, _, err := k.discover(t, k.look(t, l)); err != nil {
		t.Fatal("before", err)
	}
	if _, err := k.RevokeSubject(t.Context(), "Ada", "data_subject"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.discover(t, k.look(t, l)); err != nil {
		t.Errorf("after: %v", err)
	}
}
