package casefile

import (
	"context"
	"slices"
	"testing"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/bundle"
	"trustnode/mediation"
)

// carried lists the ids of what a file carries beside log entries.
func carried(t *testing.T, file []byte) map[envelope.ID]bool {
	t.Helper()
	out := map[envelope.ID]bool{}
	for _, l := range must(split(context.Background(), file)).lines {
		switch l := l.Line.(type) {
		case bundle.Envelope:
			out[l.ID()] = true
		case bundle.Body:
			out[l.ID()] = true
		case bundle.Row:
			out[envelope.IDOf(l.Row)] = true
		}
	}
	return out
}

// TestAListOfEvidenceDoesNotReachIntoOtherLoans: the node that writes the file holds a loan
// of acme to the arbiter's agent, and the texts of another case. The vendor names them all.
func TestAListOfEvidenceDoesNotReachIntoOtherLoans(t *testing.T) {
	w := newWorld(t, "acme", "vendor", "arbiter")
	w.lend()
	mine := []envelope.ID{w.perm, w.revoked, w.read, w.receipt, w.denied, w.granted}
	quant, perm := w.quant, w.perm
	w.quant = w.newAgent(w.arbiter, "spy", keyring.Borrow)
	w.lend()
	body := w.acme.facts[slices.IndexFunc(w.acme.facts, func(f attestation.Fact) bool {
		e := f.Event.Body()
		return e.Type == "loan.issued" && e.Subject == w.perm.String()
	})]
	text := w.text("the reasons of another case")
	ruled := must(envelope.Marshal(mediation.Ruling{Case: envelope.IDOf([]byte("another")), Claims: []mediation.Finding{{Acts: 1, Items: []uint64{1}, N: 1, Result: "not_proven"}},
		Considered: mediation.Considered{Count: 1, Root: envelope.IDOf([]byte("r"))}, Outcome: "respondent", Reasons: text, Remedies: []mediation.Remedy{}, Rung: "neutral", Summary: "s"}))
	w.event(w.arbiter, attestation.Draft{Type: "ruling.issued", Subject: envelope.IDOf([]byte("another")).String(), Body: ruled})
	theirs := map[string]envelope.ID{"permission": w.perm, "revocation": w.revoked, "readrequest": w.read, "receipt": w.receipt, "row": w.denied, "document": text}

	w.quant, w.perm = quant, perm
	list := []any{"permission", mine[0], "revocation", mine[1], "readrequest", mine[2], "receipt", mine[3], "row", mine[4], "row", mine[5]}
	for kind, id := range theirs {
		list = append(list, kind, id)
	}
	list = append(list, "document", body.Event.Body().Body, "event", body.Event.ID())
	m := must(mediation.ParseManifest(w.manifest(list...)))
	m.Items[len(m.Items)-1].Where = &mediation.Where{Org: w.acme.did, Index: body.Index}
	w.file(1, must(envelope.Marshal(m)))
	file := w.build()
	if r := verify(file, Options{}); !r.OK {
		t.Fatal(r.Broken)
	}
	has := carried(t, file)
	for i, id := range mine {
		if !has[id] {
			t.Errorf("item %d of the loan in question is left out", i+1)
		}
	}
	for kind, id := range theirs {
		if has[id] {
			t.Errorf("the %s of others is in the file", kind)
		}
	}
	if has[body.Event.Body().Body] {
		t.Error("the private body of another loan's event is in the file")
	}
}
