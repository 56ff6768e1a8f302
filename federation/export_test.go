package federation

import "bufio"

// NewTestFrames gives tests limits of their own.
func NewTestFrames(s Stream, lim Limits) *Frames { return newFrames(s, lim) }

// ReadFrame reads one frame of at most max bytes, as Frames does without its
// deadlines.
func ReadFrame(r *bufio.Reader, max int) ([]byte, error) {
	n, err := readLength(r, max)
	if err != nil {
		return nil, err
	}
	return readBody(r, n, func() error { return nil })
}
