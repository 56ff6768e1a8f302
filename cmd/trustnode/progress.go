package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progressEvery is the time between two lines of progress.
const progressEvery = 500 * time.Millisecond

// openFile opens an input file, or standard input for "-".
func (s *streams) openFile(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(s.in), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, noFile(err)
	}
	return f, nil
}

// progress tells on a terminal how far r was read; anywhere else it is silent.
func progress(s *streams, r io.Reader) io.Reader {
	f, ok := s.err.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return r
	}
	c := &counted{r: r, out: f, next: time.Now().Add(progressEvery)}
	if file, ok := r.(*os.File); ok {
		if st, err := file.Stat(); err == nil {
			c.size = st.Size()
		}
	}
	return c
}

// counted counts what is read through it and rewrites one line of a terminal.
type counted struct {
	r          io.Reader
	out        io.Writer
	read, size int64
	next       time.Time
	shown      bool
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.read += int64(n)
	if now := time.Now(); now.After(c.next) {
		c.next, c.shown = now.Add(progressEvery), true
		if c.size > 0 {
			fmt.Fprintf(c.out, "\r%d of %d KiB (%d %%)", c.read>>10, c.size>>10, c.read*100/c.size)
		} else {
			fmt.Fprintf(c.out, "\r%d KiB", c.read>>10)
		}
	}
	if err != nil && c.shown {
		fmt.Fprintln(c.out)
		c.shown = false
	}
	return n, err
}
