package client

import (
	"strings"
	"testing"

	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/lender"
)

// TestOthersAreNotTold: whatever an agent does with the id of another agent's loan, request or
// discovery, the answer is the one for an id that stands for nothing, and nothing is sent.
func TestOthersAreNotTold(t *testing.T) {
	k := newKit(t)
	for range 5 {
		if _, err := k.lender.AddEntry(t.Context(), lender.AddInput{Agent: "research", Statement: "Two.", Tags: []string{"client:acme"}}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := k.lender.Issue(t.Context(), lender.IssueInput{Lender: "research", Borrower: k.quant.String(), Scope: "tag:client:acme -tag:confidential", Purpose: "S7", Expires: "720h", MaxReads: 9, Patterns: []string{"discover", "read"}})
	if err != nil {
		t.Fatal(err)
	}
	k.pull()
	k.mustRead(t, l.ID.String())
	d, err := k.Discover(t.Context(), DiscoverInput{As: "quant", Perm: l.ID.String(), Purpose: "what is there"})
	if err != nil {
		t.Fatal(err)
	}
	a := k.mustAsk(t, k.want())
	other := k.vendor.AddAgent(t, "other", keyring.Borrow)
	none := envelope.IDOf([]byte("none")).String()
	ask := func(change func(in *AskInput)) error {
		in := k.want()
		in.As, in.Preview = "other", true
		change(&in)
		_, err := k.Ask(t.Context(), in)
		return err
	}
	for name, c := range map[string]struct {
		id string
		do func(id string) error
	}{
		"receipts": {l.ID.String(), func(id string) error { _, err := k.SignedReceipts(t.Context(), other, id, 1); return err }},
		"status":   {l.ID.String(), func(id string) error { _, err := k.Status(t.Context(), "other", id); return err }},
		"read": {l.ID.String(), func(id string) error {
			in := k.ask(id)
			in.As = "other"
			_, err := k.Read(t.Context(), in)
			return err
		}},
		"discover": {l.ID.String(), func(id string) error {
			_, err := k.Discover(t.Context(), DiscoverInput{As: "other", Perm: id, Purpose: "what is there"})
			return err
		}},
		"request": {a.ID.String(), func(id string) error { _, err := k.AskedBy(t.Context(), id, other); return err }},
		"counter": {a.ID.String(), func(id string) error { return ask(func(in *AskInput) { in.InReplyTo = id }) }},
		"sub-loan": {l.ID.String(), func(id string) error {
			return ask(func(in *AskInput) { in.Parent, in.For = id, k.quant.String() })
		}},
		"what was found": {d.ReceiptID.String(), func(id string) error {
			return ask(func(in *AskInput) { in.Scope, in.From = "", id })
		}},
	} {
		asked := len(k.wire.frames)
		got, want := fault.From(c.do(c.id)), fault.From(c.do(none))
		if got == nil || want == nil || want.Code != fault.NotFound {
			t.Errorf("%s: got %v and %v", name, got, want)
			continue
		}
		if text := strings.ReplaceAll(want.Error(), none, c.id); got.Error() != text || got.Code != want.Code || got.Reason != want.Reason || got.Hint != want.Hint {
			t.Errorf("%s: another's %s %q, nobody's %s %q", name, got.Code, got, want.Code, text)
		}
		if len(k.wire.frames) != asked {
			t.Errorf("%s: the lender was asked", name)
		}
	}
	if b, err := k.AskedBy(t.Context(), a.ID.String(), k.quant); err != nil || b.State != lending.AskRequested || !b.Heard {
		t.Errorf("by its own agent: got %+v, %v", b, err)
	}
}
