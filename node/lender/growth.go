package lender

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/library"
	"trustnode/node/notice"
	"trustnode/node/store"
)

const keyGrowth = "gr/"

// growthRow is how far a loan had grown when that was told.
type growthRow struct {
	At      envelope.Time `json:"at"`
	Classes []string      `json:"classes"` // that were not there at issue
	Matches uint64        `json:"matches"`
}

// Growth says that a loan reaches much more than at issue, or another class (H9).
type Growth struct {
	At      time.Time
	Matches uint64
	Classes []string // that were not there at issue
}

// words says it in a sentence.
func (g Growth) words(issued uint64) string {
	text := fmt.Sprintf("it reached %d entries on %s, and %d when it was issued", g.Matches, g.At.UTC().Format("2006-01-02"), issued)
	if len(g.Classes) > 0 {
		text += "; class " + strings.Join(g.Classes, ", ") + " is new"
	}
	return text
}

// grown reads how far a loan has grown, or nil.
func grown(g library.Getter, id envelope.ID) (*Growth, error) {
	row, ok, err := store.GetRow[growthRow](g, idKey(keyGrowth, id))
	if err != nil || !ok {
		return nil, err
	}
	return &Growth{row.At.Time(), row.Matches, row.Classes}, nil
}

// withGrowth adds code and words to a loan that has grown.
func (x Loan) withGrowth(g *Growth) Loan {
	if x.Growth = g; g == nil {
		return x
	}
	x.Hygiene = append(slices.Clone(x.Hygiene), lending.H9Growth)
	x.Words = append(slices.Clone(x.Words), g.words(x.Matches))
	return x
}

// sweepGrowth looks, each growthEvery, what the open loans reach now.
func (l *Lender) sweepGrowth(ctx context.Context, at time.Time) error {
	if at.Sub(l.looked) < growthEvery {
		return nil
	}
	ids, err := l.scanIDs(ctx, keyOpen, MaxLoans)
	if err != nil {
		return err
	}
	var all error
	for _, id := range ids {
		if err := l.lookAt(ctx, id, at); err != nil {
			all = errors.Join(all, fmt.Errorf("loan %s: %w", id, err))
		}
	}
	l.looked = at
	return all
}

// lookAt tells, in one transaction, that a loan has grown: row, notice, and what was told.
func (l *Lender) lookAt(ctx context.Context, id envelope.ID, at time.Time) error {
	k, err := l.permission(ctx, id)
	if err != nil {
		return err
	}
	stats, err := l.n.Entries.Stats(ctx, k.place, k.perm.Body().Scope, at)
	if err != nil {
		return err
	}
	now := censusOf(stats)
	var told *notice.Notice
	err = l.n.DB.Update(ctx, func(tx store.Tx) error {
		told = nil
		_, err := tx.Get(idKey(keyOpen, id))
		if errors.Is(err, store.ErrNotFound) { // it has ended meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		before, err := l.census(tx, k)
		if err != nil {
			return err
		}
		if _, more := lending.Growth(before, now); !more {
			return nil
		}
		told, err = l.tellGrowth(tx, k, now, at)
		return err
	})
	if err == nil && told != nil {
		notice.Log(ctx, l.n.Log, *told)
	}
	return err
}

// census is the most that a loan was said to reach: at issue, and when its growth was told.
func (l *Lender) census(g library.Getter, k *known) (lending.Census, error) {
	c := k.census()
	row, ok, err := store.GetRow[growthRow](g, idKey(keyGrowth, k.perm.ID()))
	if err != nil || !ok {
		return c, err
	}
	return lending.Census{Matches: max(c.Matches, row.Matches), Classes: slices.Concat(c.Classes, row.Classes)}, nil
}

// census is what the loan matched at issue. Loans of older versions did not keep the
// classes: all of them count as known.
func (k *known) census() lending.Census {
	c := lending.Census{Matches: k.issued.Matches, Classes: k.issued.Classes}
	if c.Matches > 0 && len(c.Classes) == 0 {
		c.Classes = []string{"confidential", "internal", "personal", "public", "regulated"}
	}
	return c
}

func (l *Lender) tellGrowth(tx store.Tx, k *known, now lending.Census, at time.Time) (*notice.Notice, error) {
	id, when := k.perm.ID(), envelope.TimeOf(at)
	was, err := l.census(tx, k)
	if err != nil {
		return nil, err
	}
	issued := k.census()
	classes, _ := lending.Growth(issued, lending.Census{Classes: slices.Concat(was.Classes, now.Classes)})
	classes = append([]string{}, sorted(classes)...)
	body, _, err := lending.MarshalRow(lending.GrowthRow{At: when, Classes: classes, Issued: k.issued.Matches, Matches: now.Matches, Op: lending.OpGrowth, Perm: id, Salt: lending.NewSalt()})
	if err != nil {
		return nil, err
	}
	if _, err := l.n.Rec.Row(tx, audit.Row{Kind: lending.OpGrowth, Body: body, For: []did.DID{}, Keys: []string{id.String()}}); err != nil {
		return nil, err
	}
	g := Growth{at, now.Matches, classes}
	n := notice.Notice{At: when, Detail: "a loan has grown: " + g.words(k.issued.Matches), Hint: fmt.Sprintf("trustnode loan show %s; to narrow it: trustnode loan issue --replaces %s --scope …", id, id),
		Level: notice.Warn, Ref: id.String(), What: "loan_grown"}
	return &n, errors.Join(store.PutRow(tx, idKey(keyGrowth, id), growthRow{when, classes, now.Matches}), notice.Put(tx, n))
}
