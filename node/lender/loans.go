package lender

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/memory"
	"trustnode/node/self"
	"trustnode/node/store"
)

// sayings are the hygiene codes in words.
var sayings = map[string]string{
	lending.H1NoExclusion: "nothing is excluded",
	lending.H2NoWindow:    "no window of time",
	lending.H3Broad:       "it reaches more than a tenth of the project",
	lending.H4Long:        "it lasts over 30 days",
	lending.H5ManyReads:   "more than 100 reads for each entry",
	lending.H6Personal:    "it reaches entries of class personal or regulated",
	lending.H7Nothing:     "it matches nothing now",
	lending.H8Import:      "a window ends inside an import: a part of what came in together is lent, the rest is not",
	lending.H9Growth:      "it reaches much more than when it was issued",
	lending.H10NoPact:     "another organization, and no pact",
}

func words(codes []string) []string {
	out := make([]string, len(codes))
	for i, c := range codes {
		out[i] = sayings[c]
	}
	return out
}

// loan is what never changes of a loan.
func (k *known) loan() Loan {
	return Loan{
		ID: k.perm.ID(), Compact: k.compact, Permission: k.perm.Body(), BorrowerOrg: k.issued.BorrowerOrg, Place: k.place.String(),
		Issued: k.issued.Event, Matches: k.issued.Matches, Hygiene: k.issued.Hygiene, Words: words(k.issued.Hygiene),
		Request: k.issued.Request, Replaces: k.issued.Replaces,
	}
}

// stand is a loan as it stands in a snapshot.
func (l *Lender) stand(g library.Getter, k *known, m moment) (Loan, error) {
	st, lender, err := l.load(g, k, m)
	if err != nil {
		return Loan{}, err
	}
	out := k.loan()
	out.Reads, out.Under, out.State = st.Loan.Reads, st.Loan.Under, st.PermState(k.perm.Body(), m.at)
	if lender.Revoked {
		out.State = lending.Revoked
	}
	if most := k.perm.Body().MaxReads; most > out.Reads {
		out.Left = most - out.Reads
	}
	if st.Revoked != nil {
		out.Revocation = st.Revoked.ID
	}
	more, err := grown(g, k.perm.ID())
	return out.withGrowth(more), err
}

// Loan gives one loan, by id or compact form.
func (l *Lender) Loan(ctx context.Context, idOrCompact string) (Loan, error) {
	id, err := resolve(idOrCompact)
	if err != nil {
		return Loan{}, err
	}
	k, err := l.issued(ctx, id)
	if err != nil {
		return Loan{}, err
	}
	return l.look(ctx, k)
}

// issued is permission for the operator's verbs: one that this organization borrows is
// said to be that, and not only unknown.
func (l *Lender) issued(ctx context.Context, id envelope.ID) (*known, error) {
	k, err := l.permission(ctx, id)
	if err == nil || fault.Of(refusal(err)) != fault.NotFound {
		return k, refusal(err)
	}
	if l.borrowed(ctx, id) {
		return nil, fault.New(fault.NotFound, "borrowed", "%s was lent to this organization, not by it", id).
			WithHint("its lender revokes it; here: trustnode loan show %s", id)
	}
	return nil, refusal(err)
}

// borrowed says whether a permission was lent to an agent of this organization: one may also be held as an exhibit.
func (l *Lender) borrowed(ctx context.Context, id envelope.ID) bool {
	o, err := l.n.Lib.Get(ctx, id)
	if err != nil || o.What != "permission" {
		return false
	}
	e, err := envelope.ParseDSSE(o.Bytes, lending.MaxPermission)
	if err != nil {
		return false
	}
	p, err := envelope.Decode[lending.Permission](e)
	if err != nil {
		return false
	}
	row, err := self.Agent(self.ViewGetter(ctx, l.n.DB), p.Borrower)
	return err == nil && row.Org == l.n.Org
}

func (l *Lender) look(ctx context.Context, k *known) (out Loan, err error) {
	at, trusted := l.clock()
	err = l.n.DB.View(ctx, func(r store.Reader) (err error) {
		out, err = l.stand(r, k, moment{at: at, trusted: trusted})
		return err
	})
	return out, refusal(err)
}

// Loans lists the permissions this node issued, newest first, at most MaxLoans.
func (l *Lender) Loans(ctx context.Context) ([]Loan, error) {
	ids, err := l.scanIDs(ctx, keyIssued, MaxLoans)
	if err != nil {
		return nil, refusal(err)
	}
	out := make([]Loan, 0, len(ids))
	for _, id := range ids {
		k, err := l.permission(ctx, id)
		if err != nil {
			return nil, refusal(err)
		}
		loan, err := l.look(ctx, k)
		if err != nil {
			return nil, err
		}
		out = append(out, loan)
	}
	slices.SortStableFunc(out, func(a, b Loan) int {
		return cmp.Or(b.Permission.IssuedAt.Compare(a.Permission.IssuedAt), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	return out, nil
}

// scanIDs lists at most most ids that follow a prefix.
func (l *Lender) scanIDs(ctx context.Context, prefix string, most int) ([]envelope.ID, error) {
	var out []envelope.ID
	var bad error
	err := l.n.DB.View(ctx, func(r store.Reader) error {
		out, bad = nil, nil
		return r.Scan([]byte(prefix), nil, func(k, _ []byte) bool {
			var id envelope.ID
			if id, bad = envelope.ParseID(string(bytes.TrimPrefix(k, []byte(prefix)))); bad == nil {
				out = append(out, id)
			}
			return bad == nil && len(out) < most
		})
	})
	return out, errors.Join(err, bad)
}

func newestFirst(es []memory.Entry) {
	slices.SortStableFunc(es, func(a, b memory.Entry) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	})
}
