package lender

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
	"trustnode/node/self"
)

// Checked says whether this node gave somebody what a file holds.
type Checked struct {
	What      string // receipt, answer or text
	Confirmed bool
	Why       string      // the fact, where it is not confirmed
	N         uint64      // number of the row; 0 while none is known
	Row       envelope.ID // its id; zero likewise
	Gone      bool        // the row is its hash alone
	Receipt   lending.Receipt
	Entries   []lending.Ref // that the answer held, as its row says
	Beside    bool          // entries lie beside the receipt, without the salt that would bind them to it
	Readers   []Reader      // of a text: who read an entry that says it
}

// Check says whether this node returned what b holds: a receipt (compact or as a file), a
// whole answer, what a borrower's node printed of one, or a text, which is looked for among the statements it holds now. It is the
// operator's, and never open to a stranger: it would tell whether a guess is right (04
// section 8).
func (l *Lender) Check(ctx context.Context, b []byte) (Checked, error) {
	if len(b) > MaxCheck {
		return Checked{}, fault.New(fault.TooLarge, "file", "%d bytes, at most %d", len(b), MaxCheck).WithHint("give one receipt, one answer or one statement")
	}
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return Checked{}, fault.New(fault.Invalid, "file", "there is nothing in it").WithHint("give a receipt, an answer or a statement")
	}
	if _, err := l.catchUp(ctx); err != nil {
		return Checked{}, refusal(err)
	}
	out, err := l.check(ctx, b)
	return out, refusal(err)
}

func (l *Lender) check(ctx context.Context, b []byte) (Checked, error) {
	if e, err := envelope.ParseCompact(string(b), lending.ReceiptType, lending.MaxReceipt); err == nil {
		return l.checkReceipt(ctx, e, Checked{What: "receipt"}, nil)
	}
	if e, err := envelope.ParseDSSE(b, maxObject); err == nil && e.Type == lending.ReceiptType {
		return l.checkReceipt(ctx, e, Checked{What: "receipt"}, nil)
	}
	a, err := lending.ParseAnswer(b)
	if err != nil {
		return l.checkOther(ctx, b)
	}
	out := Checked{What: "answer"}
	e, err := envelope.ParseCompact(a.Receipt, lending.ReceiptType, lending.MaxReceipt)
	if err != nil {
		out.Why = "what it calls a receipt is none"
		return out, nil
	}
	return l.checkReceipt(ctx, e, out, &a)
}

// checkOther checks what is neither receipt nor answer: a statement of this node, which may
// look like anything, or what a borrower's node made of an answer.
func (l *Lender) checkOther(ctx context.Context, b []byte) (Checked, error) {
	text, err := l.checkText(ctx, string(b))
	if err != nil || text.Confirmed {
		return text, err
	}
	if out, ok, err := l.checkSummary(ctx, b); ok {
		return out, err
	}
	return text, nil
}

// checkReceipt holds a receipt, and the answer it came with, to the row it names.
func (l *Lender) checkReceipt(ctx context.Context, e envelope.Envelope, out Checked, a *lending.Answer) (Checked, error) {
	v, err := envelope.Open[lending.Receipt](ctx, e, self.SignerSource(self.ViewGetter(ctx, l.n.DB)))
	switch {
	case fault.Of(err) == fault.Internal:
		return out, err
	case err != nil:
		out.Why = fmt.Sprintf("no agent known here signed the receipt: %v", err)
		return out, nil
	}
	out.Receipt = v.Body()
	switch r := v.Body(); {
	case a != nil && a.Hash() != r.Hash:
		out.Why = "the receipt is of other bytes"
		return out, nil
	case r.Row.IsZero():
		out.Why = "the receipt says how a permission stood, nothing was returned"
		return out, nil
	}
	return l.checkRow(ctx, out)
}

// checkRow looks the row up that a receipt names.
func (l *Lender) checkRow(ctx context.Context, out Checked) (Checked, error) {
	id := out.Receipt.Row
	n, row, err := l.n.Rec.RowByID(ctx, id)
	if errors.Is(err, attestation.ErrNotFound) {
		g, gone, err := l.n.Rec.GoneRow(ctx, id)
		if err != nil {
			return out, err
		}
		if !gone {
			out.Why = "no row of this node has the id that the receipt names"
			return out, nil
		}
		out.Confirmed, out.Gone, out.N, out.Row = true, true, g.N, id
		return out, nil
	}
	if err != nil {
		return out, err
	}
	body, err := lending.ParseRow(row.Body)
	if err != nil {
		return out, err
	}
	out.N, out.Row = n, id
	switch r := out.Receipt; b := body.(type) {
	case lending.GrantedRow:
		out.Confirmed = b.Hash == r.Hash && b.Request == r.Request && b.Perm == r.Perm && b.Seq == r.Seq
		out.Entries = b.Entries
	case lending.DeniedRow:
		out.Confirmed = b.Request == r.Request && b.Perm == r.Perm && !r.Granted()
	}
	if !out.Confirmed {
		out.Why = fmt.Sprintf("row %d says something else than the receipt", n)
	}
	return out, nil
}

// checkText looks for entries that say a text, and for who read them. What was forgotten is
// not recognized: nothing of it is kept.
func (l *Lender) checkText(ctx context.Context, text string) (Checked, error) {
	out := Checked{What: "text"}
	places, err := l.places(ctx)
	if err != nil {
		return out, err
	}
	var prefixes []string
	for _, p := range places {
		err := l.saying(ctx, p, text, func(id string) { prefixes = append(prefixes, entryReaders(p.String(), id)) })
		if err != nil {
			return out, err
		}
	}
	out.Readers, err = l.readersUnder(ctx, prefixes)
	out.Confirmed = len(out.Readers) > 0
	switch {
	case err != nil || out.Confirmed:
	case len(prefixes) > 0:
		out.Why = "an entry says this, and nobody read it under a loan"
	default:
		out.Why = "no row of this node returned these bytes"
	}
	return out, err
}

// saying finds the entries of a place with exactly this statement.
func (l *Lender) saying(ctx context.Context, in memory.Place, text string, found func(id string)) error {
	for _, state := range []memory.State{memory.Active, memory.Quarantined, memory.Superseded} {
		f := memory.Filter{State: state}
		for {
			es, err := l.n.Entries.List(ctx, in, f)
			if err != nil {
				return err
			}
			if len(es) == 0 {
				break
			}
			for _, e := range es {
				if strings.TrimSpace(e.Statement) == text {
					found(e.ID)
				}
			}
			f.After = &slices.Clone(es[len(es)-1:])[0]
		}
	}
	return nil
}
