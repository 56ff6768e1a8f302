package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

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
// when the process ends, however it ends.
type lock struct{ f *os.File }

// acquire takes the lock, or returns a refusal that names the holder (ErrLocked).
func acquire(dir string) (*lock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder := holder(f)
		f.Close()
		return nil, &lockedError{fault.New(fault.Conflict, "locked", "process %s holds %s", holder, dir).WithHint("trustnode status --data %s speaks to it", dir)}
	}
	if err := f.Truncate(0); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := fmt.Fprintf(f, "%d\n", os.Getpid()); err != nil {
		f.Close()
		return nil, err
	}
	return &lock{f}, nil
}

// lockedError is a refusal that errors.Is(err, ErrLocked) finds.
type lockedError struct{ denied *fault.Denied }

func (e *lockedError) Error() string   { return e.denied.Error() }
func (e *lockedError) Unwrap() []error { return []error{ErrLocked, e.denied} }

func holder(f *os.File) string {
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 0)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n]))); err == nil {
		return strconv.Itoa(pid)
	}
	return "unknown"
}

func (l *lock) release() error { return l.f.Close() }

// Held says whether some process has the directory open now.
func Held(dir string) bool {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		return true
	}
	return false
}
