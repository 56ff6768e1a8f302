package lending

import (
	"context"
	"os"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
)

// The two parties of the golden values.
var (
	lender   = did.MustParse("did:web:harbor.example:agents:berths")
	borrower = did.MustParse("did:web:line.example:agents:planner")
	org      = did.MustParse("did:web:line.example")
	stranger = did.MustParse("did:web:other.example:agents:x")

	lenderKey   = envelopetest.Repeat(1)
	borrowerKey = envelopetest.Repeat(2)
	strangerKey = envelopetest.Repeat(3)

	keys = envelopetest.Keys{
		lender:   {"key-1": lenderKey.Public()},
		borrower: {"key-1": borrowerKey.Public()},
		stranger: {"key-1": strangerKey.Public()},
	}
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// body reads a golden body.
func body[T any](t testing.TB, name string) (v T) {
	t.Helper()
	if err := envelope.Unmarshal(read(t, name), &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// fataler is what testing.TB and rapid.T have in common.
type fataler interface {
	Helper()
	Fatal(...any)
}

// opened seals a body with the key of whom it names and opens it.
func opened[T envelope.Body](t fataler, b T) envelope.Verified[T] {
	t.Helper()
	who, _ := b.Signer()
	key := map[did.DID]envelope.Signer{lender: lenderKey, borrower: borrowerKey, stranger: strangerKey}[who]
	e, err := envelope.Seal(context.Background(), b, key)
	if err != nil {
		t.Fatal(err)
	}
	v, err := envelope.Open[T](context.Background(), e, keys)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func clock(text string) time.Time {
	at, err := envelope.ParseTime(text)
	if err != nil {
		panic(err)
	}
	return at.Time()
}

func stamp(text string) envelope.Time { return envelope.TimeOf(clock(text)) }

func salt(b byte) (s Salt) {
	for i := range s {
		s[i] = b
	}
	return s
}

func mustID(text string) envelope.ID {
	id, err := envelope.ParseID(text)
	if err != nil {
		panic(err)
	}
	return id
}
