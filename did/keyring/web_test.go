package keyring_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/pins"
)

var beta = did.MustParse("did:web:beta.example")

// site is a did.json of beta with assertion keys; note makes the bytes differ.
func site(note string, keys ...seed) []byte {
	return []byte(document(beta.String(), keys, nil, fmt.Sprintf(`,"alsoKnownAs":[%q]`, "https://beta.example/"+note)))
}

func idOf(doc []byte) string { return envelope.IDOf(doc).String() }

const spki = "b6f3…"

func webVersion(n int, doc []byte) keyring.Version {
	return keyring.Version{DID: beta, Number: n, ID: idOf(doc), State: did.Held, VerifiedAt: seen}
}

// trusting is a ring that holds one approved document of beta.
func trusting(t testing.TB, doc []byte) home {
	t.Helper()
	r := fresh(t)
	if _, err := r.OfferWeb(t.Context(), beta, doc, "join", seen, ""); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFirstDocumentIsPinnedOnlyIfApproved(t *testing.T) {
	doc := site("a", i1)
	for _, c := range []struct {
		name, by, spki string
		doc            []byte
		d              did.DID
		want           error
	}{
		{"nobody approved", "", spki, doc, beta, keyring.ErrUnapproved},
		{"it came from a peer", "", "", doc, beta, keyring.ErrUnapproved},
		{"it is another DID's", "join", spki, doc, did.MustParse("did:web:acme.example"), did.ErrDocument},
		{"it lists no assertion key", "join", spki, []byte(document(beta.String(), nil, []seed{i1}, "")), beta, did.ErrDocument},
		{"it is no JSON", "join", spki, append([]byte("\ufeff"), doc...), beta, did.ErrDocument},
		{"it is too large", "join", spki, bytes.Repeat([]byte(" "), 257<<10), beta, did.ErrTooLarge},
		{"the approval is too long", strings.Repeat("x", 513), spki, doc, beta, did.ErrTooLarge},
		{"the method keeps a log", "join", spki, doc, acme(t).DID(), keyring.ErrMethod},
	} {
		r := fresh(t)
		got, err := r.OfferWeb(t.Context(), c.d, c.doc, c.by, seen, c.spki)
		if !errors.Is(err, c.want) || !reflect.DeepEqual(got, keyring.Result{}) {
			t.Errorf("%s: got %+v, %v, want %v", c.name, got, err, c.want)
		}
		if all, _ := r.store.List(t.Context(), did.DID{}, 9); len(all) > 0 {
			t.Errorf("%s: stored %+v", c.name, all)
		}
		if _, _, ok := r.pins.Highest(pins.KindDID, c.d.String()); ok {
			t.Errorf("%s: pinned", c.name)
		}
	}
	r := fresh(t)
	if _, err := r.Offer(t.Context(), beta, doc, nil); !errors.Is(err, keyring.ErrMethod) {
		t.Errorf("by the way of logs: %v", err)
	}
	got, err := r.OfferWeb(t.Context(), beta, doc, "join", seen, "")
	if err != nil || !got.Advanced || got.Version != webVersion(1, doc) {
		t.Errorf("approved: %+v, %v", got, err)
	}
}

func TestWebAnswersLikeALog(t *testing.T) {
	first, second := site("a", i1), site("b", i2)
	r := trusting(t, first)
	ctx := t.Context()
	_, _ = r.OfferWeb(ctx, beta, second, "", seen, spki)
	if _, err := r.Rotated(ctx, beta, idOf(second)); err != nil {
		t.Fatal(err)
	}
	for _, r := range []home{r, r.restart(t)} {
		if head, err := r.Head(ctx, beta); err != nil || head != webVersion(2, second) {
			t.Errorf("head %+v, %v", head, err)
		}
		for _, c := range []struct {
			name string
			src  envelope.KeySource
			kid  seed
			want error
		}{
			{"the new key at the head", r.HeadSource(), i2, nil},
			{"the old key at the head", r.HeadSource(), i1, envelope.ErrRetired},
			{"a key nobody listed", r.HeadSource(), i3, envelope.ErrUnknownKey},
			{"the old key at its version", r.AtSource(idOf(first)), i1, nil},
			{"the new key at the old version", r.AtSource(idOf(first)), i2, envelope.ErrRetired},
			{"a version that is not held", r.AtSource(idOf(site("c", i1))), i1, keyring.ErrUnknownVersion},
		} {
			if _, err := c.src.Key(ctx, beta, c.kid.kid()); !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
		}
		if keys, err := r.At(beta, idOf(first)); err != nil || !reflect.DeepEqual(keys, []did.PublicKey{i1.Public()}) {
			t.Errorf("keys %v, %v", keys, err)
		}
		if newer, err := r.Extends(beta, idOf(first), idOf(second)); err != nil || !newer {
			t.Errorf("extends: %v, %v", newer, err)
		}
		if older, err := r.Extends(beta, idOf(second), idOf(first)); err != nil || older {
			t.Errorf("extends backwards: %v, %v", older, err)
		}
		doc, err := r.Document(ctx, beta)
		if err != nil || !bytes.Equal(doc.Raw(), second) {
			t.Errorf("document %s, %v", doc.Raw(), err)
		}
		if log, err := r.Log(ctx, beta, 7); err != nil || !bytes.Equal(log, second) {
			t.Errorf("log %s, %v", log, err)
		}
		if file, err := r.Witness(ctx, beta); err != nil || file != nil {
			t.Errorf("witness %s, %v", file, err)
		}
		if all, err := r.List(ctx); err != nil || !reflect.DeepEqual(all, []keyring.Version{webVersion(2, second)}) {
			t.Errorf("list %+v, %v", all, err)
		}
		if f, err := r.Forked(ctx, beta); err != nil || f != nil {
			t.Errorf("forked %+v, %v", f, err)
		}
		if _, err := r.History(ctx, beta); !errors.Is(err, keyring.ErrMethod) {
			t.Errorf("history: %v", err)
		}
		vs, err := r.Versions(ctx, beta)
		if err != nil || len(vs) != 2 || vs[0].ID != idOf(first) || !vs[1].Counts || vs[1].Keys[0] != i2.Public() {
			t.Errorf("versions %+v, %v", vs, err)
		}
		snaps, err := r.Snapshots(ctx, beta)
		if err != nil || len(snaps) != 2 || snaps[0].ApprovedBy != "join" || snaps[1].ApprovedBy != "key.rotated" || snaps[1].SPKI != spki {
			t.Errorf("snapshots %+v, %v", snaps, err)
		}
	}
}

// TestI22 goes through what an offer of a did:web document may come to; only three ways change what is trusted.
func TestI22WhatIsOfferedOfAWebDID(t *testing.T) {
	held := site("a", i1)
	witness := func(s seed) string {
		return fmt.Sprintf(`,"service":[{"id":"#w","type":"TrustnodeWitness","serviceEndpoint":"did:key:%s"}]`, s.kid())
	}
	expiring := bytes.Replace(held, []byte(`"type":"Multikey"`), []byte(`"type":"Multikey","expires":"2030-01-01T00:00:00Z"`), 1)
	for _, c := range []struct {
		name     string
		doc      []byte
		by, spki string
		taken    bool
		same     bool // as HeldKeys
	}{
		{"its host moves the document", site("b", i1), "", spki, true, true},
		{"the operator brings a moved document", site("b", i1), "operator", "", true, true},
		{"a peer brings a moved document", site("b", i1), "", "", false, true},
		{"its host serves another key", site("b", i2), "", spki, false, false},
		{"its host serves one key more", site("a", i1, i2), "", spki, false, false},
		{"an approval does not rotate a key", site("b", i2), "join", spki, false, false},
		{"its host adds a witness", []byte(document(beta.String(), []seed{i1}, nil, witness(w))), "", spki, false, false},
		{"its host lets the key end", expiring, "", spki, false, false},
	} {
		r := trusting(t, held)
		got, err := r.OfferWeb(t.Context(), beta, c.doc, c.by, seen, c.spki)
		if c.taken {
			if err != nil || got.Version != webVersion(2, c.doc) {
				t.Errorf("%s: %+v, %v", c.name, got, err)
			}
			continue
		}
		var changed *keyring.Changed
		if !errors.As(err, &changed) || changed.Held != idOf(held) || changed.Offered != idOf(c.doc) || c.same != reflect.DeepEqual(changed.HeldKeys, changed.OfferedKeys) {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, r := range []home{r, r.restart(t)} {
			if head, err := r.Head(t.Context(), beta); err != nil || head != webVersion(1, held) {
				t.Errorf("%s: head %+v, %v", c.name, head, err)
			}
			if _, err := r.HeadSource().Key(t.Context(), beta, i2.kid()); !errors.Is(err, envelope.ErrUnknownKey) {
				t.Errorf("%s: the new key: %v", c.name, err)
			}
			all, err := r.Changes(t.Context(), beta)
			if err != nil || len(all) != 1 || !reflect.DeepEqual(all[0], *changed) {
				t.Errorf("%s: changes %+v, %v", c.name, all, err)
			}
		}
		if got, err := r.AcceptHead(t.Context(), beta, idOf(c.doc), "operator: compared by voice"); err != nil || got.Version != webVersion(2, c.doc) {
			t.Errorf("%s: accepted: %+v, %v", c.name, got, err)
		}
		if all, _ := r.restart(t).Changes(t.Context(), beta); len(all) != 0 {
			t.Errorf("%s: still changed: %+v", c.name, all)
		}
	}
}

func TestWebDecisionsRefused(t *testing.T) {
	first, second := site("a", i1), site("b", i2)
	r := trusting(t, first)
	ctx := t.Context()
	check := func(name string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	_, err := r.Rotated(ctx, beta, idOf(second))
	check("bytes that were not offered", err, keyring.ErrUnknownVersion)
	_, err = r.AcceptHead(ctx, beta, idOf(second), "x")
	check("a decision for bytes that were not offered", err, keyring.ErrUnknownVersion)
	_, _ = r.OfferWeb(ctx, beta, second, "", seen, spki)
	_, err = r.AcceptHead(ctx, beta, idOf(second), "")
	check("nobody decided", err, keyring.ErrUnapproved)
	_, err = r.Rotated(ctx, acme(t).DID(), idOf(second))
	check("a DID with a log", err, keyring.ErrMethod)
	_, err = r.Rotated(ctx, did.MustParse("did:web:nobody.example"), idOf(second))
	check("a DID that is not held", err, keyring.ErrAbsent)
	if got, err := r.AcceptHead(ctx, beta, idOf(first), "x"); err != nil || got.Advanced {
		t.Errorf("the version that stands: %+v, %v", got, err)
	}
	if _, err := r.Rotated(ctx, beta, idOf(second)); err != nil {
		t.Fatal(err)
	}
	var back *keyring.Rollback
	for name, do := range map[string]func() error{
		"by its host":     func() error { _, err := r.OfferWeb(ctx, beta, first, "", seen, spki); return err },
		"by a peer":       func() error { _, err := r.Offer(ctx, beta, first, nil); return err },
		"by an approval":  func() error { _, err := r.OfferWeb(ctx, beta, first, "join", seen, ""); return err },
		"by the operator": func() error { _, err := r.AcceptHead(ctx, beta, idOf(first), "x"); return err },
		"by an event":     func() error { _, err := r.Rotated(ctx, beta, idOf(first)); return err },
	} {
		if err := do(); !errors.As(err, &back) || back.Held != idOf(second) || back.Offered != idOf(first) || back.Number != 2 {
			t.Errorf("the replaced document, %s: %v", name, err)
		}
	}
}

func TestWebKeyThatReturnsStaysRetired(t *testing.T) {
	r := trusting(t, site("a", i1))
	for _, doc := range [][]byte{site("b", i2), site("c", i1, i2)} {
		_, _ = r.OfferWeb(t.Context(), beta, doc, "", seen, spki)
		if _, err := r.AcceptHead(t.Context(), beta, idOf(doc), "operator"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.HeadSource().Key(t.Context(), beta, i1.kid()); !errors.Is(err, envelope.ErrRetired) {
		t.Errorf("got %v", err)
	}
}

// TestPeersPushNothingOut: what a host served stays to be decided about, whatever peers bring.
func TestPeersPushNothingOut(t *testing.T) {
	r := trusting(t, site("a", i1))
	ctx := t.Context()
	served := site("served", i2)
	_, _ = r.OfferWeb(ctx, beta, served, "", seen, spki)
	for n := range 20 {
		_, _ = r.Offer(ctx, beta, site(fmt.Sprint(n), i3), nil)
	}
	all, err := r.Changes(ctx, beta)
	if err != nil || len(all) != 4 || all[0].Offered != idOf(served) || all[3].Offered != idOf(site("19", i3)) {
		t.Errorf("kept %+v, %v", all, err)
	}
	for n := range 20 {
		_, _ = r.OfferWeb(ctx, beta, site(fmt.Sprint("s", n), i2), "", seen, spki)
	}
	_, _ = r.Offer(ctx, beta, site("late", i3), nil)
	if all, err = r.Changes(ctx, beta); err != nil || len(all) != 4 || all[3].Offered != idOf(site("s19", i2)) {
		t.Errorf("kept %+v, %v", all, err)
	}
}

func TestWebVersionsHaveAnEnd(t *testing.T) {
	r := trusting(t, site("a", i1))
	ctx := t.Context()
	n, err := 1, error(nil)
	for ; err == nil && n < 2000; n++ {
		_, err = r.OfferWeb(ctx, beta, site(fmt.Sprint(n), i1), "", seen, spki)
	}
	if !errors.Is(err, keyring.ErrVersions) || n != 513 {
		t.Fatalf("after %d: %v", n, err)
	}
	if _, err := r.HeadSource().Key(ctx, beta, i1.kid()); err != nil {
		t.Errorf("the key still speaks: %v", err)
	}
	_, _ = r.OfferWeb(ctx, beta, site("z", i2), "", seen, spki)
	if _, err := r.Rotated(ctx, beta, idOf(site("z", i2))); err != nil {
		t.Errorf("a rotation finds no room: %v", err)
	}
}

// TestWebDecisionSurvivesACrashAtEachStep is that of a fork, for a document and for the first of all.
func TestWebDecisionSurvivesACrashAtEachStep(t *testing.T) {
	first, second, move := site("a", i1), site("b", i2), site("c", i1)
	ctx := t.Context()
	for _, c := range []struct {
		name string
		had  bool
		want []byte
		do   func(r home) error
		self bool // Load alone brings it about
	}{
		{"the first document", false, first, func(r home) error { _, err := r.OfferWeb(ctx, beta, first, "join", seen, ""); return err }, false},
		{"a moved document", true, move, func(r home) error { _, err := r.OfferWeb(ctx, beta, move, "", seen, spki); return err }, false},
		{"a decision", true, second, func(r home) error { _, err := r.AcceptHead(ctx, beta, idOf(second), "x"); return err }, true},
		{"a rotation", true, second, func(r home) error { _, err := r.Rotated(ctx, beta, idOf(second)); return err }, true},
	} {
		for left := 1; left <= 2; left++ {
			for _, after := range []bool{false, true} {
				name := fmt.Sprintf("%s, step %d, after it %v", c.name, left, after)
				r := fresh(t)
				if c.had {
					r = trusting(t, first)
					_, _ = r.OfferWeb(ctx, beta, second, "", seen, spki)
				}
				crash := &crash{left: left, after: after}
				cut := newHome(t, crashStore{r.store, crash}, crashPins{r.pins, crash})
				if err := cut.Load(ctx); err != nil {
					t.Fatal(err)
				}
				if err := c.do(cut); !errors.Is(err, errCrash) {
					t.Errorf("%s: %v", name, err)
				}
				again := r.restart(t)
				_, value, _ := r.pins.Highest(pins.KindDID, beta.String())
				head, err := again.Head(ctx, beta)
				var below *keyring.Below
				stored := left == 2 && after
				var ok bool
				switch {
				case value != idOf(c.want): // nothing happened
					ok = c.had && head.ID == idOf(first) || !c.had && errors.Is(err, keyring.ErrAbsent)
				case c.self, stored:
					ok = err == nil && head.ID == value
				default:
					ok = errors.As(err, &below)
				}
				if !ok {
					t.Errorf("%s: pinned %s, head %+v, %v", name, value, head, err)
				}
				if err := c.do(again); err != nil {
					t.Errorf("%s: again: %v", name, err)
				}
				if head, err := again.restart(t).Head(ctx, beta); err != nil || head.ID != idOf(c.want) || head.State != did.Held {
					t.Errorf("%s: in the end %+v, %v", name, head, err)
				}
			}
		}
	}
}

// TestWebBehindThePins: a state that was lost or restored takes the pinned bytes from anybody, and no other.
func TestWebBehindThePins(t *testing.T) {
	first, second, other := site("a", i1), site("b", i2), site("c", i3)
	ctx := t.Context()
	for _, had := range []bool{true, false} {
		r := trusting(t, first)
		old := copyOf(t, r)
		_, _ = r.OfferWeb(ctx, beta, second, "", seen, spki)
		if _, err := r.AcceptHead(ctx, beta, idOf(second), "x"); err != nil {
			t.Fatal(err)
		}
		store := keyring.Memory()
		if had {
			store = old.store
		}
		lost := newHome(t, store, r.pins).restart(t)
		var below *keyring.Below
		if _, err := lost.Head(ctx, beta); !errors.As(err, &below) || below.Number != 2 || below.Pinned != idOf(second) {
			t.Errorf("had %v: head %v", had, err)
		}
		var changed *keyring.Changed
		for _, by := range []string{"", "join"} {
			if _, err := lost.OfferWeb(ctx, beta, other, by, seen, spki); !errors.As(err, &changed) || changed.Held != idOf(second) || changed.HeldKeys != nil {
				t.Errorf("had %v: other bytes: %v", had, err)
			}
		}
		if _, err := lost.Rotated(ctx, beta, idOf(other)); !errors.As(err, &below) {
			t.Errorf("had %v: an event while nothing is known of the pinned keys: %v", had, err)
		}
		decided := copyOf(t, lost)
		if got, err := decided.AcceptHead(ctx, beta, idOf(other), "operator"); err != nil || got.Version != webVersion(3, other) {
			t.Errorf("had %v: a decision: %+v, %v", had, got, err)
		}
		if got, err := lost.Offer(ctx, beta, second, nil); err != nil || got.Version != webVersion(2, second) || !got.Advanced {
			t.Errorf("had %v: the pinned bytes from a peer: %+v, %v", had, got, err)
		}
		if _, err := lost.restart(t).HeadSource().Key(ctx, beta, i2.kid()); err != nil {
			t.Errorf("had %v: the key after it: %v", had, err)
		}
	}
}

func TestDamagedWebRecord(t *testing.T) {
	doc := site("a", i1)
	r := trusting(t, doc)
	rec, err := r.store.Load(t.Context(), beta)
	if err != nil {
		t.Fatal(err)
	}
	rec.Web[0].Bytes[len(rec.Web[0].Bytes)/2] ^= 1
	store := keyring.Memory()
	if err := store.Advance(t.Context(), keyring.Version{}, rec); err != nil {
		t.Fatal(err)
	}
	bad := newHome(t, store, r.pins)
	var below *keyring.Below
	if err := bad.Load(t.Context()); !errors.As(err, &below) || below.Cause == nil {
		t.Errorf("load: %v", err)
	}
	if _, err := bad.HeadSource().Key(t.Context(), beta, i1.kid()); !errors.Is(err, envelope.ErrPending) {
		t.Errorf("a key: %v", err)
	}
	if got, err := bad.Offer(t.Context(), beta, doc, nil); err != nil || got.Version != webVersion(1, doc) {
		t.Errorf("the pinned bytes: %+v, %v", got, err)
	}
}

func TestWebConfirmation(t *testing.T) {
	doc := site("a", i1)
	r := trusting(t, doc)
	ctx := t.Context()
	if by, _ := r.Confirmed(beta); by != "" {
		t.Errorf("before anything: %s", by)
	}
	if _, err := r.Offer(ctx, beta, doc, nil); err != nil {
		t.Error(err)
	}
	if by, _ := r.Confirmed(beta); by != "" {
		t.Errorf("by a peer's copy: %s", by)
	}
	at := seen.Add(-time.Hour)
	if got, err := r.OfferWeb(ctx, beta, doc, "", at, spki); err != nil || got.Advanced {
		t.Errorf("%+v, %v", got, err)
	}
	if by, when := r.Confirmed(beta); by != keyring.ByHost || !when.Equal(at) {
		t.Errorf("by its host: %s at %s", by, when)
	}
}

// TestLoadOfManyRecords: more than one page, in which some are damaged, and the others come back.
func TestLoadOfManyRecords(t *testing.T) {
	const n = 100
	ctx := t.Context()
	r := fresh(t)
	name := func(i int) did.DID { return did.MustParse(fmt.Sprintf("did:web:o%03d.example", i)) }
	for i := range n {
		doc := document(name(i).String(), []seed{i1}, nil, "")
		if _, err := r.OfferWeb(ctx, name(i), []byte(doc), "join", seen, ""); err != nil {
			t.Fatal(err)
		}
	}
	bad := map[int]bool{3: true, 31: true, 32: true, 99: true}
	for i := range bad {
		rec, err := r.store.Load(ctx, name(i))
		if err != nil {
			t.Fatal(err)
		}
		rec.Web[0].Bytes[10] ^= 1
		if err := r.store.Advance(ctx, rec.Version, rec); err != nil {
			t.Fatal(err)
		}
	}
	again := newHome(t, r.store, r.pins)
	err := again.Load(ctx)
	var below *keyring.Below
	if !errors.As(err, &below) || below.DID != name(3) {
		t.Errorf("load: %v", err)
	}
	for i := range n {
		if _, err := again.Head(ctx, name(i)); errors.As(err, &below) != bad[i] || !bad[i] && err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}
