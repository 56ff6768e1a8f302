package lender

import (
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/lending"
)

// A row that is its hash alone says nothing of what a receipt says: a receipt that names it
// is confirmed where this node gave that very receipt, and by nobody's word else.
func TestCheckOfARowThatIsGone(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 10)
	given := k.sent(t, k.request(t, loan))
	a := must(lending.ParseAnswer(given))
	r := must(k.receipt(t.Context(), a.Receipt))
	if err := k.acme.Rec.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	forge := func(lender, signed did.DID) []byte {
		content := must(lending.Join(nil, lending.NewSalt()))
		f := r
		f.Lender, f.Signed, f.Hash = lender, signed, content.Hash
		n := k.acme
		if signed != k.research {
			n = k.vendor
		}
		text := sealAs(t, n, signed, func(kid string) lending.Receipt { f.Kid = kid; return f })
		return must(lending.Reply(content, text, "", envelope.Time{}))
	}
	liar := k.vendor.AddAgent(t, "liar", keyring.Lend)
	strange, stolen := forge(liar, liar), forge(k.research, k.research)
	check := func(name string, file []byte, confirmed, gone bool, why string) {
		t.Helper()
		c, err := k.Check(t.Context(), file)
		if err != nil || c.Confirmed != confirmed || c.Gone != gone || !strings.Contains(c.Why, why) {
			t.Errorf("%s: got %+v, %v", name, c, err)
		}
	}
	check("given, whole", given, true, false, "")
	check("of another organization's agent, whole", strange, false, false, "no agent of this organization")
	check("of the own key, whole", stolen, false, false, "something else")
	if _, err := k.acme.Rec.Erase(t.Context(), r.Row); err != nil {
		t.Fatal(err)
	}
	if err := k.acme.Rec.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("given, gone", given, true, true, "")
	check("of another organization's agent, gone", strange, false, false, "no agent of this organization")
	check("of the own key, gone", stolen, false, true, "can no longer be checked")
}
