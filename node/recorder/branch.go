package recorder

import (
	"bytes"
	"context"
	"errors"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
)

// keepBranch keeps what was shown of another branch above common, the size that it shares
// with the log that is held: one branch of each log, as long as it is shown without a hole.
// Kept evidence that is about it then says exactly where it parts. The caller holds the log.
func (r *Recorder) keepBranch(ctx context.Context, d did.DID, common uint64, s *shown) error {
	have, err := r.cfg.Events.Branch(ctx, d)
	if err != nil {
		return err
	}
	at, list := common, s.entries
	if s.kept {
		at = have.To
	} else if list = list[min(common-s.left.End(), uint64(len(list))):]; have.To != 0 {
		if common+uint64(len(list)) <= have.To {
			return nil // nothing that it could add, whichever branch it is
		}
		if list, err = r.goesOn(ctx, d, common, list); err != nil {
			return err
		}
		at = have.To
	}
	if len(list) == 0 {
		return nil
	}
	if err := r.cfg.Events.KeepBranch(ctx, d, at, list); err != nil {
		return err
	}
	return r.relink(ctx, d, have.To)
}

// goesOn is what a branch that was shown from an index on adds to the one that is kept; nil
// if it is another one, or leaves a hole.
func (r *Recorder) goesOn(ctx context.Context, d did.DID, at uint64, list []attestation.Entry) ([]attestation.Entry, error) {
	next := at
	err := r.cfg.Events.BranchEntries(ctx, d, func(i uint64, en attestation.Entry) error {
		if i < at || i-at < uint64(len(list)) && !bytes.Equal(list[i-at], en) {
			return errParted // the rest is not read for it
		}
		next = i + 1
		return nil
	})
	if errors.Is(err, errParted) {
		return nil, nil
	}
	if err != nil || next-at >= uint64(len(list)) {
		return nil, err
	}
	return list[next-at:], nil
}

// relink says of kept evidence what the branch that is kept shows of it, which ended at a size
// before.
func (r *Recorder) relink(ctx context.Context, d did.DID, was uint64) error {
	have, err := r.cfg.Events.Branch(ctx, d)
	if err != nil {
		return err
	}
	list, err := r.keptForks(ctx, d)
	if err != nil {
		return err
	}
	for _, k := range list {
		if k.shown() && k.at >= have.From {
			continue // the branch is not read for what is known
		}
		common, err := r.linked(ctx, k.Fork, was)
		if err != nil {
			return err
		}
		if err := r.narrow(ctx, k, common); err != nil {
			return err
		}
	}
	return nil
}

// linked is where the branch that is kept parts from the held log, if every head of the
// evidence lies on one of the two; 0 if one does not, or is larger than what is kept, or if
// none is above a size, up to which that was seen before.
func (r *Recorder) linked(ctx context.Context, f attlog.Fork, was uint64) (uint64, error) {
	d := f.A.Org
	have, err := r.cfg.Events.Branch(ctx, d)
	if err != nil || have.To == 0 {
		return 0, err
	}
	open, err := r.foreign(ctx, f)
	if err != nil {
		return 0, err
	}
	fresh := false
	for _, h := range open {
		if h.Size <= have.From || h.Size > have.To {
			return 0, nil
		}
		fresh = fresh || h.Size > was
	}
	if !fresh {
		return 0, nil
	}
	tree, err := r.rangeTo(ctx, d, have.From)
	if err != nil {
		return 0, err
	}
	found := 0
	err = r.cfg.Events.BranchEntries(ctx, d, func(i uint64, en attestation.Entry) error {
		if err := tree.Append(en.Hash()); err != nil {
			return err
		}
		for _, h := range open {
			if h.Size != i+1 {
				continue
			}
			if root, err := tree.Root(); err == nil && root == h.Root {
				found++
			}
		}
		return nil
	})
	if err != nil || len(open) == 0 || found < len(open) {
		return 0, err
	}
	return have.From, nil
}

// foreign are the heads of evidence that are not heads of the held log.
func (r *Recorder) foreign(ctx context.Context, f attlog.Fork) ([]attestation.Head, error) {
	var out []attestation.Head
	held := r.size(ctx, f.A.Org)
	for _, n := range []attlog.Note{f.A, f.B} {
		if n.Head.Size <= held {
			is, err := r.agrees(ctx, f.A.Org, n.Head)
			if err != nil {
				return nil, err
			}
			if is {
				continue
			}
		}
		out = append(out, n.Head)
	}
	return out, nil
}
