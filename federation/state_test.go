package federation_test

import (
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	. "trustnode/federation"
)

var (
	headID = envelope.IDOf([]byte("charter 7"))
	oldID  = envelope.IDOf([]byte("charter 6"))
	bolt   = did.MustParse("did:web:bolt.example")
	core   = did.MustParse("did:web:core.example")
	noon   = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
)

// fresh is a node of three voters that heard the one other it needs.
func fresh() View {
	return View{
		Head: &Head{ID: headID, Seq: 7, ExpiresAt: noon.Add(time.Hour), Me: acme, Status: "active", Votes: true,
			FreshQuorum: 1, FreshWithin: 15 * time.Minute, Grace: 24 * time.Hour, Skew: 2 * time.Minute},
		Confirmed:  true,
		QuorumHeld: true,
		Beacons:    []Heard{{Org: bolt, Voter: true, Charter: headID, Age: time.Minute}},
	}
}

// with returns a fresh view with one edit.
func with(edit func(*View)) View {
	v := fresh()
	h := *v.Head
	v.Head = &h
	edit(&v)
	return v
}

func TestStates(t *testing.T) {
	status := func(s string) View { return with(func(v *View) { v.Head.Status = s }) }
	all := Allowed{LiveReads: true, NewLoans: true, OwnLoans: true, Sign: SignAny, OwnLog: true, Beacon: true}
	out := Allowed{OwnLoans: true, OwnLog: true}
	for _, c := range []struct {
		name  string
		v     View
		at    time.Time
		state State
		why   string
		allow Allowed
	}{
		{"everything is well", fresh(), noon, Fresh, "", all},
		{"a DID that was ended", View{Ended: true}, noon, Alone, WhyNoCharter, Allowed{}},
		{"no charter", View{}, noon, Alone, WhyNoCharter, Allowed{OwnLoans: true, Sign: SignGenesis, OwnLog: true}},
		{"just started", with(func(v *View) { v.Recovering = []Cause{CauseStart} }), noon, Recovering, "start", Allowed{OwnLoans: true}},
		{"restored from a backup", with(func(v *View) { v.Recovering = []Cause{CauseStart, CauseRestored} }), noon, Recovering, "restored", Allowed{}},
		{"data below the pins", with(func(v *View) { v.Recovering = []Cause{CauseBehind} }), noon, Recovering, "behind", Allowed{}},
		{"a peer shows more of ours", with(func(v *View) { v.Recovering = []Cause{CauseShown} }), noon, Recovering, "shown", Allowed{}},
		{"expelled", status("expelled"), noon, Expelled, WhyStatus, out},
		{"left", status("left"), noon, Left, WhyStatus, out},
		{"replaced", status("replaced"), noon, Replaced, WhyStatus, out},
		{"suspended", status("suspended"), noon, Suspended, WhyStatus, out},
		{"not in the charter at all", status(""), noon, Expelled, WhyNotListed, out},
		{"a status nobody knows", status("honorary"), noon, Expelled, WhyNotListed, out},
		{"a fork proof names us", with(func(v *View) { v.Accused = true }), noon, Suspended, WhyForkProof, out},
		{"a critical name is unknown", with(func(v *View) { v.Upgrade = true }), noon, UpgradeRequired, WhySpec, Allowed{OwnLoans: true, OwnLog: true, Beacon: true}},
		{"two charters for one seq", with(func(v *View) { v.Fork = WhySibling }), noon, Forked, WhySibling,
			Allowed{LiveReads: true, OwnLoans: true, Sign: SignResolution, OwnLog: true, Beacon: true}},
		{"a second before the head ends", fresh(), noon.Add(time.Hour - time.Second), Fresh, "", all},
		{"the head ended", fresh(), noon.Add(time.Hour), Expired, WhyCharter, Allowed{OwnLoans: true, Sign: SignAny, OwnLog: true, Beacon: true}},
		{"booted, nobody heard", with(func(v *View) { v.Confirmed, v.QuorumHeld, v.Beacons = false, false, nil }), noon, Unconfirmed, WhyBeacons,
			Allowed{OwnLoans: true, OwnLog: true, Beacon: true}},
		{"nobody heard for an hour", with(func(v *View) { v.Beacons, v.SinceQuorum = nil, time.Hour }), noon, Stale, WhyBeacons,
			Allowed{LiveReads: true, OwnLoans: true, Sign: SignAny, OwnLog: true, Beacon: true}},
		{"nobody heard for a day", with(func(v *View) { v.Beacons, v.SinceQuorum = nil, 24*time.Hour }), noon, Stale, WhyBeacons,
			Allowed{OwnLoans: true, Sign: SignAny, OwnLog: true, Beacon: true}},
		{"nobody heard since the start", with(func(v *View) { v.Beacons, v.QuorumHeld = nil, false }), noon, Stale, WhyBeacons,
			Allowed{OwnLoans: true, Sign: SignAny, OwnLog: true, Beacon: true}},
		{"forked and stale for a day", with(func(v *View) { v.Fork, v.Beacons, v.SinceQuorum = WhySibling, nil, 25*time.Hour }), noon, Forked, WhySibling,
			Allowed{OwnLoans: true, Sign: SignResolution, OwnLog: true, Beacon: true}},
		{"expelled and recovering", with(func(v *View) { v.Head.Status, v.Recovering = "expelled", []Cause{CauseStart} }), noon, Recovering, "start", Allowed{OwnLoans: true}},
		{"alone with a restored log", View{Recovering: []Cause{CauseRestored}}, noon, Alone, WhyNoCharter, Allowed{}},
	} {
		state, rs := StateOf(c.v, c.at)
		if state != c.state || rs[0].Why != c.why {
			t.Errorf("%s: %v because %q, want %v because %q", c.name, state, rs[0].Why, c.state, c.why)
		}
		if got := Allow(rs); got != c.allow {
			t.Errorf("%s: allowed %+v, want %+v", c.name, got, c.allow)
		}
	}
	if got := Allow(nil); got != (Allowed{}) {
		t.Errorf("no reason at all allows %+v", got)
	}
}

func TestWhichBeaconsCount(t *testing.T) {
	beacon := func(edit func(*Heard)) func(*View) {
		return func(v *View) {
			b := v.Beacons[0]
			edit(&b)
			v.Beacons = []Heard{b}
		}
	}
	for _, c := range []struct {
		name       string
		edit       func(*View)
		have, need int
	}{
		{"another voter at my head", func(*View) {}, 1, 1},
		{"my own", beacon(func(b *Heard) { b.Org = acme }), 0, 1},
		{"of a member without a vote", beacon(func(b *Heard) { b.Voter = false }), 0, 1},
		{"of another head", beacon(func(b *Heard) { b.Charter = oldID }), 0, 1},
		{"a moment before it is too old", beacon(func(b *Heard) { b.Age = 15*time.Minute - 1 }), 1, 1},
		{"too old", beacon(func(b *Heard) { b.Age = 15 * time.Minute }), 0, 1},
		{"of the future of the monotonic clock", beacon(func(b *Heard) { b.Age = -1 }), 0, 1},
		{"early by the bound", beacon(func(b *Heard) { b.Delta = 2 * time.Minute }), 1, 1},
		{"late by the bound", beacon(func(b *Heard) { b.Delta = -2 * time.Minute }), 1, 1},
		{"early by more", beacon(func(b *Heard) { b.Delta = 2*time.Minute + time.Second }), 0, 1},
		{"late by more", beacon(func(b *Heard) { b.Delta = -2*time.Minute - time.Second }), 0, 1},
		{"naming a commit above my head", beacon(func(b *Heard) { b.Ahead = true }), 0, 1},
		{"the same after a sync", beacon(func(b *Heard) { b.Ahead, b.Synced = true, true }), 1, 1},
		{"one organization twice", func(v *View) { v.Beacons = append(v.Beacons, v.Beacons[0]) }, 1, 1},
		{"two organizations", func(v *View) {
			v.Beacons = append(v.Beacons, Heard{Org: core, Voter: true, Charter: headID})
		}, 2, 1},
		{"a node without a vote needs one more", func(v *View) { v.Head.Votes = false }, 1, 2},
		{"the only voter needs nobody", func(v *View) { v.Head.FreshQuorum, v.Beacons = 0, nil }, 0, 0},
		{"no charter", func(v *View) { v.Head = nil }, 0, 0},
	} {
		v := with(c.edit)
		have, need := Quorum(v)
		if have != c.have || need != c.need {
			t.Errorf("%s: %d of %d, want %d of %d", c.name, have, need, c.have, c.need)
		}
		state, _ := StateOf(v, noon)
		if v.Head != nil && (state == Fresh) != (have >= need) {
			t.Errorf("%s: %d of %d is %v", c.name, have, need, state)
		}
	}
}

// No view that lacks anything lends: silence means refusal.
func TestOnlyFreshLends(t *testing.T) {
	edits := []func(*View){
		func(v *View) { v.Head = nil },
		func(v *View) { v.Recovering = []Cause{CauseStart} },
		func(v *View) { v.Accused = true },
		func(v *View) { v.Upgrade = true },
		func(v *View) { v.Fork = WhyLateSignature },
		func(v *View) { v.Beacons = nil },
		func(v *View) { v.Confirmed, v.Beacons = false, nil },
	}
	for set := range 1 << len(edits) {
		v := with(func(v *View) {
			for i, e := range edits {
				if set&(1<<i) != 0 {
					e(v)
				}
			}
		})
		state, rs := StateOf(v, noon)
		if (state == Fresh) != (set == 0) || Allow(rs).NewLoans != (set == 0) {
			t.Errorf("edits %07b: %v, %+v", set, state, Allow(rs))
		}
		for i := 1; i < len(rs); i++ {
			if rs[i].State < rs[i-1].State {
				t.Errorf("edits %07b: reasons out of order: %v", set, rs)
			}
		}
	}
}

func TestStateWords(t *testing.T) {
	for s, want := range map[State]string{0: "invalid", Alone: "alone", UpgradeRequired: "upgrade_required", Fresh: "fresh", 99: "invalid"} {
		if got := s.String(); got != want {
			t.Errorf("%d is %q, want %q", s, got, want)
		}
	}
}
