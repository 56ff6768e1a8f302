package party

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"slices"

	"trustnode/did/envelope"
	"trustnode/mediation"
	"trustnode/node/fault"
)

// settled waits until an own event lies in the log under a signed head, and then, for as
// long as waitFor, until it has the time that counts: cosigned by somebody outside both
// parties, and with it what came before it in the same move: a log that grows while it is
// read may show the one without the other. It returns the case as it then stands, whether or
// not that came.
func (p *Party) settled(ctx context.Context, id, first, last envelope.ID) (folded, error) {
	if _, err := p.n.Rec.WaitLogged(ctx, last); err != nil {
		return folded{}, err
	}
	soon, stop := context.WithTimeout(ctx, waitFor)
	defer stop()
	for {
		changed := p.n.Rec.Changed()
		f, err := p.look(ctx, id)
		if err != nil || f.has(first) && f.has(last) {
			return f, err
		}
		select {
		case <-soon.Done():
			return f, ctx.Err()
		case <-changed:
		}
	}
}

// effective is settled, and refuses where the event that the move consists of had no effect.
func (p *Party) effective(ctx context.Context, id, decisive, last envelope.ID) (folded, error) {
	f, err := p.settled(ctx, id, decisive, last)
	if err == nil {
		err = ignored(f.Case, decisive)
	}
	if err != nil {
		return folded{}, err
	}
	return f, nil
}

// ignored refuses where an event of this node had its turn and came too late: something
// else was seen first.
func ignored(c mediation.Case, id envelope.ID) error {
	for _, x := range c.Ignored {
		if x.ID == id {
			return fault.New(fault.Conflict, "state", "the event had no effect: %s", x.Why).WithHint("see: trustnode dispute show %s", c.ID)
		}
	}
	return nil
}

// has says whether an event was taken into the case, or had its turn and was ignored.
func (f folded) has(id envelope.ID) bool {
	return slices.ContainsFunc(f.Events, func(t mediation.Taken) bool { return t.ID == id }) ||
		slices.ContainsFunc(f.Ignored, func(t mediation.Ignored) bool { return t.ID == id })
}

// random16 is 16 random bytes in base64url: a nonce or a salt.
func random16() string {
	var b [16]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

var errMoved = errors.New("what was read has changed")
