package lender

import (
	"context"
	"fmt"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/self"
)

// preview is what would be lent, with what an operator looks at before saying yes.
func (i *issuing) preview(ctx context.Context) (Loan, error) {
	v, err := i.l.n.Entries.Survey(ctx, i.place, i.p.Scope, i.at)
	if err != nil {
		return Loan{}, err
	}
	out := Loan{Permission: i.p, BorrowerOrg: i.borrower.Org, Place: i.place.String(), Left: i.p.MaxReads, Matches: uint64(i.stats.Matches),
		Hygiene: i.hygiene, Words: i.words(), Survey: &v}
	if i.lender.Kind == human {
		if out.Body, err = envelope.Marshal(i.p); err != nil {
			return Loan{}, err
		}
	}
	if i.old == nil {
		return out, nil
	}
	out.Replaces = i.old.k.perm.ID()
	out.Growth, err = grown(self.ViewGetter(ctx, i.l.n.DB), out.Replaces)
	return out, err
}

// words says each hygiene code in a sentence, with the numbers behind it.
func (i *issuing) words() []string {
	out := words(i.hygiene)
	for n, code := range i.hygiene {
		switch code {
		case lending.H3Broad:
			out[n] = fmt.Sprintf("it reaches %d of %d entries of the project", i.stats.Matches, i.stats.Size)
		case lending.H7Nothing:
			out[n] = i.nothing()
		}
	}
	return out
}

func (i *issuing) nothing() string {
	text := "it matches nothing now"
	for n, tag := range i.stats.Unknown {
		text += fmt.Sprintf("; no entry has %s", tag)
		if near := i.stats.Nearest[n]; near != "" {
			text += fmt.Sprintf(", %s is near", near)
		}
	}
	return text
}
