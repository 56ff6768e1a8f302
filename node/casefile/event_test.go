package casefile

import (
	"context"
	"errors"
	"testing"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
)

// rotatedStory is the whole case, with both parties' keys rotated before it is filed.
func rotatedStory(t testing.TB) *world {
	w := newWorld(t, "acme", "vendor", "arbiter")
	g := w.chain.Head()
	for _, o := range []*org{w.acme, w.vendor} {
		w.event(o, attestation.Draft{Type: "charter.signed", Subject: g.ID.String(), Refs: []envelope.ID{g.ID}, Data: attestation.CharterSigned{Body: g.ID}})
	}
	w.rotate(w.vendor, true)
	w.lend()
	w.rotate(w.acme, true)
	w.file(1, w.manifest("permission", w.perm, "revocation", w.revoked, "row", w.denied, "readrequest", w.req, "row", w.granted, "receipt", w.receipt))
	w.answer()
	w.rule()
	return w
}

// eventOf is the first event of a type in the log of o.
func (o *org) eventOf(t testing.TB, typ attestation.Type) envelope.ID {
	t.Helper()
	for _, f := range o.facts {
		if f.Event.Body().Type == typ {
			return f.Event.ID()
		}
	}
	t.Fatalf("no %s", typ)
	return envelope.ID{}
}

// TestTheProofOfAnEventIsGolden: package verifier says what these files prove.
func TestTheProofOfAnEventIsGolden(t *testing.T) {
	w := rotatedStory(t)
	for name, typ := range map[string]attestation.Type{"proof.tnb": "loan.issued", "proof-public.tnb": "dispute.filed"} {
		b, err := Prove(context.Background(), w, Place{w.acme.did, w.acme.eventOf(t, typ)})
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, b)
	}
	acme := w.acme.did
	issued := w.acme.eventOf(t, "loan.issued")
	b, err := Prove(context.Background(), w, Place{acme, issued}, Place{ID: w.acme.bodyOf(t, "loan.issued")}, Place{acme, w.denied}, Place{acme, w.acme.eventOf(t, "loan.revoked")})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "proof-with.tnb", b)
	if b, err = Prove(context.Background(), w, Place{acme, w.granted}); err != nil {
		t.Fatal(err)
	}
	golden(t, "proof-row.tnb", b)
}

// bodyOf is the id of the body of the first event of a type in the log of o.
func (o *org) bodyOf(t testing.TB, typ attestation.Type) envelope.ID {
	t.Helper()
	id := o.eventOf(t, typ)
	for _, f := range o.facts {
		if f.Event.ID() == id {
			return f.Event.Body().Body
		}
	}
	return envelope.ID{}
}

// TestAProofIsUnderTheHeadThatMostHaveSeen: vendor sees a head of acme first, and a later one together with the arbiter.
func TestAProofIsUnderTheHeadThatMostHaveSeen(t *testing.T) {
	w := newWorld(t, "acme", "vendor", "arbiter")
	w.arbiter.asleep = true
	w.lend()
	w.arbiter.asleep = false
	for range 2 {
		w.event(w.acme, attestation.Draft{Type: "charter.signed", Subject: w.chain.Head().ID.String(), Refs: []envelope.ID{w.chain.Head().ID}, Data: attestation.CharterSigned{Body: w.chain.Head().ID}})
	}
	id := w.acme.eventOf(t, "loan.issued")
	for _, l := range must(split(context.Background(), must(Prove(context.Background(), w, Place{w.acme.did, id})))).lines {
		e, ok := l.Line.(bundle.Entry)
		if !ok || attestation.Entry(e.Entry).ID() != id {
			continue
		}
		n := must(attlog.ParseProof(e.Proof)).Note
		if got, first := n.Head.Size, uint64(len(w.acme.entries)-1); len(n.Lines) != 3 || got != first {
			t.Errorf("it is under the head of size %d with %d lines, that of size %d is the first that both have seen", got, len(n.Lines), first)
		}
		return
	}
	t.Error("the event is not in the file")
}

// TestAProofHoldsNoCosignatureOfAStranger proves an event of a member together with one of an organization that no charter
// names, which has cosigned the member's log.
func TestAProofHoldsNoCosignatureOfAStranger(t *testing.T) {
	w := newWorld(t, "acme", "vendor", "arbiter")
	outside := w.newOrg("outside")
	w.orgs = append(w.orgs, outside)
	opened := w.event(outside, attestation.Draft{Type: "log.opened", Data: attestation.LogOpened{DidVersion: outside.version}})
	w.lend()
	b, err := Prove(context.Background(), w, Place{outside.did, opened}, Place{w.acme.did, w.acme.eventOf(t, "loan.issued")})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, l := range must(split(context.Background(), b)).lines {
		e, ok := l.Line.(bundle.Entry)
		if !ok {
			continue
		}
		for _, l := range must(attlog.ParseProof(e.Proof)).Note.Lines {
			switch d, ok := l.Witness(); {
			case ok && d == outside.did:
				t.Error("a stranger witnesses in the file")
			case ok:
				seen++
			}
		}
	}
	if seen == 0 {
		t.Error("nobody witnesses in the file")
	}
}

func TestWhatIsNotHeldIsNotProven(t *testing.T) {
	w := story(t)
	id := w.acme.eventOf(t, "loan.issued")
	for name, f := range map[string]func() ([]byte, error){
		"an event of nobody": func() ([]byte, error) { return Prove(context.Background(), w, Place{w.acme.did, w.id2()}) },
		"a body of another event": func() ([]byte, error) {
			return Prove(context.Background(), w, Place{w.acme.did, id}, Place{ID: w.acme.bodyOf(t, "dispute.filed")})
		},
		"an event of another's log": func() ([]byte, error) { return Prove(context.Background(), w, Place{w.vendor.did, id}) },
	} {
		if b, err := f(); !errors.Is(err, attestation.ErrNotFound) || b != nil {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}
