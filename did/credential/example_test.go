package credential_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/did/credential"
	"trustnode/did/didkey"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
)

// A laboratory that is a did:key shows its agent to somebody who reads Verifiable Credentials.
func Example() {
	ctx := context.Background()
	lab, agent := envelopetest.Repeat(1), envelopetest.Repeat(2)
	labDID, _ := didkey.FromKey(lab.Public())
	agentDID, _ := didkey.FromKey(agent.Public())
	issued := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	object, err := keyring.SealAgent(ctx, keyring.Agent{
		Agent: agentDID, Capabilities: []keyring.Capability{keyring.Borrow}, IssuedAt: envelope.TimeOf(issued),
		Key: keyring.AgentKey{Kid: agent.Public().Multikey(), Pub: agent.Public()}, Kid: lab.Public().Multikey(),
		Kind: keyring.KindAgent, Name: "billing", NotAfter: envelope.TimeOf(issued.AddDate(0, 0, 30)),
		NotBefore: envelope.TimeOf(issued), Org: labDID, Serial: 1,
	}, lab, agent)
	if err != nil {
		fmt.Println(err)
	}
	verified, err := keyring.OpenAgent(ctx, object, envelope.KeySourceFunc(func(context.Context, did.DID, string) (did.Key, error) {
		return did.Key{Public: lab.Public(), Version: did.StaticVersion}, nil
	}))
	if err != nil {
		fmt.Println(err)
	}
	raw, err := credential.Export(ctx, verified, lab)
	if err != nil {
		fmt.Println(err)
	}

	options := credential.Options{At: issued.AddDate(0, 0, 1), Resolve: func(ctx context.Context, d did.DID) (did.Resolution, error) {
		return didkey.Resolver{}.Resolve(ctx, d, did.Material{}, did.Options{})
	}}
	result, err := credential.Verify(ctx, raw, options)
	fmt.Println(result.Issuer == labDID, result.Subjects[0] == agentDID.String(), result.Version, result.Status, err)

	options.At = issued.AddDate(0, 0, 30)
	_, err = credential.Verify(ctx, raw, options)
	fmt.Println(errors.Is(err, credential.ErrDates))

	_, err = credential.Verify(ctx, []byte("eyJhbGciOiJFZERTQSJ9.e30.AAAA"), options)
	fmt.Println(errors.Is(err, credential.ErrUnsupported))
	// Output:
	// true true static none <nil>
	// true
	// true
}
