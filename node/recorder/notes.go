package recorder

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
)

// witnessKeys answers whose cosignatures count.
func (r *Recorder) witnessKeys(ctx context.Context) attlog.KeysOf {
	return func(w did.DID) []did.PublicKey { return r.cfg.Ring.Witness(ctx, w) }
}

// keep returns a verified note as it is stored: the log's own line and each
// organization's earliest true cosignature, those stored before included.
func (r *Recorder) keep(ctx context.Context, n attlog.Note, own attlog.Line) ([]byte, []attestation.Seen) {
	all := n
	if old, err := r.cfg.Events.Note(ctx, n.Org, n.Head.Size); err == nil {
		if o, err := attlog.ParseNote(old); err == nil && o.Head == n.Head {
			own, all = o.Lines[0], n.With(o.Lines...)
		}
	}
	good, _ := all.Cosignatures(r.witnessKeys(ctx))
	out := attlog.Note{Org: n.Org, Head: n.Head, Lines: []attlog.Line{own}}
	var seen []attestation.Seen
	for _, c := range good {
		if len(out.Lines) < attlog.MaxLines {
			out.Lines = append(out.Lines, c.Line)
			seen = append(seen, attestation.Seen{Org: c.Witness, At: c.At})
		}
	}
	return out.Bytes(), seen
}

// MergeNote takes the cosignatures of a note of d that a peer or a witness
// brought. The head must be one of the held log; a larger one is Behind, a
// contradicting one a *Fork. Lines are judged one by one.
func (r *Recorder) MergeNote(ctx context.Context, d did.DID, note []byte) (Result, error) {
	if len(note) > attestation.MaxNote {
		return rejected("note of %d bytes", len(note))
	}
	n, err := attlog.ParseNote(note)
	if err != nil || n.Org != d {
		return rejected("not a note of %s", d)
	}
	release := r.logs.of(d)
	held := r.size(ctx, d)
	res, news, err := Result{Verdict: Behind, Size: held}, (*HeadNews)(nil), error(nil)
	switch {
	case n.Head.Size > held:
	case r.hasLines(ctx, n):
		res.Verdict = Held
	default:
		res, news, err = r.mergeHeld(ctx, n, held, nil)
	}
	release()
	if news != nil {
		r.progress()
		r.cfg.OnHead(*news)
	}
	return res, err
}

// mergeHeld takes a note of a size that is held, and of the package that brought it, if one
// did, what it shows of another branch.
func (r *Recorder) mergeHeld(ctx context.Context, n attlog.Note, held uint64, p *attestation.Package) (Result, *HeadNews, error) {
	if n.Head.Size == 0 {
		return Result{Verdict: Held, Size: held}, nil, nil
	}
	k, err := r.Keys(ctx, n.Org)
	if err != nil {
		return Result{}, nil, err
	}
	line, ok := signedBy(n, k.InForce(n.Head.Size-1))
	if !ok {
		if r.otherwiseSigned(ctx, n) || len(r.headKeys(ctx, n.Org)) == 0 {
			return Result{Verdict: Parked, Size: held}, nil, nil
		}
		res, err := rejected("note of size %d under no key of %s that counts there", n.Head.Size, n.Org)
		return res, nil, err
	}
	same, err := r.agrees(ctx, n.Org, n.Head)
	if err != nil {
		return Result{}, nil, err
	}
	if !same {
		s, err := r.shownBy(ctx, n, p)
		if err != nil {
			return Result{}, nil, err
		}
		res, err := r.fork(ctx, n, s)
		return res, nil, err
	}
	return r.merge(ctx, n, line, held)
}

// hasLines reports whether a note says nothing that the stored one of that head does not say,
// line by line: peers show the same notes many times, and those lines were verified. It is
// false while a stored head may not have been compared with the log yet.
func (r *Recorder) hasLines(ctx context.Context, n attlog.Note) bool {
	r.mu.Lock()
	_, unmet := r.unmet[n.Org]
	r.mu.Unlock()
	if unmet {
		return false
	}
	b, err := r.cfg.Events.Note(ctx, n.Org, n.Head.Size)
	if err != nil {
		return false
	}
	old, err := attlog.ParseNote(b)
	if err != nil || old.Head != n.Head {
		return false
	}
	for _, l := range n.Lines {
		if !slices.ContainsFunc(old.Lines, func(o attlog.Line) bool { return o.Name == l.Name && o.Hash == l.Hash && bytes.Equal(o.Sig, l.Sig) }) {
			return false
		}
	}
	return len(n.Lines) > 0
}

func signedBy(n attlog.Note, keys []did.PublicKey) (attlog.Line, bool) {
	for _, k := range keys {
		if line, err := n.LogLine(k); err == nil {
			return line, true
		}
	}
	return attlog.Line{}, false
}

// merge stores a note that is true and of the held log, if it says anything new.
func (r *Recorder) merge(ctx context.Context, n attlog.Note, line attlog.Line, held uint64) (Result, *HeadNews, error) {
	kept, seen := r.keep(ctx, n, line)
	old, err := r.cfg.Events.Note(ctx, n.Org, n.Head.Size)
	if err != nil && !errors.Is(err, attestation.ErrNotFound) {
		return Result{}, nil, err
	}
	if slices.Equal(old, kept) || len(seen) == 0 && n.Head.Size < held {
		return Result{Verdict: Held, Size: held}, nil, nil
	}
	if err := r.cfg.Events.PutNote(ctx, n.Org, kept, seen); err != nil {
		return Result{}, nil, err
	}
	if err := errors.Join(r.untaint(ctx, n.Org, n.Head.Size), r.grown(ctx, n.Org)); err != nil {
		return Result{}, nil, err
	}
	return Result{Verdict: Accepted, Size: held}, &HeadNews{Org: n.Org, Size: n.Head.Size, Note: kept}, nil
}

// mergeAhead takes the note kept of a size that has now been reached.
func (r *Recorder) mergeAhead(ctx context.Context, d did.DID, held uint64) error {
	_, _, ahead := r.cfg.Events.Newest(d)
	n, err := attlog.ParseNote(ahead)
	if err != nil || n.Head.Size > held {
		return nil
	}
	_, _, err = r.mergeHeld(ctx, n, held, nil)
	var fork *Fork
	if errors.As(err, &fork) || errors.Is(err, ErrRejected) {
		return nil // kept as evidence
	}
	return err
}
