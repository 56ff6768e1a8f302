package envelope_test

import (
	"context"
	"encoding/base64"
	"testing"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
)

var (
	harbor = did.MustParse("did:web:harbor.example:agents:berths")
	line   = did.MustParse("did:web:line.example:agents:planner")
)

func at(t testing.TB, s string) envelope.Time {
	t.Helper()
	v, err := envelope.ParseTime(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func id(t testing.TB, s string) envelope.ID {
	t.Helper()
	v, err := envelope.ParseID(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func samplePermission(t testing.TB) permission {
	return permission{
		Lender: harbor, Kid: "key-1", Borrower: line,
		Scope:   "tag:terminal:north -tag:customs:hold age<30d",
		Purpose: "plan winter berth rotation", IssuedAt: at(t, "2026-12-01T10:00:00Z"),
		ExpiresAt: at(t, "2026-12-31T00:00:00Z"), MaxReads: 5000, Patterns: []string{"read"},
		Revocation: "https://harbor.example/api/v1/permissions", Nonce: "Zk3q9TtXw0E",
		Charter: &pin{ID: id(t, "zQmXsYYZFp9YRZpZShAqp8YxxoXxG2rFuJ93214xPAhJTPW"), Seq: 7},
	}
}

func TestPermissionOfTheDesignIsRebuiltToTheByte(t *testing.T) {
	ctx := context.Background()
	e, err := envelope.Seal(ctx, samplePermission(t), envelopetest.Repeat(1))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := e.ID().String(), "zQmdUqbkEpxZ4vG1d6WerUMHNoFokip3gY9YEGtk2RhsEMn"; got != want {
		t.Errorf("id = %s, want %s\n%s", got, want, e.Body)
	}
	sig := base64.RawURLEncoding.EncodeToString(e.Signatures[0].Sig[:])
	if want := "WQNHEiiNZAer8OJ41en_G7Zs60F9djHZ0EcA5WBUFOIupqO734J_V1-9ExS2bw8CVKXqeBPy2bHyZM4CCfjmCA"; sig != want {
		t.Errorf("signature = %s, want %s", sig, want)
	}
	compact, err := e.Compact()
	if err != nil {
		t.Fatal(err)
	}
	got := [3]int{len(e.Body), len(compact), len(e.DSSE())}
	if want := [3]int{478, 725, 845}; got != want {
		t.Errorf("body, compact, DSSE = %v bytes, want %v", got, want)
	}
}

func TestReadRequestOfTheDesignIsRebuiltToTheByte(t *testing.T) {
	b, err := envelope.Marshal(sampleReadRequest(t))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := envelope.IDOf(b).String(), "zQmRvAcy7za7wChbmxN8ABpLS2xU5aCEAQeAQoW4ECmhTnP"; got != want || len(b) != 300 {
		t.Errorf("id = %s of %d bytes, want %s of 300", got, len(b), want)
	}
}

func TestBallotOfTheDesignIsRebuiltToTheByte(t *testing.T) {
	signer := envelopetest.Repeat(1)
	e, err := envelope.Seal(context.Background(), sampleBallot(t), signer)
	if err != nil {
		t.Fatal(err)
	}
	type golden struct {
		public, id, sig string
		body, preimage  int
	}
	got := golden{
		signer.Public().Multikey(), e.ID().String(), base64.StdEncoding.EncodeToString(e.Signatures[0].Sig[:]),
		len(e.Body), len(e.Preimage().Bytes()),
	}
	want := golden{
		"z6Mkon3Necd6NkkyfoGoHxid2znGc59LU3K7mubaRcFbLfLX", "zQmSWpvJkf67kpDrN7MjUFKLwLwzqF66nV9CEyqYPGD6n7v",
		"incvXzT798EdTHDc/E7MCc0eMi0LCuJR27sbe4dYwhvArzqrDJx8bTHZ5YhLu7jV4c9ba9Akxy0C55Q5eCfVAQ==", 401, 456,
	}
	if got != want {
		t.Errorf("ballot = %+v\nwant     %+v", got, want)
	}
}
