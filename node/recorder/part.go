package recorder

import (
	"context"
	"errors"
	"slices"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
)

// Ranges gives the compact ranges [0, at) and [at, size) of the tree behind a head, from
// whoever holds it. What it gives is checked.
type Ranges = func(at uint64) (left, right attlog.Range, err error)

// Part looks into a head of d that contradicts the log that is held, or may: where the two
// part is found out by ranges, and evidence is made of it that convinces others. A *Fork
// goes with the verdict Forked. The verdict is Held where the one extends the other, Rejected
// for a head or ranges that no honest peer gives; errors of ranges are returned as they are.
func (r *Recorder) Part(ctx context.Context, d did.DID, note []byte, ranges Ranges) (Result, error) {
	if len(note) > attestation.MaxNote {
		return rejected("note of %d bytes", len(note))
	}
	n, err := attlog.ParseNote(note)
	if err != nil || n.Org != d {
		return rejected("not a note of %s", d)
	}
	l, err := r.cfg.Events.Log(ctx, d)
	if errors.Is(err, attestation.ErrNotFound) {
		return Result{Verdict: Behind}, nil
	}
	if err != nil {
		return Result{}, err
	}
	held, _ := l.Head()
	if res, err := r.signed(ctx, n, held.Size); err != nil || res.Verdict != 0 {
		return res, err
	}
	if done, err := r.lookedInto(ctx, n, held); err != nil {
		return Result{}, err
	} else if done && !r.loses(d) {
		return Result{Verdict: Forked, Size: held.Size}, &Fork{Org: d, B: note}
	}
	// No lock is held while a peer is asked: the log may grow meanwhile, or be given up.
	at, err := attlog.Parting(l, held.Size, n.Head, ranges)
	switch {
	case errors.Is(err, attlog.ErrConsistent):
		return Result{Verdict: Held, Size: held.Size}, nil
	case errors.Is(err, attlog.ErrProof):
		return rejected("%v", err)
	case err != nil:
		return Result{}, err
	}
	f, ok, err := r.apart(ctx, n, l, at, ranges)
	if err != nil {
		return Result{}, err
	}
	others, err := r.onBranch(ctx, n, at, ranges)
	if err != nil {
		return Result{}, err
	}
	b := branch{held: held, at: at, heads: others}
	if ok {
		b.fork = &f
	}
	cut := r.boundsOf(d).Cut
	if survives, err := r.survives(n, cut, at, ranges); err != nil {
		return Result{}, err
	} else if survives {
		b.stands = cut
	}
	release := r.logs.of(d)
	res, err := r.keepParting(ctx, n, b)
	release()
	if b.stands != nil {
		r.progress()
	}
	return res, err
}

// branch is what was found out of the branch behind a head while no lock was held.
type branch struct {
	held   attestation.Head // the own head beside which it was looked into
	at     uint64           // where the two part
	heads  map[attestation.Head]bool
	fork   *attlog.Fork // nil where it makes no evidence
	stands *Cut         // of the charter, where it names this branch; else nil
}

// look is which head of a log was looked into last, beside which own one, and where they part.
type look struct {
	ours, theirs attestation.Head
	at           uint64
}

// lookedInto reports whether that head need not be looked into again: it was the last one, and
// no evidence is kept of which it might say where its branches part.
func (r *Recorder) lookedInto(ctx context.Context, n attlog.Note, held attestation.Head) (bool, error) {
	r.mu.Lock()
	last, ok := r.looks[n.Org]
	r.mu.Unlock()
	if !ok || last.ours != held || last.theirs != n.Head {
		return false, nil
	}
	list, err := r.keptForks(ctx, n.Org)
	return !slices.ContainsFunc(list, func(k keptFork) bool { return k.common == 0 && k.at < last.at }), err
}

func (r *Recorder) setLook(d did.DID, l look) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looks[d] = l
}

// signed reports why a head does not count; the verdict is 0 if it does, or if a key of it is
// retired: what that is worth is weighed with the evidence.
func (r *Recorder) signed(ctx context.Context, n attlog.Note, held uint64) (Result, error) {
	keys := r.headKeys(ctx, n.Org)
	if n.Head.Size > 0 && n.Head.Size <= held {
		k, err := r.Keys(ctx, n.Org)
		if err != nil {
			return Result{}, err
		}
		keys = k.InForce(n.Head.Size - 1)
	}
	switch _, ok := signedBy(n, keys); {
	case ok:
		return Result{}, nil
	case len(keys) == 0, r.otherwiseSigned(ctx, n):
		return Result{Verdict: Parked, Size: held}, nil
	}
	return rejected("note of size %d under no key of %s that counts there", n.Head.Size, n.Org)
}

// apart makes evidence of a head whose branch parts from the held one at a size; false while
// no signed head of the held branch above that is kept. One below the other head is best:
// its ranges then tell everybody something of where the branches part.
func (r *Recorder) apart(ctx context.Context, n attlog.Note, l attestation.Log, at uint64, ranges Ranges) (attlog.Fork, bool, error) {
	_, newest := l.Head()
	ours, err := attlog.ParseNote(newest)
	if err != nil {
		return attlog.Fork{}, false, nil
	}
	if ours.Head.Size >= n.Head.Size {
		err := r.cfg.Events.Notes(ctx, n.Org, at, n.Head.Size-1, func(b []byte) bool {
			o, err := attlog.ParseNote(b)
			if err == nil {
				ours = o
			}
			return err != nil
		})
		if err != nil {
			return attlog.Fork{}, false, err
		}
	}
	switch {
	case ours.Head.Size <= at:
		return attlog.Fork{}, false, nil
	case ours.Head.Size >= n.Head.Size:
		f, err := attlog.ProveFork(n, ours, l)
		return f, err == nil, nil
	}
	f := attlog.Fork{A: ours, B: n}
	if f.Left, f.Right, err = ranges(ours.Head.Size); err != nil {
		return attlog.Fork{}, false, err
	}
	return f, f.Check() == nil, nil
}

// onBranch lists the heads of kept evidence that lie on the branch behind a head: of these too
// it is known now where they part.
func (r *Recorder) onBranch(ctx context.Context, n attlog.Note, at uint64, ranges Ranges) (map[attestation.Head]bool, error) {
	list, err := r.keptForks(ctx, n.Org)
	if err != nil {
		return nil, err
	}
	out := map[attestation.Head]bool{n.Head: true}
	for _, k := range list {
		if k.at >= at {
			continue
		}
		heads, err := r.foreign(ctx, k.Fork)
		if err != nil {
			return nil, err
		}
		for _, h := range heads {
			if h.Size >= n.Head.Size || out[h] {
				continue
			}
			left, right, err := ranges(h.Size)
			if err != nil {
				return nil, err
			}
			if attlog.CheckSplit(left, right, h.Size, n.Head) != nil {
				continue
			}
			if root, err := left.Root(); err == nil && root == h.Root {
				out[h] = true
			}
		}
	}
	return out, nil
}

// keepParting keeps what was found out of a branch, and gives the held one up where a charter
// names the other. Behind where that was found out beside a log or a charter that is another
// by now: whoever gave the held branch up first has begun to fetch. The caller holds the log.
func (r *Recorder) keepParting(ctx context.Context, n attlog.Note, b branch) (Result, error) {
	d, size := n.Org, r.size(ctx, n.Org)
	if same, err := r.still(ctx, d, b); err != nil {
		return Result{}, err
	} else if !same {
		return Result{Verdict: Behind, Size: size}, nil
	}
	if err := r.narrowAll(ctx, d, b.at, b.heads); err != nil {
		return Result{}, err
	}
	fresh := false
	if b.fork != nil {
		var err error
		if fresh, err = r.keepFork(ctx, *b.fork, b.at); err != nil {
			return Result{}, err
		}
	}
	if fresh || !r.hasParted(d) { // what counts, or a report of what does not
		if err := r.cfg.Events.KeepEvidence(ctx, d, n.Bytes()); err != nil {
			return Result{}, err
		}
	}
	if b.stands == nil {
		r.setLook(d, look{b.held, n.Head, b.at})
	} else if err := r.give(ctx, d, b.at, b.stands.Head); err != nil {
		return Result{}, err
	}
	return Result{Verdict: Forked, Size: size}, &Fork{Org: d, B: n.Bytes()}
}

// still reports whether the log goes on from where a branch was looked into, and the charter
// names that branch if it did. The caller holds the log.
func (r *Recorder) still(ctx context.Context, d did.DID, b branch) (bool, error) {
	if r.size(ctx, d) < b.held.Size {
		return false, nil
	}
	if same, err := r.agrees(ctx, d, b.held); err != nil || !same || b.stands == nil {
		return same, err
	}
	cut := r.boundsOf(d).Cut
	return cut != nil && cut.Head == b.stands.Head && r.loses(d), nil
}

// narrowAll says of kept evidence all of whose foreign heads are on one branch where that
// parts from the held one.
func (r *Recorder) narrowAll(ctx context.Context, d did.DID, at uint64, onBranch map[attestation.Head]bool) error {
	list, err := r.keptForks(ctx, d)
	if err != nil {
		return err
	}
	for _, k := range list {
		heads, err := r.foreign(ctx, k.Fork)
		if err != nil {
			return err
		}
		all := len(heads) > 0
		for _, h := range heads {
			all = all && onBranch[h]
		}
		if !all {
			continue
		}
		if err := r.narrow(ctx, k, at); err != nil {
			return err
		}
	}
	return nil
}
