package casefile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"trustnode/attestation"
	"trustnode/attestation/history"
	attlog "trustnode/attestation/log"
	"trustnode/did/keyring"
)

// batch is how many entries of a tree are verified side by side: enough to keep all processors busy, few enough that the
// longest, of 16 MiB for each 256, fit any memory.
const batch = 4096

// Tree is a whole log that was verified: every entry of it under the key of its place, and its head. It is made by
// OpenTree alone.
type Tree struct {
	Note     attlog.Note
	Seen     []attestation.Seen // who cosigned the head, by time
	Keys     history.Keys
	Waits    []*Fault                    // cosignatures that cannot be judged here, and do not count
	Disputed []*Fault                    // entries of a time when a key was not safe
	Types    map[attestation.Type]uint64 // how many entries of each
}

// OpenTree verifies the tree of tiles of one log, as event export writes it, under the DIDs that r holds: each entry with the
// key that counts at its index, each tile from the entries up, the head and each of its lines. Memory is that of one batch
// of entries. tell hears how many entries are done. Errors are *Fault with the index in words, and those of ctx; the first
// entry that is false is named, whatever the number of processors.
func OpenTree(ctx context.Context, r *keyring.Ring, files attlog.Files, names Names, tell func(done, total uint64)) (Tree, error) {
	text, err := files(ctx, attlog.CheckpointFile)
	if err != nil {
		return Tree{}, fault(0, "the checkpoint cannot be read: %v", err)
	}
	n, err := attlog.ParseNote(text)
	if err != nil {
		return Tree{}, fault(0, "checkpoint: %v", err)
	}
	p := newOpener(ctx, &ring{Ring: r}, nil)
	p.names = names
	p.names.Add(n.Org)
	t := &treeOpener{opener: p, Tree: Tree{Note: n, Types: map[attestation.Type]uint64{}}, tell: tell}
	if p.unheld(n.Org) {
		return t.Tree, pending(0, "the log is of %s, whose DID log is not here", n.Org)
	}
	err = attlog.ReadTiles(ctx, n.Head, files, t.take)
	if waiting := t.flush(); waiting != nil { // of entries before the one where reading ended
		return t.Tree, waiting
	}
	if err != nil {
		return t.Tree, treeFault(err)
	}
	return t.Tree, t.head()
}

// treeFault is why a tree could not be read to its end.
func treeFault(err error) error {
	if f := (*Fault)(nil); errors.As(err, &f) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault(0, "%v", err)
}

// treeOpener is a Tree while it is read.
type treeOpener struct {
	*opener
	Tree
	tell func(done, total uint64)
	from uint64 // index of the first entry that waits to be verified
	raw  []attestation.Entry
}

// take puts an entry to those that are verified next.
func (t *treeOpener) take(_ uint64, e attestation.Entry) error {
	if t.raw = append(t.raw, e); len(t.raw) < batch {
		return nil
	}
	return t.flush()
}

// flush verifies the entries that wait: their forms side by side, then those under the same keys side by side.
func (t *treeOpener) flush() error {
	all, errs := make([]claimed, len(t.raw)), make([]error, len(t.raw))
	if err := Parallel(t.ctx, len(all), func(i int) { all[i], errs[i] = t.claim(t.from+uint64(i), t.raw[i]) }); err != nil {
		return err
	}
	good := len(all)
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		good = i
	}
	for i := 0; i < good; {
		found, err := t.sameKeys(all[i:good], t.place)
		if err != nil {
			return err
		}
		for n, o := range found {
			if err := t.keep(all[i+n], o); err != nil {
				return err
			}
		}
		i += len(found)
	}
	if good < len(all) {
		return errs[good]
	}
	t.from, t.raw = t.from+uint64(len(all)), nil
	if t.tell != nil && len(all) > 0 {
		t.tell(t.from, t.Note.Head.Size)
	}
	return nil
}

func (t *treeOpener) claim(index uint64, e attestation.Entry) (c claimed, err error) {
	c.entry = e
	c.proof.Index = index
	if c.claim, err = e.Claim(); err == nil {
		c.event = c.claim.Body()
		err = attestation.CheckKnown(c.event)
	}
	switch {
	case err != nil:
		return c, fault(0, "%s %d: %v", t.org(t.Note.Org), index, err)
	case c.event.Org != t.Note.Org:
		return c, fault(0, "%s %d is an event of %s", t.org(t.Note.Org), index, c.event.Org)
	}
	return c, nil
}

// keep adds an event that was verified to the history of the keys.
func (t *treeOpener) keep(c claimed, o found) (err error) {
	if o.err != nil {
		return o.err
	}
	if t.keys[t.Note.Org], err = t.history(t.Note.Org).Apply(t.ctx, t.ring, c.proof.Index, o.event); err != nil {
		return fault(0, "%s %d %s: %v", t.org(t.Note.Org), c.proof.Index, c.event.Type, err)
	}
	t.Types[c.event.Type]++
	return nil
}

// head verifies the lines of the head, under the keys that all entries left in force.
func (t *treeOpener) head() error {
	t.Keys, t.lenient = t.keys[t.Note.Org], true // a witness whose DID log is not here is not counted
	n := &note{Note: t.Note}
	if err := t.opener.note(n); err != nil {
		return err
	}
	t.Seen = n.seen
	if n.waits != nil {
		t.Waits = append(t.Waits, n.waits)
	}
	for _, s := range n.seen {
		t.opener.names.Add(s.Org)
	}
	for _, x := range t.Keys.Taints() {
		if x.Agent.IsZero() && x.From+1 < x.Until {
			t.Disputed = append(t.Disputed, &Fault{0, fmt.Sprintf("%s %d to %d are disputed: the key.rotated at index %d says that the key was not safe then", t.org(t.Note.Org), x.From+1, x.Until-1, x.Until), true})
		}
	}
	return nil
}

// Words says what the tree proves: ok and unsaid lines.
func (t Tree) Words(names Names, need int) []Line {
	if need == 0 {
		need = -1 // nothing was asked for
	}
	w := &words{s: Set{names: names}}
	org, size := names.Short(t.Note.Org), t.Note.Head.Size
	w.add("ok", "log of %s: %s, each signed by a key that counted at its index, the tree computed from them up", org, Count(int(min(size, math.MaxInt)), "entry|entries"))
	for _, s := range t.Keys.Spans() {
		w.add("ok", "%s %d  keys of version %s from here on", org, s.From, s.Version)
	}
	seen := make([]string, len(t.Seen))
	for i, s := range t.Seen {
		seen[i] = names.Short(s.Org) + " " + s.At.String()
	}
	w.add("ok", "head of size %d, root %s, signed by a key in force there; %s%s", size, t.Note.Head.Root, haveNeed(len(seen), need), colon(seen))
	w.add("unsaid", "what %s wrote after this head, whether it showed another one to others, and whether its keys are valid now", org)
	return w.Lines
}

func colon(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, ", ")
}
