// Package keyringtest is the suite every keyring.Store must pass: absent
// records, compare-and-set, order, copies, concurrency. It speaks to the
// interface alone and knows no implementation.
package keyringtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/keyring"
)

// Run runs the suite. open answers an empty store for each test.
func Run(t *testing.T, open func(t *testing.T) keyring.Store) {
	for name, test := range map[string]func(*testing.T, keyring.Store){
		"a record that was never written is absent":             absent,
		"a record comes back as it was written":                 roundTrip,
		"a change from another version is a conflict":           conflicts,
		"of many changes from one version exactly one succeeds": race,
		"records are listed in order, page by page":             pages,
		"what is handed out is a copy":                          copies,
		"a cancelled context writes nothing":                    cancelled,
		"the largest record comes back, grown or replaced":      large,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func subject(n int) did.DID { return did.MustParse(fmt.Sprintf("did:example:%04d", n)) }

func record(n, version int) keyring.Record {
	return keyring.Record{
		Version: keyring.Version{
			DID: subject(n), Number: version, ID: fmt.Sprintf("%d-x", version), State: did.Held,
			VerifiedAt: time.Date(2026, 12, 1, 10, 0, version, 0, time.UTC),
		},
		Log: bytes.Repeat([]byte("line\n"), version),
	}
}

func absent(t *testing.T, s keyring.Store) {
	if _, err := s.Load(t.Context(), subject(1)); !errors.Is(err, keyring.ErrAbsent) {
		t.Fatalf("got %v, want ErrAbsent", err)
	}
	got, err := s.List(t.Context(), did.DID{}, 10)
	if err != nil || len(got) != 0 {
		t.Fatalf("got %v, %v, want nothing", got, err)
	}
}

func roundTrip(t *testing.T, s keyring.Store) {
	want := record(1, 3)
	want.Witness = []byte("[]")
	want.Version.State = did.Frozen
	want.Branches = []keyring.Branch{
		{Parent: 2, Lines: []byte("other\n"), Witness: []byte("[1]")},
		{Parent: 1, Lines: []byte("lost\n"), Decided: "zQmCharter"},
	}
	must(t, s.Advance(t.Context(), keyring.Version{}, want))
	got, err := s.Load(t.Context(), subject(1))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
	web := record(3, 2)
	web.Log = nil
	at := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	web.Web = []keyring.Snapshot{
		{Number: 1, Bytes: []byte("{}"), ApprovedBy: "join", FetchedAt: at, SPKI: "ab12"},
		{Number: 2, Bytes: []byte("{ }"), FetchedAt: at.Add(time.Hour)},
	}
	web.Offered = []keyring.Snapshot{{Bytes: []byte("[]"), FetchedAt: at}}
	must(t, s.Advance(t.Context(), keyring.Version{}, web))
	got, err = s.Load(t.Context(), subject(3))
	if err != nil || !reflect.DeepEqual(got, web) {
		t.Fatalf("got %+v, %v, want %+v", got, err, web)
	}
	plain := record(2, 1)
	must(t, s.Advance(t.Context(), keyring.Version{}, plain))
	got, err = s.Load(t.Context(), subject(2))
	if err != nil || !reflect.DeepEqual(got, plain) {
		t.Fatalf("got %+v, %v, want %+v", got, err, plain)
	}
}

func conflicts(t *testing.T, s keyring.Store) {
	one, two := record(1, 1), record(1, 2)
	must(t, s.Advance(t.Context(), keyring.Version{}, one))
	frozen := one.Version
	frozen.State = did.Frozen
	for name, from := range map[string]keyring.Version{
		"none": {}, "a later one": two.Version, "another state": frozen, "another DID": record(2, 1).Version,
	} {
		if err := s.Advance(t.Context(), from, two); !errors.Is(err, keyring.ErrConflict) {
			t.Errorf("from %s: got %v, want ErrConflict", name, err)
		}
	}
	if err := s.Advance(t.Context(), one.Version, record(3, 1)); !errors.Is(err, keyring.ErrConflict) {
		t.Errorf("a DID without a record, from some version: got %v, want ErrConflict", err)
	}
	from := one.Version
	from.VerifiedAt = from.VerifiedAt.Add(time.Hour) // the time is no part of where a record stands
	must(t, s.Advance(t.Context(), from, two))
	got, err := s.Load(t.Context(), subject(1))
	if err != nil || !reflect.DeepEqual(got, two) {
		t.Fatalf("got %+v, %v, want %+v", got, err, two)
	}
}

func race(t *testing.T, s keyring.Store) {
	one := record(1, 1)
	must(t, s.Advance(t.Context(), keyring.Version{}, one))
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() {
			next := record(1, 2)
			next.Version.ID = fmt.Sprintf("2-%d", i)
			errs[i] = s.Advance(t.Context(), one.Version, next)
		})
	}
	wg.Wait()
	got, err := s.Load(t.Context(), subject(1))
	must(t, err)
	won := 0
	for i, err := range errs {
		switch {
		case err == nil:
			won++
			if want := fmt.Sprintf("2-%d", i); got.Version.ID != want {
				t.Errorf("got %s, want the winner %s", got.Version.ID, want)
			}
		case !errors.Is(err, keyring.ErrConflict):
			t.Errorf("got %v, want ErrConflict", err)
		}
	}
	if won != 1 {
		t.Fatalf("%d of %d changes succeeded, want 1", won, len(errs))
	}
}

func pages(t *testing.T, s keyring.Store) {
	const n = 7
	for _, i := range []int{5, 1, 7, 3, 2, 6, 4} {
		must(t, s.Advance(t.Context(), keyring.Version{}, record(i, 1)))
	}
	var seen []did.DID
	var after did.DID
	for {
		page, err := s.List(t.Context(), after, 3)
		must(t, err)
		for _, r := range page {
			if !reflect.DeepEqual(r.Log, record(1, 1).Log) {
				t.Errorf("%s is listed with log %q", r.Version.DID, r.Log)
			}
			seen = append(seen, r.Version.DID)
		}
		if len(page) == 0 {
			break
		}
		after = page[len(page)-1].Version.DID
	}
	var want []did.DID
	for i := 1; i <= n; i++ {
		want = append(want, subject(i))
	}
	if !reflect.DeepEqual(seen, want) {
		t.Fatalf("got %v, want %v", seen, want)
	}
}

func copies(t *testing.T, s keyring.Store) {
	whole := func() keyring.Record {
		r := record(1, 1)
		r.Branches = []keyring.Branch{{Lines: []byte("other\n")}}
		r.Web = []keyring.Snapshot{{Number: 1, Bytes: []byte("{}"), FetchedAt: time.Unix(5, 0).UTC()}}
		return r
	}
	given := whole()
	must(t, s.Advance(t.Context(), keyring.Version{}, given))
	given.Log[0] ^= 1
	given.Branches[0].Lines[0] ^= 1
	given.Web[0].Bytes[0] ^= 1
	got, err := s.Load(t.Context(), subject(1))
	must(t, err)
	got.Log[1] ^= 1
	got.Branches[0].Lines[1] ^= 1
	got.Web[0].Bytes[1] ^= 1
	listed, err := s.List(t.Context(), did.DID{}, 1)
	must(t, err)
	if !reflect.DeepEqual(listed, []keyring.Record{whole()}) {
		t.Fatalf("got %+v, want the record as it was written", listed)
	}
}

// large holds what may be kept of one DID at most: a log of 8 MiB, a witness file of 1 MiB and branches of 16 MiB.
func large(t *testing.T, s keyring.Store) {
	log := make([]byte, 8<<20)
	for i := range log {
		log[i] = byte(i>>20) ^ byte(i*7) ^ byte(i>>9)
	}
	prev := keyring.Version{}
	for n, size := range []int{100, 3 << 20, 8 << 20, 8 << 20, 100} {
		r := record(1, n+1)
		r.Log = bytes.Clone(log[:size])
		if n == 3 {
			r.Witness = bytes.Repeat([]byte("w"), 1<<20)
			r.Branches = []keyring.Branch{{Parent: 1, Lines: log}, {Parent: 2, Lines: log, Decided: "x"}}
		}
		must(t, s.Advance(t.Context(), prev, r))
		got, err := s.Load(t.Context(), subject(1))
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Fatalf("record %d did not come back: %v", n, err)
		}
		listed, err := s.List(t.Context(), did.DID{}, 10)
		if err != nil || len(listed) != 1 || !reflect.DeepEqual(listed[0], r) {
			t.Fatalf("record %d is not listed: %v", n, err)
		}
		prev = r.Version
	}
	if err := s.Advance(t.Context(), keyring.Version{}, record(1, 9)); !errors.Is(err, keyring.ErrConflict) {
		t.Errorf("from none: got %v, want ErrConflict", err)
	}
}

func cancelled(t *testing.T, s keyring.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Advance(ctx, keyring.Version{}, record(1, 1)); err == nil {
		t.Fatal("a cancelled context wrote")
	}
	if _, err := s.Load(t.Context(), subject(1)); !errors.Is(err, keyring.ErrAbsent) {
		t.Fatalf("got %v, want ErrAbsent", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
