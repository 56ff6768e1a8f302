package verifier_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"trustnode/node/verifier"
)

// story is a file, what is given along, and the golden files of both.
type story struct {
	name    string // of the golden report, without .txt
	file    string // golden file
	bytes   []byte
	o       verifier.Options
	outcome verifier.Outcome
}

func stories() []story {
	h, w := two()
	rot := rotated()
	whole := pack(append(append(rot.lines(i2, 0, 1, 2), logLines(plain())...), append(logLines(beta()), env(agent()))...)...)
	unannounced := pack(append(append(rot.lines(i2, 0, 1), logLines(plain())...), append(logLines(beta()), env(agent()))...)...)
	other := bytes.Replace(vc(), []byte("eddsa-jcs-2022"), []byte("ecdsa-sd-2023"), 1)
	doc := h.Head().Document.Raw()
	return []story{
		{"log", "did.jsonl", h.Log(), verifier.Options{Witness: witness(w)}, verifier.Verifies},
		{"log-fingerprint", "did.jsonl", h.Log(), verifier.Options{Witness: witness(w), Strict: true, Fingerprint: "org1-ny24-jc3a-olhj-xfze-kjde-xrpa-xaxv-wypc-lglj"}, verifier.Verifies},
		{"log-without-witness-file", "did.jsonl", h.Log(), verifier.Options{}, verifier.Pending},
		{"log-shorter-than-known", "did-1.jsonl", one().Log(), verifier.Options{With: withTwo()}, verifier.Broken},
		{"log-forked", "did-fork.jsonl", plain().Log(), verifier.Options{With: withTwo()}, verifier.Broken},
		{"witness-file-alone", "did-witness.json", w, verifier.Options{}, verifier.Unproven},
		{"document", "did.json", doc, verifier.Options{}, verifier.Unproven},
		{"join", "join.tnb", join(), verifier.Options{}, verifier.Verifies},
		{"boot", "boot.tnb", boot(), verifier.Options{}, verifier.Verifies},
		{"draft-lacks-a-signature", "draft.tnb", pack(append(append(logLines(h), logLines(beta())...), env(genesis(bi, gi)))...), verifier.Options{}, verifier.Pending},
		{"agent", "agent.json", agent().DSSE(), verifier.Options{With: with(one().Log())}, verifier.Verifies},
		{"agent-without-log", "agent.json", agent().DSSE(), verifier.Options{}, verifier.Pending},
		{"agent-key-retired", "agent.json", agent().DSSE(), verifier.Options{With: withTwo()}, verifier.Pending},
		{"agent-anchored", "agent.json", agent().DSSE(), verifier.Options{With: with(whole)}, verifier.Verifies},
		{"agent-ended", "agent.json", agent().DSSE(), verifier.Options{With: with(one().Log()), At: day1.Add(31 * 24 * time.Hour)}, verifier.Broken},
		{"evidence", "evidence.tnb", whole, verifier.Options{}, verifier.Verifies},
		{"evidence-without-rotation", "evidence-pending.tnb", unannounced, verifier.Options{}, verifier.Pending},
		{"credential", "credential.json", vc(), verifier.Options{With: with(one().Log())}, verifier.Verifies},
		{"credential-without-issuer", "credential.json", vc(), verifier.Options{}, verifier.Pending},
		{"credential-unsupported", "credential-sd.json", other, verifier.Options{With: with(one().Log())}, verifier.Unsupported},
	}
}

func TestWhatFilesProveIsGolden(t *testing.T) {
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			s.o.Name = s.file
			r := verify(s.bytes, s.o)
			golden(t, s.file, s.bytes)
			golden(t, s.name+".txt", []byte(text(r)))
			if r.Outcome != s.outcome || r.OK != (s.outcome == verifier.Verifies) || r.OK != (r.Why == "") {
				t.Errorf("outcome %s, ok %v, why %q; want %s", r.Outcome, r.OK, r.Why, s.outcome)
			}
			if s.outcome == verifier.Unsupported && strings.Contains(strings.ToLower(text(r)), "valid") {
				t.Errorf("a verdict on what is undecided:\n%s", text(r))
			}
		})
	}
}
