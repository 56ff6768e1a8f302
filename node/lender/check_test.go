package lender

import (
	"bytes"
	"strings"
	"testing"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
)

// sent reads and returns the bytes of the answer as they left.
func (k *kit) sent(t testing.TB, compact string) []byte {
	t.Helper()
	s := &taker{}
	if err := k.Read(t.Context(), Call{Request: compact, Send: s}); err != nil {
		t.Fatal(err)
	}
	return s.sent[0]
}

func TestCheck(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	k.add(t, "Never lent.", "other")
	loan := k.issue(t, 10)
	answer := k.sent(t, k.request(t, loan))
	other := k.sent(t, k.request(t, loan))
	a, err := lending.ParseAnswer(answer)
	if err != nil {
		t.Fatal(err)
	}
	b, err := lending.ParseAnswer(other)
	if err != nil {
		t.Fatal(err)
	}
	k.revoke(t, loan)
	_, _, err = k.read(t.Context(), k.request(t, loan))
	denied := fault.From(err).Receipt
	status, err := k.Status(t.Context(), Call{Request: k.request(t, loan, func(rq *lending.ReadRequest) { rq.Op, rq.Purpose = lending.OpStatus, "" })})
	if err != nil {
		t.Fatal(err)
	}
	e, err := envelope.ParseCompact(a.Receipt, lending.ReceiptType, lending.MaxReceipt)
	if err != nil {
		t.Fatal(err)
	}
	// A receipt that the lender's key signed of a row it never wrote, as after the theft of the key.
	r, err := k.receipt(t.Context(), a.Receipt)
	if err != nil {
		t.Fatal(err)
	}
	r.Row = envelope.IDOf([]byte("no row"))
	key, _, err := k.acme.Signers.Agent(t.Context(), k.research)
	if err != nil {
		t.Fatal(err)
	}
	forged, err := envelope.Seal(t.Context(), r, key)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		file      []byte
		what      string
		confirmed bool
		entries   int
	}{
		{"an answer", answer, "answer", true, 1},
		{"its receipt", []byte(a.Receipt + "\n"), "receipt", true, 1},
		{"its receipt as a file", e.DSSE(), "receipt", true, 1},
		{"the receipt of a denial", []byte(denied), "receipt", true, 0},
		{"a statement that was read", []byte("One.\n"), "text", true, 0},
		{"a statement that was not", []byte("Never lent."), "text", false, 0},
		{"a statement of nobody", []byte("Two."), "text", false, 0},
		{"an answer with another entry", bytes.Replace(answer, []byte("One."), []byte("Two."), 1), "answer", false, 0},
		{"an answer with the receipt of another", bytes.Replace(answer, []byte(a.Receipt), []byte(b.Receipt), 1), "answer", false, 0},
		{"a receipt with another signature", []byte(a.Receipt[:len(a.Receipt)-6] + "AAAAAA"), "receipt", false, 0},
		{"a receipt of no row", []byte(must(forged.Compact())), "receipt", false, 0},
		{"a receipt of a state", []byte(status), "receipt", false, 0},
	} {
		got, err := k.Check(t.Context(), c.file)
		if err != nil || got.What != c.what || got.Confirmed != c.confirmed || len(got.Entries) != c.entries || got.Confirmed == (got.Why != "") {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
		if c.confirmed && c.what != "text" && (got.N == 0 || got.Receipt.Perm != loan.ID) {
			t.Errorf("%s: got row %d under %s", c.name, got.N, got.Receipt.Perm)
		}
		if c.confirmed && c.what == "text" && (len(got.Readers) != 1 || got.Readers[0].Borrower != k.quant || got.Readers[0].Count != 2) {
			t.Errorf("%s: read by %+v", c.name, got.Readers)
		}
	}
	_, err = k.Check(t.Context(), []byte(strings.Repeat("x", MaxCheck+1)))
	refusedWith(t, err, fault.TooLarge, "file")
	_, err = k.Check(t.Context(), []byte("\n"))
	refusedWith(t, err, fault.Invalid, "file")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What a borrower's node prints of an answer is recognized by the compact receipt in it, and
// is not denied where that is missing: a false denial reads as forgery.
func TestCheckSummary(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	a, err := lending.ParseAnswer(k.sent(t, k.request(t, k.issue(t, 10))))
	if err != nil {
		t.Fatal(err)
	}
	entries, compact := string(a.Entries[0]), a.Receipt
	for _, c := range []struct {
		name, file, what string
		confirmed        bool
		beside           bool
	}{
		{"an item of loan_receipts", `{"seq": 1, "receipt": "zQm", "compact": "` + compact + `"}`, "receipt", true, false},
		{"loan_receipts whole", `{"result":{"structuredContent":{"receipts":[{"receipt":"zQm","compact":"` + compact + `"}]}}}`, "receipt", true, false},
		{"a read", `{"entries":[` + entries + `],"receipt":{"id":"zQm","compact":"` + compact + `"},"salt":"` + a.Salt.String() + `","status":"valid"}`, "answer", true, false},
		{"a read with another entry", `{"entries":[` + strings.Replace(entries, "One.", "Two.", 1) + `],"receipt":{"compact":"` + compact + `"},"salt":"` + a.Salt.String() + `"}`, "answer", false, false},
		{"a read without the salt", `{"entries":[` + entries + `],"receipt":{"compact":"` + compact + `"}}`, "receipt", true, true},
	} {
		got, err := k.Check(t.Context(), []byte(c.file))
		if err != nil || got.What != c.what || got.Confirmed != c.confirmed || got.Beside != c.beside {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
	}
	_, err = k.Check(t.Context(), []byte(`{"entries":[`+entries+`],"receipt":{"id":"zQm","seq":1},"status":"valid"}`))
	refusedWith(t, err, fault.Invalid, "file")
	_, err = k.Check(t.Context(), []byte(`{"receipts":[{"receipt":"a"},{"receipt":"b"}]}`))
	refusedWith(t, err, fault.Invalid, "file")
}
