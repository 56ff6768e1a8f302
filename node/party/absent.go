package party

import (
	"context"

	"trustnode/did/envelope"
	"trustnode/node/fault"
)

// stillProven ends what is said of something whose bytes are gone.
const stillProven = "a file that proved it before still verifies"

// listIDs says where ids are found.
const listIDs = "trustnode event list --ids names each by its id"

// Absent is the refusal, not_found, for an id under which no event is held: it says so of
// what was erased or is past its age, and of an audit row. It is for the operator: a stranger is not told what is held.
func (p *Party) Absent(ctx context.Context, id envelope.ID) error {
	row, gone, err := p.n.Rec.GoneRow(ctx, id)
	switch {
	case err != nil:
		return err
	case gone && row.Erased:
		return fault.New(fault.NotFound, "erased", "row %s is erased, by log.erased at %d: its hash alone is left", id, row.At).WithHint(stillProven)
	case gone:
		return fault.New(fault.NotFound, "erased", "row %s is past its age: its hash alone is left", id).WithHint(stillProven)
	}
	if err := p.erasedBody(ctx, id); err != nil {
		return err
	}
	if _, err := (source{p.n}).Row(ctx, id); err == nil {
		return fault.New(fault.NotFound, "row", "%s is an audit row, no event", id).WithHint("trustnode event prove %s proves it, trustnode loan audit shows it", id)
	}
	return noEvent(id.String())
}

// erasedBody refuses a body that was erased; nil for what was not.
func (p *Party) erasedBody(ctx context.Context, id envelope.ID) error {
	by, at, erased, err := p.n.Rec.ErasedBody(ctx, id)
	if err != nil || !erased {
		return err
	}
	return fault.New(fault.NotFound, "erased", "body %s is erased, by log.erased at %d of %s", id, at, by).WithHint(stillProven)
}
