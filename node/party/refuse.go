package party

import (
	"errors"
	"time"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/mediation"
	"trustnode/node/fault"
)

// ParseID reads a case's id, or gives the refusal for text that is none.
func ParseID(text string) (envelope.ID, error) {
	id, err := envelope.ParseID(text)
	if err != nil {
		return envelope.ID{}, fault.New(fault.Invalid, "case", "%.80q is not the id of a case", text).
			WithHint("list the cases: trustnode dispute list")
	}
	return id, nil
}

func unknown(id envelope.ID) error {
	return fault.New(fault.NotFound, "case", "no member that could be asked knows case %s", id).
		WithHint("list the cases: trustnode dispute list")
}

// item refuses a filing for what it cannot prove.
func item(hint string, args ...any) error {
	return fault.New(fault.Invalid, "item", "nothing provable is held here").WithHint(hint, args...)
}

// moved puts why a move has no place into the words of a refusal.
func moved(c mediation.Case, err error) error {
	var not *mediation.NotYours
	var late *mediation.TooLate
	var now *mediation.NotNow
	switch {
	case err == nil:
		return nil
	case errors.As(err, &not):
		d := fault.New(fault.Refused, "not_yours", "%v", err)
		if !c.Candidate.IsZero() {
			return d.WithHint("the seat is %s's%s", c.Candidate, until(c))
		}
		return d.WithHint("claimant %s, respondent %s", c.Claimant, c.Respondent)
	case errors.As(err, &late):
		return fault.New(fault.Expired, "deadline", "%v", err).WithHint("it ended %s, 0 s left", stamp(late.Deadline))
	case errors.As(err, &now):
		return fault.New(fault.Conflict, "state", "%v", err).WithHint("see: trustnode dispute show %s", c.ID)
	}
	return err
}

func until(c mediation.Case) string {
	if c.Deadline.IsZero() {
		return ""
	}
	return " until " + stamp(c.Deadline)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// may says whether this node may make a move now, as a refusal.
func (p *Party) may(f folded, kind attestation.Type) error {
	if f.State == Pending {
		return fault.New(fault.Unavailable, "pending", "nobody outside both parties has cosigned the filing yet").
			WithHint("a member outside both parties must be reachable; try again")
	}
	return moved(f.Case, f.May(p.n.Org, kind))
}
