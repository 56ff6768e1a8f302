package memory

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"slices"

	"trustnode/node/store"
)

// ImportOptions say what an import does beside bringing in entries.
type ImportOptions struct {
	// DryRun reads and reports, and writes nothing.
	DryRun bool
	// Also is called in each transaction with the entries it brings in, and
	// writes the audit rows. It may run again. nil is allowed.
	Also func(tx store.Tx, es []Entry) error
	// Progress is called after each transaction with the last line read. nil
	// is allowed.
	Progress func(line int)
}

// Rejected is a line, or one statement of it, that was not imported.
type Rejected struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// Report says what an import did.
type Report struct {
	Imported int            // entries brought in, or that a dry run would bring in
	Repeated int            // statements that were there from an earlier line or run
	Rejected []Rejected     // at most MaxRejected
	More     int            // rejected beyond those
	Tags     map[string]int // entries by tag; past 10,000 tags the others under ""
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
	by.surface = ByImport
	i := importing{e: e, by: by, im: im, o: o, report: Report{Tags: map[string]int{}, Rejected: []Rejected{}}}
	err := im.Lines(ctx, r, func(l Line) error { return i.take(ctx, l) })
	if err == nil {
		err = i.commit(ctx)
	}
	slices.SortStableFunc(i.report.Rejected, func(a, b Rejected) int { return a.Line - b.Line })
	return i.report, err
}

// importing is one Import.
type importing struct {
	e      *Entries
	by     Writer
	im     Importer
	o      ImportOptions
	report Report
	batch  []Line
	bytes  int
}

func (i *importing) take(ctx context.Context, l Line) error {
	if l.Reason != "" {
		i.reject(l)
		return nil
	}
	i.batch = append(i.batch, l)
	i.bytes += len(l.Draft.Statement) + len(l.Draft.Data)
	if len(i.batch) < importBatch && i.bytes < importBatchBytes {
		return nil
	}
	return i.commit(ctx)
}

func (i *importing) reject(l Line) {
	if len(i.report.Rejected) == MaxRejected {
		i.report.More++
		return
	}
	i.report.Rejected = append(i.report.Rejected, Rejected{l.Number, l.Reason, l.Detail})
}

// outcome is what one run of a batch came to; a second run replaces it.
type outcome struct {
	entries  []Entry
	rejected []Line
	repeated int
}

func (i *importing) commit(ctx context.Context) error {
	if len(i.batch) == 0 {
		return nil
	}
	var out outcome
	err := i.e.db.Update(ctx, func(tx store.Tx) (err error) {
		if out, err = i.write(tx); err != nil {
			return err
		}
		if i.o.DryRun {
			return errDry
		}
		if i.o.Also != nil && len(out.entries) > 0 {
			return i.o.Also(tx, out.entries)
		}
		return nil
	})
	if err != nil && err != errDry {
		return err
	}
	i.settle(out)
	return nil
}

// errDry ends a dry run's transaction without a trace.
var errDry = errors.New("dry run")

func (i *importing) settle(out outcome) {
	i.report.Imported += len(out.entries)
	i.report.Repeated += out.repeated
	for _, l := range out.rejected {
		i.reject(l)
	}
	for _, e := range out.entries {
		for _, t := range e.Tags {
			if _, known := i.report.Tags[t]; !known && len(i.report.Tags) >= maxReportTags {
				t = ""
			}
			i.report.Tags[t]++
		}
	}
	if i.o.Progress != nil {
		i.o.Progress(i.batch[len(i.batch)-1].Number)
	}
	i.batch, i.bytes = i.batch[:0], 0
}

func (i *importing) write(tx store.Tx) (out outcome, err error) {
	for _, l := range i.batch {
		h := sha256.Sum256([]byte(i.im.Name() + "\x00" + l.Origin))
		key := i.by.place.key("imp", string(h[:16]))
		if _, err := tx.Get(key); err == nil {
			out.repeated++
			continue
		} else if !errors.Is(err, store.ErrNotFound) {
			return outcome{}, err
		}
		n, err := i.e.Put(tx, i.by, l.Draft)
		if bad := (*Invalid)(nil); errors.As(err, &bad) {
			out.rejected = append(out.rejected, Line{Number: l.Number, Reason: bad.Field, Detail: bad.What})
			continue
		}
		if err != nil {
			return outcome{}, err
		}
		if err := tx.Set(key, []byte(n.ID)); err != nil {
			return outcome{}, err
		}
		out.entries = append(out.entries, n)
	}
	return out, nil
}
