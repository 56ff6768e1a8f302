package trust

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

var (
	line    = did.MustParse("did:web:line.example")
	harbor  = did.MustParse("did:web:harbor.example")
	north   = did.MustParse("did:web:north.example")
	planner = did.MustParse("did:web:line.example:agents:planner")
	berths  = did.MustParse("did:web:harbor.example:agents:berths")
	world   = World{Orgs: map[did.DID]did.DID{line: line, harbor: harbor, north: north, planner: line, berths: harbor}}
)

func v1(t testing.TB) Policy {
	t.Helper()
	p, err := V1()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func unix(t testing.TB, s string) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at.Unix()
}

func sig(n byte, at int64, who, org, other did.DID, c Code) Signal {
	return Signal{ID: envelope.IDOf([]byte{n}), At: at, Subject: who, Org: org, Other: other, Code: c}
}

// TestWorkedExample: an end that was surfaced, then a ruling of severity 43.333 for six reads.
func TestWorkedExample(t *testing.T) {
	ruling := sig(2, unix(t, "2026-12-23T12:00:00Z"), planner, line, harbor, "R1")
	ruling.Severity, ruling.Acts = 43_333, 6
	signals := []Signal{sig(1, unix(t, "2026-12-05T08:00:20Z"), planner, line, harbor, "surfaced"), ruling}
	a := Score(v1(t), signals, world, planner, View{}, time.Unix(unix(t, "2027-01-06T12:00:00Z"), 0))
	// Its organization has half the penalty and half the bonus; without this agent it
	// stands at 50, so the agent's base is 50.
	want := Dim{Events: 2, Milli: 47_667, Penalty: 2_333}
	if a.Dimensions.Trustworthiness != want || a.Dimensions.Safety != want {
		t.Errorf("got trustworthiness %+v, safety %+v, want %+v", a.Dimensions.Trustworthiness, a.Dimensions.Safety, want)
	}
	// 1500 · 47667 · 2 + 7000 · 50000 = 493,001,000
	if a.Composite != 493 || a.Tier != "unrated" || a.Lending.AsBorrower.ReadAfterEnd != 6 || a.ConfidenceBP != 10_000*2/22 {
		t.Errorf("got composite %d, tier %s, read_after_end %d, confidence %d", a.Composite, a.Tier, a.Lending.AsBorrower.ReadAfterEnd, a.ConfidenceBP)
	}
}

func TestPenaltyIsGoneToTheSecond(t *testing.T) {
	at := unix(t, "2026-12-23T12:00:00Z")
	ruling := sig(2, at, planner, line, harbor, "R1")
	ruling.Severity, ruling.Acts = 43_333, 6
	for _, tt := range []struct {
		name  string
		after int64
		want  int64
	}{
		{"at once the whole penalty stands", 0, 45_667},
		{"one second before the end something is left", 2_620_598, 49_999},
		{"at 2,620,599 s it is gone", 2_620_599, 50_000},
		{"and it never turns into a bonus", 90_000_000, 50_000},
	} {
		a := Score(v1(t), []Signal{ruling}, world, planner, View{}, time.Unix(at+tt.after, 0))
		if a.Dimensions.Safety.Milli != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, a.Dimensions.Safety.Milli, tt.want)
		}
	}
}

func TestRepeatedViolationsWeighMore(t *testing.T) {
	at := unix(t, "2026-12-01T00:00:00Z")
	var all []Signal
	for i := range 3 {
		s := sig(byte(i), at+int64(i)*604_800, planner, line, harbor, "P1")
		s.Severity, s.Acts = 40_000, 1
		all = append(all, s)
	}
	// 12, then 11 + 18, then 28 + 24 = 52 points: below zero shows as zero.
	a := Score(v1(t), all, world, planner, View{}, time.Unix(at+2*604_800, 0))
	if got := a.Dimensions.Trustworthiness; got.Penalty != 52_000 || got.Milli != 0 {
		t.Errorf("got %+v, want penalty 52000 and value 0", got)
	}
}

func TestBonusRules(t *testing.T) {
	at := unix(t, "2026-12-01T00:00:00Z")
	end := time.Unix(at, 0)
	for _, tt := range []struct {
		name    string
		signals []Signal
		view    View
		want    int64 // bonus of trustworthiness in milli
	}{
		{"one honored loan", []Signal{sig(1, at, planner, line, harbor, "honored")}, View{}, 300},
		{"the same event twice counts once", []Signal{sig(1, at, planner, line, harbor, "honored"), sig(1, at, planner, line, harbor, "honored")}, View{}, 300},
		{"inside one organization nothing is earned", []Signal{sig(1, at, planner, line, line, "honored")}, View{}, 0},
		{"eleven loans of a day stop at the weekly cap", repeat(11, at, planner, line, harbor), View{}, 3_000},
		{"another partner has a cap of its own", append(repeat(11, at, planner, line, harbor), sig(99, at, planner, line, north, "honored")), View{}, 3_300},
		{"praise is halved while the other side earned from this one", []Signal{sig(1, at-1, berths, harbor, line, "honored"), sig(2, at, planner, line, harbor, "honored")}, View{}, 150},
		{"a perspective halves strangers", []Signal{sig(1, at, planner, line, harbor, "honored")}, View{Org: north}, 150},
		{"a perspective counts itself full", []Signal{sig(1, at, planner, line, harbor, "honored")}, View{Org: harbor}, 300},
		{"what lies after the moment does not count", []Signal{sig(1, at+1, planner, line, harbor, "honored")}, View{}, 0},
	} {
		a := Score(v1(t), tt.signals, world, planner, tt.view, end)
		if got := a.Dimensions.Trustworthiness.Bonus; got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

func repeat(n int, at int64, who, org, other did.DID) (out []Signal) {
	for i := range n {
		out = append(out, sig(byte(10+i), at, who, org, other, "honored"))
	}
	return out
}

func TestGroupsAreOneHouse(t *testing.T) {
	w := World{Orgs: world.Orgs, Groups: map[did.DID]int{line: 1, harbor: 1}}
	at := unix(t, "2026-12-01T00:00:00Z")
	a := Score(v1(t), []Signal{sig(1, at, planner, line, harbor, "honored")}, w, planner, View{}, time.Unix(at, 0))
	if a.Dimensions.Trustworthiness.Bonus != 0 || a.Gates.Have.Orgs != 0 {
		t.Errorf("affiliates earned from each other: %+v", a.Dimensions.Trustworthiness)
	}
}

func TestANewAgentWashesNothing(t *testing.T) {
	at := unix(t, "2026-12-01T00:00:00Z")
	bad := sig(1, at, planner, line, harbor, "P1")
	bad.Severity, bad.Acts = 100_000, 1
	fresh := did.MustParse("did:web:line.example:agents:fresh")
	w := World{Orgs: map[did.DID]did.DID{line: line, planner: line, fresh: line}}
	a := Score(v1(t), []Signal{bad}, w, fresh, View{}, time.Unix(at, 0))
	// 30 points for the agent, 15 for its organization, and the new agent starts there.
	if got := a.Dimensions.Trustworthiness.Milli; got != 35_000 {
		t.Errorf("a new agent stands at %d, its organization at 35000", got)
	}
}

// TestOrderAndRepeatsChangeNothing is I-1: any order, with repeats, gives equal answers.
func TestOrderAndRepeatsChangeNothing(t *testing.T) {
	codes := []Code{"honored", "surfaced", "R1", "P1", "lent_narrow", Ended, Issued, "S2", "enforced"}
	p := v1(t)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		var all []Signal
		for i := range 40 {
			c := codes[r.IntN(len(codes))]
			s := sig(byte(i), int64(1_790_000_000+r.IntN(9_000_000)), planner, line, harbor, c)
			if r.IntN(2) == 0 {
				s.Subject, s.Org, s.Other = berths, harbor, line
			}
			s.Severity, s.Acts = int64(r.IntN(100_001)), int64(1+r.IntN(30))
			all = append(all, s)
		}
		at := time.Unix(1_800_000_000, 0)
		want := Score(p, all, world, planner, View{}, at)
		mixed := append([]Signal{}, all...)
		mixed = append(mixed, all[:10]...)
		r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		if got := Score(p, mixed, world, planner, View{}, at); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: order or repeats changed the answer:\n%+v\n%+v", seed, got, want)
		}
		if want.Composite < 0 || want.Composite > 1000 {
			t.Fatalf("seed %d: composite %d", seed, want.Composite)
		}
	}
}

// TestLeakingInStepsIsLeakingAtOnce is I-3.
func TestLeakingInStepsIsLeakingAtOnce(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		once := pools{bonus: r.Int64N(1e8), penalty: r.Int64N(1e8)}
		steps := once
		end := r.Int64N(4e7)
		once.leak(end, 5)
		for at := int64(0); at < end; at += 1 + r.Int64N(1e6) {
			steps.leak(at, 5)
		}
		steps.leak(end, 5)
		if once != steps {
			t.Fatalf("seed %d: at once %+v, in steps %+v", seed, once, steps)
		}
	}
}

func TestPolicyRefusesWeightsThatDoNotSum(t *testing.T) {
	for _, tt := range []struct{ name, old, new string }{
		{"weights of 9,999", `"trustworthiness":1500`, `"trustworthiness":1499`},
		{"an unknown dimension", `"dimension":"accuracy"`, `"dimension":"accurate"`},
		{"a member nobody knows", `"base":50000`, `"base":50000,"basis":1`},
	} {
		b := []byte(replaceFirst(string(policyV1), tt.old, tt.new))
		if _, err := ParsePolicy(b); err == nil {
			t.Errorf("%s: accepted", tt.name)
		}
	}
}

func replaceFirst(s, old, new string) string {
	for i := 0; i+len(old) <= len(s); i++ {
		if s[i:i+len(old)] == old {
			return s[:i] + new + s[i+len(old):]
		}
	}
	return s
}

func BenchmarkFold360000(b *testing.B) {
	var all []Signal
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 360_000 {
		id := envelope.IDOf([]byte{byte(i), byte(i >> 8), byte(i >> 16)})
		all = append(all, Signal{ID: id, At: 1_790_000_000 + r.Int64N(2_600_000), Subject: planner, Org: line, Other: harbor, Code: "honored"})
	}
	p := v1(b)
	for b.Loop() {
		Score(p, all, world, planner, View{}, time.Unix(1_793_000_000, 0))
	}
}

func TestIDsAreOrderedAsTheirTexts(t *testing.T) {
	ids := []envelope.ID{{}}
	for i := range 300 {
		ids = append(ids, envelope.IDOf([]byte{byte(i), byte(i >> 8)}))
	}
	for _, edge := range []byte{0, 1, 0x7f, 0x80, 0xff} {
		var sum [32]byte
		for i := range sum {
			sum[i] = edge
		}
		sum[31]++
		ids = append(ids, envelope.IDFromSum(sum))
	}
	for _, a := range ids {
		for _, b := range ids {
			if got, want := compareIDs(a, b), strings.Compare(a.String(), b.String()); got != want {
				t.Fatalf("%s and %s: got %d, want %d", a, b, got, want)
			}
		}
	}
}
