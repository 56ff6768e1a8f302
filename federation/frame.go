package federation

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrFrame: bytes are not a frame: a length that is zero, not minimal or over 64 bits.
var ErrFrame = errors.New("malformed frame")

// AppendFrame appends the frame of b to dst: the length of b as an unsigned
// varint, then b.
func AppendFrame(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// readLength reads the length of a frame of at most max bytes: io.EOF where r
// ends before it, io.ErrUnexpectedEOF inside it, ErrTooLarge, ErrFrame.
func readLength(r io.ByteReader, max int) (int, error) {
	var n uint64
	for i := 0; ; i++ {
		c, err := r.ReadByte()
		if err != nil {
			if i > 0 && err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		if i == 9 && c > 1 {
			return 0, ErrFrame
		}
		n |= uint64(c&0x7f) << (7 * i)
		if c >= 0x80 {
			continue
		}
		if c == 0 { // zero length, or a longer spelling of a shorter one
			return 0, ErrFrame
		}
		break
	}
	if n > uint64(max) {
		return 0, fmt.Errorf("frame of %d bytes, cap %d: %w", n, max, ErrTooLarge)
	}
	return int(n), nil
}

// readBody reads the n bytes of a frame, and calls wait before each read. Memory
// grows with the bytes that came, not with the length claimed.
func readBody(r io.Reader, n int, wait func() error) ([]byte, error) {
	b := make([]byte, 0, min(n, chunk))
	for len(b) < n {
		if len(b) == cap(b) {
			b = append(make([]byte, 0, min(n, 2*len(b))), b...)
		}
		if err := wait(); err != nil {
			return nil, err
		}
		m, err := r.Read(b[len(b):cap(b)])
		if b = b[:len(b)+m]; err != nil && len(b) < n {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return b, nil
}

// Frames reads and writes the frames of one stream within the limits of its
// protocol. Every read and write has a deadline: a frame must begin within Idle,
// must keep a rate of 64 KiB/s and never pause for Idle once begun, and nothing
// outlasts Life. It is safe for one reader and one writer at once.
type Frames struct {
	s     Stream
	r     *bufio.Reader
	lim   Limits
	end   time.Time // zero: no end
	total int       // owned by the reader
}

// NewFrames returns the frames of s under the limits of p. An unknown protocol
// has no limits to hold to: every call then fails with ErrFrame.
func NewFrames(s Stream, p Protocol) *Frames {
	lim, _ := LimitsOf(p)
	return newFrames(s, lim)
}

func newFrames(s Stream, lim Limits) *Frames {
	f := &Frames{s: s, r: bufio.NewReaderSize(s, 4<<10), lim: lim}
	if lim.Life > 0 {
		f.end = time.Now().Add(lim.Life)
	}
	return f
}

// Read returns the next frame: io.EOF where the stream ends between frames,
// io.ErrUnexpectedEOF where it ends inside one, ErrTooLarge for a length over the
// cap of the protocol before anything is allocated, and where the sum of frames
// is over its total, ErrFrame for a length that is not one; else the stream's.
// After any error but io.EOF the stream is reset, so that a peer that sends
// garbage, too much or nothing is cut at once and cannot go on sending.
func (f *Frames) Read() ([]byte, error) {
	b, err := f.read()
	if err != nil && err != io.EOF {
		_ = f.s.Reset()
	}
	return b, err
}

func (f *Frames) read() ([]byte, error) {
	if f.lim.Frame == 0 {
		return nil, ErrFrame
	}
	if err := f.s.SetReadDeadline(f.deadline(0)); err != nil {
		return nil, err
	}
	n, err := readLength(f.r, f.lim.Frame)
	if err != nil {
		return nil, err
	}
	if f.total += n; f.lim.Total > 0 && f.total > f.lim.Total {
		return nil, fmt.Errorf("stream of more than %d bytes: %w", f.lim.Total, ErrTooLarge)
	}
	// The rate alone would let a peer that claims a large frame and sends no more of
	// it hold the stream for as long as the whole frame may take.
	whole := f.deadline(n)
	return readBody(f.r, n, func() error {
		pause := f.deadline(0)
		if pause.After(whole) {
			pause = whole
		}
		return f.s.SetReadDeadline(pause)
	})
}

// Write sends b as one frame: ErrTooLarge over the cap of the protocol, ErrFrame
// if b is empty.
func (f *Frames) Write(b []byte) error {
	switch {
	case f.lim.Frame == 0 || len(b) == 0:
		return ErrFrame
	case len(b) > f.lim.Frame:
		return fmt.Errorf("frame of %d bytes, cap %d: %w", len(b), f.lim.Frame, ErrTooLarge)
	}
	if err := f.s.SetWriteDeadline(f.deadline(len(b))); err != nil {
		return err
	}
	_, err := f.s.Write(AppendFrame(make([]byte, 0, len(b)+binary.MaxVarintLen32), b))
	return err
}

// CloseWrite says that no more frames will be written.
func (f *Frames) CloseWrite() error { return f.s.CloseWrite() }

// deadline is when a transfer of n bytes that begins now must be over. The clock
// is the one stream deadlines are compared with.
func (f *Frames) deadline(n int) time.Time {
	d := time.Now().Add(f.lim.Idle + time.Duration(n)*time.Second/slowest)
	if !f.end.IsZero() && d.After(f.end) {
		return f.end
	}
	return d
}
