package attestation_test

import (
	"context"
	"encoding/base64"
	"testing"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
)

// The golden event, and its private body. Frozen.
const (
	goldenEvent = `{"at":"2026-12-01T10:00:02Z","body":"zQmZ3AS2YAb2rFizNcngcrHk7c5MmZqCzxwrhiBSgu5s6KC","data":{"expires_at":"2026-12-31T00:00:00Z","hygiene":[],"lender":"did:web:harbor.example:agents:berths","max_reads":5000,"patterns":["read"],"permission":"zQmdUqbkEpxZ4vG1d6WerUMHNoFokip3gY9YEGtk2RhsEMn"},"kid":"key-1","nonce":"wMDAwMDAwMDAwMDAwMDAwA",` +
		`"org":"did:web:harbor.example","refs":["zQmdUqbkEpxZ4vG1d6WerUMHNoFokip3gY9YEGtk2RhsEMn"],"subject":"zQmdUqbkEpxZ4vG1d6WerUMHNoFokip3gY9YEGtk2RhsEMn","type":"loan.issued"}`
	goldenBody = `{"borrower":"did:web:line.example:agents:planner","matches":118,"salt":"UVFRUVFRUVFRUVFRUVFRUQ"}`
	goldenID   = "zQmRzpNSPHZ847RCg2H2cQdMHsUky3bifEC5SGHRGPm7FTw"
	goldenSig  = "PZw4l+VP+yMDBnpBkURibquKULG6m5wUyYaaVAYabHl/CTGdUL8OoaugQIy6UecQu7wtNw13Mccod4A5WCe5Cw=="
)

func goldenDraft(t *testing.T) attestation.Event {
	t.Helper()
	perm, _ := envelope.ParseID("zQmdUqbkEpxZ4vG1d6WerUMHNoFokip3gY9YEGtk2RhsEMn")
	until, _ := envelope.ParseTime("2026-12-31T00:00:00Z")
	at, _ := envelope.ParseTime("2026-12-01T10:00:02Z")
	data, err := envelope.Marshal(attestation.LoanIssued{
		ExpiresAt: until, Hygiene: []string{}, Lender: did.MustParse("did:web:harbor.example:agents:berths"),
		MaxReads: 5000, Patterns: []string{"read"}, Permission: perm,
	})
	if err != nil {
		t.Fatal(err)
	}
	return attestation.Event{
		At: at, Body: envelope.IDOf([]byte(goldenBody)), Data: data, Kid: "key-1", Nonce: "wMDAwMDAwMDAwMDAwMDAwA",
		Org: did.MustParse("did:web:harbor.example"), Refs: []envelope.ID{perm}, Subject: perm.String(), Type: "loan.issued",
	}
}

func TestGoldenEventIsRebuilt(t *testing.T) {
	env, err := envelope.Seal(context.Background(), goldenDraft(t), envelopetest.Repeat(0x41))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(env.Body); got != goldenEvent {
		t.Fatalf("body\n got %s\nwant %s", got, goldenEvent)
	}
	if got := env.ID().String(); got != goldenID {
		t.Errorf("id %s, want %s", got, goldenID)
	}
	if got := base64.StdEncoding.EncodeToString(env.Signatures[0].Sig[:]); got != goldenSig {
		t.Errorf("signature %s, want %s", got, goldenSig)
	}
	entry, err := attestation.EntryOf(env)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := [3]int{len(env.Body), len(entry), len(env.DSSE())}, [3]int{510, 575, 880}; got != want {
		t.Errorf("event, entry, DSSE bytes %v, want %v", got, want)
	}
}

func TestEntryAndEnvelopeConvertWithoutLoss(t *testing.T) {
	env, err := envelope.Seal(context.Background(), goldenDraft(t), envelopetest.Repeat(0x41))
	if err != nil {
		t.Fatal(err)
	}
	entry, err := attestation.EntryOf(env)
	if err != nil {
		t.Fatal(err)
	}
	back, ev, err := entry.Envelope()
	if err != nil {
		t.Fatal(err)
	}
	if string(back.DSSE()) != string(env.DSSE()) || back.ID() != env.ID() || entry.ID() != env.ID() {
		t.Errorf("entry gives %s, sealed was %s", back.DSSE(), env.DSSE())
	}
	if err := attestation.CheckKnown(ev); err != nil {
		t.Error(err)
	}
	compact, err := env.Compact()
	if err != nil {
		t.Fatal(err)
	}
	again, err := envelope.ParseCompact(compact, attestation.TypeEvent, attestation.MaxEvent)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := attestation.EntryOf(again); err != nil || string(e) != string(entry) {
		t.Errorf("compact form gives another entry: %v", err)
	}
	if _, err := envelope.Open[attestation.Event](context.Background(), back, only(envelopetest.Repeat(0x41).Public())); err != nil {
		t.Error(err)
	}
}

func only(k did.PublicKey) envelope.KeySource {
	return envelope.KeySourceFunc(func(context.Context, did.DID, string) (did.Key, error) {
		return did.Key{Public: k, Version: "1"}, nil
	})
}
