package daemon

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/node/config"
	"trustnode/node/library"
	"trustnode/node/member"
	"trustnode/node/recorder"
	"trustnode/node/self"
	"trustnode/node/store"
)

// FsckOptions say how a data directory is looked at.
type FsckOptions struct {
	Rebuild  bool                     // make the indexes anew from entries and rows, first, and judge every event anew
	Progress func(done, total uint64) // in log entries; optional
	Judging  func(done, total uint64) // in events that are judged anew; optional
	Log      *slog.Logger
}

// FsckFault is one thing that is not as it was written.
type FsckFault struct {
	Log   string  `json:"log"`             // DID of a log, or audit, state, pins
	Index *uint64 `json:"index,omitempty"` // of the entry in the log
	What  string  `json:"what"`
}

// FsckPins is what pins name of the own log.
type FsckPins struct {
	Log        uint64 `json:"log"`        // its size
	Signed     uint64 `json:"signed"`     // size of the newest head that is held
	Recovering bool   `json:"recovering"` // peers have not confirmed yet that they know of none above
}

// FsckVerdicts is what judging every event anew came to.
type FsckVerdicts struct {
	Events    uint64 `json:"events"`    // of all logs
	Undecided uint64 `json:"undecided"` // of these, authored when they came, by a key that its DID lists no more
}

// FsckReport is what an inspection of a data directory found.
type FsckReport struct {
	OK         bool      `json:"ok"`
	Org        string    `json:"org"`
	Logs       uint64    `json:"logs"`
	Entries    uint64    `json:"entries"`
	Notes      uint64    `json:"notes"`
	Signatures uint64    `json:"signatures"` // of heads and cosignatures
	Rows       uint64    `json:"rows"`
	Bodies     uint64    `json:"bodies"`
	Objects    uint64    `json:"objects"`
	Waiting    uint64    `json:"waiting"` // in the outbox
	Charters   int       `json:"charters"`
	Rebuilt    bool      `json:"rebuilt"`
	Pins       *FsckPins `json:"pins,omitempty"` // absent where they could not be held against the logs
	// Verdicts is absent where no event was judged anew: it is not asked for, or what it rests on is damaged.
	Verdicts *FsckVerdicts `json:"verdicts,omitempty"`
	TookMS   int64         `json:"took_ms"`
	Faults   []FsckFault   `json:"faults"`
}

// Fsck verifies a data directory that no process has open, with no network and no private
// key: both databases from their bytes, what they say of each other, the DID logs, the
// charters, and all of it against the pins. What is wrong is in the report; an error says
// that it could not be looked at. ErrLocked: a process has the directory open.
func Fsck(ctx context.Context, cfg config.Config, o FsckOptions) (FsckReport, error) {
	start := time.Now()
	l, err := acquire(ctx, cfg.Dir, 0)
	if err != nil {
		return FsckReport{}, err
	}
	f := &fsck{cfg: cfg, o: o, r: FsckReport{Org: cfg.Org.String(), Faults: []FsckFault{}}}
	err = errors.Join(f.all(ctx), f.close(), l.release())
	f.r.OK, f.r.TookMS = len(f.r.Faults) == 0, time.Since(start).Milliseconds()
	return f.r, err
}

// fsck is one inspection under way.
type fsck struct {
	cfg    config.Config
	o      FsckOptions
	r      FsckReport
	pins   *pins.File
	state  store.DB
	audit  store.DB
	closer []func() error
}

func (f *fsck) found(x store.Fault) {
	if len(f.r.Faults) >= store.MaxFaults {
		return
	}
	out := FsckFault{Log: x.Log, What: x.What}
	if x.At {
		out.Index = &x.Index
	}
	f.r.Faults = append(f.r.Faults, out)
}

// bad notes that a part as a whole does not read.
func (f *fsck) bad(part string, err error) { f.found(store.Fault{Log: part, What: err.Error()}) }

func (f *fsck) close() error {
	var errs []error
	for i := len(f.closer) - 1; i >= 0; i-- {
		errs = append(errs, f.closer[i]())
	}
	return errors.Join(errs...)
}

func (f *fsck) all(ctx context.Context) error {
	if err := f.open(); err != nil {
		return err
	}
	if f.audit != nil {
		if err := f.auditAlone(ctx); err != nil {
			return err
		}
	}
	if f.state != nil {
		n, err := library.New(f.state).Inspect(ctx, func(what string) { f.found(store.Fault{Log: "state", What: what}) })
		if f.r.Objects += n; err != nil {
			return err
		}
	}
	if f.audit == nil || f.state == nil || f.pins == nil {
		return nil // what they say of each other is not to be known
	}
	return f.together(ctx)
}

// open opens pins and databases. What does not open is a fault, and the rest is looked at.
func (f *fsck) open() error {
	for _, name := range []string{pinsFile, stateDir, auditDir} { // opening makes what is not there
		if _, err := os.Lstat(filepath.Join(f.cfg.Dir, name)); errors.Is(err, fs.ErrNotExist) {
			f.found(store.Fault{Log: name, What: "missing"})
		}
	}
	if len(f.r.Faults) > 0 {
		return nil
	}
	p, err := pins.Open(filepath.Join(f.cfg.Dir, pinsFile), time.Now)
	if err != nil {
		f.bad("pins", err)
	} else {
		f.pins = p
		f.closer = append(f.closer, p.Close)
	}
	for name, db := range map[string]*store.DB{stateDir: &f.state, auditDir: &f.audit} {
		got, err := store.OpenBadger(filepath.Join(f.cfg.Dir, name), f.o.Log)
		if errors.Is(err, store.ErrLocked) {
			return err
		}
		if err != nil {
			f.bad(name, err)
			continue
		}
		*db = got
		f.closer = append(f.closer, got.Close)
	}
	return nil
}

// auditAlone verifies the audit database, after its indexes were made anew where asked for.
func (f *fsck) auditAlone(ctx context.Context) error {
	if f.o.Rebuild {
		err := store.Rebuild(ctx, f.audit, store.Inspection{Found: f.found, Progress: f.o.Progress})
		if f.r.Rebuilt = err == nil; errors.Is(err, store.ErrCorrupt) {
			f.bad("audit", err)
		} else if err != nil {
			return err
		}
	}
	n, err := store.InspectAudit(ctx, f.audit, store.Inspection{Found: f.found, Progress: f.o.Progress, Own: f.cfg.Org})
	f.r.Logs, f.r.Entries, f.r.Notes, f.r.Rows, f.r.Bodies = n.Logs, n.Entries, n.Notes, n.Rows, n.Bodies
	return err
}

// together verifies what needs both databases, the keys of organizations, and the pins.
func (f *fsck) together(ctx context.Context) error {
	ring := keyring.New(store.NewRing(f.state), f.pins, time.Now)
	if err := ring.Load(ctx); err != nil {
		f.bad("state", err)
	}
	events, err := store.OpenEvents(ctx, f.audit)
	if err != nil {
		f.bad("audit", err)
		return nil
	}
	cfg := recorder.Config{Org: f.cfg.Org, State: f.state, Audit: f.audit, Events: events, Pins: f.pins, Ring: recorder.RingOf(ring)}
	n, err := recorder.Inspect(ctx, cfg, f.found)
	f.r.Waiting, f.r.Signatures = n.Outbox, n.Signatures
	f.r.Pins = &FsckPins{Log: n.Pinned, Signed: n.Signed, Recovering: n.Recovering}
	if f.r.Objects += n.Objects; err != nil {
		return err
	}
	rec := recorder.Reading(cfg)
	last, err := rec.LastTime(ctx)
	if err != nil {
		f.bad("state", err)
		return nil
	}
	node := &self.Node{Org: f.cfg.Org, DB: f.state, Rec: rec, Ring: ring, Lib: library.New(f.state), Log: slog.New(slog.DiscardHandler)}
	node.Clock = self.NewClock(time.Now, last)
	charters, err := member.Inspect(ctx, node, f.pins)
	if err != nil {
		f.bad("state", err)
	}
	f.r.Charters = charters.Charters
	if f.o.Rebuild && len(f.r.Faults) == 0 {
		return f.verdicts(ctx, cfg, charters)
	}
	return ctx.Err()
}

// verdicts judges every event anew, by the charter that holds.
func (f *fsck) verdicts(ctx context.Context, cfg recorder.Config, by member.Inspected) error {
	cfg.Member, cfg.Quorum, cfg.Bounds = by.IsMember, by.Quorum, by.BoundsOf
	n, err := recorder.InspectVerdicts(ctx, cfg, f.found, f.o.Judging)
	if errors.Is(err, store.ErrCorrupt) {
		f.bad("audit", err)
		return nil
	}
	f.r.Verdicts = &FsckVerdicts{n.Events, n.Undecided}
	return err
}
