package recorder

import (
	"context"
	"errors"
	"fmt"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/pins"
)

// Witness is a peer that cosigns heads, over whatever transport.
// Implementations are safe for concurrent use.
type Witness interface {
	// Cosign sends a tlog-witness request about the log of this node's
	// organization to the witness d and returns its answer.
	Cosign(ctx context.Context, d did.DID, request []byte) (status int, body []byte, err error)
}

// WitnessAnswer answers a tlog-witness request about the log of d: it cosigns
// the head if it is signed by the key of its position and extends the newest
// head of d that this node cosigned. The head is pinned before the signature
// is made. The error is this node's; then nothing was signed.
func (r *Recorder) WitnessAnswer(ctx context.Context, d did.DID, request []byte) (status int, body []byte, err error) {
	req, bad := attlog.ParseRequest(request)
	if bad != nil {
		return attlog.StatusMalformed, nil, nil
	}
	if req.Note.Org != d || d == r.cfg.Org {
		return attlog.StatusUnknown, nil, nil
	}
	if !r.cfg.Member(d) || r.cfg.WitnessSigner == nil {
		return attlog.StatusForbidden, nil, nil
	}
	release := r.logs.of(d)
	status, line, err := r.cosign(ctx, req)
	release()
	if status == attlog.StatusCosigned {
		r.progress() // the own cosignature is a time for what it covers
	}
	if err != nil {
		return 0, nil, err
	}
	if status == attlog.StatusConflict {
		_, size := r.cosigned(d)
		return status, attlog.FormatSize(size), nil
	}
	if status != attlog.StatusCosigned {
		return status, nil, nil
	}
	return status, []byte(line.String()), nil
}

// cosigned returns the newest head of d that was cosigned here.
func (r *Recorder) cosigned(d did.DID) (root string, size uint64) {
	s, v, ok := r.cfg.Pins.Highest(pins.KindCosign, d.String())
	if !ok {
		return "", 0
	}
	return v, s.N
}

func (r *Recorder) cosign(ctx context.Context, req attlog.Request) (int, attlog.Line, error) {
	n := req.Note
	signed, err := r.mayCosign(ctx, n)
	if err != nil || !signed {
		return attlog.StatusForbidden, attlog.Line{}, err
	}
	if status, err := r.extends(ctx, req); err != nil || status != 0 {
		return status, attlog.Line{}, err
	}
	err = r.cfg.Pins.Put(ctx, pins.Slot{Kind: pins.KindCosign, Key: n.Org.String(), N: n.Head.Size}, n.Head.Root.String())
	var taken *pins.Taken
	var below *pins.Below
	if errors.As(err, &taken) || errors.As(err, &below) {
		return attlog.StatusConflict, attlog.Line{}, nil
	}
	if err != nil {
		return 0, attlog.Line{}, err
	}
	s, err := r.cfg.WitnessSigner(ctx)
	if err != nil {
		return 0, attlog.Line{}, err
	}
	line, err := attlog.Cosign(ctx, s, r.cfg.Org, n, r.cfg.Now())
	if err != nil {
		return 0, attlog.Line{}, err
	}
	return attlog.StatusCosigned, line, r.keepCosigned(ctx, n.With(line))
}

// mayCosign reports whether a head is signed by the key of its position.
func (r *Recorder) mayCosign(ctx context.Context, n attlog.Note) (bool, error) {
	if n.Head.Size == 0 {
		return false, nil
	}
	held := r.size(ctx, n.Org)
	keys := r.headKeys(ctx, n.Org)
	if n.Head.Size <= held {
		k, err := r.Keys(ctx, n.Org)
		if err != nil {
			return false, err
		}
		keys = k.InForce(n.Head.Size - 1)
	}
	_, ok := signedBy(n, keys)
	return ok, nil
}

// extends checks a head against what was cosigned here and what is held; the
// status is 0 when it agrees with both. A head that contradicts is kept.
func (r *Recorder) extends(ctx context.Context, req attlog.Request) (int, error) {
	n := req.Note
	root, size := r.cosigned(n.Org)
	if req.Old > n.Head.Size {
		return attlog.StatusMalformed, nil
	}
	if req.Old != size {
		return attlog.StatusConflict, nil
	}
	if err := agrees(root, size, req); err != nil {
		status := attlog.StatusProof
		if size == n.Head.Size {
			status = attlog.StatusConflict
		}
		return status, r.keepAgainst(ctx, n)
	}
	held := r.size(ctx, n.Org)
	if held == 0 || n.Head.Size > held {
		return 0, nil
	}
	if same, err := r.agrees(ctx, n.Org, n.Head); err != nil || same {
		return 0, err
	}
	_, err := r.fork(ctx, n, nil)
	var fork *Fork
	if errors.As(err, &fork) {
		return attlog.StatusConflict, nil
	}
	return 0, err
}

func agrees(root string, size uint64, req attlog.Request) error {
	if size == 0 {
		if len(req.Proof) > 0 {
			return attlog.ErrProof
		}
		return nil
	}
	id, err := envelope.ParseID(root)
	if err != nil {
		return fmt.Errorf("pinned root: %w", err)
	}
	return attlog.CheckExtension(attestation.Head{Size: size, Root: id}, req.Note.Head, req.Proof)
}

// keepAgainst keeps a signed head that does not extend the one cosigned here, which is kept
// too, whether or not anything else of that log is held. Where the two exclude each other it is
// evidence; a proof that fails is none.
func (r *Recorder) keepAgainst(ctx context.Context, n attlog.Note) error {
	if err := r.cfg.Events.Begin(ctx, n.Org); err != nil {
		return err
	}
	if _, err := r.convict(ctx, n, nil); err != nil {
		return err
	}
	return r.cfg.Events.KeepEvidence(ctx, n.Org, n.Bytes())
}

// keepCosigned stores a head cosigned here, whole, before the answer leaves.
func (r *Recorder) keepCosigned(ctx context.Context, n attlog.Note) error {
	held := r.size(ctx, n.Org)
	if n.Head.Size <= held {
		_, _, err := r.mergeHeld(ctx, n, held, nil)
		return err
	}
	line, ok := signedBy(n, r.headKeys(ctx, n.Org))
	if !ok {
		return nil
	}
	if err := r.cfg.Events.Begin(ctx, n.Org); err != nil {
		return err
	}
	kept, seen := r.keep(ctx, n, line)
	return r.cfg.Events.PutNote(ctx, n.Org, kept, seen)
}

// beside keeps a head of the same size and another root, which a new one would replace, as the
// evidence that it is. The caller holds the log.
func (r *Recorder) beside(ctx context.Context, n attlog.Note) error {
	b, err := r.cfg.Events.Note(ctx, n.Org, n.Head.Size)
	if errors.Is(err, attestation.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if kept, err := attlog.ParseNote(b); err != nil || kept.Head == n.Head {
		return nil
	}
	if _, err := r.convict(ctx, n, nil); err != nil {
		return err
	}
	return r.cfg.Events.KeepEvidence(ctx, n.Org, b)
}

// weighKept compares the heads that were kept before the entries of their sizes came with the
// log that is now held, and drops those that then say nothing. The caller holds the log.
func (r *Recorder) weighKept(ctx context.Context, d did.DID, from, to uint64) error {
	kept, err := r.cfg.Events.Evidence(ctx, d)
	if err != nil {
		return err
	}
	add := func(b []byte) bool { kept = append(kept, b); return true }
	if err := r.cfg.Events.AllNotes(ctx, d, from, to, add); err != nil {
		return err
	}
	l, err := r.cfg.Events.Log(ctx, d)
	if err != nil {
		return err
	}
	now, _ := l.Head()
	var same []uint64
	for _, b := range kept {
		n, err := attlog.ParseNote(b)
		if err != nil || n.Head.Size <= from || n.Head.Size > to || n.Head == now {
			continue
		}
		is, err := r.agrees(ctx, d, n.Head)
		if err != nil {
			return err
		}
		if is {
			same = append(same, n.Head.Size)
			continue
		}
		if _, err := r.convict(ctx, n, nil); err != nil {
			return err
		}
		if err := r.disown(ctx, n); err != nil {
			return err
		}
	}
	return r.cfg.Events.DropBare(ctx, d, same)
}

// weighNew is weighKept of what came, and of what came before and could not be weighed then.
func (r *Recorder) weighNew(ctx context.Context, d did.DID, from, to uint64) error {
	r.mu.Lock()
	if was, ok := r.unmet[d]; ok {
		from = min(from, was)
	}
	r.mu.Unlock()
	err := r.weighKept(ctx, d, from, to)
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.unmet, d); err != nil {
		r.unmet[d] = from
	}
	return err
}

// weighLast is weighKept after a start: the process may have ended between the entries of one
// package and that. Damage to a log, which an inspection tells of, keeps no node from starting:
// it is done again with what comes next.
func (r *Recorder) weighLast(ctx context.Context, d did.DID) {
	defer r.logs.of(d)()
	size := r.size(ctx, d)
	if size == 0 {
		return
	}
	if err := r.weighNew(ctx, d, size-min(size, attestation.MaxBatch), size); err != nil {
		r.cfg.Log.WarnContext(ctx, "heads kept of a log cannot be compared with it", "org", d.String(), "error", err)
	}
}

// disown takes a head that contradicts the held log from among its notes, if it was kept there
// before the entries came, and keeps it as evidence.
func (r *Recorder) disown(ctx context.Context, n attlog.Note) error {
	b, err := r.cfg.Events.Note(ctx, n.Org, n.Head.Size)
	if errors.Is(err, attestation.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if kept, err := attlog.ParseNote(b); err != nil || kept.Head != n.Head || n.Head.Size > r.size(ctx, n.Org) {
		return nil
	}
	if err := r.cfg.Events.KeepEvidence(ctx, n.Org, b); err != nil {
		return err
	}
	return r.cfg.Events.DropNote(ctx, n.Org, n.Head.Size)
}

// request builds the tlog-witness request for the newest own head, for a witness that
// holds old. ErrNoHead while no head is signed.
func (r *Recorder) request(ctx context.Context, old uint64) (attlog.Request, error) {
	newest, _, _ := r.cfg.Events.Newest(r.cfg.Org)
	n, err := attlog.ParseNote(newest)
	if err != nil {
		return attlog.Request{}, ErrNoHead
	}
	if old > n.Head.Size {
		return attlog.Request{}, fmt.Errorf("witness holds size %d, the newest signed head is %d", old, n.Head.Size)
	}
	l, err := r.cfg.Events.Log(ctx, r.cfg.Org)
	if err != nil {
		return attlog.Request{}, err
	}
	proof, err := attlog.Extend(old, n.Head.Size, l)
	if err != nil {
		return attlog.Request{}, err
	}
	k, err := r.Keys(ctx, r.cfg.Org)
	if err != nil {
		return attlog.Request{}, err
	}
	line, ok := signedBy(n, k.InForce(n.Head.Size-1))
	if !ok {
		return attlog.Request{}, ErrNoHead
	}
	return attlog.Request{Old: old, Proof: proof, Note: attlog.Note{Org: n.Org, Head: n.Head, Lines: []attlog.Line{line}}}, nil
}

// Cosign has the newest own head cosigned by one witness: asks, answers one
// 409 with the fitting proof, verifies and keeps the line.
func (r *Recorder) Cosign(ctx context.Context, w did.DID, over Witness) error {
	r.mu.Lock()
	old := r.cosigns[w]
	r.mu.Unlock()
	for try := 0; ; try++ {
		req, err := r.request(ctx, old)
		if err != nil {
			return err
		}
		status, body, err := over.Cosign(ctx, w, req.Bytes())
		if err != nil {
			return err
		}
		if len(body) > maxCosignBody {
			return fmt.Errorf("answer of %s: %w: %d bytes", w, attestation.ErrTooLarge, len(body))
		}
		if status == attlog.StatusConflict && try == 0 {
			if old, err = attlog.ParseConflict(body); err != nil {
				return fmt.Errorf("answer of %s: %w", w, err)
			}
			continue
		}
		if status != attlog.StatusCosigned {
			return &WitnessRefused{Witness: w, Status: status}
		}
		return r.cosignedBy(ctx, w, req.Note, body)
	}
}

// WitnessRefused is returned when a witness did not cosign.
type WitnessRefused struct {
	Witness did.DID
	Status  int
}

// Error implements error.
func (e *WitnessRefused) Error() string {
	return fmt.Sprintf("%s did not cosign: status %d", e.Witness, e.Status)
}

// cosignedBy verifies the line of a witness and merges it into the note.
func (r *Recorder) cosignedBy(ctx context.Context, w did.DID, n attlog.Note, body []byte) error {
	lines, err := attlog.ParseLines(string(body))
	if err != nil {
		return fmt.Errorf("answer of %s: %w", w, err)
	}
	good, _ := attlog.Note{Org: n.Org, Head: n.Head, Lines: lines}.Cosignatures(func(d did.DID) []did.PublicKey {
		if d != w {
			return nil
		}
		return r.cfg.Ring.Witness(ctx, w)
	})
	if len(good) == 0 {
		return fmt.Errorf("answer of %s: %w", w, attlog.ErrUnsigned)
	}
	r.mu.Lock()
	r.cosigns[w] = max(r.cosigns[w], n.Head.Size)
	r.mu.Unlock()
	_, err = r.MergeNote(ctx, n.Org, n.With(good[0].Line).Bytes())
	return err
}
