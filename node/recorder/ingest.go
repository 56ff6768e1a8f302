package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"trustnode/attestation"
	"trustnode/attestation/history"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

// Verdict says what became of what a peer brought.
type Verdict uint8

// The verdicts, append-only.
const (
	Accepted Verdict = iota + 1 // durable here, new in part at least
	Held                        // nothing new
	Behind                      // it begins above what is held: pull from Result.Size
	Parked                      // a key or version is missing: sync the DID log first
	Rejected                    // the sender's fault; nothing was kept
	Forked                      // it contradicts the held log; the evidence was kept
)

// String returns the verdict's word.
func (v Verdict) String() string {
	words := []string{"invalid", "accepted", "held", "behind", "parked", "rejected", "forked"}
	if int(v) >= len(words) {
		return words[0]
	}
	return words[v]
}

// Result is the outcome of an Ingest or a MergeNote.
type Result struct {
	Verdict Verdict
	Size    uint64 // of the log as held now
	Fresh   int    // entries added
}

// ErrRejected is wrapped by the error for what no honest peer sends.
var ErrRejected = errors.New("the sender's fault")

// Fork is returned when a validly signed head contradicts what is held. Both
// notes are kept.
type Fork struct {
	Org  did.DID
	A, B []byte // signed notes; A is of what is held, and may be nil where no note of that size is kept
}

// Error implements error.
func (e *Fork) Error() string {
	return fmt.Sprintf("%s signed two heads that exclude each other", e.Org)
}

func rejected(format string, args ...any) (Result, error) {
	return Result{Verdict: Rejected}, fmt.Errorf("%w: %s", ErrRejected, fmt.Sprintf(format, args...))
}

// Ingest checks a package of another organization's log and keeps what is new
// of it: the note under the key of its position, the entries under its root,
// then each event by itself. A nil error goes with every verdict but Rejected
// and Forked; another error is this node's. The own log takes entries this way
// only while it is Recovering.
func (r *Recorder) Ingest(ctx context.Context, p attestation.Package) (Result, error) {
	if err := p.Check(); err != nil {
		return rejected("%v", err)
	}
	note, err := attlog.ParseNote(p.Note)
	if err != nil {
		return rejected("%v", err)
	}
	if note.Org != p.Did {
		return rejected("note of %s in a package of %s", note.Org, p.Did)
	}
	arriving := uint64(len(p.Entries))
	r.counts.inflight.Add(arriving)
	defer r.counts.inflight.Add(-arriving)
	release := r.logs.of(p.Did)
	res, news, err := r.ingest(ctx, p, note)
	release()
	if news != nil {
		r.progress()
		r.cfg.OnHead(*news)
	}
	return res, err
}

func (r *Recorder) ingest(ctx context.Context, p attestation.Package, note attlog.Note) (Result, *HeadNews, error) {
	held := r.size(ctx, p.Did)
	if note.Head.Size <= held {
		return r.mergeHeld(ctx, note, held, &p)
	}
	if p.From > held {
		res, err := r.beyond(ctx, p, note, held)
		return res, nil, err
	}
	fresh := p.Entries[min(held-p.From, uint64(len(p.Entries))):]
	line, claims, res, err := r.logLine(ctx, note, held, p, fresh)
	if err != nil || res.Verdict != 0 {
		return res, nil, err
	}
	if res, err = r.fits(ctx, p, note, held); err != nil || res.Verdict != 0 {
		return res, nil, err
	}
	if missed, err := r.misses(p.Did, held, p.Entries[held-p.From:]); err != nil || missed {
		return Result{Verdict: Behind, Size: held}, nil, err
	}
	if p.Did == r.cfg.Org {
		if s, _ := r.State(); s != Recovering {
			r.enter(Recovering, fmt.Sprintf("an own head of size %d was shown, the log has %d", note.Head.Size, held))
			return Result{Verdict: Behind, Size: held}, nil, nil
		}
	}
	if err := r.beside(ctx, note); err != nil {
		return Result{}, nil, err
	}
	return r.take(ctx, note, line, held, claims)
}

// logLine verifies the log's own line of a note above what is held, and decodes what is
// fresh once somebody's key stands for it. A Result with a verdict says why the line is
// neither true nor false.
func (r *Recorder) logLine(ctx context.Context, n attlog.Note, held uint64, p attestation.Package, fresh []attestation.Entry) (attlog.Line, []claim, Result, error) {
	keys := r.headKeys(ctx, n.Org)
	if len(keys) == 0 {
		return attlog.Line{}, nil, Result{Verdict: Parked, Size: held}, nil
	}
	line, ok := signedBy(n, keys)
	var claims []claim
	if ok {
		claims = claimsOf(fresh)
		if len(p.Rest) == 0 && p.From+uint64(len(p.Entries)) == n.Head.Size {
			inForce, err := r.noteKeys(ctx, n.Org, held, claims, keys)
			if err != nil {
				return attlog.Line{}, nil, Result{}, err
			}
			if len(inForce) == 0 {
				return attlog.Line{}, nil, Result{Verdict: Parked, Size: held}, nil
			}
			line, ok = signedBy(n, inForce)
		}
	}
	if ok {
		return line, claims, Result{}, nil
	}
	if r.otherwiseSigned(ctx, n) {
		return attlog.Line{}, nil, Result{Verdict: Parked, Size: held}, nil
	}
	res, err := rejected("note of size %d under no key of %s that counts there", n.Head.Size, n.Org)
	return attlog.Line{}, nil, res, err
}

// otherwiseSigned reports whether the note is signed by some key the
// organization has or had, or by none known: then it may count once more is
// known, and is not the sender's fault.
func (r *Recorder) otherwiseSigned(ctx context.Context, n attlog.Note) bool {
	known, _ := r.cfg.Ring.Known(ctx, n.Org)
	for _, v := range known {
		keys, err := r.cfg.Ring.Keys(ctx, n.Org, v)
		if err != nil {
			continue
		}
		for _, k := range keys {
			if n.Verify(k) == nil {
				return true
			}
		}
	}
	return false
}

// noteKeys returns which of the keys at the head may sign a head right above claims, which
// are all that is fresh below it: they say which version is in force there. A key that the
// newest document no longer lists never counts for a head above what is held.
func (r *Recorder) noteKeys(ctx context.Context, d did.DID, held uint64, claims []claim, head []did.PublicKey) ([]did.PublicKey, error) {
	k, err := r.Keys(ctx, d)
	if err != nil {
		return nil, err
	}
	version := k.Version(held)
	for i := range claims {
		if v := namedVersion(&claims[i]); v != "" {
			version = v
		}
	}
	keys, err := r.cfg.Ring.Keys(ctx, d, version)
	if errors.Is(err, history.ErrUnknownVersion) || err == nil && len(keys) == 0 {
		return head, nil
	}
	if err != nil {
		return nil, err
	}
	var out []did.PublicKey
	for _, pub := range keys {
		if slices.Contains(head, pub) {
			out = append(out, pub)
		}
	}
	return out, nil
}

// namedVersion returns the version that an unverified entry claims to put in
// force.
func namedVersion(c *claim) string {
	switch c.event.Type {
	case "log.opened":
		var d attestation.LogOpened
		if c.event.Decode(&d) == nil {
			return d.DidVersion
		}
	case "key.rotated":
		var d attestation.KeyRotated
		if c.event.Decode(&d) == nil {
			return d.DidVersion
		}
	}
	return ""
}

// fits reports whether our tree, the new entries and the rest give the note's
// root. Where they do not, but the sender's own entries do below what we hold,
// the signed log itself differs from ours.
func (r *Recorder) fits(ctx context.Context, p attestation.Package, n attlog.Note, held uint64) (Result, error) {
	end := p.From + uint64(len(p.Entries))
	rest, err := attlog.ParseRange(end, n.Head.Size, p.Rest)
	if err != nil {
		return rejected("%v", err)
	}
	if end >= held {
		root, err := rootWith(r.cfg.Events.Edge(p.Did), p.Entries[held-p.From:], rest)
		if err != nil {
			return Result{}, err
		}
		if root == n.Head.Root {
			return Result{}, nil
		}
	}
	if res, err := r.ofBranch(ctx, p, n); err != nil || res.Verdict != 0 {
		return res, err
	}
	return r.misfit(ctx, p, n, held, rest)
}

func (r *Recorder) misfit(ctx context.Context, p attestation.Package, n attlog.Note, held uint64, rest attlog.Range) (Result, error) {
	if p.From >= held {
		return rejected("edge, entries and rest do not give the root of size %d", n.Head.Size)
	}
	left, err := r.rangeTo(ctx, p.Did, p.From)
	if err != nil {
		return Result{}, err
	}
	root, err := rootWith(left.Clone(), p.Entries, rest)
	if err != nil {
		return Result{}, err
	}
	if root != n.Head.Root {
		if err := r.sound(ctx, p.Did, p.From); err != nil {
			return Result{}, err
		}
		return rejected("edge, entries and rest do not give the root of size %d", n.Head.Size)
	}
	if p.From+uint64(len(p.Entries)) < held {
		// True as far as it goes; what lies between is not shown.
		return Result{Verdict: Behind, Size: held}, nil
	}
	return r.fork(ctx, n, &shown{left: left, entries: p.Entries, rest: rest})
}

func (r *Recorder) rangeTo(ctx context.Context, d did.DID, size uint64) (attlog.Range, error) {
	if size == 0 {
		return attlog.NewRange(0), nil
	}
	l, err := r.cfg.Events.Log(ctx, d)
	if err != nil {
		return attlog.Range{}, err
	}
	return attlog.ReadRange(0, size, l)
}

func rootWith(edge attlog.Range, entries []attestation.Entry, rest attlog.Range) (envelope.ID, error) {
	for _, en := range entries {
		if err := edge.Append(en.Hash()); err != nil {
			return envelope.ID{}, err
		}
	}
	if err := edge.Join(rest); err != nil {
		return envelope.ID{}, err
	}
	return edge.Root()
}

// fork keeps a note that contradicts the held log, and ours beside it, as proof where what is
// held and shown makes one.
func (r *Recorder) fork(ctx context.Context, n attlog.Note, s *shown) (Result, error) {
	note := n.Bytes()
	parted := r.hasParted(n.Org)
	if fresh, err := r.convict(ctx, n, s); err != nil {
		return Result{}, err
	} else if err := r.disown(ctx, n); err != nil {
		return Result{}, err
	} else if parted && !fresh { // what is kept is enough
		return Result{Verdict: Forked, Size: r.size(ctx, n.Org)}, &Fork{Org: n.Org, B: note}
	}
	if err := r.cfg.Events.KeepEvidence(ctx, n.Org, note); err != nil {
		return Result{}, err
	}
	ours, err := r.cfg.Events.Note(ctx, n.Org, n.Head.Size)
	if errors.Is(err, attestation.ErrNotFound) {
		ours, _, _ = r.cfg.Events.Newest(n.Org)
	} else if err != nil {
		return Result{}, err
	}
	if ours != nil {
		if err := r.cfg.Events.KeepEvidence(ctx, n.Org, ours); err != nil {
			return Result{}, err
		}
	}
	r.cfg.Log.WarnContext(ctx, "two heads of one log exclude each other", "org", n.Org.String(), "size", n.Head.Size)
	return Result{Verdict: Forked, Size: r.size(ctx, n.Org)}, &Fork{Org: n.Org, A: ours, B: note}
}

// take appends what is new, with its verdicts unless they may come later.
func (r *Recorder) take(ctx context.Context, n attlog.Note, line attlog.Line, held uint64, fresh []claim) (Result, *HeadNews, error) {
	kept, seen := r.keep(ctx, n, line)
	if len(fresh) == 0 {
		if held == 0 {
			return Result{Verdict: Behind, Size: 0}, nil, nil
		}
		if err := r.cfg.Events.PutNote(ctx, n.Org, kept, seen); err != nil {
			return Result{}, nil, err
		}
		return Result{Verdict: Behind, Size: held}, nil, nil
	}
	later := r.mayWait(n.Org, held, fresh)
	if err := r.judgeBefore(ctx, n.Org, held, len(fresh), later); err != nil {
		return Result{}, nil, err
	}
	at, err := held, error(nil)
	for rest := fresh; len(rest) > 0 && err == nil; {
		part := firstPart(rest)
		b := attestation.Batch{Org: n.Org, From: at}
		for i := range part {
			b.Entries = append(b.Entries, part[i].entry)
		}
		if rest = rest[len(part):]; len(rest) == 0 {
			b.Note, b.Seen = kept, seen
		}
		err = r.appendPart(ctx, b, part, later)
		at = r.size(ctx, n.Org) // what is durable has come, even if what follows from it failed
	}
	if at == held {
		return Result{}, nil, err
	}
	news, also := r.arrived(ctx, n.Org, held, fresh[:at-held])
	if err = errors.Join(err, also); err != nil {
		return Result{}, news, err
	}
	return Result{Verdict: Accepted, Size: at, Fresh: len(fresh)}, news, nil
}

// judgeBefore judges what has to be before more of a log is appended: all that is held where
// what comes is judged with it, else what is more than may wait.
func (r *Recorder) judgeBefore(ctx context.Context, d did.DID, held uint64, fresh int, later bool) error {
	if later {
		return r.makeRoom(ctx, d, held, fresh)
	}
	if r.cfg.Events.Judged(d) < held {
		return r.judgeHeld(ctx, d, nil, opened{})
	}
	return nil
}

// appendPart appends entries with their verdicts, or before they are judged.
func (r *Recorder) appendPart(ctx context.Context, b attestation.Batch, part []claim, later bool) error {
	if !later {
		j, err := r.judge(ctx, b.Org, b.From, part)
		if err != nil {
			return err
		}
		return r.appendJudged(ctx, b, j)
	}
	end := r.time(StageTake)
	if err := r.cfg.Events.AppendJudged(ctx, b, eventsOf(part), store.Settled{}); err != nil {
		return err
	}
	end()
	r.counts.logged.Add(uint64(len(b.Entries)))
	r.waitsToBeJudged()
	return nil
}

// firstPart returns as many entries as one append takes.
func firstPart(list []claim) []claim {
	size := 0
	for i := range list {
		if size += len(list[i].entry); i > 0 && size > attestation.MaxBatchBytes {
			return list[:i]
		}
	}
	return list
}

// arrived says what changed by what came, from an index on. What is durable is brought by
// nobody again, so it is done even where whoever waited for it has gone.
func (r *Recorder) arrived(ctx context.Context, d did.DID, from uint64, fresh []claim) (*HeadNews, error) {
	ctx = context.WithoutCancel(ctx)
	to := from + uint64(len(fresh))
	err := errors.Join(r.mergeAhead(ctx, d, to), r.weighNew(ctx, d, from, to))
	if err == nil {
		err = r.grown(ctx, d)
	}
	note, _, _ := r.cfg.Events.Newest(d)
	prompt := slices.ContainsFunc(fresh, func(c claim) bool { return attestation.IsPrompt(c.event.Type) })
	return &HeadNews{Org: d, Size: to, Note: note, Prompt: prompt}, err
}
