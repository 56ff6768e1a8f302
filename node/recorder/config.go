package recorder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/history"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/node/store"
)

// Ring says which keys organizations have; a keyring is one by RingOf.
// Implementations are safe for concurrent use and need no network.
type Ring interface {
	history.Versions
	// Witness returns the keys whose cosignatures count for d, none when
	// its document is not known here.
	Witness(ctx context.Context, d did.DID) []did.PublicKey
}

// Config is what a Recorder is made of. Fields marked optional may be left out.
type Config struct {
	Org    did.DID
	State  store.DB // decisions and the outbox
	Audit  store.DB // what Events is opened on
	Events *store.Events
	Pins   pins.Pins
	// Signer returns the organization's current signer and its kid.
	Signer func(ctx context.Context) (envelope.Signer, string, error)
	// SignerOf returns the signer of a kid that is no longer current, for
	// what was drafted under it. Optional: such items then wait.
	SignerOf func(ctx context.Context, kid string) (envelope.Signer, error)
	// WitnessSigner returns the own witness key. Optional: then no head is
	// cosigned here.
	WitnessSigner func(ctx context.Context) (envelope.Signer, error)
	Ring          Ring
	// Member reports whether d is an active member. Optional: then nobody
	// is, and no head is cosigned here.
	Member func(d did.DID) bool
	// Quorum is how many organizations' cosignatures vouch for a head. Optional: then
	// the own one alone does.
	Quorum func() int
	// Bounds is what the charter in force says of a log, from memory; Rebound is to be
	// called when that changes. Optional: then no log is bounded.
	Bounds func(d did.DID) Bounds
	// OnHead is called when the newest note of a log changed, or more of a log was judged,
	// by a goroutine that waits for it. Optional.
	OnHead func(h HeadNews)
	Now    func() time.Time
	Log    *slog.Logger
}

// HeadNews says that a log has a new head, or its head new cosignatures.
type HeadNews struct {
	Org    did.DID
	Size   uint64
	Note   []byte
	Prompt bool // something in it is to be spread and cosigned at once
}

// State is what the own log lets happen.
type State uint8

// The states.
const (
	Open       State = iota + 1
	Recovering       // decisions wait in the outbox; nothing is appended or signed
	Corrupt          // as Recovering, until what does not hash is repaired
)

// String returns the state's word.
func (s State) String() string {
	switch s {
	case Open:
		return "open"
	case Recovering:
		return "recovering"
	case Corrupt:
		return "corrupt"
	}
	return "invalid"
}

// The errors a caller may branch on.
var (
	// ErrRecovering says that the own log takes nothing at the moment.
	ErrRecovering error = attestation.NewFault("the own log is recovering", "unavailable", "recovering", "one peer has to confirm the log's size; if none will come: trustnode run --accept-unconfirmed")
	// ErrUnconfirmed says that the own log is behind its pins.
	ErrUnconfirmed error = attestation.NewFault("the own log is behind its pins", "refused", "recovering", "nothing is signed until a peer has brought what is missing")
	// ErrCorrupt is what a Corruption is.
	ErrCorrupt error = attestation.NewFault("a log is not as it was written", "unavailable", "corrupt", "trustnode fsck --repair, or restore a backup")
	// ErrNoSpace says that the disk is nearly full: new work is refused.
	ErrNoSpace error = attestation.NewFault("the disk is nearly full", "unavailable", "no_space", "free space or delete DIR/ballast; appends resume by themselves, and ends of loans, rotations and erasures are taken all the time")
	// ErrNoHead says that no signed head covers an event yet.
	ErrNoHead error = attestation.NewFault("no signed head covers it yet", "unavailable", "head", "")
)

// Recorder is the own log's writer and every log's keeper. It is safe for
// concurrent use.
type Recorder struct {
	cfg Config

	wake    chan struct{} // of one: something was drafted or asked for
	drafted atomic.Uint64 // highest outbox number drafted, committed or not

	logs logLocks

	counts counts

	unjudged chan struct{} // of one: something waits for its verdict
	behind   atomic.Bool   // Run judges in the background
	poured   atomic.Int64  // when something was last logged that is not judged, nanoseconds since 1970

	mu      sync.Mutex // guards what follows
	state   State
	why     string
	paused  string        // why the log is Recovering, or will be once it is no longer Corrupt
	pulse   chan struct{} // closed and replaced when something was achieved
	version uint64        // how often that was
	failing time.Time     // since when draining fails; zero while it does not
	asked   uint64        // audit.rows asked for, counted
	served  uint64        // of those, answered
	keys    map[did.DID]history.Keys
	moves   map[did.DID]uint64 // how often a log was judged on, or its keys or its branch changed
	cosigns map[did.DID]uint64 // size each witness is known to hold
	opened  openedCache
	muted   muted
	parted  map[did.DID]bool    // evidence of a fork is held
	weighed map[did.DID]shading // what was last made of each log
	looks   map[did.DID]look
	lost    map[did.DID]lostBranch // what was given up last of a log
	short   map[did.DID]bool       // key histories that end early
	unmet   map[did.DID]uint64     // where comparing what came with kept heads begins again, after it failed
	full    string                 // why new work is refused for want of space; "" while it is not

	turns sync.Mutex // held through a turn of Run, and by Resume
	seq   sequencer  // guarded by turns

	maxCover    uint64 // rows of one audit.rows at most; tests make it small
	pace        pace   // of judging in the background; tests make it small
	maxErasures int    // log.erased of one log that are taken in at once; tests make it small

	// testingOnlyStep is called after each step of the sequencer; an error
	// stops Run there.
	testingOnlyStep func(step string) error
}

// sequencer is what Run knows between two batches.
type sequencer struct {
	waiting  []tlog.Hash // leaves of rows appended and not yet covered
	since    time.Time   // when the first of them came
	lastKid  string      // of the newest own entry
	lastAt   envelope.Time
	lastAsk  time.Time
	firstRow time.Time // when a row was first seen waiting in the outbox
	dropped  uint64    // outbox numbers up to here are deleted
	lost     bool      // rows were lost, and no key here could say so yet: none is covered
	purge    bool      // something was erased: drained items may still have its bytes
	from     uint64    // outbox number before the first of read
	read     []item    // committed items that wait, as far as they were read
	signers  map[string]envelope.Signer
	made     opened // of the newest batch
}

// New checks cfg and makes key/current and log/opened where they are missing.
// Drafting works from then on; the log moves while Run does.
func New(ctx context.Context, cfg Config) (*Recorder, error) {
	if cfg.Org.IsZero() || cfg.State == nil || cfg.Events == nil || cfg.Pins == nil || cfg.Signer == nil || cfg.Ring == nil || cfg.Now == nil || cfg.Log == nil {
		return nil, errors.New("recorder: a required field of the configuration is missing")
	}
	if cfg.Member == nil {
		cfg.Member = func(did.DID) bool { return false }
	}
	if cfg.OnHead == nil {
		cfg.OnHead = func(HeadNews) {}
	}
	r := &Recorder{
		cfg: cfg, wake: make(chan struct{}, 1), unjudged: make(chan struct{}, 1), state: Open, pulse: make(chan struct{}),
		keys: map[did.DID]history.Keys{}, moves: map[did.DID]uint64{}, cosigns: map[did.DID]uint64{}, parted: map[did.DID]bool{}, weighed: map[did.DID]shading{}, looks: map[did.DID]look{},
		lost: map[did.DID]lostBranch{}, unmet: map[did.DID]uint64{}, opened: newOpenedCache(), maxCover: maxCover, maxErasures: maxErasures, pace: pace{bulk, judgeStep, maxUnjudged},
		seq: sequencer{signers: map[string]envelope.Signer{}},
	}
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// begin writes what drafting reads, where it is missing.
func (r *Recorder) begin(ctx context.Context) error {
	if err := r.raise(ctx); err != nil {
		return err
	}
	if err := r.recall(ctx); err != nil {
		return err
	}
	if err := r.recallForks(ctx); err != nil {
		return err
	}
	begun, err := r.begun(ctx)
	if err != nil {
		return err
	}
	if begun {
		return r.mute(ctx)
	}
	_, kid, err := r.cfg.Signer(ctx)
	if err != nil {
		return fmt.Errorf("signer of %s: %w", r.cfg.Org, err)
	}
	known, err := r.cfg.Ring.Known(ctx, r.cfg.Org)
	if err != nil || len(known) == 0 {
		return fmt.Errorf("own DID document of %s is not held: %v", r.cfg.Org, err)
	}
	version := known[len(known)-1]
	return r.cfg.State.Update(ctx, func(tx store.Tx) error {
		return errors.Join(tx.Set(keyCurrent, []byte(kid)), tx.Set(keyOpened, []byte(kid+"\n"+version)))
	})
}

// begun reports whether a process before this one began: what drafting reads is then there
// even where no key signs now.
func (r *Recorder) begun(ctx context.Context) (bool, error) {
	err := r.cfg.State.View(ctx, func(s store.Reader) error {
		if _, err := s.Get(keyCurrent); err != nil {
			return err
		}
		_, err := s.Get(keyOpened)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// recall enters Recovering again where a process before this one had to.
func (r *Recorder) recall(ctx context.Context) error {
	return r.cfg.State.View(ctx, func(s store.Reader) error {
		why, err := s.Get(keyRecovering)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err == nil {
			r.enter(Recovering, string(why))
		}
		return err
	})
}

// State returns the state of the own log, and why it is not Open.
func (r *Recorder) State() (State, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state, r.why
}

// Pause makes the own log Recovering: drafting goes on into the outbox,
// nothing is appended or signed. A Corrupt log stays so.
func (r *Recorder) Pause(why string) { r.enter(Recovering, why) }

func (r *Recorder) enter(s State, why string) {
	r.mu.Lock()
	if s == Recovering {
		r.paused = why
	}
	if s >= r.state {
		r.state, r.why = s, why
	}
	r.mu.Unlock()
	r.signal()
	r.progress()
}

// signal wakes Run.
func (r *Recorder) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// progress wakes all who wait for something to be achieved.
func (r *Recorder) progress() {
	r.mu.Lock()
	close(r.pulse)
	r.pulse = make(chan struct{})
	r.version++
	r.mu.Unlock()
}

// Version counts what Changed tells of, from the start of the process on. What was read
// after a Version is still what the logs say while Version gives the same.
func (r *Recorder) Version() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.version
}

// Changed returns a channel that is closed when something next changes in any
// log: entries, notes, verdicts, bodies, or the state of the own one.
func (r *Recorder) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pulse
}

func (r *Recorder) step(name string) error {
	if r.testingOnlyStep == nil {
		return nil
	}
	return r.testingOnlyStep(name)
}

// ownSize returns the size of the own log.
func (r *Recorder) ownSize(ctx context.Context) uint64 { return r.size(ctx, r.cfg.Org) }

func (r *Recorder) size(ctx context.Context, d did.DID) uint64 {
	l, err := r.cfg.Events.Log(ctx, d)
	if err != nil {
		return 0
	}
	h, _ := l.Head()
	return h.Size
}

var _ attestation.Store = (*store.Events)(nil)
