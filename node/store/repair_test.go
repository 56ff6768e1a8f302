package store_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

// copyOf is another database with the same rows.
func copyOf(t testing.TB, db store.DB) store.DB {
	to := store.Memory()
	t.Cleanup(func() { to.Close() })
	keys, values := pairs(t, db)
	for _, k := range keys {
		set(t, to, k, values[k])
	}
	return to
}

// from is a peer that has a log whole, behind liars; asked counts what it was asked for.
func from(t testing.TB, db store.DB, liars int, asked *int) store.Refetch {
	e := open(t, db)
	return func(ctx context.Context, d did.DID, from, to uint64, fits func([]attestation.Entry) bool) error {
		*asked++
		var list, lie []attestation.Entry
		l, err := e.Log(ctx, d)
		if err == nil {
			err = l.Entries(ctx, from, to, func(_ uint64, en attestation.Entry) error {
				list = append(list, en)
				bad := bytes.Clone(en)
				bad[len(bad)-1] ^= 1
				lie = append(lie, bad)
				return nil
			})
		}
		for range liars {
			if fits(lie) || fits(lie[:len(lie)/2]) {
				return nil
			}
		}
		if err == nil && !fits(list) {
			err = errors.New("nothing fits")
		}
		return err
	}
}

func headOf(t testing.TB, e *store.Events, d did.DID) attestation.Head {
	t.Helper()
	l, err := e.Log(context.Background(), d)
	if errors.Is(err, attestation.ErrNotFound) {
		return attestation.Head{Root: envelope.IDOf(nil)}
	}
	if err != nil {
		t.Fatal(err)
	}
	h, _ := l.Head()
	return h
}

// TestAnyDamageToEntriesAndTreeIsRepaired: whatever entries, tiles and edge of a log are
// flipped, cut or deleted, a repair with a peer that has the log, behind others that lie,
// leaves the database byte for byte what it was.
func TestAnyDamageToEntriesAndTreeIsRepaired(t *testing.T) {
	whole := store.Memory()
	defer whole.Close()
	fill(t, whole)
	keys, values := pairs(t, whole)
	var places []string
	for _, k := range keys {
		if strings.HasPrefix(k, "en/\x00\x00\x00\x01") || strings.HasPrefix(k, "ti/\x00\x00\x00\x01") || k == "he/\x00\x00\x00\x01" {
			places = append(places, k)
		}
	}
	rounds := uint64(60)
	if os.Getenv("TRUSTNODE_LONG") != "" {
		rounds = 2000
	}
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(seed, 5))
		db := copyOf(t, whole)
		e := open(t, db)
		for range 1 + rng.IntN(5) {
			k := places[rng.IntN(len(places))]
			if rng.IntN(3) == 0 { // tiles are few, and hold as much
				k = "ti/\x00\x00\x00\x01\x00" + string(binary.BigEndian.AppendUint64(nil, rng.Uint64N(3)))
			}
			v := bytes.Clone(values[k])
			switch n := rng.IntN(len(v)); rng.IntN(4) {
			case 0:
				v = nil
			case 1:
				v = v[:n]
			default:
				v[n] ^= 1 << rng.IntN(8)
			}
			set(t, db, k, v)
		}
		asked := 0
		if _, err := e.Repair(context.Background(), org, headOf(t, e, org), from(t, whole, rng.IntN(2), &asked)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if _, got := pairs(t, db); !reflect.DeepEqual(got, values) {
			t.Fatalf("seed %d: it is not what it was: %q", seed, inspect(t, db))
		}
	}
}

// TestWhatARepairNeedsNobodyFor: where entries alone give the root no peer is asked; where
// nobody has what is lost, the index is named and nothing is written.
func TestWhatARepairNeedsNobodyFor(t *testing.T) {
	whole := store.Memory()
	defer whole.Close()
	fill(t, whole)
	_, values := pairs(t, whole)
	asked := 0
	nobody := func(context.Context, did.DID, uint64, uint64, func([]attestation.Entry) bool) error {
		asked++
		return errors.New("nobody")
	}
	db := copyOf(t, whole)
	e := open(t, db)
	set(t, db, "ti/\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01", nil)
	done, err := e.Repair(context.Background(), org, headOf(t, e, org), nobody)
	if want := (store.Repaired{Org: org, Tiles: 1}); err != nil || asked != 0 || !reflect.DeepEqual(done, want) {
		t.Errorf("%+v, %d asked: %v", done, asked, err)
	}
	if done, err := e.Repair(context.Background(), org, headOf(t, e, org), nobody); err != nil || !reflect.DeepEqual(done, store.Repaired{Org: org}) {
		t.Errorf("what is sound: %+v (%v)", done, err)
	}
	another := headOf(t, e, org)
	another.Root = envelope.IDOf([]byte("another"))
	if done, err := e.Repair(context.Background(), org, another, nobody); !errors.Is(err, store.ErrCorrupt) || !reflect.DeepEqual(done, store.Repaired{}) {
		t.Errorf("a log that fits itself and not what was signed: %+v (%v)", done, err)
	}
	k := "en/\x00\x00\x00\x01" + string(binary.BigEndian.AppendUint64(nil, 300))
	v := bytes.Clone(values[k])
	v[70] ^= 1
	set(t, db, k, v)
	_, before := pairs(t, db)
	var at *store.Misfit
	if _, err := e.Repair(context.Background(), org, headOf(t, e, org), nobody); !errors.As(err, &at) || !errors.Is(err, store.ErrCorrupt) || at.Index != 300 || asked != 1 {
		t.Errorf("%v, %d asked", err, asked)
	}
	if _, after := pairs(t, db); !reflect.DeepEqual(before, after) {
		t.Error("something was written")
	}
	// A peer that has another log is of no use, and above the signed root nobody is.
	other := store.Memory()
	defer other.Close()
	fo := filler{t, open(t, other)}
	fo.log(org, 77, int(headOf(t, e, org).Size))
	if _, err := e.Repair(context.Background(), org, headOf(t, e, org), from(t, other, 1, &asked)); !errors.As(err, &at) {
		t.Errorf("%v", err)
	}
	short := headOf(t, e, org)
	short.Size = 200
	if _, err := e.Repair(context.Background(), org, short, from(t, whole, 0, &asked)); !errors.As(err, &at) || at.Index != 300 {
		t.Errorf("%v", err)
	}
	if got := fmt.Sprint(inspect(t, db)); !strings.Contains(got, "/300: the entry does not hash") {
		t.Error(got)
	}
}

// TestARepairTakesNothingBack: what is learnt of a log while peers are asked stays known.
func TestARepairTakesNothingBack(t *testing.T) {
	ctx := context.Background()
	db := store.Memory()
	defer db.Close()
	e := open(t, db)
	f := filler{t, e}
	f.log(org, 1, 300)
	f.must(e.Settle(ctx, org, store.Settled{Upto: 200}))
	whole := copyOf(t, db)
	set(t, db, "en/\x00\x00\x00\x01"+string(binary.BigEndian.AppendUint64(nil, 10)), nil)
	set(t, db, "he/\x00\x00\x00\x01", nil)
	asked := 0
	peer := from(t, whole, 0, &asked)
	done, err := e.Repair(ctx, org, headOf(t, e, org), func(ctx context.Context, d did.DID, a, b uint64, fits func([]attestation.Entry) bool) error {
		f.must(e.Settle(ctx, org, store.Settled{Upto: 300}))
		return peer(ctx, d, a, b, fits)
	})
	if err != nil || !done.Head || asked != 1 {
		t.Fatalf("%+v, %d asked: %v", done, asked, err)
	}
	if got := e.Judged(org); got != 300 {
		t.Errorf("it is judged up to %d", got)
	}
}
