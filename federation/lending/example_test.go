package lending_test

import (
	"context"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/federation/lending"
)

// A lender's agent lends what carries one tag, its borrower reads it once, and
// checks what came back.
func Example() {
	ctx, now := context.Background(), time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	berths, planner := did.MustParse("did:web:harbor.example:agents:berths"), did.MustParse("did:web:line.example:agents:planner")
	lender, borrower := envelopetest.Repeat(1), envelopetest.Repeat(2)
	known := envelopetest.Keys{berths: {"key-1": lender.Public()}, planner: {"key-1": borrower.Public()}}

	perm := sealed(ctx, known, lender, lending.Permission{
		Lender: berths, Borrower: planner, Kid: "key-1", Scope: lending.MustParse("age<4w tag:terminal:north"), Purpose: "plan berths",
		IssuedAt: envelope.TimeOf(now), ExpiresAt: envelope.TimeOf(now.Add(time.Hour)), MaxReads: 2, Patterns: []string{lending.PatternRead},
		Revocation: "did:web:harbor.example#lending", Nonce: lending.NewNonce(),
	})
	request := sealed(ctx, known, borrower, lending.ReadRequest{
		Aud: berths, Borrower: planner, Kid: "key-1", Op: lending.OpRead, Perm: perm.ID(), Purpose: "berth 7 in January",
		At: envelope.TimeOf(now), Nonce: lending.NewSalt(),
	})

	content, _ := lending.Join([][]byte{[]byte(`{"id":"eQtocYooukJ5AQqCkZsHcHY","rev":1,"statement":"Berth 7 is closed."}`)}, lending.NewSalt())
	found := lending.Found{At: now, Refs: []lending.Ref{{Entry: "eQtocYooukJ5AQqCkZsHcHY", Rev: 1}}, Vis: 4, Content: content}
	state := lending.State{
		Known: true, RevocationsRead: true, Loan: lending.Loan{Place: "harbor/north"}, Vis: 4, LenderLive: true, BorrowerLive: true,
		Member: true, MayLend: true, TimeTrusted: true, Signer: berths, Kid: "key-1", RowSalt: lending.NewSalt(),
	}
	next, err := lending.Decide(state, request, perm, found, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	receipt := sealed(ctx, known, lender, *next.Receipt)
	compact, _ := receipt.Envelope().Compact()
	bytes, _ := lending.Reply(content, compact, next.Cursor, next.Receipt.CacheUntil)

	answer, _ := lending.ParseAnswer(bytes)
	asked := lending.Expect{Perm: perm, Request: request.ID(), Op: lending.OpRead}
	fmt.Println(perm.Body().Scope)
	fmt.Println(len(answer.Entries), "entry,", receipt.Body().Left, "read left, error:", asked.Answer(answer, receipt, now))

	state.Revoked = &lending.RevokedBy{At: envelope.TimeOf(now), Reason: "ended"}
	next, _ = lending.Decide(state, request, perm, lending.Found{}, now)
	fmt.Println(next.Denial.Code, next.Denial.Reason, next.Receipt.State)
	// Output:
	// tag:terminal:north age<28d
	// 1 entry, 1 read left, error: <nil>
	// revoked ended revoked
}

func sealed[T envelope.Body](ctx context.Context, keys envelope.KeySource, by envelope.Signer, body T) envelope.Verified[T] {
	e, err := envelope.Seal(ctx, body, by)
	if err != nil {
		panic(err)
	}
	v, err := envelope.Open[T](ctx, e, keys)
	if err != nil {
		panic(err)
	}
	return v
}
