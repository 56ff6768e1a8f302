package didwebvh

import (
	"context"
	"fmt"
	"time"

	"trustnode/did/envelope"
	"trustnode/did/strictjson"
)

// draft is an entry that is being written.
type draft struct {
	versionTime string
	parameters  strictjson.Value
	state       strictjson.Value
	scid        string // of a first entry
}

func (d draft) entry() (e entry, err error) {
	e.timeText = d.versionTime
	if e.canonicalParameters, err = d.parameters.Canonical(); err != nil {
		return entry{}, err
	}
	e.canonicalState, err = d.state.Canonical()
	return e, err
}

// seal hashes and signs the entry after the given versionId, or SCID, and writes its line.
func (d draft) seal(ctx context.Context, s envelope.Signer, before string) ([]byte, error) {
	e, err := d.entry()
	if err != nil {
		return nil, err
	}
	number := 1
	if n, _, err := parseVersionID(before); err == nil {
		number = n + 1
	}
	id := fmt.Sprintf("%d-%s", number, hashText(e.sum(before)))
	created, err := parseTime(d.versionTime)
	if err != nil {
		return nil, err
	}
	p, err := prove(ctx, s, e.sum(id), created)
	if err != nil {
		return nil, err
	}
	return strictjson.ObjectOf(
		member("versionId", strictjson.StringOf(id)),
		member("versionTime", strictjson.StringOf(d.versionTime)),
		member("parameters", d.parameters),
		member("state", d.state),
		member("proof", strictjson.ArrayOf(p)),
	).Canonical()
}

// seal makes the line of the entry after h and checks it as any reader will.
// Its time is the given one, moved to a second after the head where it is not later.
func (h History) seal(ctx context.Context, s envelope.Signer, parameters, state strictjson.Value, when time.Time) ([]byte, error) {
	if soonest := h.Head().Time.Add(time.Second); when.Before(soonest) {
		when = soonest
	}
	d := draft{versionTime: formatTime(when), parameters: parameters, state: state}
	line, err := d.seal(ctx, s, h.Head().ID)
	if err != nil {
		return nil, err
	}
	if _, err := h.Check(line, when); err != nil {
		return nil, err
	}
	return line, nil
}

// state is the head's document, to be changed.
func (h History) state() (strictjson.Value, error) {
	return strictjson.Parse(h.Head().Document.Raw(), maxDepth)
}
