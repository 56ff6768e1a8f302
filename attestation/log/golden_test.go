package log_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
)

const goldenDID = "did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example"

const (
	goldenV1    = "1-QmNiNvcrst2EVsKesiwXhRbArLw7xo1XYCq9BfKP6vm5dS"
	goldenV2    = "2-QmRCpJ1PuyZbtPNtd68dAS1ry9eX2zC1iLWXQczwnw77eR"
	goldenAgent = "zQmQAfmsUVvmR97MWNnL3Zpb9MfEucB8v4ns1GpFTUdL4Jy"
	goldenRow   = `{"at":"2026-12-15T09:00:04Z","op":"export","salt":"sLCwsLCwsLCwsLCwsLCwsA"}`
	goldenProof = `c2sp.org/tlog-proof@v1
index 1
ze/TSZybX1TrbdVwjdOr6ft/j5EQOkdx10mhOhvjdbo=
JHrN0rEjxmdUm9SS+2sexGFwWHb776MGK8tmb4FXeaM=

did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example/log
4
sNhzE6fTLxRGUZ/X68o0/7Oe5V4Ilb/wAviQi7muLF8=

— did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example/log OAsgzx9xAR5Rw0KNwJBfzwngfPkF5tgjKbGXViEgVlFOktLFtbzz3S1LzhjgD6+FHnhNZBYQnoX4Ua5SpJb/4fgMuQM=
— did:web:beta.example/witness ptYz2wAAAABrIQGWczW7iBDYBQZr3Un6NGOg180Nwe2N8OpRdgnb3rvuw8qMokuzY/BSWfhDy/VkX0mFejbZY5gDiTdfhrrmV9NfDg==
`
)

func parseID(t testing.TB, s string) envelope.ID {
	t.Helper()
	id, err := envelope.ParseID(s)
	if err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return id
}

func parseTime(t testing.TB, s string) envelope.Time {
	t.Helper()
	at, err := envelope.ParseTime(s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func nonceOf(b byte) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat(string([]byte{b}), 16)))
}

// goldenLog builds the four entries of the golden log; third is the
// nonce byte of index 2.
func goldenLog(t testing.TB, third byte) []attestation.Entry {
	t.Helper()
	d := did.MustParse(goldenDID)
	i1, i2, a := envelopetest.Repeat(0x11), envelopetest.Repeat(0x13), envelopetest.Repeat(0x31)
	kid1, kid2 := i1.Public().Multikey(), i2.Public().Multikey()
	agent := did.MustParse("did:key:" + a.Public().Multikey())
	rows, err := envelope.Marshal(audit.Rows{First: 1, Salt: nonceOf(0xb1), Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(rows); got != `{"first":1,"salt":"sbGxsbGxsbGxsbGxsbGxsQ","size":1}` {
		t.Fatalf("rows body %s", got)
	}
	root := attlog.RootOf(attlog.Leaves([][]byte{[]byte(goldenRow)}))
	if got := root.String(); got != "zQmeMtCFsvVq1XpqKPybuYgdUUAzfRSJR3qdBSXnbEwu1ge" {
		t.Errorf("root of the row %s", got)
	}
	t1, t2 := parseTime(t, "2026-12-01T10:00:00Z"), parseTime(t, "2026-12-15T09:00:05Z")
	list := []struct {
		e    attestation.Event
		data any
		by   *envelopetest.Signer
	}{
		{attestation.Event{At: t1, Kid: kid1, Nonce: nonceOf(0xa0), Type: "log.opened"}, attestation.LogOpened{DidVersion: goldenV1}, i1},
		{attestation.Event{At: t1, Kid: kid1, Nonce: nonceOf(0xa1), Type: "agent.issued", Subject: agent.String(), Refs: []envelope.ID{parseID(t, goldenAgent)}},
			attestation.AgentIssued{Agent: agent, ID: parseID(t, goldenAgent), Name: "billing", Serial: 1}, i1},
		{attestation.Event{At: t2, Kid: kid1, Nonce: nonceOf(third), Type: "audit.rows", Body: envelope.IDOf(rows)}, attestation.AuditRows{Root: root}, i1},
		{attestation.Event{At: t2, Kid: kid2, Nonce: nonceOf(0xa3), Type: "key.rotated", Subject: goldenDID},
			attestation.KeyRotated{Added: []string{kid2}, Did: d, DidVersion: goldenV2, Previous: goldenV1, Reason: "scheduled", Retired: []string{kid1}}, i2},
	}
	var out []attestation.Entry
	for _, l := range list {
		raw, err := envelope.Marshal(l.data)
		if err != nil {
			t.Fatal(err)
		}
		l.e.Org, l.e.Data = d, raw
		env, err := envelope.Seal(context.Background(), l.e, l.by)
		if err != nil {
			t.Fatal(err)
		}
		en, err := attestation.EntryOf(env)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, en)
	}
	return out
}

func leavesOf(entries []attestation.Entry) []tlog.Hash {
	var out []tlog.Hash
	for _, e := range entries {
		out = append(out, e.Hash())
	}
	return out
}

func TestGoldenLogIsRebuilt(t *testing.T) {
	entries := goldenLog(t, 0xa2)
	ids := []string{"zQmYTRT2UXE1RcWseGhfU87x1PYmz5i2kmmqr91waoTT4o6", "zQmNnpBmTPoj2CCNdCwtuVkgDihpKbCE5h8hBnRwXfWEm4Y", "zQmSoaAAQ3FvrBX1Tbc23vnVydMxAEHDq8Zo5XNQKkGtLsZ", "zQmbQuHr9YkdJrEPfziDL3Mfi3KCMiZePaKsEZks8pmzNNe"}
	sizes := []int{301, 506, 350, 669}
	for i, en := range entries {
		if got := en.ID().String(); got != ids[i] || len(en.Body()) != sizes[i] {
			t.Errorf("event %d: id %s, %d bytes, want %s, %d", i, got, len(en.Body()), ids[i], sizes[i])
		}
		_, ev, err := en.Envelope()
		if err != nil {
			t.Fatal(err)
		}
		if err := attestation.CheckKnown(ev); err != nil {
			t.Errorf("event %d: %v", i, err)
		}
	}
	if got := attlog.RootOf(leavesOf(entries)).String(); got != "zQmaEytmdopGDUzJt6uFskK2c9vPhNX7nPiDDNy5UAAZyCJ" {
		t.Errorf("root %s", got)
	}
}

func goldenNote(t *testing.T) attlog.Note {
	t.Helper()
	ctx := context.Background()
	d := did.MustParse(goldenDID)
	head := attestation.Head{Size: 4, Root: attlog.RootOf(leavesOf(goldenLog(t, 0xa2)))}
	n, err := attlog.Sign(ctx, envelopetest.Repeat(0x13), d, head)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Verify(envelopetest.Repeat(0x11).Public()); err == nil {
		t.Error("head of size 4 verifies under the retired key")
	}
	line, err := attlog.Cosign(ctx, envelopetest.Repeat(0x21), did.MustParse("did:web:beta.example"), n, time.Date(2026, 12, 15, 9, 0, 6, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return n.With(line)
}

func TestGoldenNoteAndProofAreRebuilt(t *testing.T) {
	n := goldenNote(t)
	if got := len(n.Bytes()); got != 431 {
		t.Errorf("note of %d bytes, want 431", got)
	}
	leaves := leavesOf(goldenLog(t, 0xa2))
	path, err := attlog.PathOf(leaves, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := attlog.Proof{Index: 1, Path: path, Note: n}
	if got := string(p.Bytes()); got != goldenProof || len(got) != 553 {
		t.Fatalf("proof of %d bytes\n got %s\nwant %s", len(got), got, goldenProof)
	}
	back, err := attlog.ParseProof([]byte(goldenProof))
	if err != nil {
		t.Fatal(err)
	}
	if err := back.Check(leaves[1]); err != nil {
		t.Error(err)
	}
	if err := back.Check(leaves[2]); err == nil {
		t.Error("the proof of index 1 holds for another leaf")
	}
	if err := back.Note.Verify(envelopetest.Repeat(0x13).Public()); err != nil {
		t.Error(err)
	}
	seen, verdicts := back.Note.Cosignatures(func(did.DID) []did.PublicKey { return []did.PublicKey{envelopetest.Repeat(0x21).Public()} })
	if len(seen) != 1 || seen[0].At.String() != "2026-12-15T09:00:06Z" || seen[0].Witness.String() != "did:web:beta.example" {
		t.Errorf("cosignatures %v, verdicts %v", seen, verdicts)
	}
}

func vkey(name string, alg byte, k did.PublicKey) string {
	raw := append([]byte{alg}, k.Raw()...)
	return fmt.Sprintf("%s+%s+%s", name, keyHashHex(name, raw), base64.StdEncoding.EncodeToString(raw))
}

// TestAnOutsideToolTakesTheProof gives the golden proof to torchwood with the
// policy an auditor would be given.
func TestAnOutsideToolTakesTheProof(t *testing.T) {
	policy := fmt.Sprintf("log %s\nwitness w1 %s\ngroup g all w1\nquorum g\n",
		vkey(goldenDID+"/log", 1, envelopetest.Repeat(0x13).Public()), vkey("did:web:beta.example/witness", 4, envelopetest.Repeat(0x21).Public()))
	pol, err := torchwood.ParsePolicy([]byte(policy))
	if err != nil {
		t.Fatal(err)
	}
	leaf := goldenLog(t, 0xa2)[1].Hash()
	if err := torchwood.VerifyProof(pol, leaf, []byte(goldenProof)); err != nil {
		t.Error(err)
	}
	leaf[0] ^= 1
	if err := torchwood.VerifyProof(pol, leaf, []byte(goldenProof)); err == nil {
		t.Error("another leaf is taken")
	}
}

func keyHashHex(name string, raw []byte) string {
	h := sha256Sum([]byte(name + "\n" + string(raw)))
	return hex.EncodeToString(h[:4])
}
