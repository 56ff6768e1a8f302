package mediation

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
)

func TestACaseMovesThroughItsStates(t *testing.T) {
	for _, tt := range []struct {
		name  string
		story func(s *tale) *tale
		want  State
		rung  string
		sits  did.DID // or whose turn it is to sit
	}{
		{"filed, the respondent has its time", func(s *tale) *tale { return s.file() }, Filed, "", did.DID{}},
		{"nothing is filed", func(s *tale) *tale { return s }, "", "", did.DID{}},
		{"denied, both may hand in more", func(s *tale) *tale { return s.file().answer("deny") }, Evidence, "", did.DID{}},
		{"denied, one side ready", func(s *tale) *tale { return s.file().ready(acme, Evidence).answer("deny") }, Evidence, "", did.DID{}},
		{"both ready before and after the answer", func(s *tale) *tale { return s.toSeat() }, Drawing, "neutral", arbiter},
		{"both ready for evidence only: seated, strikes may come", func(s *tale) *tale {
			return s.file().ready(acme, Evidence).answer("deny").ready(vendor, Evidence).wait(time.Minute).seat(arbiter, 0)
		}, Drawing, "neutral", arbiter},
		{"and once they are ready for the seat too", func(s *tale) *tale {
			return s.file().ready(acme, Evidence).answer("deny").ready(vendor, Evidence).wait(time.Minute).seat(arbiter, 0).ready(acme, Drawing).ready(vendor, Drawing)
		}, Deliberation, "neutral", arbiter},
		{"seated", func(s *tale) *tale { return s.toSeat().seat(arbiter, 0) }, Deliberation, "neutral", arbiter},
		{"ruled", func(s *tale) *tale {
			s.toSeat().seat(arbiter, 0).wait(time.Minute)
			return s.rule(arbiter, s.ruling(0))
		}, Ruled, "neutral", arbiter},
		{"recused before the seat", func(s *tale) *tale { s.toSeat().says(arbiter, "ruling.recused", nil, nil); return s }, Drawing, "neutral", second},
		{"recused from the seat", func(s *tale) *tale { s.toSeat().seat(arbiter, 0).says(arbiter, "ruling.recused", nil, nil); return s }, Drawing, "neutral", second},
		{"withdrawn before an answer", func(s *tale) *tale { s.file().says(acme, "dispute.withdrawn", nil, nil); return s }, Withdrawn, "", did.DID{}},
		{"withdrawn after the answer is nothing", func(s *tale) *tale {
			s.file().answer("deny").wait(time.Minute).says(acme, "dispute.withdrawn", nil, nil)
			return s
		}, Evidence, "", did.DID{}},
		{"everything admitted", func(s *tale) *tale { return s.file().answer("admit") }, Final, "", did.DID{}},
		{"an answer to half of the claims is nothing", func(s *tale) *tale { return s.file("R1", "S1").answer("deny") }, Filed, "", did.DID{}},
		{"one claim admitted, one denied", func(s *tale) *tale { return s.file("R1", "S1").answer("admit", "deny") }, Evidence, "", did.DID{}},
		{"a stranger answers", func(s *tale) *tale {
			s.file().says(dora, "dispute.answered", nil, Answer{Case: s.id, Claims: []Reply{{1, "admit"}}, Nonce: s.nonce()})
			return s
		}, Filed, "", did.DID{}},
		{"the claimant answers itself", func(s *tale) *tale {
			s.file().says(acme, "dispute.answered", nil, Answer{Case: s.id, Claims: []Reply{{1, "admit"}}, Nonce: s.nonce()})
			return s
		}, Filed, "", did.DID{}},
		{"an answer to another case", func(s *tale) *tale {
			s.file().says(vendor, "dispute.answered", nil, Answer{Case: loan, Claims: []Reply{{1, "admit"}}, Nonce: s.nonce()})
			return s
		}, Filed, "", did.DID{}},
		{"who is not the candidate takes no seat", func(s *tale) *tale { return s.toSeat().seat(second, 1) }, Drawing, "neutral", arbiter},
		{"the candidate at another place takes none", func(s *tale) *tale { return s.toSeat().seat(arbiter, 1) }, Drawing, "neutral", arbiter},
	} {
		s := begin(t, standard())
		c := tt.story(s).fold()
		sits := c.Mediator
		if sits.IsZero() {
			sits = c.Candidate
		}
		if c.State != tt.want || c.Rung != tt.rung || sits != tt.sits {
			t.Errorf("%s: state %q rung %q seat %s, want %q %q %s", tt.name, c.State, c.Rung, sits, tt.want, tt.rung, tt.sits)
		}
	}
}

func TestSilenceEndsEveryState(t *testing.T) {
	moment := func(c Case) time.Time { return c.Deadline.Add(Grace) }
	for _, tt := range []struct {
		name  string
		terms Terms
		story func(s *tale) *tale
		want  State
		rung  string
		sits  did.DID
	}{
		{"filed: first rung", standard(), func(s *tale) *tale { return s.file() }, Drawing, "neutral", arbiter},
		{"evidence: first rung", standard(), func(s *tale) *tale { return s.file().answer("deny") }, Drawing, "neutral", arbiter},
		{"drawing: next candidate", standard(), (*tale).toSeat, Drawing, "neutral", second},
		{"drawing, seated, no strikes: deliberation", standard(), func(s *tale) *tale {
			return s.file().answer("deny").ready(acme, Drawing).ready(vendor, Evidence).seat(arbiter, 0)
		}, Deliberation, "neutral", arbiter},
		{"deliberation: next candidate", standard(), func(s *tale) *tale { return s.toSeat().seat(arbiter, 0) }, Drawing, "neutral", second},
		{"ruled: final", standard(), func(s *tale) *tale { s.toSeat().seat(arbiter, 0); return s.rule(arbiter, s.ruling(0)) }, Final, "neutral", arbiter},
		{"final: enforced", standard(), func(s *tale) *tale { return s.file().answer("admit") }, Enforced, "", did.DID{}},
		{"the only candidate silent: nobody is left for a draw but others are", terms([]string{"neutral"}, arbiter), (*tale).toSeat, Unresolved, "neutral", did.DID{}},
	} {
		s := begin(t, tt.terms)
		c := tt.story(s).fold()
		to, at := c.Next()
		if at != moment(c) || to != tt.want {
			t.Errorf("%s: next is %s at %s, want %s at %s", tt.name, to, at, tt.want, moment(c))
		}
		if still := s.foldAt(at); still.State != c.State || still.Deadline != c.Deadline {
			t.Errorf("%s: at the deadline with its grace it is %s already", tt.name, still.State)
		}
		after := s.foldAt(at.Add(time.Second))
		sits := after.Mediator
		if sits.IsZero() {
			sits = after.Candidate
		}
		if after.State != tt.want || after.Rung != tt.rung || sits != tt.sits || !after.Since.Equal(at) {
			t.Errorf("%s: then %s rung %s seat %s since %s", tt.name, after.State, after.Rung, sits, after.Since)
		}
	}
}

func TestDefaultIsMarked(t *testing.T) {
	s := begin(t, standard()).file()
	if c := s.foldAt(s.now.Add(7*day + Grace)); c.Defaulted {
		t.Error("in default while the answer is in time")
	}
	s.wait(7*day + Grace)
	s.answer("deny") // right at the deadline with its grace: in time
	if c := s.fold(); c.State != Evidence || c.Defaulted {
		t.Errorf("state %s, default %v", c.State, c.Defaulted)
	}
	late := begin(t, standard()).file().wait(7*day + Grace + time.Second).answer("deny")
	c := late.fold()
	if c.State != Drawing || !c.Defaulted || len(c.Ignored) != 1 || !strings.Contains(c.Ignored[0].Why, "was due at 2026-12-08T10:00:00Z") {
		t.Errorf("state %s, default %v, ignored %+v", c.State, c.Defaulted, c.Ignored)
	}
	var tooLate *TooLate
	if err := c.May(vendor, "dispute.answered"); !errors.As(err, &tooLate) || !tooLate.Deadline.Equal(t0.Add(7*day)) {
		t.Errorf("got %v", err)
	}
}

// TestEverySilenceEnds is I-2: from every reachable state, with everyone silent, the case
// ends, or stays at a rung this version names and cannot fill.
func TestEverySilenceEnds(t *testing.T) {
	full := func(s *tale) []func() {
		return []func(){func() { s.file() }, func() { s.ready(acme, Drawing) }, func() { s.answer("deny") }, func() { s.ready(vendor, Drawing) }, func() { s.seat(arbiter, 0) },
			func() { s.rule(arbiter, s.ruling(0)) }}
	}
	for _, tt := range []struct {
		name  string
		terms Terms
		ends  bool // always
	}{
		{"one neutral", terms([]string{"neutral"}, arbiter), true},
		{"four neutrals", terms([]string{"neutral"}, arbiter, second, third, fourth), true},
		{"a draw after it", standard(), false},
		{"a draw nobody is left for", alone(terms([]string{"neutral", "rotating", "panel"}, arbiter)), true},
		{"a jury first", terms([]string{"jury", "neutral"}, arbiter), false},
		{"a neutral that is a party", terms([]string{"neutral"}, acme), true},
	} {
		for n := 1; n <= 6; n++ {
			s := begin(t, tt.terms)
			for _, move := range full(s)[:n] {
				move()
				s.wait(time.Minute)
			}
			c := s.foldAt(s.now.Add(140 * day))
			if !c.State.Terminal() && (tt.ends || c.Beyond == "") {
				t.Errorf("%s, after %d moves: %s for ever, beyond %q", tt.name, n, c.State, c.Beyond)
			}
			if c.State.Terminal() == (c.Beyond != "") {
				t.Errorf("%s, after %d moves: %s and beyond %q", tt.name, n, c.State, c.Beyond)
			}
		}
	}
}

// alone leaves only the parties and the arbiter in a federation.
func alone(t Terms) Terms {
	t.Members = []Member{{acme, true}, {vendor, true}, {arbiter, true}}
	return t
}

func TestThreeSkipsEndARung(t *testing.T) {
	s := begin(t, standard()).toSeat()
	c := s.foldAt(s.now.Add(3 * (day + Grace)).Add(time.Hour))
	if c.Beyond != "rung rotating" || c.State != Drawing {
		t.Errorf("after three silent candidates: %s, beyond %q", c.State, c.Beyond)
	}
	r := begin(t, standard()).toSeat()
	for _, o := range []did.DID{arbiter, second, third} {
		r.says(o, "ruling.recused", nil, nil)
		r.wait(time.Minute)
	}
	if c := r.fold(); c.Candidate != fourth || c.Place != 3 {
		t.Errorf("three recusals are no silence: candidate %s place %d", c.Candidate, c.Place)
	}
}

func TestNobodySitsWhoIsLeftOut(t *testing.T) {
	tied := standard()
	tied.Groups = map[did.DID]int{vendor: 1, arbiter: 1}
	gone := standard()
	gone.Members[2].Active = false
	for _, tt := range []struct {
		name  string
		terms Terms
		want  did.DID
	}{
		{"a party of the case", terms([]string{"neutral"}, acme, second), second},
		{"an affiliate of a party", tied, second},
		{"no longer active", gone, second},
		{"not a member", terms([]string{"neutral"}, eve, second), second},
	} {
		if c := begin(t, tt.terms).toSeat().fold(); c.Candidate != tt.want {
			t.Errorf("%s: candidate %s, want %s", tt.name, c.Candidate, tt.want)
		}
	}
}

func TestRulings(t *testing.T) {
	twice := func(s *tale, change func(*Ruling)) *tale {
		s.toSeat().seat(arbiter, 0).wait(time.Minute)
		r := s.ruling(0)
		s.rule(arbiter, r)
		change(&r)
		return s.rule(arbiter, r)
	}
	for _, tt := range []struct {
		name     string
		story    func(s *tale) *tale
		want     State
		sits     did.DID
		inForce  bool
		void     int
		severity uint64
	}{
		{"one", func(s *tale) *tale { s.toSeat().seat(arbiter, 0); return s.rule(arbiter, s.ruling(0)) }, Ruled, arbiter, true, 0, 30_000},
		{"the same body twice is one", func(s *tale) *tale { return twice(s, func(*Ruling) {}) }, Ruled, arbiter, true, 0, 30_000},
		{"two bodies by one seat are both void", func(s *tale) *tale { return twice(s, func(r *Ruling) { r.Summary = "other" }) }, Drawing, second, false, 2, 0},
		{"out of bounds is void, and the seat still owes one", func(s *tale) *tale {
			s.toSeat().seat(arbiter, 0)
			r := s.ruling(0)
			r.Claims[0].Severity = 90_000
			return s.rule(arbiter, r)
		}, Deliberation, arbiter, false, 0, 0},
		{"which it may give then", func(s *tale) *tale {
			s.toSeat().seat(arbiter, 0)
			r := s.ruling(0)
			r.Claims[0].Severity = 90_000
			s.rule(arbiter, r).wait(time.Minute)
			r.Claims[0].Severity = 50_000
			return s.rule(arbiter, r)
		}, Ruled, arbiter, true, 0, 50_000},
		{"void after one in force changes nothing", func(s *tale) *tale { return twice(s, func(r *Ruling) { r.Claims[0].Severity = 90_000 }) }, Ruled, arbiter, true, 0, 30_000},
		{"by a stranger", func(s *tale) *tale { s.toSeat().seat(arbiter, 0); return s.rule(dora, s.ruling(0)) }, Deliberation, arbiter, false, 0, 0},
		{"by a party", func(s *tale) *tale { s.toSeat().seat(arbiter, 0); return s.rule(acme, s.ruling(0)) }, Deliberation, arbiter, false, 0, 0},
		{"before the seat", func(s *tale) *tale { s.toSeat(); return s.rule(arbiter, s.ruling(0)) }, Drawing, arbiter, false, 0, 0},
		{"by a mediator that was replaced", func(s *tale) *tale {
			s.toSeat().seat(arbiter, 0)
			late := s.ruling(0)
			s.wait(10*day+Grace+time.Minute).seat(second, 1)
			return s.rule(arbiter, late)
		}, Deliberation, second, false, 0, 0},
		{"for another place", func(s *tale) *tale { s.toSeat().seat(arbiter, 0); return s.rule(arbiter, s.ruling(1)) }, Deliberation, arbiter, false, 0, 0},
		{"after it was final", func(s *tale) *tale {
			s.toSeat().seat(arbiter, 0)
			r := s.ruling(0)
			s.rule(arbiter, r).wait(5*day + Grace + time.Second)
			r.Summary = "second thoughts"
			return s.rule(arbiter, r)
		}, Final, arbiter, true, 0, 30_000},
	} {
		c := tt.story(begin(t, standard())).fold()
		sits := c.Mediator
		if sits.IsZero() {
			sits = c.Candidate
		}
		if c.State != tt.want || sits != tt.sits || (c.Decision != nil) != tt.inForce || len(c.Void) != tt.void {
			t.Errorf("%s: %s, seat %s, in force %v, void %d", tt.name, c.State, sits, c.Decision != nil, len(c.Void))
			continue
		}
		if c.Decision != nil && c.Decision.Claims[0].Severity != tt.severity {
			t.Errorf("%s: severity %d", tt.name, c.Decision.Claims[0].Severity)
		}
	}
}

func TestARulingThatOverlooksAnEventIsMarked(t *testing.T) {
	s := begin(t, standard()).toSeat().seat(arbiter, 0)
	r := s.ruling(0)
	if c := s.rule(arbiter, r).fold(); c.Decision == nil || c.Decision.Omitted {
		t.Fatalf("%+v", c.Decision)
	}
	s = begin(t, standard()).toSeat().seat(arbiter, 0)
	r = s.ruling(0)
	r.Considered.Count--
	if c := s.rule(arbiter, r).fold(); c.Decision == nil || !c.Decision.Omitted {
		t.Fatalf("%+v", c.Decision)
	}
}

func TestAdmittedIsProvenAtTheLowerEdge(t *testing.T) {
	c := begin(t, standard()).file("R1", "S2").answer("admit", "admit").fold()
	if c.State != Final || c.Decision == nil || !c.Decision.Admitted {
		t.Fatalf("%s %+v", c.State, c.Decision)
	}
	want := []Effect{
		{Event: c.Decision.Event, At: t0, Code: "R1", Perm: loan, Subject: quant, Org: vendor, Other: acme, Severity: 10_000, Acts: 3},
		{Event: c.Decision.Event, At: t0, Code: "S2", Perm: loan, Subject: quant, Org: vendor, Other: acme, Severity: 40_000, Acts: 3},
	}
	if got := c.Effects(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestEffectsWaitForTheEnd(t *testing.T) {
	s := begin(t, standard()).toSeat().seat(arbiter, 0)
	s.rule(arbiter, s.ruling(0))
	if e := s.fold().Effects(); e != nil {
		t.Errorf("before the end: %+v", e)
	}
	for _, later := range []time.Duration{5*day + Grace + time.Second, 60 * day} {
		e := s.foldAt(s.now.Add(later)).Effects()
		if len(e) != 1 || !e[0].At.Equal(s.now) || e[0].Severity != 30_000 || e[0].Org != vendor {
			t.Errorf("%s later: %+v", later, e)
		}
	}
}

func TestTimeIsItsWitnesss(t *testing.T) {
	three := alone(standard())
	for _, tt := range []struct {
		name        string
		terms       Terms
		seen        did.DID
		by          did.DID
		want        State
		unwitnessed bool
	}{
		{"seen by a member outside both", standard(), dora, acme, Filed, false},
		{"seen by nobody, and somebody could", standard(), did.DID{}, acme, "", false},
		{"seen by the other party alone", standard(), vendor, acme, "", false},
		{"seen by a stranger alone", standard(), eve, acme, "", false},
		{"nobody outside exists: its own word, and marked", alone2(), did.DID{}, acme, Filed, true},
		{"the arbiter is outside of the filing", three, arbiter, acme, Filed, false},
	} {
		s := begin(t, tt.terms)
		s.seen = tt.seen
		s.file()
		if c := s.fold(); c.State != tt.want || c.Unwitnessed != tt.unwitnessed {
			t.Errorf("%s: %q, unwitnessed %v", tt.name, c.State, c.Unwitnessed)
		}
	}
	s := begin(t, three)
	s.seen = arbiter
	s.toSeat().seat(arbiter, 0)
	if c := s.fold(); c.State != Deliberation || !c.Unwitnessed {
		t.Errorf("of three the mediator's own steps have no witness: %s, %v", c.State, c.Unwitnessed)
	}
}

// alone2 leaves only the parties.
func alone2() Terms {
	t := standard()
	t.Members = []Member{{acme, true}, {vendor, true}}
	return t
}

func TestWhoLeavesTakesNoTimeBack(t *testing.T) {
	s := begin(t, standard()).toSeat()
	before := s.fold()
	s.terms.Members[6].Active = false // dora, who saw it all
	after := s.fold()
	if before.State != after.State || !before.Deadline.Equal(after.Deadline) {
		t.Errorf("%s until %s, then %s until %s", before.State, before.Deadline, after.State, after.Deadline)
	}
}

func TestWhoMayFile(t *testing.T) {
	tied := standard()
	tied.Groups = map[did.DID]int{acme: 4, vendor: 4}
	owned := func(a, b did.DID) Terms {
		t := standard()
		t.Parties = map[envelope.ID][2]did.DID{loan: {a, b}}
		return t
	}
	other := standard()
	other.Charter.Seq++
	for _, tt := range []struct {
		name   string
		under  Terms
		by     did.DID
		change func(*Dispute)
		want   bool
	}{
		{"a member against a member", standard(), acme, nil, true},
		{"a stranger", standard(), eve, nil, false},
		{"against a stranger", standard(), acme, func(d *Dispute) { d.Against = eve }, false},
		{"against itself", standard(), acme, func(d *Dispute) { d.Against = acme }, false},
		{"within one house", tied, acme, nil, false},
		{"under another charter", other, acme, nil, false},
		{"the lender over its loan", owned(acme, vendor), acme, nil, true},
		{"the borrower over it", owned(vendor, acme), acme, nil, true},
		{"a third over somebody else's loan", owned(second, vendor), acme, nil, false},
		{"the lender against a third", owned(acme, second), acme, nil, false},
	} {
		s := begin(t, standard())
		d := s.dispute("R1")
		if tt.change != nil {
			tt.change(&d)
		}
		s.says(tt.by, "dispute.filed", nil, d)
		if c := Fold(tt.under, s.facts, s.now); (c.State == Filed) != tt.want {
			t.Errorf("%s: %q", tt.name, c.State)
		}
	}
}

func TestADisputeCopiedByAStrangerIsNotItsCase(t *testing.T) {
	s := begin(t, standard())
	s.terms.Parties = map[envelope.ID][2]did.DID{loan: {acme, vendor}}
	d := s.dispute("R1")
	s.says(second, "dispute.filed", nil, d) // in the same second, or before
	s.says(acme, "dispute.filed", nil, d)
	if c := s.fold(); c.Claimant != acme {
		t.Errorf("claimant %s", c.Claimant)
	}
}

func TestAReplayedFilingMovesNothing(t *testing.T) {
	s := begin(t, standard())
	d := s.dispute("R1")
	s.says(acme, "dispute.filed", nil, d)
	first := s.fold()
	s.wait(3*day).says(acme, "dispute.filed", nil, d)
	again := s.fold()
	if !first.Deadline.Equal(again.Deadline) || again.State != Filed || len(again.Events) != 1 || len(again.Ignored) != 1 {
		t.Errorf("deadline %s then %s, %d events, %d ignored", first.Deadline, again.Deadline, len(again.Events), len(again.Ignored))
	}
}

// TestFoldIsPure is I-1: order, repeats and copies without their body do not matter.
func TestFoldIsPure(t *testing.T) {
	s := begin(t, standard()).toSeat().seat(arbiter, 0)
	r := s.ruling(0)
	s.rule(arbiter, r).says(eve, "dispute.readied", attestation.DisputeReadied{State: "drawing"}, nil)
	r.Summary = "other"
	s.rule(arbiter, r).wait(time.Hour).seat(second, 1)
	s.wait(time.Hour).rule(second, s.ruling(1))
	want := s.fold()
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		mixed := append(shuffled(rnd, s.facts), shuffled(rnd, s.facts)[:rnd.IntN(len(s.facts))]...)
		bare := s.facts[rnd.IntN(len(s.facts))]
		bare.Body = nil
		mixed = append([]attestation.Fact{bare}, shuffled(rnd, mixed)...)
		if got := Fold(s.terms, mixed, s.now); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v\nwant %+v", got, want)
		}
	}
	if again := s.fold(); !reflect.DeepEqual(again, want) {
		t.Error("folding changed what was folded")
	}
}

// TestEventsOfOneSecondComeInAnyOrder runs a whole case in one second.
func TestEventsOfOneSecondComeInAnyOrder(t *testing.T) {
	s := begin(t, standard())
	s.file().ready(acme, Drawing).answer("deny").ready(vendor, Drawing).seat(arbiter, 0)
	s.rule(arbiter, s.ruling(0))
	if c := s.fold(); c.State != Ruled || len(c.Events) != 6 || len(c.Ignored) != 0 {
		t.Errorf("%s, %d events, ignored %+v", c.State, len(c.Events), c.Ignored)
	}
}

func TestTheFutureIsNotKnown(t *testing.T) {
	s := begin(t, standard()).file().wait(time.Hour).answer("deny")
	if c := s.foldAt(t0.Add(time.Minute)); c.State != Filed {
		t.Errorf("an hour before the answer: %s", c.State)
	}
	if c := s.foldAt(t0.Add(-time.Second)); c.State != "" {
		t.Errorf("before the filing: %s", c.State)
	}
}

func TestTooManyEventsOfOneSideAreIgnored(t *testing.T) {
	s := begin(t, standard()).file()
	f := s.says(vendor, "dispute.readied", attestation.DisputeReadied{State: "filed"}, nil)
	for i := range MaxEvents {
		g := s.says(vendor, "dispute.readied", attestation.DisputeReadied{State: "filed"}, nil)
		if i == 0 && g.Event.ID() == f.Event.ID() {
			t.Fatal("nonces repeat")
		}
	}
	c := s.wait(time.Minute).answer("deny").fold()
	if c.State != Filed || len(c.Ignored) == 0 || c.Ignored[0].Why != "too_many" {
		t.Errorf("%s, %d ignored", c.State, len(c.Ignored))
	}
}

func TestMayTellsWhyNot(t *testing.T) {
	c := begin(t, standard()).toSeat().fold()
	var notYours *NotYours
	var notNow *NotNow
	if err := c.May(dora, "ruling.seated"); !errors.As(err, &notYours) {
		t.Errorf("another's seat: %v", err)
	}
	if err := c.May(arbiter, "ruling.issued"); err == nil {
		t.Error("a ruling before the seat is allowed")
	}
	if err := c.May(acme, "dispute.withdrawn"); !errors.As(err, &notNow) {
		t.Errorf("withdrawn too late: %v", err)
	}
	if err := c.May(acme, "dispute.unheard_of"); !errors.As(err, &notNow) {
		t.Errorf("a kind nobody knows: %v", err)
	}
	if err := c.May(arbiter, "ruling.seated"); err != nil {
		t.Error(err)
	}
}
