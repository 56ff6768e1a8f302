package recorder

import (
	"context"
	"errors"
	"maps"
	"slices"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
)

// shown is what a peer has shown of the branch behind a head: the compact range [0, from) that
// both logs have, the entries after it, and the rest up to the size of the head.
type shown struct {
	left    attlog.Range
	entries []attestation.Entry
	rest    attlog.Range
}

// split gives the compact ranges [0, at) and [at, size) of the branch; false where what was
// shown does not say them.
func (s shown) split(at uint64) (left, right attlog.Range, ok bool) {
	from := s.left.End()
	if at < from || at > from+uint64(len(s.entries)) {
		return attlog.Range{}, attlog.Range{}, false
	}
	left, right = s.left.Clone(), attlog.NewRange(at)
	for i, en := range s.entries {
		to := right
		if from+uint64(i) < at {
			to = left
		}
		if to.Append(en.Hash()) != nil {
			return attlog.Range{}, attlog.Range{}, false
		}
	}
	return left, right, right.Join(s.rest) == nil
}

// prove makes the evidence that a head excludes one kept here, from what is held and shown;
// false where that is not enough to convince others.
func (r *Recorder) prove(ctx context.Context, n attlog.Note, s *shown) (attlog.Fork, bool, error) {
	if same, err := r.cfg.Events.Note(ctx, n.Org, n.Head.Size); err == nil {
		if ours, err := attlog.ParseNote(same); err == nil {
			f, err := attlog.ProveFork(n, ours, nil)
			return f, err == nil, nil
		}
	}
	newest, _, _ := r.cfg.Events.Newest(n.Org)
	ours, err := attlog.ParseNote(newest)
	switch {
	case err != nil: // no head of it is kept here
		return attlog.Fork{}, false, nil
	case ours.Head.Size > n.Head.Size:
		l, err := r.cfg.Events.Log(ctx, n.Org)
		if err != nil {
			return attlog.Fork{}, false, err
		}
		f, err := attlog.ProveFork(n, ours, l)
		return f, err == nil, nil
	case s == nil:
		return attlog.Fork{}, false, nil
	}
	left, right, ok := s.split(ours.Head.Size)
	f := attlog.Fork{A: ours, B: n, Left: left, Right: right}
	return f, ok && f.Check() == nil, nil
}

// weighs reports whether a head can stand against its signer: under a key that may sign heads
// now, or vouched for by this organization or a quorum. A stolen key that is retired frames
// nobody alone.
func (r *Recorder) weighs(ctx context.Context, n attlog.Note) bool {
	if n.Under(r.headKeys(ctx, n.Org)) == attlog.LineGood {
		return true
	}
	good := r.vouching(ctx, n)
	n.Lines = nil
	for _, c := range good {
		n.Lines = append(n.Lines, c.Line)
	}
	return r.vouches(n)
}

// vouching are the true cosignatures of this organization and of active members.
func (r *Recorder) vouching(ctx context.Context, n attlog.Note) []attlog.Cosignature {
	good, _ := n.Cosignatures(r.witnessKeys(ctx))
	return slices.DeleteFunc(good, func(c attlog.Cosignature) bool { return c.Witness != r.cfg.Org && !r.cfg.Member(c.Witness) })
}

// maxVouching is how many cosignatures travel with evidence.
const maxVouching = 8

// bare is a note with nothing but the line of the log that verifies and what vouches for it,
// so that no junk beside it keeps evidence from being passed on.
func (r *Recorder) bare(ctx context.Context, n attlog.Note) attlog.Note {
	out := attlog.Note{Org: n.Org, Head: n.Head}
	known, _ := r.cfg.Ring.Known(ctx, n.Org)
	for _, v := range slices.Backward(known) {
		keys, err := r.cfg.Ring.Keys(ctx, n.Org, v)
		if err != nil {
			continue
		}
		if line, ok := signedBy(n, slices.Collect(maps.Values(keys))); ok {
			out.Lines = []attlog.Line{line}
			break
		}
	}
	for i, c := range r.vouching(ctx, n) {
		if i < maxVouching {
			out.Lines = append(out.Lines, c.Line)
		}
	}
	return out
}

// evidence is a fork as it is stored.
type evidence struct {
	A     string `json:"a" text:"multiline"`
	B     string `json:"b" text:"multiline"`
	Left  string `json:"left,omitempty"`
	Right string `json:"right,omitempty"`
}

// keepFork keeps evidence that counts, the first of each log: it is enough, and a member that
// signs without end fills no disk. It reports whether it is new. The caller holds logs.
func (r *Recorder) keepFork(ctx context.Context, f attlog.Fork) (bool, error) {
	d := f.A.Org
	if r.Forked(d) || !r.weighs(ctx, f.A) || !r.weighs(ctx, f.B) {
		return false, nil
	}
	f.A, f.B = r.bare(ctx, f.A), r.bare(ctx, f.B)
	var e evidence
	e.A, e.B, e.Left, e.Right = f.Texts()
	b, err := envelope.Marshal(e)
	if err != nil {
		return false, err
	}
	if err := r.cfg.Events.KeepFork(ctx, d, b); err != nil {
		return false, err
	}
	r.setForked(d)
	return true, nil
}

func (r *Recorder) setForked(d did.DID) {
	r.mu.Lock()
	r.forked[d] = true
	r.mu.Unlock()
	r.progress()
}

// Forked reports whether evidence is held that an organization signed two heads of its log
// that exclude each other.
func (r *Recorder) Forked(d did.DID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.forked[d]
}

// Forks returns the evidence held against an organization's log.
func (r *Recorder) Forks(ctx context.Context, d did.DID) ([]attlog.Fork, error) {
	list, err := r.cfg.Events.Forks(ctx, d)
	if errors.Is(err, attestation.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []attlog.Fork
	for _, b := range list {
		var e evidence
		if err := envelope.Unmarshal(b, &e); err != nil {
			return nil, err
		}
		f, err := attlog.ParseFork(e.A, e.B, e.Left, e.Right)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// TakeFork judges evidence that a member logged, and keeps it if it counts here: both heads
// under a key of their place, and no retired key alone. It reports whether it is new; evidence
// that cannot be judged yet, or is none, is not.
func (r *Recorder) TakeFork(ctx context.Context, f attlog.Fork) (bool, error) {
	d := f.A.Org
	if r.Forked(d) {
		return false, nil
	}
	defer r.logs.of(d)()
	held := r.size(ctx, d)
	k, err := r.Keys(ctx, d)
	if err != nil {
		return false, err
	}
	keys := func(size uint64) []did.PublicKey {
		if size > held {
			return r.headKeys(ctx, d)
		}
		return k.InForce(size - 1)
	}
	if held == 0 || f.By(keys) != nil {
		return false, nil
	}
	return r.keepFork(ctx, f)
}

// recallForks reads at a start whose logs have forked.
func (r *Recorder) recallForks(ctx context.Context) error {
	for _, d := range r.cfg.Events.Orgs() {
		list, err := r.cfg.Events.Forks(ctx, d)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			r.forked[d] = true
		}
	}
	return nil
}
