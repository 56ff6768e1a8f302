package lender

import (
	"context"

	"trustnode/did/envelope"
	"trustnode/did/strictjson"
	"trustnode/federation/lending"
	"trustnode/node/fault"
)

// summaryDepth is how deep what a borrower's node prints may nest: an answer within a reply.
const summaryDepth = 16

// checkSummary checks what a borrower's node made of an answer, such as what its loan read
// prints: an object with the compact receipt. ok is false where b is no such thing. Without
// the receipt that the lender signed nothing can be said of it: it is not denied.
func (l *Lender) checkSummary(ctx context.Context, b []byte) (out Checked, ok bool, err error) {
	doc, err := strictjson.Parse(b, summaryDepth)
	if err != nil {
		return out, false, nil
	}
	for _, name := range []string{"result", "structuredContent"} { // of an MCP reply
		if in, there := doc.Get(name); there {
			doc = in
		}
	}
	if list, there := doc.Get("receipts"); there && len(list.Elements()) > 0 {
		if len(list.Elements()) > 1 {
			return out, true, fault.New(fault.Invalid, "file", "%d receipts are in it", len(list.Elements())).WithHint("give one of them: its member compact is enough")
		}
		doc = list.Elements()[0]
	}
	receipt, there := doc.Get("receipt")
	if !there {
		return out, false, nil
	}
	e, found := compactIn(doc, receipt)
	if !found {
		return out, true, fault.New(fault.Invalid, "file", "this is a summary of the borrower's node: ask for the compact receipt").
			WithHint("trustnode loan read --json prints it as receipt.compact, the MCP tool loan_receipts as compact")
	}
	entries, has := doc.Get("entries")
	salt, salted := doc.Get("salt")
	out.What = "receipt"
	if !has || !salted {
		out.Beside = has
		out, err = l.checkReceipt(ctx, e, out, nil)
		return out, true, err
	}
	a, err := answerOf(e, entries, salt)
	if err != nil {
		return out, true, fault.Wrap(fault.Invalid, "file", err).WithHint("give the receipt alone: its member compact is enough")
	}
	out.What = "answer"
	out, err = l.checkReceipt(ctx, e, out, &a)
	return out, true, err
}

// compactIn finds the signed receipt in an object: beside the id, or in place of it.
func compactIn(doc, receipt strictjson.Value) (envelope.Envelope, bool) {
	beside, _ := doc.Get("compact")
	within, _ := receipt.Get("compact")
	for _, v := range []strictjson.Value{beside, within, receipt} {
		text, _ := v.Text()
		if e, err := envelope.ParseCompact(text, lending.ReceiptType, lending.MaxReceipt); err == nil {
			return e, true
		}
	}
	return envelope.Envelope{}, false
}

// answerOf puts an answer together again, as it left the lender.
func answerOf(e envelope.Envelope, entries, salt strictjson.Value) (lending.Answer, error) {
	compact, err := e.Compact()
	if err != nil {
		return lending.Answer{}, err
	}
	b, err := strictjson.ObjectOf(
		strictjson.Member{Name: "entries", Value: entries},
		strictjson.Member{Name: "receipt", Value: strictjson.StringOf(compact)},
		strictjson.Member{Name: "salt", Value: salt},
	).Canonical()
	if err != nil {
		return lending.Answer{}, err
	}
	return lending.ParseAnswer(b)
}
