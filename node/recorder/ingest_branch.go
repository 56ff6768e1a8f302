package recorder

import (
	"context"
	"errors"
	"slices"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
)

// Lacks is the index from which on entries of the branch behind a head are asked for: where
// what is kept of another branch ends, or where it parts. False where none are taken: the log
// has not forked, a charter has named the branch that stands, or nothing more fits.
func (r *Recorder) Lacks(ctx context.Context, d did.DID, theirs attestation.Head) (uint64, bool, error) {
	parted, forked, err := r.PartedAt(ctx, d)
	if err != nil || !forked || r.loses(d) {
		return 0, false, err
	}
	have, err := r.cfg.Events.Branch(ctx, d)
	if err != nil || have.Full() {
		return 0, false, err
	}
	if have.To != 0 {
		return have.To, have.To < theirs.Size, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if l, ok := r.looks[d]; ok && l.theirs == theirs { // of this head it is known exactly
		parted = l.at
	}
	return parted, parted < theirs.Size, nil
}

// ofBranch takes a package, under a true note above what is held, of the other branch of a log
// that has forked. The verdict is 0 where it is none: it may be of the held one, or of a third.
func (r *Recorder) ofBranch(ctx context.Context, p attestation.Package, n attlog.Note) (Result, error) {
	if !r.hasParted(p.Did) {
		return Result{}, nil
	}
	s, err := r.shownBy(ctx, n, &p)
	if err != nil || s == nil {
		return Result{}, err
	}
	if !s.kept {
		common, err := r.common(ctx, p.Did, s)
		if err != nil || common == p.From+uint64(len(p.Entries)) || common == r.size(ctx, p.Did) {
			return Result{}, err // nothing of it is of another branch
		}
	}
	return r.fork(ctx, n, s)
}

// beyond takes a package that begins above what is held. It is Behind, unless it goes on where
// the branch that is kept ends.
func (r *Recorder) beyond(ctx context.Context, p attestation.Package, n attlog.Note, held uint64) (Result, error) {
	behind := Result{Verdict: Behind, Size: held}
	if _, ok := signedBy(n, r.headKeys(ctx, n.Org)); !ok {
		return behind, nil
	}
	res, err := r.ofBranch(ctx, p, n)
	if err == nil && res.Verdict == 0 {
		res = behind
	}
	return res, err
}

// afterKept is what a package shows of the branch that is kept beside a log, from where that
// ends on; nothing, if all of it is kept already. Nil if it leaves a hole, or is of another.
func (r *Recorder) afterKept(ctx context.Context, n attlog.Note, p *attestation.Package, rest attlog.Range) (*shown, error) {
	have, err := r.cfg.Events.Branch(ctx, n.Org)
	if err != nil || have.To == 0 || p.From <= have.From || p.From > have.To {
		return nil, err
	}
	// No more is read of the branch than a package repeats of it: whoever forked may send many.
	again := min(have.To-p.From, uint64(len(p.Entries)))
	kept, err := r.cfg.Events.BranchRun(ctx, n.Org, p.From, p.From+again)
	if errors.Is(err, attestation.ErrNotFound) {
		return nil, nil
	}
	if err != nil || !slices.EqualFunc(kept, p.Entries[:again], slices.Equal) {
		return nil, err
	}
	shared, err := r.rangeTo(ctx, n.Org, have.From)
	if err != nil {
		return nil, err
	}
	left, err := have.Tree(shared)
	if err != nil {
		return nil, err
	}
	s := &shown{left: left, entries: p.Entries[again:], rest: rest, kept: true}
	if p.From+again < have.To {
		return s, nil // it adds nothing, so that its root does not matter
	}
	if root, err := rootWith(left.Clone(), s.entries, rest); err != nil || root != n.Head.Root {
		return nil, nil
	}
	return s, nil
}
