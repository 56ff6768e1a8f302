package recorder

import (
	"bytes"
	"cmp"
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
// both logs have, or that is kept of it, the entries after it, and the rest up to the size of
// the head.
type shown struct {
	left    attlog.Range
	entries []attestation.Entry
	rest    attlog.Range
	kept    bool // left ends where the branch that is kept does, above where that parts
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

// shownBy is what a package shows of the branch behind its head, after what both logs have or
// after what is kept of it; nil if nothing or if it is not the tree of it.
func (r *Recorder) shownBy(ctx context.Context, n attlog.Note, p *attestation.Package) (*shown, error) {
	if p == nil || len(p.Entries) == 0 {
		return nil, nil
	}
	rest, err := attlog.ParseRange(p.From+uint64(len(p.Entries)), n.Head.Size, p.Rest)
	if err != nil {
		return nil, nil // it lies, and its head stands by itself
	}
	if p.From <= r.size(ctx, n.Org) {
		left, err := r.rangeTo(ctx, n.Org, p.From)
		if err != nil {
			return nil, err
		}
		if root, err := rootWith(left.Clone(), p.Entries, rest); err == nil && root == n.Head.Root {
			return &shown{left: left, entries: p.Entries, rest: rest}, nil
		}
	}
	return r.afterKept(ctx, n, p, rest)
}

// common is the size up to which the branch that was shown is the log that is held.
func (r *Recorder) common(ctx context.Context, d did.DID, s *shown) (uint64, error) {
	if s == nil {
		return 0, nil
	}
	if s.kept {
		have, err := r.cfg.Events.Branch(ctx, d)
		return have.From, err
	}
	l, err := r.cfg.Events.Log(ctx, d)
	if err != nil {
		return 0, err
	}
	at := s.left.End()
	h, _ := l.Head()
	err = l.Entries(ctx, at, min(h.Size, at+uint64(len(s.entries))), func(i uint64, en attestation.Entry) error {
		if !bytes.Equal(en, s.entries[i-s.left.End()]) {
			return errParted
		}
		at = i + 1
		return nil
	})
	if errors.Is(err, errParted) {
		err = nil
	}
	return at, err
}

var errParted = errors.New("the branches part")

// prove makes the evidence that a head excludes one kept here, from what is held and shown;
// false where that is not enough to convince others.
func (r *Recorder) prove(ctx context.Context, n attlog.Note, s *shown) (attlog.Fork, bool, error) {
	if same, err := r.cfg.Events.Note(ctx, n.Org, n.Head.Size); err == nil {
		if ours, err := attlog.ParseNote(same); err == nil && ours.Head != n.Head {
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

// convict keeps the evidence that a head makes with what is held and shown, if it makes any,
// and what was shown of its branch. It reports whether the evidence is new.
func (r *Recorder) convict(ctx context.Context, n attlog.Note, s *shown) (bool, error) {
	f, ok, err := r.prove(ctx, n, s)
	if err != nil {
		return false, err
	}
	common, err := r.common(ctx, n.Org, s)
	if err != nil {
		return false, err
	}
	fresh := false
	if ok {
		if fresh, err = r.keepFork(ctx, f, common); err != nil {
			return fresh, err
		}
	}
	if s == nil || !r.hasParted(n.Org) || !r.weighs(ctx, n) { // a stolen key puts nothing in its place
		return fresh, nil
	}
	return fresh, r.keepBranch(ctx, n.Org, common, s)
}

// weighs reports whether a head can stand against its signer: under a key that may sign heads
// now; or under one that is retired, if no compromise taints its size and it was held here
// before, or is vouched for by a quorum. A stolen key that is retired frames nobody alone.
func (r *Recorder) weighs(ctx context.Context, n attlog.Note) bool {
	if n.Under(r.headKeys(ctx, n.Org)) == attlog.LineGood {
		return true
	}
	k, err := r.Keys(ctx, n.Org)
	if err != nil {
		return false
	}
	for _, t := range r.taintsOf(k) {
		if t.Agent.IsZero() && n.Head.Size > t.From && n.Head.Size <= t.Until {
			return false
		}
	}
	if r.hasNote(ctx, n) {
		return true
	}
	good := r.vouching(ctx, n)
	n.Lines = nil
	for _, c := range good {
		n.Lines = append(n.Lines, c.Line)
	}
	return r.vouches(n)
}

// hasNote reports whether this very head is kept. What contradicts the log that is held is
// kept only from before its entries came, when the key of its position was the newest one.
func (r *Recorder) hasNote(ctx context.Context, n attlog.Note) bool {
	b, err := r.cfg.Events.Note(ctx, n.Org, n.Head.Size)
	if err != nil {
		return false
	}
	kept, err := attlog.ParseNote(b)
	return err == nil && kept.Head == n.Head
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

// evidence is a fork as it is stored. Common is a size up to which the branches were shown
// to be one by more than the evidence: by entries, or by a peer's ranges.
type evidence struct {
	A      string `json:"a" text:"multiline"`
	B      string `json:"b" text:"multiline"`
	Common uint64 `json:"common,omitempty"`
	Left   string `json:"left,omitempty"`
	Right  string `json:"right,omitempty"`
}

func encodeFork(f attlog.Fork, common uint64) ([]byte, error) {
	e := evidence{Common: common}
	e.A, e.B, e.Left, e.Right = f.Texts()
	return envelope.Marshal(e)
}

// keptFork is evidence as it lies in the database.
type keptFork struct {
	attlog.Fork
	common uint64
	bytes  []byte
	at     uint64 // where its branches part, as far as is known
}

// keptForks reads the evidence against a log and says of each where the branches part: no
// index at or above that is on both for certain.
func (r *Recorder) keptForks(ctx context.Context, d did.DID) ([]keptFork, error) {
	list, err := r.cfg.Events.Forks(ctx, d)
	if errors.Is(err, attestation.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []keptFork
	for _, b := range list {
		var e evidence
		if err := envelope.Unmarshal(b, &e); err != nil {
			return nil, err
		}
		f, err := attlog.ParseFork(e.A, e.B, e.Left, e.Right)
		if err != nil {
			return nil, err
		}
		at, err := r.parts(ctx, f, e.Common)
		if err != nil {
			return nil, err
		}
		out = append(out, keptFork{f, e.Common, b, at})
	}
	return out, nil
}

// parts is where the branches of evidence part, as far as it and common say.
func (r *Recorder) parts(ctx context.Context, f attlog.Fork, common uint64) (uint64, error) {
	l, err := r.cfg.Events.Log(ctx, f.A.Org)
	if err != nil {
		return 0, err
	}
	h, _ := l.Head()
	at, err := f.Common(l, h.Size)
	return max(at, common), err
}

// parting is where the log that is held parts from others of its organization.
type parting struct {
	known bool // evidence is held
	at    uint64
}

func (r *Recorder) parting(ctx context.Context, d did.DID) (parting, error) {
	if !r.hasParted(d) {
		return parting{}, nil
	}
	list, err := r.keptForks(ctx, d)
	if err != nil {
		return parting{}, err
	}
	return partingOf(list), nil
}

// partingOf is the earliest parting that entries or ranges have shown. Evidence alone, of two heads of one size or of
// ranges that are coarse, says only that there is one: it widens nothing that was shown, and counts where nothing was.
func partingOf(list []keptFork) parting {
	p := parting{known: len(list) > 0}
	shown := anyShown(list)
	first := true
	for _, f := range list {
		if f.shown() == shown && (first || f.at < p.at) {
			p.at, first = f.at, false
		}
	}
	return p
}

// shown says whether more than the evidence shows where its branches part.
func (k keptFork) shown() bool { return k.common > 0 }

func anyShown(list []keptFork) bool { return slices.ContainsFunc(list, keptFork.shown) }

// adds says whether evidence that parts at an index says more than what is kept.
func adds(list []keptFork, at uint64, shown bool) bool {
	switch {
	case len(list) == 0, shown && !anyShown(list):
		return true
	case !shown && anyShown(list):
		return false
	}
	return at < partingOf(list).at
}

// maxForks is how much evidence is kept of one log. The first is enough to convince; further
// evidence is kept where it shows an earlier parting.
const maxForks = 8

// keepFork keeps evidence that counts: the first of each log, and what shows that it parted
// earlier, so that what is contested does not hang on which came first. common is as in
// evidence. It reports whether it is new. The caller holds the log.
func (r *Recorder) keepFork(ctx context.Context, f attlog.Fork, common uint64) (bool, error) {
	d := f.A.Org
	list, err := r.keptForks(ctx, d)
	if err != nil {
		return false, err
	}
	for _, k := range list {
		if k.A.Head == f.A.Head && k.B.Head == f.B.Head {
			return false, r.narrow(ctx, k, common)
		}
	}
	if common == 0 {
		if common, err = r.linked(ctx, f, 0); err != nil {
			return false, err
		}
	}
	at, err := r.parts(ctx, f, common)
	if err != nil || !adds(list, at, common > 0) || !r.weighs(ctx, f.A) || !r.weighs(ctx, f.B) {
		return false, err
	}
	var instead []byte
	if len(list) >= maxForks {
		instead = slices.MaxFunc(list, func(a, b keptFork) int {
			if a.shown() != b.shown() { // what shows nothing goes first
				return map[bool]int{true: -1, false: 1}[a.shown()]
			}
			return cmp.Compare(a.at, b.at)
		}).bytes
	}
	f.A, f.B = r.bare(ctx, f.A), r.bare(ctx, f.B)
	b, err := encodeFork(f, common)
	if err != nil {
		return false, err
	}
	if err := r.cfg.Events.KeepFork(ctx, d, b, instead); err != nil {
		return false, err
	}
	r.setParted(d)
	err = r.reweigh(ctx, d)
	r.progress()
	return err == nil, err
}

// narrow takes in that the branches of kept evidence are one further up than was known.
func (r *Recorder) narrow(ctx context.Context, k keptFork, common uint64) error {
	if common <= k.at && (common == 0 || k.shown()) {
		return nil
	}
	b, err := encodeFork(k.Fork, common)
	if err != nil {
		return err
	}
	if err := r.cfg.Events.KeepFork(ctx, k.A.Org, b, k.bytes); err != nil {
		return err
	}
	err = r.reweigh(ctx, k.A.Org)
	r.progress()
	return err
}

func (r *Recorder) setParted(d did.DID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parted[d] = true
}

// hasParted reports whether evidence is held, settled or not.
func (r *Recorder) hasParted(d did.DID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.parted[d]
}

// Parted counts the logs that evidence of a fork is held against, settled or not: it never falls.
func (r *Recorder) Parted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.parted)
}

// Forked reports whether evidence is held that an organization signed two heads of its log
// that exclude each other, and no charter has named the one that stands and is held here.
func (r *Recorder) Forked(d did.DID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.parted[d] && !r.weighed[d].ended
}

// Forks returns the evidence held against an organization's log.
func (r *Recorder) Forks(ctx context.Context, d did.DID) ([]attlog.Fork, error) {
	list, err := r.keptForks(ctx, d)
	if err != nil {
		return nil, err
	}
	var out []attlog.Fork
	for _, f := range list {
		out = append(out, f.Fork)
	}
	return out, nil
}

// TakeFork judges evidence that a member logged, and keeps it if it counts here: both heads
// under a key of their place, and no retired key alone. It reports whether it is new; evidence
// that cannot be judged yet, or is none, is not.
func (r *Recorder) TakeFork(ctx context.Context, f attlog.Fork) (bool, error) {
	d := f.A.Org
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
	return r.keepFork(ctx, f, 0)
}

// recallForks reads at a start whose logs have forked.
func (r *Recorder) recallForks(ctx context.Context) error {
	for _, d := range r.cfg.Events.Orgs() {
		list, err := r.cfg.Events.Forks(ctx, d)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			r.setParted(d)
		}
	}
	return nil
}
