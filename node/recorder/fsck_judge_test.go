package recorder_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"trustnode/attestation"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// TestAFlippedStandingIsFound: of a log with events of several standings each stored one is
// replaced by every other: judging anew names that event, and no other.
func TestAFlippedStandingIsFound(t *testing.T) {
	ctx := context.Background()
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	key, from := acme.keys[0], uint64(3)
	f := &forged{p: acme}
	f.open(t)
	for i, by := range []seedSigner{key, seeded(0x77), key, key, key} {
		d := plain(i)
		f.say(t, by, d.Type, d.Subject, d.Refs, d.Data, nil)
	}
	n := listener(t, knows(acme, beta), beta)
	gap := &recorder.Bounds{Gaps: []recorder.Gap{{From: from, To: from + 1}}}
	now := &charterOf{}
	now.Store(gap)
	n.bounds = now.bounds
	n.start(t)
	ingest(t, n, f.pack(t, key, 0, 6, 6))
	was := n.standings(t, acme.did)
	if want := "valid valid pending:unknown void:gap valid valid"; strings.Join(was, " ") != want {
		t.Fatalf("got %v, want %s", was, want)
	}
	cfg := recorder.Config{Org: beta.did, State: n.state, Events: n.events, Pins: n.pins, Ring: n.ring, Member: n.isMember, Bounds: n.bounds}
	faults := func() (out []store.Fault) {
		t.Helper()
		got, err := recorder.InspectVerdicts(ctx, cfg, func(x store.Fault) { out = append(out, x) }, nil)
		if err != nil || got.Events != 6 {
			t.Fatalf("%+v %v", got, err)
		}
		return out
	}
	flips := [][]byte{nil, {byte(attestation.Void), byte(attestation.Logged), 'k', 'e', 'y'}, {byte(attestation.Void), byte(attestation.Authored), 'g', 'a', 'p'},
		{byte(attestation.Disputed), byte(attestation.Authored), 't'}, {byte(attestation.Contested), byte(attestation.Authored), 'f'}, {byte(attestation.Pending), byte(attestation.Logged)}}
	found := 0
	for i := range uint64(6) {
		k, stored := standingRow(t, n, acme, i)
		for _, v := range flips {
			if bytes.Equal(v, stored) || len(v) > 1 && len(stored) > 1 && v[0] == stored[0] && (v[1] == stored[1]) {
				continue
			}
			put(t, n, k, v)
			list := faults()
			// A level never falls: what is stored as authored and is of an unknown key now is
			// told as undecided.
			undecided := i == 2 && (v == nil || v[1] == byte(attestation.Authored))
			if undecided != (len(list) == 0) || !undecided && (len(list) != 1 || !list[0].At || list[0].Index != i || list[0].Log != acme.did.String()) {
				t.Errorf("event %d stored as %v: %v", i, v, list)
			}
			found += len(list)
			put(t, n, k, stored)
		}
	}
	if found < 20 || len(faults()) > 0 {
		t.Errorf("%d found, and then %v", found, faults())
	}
}

// standingRow returns the key under which the standing of an event is stored, and what is
// stored: nil where it is valid.
func standingRow(t *testing.T, n *node, of *party, index uint64) (k, v []byte) {
	t.Helper()
	err := n.audit.View(context.Background(), func(r store.Reader) error {
		num, err := r.Get([]byte("lo/" + of.did.String()))
		if err != nil {
			return err
		}
		k = binary.BigEndian.AppendUint64(slices.Concat([]byte("st/"), num), index)
		if v, err = r.Get(k); err != nil {
			v = nil
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return k, v
}

// put stores a value, or nothing for nil.
func put(t *testing.T, n *node, k, v []byte) {
	t.Helper()
	err := n.audit.Update(context.Background(), func(tx store.Tx) error {
		if v == nil {
			return tx.Delete(k)
		}
		return tx.Set(k, v)
	})
	if err != nil {
		t.Fatal(err)
	}
}
