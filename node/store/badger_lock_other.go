//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package store

// lockDir leaves the lock to Badger, whose refusal is then no ErrLocked.
func lockDir(string) (unlock func() error, err error) {
	return func() error { return nil }, nil
}
