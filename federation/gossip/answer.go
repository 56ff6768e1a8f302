package gossip

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"slices"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
)

// answer answers asks until the peer has no more.
func (c *conversation) answer(ctx context.Context) error {
	for range maxAsks {
		b, err := c.f.Read()
		if err != nil {
			return noEOF(err)
		}
		if isEnd(b) {
			_, err := parseEnd(b)
			return err
		}
		a, err := parseAsk(b)
		if errors.Is(err, errUnknownAsk) {
			if err := c.end(end{Code: codeNotFound}); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if err := c.answerOne(ctx, a); err != nil {
			return err
		}
	}
	return blame("more than %d asks", maxAsks)
}

func (c *conversation) answerOne(ctx context.Context, a ask) error {
	r := &reply{c: c}
	var e end
	var err error
	switch {
	case a.Charters != nil:
		err = r.charters(ctx, a.Charters.After)
	case a.DIDLog != nil:
		err = r.didLog(ctx, *a.DIDLog)
	case a.Bindings != nil:
		err = r.missing(ctx, c.n.cfg.Bindings.All, a.Bindings.Have)
	case a.Beacons != nil:
		err = r.missing(ctx, c.n.cfg.Beacons.Newest, a.Beacons.Have)
	case a.Events != nil:
		e, err = r.events(ctx, *a.Events)
	case a.Notes != nil:
		err = r.notes(ctx, *a.Notes)
	case a.Ranges != nil:
		e, err = r.ranges(ctx, *a.Ranges)
	case a.Object != nil:
		e, err = r.object(ctx, a.Object.ID)
	default:
		err = r.bodies(ctx, a.Bodies)
	}
	if errors.Is(err, errFull) {
		e, err = end{More: true}, nil
	}
	if err != nil {
		return err
	}
	return c.end(e)
}

// errFull ends a reply that has reached its size.
var errFull = errors.New("reply is full")

// reply is the lines of one answer.
type reply struct {
	c    *conversation
	sent int
}

// put sends a line, or returns errFull where the reply has reached its size.
func (r *reply) put(line []byte) error {
	if r.sent > 0 && r.sent+len(line) > maxReply {
		return errFull
	}
	r.sent += len(line)
	return r.c.f.Write(line)
}

func (r *reply) line(l bundle.Line) error {
	b, err := bundle.EncodeLine(l)
	if err != nil {
		return err
	}
	return r.put(b)
}

func (r *reply) charters(ctx context.Context, after uint64) error {
	list, err := r.c.n.cfg.Charters.After(ctx, after)
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := r.line(bundle.Envelope{Envelope: e}); err != nil {
			return err
		}
	}
	return nil
}

func (r *reply) didLog(ctx context.Context, a didLogAsk) error {
	if r.c.n.cfg.Members.Status(a.DID) == "" {
		return nil
	}
	log, witness, err := r.c.n.cfg.Identities.Log(ctx, a.DID, a.After)
	if errors.Is(err, ErrAbsent) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, l := range bundle.DIDLogs(a.DID, a.After+1, log, witness) {
		if err := r.line(l); err != nil {
			return err
		}
	}
	return r.branches(ctx, a.DID)
}

// branches sends what is kept beside a frozen log: what parts last first, so that no
// branch begins where the one before it would go on. What does not fit is left out,
// as the first lines of one prove the fork.
func (r *reply) branches(ctx context.Context, d did.DID) error {
	list, err := r.c.n.cfg.Identities.Branches(ctx, d)
	if errors.Is(err, ErrAbsent) {
		return nil
	}
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b Branch) int { return cmp.Compare(b.After, a.After) })
	for _, b := range list[:min(len(list), maxBranches)] {
		for _, l := range bundle.DIDLogs(d, b.After+1, b.Log, b.Witness) {
			if err := r.line(l); errors.Is(err, errFull) {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

// missing sends what the asker does not have of a set.
func (r *reply) missing(ctx context.Context, all func(context.Context) ([]envelope.Envelope, error), have []envelope.ID) error {
	list, err := all(ctx)
	if err != nil {
		return err
	}
	has := make(map[envelope.ID]bool, len(have))
	for _, id := range have {
		has[id] = true
	}
	for _, e := range list {
		if has[e.ID()] {
			continue
		}
		if err := r.line(bundle.Envelope{Envelope: e}); err != nil {
			return err
		}
	}
	return nil
}

// events sends entries [from, to) under the head of size to.
func (r *reply) events(ctx context.Context, a rangeAsk) (end, error) {
	l, err := r.c.n.cfg.Logs.Log(ctx, a.DID)
	if errors.Is(err, attestation.ErrNotFound) {
		return end{Code: codeNotFound}, nil
	}
	if err != nil {
		return end{}, err
	}
	if h, note := l.Head(); a.To > h.Size {
		return end{Code: codeStale, Size: noteSize(note)}, nil
	}
	for from := a.From; from < a.To; {
		p, err := packageOf(ctx, a.DID, l, from, nextBatch(from, a.To), a.To, maxLine)
		if err != nil {
			return end{}, err
		}
		b, err := entriesOf(p, a.To)
		if err != nil {
			return end{}, err
		}
		if err := r.put(b); err != nil {
			return end{}, err
		}
		from += uint64(len(p.Entries))
	}
	return end{}, nil
}

// nextBatch is where a package that begins at from ends: never across a multiple
// of its greatest length.
func nextBatch(from, to uint64) uint64 {
	return min(to, (from/attestation.MaxBatch+1)*attestation.MaxBatch)
}

var errEnough = errors.New("package is full")

// packageOf reads entries [from, to) of a log, as many as room bytes hold, but
// one at least, with the range from there to size.
func packageOf(ctx context.Context, d did.DID, l attestation.Log, from, to, size uint64, room int) (attestation.Package, error) {
	p := attestation.Package{Did: d, From: from}
	err := l.Entries(ctx, from, to, func(_ uint64, e attestation.Entry) error {
		if room -= len(e); room < 0 && len(p.Entries) > 0 {
			return errEnough
		}
		p.Entries = append(p.Entries, e)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return attestation.Package{}, err
	}
	rest, err := attlog.ReadRange(from+uint64(len(p.Entries)), size, l)
	if err != nil {
		return attestation.Package{}, err
	}
	p.Rest = rest.Hashes()
	return p, nil
}

// ranges sends the two compact ranges of the tree of a size that meet at an index.
func (r *reply) ranges(ctx context.Context, a rangesAsk) (end, error) {
	l, err := r.c.n.cfg.Logs.Log(ctx, a.DID)
	if errors.Is(err, attestation.ErrNotFound) {
		return end{Code: codeNotFound}, nil
	}
	if err != nil {
		return end{}, err
	}
	if h, note := l.Head(); a.Size > h.Size {
		return end{Code: codeStale, Size: noteSize(note)}, nil
	}
	left, err := attlog.ReadRange(0, a.At, l)
	if err != nil {
		return end{}, err
	}
	right, err := attlog.ReadRange(a.At, a.Size, l)
	if err != nil {
		return end{}, err
	}
	b, err := rangesOf(a, left, right)
	if err != nil {
		return end{}, err
	}
	return end{}, r.put(b)
}

func (r *reply) notes(ctx context.Context, a rangeAsk) error {
	for from := a.From; from < a.To; {
		list, err := r.c.n.cfg.Logs.Notes(ctx, a.DID, from, a.To, maxNotes)
		if errors.Is(err, attestation.ErrNotFound) || err == nil && len(list) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		line := notesLine{DID: a.DID}
		for _, b := range list {
			line.Notes = append(line.Notes, string(b))
		}
		b, err := envelope.Marshal(line)
		if err != nil {
			return err
		}
		if err := r.put(b); err != nil {
			return err
		}
		if from = noteSize(list[len(list)-1]); len(list) < maxNotes || from == 0 {
			return nil
		}
	}
	return nil
}

func (r *reply) object(ctx context.Context, id envelope.ID) (end, error) {
	l, err := r.c.n.cfg.Objects.Give(ctx, r.c.org, id)
	if errors.Is(err, ErrAbsent) {
		return end{Code: codeNotFound}, nil
	}
	if err != nil {
		return end{}, err
	}
	return end{}, r.line(l)
}

// bodies sends those the asker may have, one in a line.
func (r *reply) bodies(ctx context.Context, ids []envelope.ID) error {
	for _, id := range ids {
		l, err := r.c.n.cfg.Objects.Give(ctx, r.c.org, id)
		if errors.Is(err, ErrAbsent) {
			continue
		}
		if err != nil {
			return err
		}
		body, ok := l.(bundle.Body)
		if !ok {
			continue
		}
		b, err := envelope.Marshal(bodiesLine{Bodies: []string{base64.RawURLEncoding.EncodeToString(body.Body)}})
		if err != nil {
			return err
		}
		if err := r.put(b); err != nil {
			return err
		}
	}
	return nil
}
