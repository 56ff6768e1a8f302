package federation_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "trustnode/federation"
)

func TestReadFrame(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []byte
		want string
		err  error
	}{
		{"a frame", AppendFrame(nil, []byte("{}")), "{}", nil},
		{"a frame at the cap", AppendFrame(nil, bytes.Repeat([]byte("x"), 300)), string(bytes.Repeat([]byte("x"), 300)), nil},
		{"nothing", nil, "", io.EOF},
		{"an empty frame", []byte{0}, "", ErrFrame},
		{"one byte over the cap", AppendFrame(nil, make([]byte, 301)), "", ErrTooLarge},
		{"a length of 2^63", binary.AppendUvarint(nil, 1<<63), "", ErrTooLarge},
		{"the greatest length", binary.AppendUvarint(nil, 1<<64-1), "", ErrTooLarge},
		{"a length over 64 bits", []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02}, "", ErrFrame},
		{"a length that never ends", bytes.Repeat([]byte{0xff}, 100), "", ErrFrame},
		{"2 spelled with two bytes", []byte{0x82, 0x00, '{', '}'}, "", ErrFrame},
		{"a length cut", []byte{0x80}, "", io.ErrUnexpectedEOF},
		{"a body that never begins", []byte{2}, "", io.ErrUnexpectedEOF},
		{"a body cut", []byte{2, '{'}, "", io.ErrUnexpectedEOF},
	} {
		got, err := ReadFrame(bufio.NewReader(bytes.NewReader(c.in)), 300)
		if string(got) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v, want %q, %v", c.name, got, err, c.want, c.err)
		}
	}
}

func TestFrameCostsWhatCame(t *testing.T) {
	claim := append(binary.AppendUvarint(nil, 1<<30), make([]byte, 100)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 16 {
		if _, err := ReadFrame(bufio.NewReader(bytes.NewReader(claim)), 1<<30); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
		t.Errorf("16 claims of 1 GiB cost %d bytes", got)
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{}, 10)
	f.Add(AppendFrame(nil, []byte(`{"end":true,"more":false}`)), 100)
	f.Add(AppendFrame(AppendFrame(nil, []byte("a")), bytes.Repeat([]byte("b"), 200)), 1000)
	f.Add([]byte{0x80, 0x00}, 10)
	f.Add(bytes.Repeat([]byte{0xff}, 11), 1<<30)
	f.Fuzz(func(t *testing.T, in []byte, max int) {
		if max < 0 {
			return
		}
		r := bufio.NewReader(bytes.NewReader(in))
		var again []byte
		for {
			b, err := ReadFrame(r, max)
			if err != nil {
				break
			}
			if len(b) == 0 || len(b) > max {
				t.Fatalf("frame of %d bytes, cap %d", len(b), max)
			}
			again = AppendFrame(again, b)
		}
		if !bytes.HasPrefix(in, again) {
			t.Fatalf("frames written again are % x, read from % x", again, in)
		}
	})
}

// conn makes a net.Conn a Stream: enough for one side that reads or writes.
type conn struct{ net.Conn }

func (c conn) CloseWrite() error { return c.Close() }
func (c conn) Reset() error      { return c.Close() }

func pipe() (Stream, net.Conn) {
	a, b := net.Pipe()
	return conn{a}, b
}

func TestFramesTimeLimits(t *testing.T) {
	lim := Limits{Frame: 1 << 20, Idle: 10 * time.Second}
	lived := lim
	lived.Life = 15 * time.Second
	for _, c := range []struct {
		name string
		lim  Limits
		peer func(net.Conn) // what the other side does
		want time.Duration  // when the reader gives up
	}{
		{"a peer that says nothing", lim, func(net.Conn) {}, 10 * time.Second},
		{"a peer that stops inside the length", lim, func(p net.Conn) { p.Write([]byte{0x80}) }, 10 * time.Second},
		{"a peer that claims a frame of 640 KiB and sends none of it", lim, func(p net.Conn) {
			p.Write(binary.AppendUvarint(nil, 640<<10))
		}, 10 * time.Second},
		{"a peer that stops inside a frame of 640 KiB", lim, func(p net.Conn) {
			p.Write(binary.AppendUvarint(nil, 640<<10))
			time.Sleep(3 * time.Second)
			p.Write(make([]byte, 64<<10))
		}, 13 * time.Second},
		{"a peer that drips a frame of 640 KiB", lim, func(p net.Conn) {
			p.Write(binary.AppendUvarint(nil, 640<<10))
			for {
				if _, err := p.Write([]byte{'x'}); err != nil {
					return
				}
				time.Sleep(3 * time.Second)
			}
		}, 20 * time.Second},
		{"a peer that drips bytes", lim, func(p net.Conn) {
			p.Write([]byte{100})
			for {
				time.Sleep(time.Second)
				if _, err := p.Write([]byte{'x'}); err != nil {
					return
				}
			}
		}, 10*time.Second + 100*time.Second/(64<<10)},
		{"a peer that sends small frames without end", lived, func(p net.Conn) {
			for {
				if _, err := p.Write([]byte{1, 'x'}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}, 15 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, p := pipe()
				defer p.Close()
				begin := time.Now()
				f := NewTestFrames(s, c.lim)
				var peer sync.WaitGroup
				peer.Go(func() { c.peer(p) })
				var err error
				for err == nil {
					_, err = f.Read()
				}
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("reader ends with %v", err)
				}
				if got := time.Since(begin); got != c.want {
					t.Errorf("gave up after %v, want %v", got, c.want)
				}
				if _, err := p.Write([]byte("more")); err == nil {
					t.Error("the stream was not reset")
				}
				peer.Wait()
			})
		})
	}
}

func TestFramesWriteLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := pipe()
		defer p.Close()
		f := NewFrames(s, ProtocolHello)
		for _, c := range []struct {
			name string
			b    []byte
			want error
		}{
			{"nothing", nil, ErrFrame},
			{"over the cap", make([]byte, 4<<10+1), ErrTooLarge},
			{"to a peer that does not read", []byte("{}"), os.ErrDeadlineExceeded},
		} {
			if err := f.Write(c.b); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
		}
		if err := NewFrames(s, "/other/1").Write([]byte("{}")); !errors.Is(err, ErrFrame) {
			t.Errorf("protocol without limits: %v", err)
		}
		if _, err := NewFrames(s, "/other/1").Read(); !errors.Is(err, ErrFrame) {
			t.Errorf("protocol without limits: %v", err)
		}
	})
}

func FuzzHello(f *testing.F) {
	f.Add([]byte(golden(f)["hello"]))
	f.Fuzz(func(t *testing.T, in []byte) {
		h, err := ParseHello(in)
		if err != nil {
			return
		}
		if out, err := h.Encode(); err != nil || !bytes.Equal(out, in) {
			t.Fatalf("%q is written again as %q, %v", in, out, err)
		}
	})
}
