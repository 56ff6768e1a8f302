package member

import (
	"fmt"
	"strings"
	"testing"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/charter"
	"trustnode/node/store"
)

// speak appends n events to o's log.
func (o *org) speak(n int) {
	o.t.Helper()
	for i := range n {
		id := envelope.IDOf(fmt.Append(nil, o.name, i, o.size(o.did)))
		err := o.node.DB.Update(o.t.Context(), func(tx store.Tx) error {
			_, err := o.node.Rec.Event(tx, attestation.Draft{Type: "charter.signed", Subject: id.String(), Refs: []envelope.ID{id}, Data: attestation.CharterSigned{Body: id, Seq: uint64(i)}})
			return err
		})
		if err != nil {
			o.t.Fatal(err)
		}
	}
	if err := o.node.Rec.Flush(o.t.Context()); err != nil {
		o.t.Fatal(err)
	}
}

// TestACharterEndsTheLogOfAMember: what the record of a member says of its log holds from the
// charter on that is applied, for entries that came before, come later or are judged by a node
// that starts.
func TestACharterEndsTheLogOfAMember(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	acme.speak(8)
	acme.didTo(vendor)
	acme.logTo(vendor)
	l, err := acme.events.Log(t.Context(), acme.did)
	if err != nil {
		t.Fatal(err)
	}
	held := acme.size(acme.did)
	cut, err := attlog.RootAt(held-2, l)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := vendor.Charter()
	record, _ := c.Head().Member(acme.did)
	if b := vendor.BoundsOf(acme.did); b.Cut != nil || b.Gaps != nil {
		t.Errorf("an active member is bounded: %+v", b)
	}
	taint := held - 4
	record.Status, record.Gaps = charter.StatusExpelled, []charter.Gap{{From: 2, To: 3}}
	record.Cutoff = &charter.Cutoff{DIDHead: record.DIDHead, Log: charter.LogHead{Root: cut.Root, Size: cut.Size}, Reason: "conduct", TaintFrom: &taint}
	vendor.ended = map[did.DID]charter.Member{acme.did: record}
	if got := vendor.standings(acme); strings.Contains(got, "void") || strings.Contains(got, "disputed") {
		t.Fatalf("before the charter: %s", got)
	}
	file := amend(t, vendor, "later")
	for _, o := range []*org{vendor, arbiter} {
		file = o.sign(file).Data
	}
	vendor.apply(file)
	want := strings.Repeat("valid ", 2) + "void:gap " + strings.Repeat("valid ", int(held)-6) + "disputed:taint void:cutoff void:cutoff"
	if got := vendor.standings(acme); got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	acme.speak(1)
	acme.logTo(vendor)
	want += strings.Repeat(" void:cutoff", int(acme.size(acme.did)-held))
	for range 2 {
		if got := vendor.standings(acme); got != want {
			t.Errorf("later: got %s, want %s", got, want)
		}
		vendor.start()
	}
}

func (o *org) standings(of *org) (out string) {
	o.t.Helper()
	for i := range o.size(of.did) {
		v, err := o.events.Verdict(o.t.Context(), of.did, i)
		if err != nil {
			o.t.Fatal(err)
		}
		if i > 0 {
			out += " "
		}
		if out += v.Standing.String(); v.Reason != "" {
			out += ":" + string(v.Reason)
		}
	}
	return out
}
