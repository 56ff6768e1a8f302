package member

import (
	"bytes"
	"testing"

	"trustnode/did"
	"trustnode/did/pins"
	"trustnode/node/self"
	"trustnode/node/store"
)

// copied is a database with all that another has.
func copied(t *testing.T, db store.DB) store.DB {
	t.Helper()
	out := store.Memory()
	var keys, vals [][]byte
	err := db.View(t.Context(), func(r store.Reader) error {
		return r.Scan(nil, nil, func(k, v []byte) bool {
			keys, vals = append(keys, bytes.Clone(k)), append(vals, bytes.Clone(v))
			return true
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range keys {
		if err := out.Update(t.Context(), func(tx store.Tx) error { return tx.Set(keys[i], vals[i]) }); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// clone starts a second node of o's organization, over a copy of what the first has.
func (o *org) clone() *org {
	o.t.Helper()
	c := &org{t: o.t, name: o.name, did: o.did, clock: o.clock, state: copied(o.t.(*testing.T), o.state), audit: copied(o.t.(*testing.T), o.audit), pins: pins.Memory(),
		keys: o.keys, update: o.update, witness: o.witness, recovery: o.recovery, stop: func() {}, reach: map[did.DID]*org{}}
	chain, _ := o.Charter()
	for k := pins.KindEntry; k <= pins.KindHead; k++ {
		for _, key := range []string{o.did.String(), o.history().SCID(), chain.Federation().String()} {
			if s, value, ok := o.pins.Highest(k, key); ok {
				if err := c.pins.Put(o.t.Context(), s, value); err != nil {
					o.t.Fatal(err)
				}
			}
		}
	}
	c.start()
	return c
}

// lose gives up what o holds of a log from a size on, as for the branch that a charter names.
func (o *org) lose(of *org, size uint64) {
	o.t.Helper()
	if err := o.events.Cut(o.t.Context(), of.did, size); err != nil {
		o.t.Fatal(err)
	}
	if err := o.node.Rec.Recheck(o.t.Context(), of.did); err != nil {
		o.t.Fatal(err)
	}
}

// TestAgentsOfALostBranchEnd: once another branch of a log is held, the agents that only the
// lost one issued can do nothing, what it revoked is back, and what the other one issues
// counts, whatever serials the lost one used.
func TestAgentsOfALostBranchEnd(t *testing.T) {
	for _, between := range []bool{true, false} {
		clock := newDial()
		acme, vendor, arbiter := federated(t, clock)
		ctx := t.Context()
		take := func(to *org, from *org, list ...self.AgentRow) {
			t.Helper()
			from.logTo(to)
			to.project()
			for _, a := range list {
				if _, err := to.TakeAgent(ctx, from.object(a.Object)); err != nil {
					t.Fatal(err)
				}
			}
		}
		desk := vendor.agent("desk", "borrow")
		take(acme, vendor, desk)
		parts := vendor.size(vendor.did)
		thief := vendor.clone()
		thief.confirmedBy(acme, arbiter)
		ghost := thief.agent("ghost", "borrow")
		thief.revoke(desk)
		first := thief.agent("quant", "borrow")
		thief.revoke(first)
		thief.project()

		false2 := thief.agent("quant", "borrow")
		take(acme, thief, ghost, first, false2)
		acme.project()
		if row, err := acme.row(ghost.Agent); err != nil || row.May("borrow", clock.Now()) != nil {
			t.Fatalf("ghost is %+v, %v", row, err)
		}
		if row, _ := acme.row(desk.Agent); !row.Revoked {
			t.Fatal("the thief's word about desk was not heard")
		}
		quant := vendor.agent("quant", "borrow")
		acme.lose(vendor, parts)
		if between {
			acme.project()
		}
		vendor.speak(int(thief.size(vendor.did) - vendor.size(vendor.did))) // as long as the lost one
		vendor.logTo(acme)
		acme.project()
		take(acme, vendor, quant)
		take(arbiter, vendor, desk, quant)
		for name, a := range map[string]self.AgentRow{"ghost": ghost, "the thief's first quant": first, "the thief's quant": false2} {
			if row, err := acme.row(a.Agent); err == nil && row.May("borrow", clock.Now()) == nil {
				t.Errorf("between %v: %s may act: %+v", between, name, row)
			}
		}
		for name, a := range map[string]self.AgentRow{"desk": desk, "quant": quant} {
			want, err := arbiter.row(a.Agent)
			if err != nil || want.May("borrow", clock.Now()) != nil {
				t.Fatalf("%s: %+v, %v", name, want, err)
			}
			if got, err := acme.row(a.Agent); err != nil || !same(got, want) {
				t.Errorf("between %v: %s is %+v, %v, where one branch was ever held %+v", between, name, got, err, want)
			}
		}
		parked, err := acme.Parked(ctx)
		if err != nil || parked[vendor.did] != 0 {
			t.Errorf("%v objects are waited for, %v", parked, err)
		}
	}
}
