package daemon

import (
	"context"
	"errors"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/federation/charter"
	"trustnode/mediation"
	"trustnode/node/fault"
	"trustnode/node/party"
	"trustnode/node/recorder"
)

const (
	// retainEvery is how often it is looked for what is due to go: often enough that bodies
	// whose origin erased them go within a day, whenever the node runs.
	retainEvery = time.Hour
	// afterCase is how long rows stay beyond the longest case.
	afterCase = 90 * 24 * time.Hour
	// eraseWait is how long an erasure is waited for; it is durable before.
	eraseWait = 10 * time.Second
)

// retain drops what is due, now and then. What is due is said by logs and by the age of
// rows, so nothing is lost with a process.
func (n *Node) retain(ctx context.Context) error {
	for ctx.Err() == nil {
		at, err := n.self.Clock.Now()
		if err == nil {
			err = n.dropDue(ctx, at)
		}
		if err != nil && ctx.Err() == nil {
			n.log.WarnContext(ctx, "what is due to go was not dropped; it is tried again", "err", err)
		}
		n.nextDue(ctx)
	}
	return nil
}

// nextDue waits until something more may be due: for a while, and no longer than until the own
// log is open again where it was not, since what peers brought of it may say that bodies were
// erased which an older copy of the data still has.
func (n *Node) nextDue(ctx context.Context) {
	tick := time.NewTimer(retainEvery)
	defer tick.Stop()
	for was := n.ownSettled(); ; {
		changed := n.self.Rec.Changed()
		if n.ownSettled() && !was {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			return
		case <-changed:
		}
	}
}

// ownSettled reports whether the own log is open and all of it judged.
func (n *Node) ownSettled() bool {
	state, _ := n.self.Rec.State()
	return state == recorder.Open && n.events.Judged(n.cfg.Org) >= n.logSize(n.cfg.Org)
}

// dropDue drops bodies whose origin erased them, and rows past their age.
func (n *Node) dropDue(ctx context.Context, at time.Time) error {
	cited, err := n.party.Cited(ctx)
	if err != nil {
		return err
	}
	dropped, err := n.self.Rec.Forget(ctx, func(ev attestation.Event, id envelope.ID) bool { return cited.Any(about(ev, id)...) })
	if dropped > 0 {
		n.log.InfoContext(ctx, "bodies were dropped that their origin erased", "bodies", dropped)
	}
	return errors.Join(err, n.ageRows(ctx, at.Add(-n.keepRows()), cited))
}

// about lists what names an event in a case: itself, its body, its subject.
func about(ev attestation.Event, id envelope.ID) []envelope.ID {
	out := []envelope.ID{id, ev.Body}
	if s, err := envelope.ParseID(ev.Subject); err == nil {
		out = append(out, s)
	}
	return out
}

// ageRows makes own rows from before a time their hash alone, turn by turn.
func (n *Node) ageRows(ctx context.Context, before time.Time, cited party.Cited) error {
	keep := func(r audit.Row) bool {
		return cited.Any(append(foundBy(r), audit.ID(r))...)
	}
	total := 0
	for from := uint64(0); ctx.Err() == nil; {
		aged, err := n.events.AgeRows(ctx, n.cfg.Org, from, envelope.TimeOf(before), keep)
		if err != nil {
			return err
		}
		total += aged.Rows
		if from = aged.Next; from == 0 {
			break
		}
	}
	if total > 0 {
		n.log.InfoContext(ctx, "rows past their age are their hashes alone", "rows", total)
	}
	return ctx.Err()
}

// foundBy lists the ids that find a row: the loan it is about, and what else.
func foundBy(r audit.Row) (out []envelope.ID) {
	for _, k := range r.Keys {
		if id, err := envelope.ParseID(k); err == nil {
			out = append(out, id)
		}
	}
	return out
}

// keepRows is how long rows stay: as the configuration says, and never less than the longest
// case of the charter in force and some time.
func (n *Node) keepRows() time.Duration {
	least := afterCase
	if c, ok := n.member.Charter(); ok {
		least += longestCase(c.Head().Body)
	}
	return max(least, n.cfg.KeepRows)
}

// longestCase is how long a case under a charter can last at most: each rung of the ladder
// asks every member to sit, decides, and may be appealed; every wait has its grace.
func longestCase(b charter.Body) time.Duration {
	m := b.Mediation
	seconds := func(s ...uint64) (d time.Duration) {
		for _, x := range s {
			d += time.Duration(x)*time.Second + mediation.Grace
		}
		return d
	}
	rung := time.Duration(len(b.Members))*seconds(m.AckWithinS) + seconds(m.DecideWithinS, m.VoteWithinS, m.AppealWithinS)
	return seconds(m.RespondWithinS, m.EvidenceWithinS, m.EnforceWithinS) + time.Duration(max(1, len(m.Ladder)))*rung
}

// erase erases something private of the own organization, unless an open case rests on it.
// waits: it is durable, and the log has not taken it yet.
func (n *Node) erase(ctx context.Context, id envelope.ID) (e recorder.Erased, waits bool, err error) {
	cited, err := n.party.Cited(ctx)
	if err != nil {
		return recorder.Erased{}, false, err
	}
	ids, err := n.means(ctx, id)
	if err != nil {
		return recorder.Erased{}, false, err
	}
	if cited.Any(ids...) {
		return recorder.Erased{}, false, fault.New(fault.Refused, "cited", "an open case rests on %s", id).
			WithHint("erase it once the case is closed: trustnode dispute list")
	}
	if e, err = n.self.Rec.Erase(ctx, id); err != nil {
		return recorder.Erased{}, false, err
	}
	wait, cancel := context.WithTimeout(ctx, eraseWait)
	defer cancel()
	err = n.self.Rec.WaitErased(wait, e)
	if errors.Is(err, recorder.ErrRecovering) || errors.Is(err, context.DeadlineExceeded) {
		return e, true, nil
	}
	return e, false, err
}

// means lists what an id to erase stands for: itself, the events whose body it is, and what
// an own row is found by.
func (n *Node) means(ctx context.Context, id envelope.ID) ([]envelope.ID, error) {
	out := []envelope.ID{id}
	for _, look := range []func(context.Context, envelope.ID) ([]attestation.Found, error){n.events.Find, n.events.Naming} {
		found, err := look(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if _, ev, err := f.Entry.Envelope(); err == nil {
				out = append(out, about(ev, f.Entry.ID())...)
			}
		}
	}
	row, err := n.self.Rec.OwnRow(ctx, id)
	if err != nil && !errors.Is(err, attestation.ErrNotFound) {
		return nil, err
	}
	return append(out, foundBy(row)...), nil
}
