package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"trustnode/attestation/history"
	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/node/recorder"
)

// TestARingOfRealDIDLogs builds the DID of the worked example and reads it
// through the adapter.
func TestARingOfRealDIDLogs(t *testing.T) {
	ctx := context.Background()
	at := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	issuer, witness := seeded(0x11), seeded(0x14)
	d, line, err := didwebvh.Create(ctx, didwebvh.CreateRequest{
		Domain: "acme.example", Update: seeded(1), Next: seeded(2).Public(), Recovery: seeded(3).Public(), Issuer: issuer.Public(), At: at,
		Services: []didwebvh.Service{{Name: "witness", Type: "TrustnodeWitness", Endpoint: "did:key:" + witness.kid()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	k := keyring.New(keyring.Memory(), pins.Memory(), func() time.Time { return at.Add(time.Hour) })
	if err := k.Load(ctx); err != nil {
		t.Fatal(err)
	}
	r := recorder.RingOf(k)
	if known, err := r.Known(ctx, d); err != nil || len(known) != 0 {
		t.Errorf("before it is offered: %v (%v)", known, err)
	}
	if _, err := k.Offer(ctx, d, append(line, '\n'), nil); err != nil {
		t.Fatal(err)
	}
	known, err := r.Known(ctx, d)
	if err != nil || len(known) != 1 {
		t.Fatalf("known %v (%v)", known, err)
	}
	keys, err := r.Keys(ctx, d, known[0])
	if want := map[string]did.PublicKey{issuer.kid(): issuer.Public()}; err != nil || fmt.Sprint(keys) != fmt.Sprint(want) {
		t.Errorf("keys %v (%v), want %v", keys, err, want)
	}
	if _, err := r.Keys(ctx, d, "2-Qm"); !errors.Is(err, history.ErrUnknownVersion) {
		t.Errorf("a version that is not held: %v", err)
	}
	if w := r.Witness(ctx, d); len(w) != 1 || w[0] != witness.Public() {
		t.Errorf("witness keys %v", w)
	}
	key := did.MustParse("did:key:" + issuer.kid())
	if keys, err := r.Keys(ctx, key, did.StaticVersion); err != nil || keys[issuer.kid()] != issuer.Public() {
		t.Errorf("keys of a did:key %v (%v)", keys, err)
	}
}
