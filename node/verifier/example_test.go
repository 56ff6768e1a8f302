package verifier_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"trustnode/node/verifier"
)

// An agent object proves nothing without the DID log of its organization, and with it that
// the organization lets this agent act, as long as the object holds.
func Example() {
	agent, _ := os.ReadFile("testdata/agent.json")
	log, _ := os.ReadFile("testdata/did-1.jsonl")
	now := time.Date(2026, 12, 20, 0, 0, 0, 0, time.UTC)

	r := verifier.Verify(context.Background(), bytes.NewReader(agent), verifier.Options{Name: "agent.json", Now: now})
	fmt.Println(r.Outcome, r.OK)
	fmt.Println(r.Hint)

	r = verifier.Verify(context.Background(), bytes.NewReader(agent), verifier.Options{Name: "agent.json", Now: now,
		With: []verifier.Material{{Name: "did.jsonl", Bytes: log}}})
	fmt.Println(r.Outcome, r.OK)
	for _, l := range r.Lines {
		if l.Kind == "claim" {
			fmt.Println(l.Text)
		}
	}
	// Output:
	// pending false
	// give the did.jsonl of acme.example, or a bundle that holds it, with --with FILE
	// verifies true
	// agent billing (did:key:z6MkjJRuJtMxfTErK55eWeV7FQLLxpsvzSUQ3AC6DmdNPFja) acts for acme.example from 2026-12-01T10:00:00Z until 2026-12-31T10:00:00Z and may borrow; serial 1
}
