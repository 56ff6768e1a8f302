package member

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"trustnode/did/didwebvh"
	"trustnode/did/keyring"
	"trustnode/federation"
	"trustnode/federation/bundle"
	"trustnode/node/fault"
)

// A file that is older than what is held does not vouch for what came after it.
func TestTheWalkSaysHowFarAFileGoes(t *testing.T) {
	clock := newDial()
	acme := found(t, "acme", clock)
	h := acme.history()
	file := bundle.DIDLog{DID: acme.did, From: 1, Log: h.Log()}
	now := must(acme.node.Ring.Head(t.Context(), acme.did))
	if got := logWords(file, now); got != "DID log of acme.example verifies up to "+h.Head().ID {
		t.Error(got)
	}
	clock.turn(time.Minute)
	acme.rotate(RotateInput{Reason: "scheduled"})
	now = must(acme.node.Ring.Head(t.Context(), acme.did))
	if got, want := logWords(file, now), "DID log of acme.example verifies up to "+h.Head().ID+", the one held here goes on to "+now.ID; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := logWords(bundle.DIDLog{DID: acme.did, Log: []byte(`{"id":"did:web:x"}`)}, keyring.Version{ID: "z"}); !strings.HasSuffix(got, "verifies up to z") {
		t.Error(got)
	}
}

// What a witness answers is told in words, and what it does not answer with the time it had.
func TestWhatAWitnessSaysIsTold(t *testing.T) {
	clock := newDial()
	acme, vendor, _ := witnessedTrio(t, clock)
	for reason, want := range map[string]string{
		"restored":   "vendor.example was put back from a copy and leaves this entry to another witness",
		"recovering": "vendor.example is recovering and signs nothing yet",
		"odd":        `vendor.example refuses: "odd"`,
	} {
		e := Endorsement{Status: http.StatusForbidden, Body: []byte(reason)}
		if s := answered(vendor.did, vendor.witness, "2-x", e); !strings.HasPrefix(s.why, want) || s.mute || s.proof != nil {
			t.Errorf("%s: %+v", reason, s)
		}
	}
	acme.reach = nil
	clock.turn(time.Minute)
	_, err := acme.Rotate(t.Context(), RotateInput{Authority: acme.authority(), Reason: "scheduled"})
	refusedAs(t, err, fault.NeedsApproval, reasonWitnesses)
	clock.turn(12 * time.Minute)
	_, err = acme.ResumeEntry(t.Context(), nil, nil, 0)
	if d := fault.From(err); d == nil || !strings.Contains(d.Detail, "vendor.example has not answered for 12m0s") {
		t.Errorf("after 12 minutes: %v", err)
	}
	acme.cfg.Endorse = nil // no node runs
	_, err = acme.ResumeEntry(t.Context(), nil, nil, 0)
	if d := fault.From(err); d == nil || !strings.Contains(d.Detail, "was not asked") || strings.Contains(d.Detail, "12m0s") {
		t.Errorf("without a node: %v", err)
	}
}

// A witness that is none says who is.
func TestNoWitnessOfThisEntry(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	h := acme.history()
	line, err := didwebvh.Rotate(t.Context(), h, didwebvh.RotateRequest{Update: must(nextUpdate(t.Context(), h, stick{Store: acme.update})), Next: newPaper(t).Public(), At: clock.Now().Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = vendor.WitnessByHand(t.Context(), acme.did, line)
	refusedAs(t, err, fault.Refused, "not_listed")
}

// A refusal of a node that recovers names a command.
func TestRecoveringNamesACommand(t *testing.T) {
	clock := newDial()
	acme, _, _ := federated(t, clock)
	acme.start()
	_, err := acme.Rotate(t.Context(), RotateInput{Authority: acme.authority(), Reason: "scheduled"})
	refusedAs(t, err, fault.Refused, federation.Recovering.String())
	if d := fault.From(err); !strings.Contains(d.Hint, "trustnode run") {
		t.Errorf("hint %q", d.Hint)
	}
}
