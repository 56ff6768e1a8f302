package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"

	"trustnode/node/store"
)

// Line is what an importer made of one piece of its source: a draft, a reason
// why there is none (Reason), or what the format's rules leave out (Left).
type Line struct {
	Number   int      // line of the file, from 1
	Item     int      // which one of that document's list, from 1; 0 where the line is the item
	Draft    Draft    // unless Reason or Left is set
	Subjects []string // natural names of whom it speaks of
	Group    string   // the source's own partition; the operator says which project that is
	Origin   string   // original id, or what identifies the statement in the source
	Reason   string   // one word; the line is rejected
	Detail   string   // more for a person; may be empty
	Left     string   // one or a few words; left out by rule, which is no fault of the line
}

// Reasons of Import itself why a line is rejected; importers have theirs. A
// draft that breaks a rule of 04 section 1 is rejected with the field's name.
const (
	RejectGroup = "group" // of a group that no project is named for
	leftChanged = "changed at the source since an earlier import"
)

// Importer reads one foreign format.
type Importer interface {
	// Name is the format's name, a part of what makes an import idempotent.
	Name() string
	// Sniff reports whether a file that begins like this is of the format.
	Sniff(head []byte) bool
	// Lines streams a file in bounded memory and emits what it finds, in
	// order. An error of emit ends it and is returned.
	Lines(ctx context.Context, r io.Reader, emit func(Line) error) error
}

// ImportOptions say what an import does beside bringing in entries.
type ImportOptions struct {
	// DryRun reads and reports, and writes nothing.
	DryRun bool
	// Groups says for each group of the source who brings it in, and with that
	// into which place. A line of another group is rejected.
	Groups map[string]Writer
	// Also is called in each transaction, once for each place, with the entries
	// it brings in, and writes the audit rows. It may run again. nil is allowed.
	Also func(tx store.Tx, in Place, es []Entry) error
	// Progress is called after each transaction with the last line read. nil
	// is allowed.
	Progress func(line int)
}

// Import streams a file into the writer's place. Every entry lands quarantined,
// with trust imported and created now; what the source says of trust, access or
// approval stays text. Import commits every few hundred entries, so an
// interrupted one has brought in a part, and running it again brings in the
// rest and nothing twice. Each rejected line is in the report; an error is
// returned only for what ended the import.
func (e *Entries) Import(ctx context.Context, by Writer, im Importer, r io.Reader, o ImportOptions) (Report, error) {
	if err := by.place.check(); err != nil {
		return Report{}, err
	}
	i := importing{e: e, by: by, im: im, o: o, report: newReport(), seen: map[[16]byte]bool{}}
	err := im.Lines(ctx, r, func(l Line) error { return i.take(ctx, l) })
	if err == nil {
		err = i.commit(ctx)
	}
	i.report.sort()
	return i.report, err
}

// importing is one Import.
type importing struct {
	e      *Entries
	by     Writer
	im     Importer
	o      ImportOptions
	report Report
	batch  []drafted
	bytes  int
	seen   map[[16]byte]bool // of a dry run, which finds nothing of its own in the store
}

// drafted is a line and who brings it in.
type drafted struct {
	Line
	by Writer
}

func (i *importing) take(ctx context.Context, l Line) error {
	switch {
	case l.Left != "":
		i.report.leave(l.Left)
		return nil
	case l.Reason != "":
		i.report.reject(l)
		return nil
	}
	by := i.by
	if l.Group != "" {
		var named bool
		if by, named = i.o.Groups[l.Group]; !named {
			l.Reason, l.Detail = RejectGroup, l.Group
			i.report.reject(l)
			return nil
		}
	}
	by.surface = ByImport
	i.batch = append(i.batch, drafted{l, by})
	i.bytes += len(l.Draft.Statement) + len(l.Draft.Data)
	if len(i.batch) < importBatch && i.bytes < importBatchBytes {
		return nil
	}
	return i.commit(ctx)
}

func (i *importing) commit(ctx context.Context) (err error) {
	if len(i.batch) == 0 {
		return ctx.Err()
	}
	var out outcome
	if i.o.DryRun {
		err = i.e.db.View(ctx, func(r store.Reader) (err error) {
			out, err = i.try(r)
			return err
		})
	} else {
		err = i.e.db.Update(ctx, func(tx store.Tx) (err error) {
			out, err = i.write(tx)
			return err
		})
	}
	if err != nil {
		return err
	}
	i.settle(out)
	return nil
}

// outcome is what one run of a batch came to; a second run replaces it.
type outcome struct {
	entries  []Entry
	keys     [][16]byte // of a dry run
	rejected []Line
	repeated int
	changed  int
}

func (i *importing) settle(out outcome) {
	i.report.Imported += len(out.entries)
	i.report.Repeated += out.repeated
	for range out.changed {
		i.report.leave(leftChanged)
	}
	for _, l := range out.rejected {
		i.report.reject(l)
	}
	for _, e := range out.entries {
		i.report.tags(e.Tags)
	}
	for _, k := range out.keys {
		if len(i.seen) < maxDrySeen {
			i.seen[k] = true
		}
	}
	if i.o.Progress != nil {
		i.o.Progress(i.batch[len(i.batch)-1].Number)
	}
	clear(i.batch)
	i.batch, i.bytes = i.batch[:0], 0
}

// write brings in a batch.
func (i *importing) write(tx store.Tx) (out outcome, err error) {
	byPlace := map[Place][]Entry{}
	for _, l := range i.batch {
		_, key := i.key(l)
		known, err := i.known(tx, key, l, &out)
		if err != nil {
			return outcome{}, err
		}
		if known {
			continue
		}
		n, err := i.put(tx, l)
		if out.refuses(l.Line, err) {
			continue
		}
		if err != nil {
			return outcome{}, err
		}
		if err := tx.Set(key, []byte(n.ID)); err != nil {
			return outcome{}, err
		}
		out.entries = append(out.entries, n)
		byPlace[n.Place] = append(byPlace[n.Place], n)
	}
	return out, i.also(tx, byPlace)
}

// put makes an entry of a line. Its subjects get their pseudonyms once it is known
// that nothing else is wrong with it: a rejected line leaves no name behind.
func (i *importing) put(tx store.Tx, l drafted) (Entry, error) {
	if len(l.Subjects) > 0 {
		if _, err := i.check(tx, l); err != nil {
			return Entry{}, err
		}
	}
	d := l.Draft
	for _, name := range l.Subjects {
		s, err := i.e.NameSubject(tx, l.by.place.tenant, name)
		if err != nil {
			return Entry{}, err
		}
		d.Subjects = append(d.Subjects, s.Pseudonym)
	}
	return i.e.Put(tx, l.by, d)
}

// check makes the entry that put would, all but its subjects, and stores nothing.
func (i *importing) check(g Getter, l drafted) (Entry, error) {
	if len(l.Subjects) > MaxSubjects {
		return Entry{}, invalid("subjects", "%d, at most %d", len(l.Subjects), MaxSubjects)
	}
	for _, name := range l.Subjects {
		if _, err := i.e.Subject(g, l.by.place.tenant, name); err != nil && !errors.Is(err, ErrNoSubject) {
			return Entry{}, err
		}
	}
	e, err := ingest(l.by, l.Draft, i.e.now())
	if err == nil {
		err = e.checkLists()
	}
	return e, err
}

func (i *importing) also(tx store.Tx, byPlace map[Place][]Entry) error {
	if i.o.Also == nil {
		return nil
	}
	for in, es := range byPlace {
		if err := i.o.Also(tx, in, es); err != nil {
			return err
		}
	}
	return nil
}

// try tells what write would do.
func (i *importing) try(r store.Reader) (out outcome, err error) {
	batch := map[[16]byte]bool{}
	for _, l := range i.batch {
		hash, key := i.key(l)
		if i.seen[hash] || batch[hash] {
			out.repeated++
			continue
		}
		known, err := i.known(r, key, l, &out)
		if err != nil {
			return outcome{}, err
		}
		if known {
			continue
		}
		n, err := i.check(r, l)
		if out.refuses(l.Line, err) {
			continue
		}
		if err != nil {
			return outcome{}, err
		}
		batch[hash] = true
		out.keys = append(out.keys, hash)
		out.entries = append(out.entries, n)
	}
	return out, nil
}

// key is where the store remembers that a line was brought in.
func (i *importing) key(l drafted) ([16]byte, []byte) {
	h := sha256.Sum256([]byte(i.im.Name() + "\x00" + l.Origin))
	return [16]byte(h[:16]), l.by.place.key("imp", string(h[:16]))
}

// known reports whether a line was brought in before, and counts it. What was
// forgotten since stays forgotten.
func (i *importing) known(g Getter, key []byte, l drafted, out *outcome) (bool, error) {
	id, err := g.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	out.repeated++
	e, err := load(g, l.by.place, string(id))
	if err == nil && (e.Statement != l.Draft.Statement || !bytes.Equal(e.Data, l.Draft.Data)) {
		out.changed++
	}
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return true, err
}

// refuses notes a line whose draft breaks a rule.
func (out *outcome) refuses(l Line, err error) bool {
	bad := (*Invalid)(nil)
	if !errors.As(err, &bad) {
		return false
	}
	l.Reason, l.Detail = bad.Field, bad.What
	out.rejected = append(out.rejected, l)
	return true
}
