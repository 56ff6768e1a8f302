package lending

import (
	"bytes"
	"context"
	"reflect"
	"testing"

	"trustnode/did/envelope"
)

const (
	goldenPerm    = "zQmdUqbkEpxZ4vG1d6WerUMHNoFokip3gY9YEGtk2RhsEMn"
	goldenRequest = "zQmRvAcy7za7wChbmxN8ABpLS2xU5aCEAQeAQoW4ECmhTnP"
	goldenHash    = "zQmUM3GjZdgANpN9SztEpSaWHPRpwRkQkJcnzS5sFMRJZ2h"
	goldenSide    = "zQmUDwrmdXMBFME3KEgt4rk3xUyF68TDxoqxDdzbm1tNNFH"
	goldenRow     = "zQmZAnafB7ux3uHvdwWHJ5pfYR3Ke3qrFUgkL9agRnjfSRL"
)

// checkBody decodes a golden body and encodes it again.
func checkBody[T envelope.Body](t *testing.T, name, id string, size int) {
	t.Helper()
	raw := read(t, name)
	v, err := envelope.Decode[T](envelope.Envelope{Type: (*new(T)).Payload(), Body: raw})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	again, err := envelope.Marshal(v)
	if err != nil || !bytes.Equal(again, raw) {
		t.Errorf("%s: encoded again: %s, %v", name, again, err)
	}
	if got := envelope.IDOf(raw).String(); got != id || len(raw) != size {
		t.Errorf("%s: got id %s, %d bytes, want %s, %d", name, got, len(raw), id, size)
	}
}

func TestGoldenBodies(t *testing.T) {
	checkBody[Permission](t, "permission", goldenPerm, 478)
	checkBody[ReadRequest](t, "readrequest", goldenRequest, 300)
	checkBody[Receipt](t, "receipt", "zQmNdJ78RQd7yu6NqiUW2SuBgXMi9iwEnfV9kaWjcwWd6XQ", 429)
	checkBody[Revocation](t, "revocation", "zQmd5AFYViJopAMivgtEJ2FFAJExfbuDyHJnr4Q4oY5b4ik", 194)
}

func TestGoldenRows(t *testing.T) {
	for _, c := range []struct {
		name, id string
		want     Row
	}{
		{"row-read", goldenRow, GrantedRow{}},
		{"row-issue", "zQmQjsTes8DqDmU45cqVgxNPdKsnYKjKP6Aa3PKw6j1aPrQ", IssueRow{}},
		{"row-revoke", "zQmekMV3rNXYixKyWkZ2p6bZMkpLcfG6mDnZZYPC1TpheEX", RevokeRow{}},
		{"row-denied", "zQmXc4mX2o1EwVCnS3E4NaPbuNRejnjfzEh9DU6kHqaFWM8", DeniedRow{}},
		{"row-replay", "zQmTNg6DQfMfXBawwBs2NafqnjmHsaGzcGAZGV3kKfNUvux", ReplayRow{}},
		{"row-import", "zQmfEtPVkpcx9wy5yT9CHcXr3Czaq3p2pkRuwrNvhN7FLHW", ImportRow{}},
		{"row-forget", "zQmfHuS1p5QUmDA5YywiUqvNT63wst4v8Vw4VC9s7SRq8k2", ForgetRow{}},
		{"row-move", "zQmTgRQaxGpLLcYJ56cEjerBYDcBGAg8vkSowDNrj9sPoka", MoveRow{}},
		{"row-received", "zQmemcK37FuVcshaMoCqfHdUAGLmYBcuoiiQd2wSXmsP9zQ", ReceivedRow{}},
		{"row-ended", "zQmTi8fTAPfjWSJdphcYT4zkdhNKeYYmDgDRgf2ymHjV27G", EndedRow{}},
	} {
		raw := read(t, c.name)
		row, err := ParseRow(raw)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if reflect.TypeOf(row) != reflect.TypeOf(c.want) {
			t.Errorf("%s: got a %T, want a %T", c.name, row, c.want)
		}
		again, id, err := MarshalRow(row)
		if err != nil || !bytes.Equal(again, raw) || id.String() != c.id {
			t.Errorf("%s: got %s, %s, %v, want id %s", c.name, again, id, err, c.id)
		}
	}
}

// The permission of the specification, under the seed of 32 bytes 0x01.
func TestGoldenPermissionSignature(t *testing.T) {
	const compact = "WQNHEiiNZAer8OJ41en_G7Zs60F9djHZ0EcA5WBUFOIupqO734J_V1-9ExS2bw8CVKXqeBPy2bHyZM4CCfjmCA"
	p := Permission{
		Lender: lender, Kid: "key-1", Borrower: borrower, Scope: MustParse("tag:terminal:north -tag:customs:hold age<30d"),
		Purpose: "plan winter berth rotation", IssuedAt: stamp("2026-12-01T10:00:00Z"), ExpiresAt: stamp("2026-12-31T00:00:00Z"),
		MaxReads: 5000, Patterns: []string{"read"}, Revocation: "https://harbor.example/api/v1/permissions",
		Nonce:            Nonce{0x66, 0x4d, 0xea, 0xf5, 0x3b, 0x57, 0xc3, 0x41},
		GoverningCharter: &CharterPin{mustID("zQmXsYYZFp9YRZpZShAqp8YxxoXxG2rFuJ93214xPAhJTPW"), 7},
	}
	e, err := envelope.Seal(context.Background(), p, lenderKey)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(e.Body, read(t, "permission")) {
		t.Errorf("body: got %s", e.Body)
	}
	text, err := e.Compact()
	if err != nil || text[len(text)-len(compact):] != compact {
		t.Errorf("compact: got %s, %v, want signature %s", text, err, compact)
	}
	if got := [2]int{len(text), len(e.DSSE())}; got != [2]int{725, 845} {
		t.Errorf("bytes compact and DSSE: got %d, want 725 and 845", got)
	}
	v, err := envelope.Open[Permission](context.Background(), e, keys)
	if err != nil || v.ID().String() != goldenPerm || !reflect.DeepEqual(v.Body(), p) {
		t.Errorf("opened: got %v, %v", v, err)
	}
}

func TestGoldenAnswer(t *testing.T) {
	var s Salt
	if err := s.UnmarshalText([]byte("Y0ea1poJCyWCd-yPum-ZQQ")); err != nil {
		t.Fatal(err)
	}
	c, err := Join([][]byte{read(t, "view")}, s)
	if err != nil || c.Hash.String() != goldenHash {
		t.Errorf("content: got %s, %v, want %s", c.Hash, err, goldenHash)
	}
	_, id, err := Side{AnswerSalt: s, Place: "harbor/north"}.Bytes()
	if err != nil || id.String() != goldenSide {
		t.Errorf("side: got %s, %v, want %s", id, err, goldenSide)
	}
}

// The read of the specification, decided from its parts, gives its row and
// receipt.
func TestGoldenRead(t *testing.T) {
	var s, rowSalt Salt
	if err := first(s.UnmarshalText([]byte("Y0ea1poJCyWCd-yPum-ZQQ")), rowSalt.UnmarshalText([]byte("VxsONVUBNlhfZTpwRgl00w"))); err != nil {
		t.Fatal(err)
	}
	c, err := Join([][]byte{read(t, "view")}, s)
	if err != nil {
		t.Fatal(err)
	}
	st := ready()
	st.Loan, st.RowSalt = Loan{Place: "harbor/north", Reads: 811}, rowSalt
	at := clock("2026-12-02T09:15:30Z")
	f := Found{At: at, Refs: []Ref{{"eQtocYooukJ5AQqCkZsHcHY", 2}}, Vis: st.Vis, Content: c}
	n, err := Decide(st, opened(t, body[ReadRequest](t, "readrequest")), opened(t, body[Permission](t, "permission")), f, at)
	if err != nil || n.Verdict != Granted {
		t.Fatalf("got %+v, %v", n, err)
	}
	if !bytes.Equal(n.Row, read(t, "row-read")) || n.RowID.String() != goldenRow {
		t.Errorf("row: got %s", n.Row)
	}
	if want := body[Receipt](t, "receipt"); *n.Receipt != want {
		t.Errorf("receipt: got %+v, want %+v", *n.Receipt, want)
	}
	if n.Loan.Reads != 812 || envelope.IDOf(n.Side).String() != goldenSide {
		t.Errorf("loan and side: got %+v, %s", n.Loan, n.Side)
	}
	if got, want := *n.Nonce, (NonceRecord{Receipt: *n.Receipt, Refs: f.Refs, Request: mustID(goldenRequest), Salt: s, Until: stamp("2026-12-02T09:17:30Z")}); !reflect.DeepEqual(got, want) {
		t.Errorf("nonce record: got %+v, want %+v", got, want)
	}
}

// ready is a state in which everything allows a read.
func ready() State {
	return State{
		Known: true, Loan: Loan{Place: "harbor/north"}, RevocationsRead: true, Vis: 7, PactLive: true, LenderLive: true,
		BorrowerLive: true, Member: true, MayLend: true, NodeState: "fresh", TimeTrusted: true, Signer: lender, Kid: "key-1", RowSalt: salt(9),
	}
}
