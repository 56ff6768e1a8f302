package lender

import (
	"context"
	"errors"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/memory"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Lent says that the caller has read what another organization lends, lately enough that
// what it writes now may be that.
type Lent struct {
	Receipt envelope.ID // of such a read
	Perm    envelope.ID // under which it was
	Ends    time.Time   // the earliest end of the permissions read under
}

// RememberInput is what an own agent wants kept.
type RememberInput struct {
	Statement, Kind string // an empty kind is observation
	Tags            []string
	// SourceID names what the statement comes from: an entry of the agent's place, which
	// becomes a parent, or the receipt of a read of the agent.
	SourceID               string
	DerivedFrom            []string // entries of the agent's place
	ReviewAfter, ExpiresAt envelope.Time
	Subjects               []string // natural names or pseudonyms; a new name gets a pseudonym
	Authorization          string   // id of an approval: a pointer, no power
	Lent                   *Lent    // nil: the caller read nothing lent lately
}

// Remember adds one entry by an own agent's hand; what it is worth is decided here. It is
// trusted as a direct event, with parents as derived from them, and as lent with a receipt
// as source, or where the caller read a loan lately and names no other source.
func (l *Lender) Remember(ctx context.Context, agent did.DID, in RememberInput) (memory.Entry, error) {
	at, err := l.n.Clock.Now()
	if err != nil {
		return memory.Entry{}, refusal(err)
	}
	d := memory.Draft{Statement: in.Statement, Tags: in.Tags, DerivedFrom: slices.Clone(in.DerivedFrom), ReviewAfter: in.ReviewAfter.Time(),
		ExpiresAt: in.ExpiresAt.Time(), Authorization: in.Authorization}
	if in.Kind != "" {
		if d.Kind, err = memory.ParseKind(in.Kind); err != nil {
			return memory.Entry{}, refusal(err)
		}
	}
	if !in.ExpiresAt.IsZero() && !at.Before(in.ExpiresAt.Time()) {
		return memory.Entry{}, fault.New(fault.Invalid, "expires_at", "%s has passed", in.ExpiresAt).WithHint("leave expires_at out to keep the entry")
	}
	var out memory.Entry
	err = l.n.DB.Update(ctx, func(tx store.Tx) error {
		a, err := l.agent(tx, agent.String())
		if err != nil {
			return err
		}
		draft := d // the function may run twice
		if err := l.sourced(tx, a, in, &draft); err != nil {
			return err
		}
		p, err := place(a)
		if err != nil {
			return err
		}
		w, err := memory.NewWriter(p, a.Agent, memory.ByAgent)
		if err != nil {
			return err
		}
		if draft.Subjects, err = l.pseudonyms(tx, in.Subjects); err != nil {
			return err
		}
		out, err = l.n.Entries.Put(tx, w, draft)
		return err
	})
	if err != nil {
		return memory.Entry{}, refusal(err)
	}
	return out, nil
}

// sourced says in the draft where the statement comes from.
func (l *Lender) sourced(tx store.Tx, a self.AgentRow, in RememberInput, d *memory.Draft) error {
	switch {
	case in.SourceID == "" && len(in.DerivedFrom) == 0 && in.Lent != nil:
		lentBy(d, *in.Lent)
	case in.SourceID == "":
	default:
		id, err := envelope.ParseID(in.SourceID)
		if err != nil { // then it is an entry, or nothing
			d.Source.ID, d.DerivedFrom = in.SourceID, append(slices.Clone(d.DerivedFrom), in.SourceID)
			return nil
		}
		lent, err := l.ownReceipt(tx, a.Agent, id)
		if err != nil {
			return err
		}
		lentBy(d, lent)
	}
	return nil
}

// lentBy marks a draft as what came of a loan: it is kept no longer than the permission.
func lentBy(d *memory.Draft, by Lent) {
	d.Source, d.Loan = memory.Source{Type: memory.SourceLoan, ID: by.Receipt.String()}, by.Perm.String()
	if !by.Ends.IsZero() && (d.ExpiresAt.IsZero() || by.Ends.Before(d.ExpiresAt)) {
		d.ExpiresAt = by.Ends
	}
}

// ownReceipt finds the read of an agent that a receipt is of. A receipt of another agent's
// read is told like one that is not here.
func (l *Lender) ownReceipt(g library.Getter, agent did.DID, id envelope.ID) (Lent, error) {
	r, err := objectOf[lending.Receipt](l.n.Lib, g, id)
	if err != nil {
		return Lent{}, err
	}
	rq, err := objectOf[lending.ReadRequest](l.n.Lib, g, r.Request)
	if err != nil {
		return Lent{}, err
	}
	if rq.Borrower != agent {
		return Lent{}, memory.ErrNotFound
	}
	p, err := objectOf[lending.Permission](l.n.Lib, g, r.Perm)
	if err != nil {
		return Lent{}, err
	}
	return Lent{Receipt: id, Perm: r.Perm, Ends: p.ExpiresAt.Time()}, nil
}

// objectOf decodes an object that this node verified when it stored it.
func objectOf[T envelope.Body](lib *library.Library, g library.Getter, id envelope.ID) (T, error) {
	var none T
	o, err := lib.Read(g, id)
	if errors.Is(err, library.ErrAbsent) {
		return none, memory.ErrNotFound
	}
	if err != nil {
		return none, err
	}
	e, err := envelope.ParseDSSE(o.Bytes, maxObject)
	if err != nil {
		return none, err
	}
	v, err := envelope.Decode[T](e)
	if err != nil {
		return none, memory.ErrNotFound // an object of another kind
	}
	return v, nil
}
