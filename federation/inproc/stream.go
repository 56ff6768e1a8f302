package inproc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"trustnode/federation"
)

// errReset is what both ends of a stream see after it was given up.
var errReset = errors.New("stream reset")

// Open implements federation.Transport.
func (t *Transport) Open(ctx context.Context, to federation.PeerID, p federation.Protocol) (federation.Stream, error) {
	if !p.Known() {
		return nil, fmt.Errorf("protocol %q is unknown", p)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n := t.net
	n.mu.Lock()
	defer n.mu.Unlock()
	o := n.nodes[to]
	switch {
	case t.run == nil || t.run.ctx.Err() != nil:
		return nil, federation.ErrStopped
	case o == nil || !(n.linked(t, o) || p.Open() && n.linked(o, t)):
		return nil, fmt.Errorf("%s: %w", to, federation.ErrUnreachable)
	}
	s := newPipe(t, o)
	if !o.accept(s, p) {
		s.reset() // as over libp2p: the opener learns it when it reads
		return s.ends[0], nil
	}
	n.pipes[s] = struct{}{}
	s.stall(n)
	return s.ends[0], nil
}

// accept starts serving s, or reports that it may not be opened here.
func (t *Transport) accept(s *pipe, p federation.Protocol) bool {
	r, from := t.run, s.dir.from
	admitted := t.admitted[from]
	if !admitted && (!p.Open() || r.lobby[from] == 0 && len(r.lobby) >= federation.LobbySlots) {
		return false
	}
	release, ok := r.slots.Take(from, p)
	if !ok {
		return false
	}
	if !admitted {
		r.lobby[from]++
	}
	delay := t.net.fault(s.dir).delay
	r.wg.Go(func() {
		defer release()
		if sleep(r.ctx, delay) == nil {
			r.h.Serve(r.ctx, from, p, s.ends[1])
		}
		_ = s.ends[1].Close()
		t.left(from, admitted)
	})
	return true
}

// left gives back what a stream took of the lobby.
func (t *Transport) left(from federation.PeerID, admitted bool) {
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	if r := t.run; r != nil && !admitted {
		if r.lobby[from]--; r.lobby[from] <= 0 {
			delete(r.lobby, from)
		}
	}
}

// pipe is a stream: two halves, each with the end that reads and the end that writes.
type pipe struct {
	dir      pair // opener, other
	from, to *Transport
	ends     [2]*end // of the opener, of the other
	open     atomic.Int32
}

func newPipe(from, to *Transport) *pipe {
	s := &pipe{dir: pair{from.id, to.id}, from: from, to: to}
	there := &half{dir: s.dir, changed: make(chan struct{})}
	back := &half{dir: s.dir.back(), changed: make(chan struct{})}
	s.open.Store(2)
	s.ends = [2]*end{{pipe: s, r: back, w: there}, {pipe: s, r: there, w: back}}
	return s
}

func (s *pipe) reset() {
	s.ends[0].r.fail()
	s.ends[0].w.fail()
}

// stall holds bytes back in a direction that is mute. The network is locked.
func (s *pipe) stall(n *Network) {
	for _, h := range []*half{s.ends[0].r, s.ends[0].w} {
		f := n.fault(h.dir)
		h.update(func() { h.stalled, h.delay = f.mute, f.delay })
	}
}

// end is one end of a pipe: a federation.Stream.
type end struct {
	pipe   *pipe
	r, w   *half
	closed atomic.Bool
}

var _ federation.Stream = (*end)(nil)

func (e *end) Read(b []byte) (int, error)         { return e.r.read(b) }
func (e *end) Write(b []byte) (int, error)        { return e.w.write(b) }
func (e *end) SetReadDeadline(t time.Time) error  { e.r.update(func() { e.r.readBy = t }); return nil }
func (e *end) SetWriteDeadline(t time.Time) error { e.w.update(func() { e.w.writeBy = t }); return nil }

func (e *end) SetDeadline(t time.Time) error {
	return errors.Join(e.SetReadDeadline(t), e.SetWriteDeadline(t))
}

func (e *end) CloseWrite() error {
	e.w.update(func() { e.w.ended = true })
	return nil
}

// Close ends both directions: what was written is still read by the other end,
// what the other end writes fails.
func (e *end) Close() error {
	e.r.update(func() { e.r.unread = true })
	e.w.update(func() { e.w.ended = true })
	if e.closed.CompareAndSwap(false, true) && e.pipe.open.Add(-1) == 0 {
		e.pipe.forget()
	}
	return nil
}

func (e *end) Reset() error {
	e.pipe.reset()
	e.pipe.forget()
	return nil
}

// forget takes the pipe out of the network's list; nobody holds its lock here.
func (s *pipe) forget() {
	s.from.net.mu.Lock()
	defer s.from.net.mu.Unlock()
	delete(s.from.net.pipes, s)
}

// half is one direction of a stream.
type half struct {
	dir pair

	mu              sync.Mutex
	changed         chan struct{} // guarded by mu; closed at each change
	chunks          []chunk       // guarded by mu
	size            int           // guarded by mu; bytes in chunks
	ended           bool          // guarded by mu; the writer is done
	unread          bool          // guarded by mu; the reader is gone
	failed          bool          // guarded by mu
	stalled         bool          // guarded by mu; bytes do not come through
	delay           time.Duration // guarded by mu
	readBy, writeBy time.Time     // guarded by mu
}

type chunk struct {
	due time.Time
	b   []byte
}

func (h *half) update(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	h.signal()
}

func (h *half) signal() {
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *half) fail() { h.update(func() { h.failed, h.chunks, h.size = true, nil, 0 }) }

func (h *half) read(b []byte) (int, error) {
	for {
		n, wait, err := h.tryRead(b)
		if wait == nil {
			return n, err
		}
		wait()
	}
}

// tryRead returns what to wait for where nothing can be read yet.
func (h *half) tryRead(b []byte) (n int, wait func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	switch {
	case h.failed:
		return 0, nil, errReset
	case h.unread:
		return 0, nil, io.ErrClosedPipe
	case past(h.readBy, now):
		return 0, nil, os.ErrDeadlineExceeded
	case len(b) == 0:
		return 0, nil, nil
	case h.stalled:
		return 0, h.waiter(h.readBy, time.Time{}), nil
	case len(h.chunks) == 0 && h.ended:
		return 0, nil, io.EOF
	case len(h.chunks) == 0:
		return 0, h.waiter(h.readBy, time.Time{}), nil
	case h.chunks[0].due.After(now):
		return 0, h.waiter(h.readBy, h.chunks[0].due), nil
	}
	c := &h.chunks[0]
	n = copy(b, c.b)
	if c.b = c.b[n:]; len(c.b) == 0 {
		h.chunks = h.chunks[1:]
	}
	h.size -= n
	h.signal()
	return n, nil, nil
}

func (h *half) write(b []byte) (written int, err error) {
	for len(b) > 0 {
		n, wait, err := h.tryWrite(b)
		if err != nil {
			return written, err
		}
		if wait != nil {
			wait()
		}
		b, written = b[n:], written+n
	}
	return written, nil
}

func (h *half) tryWrite(b []byte) (n int, wait func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	switch {
	case h.failed || h.unread:
		return 0, nil, errReset
	case h.ended:
		return 0, nil, io.ErrClosedPipe
	case past(h.writeBy, now):
		return 0, nil, os.ErrDeadlineExceeded
	case h.size >= window:
		return 0, h.waiter(h.writeBy, time.Time{}), nil
	}
	n = min(len(b), window-h.size)
	h.chunks = append(h.chunks, chunk{due: now.Add(h.delay), b: append([]byte(nil), b[:n]...)})
	h.size += n
	h.signal()
	return n, nil, nil
}

func past(t, now time.Time) bool { return !t.IsZero() && !now.Before(t) }

// waiter returns a wait for the next change or the earlier of two instants, of
// which the zero one never comes.
func (h *half) waiter(by, due time.Time) func() {
	changed := h.changed
	if by.IsZero() || !due.IsZero() && due.Before(by) {
		by = due
	}
	return func() {
		if by.IsZero() {
			<-changed
			return
		}
		t := time.NewTimer(time.Until(by))
		defer t.Stop()
		select {
		case <-changed:
		case <-t.C:
		}
	}
}
