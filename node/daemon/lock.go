package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"trustnode/node/fault"
)

// Names inside the data directory.
const (
	TokenFile  = "operator.token"
	lockFile   = "lock"
	pinsFile   = "pins"
	keysDir    = "keys"
	updateDir  = "update-keys" // of the update store where init was given none
	updateFile = "keys/update-store"
	stateDir   = "state"
	auditDir   = "audit"
)

// ErrLocked says that another process has the data directory open.
var ErrLocked = errors.New("data directory is in use")

// lock is held for as long as a process has the directory open; the kernel lets go of it
// when the process ends, however it ends. The file says who holds it: its process id and,
// on a second line while a node runs, where its HTTP server listens.
type lock struct{ f *os.File }

// Holder is the process that has a data directory open.
type Holder struct {
	PID  int    // 0: it has not said so yet
	HTTP string // host:port of the running node; empty: a command, or a node that starts or stops
}

// Times of taking the lock.
const (
	lockPause  = 20 * time.Millisecond
	lockMoment = 200 * time.Millisecond // somebody who only looks holds it for less
)

// acquire takes the lock. A command, and a node that starts or stops, is waited for as
// long as wait says; a running node is not. A refusal names the holder (ErrLocked).
func acquire(ctx context.Context, dir string, wait time.Duration) (*lock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	for syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		h := readHolder(f)
		if past := time.Since(start); past > max(wait, lockMoment) || h.HTTP != "" && past > lockMoment {
			return nil, errors.Join(Locked(dir, h), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-time.After(lockPause):
		}
	}
	l := &lock{f}
	if err := l.say(""); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// say writes down who holds the directory.
func (l *lock) say(http string) error {
	text := fmt.Sprintf("%d\n%s\n", os.Getpid(), http)
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err := l.f.WriteAt([]byte(text), 0)
	return err
}

func (l *lock) release() error { return l.f.Close() }

// Locked is the refusal of a directory that another process has open; errors.Is finds
// ErrLocked in it.
func Locked(dir string, h Holder) error {
	who := "another process"
	if h.PID != 0 {
		who = fmt.Sprintf("process %d", h.PID)
	}
	d := fault.New(fault.Conflict, "locked", "%s has %s open", who, dir)
	if h.HTTP != "" {
		return &lockedError{d.WithHint("a node runs there; speak to it: trustnode status --data %s", dir)}
	}
	return &lockedError{d.WithHint("wait until it ends and run the same command again")}
}

// lockedError is a refusal that errors.Is(err, ErrLocked) finds.
type lockedError struct{ denied *fault.Denied }

func (e *lockedError) Error() string   { return e.denied.Error() }
func (e *lockedError) Unwrap() []error { return []error{ErrLocked, e.denied} }

// maxHolder is more than a process id and an address take, in bytes.
const maxHolder = 512

func readHolder(f *os.File) Holder {
	b := make([]byte, maxHolder)
	n, _ := f.ReadAt(b, 0)
	first, rest, _ := strings.Cut(string(b[:n]), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil || pid < 1 {
		return Holder{}
	}
	h := Holder{PID: pid}
	if addr, _, whole := strings.Cut(rest, "\n"); whole {
		h.HTTP = addr
	}
	return h
}

// Held says whether some process has the directory open now, and who.
func Held(dir string) (Holder, bool) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR, 0)
	if err != nil {
		return Holder{}, false
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		return readHolder(f), true
	}
	return Holder{}, false
}
