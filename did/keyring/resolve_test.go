package keyring_test

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/interop"
	"trustnode/did/keyring"
	"trustnode/did/pins"
)

// lined are pins that say which line of a file they are in.
type lined struct{ pins.Pins }

func (lined) Line(pins.Kind, string) uint64 { return 17 }

func TestResolve(t *testing.T) {
	one := acme(t)
	two := rotated(t, one, u2, u3, i2)
	ctx, d := t.Context(), one.DID()
	r := newHome(t, keyring.Memory(), lined{pins.Memory()})
	r.hold(t, two)
	v1, v2 := one.Head(), two.Head()
	evidence := func(v string) []did.Evidence {
		return []did.Evidence{{Step: "key", Version: v}, {Step: "head", Version: v2.ID}, {Step: "pin", Version: v2.ID, Line: 17}}
	}
	at := seen.Add(time.Minute)
	for _, c := range []struct {
		name string
		o    did.Options
		want didwebvh.Version
	}{
		{"the head", did.Options{}, v2},
		{"the first by its id", did.Options{VersionID: v1.ID}, v1},
		{"the first by its number", did.Options{VersionNumber: 1}, v1},
		{"the one in force a second before the second", did.Options{VersionTime: v2.Time.Add(-time.Second)}, v1},
		{"the one in force at the second's time", did.Options{VersionTime: v2.Time}, v2},
	} {
		c.o.Now = at
		got, err := r.Resolve(ctx, d, c.o)
		want := did.Resolution{
			DID: d, Document: c.want.Document, Raw: c.want.Document.Raw(), Version: c.want.ID, Created: v1.Time, Updated: c.want.Time,
			State: did.Held, VerifiedAt: seen, Age: time.Minute, Evidence: evidence(c.want.ID),
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v\nwant %+v", c.name, got, err, want)
		}
	}
}

func TestResolveRefused(t *testing.T) {
	one := acme(t)
	two := rotated(t, one, u2, u3, i2)
	r := fresh(t)
	r.hold(t, two)
	frozen, common, _, _ := forked(t)
	behind := newHome(t, keyring.Memory(), r.pins)
	for _, c := range []struct {
		name string
		r    home
		d    did.DID
		o    did.Options
		want did.ErrorName
		is   error
	}{
		{"a version that is not held", r, one.DID(), did.Options{VersionID: "3-" + one.SCID()}, did.NotFound, keyring.ErrUnknownVersion},
		{"a number past the head", r, one.DID(), did.Options{VersionNumber: 3}, did.NotFound, keyring.ErrUnknownVersion},
		{"a number past all numbers", r, one.DID(), did.Options{VersionNumber: 1 << 63}, did.NotFound, keyring.ErrUnknownVersion},
		{"a time before the first", r, one.DID(), did.Options{VersionTime: day1.Add(-time.Second)}, did.NotFound, keyring.ErrUnknownVersion},
		{"two ways at once", r, one.DID(), did.Options{VersionNumber: 1, VersionID: one.Head().ID}, did.InvalidOptions, nil},
		{"a DID that is not held", r, did.MustParse("did:web:nobody.example"), did.Options{}, did.NotFound, did.ErrAbsent},
		{"a method that is not held here", r, did.MustParse("did:peer:2.Ez6"), did.Options{}, did.MethodNotSupported, nil},
		{"a did:key that is none", r, did.MustParse("did:key:y6Mk"), did.Options{}, did.InvalidDID, nil},
		{"a frozen DID", frozen, one.DID(), did.Options{}, did.Forked, keyring.ErrFrozen},
		{"a frozen DID before the fork", frozen, one.DID(), did.Options{VersionID: common.Head().ID}, did.Forked, keyring.ErrFrozen},
		{"a state behind the pins", behind, one.DID(), did.Options{}, did.InternalError, nil},
	} {
		got, err := c.r.Resolve(t.Context(), c.d, c.o)
		var e *did.ResolutionError
		if !errors.As(err, &e) || e.Name != c.want || c.is != nil && !errors.Is(err, c.is) || !reflect.DeepEqual(got, did.Resolution{}) {
			t.Errorf("%s: got %+v, %v, want %s", c.name, got, err, c.want)
		}
	}
	var f *keyring.Fork
	if _, err := frozen.Resolve(t.Context(), one.DID(), did.Options{}); !errors.As(err, &f) || f.OfferedLine == nil {
		t.Errorf("the fork of a frozen DID: %+v", f)
	}
	var below *keyring.Below
	if _, err := behind.Resolve(t.Context(), one.DID(), did.Options{}); !errors.As(err, &below) || below.Number != 2 {
		t.Errorf("what is below the pins: %+v", below)
	}
}

func TestResolveDeactivated(t *testing.T) {
	one := acme(t)
	end := ended(t, one, u2)
	r := fresh(t)
	r.hold(t, end)
	got, err := r.Resolve(t.Context(), one.DID(), did.Options{})
	if err != nil || got.State != did.Deactivated || !got.Document.IsZero() || got.Raw != nil || got.Version != end.Head().ID {
		t.Errorf("the end: %+v, %v", got, err)
	}
	got, err = r.Resolve(t.Context(), one.DID(), did.Options{VersionNumber: 1})
	warning := did.Warning{Where: one.DID().String(), What: "deactivated at " + end.Head().ID}
	if err != nil || got.State != did.Held || got.Document.IsZero() || !slices.Contains(got.Warnings, warning) {
		t.Errorf("before the end: %+v, %v", got, err)
	}
}

func TestResolveWeb(t *testing.T) {
	first, second := append(site("a", i1), '\n'), site("b", i1)
	r := trusting(t, first)
	ctx := t.Context()
	if _, err := r.OfferWeb(ctx, beta, second, "", seen.Add(time.Hour), spki); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		o    did.Options
		want []byte
	}{
		{"the newest", did.Options{}, second},
		{"by the id of its bytes", did.Options{VersionID: idOf(first)}, first},
		{"by its number", did.Options{VersionNumber: 1}, first},
		{"by the time it was fetched", did.Options{VersionTime: seen.Add(time.Minute)}, first},
	} {
		got, err := r.Resolve(ctx, beta, c.o)
		if err != nil || !bytes.Equal(got.Raw, c.want) || got.Version != idOf(c.want) || got.State != did.Held || !got.Created.IsZero() {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

func TestResolvers(t *testing.T) {
	one := acme(t)
	two := rotated(t, one, u2, u3, i2)
	doc, unknown := site("a", i1), site("b", i2)
	r := trusting(t, doc)
	r.hold(t, two)
	registry := interop.New(append(r.Resolvers(), didkey.Resolver{})...)
	o := did.Options{Now: seen}
	for _, c := range []struct {
		name     string
		d        did.DID
		m        did.Material
		o        did.Options
		version  string
		warnings int
		want     did.ErrorName
	}{
		{"a log from the ring", one.DID(), did.Material{}, o, two.Head().ID, 0, ""},
		{"a log from its bytes alone", one.DID(), did.Material{Log: one.Log()}, o, one.Head().ID, 0, ""},
		{"bytes that are no log", one.DID(), did.Material{Log: []byte("{}")}, o, "", 0, did.InvalidDID},
		{"no did:webvh at all", did.MustParse("did:webvh:x:y"), did.Material{}, o, "", 0, did.InvalidDID},
		{"a snapshot from the ring", beta, did.Material{}, o, idOf(doc), 0, ""},
		{"a did.json from its bytes alone", beta, did.Material{Log: unknown}, o, idOf(unknown), 1, ""},
		{"that, by its id", beta, did.Material{Log: unknown}, did.Options{Now: seen, VersionID: idOf(unknown)}, idOf(unknown), 1, ""},
		{"that, by another id", beta, did.Material{Log: unknown}, did.Options{Now: seen, VersionID: idOf(doc)}, "", 0, did.NotFound},
		{"that, by a number", beta, did.Material{Log: unknown}, did.Options{Now: seen, VersionNumber: 1}, "", 0, did.InvalidOptions},
		{"the did.json of another DID", did.MustParse("did:web:other.example"), did.Material{Log: unknown}, o, "", 0, did.InvalidDIDDocument},
		{"a did:web that is not held", did.MustParse("did:web:other.example"), did.Material{}, o, "", 0, did.NotFound},
	} {
		got, err := registry.Resolve(t.Context(), c.d.String(), c.m, c.o)
		var e *did.ResolutionError
		if c.want != "" && (!errors.As(err, &e) || e.Name != c.want) || c.want == "" && (err != nil || got.Version != c.version || len(got.Warnings) != c.warnings) {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
	}
	if head, err := r.Head(t.Context(), beta); err != nil || head.ID != idOf(doc) {
		t.Errorf("resolving bytes moved the head: %+v, %v", head, err)
	}
}

func TestConfirm(t *testing.T) {
	one := acme(t)
	two := rotated(t, one, u2, u3, i2)
	r := fresh(t)
	r.hold(t, one)
	ctx, d := t.Context(), one.DID()
	at := func(m int) time.Time { return seen.Add(time.Duration(m) * time.Minute) }
	expect := func(what string, by keyring.Confirmation, when time.Time) {
		t.Helper()
		gotBy, gotAt := r.Confirmed(d)
		res, err := r.Resolve(ctx, d, did.Options{Now: at(60)})
		if gotBy != by || !gotAt.Equal(when) || err != nil || !res.ConfirmedAt.Equal(when) {
			t.Errorf("%s: got %q %s, %v", what, gotBy, gotAt, err)
		}
		since := when
		if when.IsZero() {
			since = seen
		}
		if want := at(60).Sub(since); res.Age != want {
			t.Errorf("%s: age %s, want %s", what, res.Age, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	expect("nobody said anything", "", time.Time{})
	must(r.Confirm(ctx, d, one.Head().ID, keyring.ByBeacon, at(-10)))
	expect("a member's beacon", keyring.ByBeacon, at(-10))
	must(r.Confirm(ctx, d, two.Head().ID, keyring.ByOwn, at(-5)))
	expect("a statement about another version", keyring.ByBeacon, at(-10))
	must(r.Confirm(ctx, d, one.Head().ID, keyring.ByHost, at(-20)))
	expect("an older statement", keyring.ByBeacon, at(-10))
	must(r.Confirm(ctx, d, one.Head().ID, keyring.ByOwn, at(500)))
	expect("a statement from the future counts as now", keyring.ByOwn, seen)
	r.hold(t, two)
	expect("the head moved", "", time.Time{})
	must(r.Confirm(ctx, d, two.Head().ID, keyring.ByImport, at(-30)))
	expect("an older statement about the new head", keyring.ByImport, at(-30))
	must(r.Confirm(ctx, ag.did(), did.StaticVersion, keyring.ByOwn, seen))
	if err := r.Confirm(ctx, d, two.Head().ID, "rumour", seen); !errors.Is(err, keyring.ErrConfirmation) {
		t.Errorf("by a rumour: %v", err)
	}
	if err := r.Confirm(ctx, beta, "x", keyring.ByOwn, seen); !errors.Is(err, keyring.ErrAbsent) {
		t.Errorf("of what is not held: %v", err)
	}
	if by, _ := r.Confirmed(beta); by != "" {
		t.Errorf("of what is not held: %s", by)
	}
}

func TestMovedDID(t *testing.T) {
	one := acme(t)
	new := moved(t, one, u2, u3, "new.example")
	next := rotated(t, new, u3, 5, i2)
	old, name := one.DID(), new.DID()
	stranger := did.MustParse("did:webvh:" + one.SCID() + ":stranger.example")
	ctx := t.Context()
	check := func(what string, r home) {
		t.Helper()
		want := version(next, did.Held)
		want.DID = old
		for _, d := range []did.DID{old, name} {
			if head, err := r.Head(ctx, d); err != nil || head != want {
				t.Errorf("%s: head of %s is %+v, %v", what, d, head, err)
			}
			if k, err := r.HeadSource().Key(ctx, d, i2.kid()); err != nil || k.Public != i2.Public() {
				t.Errorf("%s: key of %s: %v, %v", what, d, k, err)
			}
			if k, err := r.AtSource(one.Head().ID).Key(ctx, d, i1.kid()); err != nil || k.Public != i1.Public() {
				t.Errorf("%s: first key of %s: %v, %v", what, d, k, err)
			}
			if got, err := r.Fingerprint(ctx, d); err != nil || got != keyring.Fingerprint(name, next.Head().ID) || r.Name(d) != name {
				t.Errorf("%s: fingerprint of %s is %s, its name %s, %v", what, d, got, r.Name(d), err)
			}
			if res, err := r.Resolve(ctx, d, did.Options{}); err != nil || res.DID != d || res.Document.ID() != name {
				t.Errorf("%s: %s resolves to %+v, %v", what, d, res, err)
			}
		}
		if _, err := r.Head(ctx, stranger); !errors.Is(err, keyring.ErrAbsent) {
			t.Errorf("%s: a name the log never had: %v", what, err)
		}
		if _, err := r.Offer(ctx, stranger, next.Log(), nil); !errors.Is(err, keyring.ErrOtherDID) {
			t.Errorf("%s: the log offered under that name: %v", what, err)
		}
		if all, err := r.store.List(ctx, did.DID{}, 9); err != nil || len(all) != 1 || all[0].Version.DID != old {
			t.Errorf("%s: %d records, %v", what, len(all), err)
		}
	}
	for _, c := range []struct {
		what   string
		offers []did.DID
		logs   []didwebvh.History
	}{
		{"all under the old name", []did.DID{old, old, old}, []didwebvh.History{one, new, next}},
		{"the move under the new name", []did.DID{old, name, name}, []didwebvh.History{one, new, next}},
		{"at once", []did.DID{old}, []didwebvh.History{next}},
	} {
		r := fresh(t)
		for i, d := range c.offers {
			if _, err := r.Offer(ctx, d, c.logs[i].Log(), nil); err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
		}
		check(c.what, r)
		check(c.what+", restarted", r.restart(t))
		lost := newHome(t, keyring.Memory(), r.pins)
		if _, err := lost.Offer(ctx, name, next.Log(), nil); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		check(c.what+", after a lost state came back under the new name", lost)
		var f *keyring.Fork
		if _, err := r.Offer(ctx, old, rotated(t, one, u2, u3, i3).Log(), nil); !errors.As(err, &f) || f.DID != old {
			t.Errorf("%s: a branch that did not move: %v", c.what, err)
		}
		if f, err := r.Forked(ctx, name); err != nil || f == nil || f.Number != 2 {
			t.Errorf("%s: the fork by the new name: %+v, %v", c.what, f, err)
		}
	}
	r := fresh(t)
	r.hold(t, one)
	if _, err := r.Head(ctx, name); !errors.Is(err, keyring.ErrAbsent) {
		t.Errorf("the new name before the move: %v", err)
	}
	var below *keyring.Below
	if _, err := newHome(t, keyring.Memory(), r.pins).HeadSource().Key(ctx, old, i1.kid()); !errors.As(err, &below) || !errors.Is(err, envelope.ErrPending) {
		t.Errorf("a lost state: %v", err)
	}
}
