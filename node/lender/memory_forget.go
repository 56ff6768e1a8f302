package lender

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
	"trustnode/node/self"
	"trustnode/node/store"
)

// ForgetInput says what to forget: entries by id, or all of a subject, or all that carry
// every one of the tags.
type ForgetInput struct {
	Project string // required but for a subject, who is forgotten in all projects without it
	IDs     []string
	Subject string // natural name or pseudonym
	Tags    []string
	Unlink  bool // the subject's name too
}

// ForgetResult says what was forgotten.
type ForgetResult struct {
	Erased   int
	Absent   []string    // ids that the project does not have
	Projects []string    // in which something was erased
	Subject  string      // pseudonym, where a subject was named
	Unlinked bool        // the name of the subject is gone
	Backups  []time.Time // when backups were asked of this running node that may still hold it; the newest maxBackups
}

// Forget removes entries for good, each transaction with its row.
func (l *Lender) Forget(ctx context.Context, in ForgetInput) (ForgetResult, error) {
	sel := memory.Selector{IDs: plainIDs(in.IDs), Tags: in.Tags}
	if len(in.IDs) > MaxTagged {
		return ForgetResult{}, fault.New(fault.TooLarge, "ids", "%d ids, at most %d", len(in.IDs), MaxTagged).WithHint("ask in parts")
	}
	if in.Unlink && in.Subject == "" {
		return ForgetResult{}, fault.New(fault.Invalid, "unlink", "a name is unlinked with its subject").WithHint("--subject NAME --unlink")
	}
	if in.Subject != "" {
		s, err := l.subject(self.ViewGetter(ctx, l.n.DB), in.Subject)
		if err != nil {
			return ForgetResult{}, refusal(err)
		}
		sel.Subject = s.Pseudonym
	}
	places, err := l.forgetIn(ctx, in.Project, sel)
	if err != nil {
		return ForgetResult{}, refusal(err)
	}
	out := ForgetResult{Subject: sel.Subject}
	oldest := time.Time{}
	for _, at := range places {
		done, err := l.n.Entries.Forget(ctx, at, sel, func(tx store.Tx, gone []memory.Entry) error {
			for _, e := range gone {
				if oldest.IsZero() || e.Created.Before(oldest) {
					oldest = e.Created
				}
			}
			return l.forgotten(tx, lending.ForgetOperator, sel.Subject, at, gone)
		})
		out.Erased += done.Erased
		out.Absent = append(out.Absent, done.Absent...)
		if done.Erased > 0 {
			out.Projects = append(out.Projects, at.Project())
		}
		if err != nil {
			return out, refusal(err)
		}
	}
	if out.Erased == 0 && len(out.Absent) > 0 {
		return out, fault.New(fault.NotFound, "entry", "the project has none of these entries").WithHint("trustnode memory list shows the ids")
	}
	if in.Unlink {
		err := l.n.DB.Update(ctx, func(tx store.Tx) (err error) {
			out.Unlinked, err = l.n.Entries.UnlinkSubject(tx, tenant, sel.Subject)
			return err
		})
		if err != nil {
			return out, refusal(err)
		}
	}
	if out.Erased > 0 || out.Unlinked {
		out.Backups, err = l.backupsSince(ctx, oldest)
	}
	return out, refusal(err)
}

// forgetIn says where: the project named, or all that have entries of the subject.
func (l *Lender) forgetIn(ctx context.Context, name string, sel memory.Selector) ([]memory.Place, error) {
	if name != "" || sel.Subject == "" {
		at, err := project(name)
		return []memory.Place{at}, err
	}
	var out []memory.Place
	err := l.n.Entries.OfSubject(ctx, tenant, sel.Subject, memory.Place{}, func(in memory.Place, _ string) bool {
		if len(out) == 0 || out[len(out)-1] != in { // they come by project
			out = append(out, in)
		}
		return true
	})
	return out, err
}

// forgotten drafts the row of one transaction of forgetting.
func (l *Lender) forgotten(tx store.Tx, cause, subject string, in memory.Place, gone []memory.Entry) error {
	at, _ := l.clock()
	ids := make([]string, len(gone))
	for i, e := range gone {
		ids[i] = e.ID
	}
	slices.Sort(ids)
	body, _, err := lending.MarshalRow(lending.ForgetRow{
		At: envelope.TimeOf(at), By: l.n.Org.String(), Cause: cause, Entries: ids, Op: lending.OpForget, Place: in.String(), Salt: lending.NewSalt(), Subject: subject,
	})
	if err != nil {
		return err
	}
	_, err = l.n.Rec.Row(tx, audit.Row{Kind: lending.OpForget, Body: body, Keys: []string{in.String()}})
	return errors.Join(err, markForgotten(tx, at, in, gone))
}

// sweepMemory forgets entries whose end has come, each transaction with its row, and goes
// on with raises that a crash interrupted.
func (l *Lender) sweepMemory(ctx context.Context, at time.Time) error {
	held, err := l.n.Entries.Held(ctx)
	if err != nil {
		return err
	}
	for _, in := range held {
		if err := l.n.Entries.Settle(ctx, in); err != nil {
			return err
		}
	}
	for most := sweepBatch; ; {
		some, err := l.n.Entries.Expired(ctx, at.Unix(), most)
		if err != nil || len(some) == 0 {
			return err
		}
		seen, erased := 0, 0
		for in, ids := range some {
			seen += len(ids)
			if ids, err = l.ownAmong(ctx, in, ids, at); err != nil {
				return err
			}
			if len(ids) == 0 {
				continue
			}
			done, err := l.n.Entries.Forget(ctx, in, memory.Selector{IDs: ids}, func(tx store.Tx, gone []memory.Entry) error {
				for _, e := range gone {
					if e.ExpiresAt.IsZero() || at.Before(e.ExpiresAt) {
						return errNotExpired
					}
				}
				return l.forgotten(tx, lending.ForgetExpired, "", in, gone)
			})
			if err != nil {
				return err
			}
			erased += done.Erased
		}
		if erased > 0 {
			continue
		}
		if seen < most {
			return nil
		}
		most *= 2 // all of these are left to their loans: look behind them
	}
}

// ownAmong leaves out of some expired entries of a place what was learnt under a loan: the
// client's sweep forgets that with the loan, and says loan.deleted. What lies there lentGrace
// after its end, such as under a loan of whose end nothing is known here, goes all the same.
func (l *Lender) ownAmong(ctx context.Context, in memory.Place, ids []string, at time.Time) ([]string, error) {
	var out []string
	for _, id := range ids {
		e, err := l.n.Entries.Get(ctx, in, id)
		if errors.Is(err, memory.ErrNotFound) {
			continue // forgotten since
		}
		if err != nil {
			return nil, err
		}
		if e.Loan == "" || at.Sub(e.ExpiresAt) >= lentGrace {
			out = append(out, id)
		}
	}
	return out, nil
}

// errNotExpired says that the list of ends is wrong: what lives is not forgotten.
var errNotExpired = errors.New("an entry is listed under an end that is not its own")

// BackupBegins notes that a backup of the state is asked for: what is forgotten later may
// still be in it.
func (l *Lender) BackupBegins(ctx context.Context) error {
	at, _ := l.clock()
	return l.n.DB.Update(ctx, func(tx store.Tx) error { return tx.Set(backupKey(at), nil) })
}

func backupKey(at time.Time) []byte {
	return binary.BigEndian.AppendUint64([]byte(keyBackup), ^uint64(at.Unix()))
}

// backupsSince lists the backups asked for since a moment, newest first, at most maxBackups.
func (l *Lender) backupsSince(ctx context.Context, since time.Time) ([]time.Time, error) {
	var out []time.Time
	err := l.n.DB.View(ctx, func(r store.Reader) error {
		out = nil
		return r.Scan([]byte(keyBackup), nil, func(k, _ []byte) bool {
			if len(k) != len(keyBackup)+8 {
				return true
			}
			at := time.Unix(int64(^binary.BigEndian.Uint64(k[len(keyBackup):])), 0).UTC()
			if at.Before(since) || len(out) == maxBackups {
				return false
			}
			out = append(out, at)
			return true
		})
	})
	return out, err
}
