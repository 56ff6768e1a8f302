package trust

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
)

// day0 is the first second of the story, since 1970 UTC.
const day0 = int64(1_796_000_000)

var perm = envelope.IDOf([]byte("permission"))

// said is one event of a story: who says it, when its signer says it was, and when the
// first other organization saw it (0: nobody has).
type said struct {
	org      did.DID
	typ      attestation.Type
	data     any
	made, at int64
}

func facts(t testing.TB, list ...said) []attestation.Fact {
	t.Helper()
	key := envelopetest.Repeat(7)
	var out []attestation.Fact
	for i, s := range list {
		out = append(out, fact(t, key, i, s))
	}
	return out
}

func fact(t testing.TB, key *envelopetest.Signer, i int, s said) attestation.Fact {
	t.Helper()
	raw, err := envelope.Marshal(s.data)
	if err != nil {
		t.Fatal(err)
	}
	kid := key.Public().Multikey()
	ev := attestation.Event{At: envelope.TimeOf(time.Unix(s.made, 0)), Data: raw, Kid: kid, Nonce: fmt.Sprintf("AAAAAAAAAAAAAAAAA%04dA", i), Org: s.org,
		Refs: []envelope.ID{}, Subject: perm.String(), Type: s.typ}
	e, err := envelope.Seal(context.Background(), ev, key)
	if err != nil {
		t.Fatal(err)
	}
	v, err := envelope.Open[attestation.Event](context.Background(), e, envelopetest.Keys{s.org: {kid: key.Public()}})
	if err != nil {
		t.Fatal(err)
	}
	f := attestation.Fact{Event: v, Index: uint64(i)}
	if s.at != 0 {
		f.Witnessed = []attestation.Seen{{Org: s.org, At: envelope.TimeOf(time.Unix(day0-999, 0))}, {Org: north, At: envelope.TimeOf(time.Unix(s.at, 0))}}
	}
	return f
}

func agent(org, a did.DID) said {
	return said{org, "agent.issued", attestation.AgentIssued{Agent: a, ID: envelope.IDOf([]byte(a.String())), Name: "a", Serial: 1}, day0 - 10, day0 - 9}
}

func issued(org did.DID, change func(*attestation.LoanIssued)) said {
	d := attestation.LoanIssued{Borrower: planner, ExpiresAt: envelope.TimeOf(time.Unix(day0+narrowLoan, 0)), Hygiene: []string{}, Lender: berths, MaxReads: 5, Patterns: []string{"read"}, Permission: perm}
	if change != nil {
		change(&d)
	}
	return said{org, "loan.issued", d, day0, day0 + 1}
}

func over(org did.DID, typ attestation.Type, made, at int64) said {
	return said{org, typ, attestation.LoanEnded{Cause: "ended", Target: perm.String(), TargetKind: "permission"}, made, at}
}

func sawEnd(org did.DID, verified bool, seenAt, at int64) said {
	return said{org, "loan.end_seen", attestation.LoanEndSeen{Permission: perm, SeenAt: envelope.TimeOf(time.Unix(seenAt, 0)), Verified: verified}, seenAt, at}
}

func taken(org did.DID, at int64) said {
	return said{org, "loan.taken", attestation.LoanTaken{Permission: perm}, at, at}
}

// words lists signals as "code subject at", in order.
func words(in []Signal) []string {
	names := map[did.DID]string{planner: "planner", berths: "berths"}
	out := []string{}
	for _, s := range in {
		out = append(out, fmt.Sprintf("%s %s +%d", s.Code, names[s.Subject], s.At-day0))
	}
	slices.Sort(out)
	return out
}

// whole is a loan of 30 days that was revoked after 100 s, ended, and its end seen.
func whole() []said {
	return []said{agent(harbor, berths), agent(line, planner), issued(harbor, nil), over(harbor, "loan.revoked", day0+100, day0+101),
		over(harbor, "loan.ended", day0+102, day0+103), sawEnd(line, true, day0+110, day0+112)}
}

var wholeWords = []string{"ended planner +103", "ended_lent berths +103", "enforced berths +112", "honored planner +112", "issued berths +1", "lent_narrow berths +112",
	"revoked berths +101", "surfaced planner +112"}

func without(list []string, prefixes ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p+" ") })
	})
}

func TestWhatALoanEarns(t *testing.T) {
	stranger := did.MustParse("did:web:stranger.example")
	replace := func(i int, s said) []said {
		out := whole()
		out[i] = s
		return out
	}
	for _, tt := range []struct {
		name  string
		story []said
		want  []string
	}{
		{"a whole loan earns both sides", whole(), wholeWords},
		{"nothing is known before somebody else saw it", replace(2, said{harbor, "loan.issued", issued(harbor, nil).data, day0, 0}), []string{}},
		{"an end nobody saw is none yet", replace(4, over(harbor, "loan.ended", day0+102, 0)), without(wholeWords, "ended", "ended_lent", "honored", "lent_narrow")},
		{"an end the borrower did not verify earns nothing", replace(5, sawEnd(line, false, day0+110, day0+112)), without(wholeWords, "enforced", "honored", "lent_narrow", "surfaced")},
		{"surfacing after 900 s is late", replace(5, sawEnd(line, true, day0+110, day0+1011)),
			[]string{"ended planner +103", "ended_lent berths +103", "enforced berths +1011", "honored planner +1011", "issued berths +1", "lent_narrow berths +1011", "revoked berths +101"}},
		{"surfacing after exactly 900 s is not", replace(5, sawEnd(line, true, day0+110, day0+1010)),
			[]string{"ended planner +103", "ended_lent berths +103", "enforced berths +1010", "honored planner +1010", "issued berths +1", "lent_narrow berths +1010", "revoked berths +101", "surfaced planner +1010"}},
		{"an end foreseen long before the revocation is not surfaced", replace(5, sawEnd(line, true, day0-300, day0-299)),
			[]string{"ended planner +103", "ended_lent berths +103", "honored planner +103", "issued berths +1", "lent_narrow berths +103", "revoked berths +101"}},
		{"an end said to be seen in the future is not surfaced", replace(5, sawEnd(line, true, day0+500, day0+112)), without(wholeWords, "surfaced")},
		{"a loan with a wide scope is not narrow", replace(2, issued(harbor, func(d *attestation.LoanIssued) { d.Hygiene = []string{"H3"} })), without(wholeWords, "lent_narrow")},
		{"a loan without a pact is not narrow", replace(2, issued(harbor, func(d *attestation.LoanIssued) { d.Hygiene = []string{"H10"} })), without(wholeWords, "lent_narrow")},
		{"a loan of 31 days is not narrow", replace(2, issued(harbor, func(d *attestation.LoanIssued) { d.ExpiresAt = envelope.TimeOf(time.Unix(day0+narrowLoan+86_400, 0)) })), without(wholeWords, "lent_narrow")},
		{"a loan dated ahead is as long as it is", replace(2, said{harbor, "loan.issued", issued(harbor, func(d *attestation.LoanIssued) {
			d.ExpiresAt = envelope.TimeOf(time.Unix(day0+2*narrowLoan, 0))
		}).data, day0 + narrowLoan, day0 + 1}), without(wholeWords, "lent_narrow")},
		{"a loan without exclusion and window is loose", replace(2, issued(harbor, func(d *attestation.LoanIssued) { d.Hygiene = []string{"H1", "H2"} })),
			append(without(wholeWords, "lent_narrow"), "loose berths +1")},
		{"a million reads and one are loose", replace(2, issued(harbor, func(d *attestation.LoanIssued) { d.MaxReads = 1_000_001 })), append(slices.Clone(wholeWords), "loose berths +1")},
		{"a silent borrower costs its lender nothing, after 7 days", replace(5, taken(line, day0+50)),
			[]string{"ended planner +103", "ended_lent berths +103", "enforced berths +604903", "issued berths +1", "lent_narrow berths +604903", "revoked berths +101"}},
		{"a loan nobody took earns nothing by silence", replace(5, taken(harbor, day0+50)), without(wholeWords, "enforced", "honored", "lent_narrow", "surfaced")},
		{"a stranger's loan is no loan", []said{agent(harbor, berths), agent(line, planner), issued(stranger, nil)}, []string{}},
		{"a loan by somebody else's agent is none", []said{agent(stranger, berths), agent(line, planner), issued(harbor, nil)}, []string{}},
		{"a borrower nobody issued has no loan", []said{agent(harbor, berths), issued(harbor, nil)}, []string{}},
		{"a stranger's revocation ends nothing", replace(3, over(stranger, "loan.revoked", day0+100, day0+101)), without(wholeWords, "enforced", "revoked", "surfaced")},
		{"a stranger's loan.ended ends nothing", replace(4, over(stranger, "loan.ended", day0+102, day0+103)), without(wholeWords, "ended", "ended_lent", "honored", "lent_narrow")},
		{"the borrower cannot end its own loan", replace(4, over(line, "loan.ended", day0+102, day0+103)), without(wholeWords, "ended", "ended_lent", "honored", "lent_narrow")},
		{"a stranger did not see the borrower's end", replace(5, sawEnd(stranger, true, day0+110, day0+112)), without(wholeWords, "enforced", "honored", "lent_narrow", "surfaced")},
		{"the lender did not see it for the borrower", replace(5, sawEnd(harbor, true, day0+110, day0+112)), without(wholeWords, "enforced", "honored", "lent_narrow", "surfaced")},
	} {
		slices.Sort(tt.want)
		if got := words(Signals(facts(t, tt.story...), nil)); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// What a stranger adds about a loan changes nothing, whatever it says and whenever.
func TestAStrangersWordChangesNothing(t *testing.T) {
	stranger := did.MustParse("did:web:stranger.example")
	for _, tt := range []struct {
		name string
		more said
	}{
		{"the same loan once more", said{stranger, "loan.issued", issued(harbor, nil).data, day0 - 5, day0 - 4}},
		{"the same loan, loose", said{stranger, "loan.issued", issued(harbor, func(d *attestation.LoanIssued) { d.Hygiene = []string{"H1", "H2"} }).data, day0 - 5, day0 - 4}},
		{"an earlier revocation", over(stranger, "loan.revoked", day0+2, day0+3)},
		{"an earlier end", over(stranger, "loan.ended", day0+2, day0+3)},
		{"an end seen earlier", sawEnd(stranger, true, day0+101, day0+102)},
		{"that it took the loan", taken(stranger, day0+2)},
		{"that the borrower is its agent, later", said{stranger, "agent.issued", agent(stranger, planner).data, day0, day0 + 5}},
		{"that the lender is its agent, later", said{stranger, "agent.issued", agent(stranger, berths).data, day0, day0 + 5}},
		{"that the borrower is its agent, unseen", said{stranger, "agent.issued", agent(stranger, planner).data, day0 - 50, 0}},
		{"that the lender is its agent, before anybody", said{stranger, "agent.issued", agent(stranger, berths).data, day0 - 50, day0 - 49}},
	} {
		all := facts(t, append(whole(), tt.more)...)
		if got := words(Signals(all, nil)); !slices.Equal(got, wholeWords) {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, wholeWords)
		}
	}
}

func TestALoanThatWasRuledOnWasNotHonored(t *testing.T) {
	got := words(Signals(facts(t, whole()...), map[envelope.ID]bool{perm: true}))
	if want := without(wholeWords, "honored"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOrderAndRepeatsOfFactsChangeNoAnswer(t *testing.T) {
	all := facts(t, whole()...)
	p, at := v1(t), time.Unix(day0+1_000, 0)
	want := Score(p, Signals(all, nil), world, planner, View{}, at)
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		mixed := append(slices.Clone(all), all[r.IntN(len(all))], all[r.IntN(len(all))])
		r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		if got := Score(p, Signals(mixed, nil), world, planner, View{}, at); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d:\n got %+v\nwant %+v", seed, got, want)
		}
	}
	if want.Lending.AsBorrower.Clean != 1 || want.Lending.AsBorrower.Surfaced != 1 || want.Lending.AsBorrower.Ended != 1 {
		t.Errorf("lending %+v", want.Lending)
	}
}

func TestOrgsAreTheFirstThatWereSeen(t *testing.T) {
	a := func(org did.DID, at int64) said {
		return said{org, "agent.issued", agent(org, planner).data, day0, at}
	}
	for _, tt := range []struct {
		name  string
		story []said
		want  did.DID
	}{
		{"the only one", []said{a(line, day0)}, line},
		{"the one that was seen first, whatever the order", []said{a(harbor, day0+1), a(line, day0)}, line},
		{"one that was seen, before one that was not", []said{a(harbor, 0), a(line, day0+9)}, line},
		{"one that nobody saw, if there is no other", []said{a(line, 0)}, line},
	} {
		if got := Orgs(facts(t, tt.story...))[planner]; got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// An answer about an organization counts what its agents did, one about an agent nobody
// else's.
func TestWhoseLoansCount(t *testing.T) {
	at := day0
	fresh := did.MustParse("did:web:line.example:agents:fresh")
	w := World{Orgs: map[did.DID]did.DID{line: line, harbor: harbor, planner: line, fresh: line, berths: harbor}}
	signals := []Signal{sig(1, at, planner, line, harbor, Ended), sig(2, at, planner, line, harbor, "honored"), sig(3, at, line, line, harbor, Opened)}
	for _, tt := range []struct {
		name              string
		who               did.DID
		ended, open, conf int64
	}{
		{"the agent's own", planner, 1, 0, 10_000 / 21},
		{"its organization's agents'", line, 1, 1, 10_000 / 21},
		{"not another agent's", fresh, 0, 0, 0},
	} {
		a := Score(v1(t), signals, w, tt.who, View{}, time.Unix(at, 0))
		if a.Lending.AsBorrower.Ended != tt.ended || a.Gates.Have.Ended != tt.ended || a.Disputes.Open != tt.open || a.ConfidenceBP != tt.conf {
			t.Errorf("%s: ended %d and %d, open %d, confidence %d", tt.name, a.Lending.AsBorrower.Ended, a.Gates.Have.Ended, a.Disputes.Open, a.ConfidenceBP)
		}
	}
}

// Two claims of one ruling on one code both count.
func TestTwoClaimsOfOneRulingBothCount(t *testing.T) {
	first := sig(1, day0, planner, line, harbor, "R1")
	first.Severity, first.Acts = 30_000, 1
	second := first
	second.Part = 1
	one := Score(v1(t), []Signal{first, first}, world, planner, View{}, time.Unix(day0, 0))
	two := Score(v1(t), []Signal{first, second}, world, planner, View{}, time.Unix(day0, 0))
	if one.Dimensions.Safety.Penalty != 3_000 || two.Dimensions.Safety.Penalty != 6_000 || two.Lending.AsBorrower.ReadAfterEnd != 2 {
		t.Errorf("one %+v, two %+v, %+v", one.Dimensions.Safety, two.Dimensions.Safety, two.Lending)
	}
}
