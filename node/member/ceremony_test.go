package member

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/node/fault"
)

func sorted(list ...*org) []did.DID {
	var out []did.DID
	for _, o := range list {
		out = append(out, o.did)
	}
	slices.SortFunc(out, func(a, b did.DID) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func TestFoundingByFiles(t *testing.T) {
	acme, vendor, arbiter := trio(t, newDial())
	d := draftOf(t, acme, vendor, arbiter)
	if len(d.Signed) != 0 || !slices.Equal(d.Missing, sorted(acme, vendor, arbiter)) || !strings.HasPrefix(d.Fingerprint, "fed1-") {
		t.Errorf("draft: signed %v, missing %v, %s", d.Signed, d.Missing, d.Fingerprint)
	}
	w, err := vendor.Diff(t.Context(), d.Data)
	if err != nil || w.ID != d.ID || !strings.Contains(strings.Join(w.Lines, "\n"), `neutral mediator: "arbiter"`) {
		t.Errorf("diff: %+v, %v", w, err)
	}
	file := d.Data
	for i, o := range []*org{acme, vendor, arbiter} {
		s := o.sign(file)
		if len(s.Signed) != i+1 || len(s.Missing) != 2-i || s.ID != d.ID {
			t.Errorf("after %s: signed %v, missing %v", o.name, s.Signed, s.Missing)
		}
		file = s.Data
	}
	for _, o := range []*org{acme, vendor, arbiter} {
		if s := o.stateNow(); s != federation.Alone {
			t.Errorf("%s before apply: %s", o.name, s)
		}
		a := o.apply(file)
		want := Applied{ID: d.ID, Fingerprint: d.Fingerprint, Members: sorted(acme, vendor, arbiter), Walk: a.Walk, Changed: true}
		if a.ID != want.ID || a.Seq != 0 || a.Fingerprint != want.Fingerprint || !slices.Equal(a.Members, want.Members) || !a.Changed || len(a.Walk) < 5 {
			t.Errorf("%s: applied %+v", o.name, a)
		}
		if again := o.apply(file); again.Changed {
			t.Errorf("%s: applied twice", o.name)
		}
		if s := o.stateNow(); s != federation.Unconfirmed {
			t.Errorf("%s after apply: %s", o.name, s)
		}
		if p := o.Member.Peers(t0); len(p) != 2 || p[0].Addrs[0] != "/ip4/127.0.0.1/tcp/8601" {
			t.Errorf("%s: peers %v", o.name, p)
		}
		if got := o.eventTypes(); !slices.Equal(got, []string{"log.opened", "charter.signed"}) {
			t.Errorf("%s: log holds %v", o.name, got)
		}
	}
}

// TestAnyOrder signs copies apart and merges them in each order: the file is the same.
func TestAnyOrder(t *testing.T) {
	acme, vendor, arbiter := trio(t, newDial())
	d := draftOf(t, acme, vendor, arbiter)
	var copies [][]byte
	for _, o := range []*org{acme, vendor, arbiter} {
		copies = append(copies, o.sign(d.Data).Data)
	}
	var want []byte
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		m, err := vendor.Merge(t.Context(), copies[order[0]], copies[order[1]], copies[order[2]])
		if err != nil || len(m.Missing) != 0 {
			t.Fatalf("order %v: missing %v, %v", order, m.Missing, err)
		}
		if want == nil {
			want = m.Data
		}
		if !bytes.Equal(m.Data, want) {
			t.Errorf("order %v gives another file", order)
		}
	}
	chained := copies[2]
	for _, o := range []*org{vendor, acme} {
		chained = o.sign(chained).Data
	}
	if !bytes.Equal(chained, want) {
		t.Error("signing one after the other gives another file than merging")
	}
	acme.apply(want)
}

func TestSigningAgainChangesNothing(t *testing.T) {
	acme, vendor, arbiter := trio(t, newDial())
	d := draftOf(t, acme, vendor, arbiter)
	one := acme.sign(d.Data).Data
	if again := acme.sign(one).Data; !bytes.Equal(one, again) {
		t.Error("signing the signed file changes it")
	}
	if again := acme.sign(d.Data).Data; !bytes.Equal(one, again) {
		t.Error("signing the unsigned draft again gives another file")
	}
	if got := acme.eventTypes(); !slices.Equal(got, []string{"log.opened", "charter.signed"}) {
		t.Errorf("log holds %v", got)
	}
}

func TestApplyNeedsAReason(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := trio(t, clock)
	d := draftOf(t, acme, vendor, arbiter)
	file := d.Data
	for _, o := range []*org{acme, vendor, arbiter} {
		file = o.sign(file).Data
	}
	// A node of arbiter that lost its pins has signed nothing that it knows of.
	arbiter.stop()
	arbiter.pins = pins.Memory()
	arbiter.start()
	ctx := t.Context()
	_, err := arbiter.Apply(ctx, file, "")
	refusedAs(t, err, fault.Refused, "fingerprint")
	_, err = arbiter.Apply(ctx, file, "fed1-aaaa")
	refusedAs(t, err, fault.Invalid, "fingerprint")
	_, err = arbiter.Apply(ctx, file, charter.Fingerprint(envelope.IDOf([]byte("another"))))
	refusedAs(t, err, fault.Refused, "fingerprint")
	_, err = acme.Apply(ctx, file, charter.Fingerprint(envelope.IDOf([]byte("another"))))
	refusedAs(t, err, fault.Refused, "fingerprint")
	if a, err := arbiter.Apply(ctx, file, strings.ToUpper(d.Fingerprint)); err != nil || a.ID != d.ID {
		t.Errorf("with the fingerprint: %v, %v", a, err)
	}
	// What was accepted stays so when a key behind it is retired, also where no own
	// signature vouches for it.
	clock.turn(time.Minute)
	if _, err := vendor.Rotate(ctx, RotateInput{Authority: vendor.authority(), Reason: "scheduled"}); err != nil {
		t.Fatal(err)
	}
	vendor.didTo(arbiter)
	arbiter.restartKeepsHead(t)
	// A node that meets the file only now has the same fingerprint to go by, and without
	// any the retired key counts for nothing.
	arbiter.stop()
	arbiter.pins = pins.Memory()
	if err := arbiter.state.Update(ctx, dropRow(keyHead)); err != nil {
		t.Fatal(err)
	}
	arbiter.start()
	if w, err := arbiter.Diff(ctx, file); err != nil || len(w.Signed) != 2 || !slices.Equal(w.Missing, []did.DID{vendor.did}) {
		t.Errorf("diff: missing %v, %v", w.Missing, err)
	}
	if a, err := arbiter.Apply(ctx, file, d.Fingerprint); err != nil || a.ID != d.ID {
		t.Errorf("after the rotation, with the fingerprint: %v, %v", a, err)
	}
}

func TestRefusalsOfFiles(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := trio(t, clock)
	stranger := found(t, "stranger", clock)
	ctx := t.Context()
	d := draftOf(t, acme, vendor, arbiter)
	half := acme.sign(d.Data).Data
	cases := []struct {
		name   string
		do     func() error
		code   fault.Code
		reason string
	}{
		{"applying without all signatures", func() error { _, err := acme.Apply(ctx, half, ""); return err }, fault.NeedsApproval, "consent"},
		{"signing what does not name us", func() error { _, err := stranger.Sign(ctx, half, nil); return err }, fault.Refused, "not_a_member"},
		{"applying what does not name us", func() error { _, err := stranger.Apply(ctx, half, d.Fingerprint); return err }, fault.NeedsApproval, "consent"},
		{"signing a join file", func() error { _, err := acme.Sign(ctx, vendor.join(true), nil); return err }, fault.Invalid, "no_draft"},
		{"creating with a draft for a join", func() error {
			_, err := acme.Create(ctx, CreateInput{Name: "x", With: [][]byte{half}})
			return err
		}, fault.Invalid, "join"},
		{"two voters and no recovery key", func() error {
			_, err := acme.Create(ctx, CreateInput{Name: "x", With: [][]byte{vendor.join(true), arbiter.join(false)}, Mediators: [][]byte{arbiter.join(false)}})
			return err
		}, fault.Invalid, "structure"},
		{"a recovery key that is none", func() error {
			_, err := acme.Create(ctx, CreateInput{Name: "x", With: [][]byte{vendor.join(true)}, Recovery: []string{"hello"}})
			return err
		}, fault.Invalid, "recovery"},
		{"two joins of one organization", func() error {
			_, err := acme.Create(ctx, CreateInput{Name: "x", With: [][]byte{vendor.join(true), vendor.join(false)}})
			return err
		}, fault.Conflict, "join"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { refusedAs(t, c.do(), c.code, c.reason) })
	}
	if _, err := acme.Diff(ctx, []byte("not a bundle")); fault.Of(err) != fault.Invalid {
		t.Errorf("bytes that are no file: %v", err)
	}
}

// TestFlippedBytes: a file with one bit changed is refused with a reason, or, where the bit
// is of no weight (a binding, a join), puts the very same charter in force.
func TestFlippedBytes(t *testing.T) {
	acme, vendor, arbiter := trio(t, newDial())
	d := draftOf(t, acme, vendor, arbiter)
	file := d.Data
	for _, o := range []*org{acme, vendor, arbiter} {
		file = o.sign(file).Data
	}
	refused := 0
	for i := 0; i < len(file); i += 61 {
		bad := bytes.Clone(file)
		bad[i] ^= 1
		_, err := acme.Apply(t.Context(), bad, "")
		if fault.Of(err) == fault.Internal {
			t.Fatalf("byte %d: %v", i, err)
		}
		if err != nil {
			refused++
		}
		if c, ok := acme.Charter(); ok && c.Head().ID != d.ID {
			t.Fatalf("byte %d: %s is in force", i, c.Head().ID)
		}
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

func TestOneFederation(t *testing.T) {
	clock := newDial()
	acme, _, _ := federated(t, clock)
	ctx := t.Context()
	_, err := acme.Create(ctx, CreateInput{Name: "second"})
	refusedAs(t, err, fault.Conflict, "one_federation")
	_, err = acme.JoinRequest(ctx, true, nil)
	refusedAs(t, err, fault.Conflict, "one_federation")
	other := draftOf(t, found(t, "one", clock), found(t, "two", clock), found(t, "three", clock)).Data
	for name, do := range map[string]func() error{
		"sign": func() error { _, err := acme.Sign(ctx, other, nil); return err },
		"diff": func() error { _, err := acme.Diff(ctx, other); return err },
	} {
		t.Run(name, func(t *testing.T) { refusedAs(t, do(), fault.Conflict, "one_federation") })
	}
}

// amend is a file with a child of the head that changes its name.
func amend(t *testing.T, o *org, name string) []byte {
	t.Helper()
	chain, _ := o.Charter()
	b, err := charter.Amend(chain.Head(), chain.Federation(), o.clock.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	b.Policy.ClockSkewS = 60 + uint64(len(name))
	e, err := envelope.Seal(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	data, err := charter.File{Charters: []envelope.Envelope{e}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// hear makes the trio fresh.
func hear(list ...*org) {
	for _, from := range list {
		e := from.beacon()
		for _, to := range list {
			if to != from {
				to.take(e)
			}
		}
	}
}

func TestSecondBodyOfASlotIsRefused(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	ctx := t.Context()
	one, two := amend(t, acme, "a"), amend(t, acme, "bb")
	_, err := acme.Sign(ctx, one, nil)
	refusedAs(t, err, fault.Stale, "unconfirmed")
	hear(acme, vendor, arbiter)
	signed := acme.sign(one)
	_, err = acme.Sign(ctx, two, nil)
	refusedAs(t, err, fault.Conflict, "already_signed")
	if len(signed.Signed) != 1 || len(signed.Missing) == 0 {
		t.Errorf("signed %v, missing %v", signed.Signed, signed.Missing)
	}
	_, err = acme.Apply(ctx, signed.Data, "")
	refusedAs(t, err, fault.NeedsApproval, "threshold")
	// The commit shows in the next beacon.
	b, err := envelope.Decode[federation.Beacon](acme.beacon())
	if err != nil || b.Committed == nil || b.Committed.Body != signed.ID || b.Committed.Seq != 1 {
		t.Errorf("beacon says %+v, %v", b.Committed, err)
	}
	// Two of three are enough, and the third follows by file or from a peer.
	file := vendor.sign(signed.Data).Data
	if a := acme.apply(file); a.Seq != 1 || !a.Changed {
		t.Errorf("applied %+v", a)
	}
	fresh, err := arbiter.OfferCharter(ctx, acme.ChartersFrom(1)[0])
	if err != nil || !fresh {
		t.Errorf("from a peer: %v, %v", fresh, err)
	}
	if fresh, err := arbiter.OfferCharter(ctx, acme.ChartersFrom(1)[0]); err != nil || fresh {
		t.Errorf("again: %v, %v", fresh, err)
	}
	acme.restartKeepsHead(t)
	arbiter.restartKeepsHead(t)
}

func (o *org) restartKeepsHead(t *testing.T) {
	t.Helper()
	before, _ := o.Charter()
	bindings, beacons := len(o.Bindings()), len(o.Beacons())
	o.start()
	after, ok := o.Charter()
	if !ok || after.Head().ID != before.Head().ID || after.Federation() != before.Federation() {
		t.Errorf("%s: head %v before, %v after a restart", o.name, before.Head().ID, after.Head().ID)
	}
	if len(o.Bindings()) != bindings || len(o.Beacons()) != beacons {
		t.Errorf("%s: %d bindings and %d beacons before, %d and %d after", o.name, bindings, beacons, len(o.Bindings()), len(o.Beacons()))
	}
	if s := o.stateNow(); s != federation.Recovering {
		t.Errorf("%s is %s after a restart", o.name, s)
	}
}

func TestSiblingForks(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	// A liar signs both: its pins are gone in between.
	one, two := amend(t, acme, "a"), amend(t, acme, "bb")
	first := vendor.sign(acme.sign(one).Data).Data
	acme.stop()
	acme.pins = pins.Memory()
	acme.start()
	if err := acme.Confirmed(t.Context(), vendor.did); err != nil {
		t.Fatal(err)
	}
	hearFrom(acme, vendor, arbiter)
	if err := acme.state.Update(t.Context(), forgetCommits(acme)); err != nil {
		t.Fatal(err)
	}
	second := arbiter.sign(acme.sign(two).Data).Data
	vendor.apply(first)
	_, err := vendor.Apply(t.Context(), second, "")
	refusedAs(t, err, fault.Forked, "sibling")
	if s := vendor.stateNow(); s != federation.Forked {
		t.Errorf("state is %s", s)
	}
	vendor.start()
	if _, rs, _ := vendor.State(clock.Now()); !slices.ContainsFunc(rs, func(r federation.Reason) bool { return r.State == federation.Forked }) {
		t.Errorf("after a restart: %v", rs)
	}
}

// TestSigningGoesOnAfterACrash: whatever step a signature got to, signing again gives the
// same file and one event.
func TestSigningGoesOnAfterACrash(t *testing.T) {
	want := []string{"log.opened", "charter.signed"}
	for _, step := range []string{"pinned", "logged"} {
		t.Run(step, func(t *testing.T) {
			acme, vendor, arbiter := trio(t, newDial())
			d := draftOf(t, acme, vendor, arbiter)
			ctx := t.Context()
			f, err := readFile(d.Data)
			if err != nil {
				t.Fatal(err)
			}
			res, err := acme.review(ctx, f, t0)
			if err != nil {
				t.Fatal(err)
			}
			if step == "pinned" {
				slot := charter.SlotOf(res.Draft.Body, res.Draft.ID)
				if err := acme.pins.Put(ctx, slot, res.Draft.ID.String()); err != nil {
					t.Fatal(err)
				}
			} else if _, err := acme.commit(ctx, res, nil, t0); err != nil {
				t.Fatal(err)
			}
			acme.start()
			one := acme.sign(d.Data)
			if again := acme.sign(d.Data); !bytes.Equal(one.Data, again.Data) || len(one.Signed) != 1 {
				t.Errorf("signed by %v, and another file the second time", one.Signed)
			}
			if got := acme.eventTypes(); !slices.Equal(got, want) {
				t.Errorf("log holds %v", got)
			}
		})
	}
}

// TestTheGovernanceKeySignsCharters: an organization with a governance key joins and signs
// by it, and its node alone, which holds only the issuer key, cannot.
func TestTheGovernanceKeySignsCharters(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := trio(t, clock)
	ctx := t.Context()
	paper, other := newPaper(t), newPaper(t)
	clock.turn(time.Minute)
	vendor.rotate(RotateInput{Role: RoleGovernance, Governance: given(paper.Public())})
	_, err := vendor.JoinRequest(ctx, true, nil)
	refusedAs(t, err, fault.Unauthenticated, "governance_keys")
	_, err = vendor.JoinRequest(ctx, true, other.Signer())
	refusedAs(t, err, fault.Unauthenticated, "governance_keys")
	j, err := vendor.JoinRequest(ctx, true, paper.Signer())
	if err != nil {
		t.Fatal(err)
	}
	d, err := acme.Create(ctx, CreateInput{Name: "fin-lending", With: [][]byte{j.Data, arbiter.join(true)}, Mediators: [][]byte{arbiter.join(true)}})
	if err != nil {
		t.Fatal(err)
	}
	f := arbiter.sign(acme.sign(d.Data).Data).Data
	_, err = vendor.Sign(ctx, f, nil)
	refusedAs(t, err, fault.Unauthenticated, "governance_keys")
	_, err = vendor.Sign(ctx, f, other.Signer())
	refusedAs(t, err, fault.Unauthenticated, "governance_keys")
	signed, err := vendor.Sign(ctx, f, paper.Signer())
	if err != nil || len(signed.Missing) != 0 {
		t.Fatalf("missing %v, %v", signed.Missing, err)
	}
	for _, o := range []*org{acme, vendor, arbiter} {
		o.apply(signed.Data)
	}
	c, _ := acme.Charter()
	if r, _ := c.Head().Member(vendor.did); r.Key.Pub != paper.Public() {
		t.Errorf("the charter names %s", r.Key.Kid)
	}
	hear(acme, vendor, arbiter)
	// The issuer key may change as often as it likes; the charter's key stays.
	clock.turn(time.Minute)
	vendor.rotate(RotateInput{})
	vendor.logTo2(acme)
	acme.restartKeepsHead(t)
	vendor.restartKeepsHead(t)
}
