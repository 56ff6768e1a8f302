package party

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"slices"

	"trustnode/did/envelope"
	"trustnode/mediation"
)

// settled waits until an own event lies in the log under a signed head, and then, for as
// long as waitFor, until it has the time that counts: cosigned by somebody outside both
// parties. It returns the case as it then stands, whether or not that came.
func (p *Party) settled(ctx context.Context, id, last envelope.ID) (folded, error) {
	if _, err := p.n.Rec.WaitLogged(ctx, last); err != nil {
		return folded{}, err
	}
	soon, stop := context.WithTimeout(ctx, waitFor)
	defer stop()
	for {
		changed := p.n.Rec.Changed()
		f, err := p.look(ctx, id)
		if err != nil || f.has(last) {
			return f, err
		}
		select {
		case <-soon.Done():
			return f, ctx.Err()
		case <-changed:
		}
	}
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
