package recorder

import (
	"context"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
)

// loses reports whether a charter names a branch of a log that may not be the held one, so
// that a head of it is looked for. The own log is what this node signed, whatever is said.
func (r *Recorder) loses(d did.DID) bool {
	cut := r.boundsOf(d).Cut
	r.mu.Lock()
	defer r.mu.Unlock()
	return cut != nil && d != r.cfg.Org && !r.weighed[d].ended
}

// survives reports whether the branch behind a head, which parts from the held one at a size,
// is the one that a cutoff names.
func (r *Recorder) survives(n attlog.Note, cut *Cut, at uint64, ranges Ranges) (bool, error) {
	switch {
	case cut == nil || !r.loses(n.Org) || cut.Size <= at || cut.Size > n.Head.Size:
		return false, nil
	case cut.Size == n.Head.Size:
		return cut.Root == n.Head.Root, nil
	}
	left, right, err := ranges(cut.Size)
	if err != nil || attlog.CheckSplit(left, right, cut.Size, n.Head) != nil {
		return false, err
	}
	root, err := left.Root()
	return root == cut.Root, err
}

// give gives up the held branch from a size on for the one that a charter names: sync brings
// that. What was held is kept beside it. The caller holds the log.
func (r *Recorder) give(ctx context.Context, d did.DID, at uint64, cut attestation.Head) error {
	l, err := r.cfg.Events.Log(ctx, d)
	if err != nil {
		return err
	}
	lost := lostBranch{at: at, cut: cut}
	err = l.Entries(ctx, at, at+1, func(_ uint64, en attestation.Entry) error {
		lost.first = en.Hash()
		return nil
	})
	if err != nil {
		return err
	}
	if err := r.cfg.Events.Cut(ctx, d, at); err != nil {
		return err
	}
	r.opened.clear()
	r.mu.Lock()
	delete(r.looks, d)
	r.lost[d] = lost
	r.moves[d]++
	r.mu.Unlock()
	if err := r.renewKeys(ctx, d); err != nil {
		return err
	}
	r.cfg.Log.WarnContext(ctx, "a charter names another branch of a log than the one held here: that one is fetched", "org", d.String(), "from", at)
	return r.reweigh(ctx, d)
}

// lostBranch is what was given up last of a log: where it begins, with what, and for which
// head that a charter names.
type lostBranch struct {
	at    uint64
	first tlog.Hash
	cut   attestation.Head
}

// misses reports whether new entries are of another branch than the one that a charter names:
// they would bring the log past the size at which it ends, or begin what was given up for it.
// Those of the one that is named are waited for.
func (r *Recorder) misses(d did.DID, held uint64, fresh []attestation.Entry) (bool, error) {
	cut := r.boundsOf(d).Cut
	if cut == nil || d == r.cfg.Org || held >= cut.Size || len(fresh) == 0 {
		return false, nil
	}
	r.mu.Lock()
	lost, ok := r.lost[d]
	r.mu.Unlock()
	if ok && lost.at == held && lost.cut == cut.Head && lost.first == fresh[0].Hash() {
		return true, nil
	}
	if held+uint64(len(fresh)) < cut.Size {
		return false, nil
	}
	root, err := rootWith(r.cfg.Events.Edge(d), fresh[:cut.Size-held], attlog.NewRange(cut.Size))
	return root != cut.Root, err
}
