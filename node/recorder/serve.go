package recorder

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/node/store"
)

// LogHead is where one log stands here.
type LogHead struct {
	Org   did.DID
	Size  uint64 // entries held
	Note  []byte // newest note of a held size; nil while there is none
	Known uint64 // highest size for which a signed head was seen
}

// Heads returns where every log stands, by organization: always the whole
// vector.
func (r *Recorder) Heads(ctx context.Context) ([]LogHead, error) {
	var out []LogHead
	for _, d := range r.cfg.Events.Orgs() {
		h, err := r.Head(ctx, d)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b LogHead) int { return strings.Compare(a.Org.String(), b.Org.String()) })
	return out, nil
}

// Head returns where one log stands, or attestation.ErrNotFound.
func (r *Recorder) Head(ctx context.Context, d did.DID) (LogHead, error) {
	l, err := r.cfg.Events.Log(ctx, d)
	if err != nil {
		return LogHead{}, err
	}
	head, note := l.Head()
	h := LogHead{Org: d, Size: head.Size, Note: note, Known: head.Size}
	if _, _, ahead := r.cfg.Events.Newest(d); ahead != nil {
		if n, err := attlog.ParseNote(ahead); err == nil {
			h.Known = max(h.Known, n.Head.Size)
		}
	}
	return h, nil
}

// Package returns entries [from, to) of a log, as far as one package goes: at
// most attestation.MaxBatch, never across a multiple of it, and never past the
// newest signed head. With from at the head's size it is the head alone.
// Federation is left to the caller. *attestation.Beyond above the head.
func (r *Recorder) Package(ctx context.Context, d did.DID, from, to uint64) (attestation.Package, error) {
	l, err := r.cfg.Events.Log(ctx, d)
	if err != nil {
		return attestation.Package{}, err
	}
	_, note := l.Head()
	n, err := attlog.ParseNote(note)
	if err != nil {
		return attestation.Package{}, fmt.Errorf("log of %s: %w", d, ErrNoHead)
	}
	if from > n.Head.Size || from > to {
		return attestation.Package{}, &attestation.Beyond{Size: n.Head.Size}
	}
	to = min(to, n.Head.Size, (from/attestation.MaxBatch+1)*attestation.MaxBatch)
	p := attestation.Package{Did: d, From: from, Note: note}
	size := 0
	err = l.Entries(ctx, from, to, func(_ uint64, en attestation.Entry) error {
		if size += len(en); size > maxPackageEntries && len(p.Entries) > 0 {
			return errFull
		}
		p.Entries = append(p.Entries, en)
		return nil
	})
	if err != nil && err != errFull {
		return attestation.Package{}, err
	}
	rest, err := attlog.ReadRange(from+uint64(len(p.Entries)), n.Head.Size, l)
	if err != nil {
		return attestation.Package{}, err
	}
	p.Rest = rest.Hashes()
	return p, nil
}

// Notes returns the cosigned notes of a log of sizes above from and up to to,
// at most max of them.
func (r *Recorder) Notes(ctx context.Context, d did.DID, from, to uint64, max int) ([][]byte, error) {
	var out [][]byte
	err := r.cfg.Events.Notes(ctx, d, from, to, func(b []byte) bool {
		out = append(out, b)
		return len(out) < max
	})
	return out, err
}

// Resume makes a Recovering log Open again: peers have shown no head of ours
// above what is held. It fails with ErrUnconfirmed while the log lies behind
// its pins, and leaves a Corrupt log as it is. Outbox numbers go on above all
// that were seen; numbers that are lost become a log.gap.
func (r *Recorder) Resume(ctx context.Context) error {
	r.turns.Lock()
	defer r.turns.Unlock()
	defer r.logs.of(r.cfg.Org)()
	if s, why := r.State(); s == Corrupt {
		return fmt.Errorf("%w: %s", ErrUnconfirmed, why)
	} else if s == Open {
		return nil
	}
	if err := r.adopt(ctx); err != nil {
		return err
	}
	if err := r.confirm(ctx); err != nil {
		return err
	}
	if err := r.cfg.State.Update(ctx, func(tx store.Tx) error { return tx.Delete(keyRecovering) }); err != nil {
		return err
	}
	r.mu.Lock()
	r.state, r.why, r.paused = Open, "", ""
	r.mu.Unlock()
	r.signal()
	r.progress()
	return nil
}
