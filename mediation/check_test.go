package mediation

import (
	"reflect"
	"strings"
	"testing"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
)

func TestCheckNamesEachFault(t *testing.T) {
	s := begin(t, standard()).file("R1", "S1").ready(acme, Drawing).answer("deny", "admit").ready(vendor, Drawing).seat(arbiter, 0)
	c := s.fold()
	good := func() Ruling {
		return Ruling{Case: s.id, Considered: c.Considered(), Outcome: "claimant", Reasons: loan, Rung: "neutral", Summary: "yes",
			Claims:   []Finding{{Acts: 3, N: 1, Result: "proven", Severity: 30_000}, {Acts: 3, N: 2, Result: "proven", Severity: 0}},
			Remedies: []Remedy{{Claim: 1, Do: "score", N: 1}}}
	}
	for _, tt := range []struct {
		name   string
		change func(*Ruling)
		reason string // "" for none
		detail string
	}{
		{"in bounds", func(*Ruling) {}, "", ""},
		{"at the lower edge", func(r *Ruling) { r.Claims[0].Severity = 10_000 }, "", ""},
		{"at the upper edge", func(r *Ruling) { r.Claims[0].Severity = 50_000 }, "", ""},
		{"a thousandth above", func(r *Ruling) { r.Claims[0].Severity = 50_001 }, "bounds", "claim 1 (R1, 3 acts) allows 10..50"},
		{"a thousandth below", func(r *Ruling) { r.Claims[0].Severity = 9_999 }, "bounds", "allows 10..50"},
		{"one act, its own band", func(r *Ruling) { r.Claims[0].Acts, r.Claims[0].Severity = 1, 30_000 }, "", ""},
		{"one act above its own band", func(r *Ruling) { r.Claims[0].Acts, r.Claims[0].Severity = 1, 30_001 }, "bounds", "1 acts"},
		{"more acts than were claimed", func(r *Ruling) { r.Claims[0].Acts = 4 }, "bounds", "has 3 acts"},
		{"proven without an act", func(r *Ruling) { r.Claims[0].Acts = 0 }, "bounds", "without an act"},
		{"not proven and yet weighed", func(r *Ruling) {
			r.Outcome, r.Claims[0].Result, r.Remedies = "partial", "not_proven", []Remedy{}
		}, "bounds", "weighs something"},
		{"partly proven", func(r *Ruling) {
			r.Outcome, r.Claims[0], r.Remedies = "partial", Finding{N: 1, Result: "refuted"}, []Remedy{}
		}, "", ""},
		{"an admitted claim not proven", func(r *Ruling) { r.Outcome, r.Claims[1] = "partial", Finding{N: 2, Result: "not_proven"} }, "bounds", "was admitted"},
		{"an admitted claim above the lower edge", func(r *Ruling) { r.Claims[1].Severity = 1_000 }, "bounds", "was admitted"},
		{"a finding is missing", func(r *Ruling) { r.Claims = r.Claims[:1] }, "claim", "1 findings for 2 claims"},
		{"a finding on another claim", func(r *Ruling) { r.Claims[1].N = 3 }, "bounds", "finding 3 stands where claim 2 is"},
		{"for the claimant with half proven", func(r *Ruling) { r.Claims[0], r.Remedies = Finding{N: 1, Result: "not_proven"}, nil }, "outcome", "1 of 2 claims proven"},
		{"for the respondent with all proven", func(r *Ruling) { r.Outcome = "respondent" }, "outcome", "2 of 2"},
		{"abusive with all proven", func(r *Ruling) { r.Outcome = "abusive" }, "outcome", "2 of 2"},
		{"another case", func(r *Ruling) { r.Case = loan }, "seat", ""},
		{"another rung", func(r *Ruling) { r.Rung = "rotating" }, "seat", ""},
		{"another place", func(r *Ruling) { r.Place = 1 }, "seat", ""},
		{"a remedy nobody asked for", func(r *Ruling) { r.Remedies[0].Do = "revoke" }, "remedy", "does not carry out"},
		{"a remedy for a claim nobody made", func(r *Ruling) { r.Remedies[0].Claim = 9 }, "remedy", "not proven"},
		{"remedies numbered from 2", func(r *Ruling) { r.Remedies[0].N = 2 }, "remedy", "numbered"},
		{"a verdict of a jury that never sat", func(r *Ruling) { r.Verdict = loan }, "verdict", "no jury sat"},
	} {
		r := good()
		tt.change(&r)
		faults := c.Check(r)
		if (len(faults) > 0) != (tt.reason != "") {
			t.Errorf("%s: %+v", tt.name, faults)
			continue
		}
		if len(faults) > 0 && (faults[0].Reason != tt.reason || !strings.Contains(faults[0].Detail, tt.detail)) {
			t.Errorf("%s: got %+v, want %s: %s", tt.name, faults, tt.reason, tt.detail)
		}
	}
	none := begin(t, standard())
	d := none.dispute("R1")
	d.Relief = []string{}
	none.says(acme, "dispute.filed", nil, d)
	r := good()
	r.Claims = r.Claims[:1]
	if f := none.fold().Check(r); len(f) == 0 || !strings.Contains(f[len(f)-1].Detail, "not asked for") {
		t.Errorf("a remedy without relief: %+v", f)
	}
}

func TestBands(t *testing.T) {
	for _, tt := range []struct {
		code string
		acts uint64
		want Band
	}{
		{"R1", 1, Band{0, 30}}, {"R1", 2, Band{10, 50}}, {"R1", 4, Band{10, 50}}, {"R1", 5, Band{30, 80}}, {"R1", 19, Band{30, 80}}, {"R1", 20, Band{60, 100}},
		{"S1", 7, Band{0, 40}}, {"S2", 7, Band{40, 100}}, {"P1", 1, Band{20, 100}}, {"T1", 1, Band{20, 80}}, {"T2", 1, Band{30, 100}}, {"C1", 1, Band{20, 100}},
		{"L1", 1, Band{30, 70}}, {"L1", 2, Band{60, 100}}, {"L2", 1, Band{30, 80}}, {"L3", 1, Band{0, 60}}, {"A1", 1, Band{0, 60}},
	} {
		if got, err := BandOf(tt.code, tt.acts); err != nil || got != tt.want {
			t.Errorf("%s with %d acts: %v, %v", tt.code, tt.acts, got, err)
		}
		if Meaning(tt.code) == "" {
			t.Errorf("%s has no words", tt.code)
		}
	}
	if _, err := BandOf("X9", 1); err == nil {
		t.Error("a code nobody knows has a band")
	}
}

// exhibits is a look-up of what a test says its items show.
type exhibits map[envelope.ID]Exhibit

func (x exhibits) look(_ did.DID, it Item) Exhibit { return x[it.ID] }

func TestWeighR1(t *testing.T) {
	id := func(s string) envelope.ID { return envelope.IDOf([]byte(s)) }
	at := func(index uint64) *Where { return &Where{Index: index, Org: acme} }
	leaf := uint64(0)
	in := func(index uint64) *Where { w := at(index); w.Row = &leaf; return w }
	s := begin(t, standard())
	d := s.dispute("R1")
	d.Claims[0].Acts = 2
	s.says(acme, "dispute.filed", nil, d)
	list := []Item{{Claims: []uint64{1}, ID: id("revocation"), Kind: "revocation", N: 1}, {Claims: []uint64{1}, ID: id("row1"), Kind: "row", N: 2, Where: in(12)},
		{Claims: []uint64{1}, ID: id("req1"), Kind: "readrequest", N: 3}, {Claims: []uint64{1}, ID: id("row2"), Kind: "row", N: 4, Where: in(14)},
		{Claims: []uint64{1}, ID: id("req2"), Kind: "readrequest", N: 5}, {Claims: []uint64{1}, ID: id("receipt"), Kind: "receipt", N: 6}}
	hand := func(by did.DID, items []Item) {
		s.says(by, "dispute.evidence", attestation.DisputeEvidence{Facts: []attestation.Facts{}}, Manifest{Items: items, Salt: s.nonce()})
	}
	hand(acme, list)
	c := s.fold()
	fresh := func() exhibits {
		return exhibits{
			id("revocation"): {Grade: Proven, Perm: loan, Place: at(10), At: t0, Org: acme},
			id("row1"):       {Grade: Proven, Perm: loan, Request: id("req1"), Refused: "revoked", Place: in(12), Org: acme},
			id("req1"):       {Grade: Proven, Perm: loan, Request: id("req1"), Borrower: quant, Org: vendor, At: t0},
			id("row2"):       {Grade: Proven, Perm: loan, Request: id("req2"), Refused: "revoked", Place: in(14), Org: acme},
			id("req2"):       {Grade: Proven, Perm: loan, Request: id("req2"), Borrower: quant, Org: vendor, At: t0},
			id("receipt"):    {Grade: Unproven},
		}
	}
	change := func(what string, f func(*Exhibit)) func(exhibits) {
		return func(x exhibits) { e := x[id(what)]; f(&e); x[id(what)] = e }
	}
	for _, tt := range []struct {
		name    string
		change  func(exhibits)
		acts    uint64
		finding string
		items   []uint64
	}{
		{"both acts", func(exhibits) {}, 2, "proven", []uint64{2, 3, 4, 5}},
		{"a row before the revocation", change("row1", func(e *Exhibit) { e.Place = in(9) }), 1, "open", []uint64{4, 5}},
		{"a row right at it", change("row1", func(e *Exhibit) { e.Place = in(10) }), 1, "open", []uint64{4, 5}},
		{"a row of another log", change("row1", func(e *Exhibit) { e.Place = &Where{Index: 12, Org: vendor} }), 1, "open", []uint64{4, 5}},
		{"a row of another loan", change("row1", func(e *Exhibit) { e.Perm = id("other") }), 1, "open", []uint64{4, 5}},
		{"a row that granted", change("row1", func(e *Exhibit) { e.Refused = "" }), 1, "open", []uint64{4, 5}},
		{"a row refused for its scope", change("row1", func(e *Exhibit) { e.Refused = "refused" }), 1, "open", []uint64{4, 5}},
		{"a row nobody outside saw", change("row1", func(e *Exhibit) { e.Grade = Attested }), 1, "open", []uint64{4, 5}},
		{"a request nobody can judge", change("req1", func(e *Exhibit) { e.Grade = Unproven }), 1, "open", []uint64{4, 5}},
		{"a request by another agent", change("req1", func(e *Exhibit) { e.Borrower = acme }), 1, "open", []uint64{4, 5}},
		{"an agent of another organization", change("req1", func(e *Exhibit) { e.Org = second }), 1, "open", []uint64{4, 5}},
		{"a request under another loan", change("req1", func(e *Exhibit) { e.Perm = id("other") }), 1, "open", []uint64{4, 5}},
		{"a request from before the end", change("req1", func(e *Exhibit) { e.At = t0.Add(-skew - 1) }), 1, "open", []uint64{4, 5}},
		{"a request within the clocks' difference", change("req1", func(e *Exhibit) { e.At = t0.Add(-skew) }), 2, "proven", []uint64{2, 3, 4, 5}},
		{"a request the lender answered", change("receipt", func(e *Exhibit) { *e = Exhibit{Grade: Attested, Request: id("req1"), Granted: true, Org: acme} }), 1, "open", []uint64{4, 5}},
		{"a receipt somebody else signed", change("receipt", func(e *Exhibit) { *e = Exhibit{Grade: Attested, Request: id("req1"), Granted: true, Org: vendor} }), 2, "proven", []uint64{2, 3, 4, 5}},
		{"a receipt of the refusal", change("receipt", func(e *Exhibit) { *e = Exhibit{Grade: Proven, Request: id("req1"), Org: acme} }), 2, "proven", []uint64{2, 3, 4, 5}},
		{"two rows for one request", change("row2", func(e *Exhibit) { e.Request = id("req1") }), 1, "open", []uint64{2, 3}},
		{"a revocation nobody can judge", change("revocation", func(e *Exhibit) { e.Grade = Attested }), 0, "open", nil},
		{"a revocation of another loan", change("revocation", func(e *Exhibit) { e.Perm = id("other") }), 0, "open", nil},
		{"a revocation in another log", change("revocation", func(e *Exhibit) { e.Place = &Where{Index: 1, Org: second} }), 0, "open", nil},
	} {
		x := fresh()
		tt.change(x)
		got := Weigh(c, x.look).Claims[0]
		if got.Acts != tt.acts || got.Finding != tt.finding || !reflect.DeepEqual(got.Items, tt.items) {
			t.Errorf("%s: got %+v, want %d acts, %s, items %v", tt.name, got, tt.acts, tt.finding, tt.items)
		}
		if got.Finding != "proven" && got.Why == "" {
			t.Errorf("%s: open without a reason", tt.name)
		}
	}
	other := s.dispute("P1")
	c.Dispute.Claims = other.Claims
	if got := Weigh(c, fresh().look).Claims[0]; got.Finding != "open" || got.Acts != 0 || got.Why == "" {
		t.Errorf("a code without a mechanical check: %+v", got)
	}
}

func TestWeighReadsOnlyWhatWasHandedIn(t *testing.T) {
	s := begin(t, standard()).file()
	m := Manifest{Items: []Item{{Claims: []uint64{1}, ID: loan, Kind: "permission", N: 1}}, Salt: s.nonce()}
	f := s.says(vendor, "dispute.evidence", attestation.DisputeEvidence{Facts: []attestation.Facts{}}, m)
	see := exhibits{loan: {Grade: Proven}}
	if r := Weigh(s.fold(), see.look); len(r.Items) != 1 || r.Items[0].By != vendor || r.Items[0].Grade != Proven {
		t.Errorf("%+v", r.Items)
	}
	f.Body = []byte(strings.Replace(string(f.Body), `"n":1`, `"n":2`, 1))
	s.facts[len(s.facts)-1] = f
	if r := Weigh(s.fold(), see.look); len(r.Items) != 0 {
		t.Errorf("a list that is not the one the event names: %+v", r.Items)
	}
	s.facts[len(s.facts)-1].Body = nil
	if r := Weigh(s.fold(), see.look); len(r.Items) != 0 || len(s.fold().Manifests) != 1 {
		t.Errorf("a list that is not held: %+v", r.Items)
	}
}
