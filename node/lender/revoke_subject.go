package lender

import (
	"context"
	"time"

	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
	"trustnode/node/self"
	"trustnode/node/store"
)

// RevokedSubject says what the revocation of a data subject did.
type RevokedSubject struct {
	Subject string // pseudonym
	At      time.Time
	Entries int  // that carry the subject and have left every scope, at most maxSubjectEntries
	Before  bool // it was revoked before, and nothing changed
	// When backups were asked of this running node before; one that is restored knows nothing of
	// the revocation. The newest maxBackups.
	Backups []time.Time
}

// maxSubjectEntries bounds what is counted, not what is revoked.
const maxSubjectEntries = 1_000_000

// RevokeSubject takes every entry of a person, those to come included, out of every scope
// at once and for good; the loans live on. A read that is decided after it returned holds
// none of them. It is a change of state with an audit row and no signed object, for it
// names a pseudonym (04 section 7). subject is a name or a pseudonym.
func (l *Lender) RevokeSubject(ctx context.Context, subject, reason string) (RevokedSubject, error) {
	s, err := l.subject(self.ViewGetter(ctx, l.n.DB), subject)
	if err != nil {
		return RevokedSubject{}, refusal(err)
	}
	at, _ := l.clock()
	row, _, err := lending.MarshalRow(lending.RevokeRow{
		At: envelope.TimeOf(at), By: l.n.Org.String(), Op: lending.OpRevoke, Reason: reason, Salt: lending.NewSalt(), Target: s.Pseudonym, TargetKind: lending.TargetSubject,
	})
	if err != nil {
		return RevokedSubject{}, fault.Wrap(fault.Invalid, "reason", err).WithHint("data_subject, policy, mistake or other")
	}
	out := RevokedSubject{Subject: s.Pseudonym, At: at}
	err = l.n.DB.Update(store.Urgent(ctx), func(tx store.Tx) (err error) {
		if out.Before, err = l.n.Entries.SubjectRevoked(tx, tenant, s.Pseudonym); err != nil || out.Before {
			return err
		}
		if err := l.n.Entries.RevokeSubject(tx, tenant, s.Pseudonym); err != nil {
			return err
		}
		_, err = l.n.Rec.Row(tx, audit.Row{Kind: lending.OpRevoke, Body: row, Keys: []string{s.Pseudonym}})
		return err
	})
	if err != nil {
		return RevokedSubject{}, l.notRevoked(ctx, s.Pseudonym, err)
	}
	err = l.n.Entries.OfSubject(ctx, tenant, s.Pseudonym, memory.Place{}, func(memory.Place, string) bool {
		out.Entries++
		return out.Entries < maxSubjectEntries
	})
	if err == nil && !out.Before {
		out.Backups, err = l.backupsSince(ctx, time.Time{})
	}
	return out, refusal(err)
}
