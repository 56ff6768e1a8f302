package lender

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/library"
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
	own, err := l.byOwnAgents(ctx, out.Receipt)
	switch r := v.Body(); {
	case err != nil:
		return out, err
	case !own:
		out.Why = "no agent of this organization gave the receipt"
		return out, nil
	case a != nil && a.Hash() != r.Hash:
		out.Why = "the receipt is of other bytes"
		return out, nil
	case r.Row.IsZero():
		out.Why = "the receipt says how a permission stood, nothing was returned"
		return out, nil
	}
	return l.checkRow(ctx, v.ID(), out)
}

// byOwnAgents says whether lender and signer of a receipt are agents of this organization:
// anybody whose key is known here can sign one that names a row of this node.
func (l *Lender) byOwnAgents(ctx context.Context, r lending.Receipt) (bool, error) {
	for _, d := range []did.DID{r.Lender, r.Signed} {
		row, err := self.Agent(self.ViewGetter(ctx, l.n.DB), d)
		if errors.Is(err, self.ErrNoAgent) {
			return false, nil
		}
		if err != nil || row.Org != l.n.Org {
			return false, err
		}
	}
	return true, nil
}

// checkRow looks the row up that a receipt names, whose id is receipt.
func (l *Lender) checkRow(ctx context.Context, receipt envelope.ID, out Checked) (Checked, error) {
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
		out.Gone, out.N, out.Row = true, g.N, id
		if out.Confirmed, err = l.keeps(ctx, receipt); err == nil && !out.Confirmed {
			out.Why = fmt.Sprintf("of row %d only the hash is left, and this receipt is not kept here: what it says can no longer be checked", g.N)
		}
		return out, err
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

// keeps says whether the library holds a receipt: every one that this node gave lies there,
// and a row that is its hash alone says nothing of what a receipt says.
func (l *Lender) keeps(ctx context.Context, receipt envelope.ID) (bool, error) {
	o, err := l.n.Lib.Read(self.ViewGetter(ctx, l.n.DB), receipt)
	if errors.Is(err, library.ErrAbsent) {
		return false, nil
	}
	return err == nil && o.What == "receipt", err
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
