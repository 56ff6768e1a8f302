package self

import (
	"errors"
	"sync"
	"time"
)

// ErrClock says that the wall clock cannot be trusted: it runs behind what this node
// has already committed.
var ErrClock = errors.New("clock is behind what was committed")

// maxBack is how far the wall clock may lag the last moment it showed.
const maxBack = 5 * time.Second

// Clock is trusted time: it never runs backwards, so nothing that expired comes back.
// It is safe for concurrent use.
type Clock struct {
	now func() time.Time

	mu   sync.Mutex
	last time.Time // guarded by mu
}

// NewClock returns a clock over now that never shows less than last.
func NewClock(now func() time.Time, last time.Time) *Clock {
	return &Clock{now: now, last: last}
}

// Now returns the later of the wall clock and the last moment shown, or ErrClock while
// the wall clock is more than 5 s behind that.
func (c *Clock) Now() (time.Time, error) {
	wall := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.Sub(wall) > maxBack {
		return time.Time{}, ErrClock
	}
	if wall.After(c.last) {
		c.last = wall
	}
	return c.last, nil
}

// Behind returns by how much the wall clock lags; zero while it does not.
func (c *Clock) Behind() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, c.last.Sub(c.now()))
}

// Last returns the last moment shown: what is known of the time while the wall clock is
// not to be trusted.
func (c *Clock) Last() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}
