package envelope_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Invitation is a signed object: its struct is the format, its methods say who signs it and what it may hold.
type Invitation struct {
	Host  did.DID       `json:"host"`
	Kid   string        `json:"kid"`
	Guest string        `json:"guest"`
	Until envelope.Time `json:"until"`
	Seats uint64        `json:"seats,omitempty"`
	Note  string        `json:"note,omitempty" text:"multiline"`
}

func (Invitation) Payload() envelope.Type      { return envelope.TypeOf("invitation") }
func (i Invitation) Signer() (did.DID, string) { return i.Host, i.Kid }

func (i Invitation) Check() error {
	if i.Guest == "" {
		return errors.New("guest is empty")
	}
	return nil
}

// memorySigner holds a key in memory, which no real node does.
type memorySigner struct{ private ed25519.PrivateKey }

func (s memorySigner) Public() did.PublicKey {
	k, err := did.NewEd25519(s.private.Public().(ed25519.PublicKey))
	if err != nil {
		panic(err)
	}
	return k
}

func (s memorySigner) Sign(_ context.Context, p envelope.Preimage) (did.Signature, error) {
	return did.Signature(ed25519.Sign(s.private, p.Bytes())), nil
}

// A host seals an invitation, a doorkeeper who knows the host's key opens it, and a guest who adds a seat is found out.
func Example() {
	ctx := context.Background()
	host := did.MustParse("did:web:host.example")
	signer := memorySigner{ed25519.NewKeyFromSeed(make([]byte, 32))}
	until, err := envelope.ParseTime("2026-12-31T20:00:00Z")
	if err != nil {
		fmt.Println(err)
		return
	}
	sealed, err := envelope.Seal(ctx, Invitation{Host: host, Kid: "door", Guest: "Ada", Until: until, Seats: 2}, signer)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(sealed.Body))

	knownKeys := envelope.KeySourceFunc(func(_ context.Context, d did.DID, kid string) (did.Key, error) {
		if d != host || kid != "door" {
			return did.Key{}, envelope.ErrUnknownKey
		}
		return did.Key{Public: signer.Public(), Version: did.StaticVersion}, nil
	})
	received, err := envelope.ParseDSSE(sealed.DSSE(), envelope.MaxBytes[Invitation]())
	if err != nil {
		fmt.Println(err)
		return
	}
	invitation, err := envelope.Open[Invitation](ctx, received, knownKeys)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(invitation.Body().Guest, "may bring", invitation.Body().Seats)
	fmt.Println(invitation.ID())

	more := []byte(`{"guest":"Ada","host":"did:web:host.example","kid":"door","seats":3,"until":"2026-12-31T20:00:00Z"}`)
	forged := envelope.Envelope{Type: received.Type, Body: more, Signatures: received.Signatures}
	_, err = envelope.Open[Invitation](ctx, forged, knownKeys)
	fmt.Println(err)

	forged.Body = []byte(`{"Guest":"Eve","guest":"Ada","host":"did:web:host.example","kid":"door","until":"2026-12-31T20:00:00Z"}`)
	_, err = envelope.Open[Invitation](ctx, forged, knownKeys)
	fmt.Println(err)
	// Output:
	// {"guest":"Ada","host":"did:web:host.example","kid":"door","seats":2,"until":"2026-12-31T20:00:00Z"}
	// Ada may bring 2
	// zQmf8pwRmy1PEmsFG7wLnWRucZiGYwrmAsRoGroATauqNcP
	// invitation by did:web:host.example#door: signature does not verify
	// Guest: unknown key
}
