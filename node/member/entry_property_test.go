package member

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/node/fault"
	"trustnode/node/store"
)

// The invariants of an entry of the own DID log and of a witness, as section 11 of the
// identity specification numbers them, under random order, crashes and restored backups.

// copyDB is a database with everything in db: a backup.
func copyDB(t testing.TB, db store.DB) store.DB {
	t.Helper()
	rows := map[string][]byte{}
	err := db.View(t.Context(), func(r store.Reader) error {
		return r.Scan(nil, nil, func(k, v []byte) bool { rows[string(k)] = bytes.Clone(v); return true })
	})
	out := store.Memory()
	if err == nil {
		err = out.Update(t.Context(), func(tx store.Tx) error {
			for k, v := range rows {
				if err := tx.Set([]byte(k), v); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var errPower = errors.New("the power is gone")

// shaky are pins at which the power goes once: before the line is durable, or after. The
// own log pins from a goroutine of its own.
type shaky struct {
	pins.Pins
	before, after atomic.Bool
}

func (s *shaky) Put(ctx context.Context, slot pins.Slot, value string) error {
	if s.before.Swap(false) {
		return errPower
	}
	err := s.Pins.Put(ctx, slot, value)
	if err == nil && s.after.Swap(false) {
		return errPower
	}
	return err
}

// fail lets the power go at the next pin, or not.
func (s *shaky) fail(rt *rapid.T) {
	s.before.Store(rapid.IntRange(0, 4).Draw(rt, "before the pin") == 0)
	s.after.Store(rapid.IntRange(0, 4).Draw(rt, "after the pin") == 0)
}

func (s *shaky) hold() {
	s.before.Store(false)
	s.after.Store(false)
}

// backup is a copy of what a node may lose; its pins are no part of it.
type backup struct{ state, audit store.DB }

func (o *org) backup() backup { return backup{copyDB(o.t, o.state), copyDB(o.t, o.audit)} }

// restore puts a backup in place. A node does not start behind the pins of its own DID: the
// own log comes from a peer, and where none holds enough of it, nothing is put back.
func (o *org) restore(b backup, peer *org) {
	o.t.Helper()
	ctx := o.t.Context()
	if p, ok := o.pins.(*shaky); ok {
		p.hold()
	}
	state := copyDB(o.t, b.state)
	ring := keyring.New(store.NewRing(state), o.pins, o.clock.Now)
	_ = ring.Load(ctx)
	if log, err := peer.node.Ring.Log(ctx, o.did, 0); err == nil {
		_, _ = ring.Offer(ctx, o.did, log, must(peer.node.Ring.Witness(ctx, o.did)))
	}
	if _, err := ring.Head(ctx, o.did); err != nil {
		return
	}
	o.stop()
	o.state, o.audit = state, copyDB(o.t, b.audit)
	o.start()
}

// branches are entries that the holder of acme's keys could ask to be witnessed: three
// for the next number, and two after the first of them.
type branches struct {
	lines  [][]byte
	list   didwebvh.WitnessList
	longer []byte // the log with the first line of them, witnessed by the arbiter
	proofs []byte
}

func branchesOf(t *testing.T, acme, arbiter *org, at time.Time) branches {
	t.Helper()
	ctx := t.Context()
	h := acme.history()
	b := branches{list: h.Head().Parameters.Witness}
	next, after := must(nextUpdate(ctx, h, stick{Store: acme.update})), key(t, acme.update)
	for range 3 {
		b.lines = append(b.lines, must(didwebvh.Rotate(ctx, h, didwebvh.RotateRequest{Update: next, Next: after.Public(), Issuer: key(t, acme.keys).Public(), At: at})))
	}
	proof := must(didwebvh.SignWitness(ctx, must(arbiter.witnessSigner(ctx, arbiter.witness)), didwebvh.VersionID(b.lines[0]), at))
	tally := must(h.Proofs(b.lines[0], [][]byte{proof}))
	one := must(h.Extend(b.lines[0], tally.Witness, at))
	b.longer, b.proofs = one.Log(), one.Witness()
	for range 2 {
		b.lines = append(b.lines, must(didwebvh.Rotate(ctx, one, didwebvh.RotateRequest{Update: after, Next: key(t, acme.update).Public(), Issuer: key(t, acme.keys).Public(), At: at})))
	}
	return b
}

// TestI12AWitnessSignsOneEntryPerNumber: whatever entries it is asked for, in any order,
// across crashes before and after its pin, restarts and restored backups.
func TestI12AWitnessSignsOneEntryPerNumber(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := witnessedTrio(t, clock)
	b := branchesOf(t, acme, arbiter, clock.Now())
	own := must(vendor.node.Ring.Log(t.Context(), vendor.did, 0))
	log, proofs := must(acme.node.Ring.Log(t.Context(), acme.did, 0)), must(acme.node.Ring.Witness(t.Context(), acme.did))
	total := 0
	rapid.Check(t, func(rt *rapid.T) {
		ctx := t.Context()
		p := &shaky{Pins: pins.Memory()}
		v := *vendor
		v.pins, v.state, v.audit, v.stop = p, store.Memory(), store.Memory(), func() {}
		ring := keyring.New(store.NewRing(v.state), v.pins, clock.Now)
		_, err := ring.Offer(ctx, v.did, own, nil)
		if err == nil {
			_, err = ring.Offer(ctx, acme.did, log, proofs)
		}
		if err != nil {
			t.Fatal(err)
		}
		v.start()
		defer func() { v.stop() }()
		backups := []backup{v.backup()}
		signed := map[uint64]string{}
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			switch rapid.IntRange(0, 6).Draw(rt, "do") {
			case 0:
				backups = append(backups, v.backup())
			case 1:
				v.restore(rapid.SampledFrom(backups).Draw(rt, "backup"), acme)
			case 2:
				_, _ = v.node.Ring.Offer(ctx, acme.did, b.longer, b.proofs)
			default:
				line := rapid.SampledFrom(b.lines).Draw(rt, "line")
				p.fail(rt)
				proof, err := v.WitnessEntry(ctx, acme.did, line)
				p.hold()
				if errors.Is(err, errPower) {
					v.start()
				}
				if err != nil {
					continue
				}
				id := didwebvh.VersionID(line)
				if _, err := didwebvh.CheckWitnessProof(b.list, id, proof); err != nil {
					rt.Fatalf("the proof does not count: %v", err)
				}
				n := must(entryNumber(id))
				if was, ok := signed[n]; ok && was != id {
					rt.Fatalf("signed %s, and before it %s", id, was)
				}
				signed[n], total = id, total+1
			}
		}
	})
	if total == 0 {
		t.Error("nothing was ever signed")
	}
}

// TestI13OneOwnEntryPerNumberLeavesTheNode drives a node that is witnessed through rotations,
// crashes at every step, abandoned entries, restarts and restored backups: of each number
// at most one entry is shown to a witness, served or sent.
func TestI13OneOwnEntryPerNumberLeavesTheNode(t *testing.T) {
	total := 0
	rapid.Check(t, func(rt *rapid.T) {
		clock := newDial()
		acme, vendor, arbiter := witnessedTrio(t, clock)
		defer func() { acme.stop(); vendor.stop(); arbiter.stop() }()
		ctx := t.Context()
		var out outbound
		p := &shaky{Pins: acme.pins}
		acme.pins = p
		acme.tweak = func(c *Config) {
			ask := c.Endorse
			c.Endorse = func(ctx context.Context, members []did.DID, line []byte) []Endorsement {
				out.saw(line)
				return ask(ctx, members, line)
			}
		}
		again := func() {
			acme.start()
			_ = acme.Confirmed(ctx, vendor.did)
		}
		again()
		backups := []backup{acme.backup()}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			clock.turn(time.Minute)
			acme.reach = map[did.DID]*org{}
			if rapid.Bool().Draw(rt, "a witness is there") {
				acme.reach[vendor.did] = vendor
			}
			p.fail(rt)
			err := acme.anyStep(rt, &backups, vendor)
			p.hold()
			if errors.Is(err, errPower) || rapid.IntRange(0, 3).Draw(rt, "restart") == 0 {
				again()
			}
			if log, err := acme.node.Ring.Log(ctx, acme.did, 0); err == nil {
				for _, line := range bytes.Split(bytes.TrimSuffix(log, []byte("\n")), []byte("\n")) {
					out.saw(line)
				}
			}
			if out.second != "" {
				rt.Fatal(out.second)
			}
		}
		if v, err := vendor.node.Ring.Head(ctx, acme.did); err != nil || v.State != did.Held {
			rt.Fatalf("at a witness: %+v, %v", v, err)
		}
		total += len(out.left) - 2
	})
	if total == 0 {
		t.Error("no entry ever left")
	}
}

// outbound is what of the own DID log has left a node.
type outbound struct {
	mu     sync.Mutex
	left   map[string]string // versionId by number; guarded by mu
	second string            // says which number left twice; guarded by mu
}

func (o *outbound) saw(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	id := didwebvh.VersionID(line)
	n, _, _ := strings.Cut(id, "-")
	if was, ok := o.left[n]; ok && was != id {
		o.second = fmt.Sprintf("%s left the node, and before it %s", id, was)
	}
	if o.left == nil {
		o.left = map[string]string{}
	}
	o.left[n] = id
}

// anyStep does one thing that an operator, a fault or the background may do.
func (o *org) anyStep(rt *rapid.T, backups *[]backup, peer *org) error {
	ctx := o.t.Context()
	switch rapid.IntRange(0, 8).Draw(rt, "do") {
	case 0:
		return o.AbandonEntry(ctx, o.authority().Update)
	case 1:
		_, err := o.ResumeEntry(ctx, o.authority().Update, nil, 0)
		return err
	case 2:
		return o.PushEntry(ctx)
	case 3:
		*backups = append(*backups, o.backup())
		return nil
	case 4:
		o.restore(rapid.SampledFrom(*backups).Draw(rt, "backup"), peer)
		return o.Confirmed(ctx, peer.did)
	case 5: // what peers hold heals the own state
		log, err := peer.node.Ring.Log(ctx, o.did, 0)
		if err == nil {
			_, err = o.node.Ring.Offer(ctx, o.did, log, must(peer.node.Ring.Witness(ctx, o.did)))
		}
		return err
	case 6:
		if log, err := o.node.Ring.Log(ctx, o.did, 0); err == nil {
			_, _ = peer.node.Ring.Offer(ctx, o.did, log, must(o.node.Ring.Witness(ctx, o.did)))
		}
		return nil
	case 7: // it stops after a step
		row, err := o.buildNext(ctx)
		if err != nil {
			return err
		}
		if err = rapid.SampledFrom(stops(ctx)).Draw(rt, "stop").at(o, row); err != nil {
			return err
		}
		return errPower
	}
	_, err := o.Rotate(ctx, RotateInput{Authority: o.authority(), Reason: "scheduled"})
	return err
}

// buildNext builds and keeps a rotation, where nextEntry would.
func (o *org) buildNext(ctx context.Context) (entryRow, error) {
	if _, _, may := o.State(o.clock.Now()); !may.OwnLog {
		return entryRow{}, fault.New(fault.Refused, "state", "no entry is signed now")
	}
	if err := o.settleEntry(ctx); err != nil {
		return entryRow{}, err
	}
	row, err := o.build(ctx, o.authority(), stick{Store: o.update}, o.clock.Now(), func(ctx context.Context, h didwebvh.History, s signing) ([]byte, error) {
		r := must(s.request())
		r.Issuer = must(s.newKey())
		return didwebvh.Rotate(ctx, h, r)
	})
	if err != nil {
		return entryRow{}, err
	}
	row.Reason = "scheduled"
	return row, o.keepEntry(ctx, row)
}

// TestFiveRotationsWithACrashAfterEveryStep rotates five times in a row. Over the rounds
// each rotation is cut at each step; what was built is what becomes the log, every peer
// follows, and the keys of five versions count where they did.
func TestFiveRotationsWithACrashAfterEveryStep(t *testing.T) {
	all := stops(t.Context())
	var rounds [][]stop
	for k := range all {
		var round []stop
		for r := range 5 {
			round = append(round, all[(k+r)%len(all)])
		}
		rounds = append(rounds, round)
	}
	if os.Getenv("TRUSTNODE_LONG") != "" {
		rng := rand.New(rand.NewPCG(5, 7))
		for range 100 {
			var round []stop
			for range 5 {
				round = append(round, all[rng.IntN(len(all))])
			}
			rounds = append(rounds, round)
		}
	}
	for i, round := range rounds {
		for _, witnesses := range []bool{false, true} {
			t.Run(fmt.Sprintf("round %d, witnesses %v", i, witnesses), func(t *testing.T) { fiveRotations(t, round, witnesses) })
		}
	}
}

func fiveRotations(t *testing.T, round []stop, witnesses bool) {
	ctx := t.Context()
	clock := newDial()
	var acme, vendor, arbiter *org
	if witnesses {
		acme, vendor, arbiter = witnessedTrio(t, clock)
	} else {
		acme, vendor, arbiter = federated(t, clock)
		hear(acme, vendor, arbiter)
		meet(acme, vendor, arbiter)
	}
	first := acme.history().Len()
	var agents []did.DID
	for r, s := range round {
		clock.turn(time.Minute)
		agents = append(agents, acme.agent(fmt.Sprintf("before-%d", r), "lend").Agent)
		row, err := acme.buildNext(ctx)
		if err == nil {
			err = s.at(acme, row)
		}
		if err != nil {
			t.Fatalf("rotation %d, %s: %v", r, s.name, err)
		}
		acme.start()
		if err := acme.Confirmed(ctx, vendor.did); err != nil {
			t.Fatal(err)
		}
		if e, err := acme.ResumeEntry(ctx, acme.authority().Update, nil, 0); fault.Of(err) != fault.NotFound && (err != nil || !e.Active || e.Version != row.Version) {
			t.Fatalf("rotation %d, %s: %+v, %v", r, s.name, e, err)
		}
		if got := acme.history().Head(); got.ID != row.Version || !bytes.Equal(got.Line, must(row.line())) {
			t.Fatalf("rotation %d, %s: in force is %s, built was %s", r, s.name, got.ID, row.Version)
		}
		left := must(acme.update.List(ctx))
		if hash := acme.history().Head().Parameters.NextKeyHashes[0]; !slices.ContainsFunc(left, func(k did.PublicKey) bool { return didwebvh.KeyHash(k) == hash }) {
			t.Fatalf("rotation %d, %s: the key for the entry after it is gone", r, s.name)
		}
		for _, o := range []*org{vendor, arbiter} {
			acme.logTo2(o)
		}
	}
	acme.project()
	rotated := slices.DeleteFunc(acme.eventTypes(), func(s string) bool { return s != "key.rotated" })
	if n := acme.history().Len(); n != first+5 || len(rotated) != n-1 {
		t.Errorf("%d entries, %d announced", n, len(rotated))
	}
	for _, o := range []*org{acme, vendor, arbiter} {
		if h := must(o.node.Ring.History(ctx, acme.did)); h.Head().ID != acme.history().Head().ID {
			t.Errorf("%s holds %s", o.name, h.Head().ID)
		}
		if o != acme {
			o.project()
		}
		for _, a := range agents {
			if r, err := acme.row(a); err != nil || r.Index == 0 || r.Revoked {
				t.Errorf("an agent that was issued before a rotation: %+v, %v", r, err)
			}
		}
	}
	if n := vendor.size(acme.did); n != acme.size(acme.did) {
		t.Errorf("vendor holds %d events of %d", n, acme.size(acme.did))
	}
}
