package mcp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lineTransport is a transport of one message a line, each read strictly. A line that is no message
// is answered and left; the ones after it are read.
type lineTransport struct {
	in  io.Reader
	out io.Writer
}

// Connect implements mcp.Transport.
func (t lineTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &lineConn{out: t.out, in: make(chan line), done: make(chan struct{})}
	// Reading standard input cannot be interrupted, so it has a goroutine, which ends with
	// the input or at the first line after Close.
	go c.read(bufio.NewReaderSize(t.in, 64<<10))
	return c, nil
}

type line struct {
	b   []byte
	err error
}

type lineConn struct {
	in   chan line
	done chan struct{}
	once sync.Once

	mu  sync.Mutex
	out io.Writer // guarded by mu
}

func (c *lineConn) read(r *bufio.Reader) {
	for {
		b, err := readLine(r)
		select {
		case c.in <- line{b, err}:
		case <-c.done:
			return
		}
		if err != nil && !errors.Is(err, errLong) {
			return
		}
	}
}

var errLong = errors.New("line is too long")

// readLine reads a line without its end, or errLong after it has passed over one of more
// than MaxMessage bytes. The last line may lack its end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var b []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(b)+len(part) > MaxMessage+1; !long {
			b = append(b, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == io.EOF && len(b) > 0 && !long:
			return b, nil
		case err != nil:
			return nil, err
		case long:
			return nil, errLong
		}
		return b, nil
	}
}

// Read implements mcp.Connection.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.done:
			return nil, io.EOF
		case l := <-c.in:
			m, err := l.message()
			switch {
			case err == nil && m != nil:
				return m, nil
			case err == nil:
				continue // an empty line
			case l.err != nil && !errors.Is(l.err, errLong):
				return nil, l.err
			}
			if err := c.write(messageError(err)); err != nil {
				return nil, err
			}
		}
	}
}

func (l line) message() (jsonrpc.Message, error) {
	if errors.Is(l.err, errLong) {
		return nil, tooLarge()
	}
	if l.err != nil {
		return nil, l.err
	}
	if blank(l.b) {
		return nil, nil
	}
	if err := checkMessage(l.b); err != nil {
		return nil, err
	}
	m, err := jsonrpc.DecodeMessage(l.b)
	if err != nil {
		return nil, notRPC()
	}
	return m, nil
}

// Write implements mcp.Connection.
func (c *lineConn) Write(_ context.Context, m jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return c.write(b)
}

func (c *lineConn) write(b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(append(b, '\n'))
	return err
}

// Close implements mcp.Connection.
func (c *lineConn) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}

// SessionID implements mcp.Connection.
func (c *lineConn) SessionID() string { return "" }
