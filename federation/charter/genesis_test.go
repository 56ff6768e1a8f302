package charter

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// outcome puts an error into one word: the step of a refusal, or its kind.
func outcome(err error) string {
	var refused *Refused
	var unsupported *Unsupported
	var parked *Parked
	var pending *Pending
	var sibling *Sibling
	switch {
	case err == nil:
		return "accepted"
	case errors.As(err, &refused):
		return string(refused.Step)
	case errors.As(err, &unsupported):
		return "unsupported"
	case errors.As(err, &parked):
		return "parked"
	case errors.As(err, &pending):
		return "pending"
	case errors.As(err, &sibling):
		return "sibling"
	case errors.Is(err, ErrHeld):
		return "held"
	}
	return err.Error()
}

var everybody = []envelope.Signer{acme, vendor, arbiter}

func TestGenesisRules(t *testing.T) {
	hard := errors.New("disk")
	for _, c := range []struct {
		name   string
		want   string
		change func(b *Body)
		by     []envelope.Signer
		world  func(k *keys)
	}{
		{name: "signed by all is accepted", want: "accepted"},
		{name: "a later charter is no genesis", want: "A2", change: func(b *Body) {
			b.Seq, b.Prev, b.Federation, b.Nonce = 1, envelope.IDOf(nil), envelope.IDOf(nil), ""
		}},

		{name: "A1 a parent named", want: "A1", change: func(b *Body) { b.Prev = envelope.IDOf(nil) }},
		{name: "A1 a federation named", want: "A1", change: func(b *Body) { b.Federation = envelope.IDOf(nil) }},
		{name: "A1 no nonce", want: "A1", change: func(b *Body) { b.Nonce = "" }},
		{name: "A1 a short nonce", want: "A1", change: func(b *Body) { b.Nonce = "AAEC" }},
		{name: "A1 a nonce with padding", want: "A1", change: func(b *Body) { b.Nonce += "==" }},
		{name: "A1 authority recovery", want: "A1", change: func(b *Body) { b.Authority = AuthorityRecovery }},
		{name: "A1 an unknown authority", want: "A1", change: func(b *Body) { b.Authority = "king" }},
		{name: "A1 a round", want: "A1", change: func(b *Body) { b.Round, b.Released = 1, []envelope.ID{envelope.IDOf(nil)} }},
		{name: "A1 released without a round", want: "A1", change: func(b *Body) { b.Released = []envelope.ID{envelope.IDOf(nil)} }},
		{name: "A1 a sibling resolved", want: "A1", change: func(b *Body) { b.Resolves = envelope.IDOf(nil) }},
		{name: "A1 no name", want: "A1", change: func(b *Body) { b.Name = "" }},
		{name: "A1 a name of 65 characters", want: "A1", change: func(b *Body) { b.Name = strings.Repeat("é", 65) }},
		{name: "a name of 64 characters", want: "accepted", change: func(b *Body) { b.Name = strings.Repeat("é", 64) }},
		{name: "A1 ext is an array", want: "A1", change: func(b *Body) { b.Ext = envelope.Raw("[]") }},
		{name: "ext may hold anything", want: "accepted", change: func(b *Body) { b.Ext = envelope.Raw(`{"note":{"any":[1,"x"]}}`) }},
		{name: "A1 life below 7 days", want: "A1", change: func(b *Body) { b.ExpiresAt = b.NotBefore.Add(7*24*time.Hour - time.Second) }},
		{name: "life of 7 days", want: "accepted", change: func(b *Body) { b.ExpiresAt = b.NotBefore.Add(7 * 24 * time.Hour) }},
		{name: "life of 400 days", want: "accepted", change: func(b *Body) { b.ExpiresAt = b.NotBefore.Add(400 * 24 * time.Hour) }},
		{name: "A1 life above 400 days", want: "A1", change: func(b *Body) { b.ExpiresAt = b.NotBefore.Add(400*24*time.Hour + time.Second) }},
		{name: "A1 threshold 0", want: "A1", change: func(b *Body) { b.Governance.Threshold = 0 }},
		{name: "A1 a recovery threshold without keys", want: "A1", change: func(b *Body) { b.Recovery.Threshold = 1 }},
		{name: "A1 recovery keys and threshold 0", want: "A1", change: func(b *Body) { b.Recovery.Keys = []Key{{"r", spare.Public()}} }},
		{name: "A1 a recovery threshold above the keys", want: "A1", change: func(b *Body) { b.Recovery.Keys, b.Recovery.Threshold = []Key{{"r", spare.Public()}}, 2 }},
		{name: "A1 a recovery delay below a day", want: "A1", change: func(b *Body) { b.Recovery.DelayS = day - 1 }},
		{name: "A1 a recovery delay above 14 days", want: "A1", change: func(b *Body) { b.Recovery.DelayS = 14*day + 1 }},
		{name: "A1 a loan of no length", want: "A1", change: func(b *Body) { b.Policy.MaxLoanTTLS = 0 }},
		{name: "A1 no reads", want: "A1", change: func(b *Body) { b.Policy.MaxReadsPerLoan = 0 }},
		{name: "A1 too many reads", want: "A1", change: func(b *Body) { b.Policy.MaxReadsPerLoan = 1_000_000_001 }},
		{name: "A1 grace above 7 days", want: "A1", change: func(b *Body) { b.Policy.OfflineGraceS = 7*day + 1 }},
		{name: "no grace", want: "accepted", change: func(b *Body) { b.Policy.OfflineGraceS = 0 }},
		{name: "A1 beacons too often", want: "A1", change: func(b *Body) { b.Policy.BeaconEveryS = 59 }},
		{name: "A1 beacons too rarely", want: "A1", change: func(b *Body) { b.Policy.BeaconEveryS, b.Policy.FreshWithinS = 3601, 9999 }},
		{name: "A1 fresh within less than two beacons", want: "A1", change: func(b *Body) { b.Policy.FreshWithinS = 599 }},
		{name: "A1 no clock skew", want: "A1", change: func(b *Body) { b.Policy.ClockSkewS = 4 }},
		{name: "A1 a clock skew above 600 s", want: "A1", change: func(b *Body) { b.Policy.ClockSkewS = 601 }},
		{name: "A1 spec from 0", want: "A1", change: func(b *Body) { b.Spec.Min = 0 }},
		{name: "A1 spec upside down", want: "A1", change: func(b *Body) { b.Spec.Min, b.Spec.Max = 2, 1 }},
		{name: "A1 a critical name twice", want: "A1", change: func(b *Body) { b.Spec.Critical = []string{"x", "x"} }},
		{name: "an unknown critical name is accepted and stops the node", want: "accepted", change: func(b *Body) { b.Spec.Critical = []string{"x"} }},

		{name: "A1 no members", want: "A1", change: func(b *Body) { b.Members = nil }},
		{name: "A1 members out of order", want: "A1", change: func(b *Body) { slices.Reverse(b.Members) }},
		{name: "A1 a member twice", want: "A1", change: func(b *Body) { b.Members = append(b.Members, b.Members[2]) }},
		{name: "A1 a member of an unsupported method", want: "A1", change: func(b *Body) { b.Members[2].DID = did.MustParse("did:zeta:x"); b.Members[2].SCID = "" }},
		{name: "A1 another scid", want: "A1", change: func(b *Body) { b.Members[0].SCID = b.Members[1].SCID }},
		{name: "A1 no scid", want: "A1", change: func(b *Body) { b.Members[0].SCID = "" }},
		{name: "A1 no DID version", want: "A1", change: func(b *Body) { b.Members[0].DIDHead = "" }},
		{name: "A1 no member name", want: "A1", change: func(b *Body) { b.Members[0].Name = "" }},
		{name: "A1 a contact of 257 bytes", want: "A1", change: func(b *Body) { b.Members[0].Contact = strings.Repeat("x", 257) }},
		{name: "no contact", want: "accepted", change: func(b *Body) { b.Members[0].Contact = "" }},
		{name: "A1 bindings_max 0", want: "A1", change: func(b *Body) { b.Members[0].BindingsMax = 0 }},
		{name: "A1 bindings_max 9", want: "A1", change: func(b *Body) { b.Members[0].BindingsMax = 9 }},
		{name: "A1 generation 0", want: "A1", change: func(b *Body) { b.Members[0].Generation = 0 }},
		{name: "A1 an unknown status", want: "A1", change: func(b *Body) { b.Members[0].Status = "Active" }},
		{name: "A1 an expelled member without cutoff", want: "A1", change: func(b *Body) { b.Members[0].Status = StatusExpelled }},
		{name: "A1 an active member with a cutoff", want: "A1", change: func(b *Body) { b.Members[0].Cutoff = cutoff() }},
		{name: "A1 a member since later", want: "A1", change: func(b *Body) { b.Members[0].SinceSeq = 1 }},
		{name: "A1 replaced_by on an active member", want: "A1", change: func(b *Body) { b.Members[0].ReplacedBy = acme.did }},
		{name: "A1 a gap that ends before it starts", want: "A1", change: func(b *Body) { b.Members[0].Gaps = []Gap{{5, 5}} }},
		{name: "A1 a kid with a space", want: "A1", change: func(b *Body) { b.Members[0].Key.Kid = "sign 1" }},

		{name: "A1 an empty ladder", want: "A1", change: func(b *Body) { b.Mediation.Ladder = nil }},
		{name: "A1 an unknown rung", want: "A1", change: func(b *Body) { b.Mediation.Ladder = []string{"neutral", "oracle"} }},
		{name: "A1 a rung twice", want: "A1", change: func(b *Body) { b.Mediation.Ladder = []string{"neutral", "rotating", "rotating"} }},
		{name: "A1 jury is not first", want: "A1", change: func(b *Body) {
			b.Mediation.Ladder, b.Mediation.Jury = []string{"neutral", "jury"}, &Jury{Mode: "rules", Size: 5}
		}},
		{name: "A1 panel is not last", want: "A1", change: func(b *Body) { b.Mediation.Ladder = []string{"neutral", "panel", "rotating"} }},
		{name: "A1 the neutral rung without neutral", want: "A1", change: func(b *Body) { b.Mediation.Neutral = nil }},
		{name: "A1 neutral without its rung", want: "A1", change: func(b *Body) { b.Mediation.Ladder = []string{"rotating"} }},
		{name: "A1 jury without its rung", want: "A1", change: func(b *Body) { b.Mediation.Jury = &Jury{Mode: "rules", Size: 5} }},
		{name: "A1 contract without its rung", want: "A1", change: func(b *Body) { b.Mediation.Contract = &Contract{} }},
		{name: "A1 the mediator as its own alternate", want: "A1", change: func(b *Body) { b.Mediation.Neutral.Alternates = []did.DID{arbiter.did} }},
		{name: "A1 a deadline below an hour", want: "A1", change: func(b *Body) { b.Mediation.VoteWithinS = hour - 1 }},
		{name: "A1 a deadline above 90 days", want: "A1", change: func(b *Body) { b.Mediation.AppealWithinS = 90*day + 1 }},
		{name: "A1 a pool that names one twice", want: "A1", change: func(b *Body) { b.Mediation.Rotating.Pool = []did.DID{acme.did, acme.did} }},
		{name: "A1 a tie to itself", want: "A1", change: func(b *Body) { b.Mediation.Rotating.Ties = []Tie{{acme.did, acme.did}} }},
		{name: "A1 a jury of two", want: "A1", change: func(b *Body) {
			b.Mediation.Ladder, b.Mediation.Jury = []string{"jury", "neutral", "rotating"}, &Jury{Mode: "rules", Size: 2}
		}},
		{name: "a jury of three", want: "accepted", change: func(b *Body) {
			b.Mediation.Ladder, b.Mediation.Jury = []string{"jury", "neutral", "rotating"}, &Jury{Mode: "bench", Size: 3}
		}},
		{name: "A1 a jury of another mode", want: "A1", change: func(b *Body) {
			b.Mediation.Ladder, b.Mediation.Jury = []string{"jury", "neutral", "rotating"}, &Jury{Mode: "Rules", Size: 3}
		}},
		{name: "a contract serves every pair", want: "accepted", change: func(b *Body) {
			b.Mediation.Ladder, b.Mediation.Neutral, b.Mediation.Contract = []string{"contract"}, nil, court()
		}},
		{name: "A1 a contract at a mixed-case address", want: "A1", change: func(b *Body) {
			b.Mediation.Ladder, b.Mediation.Neutral, b.Mediation.Contract = []string{"contract"}, nil, court()
			b.Mediation.Contract.Address = "0xA" + b.Mediation.Contract.Address[3:]
		}},
		{name: "A1 a contract without attestors", want: "A1", change: func(b *Body) {
			b.Mediation.Ladder, b.Mediation.Neutral, b.Mediation.Contract = []string{"contract"}, nil, court()
			b.Mediation.Contract.AttestorKeys = nil
		}},

		{name: "A6 one member did not sign", want: "A6", by: []envelope.Signer{acme, vendor}},
		{name: "A6 nobody signed", want: "A6", by: []envelope.Signer{}},
		{name: "A6 a stranger instead of a member", want: "A6", by: []envelope.Signer{acme, vendor, eve}},
		{name: "A6 one without a vote did not sign", want: "A6", by: []envelope.Signer{acme, vendor},
			change: func(b *Body) {
				for i := range b.Members {
					b.Members[i].Votes = b.Members[i].DID != arbiter.did
				}
				b.Recovery.Keys, b.Recovery.Threshold, b.Policy.FreshQuorum = []Key{{"r", spare.Public()}}, 1, 1
			}},
		{name: "a stranger beside all members", want: "accepted", by: []envelope.Signer{acme, vendor, arbiter, eve}},

		{name: "A7 a member that starts suspended", want: "A7", change: func(b *Body) {
			b.Members[0].Status, b.Members[0].Cutoff = StatusSuspended, cutoff()
			b.Mediation.Ladder, b.Mediation.Neutral, b.Mediation.Contract = []string{"contract"}, nil, court()
			b.Recovery.Keys, b.Recovery.Threshold, b.Policy.FreshQuorum = []Key{{"r", spare.Public()}}, 1, 1
		}},
		{name: "A7 a member that starts with gaps", want: "A7", change: func(b *Body) { b.Members[0].Gaps = []Gap{{1, 2}} }},
		{name: "A7 a member that starts with generation 2", want: "A7", change: func(b *Body) { b.Members[0].Generation = 2 }},

		{name: "A8 no majority", want: "A8", change: func(b *Body) { b.Governance.Threshold = 1 }},
		{name: "A8 all of three", want: "A8", change: func(b *Body) { b.Governance.Threshold = 3 }},
		{name: "A8 nobody votes", want: "A8", change: func(b *Body) {
			for i := range b.Members {
				b.Members[i].Votes = false
			}
		}},
		{name: "A8 two voters without a recovery key", want: "A8", change: func(b *Body) { b.Members[0].Votes, b.Policy.FreshQuorum = false, 1 }},
		{name: "two voters with a recovery key", want: "accepted", change: func(b *Body) {
			b.Members[0].Votes, b.Policy.FreshQuorum = false, 1
			b.Recovery.Keys, b.Recovery.Threshold = []Key{{"r", spare.Public()}}, 1
		}},
		{name: "A8 a quorum of nobody", want: "A8", change: func(b *Body) { b.Policy.FreshQuorum = 0 }},
		{name: "A8 a quorum of all", want: "A8", change: func(b *Body) { b.Policy.FreshQuorum = 3 }},
		{name: "A8 one key for two members", want: "A8", change: func(b *Body) { b.Members[0].Key = b.Members[1].Key }},
		{name: "A8 a member's key for recovery", want: "A8", change: func(b *Body) { b.Recovery.Keys, b.Recovery.Threshold = []Key{{"r", acme.Public()}}, 1 }},
		{name: "A8 one recovery key under two names", want: "A8", change: func(b *Body) {
			b.Recovery.Keys, b.Recovery.Threshold = []Key{{"r1", spare.Public()}, {"r2", spare.Public()}}, 2
		}},
		{name: "A8 a stranger as mediator", want: "A8", change: func(b *Body) { b.Mediation.Neutral.DID = eve.did }},
		{name: "A8 a stranger in the pool", want: "A8", change: func(b *Body) { b.Mediation.Rotating.Pool = []did.DID{eve.did} }},
		{name: "A8 a stranger as an affiliate", want: "A8", change: func(b *Body) { b.Mediation.Rotating.Ties = []Tie{{acme.did, eve.did}} }},
		{name: "A8 nobody between acme and the neutral", want: "A8", change: func(b *Body) { b.Mediation.Ladder = []string{"neutral"} }},
		{name: "A8 affiliates leave nobody", want: "A8", change: func(b *Body) { b.Mediation.Rotating.Ties = []Tie{{acme.did, vendor.did}} }},
		{name: "A8 a panel needs three outside", want: "A8", change: func(b *Body) { b.Mediation.Ladder, b.Mediation.Neutral = []string{"panel"}, nil }},
		{name: "A8 a jury alone mediates nothing", want: "A8", change: func(b *Body) {
			b.Mediation.Ladder, b.Mediation.Neutral, b.Mediation.Jury = []string{"jury"}, nil, &Jury{Mode: "rules", Size: 5}
		}},

		{name: "A9 issued past the skew", want: "A9", change: func(b *Body) { b.IssuedAt = envelope.TimeOf(t0.Add(121 * time.Second)) }},
		{name: "issued at the skew", want: "accepted", change: func(b *Body) { b.IssuedAt = envelope.TimeOf(t0.Add(120 * time.Second)) }},
		{name: "not yet in force is parked", want: "parked", change: func(b *Body) { b.NotBefore = envelope.TimeOf(t0.Add(time.Second)) }},
		{name: "expired long ago is accepted", want: "accepted", change: func(b *Body) {
			b.IssuedAt, b.NotBefore = envelope.TimeOf(t0.AddDate(-5, 0, 0)), envelope.TimeOf(t0.AddDate(-5, 0, 0))
			b.ExpiresAt = b.NotBefore.Add(defaultLife)
		}},
		{name: "unsigned and not yet in force is short, not parked", want: "A6", by: []envelope.Signer{acme},
			change: func(b *Body) { b.NotBefore = envelope.TimeOf(t0.Add(time.Second)) }},

		{name: "A10 a key that is not in the document", want: "A10", world: func(k *keys) { k.at[acme.did.String()+acme.version(1)] = nil }},
		{name: "pending on a version", want: "pending", world: func(k *keys) { delete(k.at, acme.did.String()+acme.version(1)) }},
		{name: "disk", want: "disk", world: func(k *keys) { k.at = nil; k.versions = nil; k.broken = hard }},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := world(acme, vendor, arbiter)
			if c.world != nil {
				c.world(k)
			}
			var ring Keys = k
			if k.broken != nil {
				ring = failing{k}
			}
			b := trio(t)
			if c.change != nil {
				c.change(&b)
			}
			by := everybody
			if c.by != nil {
				by = c.by
			}
			chain, _, err := Genesis(seal(t, b, by...), ring, t0)
			if got := outcome(err); got != c.want {
				t.Fatalf("got %s (%v), want %s", got, err, c.want)
			}
			if chain.IsZero() != (err != nil) {
				t.Errorf("chain of %d charters beside %v", len(chain.links), err)
			}
		})
	}
}

// failing is a Keys whose store fails.
type failing struct{ *keys }

func (f failing) At(did.DID, string) ([]did.PublicKey, error) { return nil, f.broken }

func cutoff() *Cutoff {
	return &Cutoff{DIDHead: "1-x", Log: LogHead{Root: envelope.IDOf(nil), Size: 10}, Reason: "conduct"}
}

func court() *Contract {
	return &Contract{Address: "0x" + strings.Repeat("ab", 20), CodeHash: "0x" + strings.Repeat("cd", 32), ChainID: 1,
		AttestorKeys: []Key{{"a", acme.Public()}}, AttestorThreshold: 1}
}

func TestTallyOfAGenesisNamesEverybody(t *testing.T) {
	e := seal(t, trio(t), acme, eve)
	bad := e.Signatures[0]
	bad.KeyID, bad.Sig[3] = vendor.Public().Multikey(), bad.Sig[3]^1
	_, got, err := Genesis(e.With(bad), world(acme, vendor, arbiter), t0)
	var refused *Refused
	if !errors.As(err, &refused) || !refused.Short() || !reflect.DeepEqual(refused.Tally, got) {
		t.Fatalf("%v does not carry the tally", err)
	}
	ids := func(a ...actor) []did.DID {
		var list []did.DID
		for _, one := range a {
			list = append(list, one.did)
		}
		return sortedOnce(list)
	}
	if want := (Count{Need: 3, Signed: ids(acme), Missing: ids(vendor, arbiter)}); !reflect.DeepEqual(got.Count, want) {
		t.Errorf("got %+v, want %+v", got.Count, want)
	}
	if !slices.Equal(got.Missed(), ids(vendor, arbiter)) {
		t.Errorf("missed %v", got.Missed())
	}
	reasons := map[string]string{}
	for _, i := range got.Ignored {
		reasons[i.KeyID] = i.Reason
	}
	if want := map[string]string{eve.Public().Multikey(): "under no key this charter names", vendor.Public().Multikey(): "does not verify"}; !reflect.DeepEqual(reasons, want) {
		t.Errorf("ignored %v, want %v", reasons, want)
	}
	if s := got.String(); !strings.HasPrefix(s, "1 of 3 signatures needed: signed "+acme.did.String()+"; missing ") {
		t.Errorf("says %q", s)
	}
}

// TestTheSameKeyCountsOnce is identity I-17 for charters.
func TestTheSameKeyCountsOnce(t *testing.T) {
	e := seal(t, trio(t), acme, vendor)
	again := e.Signatures[0]
	again.KeyID = "another-name"
	_, tally, err := Genesis(e.With(again), world(acme, vendor, arbiter), t0)
	if outcome(err) != "A6" || len(tally.Signed) != 2 {
		t.Errorf("%v with %d signers", err, len(tally.Signed))
	}
}

func TestDefaultThresholds(t *testing.T) {
	for n, want := range map[int]uint64{1: 1, 2: 2, 3: 2, 4: 3, 5: 4, 7: 5, 9: 7, 32: 22} {
		if got := DefaultThreshold(n); got != want {
			t.Errorf("%d voters: %d, want %d", n, got, want)
		}
	}
	for _, c := range []struct {
		n    int
		t    uint64
		want uint64
	}{{1, 1, 0}, {2, 2, 1}, {3, 2, 1}, {4, 3, 1}, {7, 5, 2}} {
		if got := DefaultPolicy(c.n, c.t).FreshQuorum; got != c.want {
			t.Errorf("%d of %d: quorum %d, want %d", c.t, c.n, got, c.want)
		}
	}
}

func TestNewRefusesWhatWouldBeRefusedLater(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"two voters without a recovery key": {Options{Name: "x", Members: []Member{acme.member(0), vendor.member(0)}, Mediation: contractOnly()}, "A8"},
		"two voters with a recovery key":    {Options{Name: "x", Members: []Member{acme.member(0), vendor.member(0)}, Mediation: contractOnly(), Recovery: []Key{{"r", spare.Public()}}}, "accepted"},
		"one voter":                         {Options{Name: "x", Members: []Member{acme.member(0)}, Recovery: []Key{{"r", spare.Public()}}}, "accepted"},
		"no name":                           {Options{Members: []Member{acme.member(0)}, Recovery: []Key{{"r", spare.Public()}}}, "A1"},
		"three and no mediator for a pair":  {Options{Name: "x", Members: []Member{acme.member(0), vendor.member(0), arbiter.member(0)}, Mediators: []did.DID{eve.did}}, "A8"},
	} {
		b, err := New(c.o, t0)
		if got := outcome(err); got != c.want {
			t.Errorf("%s: %s (%v), want %s", name, got, err, c.want)
		}
		if err == nil && fmt.Sprint(b.Sound()) != "<nil>" {
			t.Errorf("%s: %v", name, b.Sound())
		}
	}
}

func contractOnly() *Mediation {
	m := DefaultMediation()
	m.Ladder, m.Jury, m.Contract = []string{RungContract}, nil, court()
	return &m
}
