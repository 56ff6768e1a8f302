package federationtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"trustnode/federation"
)

func frames(p *place) {
	ns := p.mutual(2)
	for _, proto := range federation.Protocols() {
		lim, _ := federation.LimitsOf(proto)
		full := bytes.Repeat([]byte("0123456789abcdef"), lim.Frame/16)
		for _, b := range [][]byte{[]byte("{}"), full} {
			got, err := ns[0].exchange(ns[1], proto, b)
			if err != nil || !bytes.Equal(got, b) {
				p.t.Errorf("%s, %d bytes: got %d bytes back, %v", proto, len(b), len(got), err)
			}
		}
	}
}

// timedOut reports whether err is that of a deadline.
func timedOut(err error) bool {
	var n net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

func deadlines(p *place) {
	ns := p.mutual(2)
	ns[1].serving(func(ctx context.Context, v served) { <-ctx.Done() })
	s, err := ns[0].Open(p.t.Context(), ns[1].peer.ID, federation.ProtocolSync)
	if err != nil {
		p.t.Fatal(err)
	}
	defer s.Reset()
	if _, err := s.Write([]byte("x")); err != nil {
		p.t.Fatal(err)
	}
	if err := s.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		p.t.Fatal(err)
	}
	if _, err := s.Read(make([]byte, 1)); !timedOut(err) {
		p.t.Errorf("Read past its deadline: %v", err)
	}
}

func manyStreams(p *place) {
	ns := p.mutual(3)
	var wg sync.WaitGroup
	for i := range 96 {
		wg.Go(func() {
			want := bytes.Repeat(fmt.Appendf(nil, "stream %d;", i), 1+i*50)
			got, err := ns[1+i%2].exchange(ns[0], federation.ProtocolLend, want)
			if err != nil || !bytes.Equal(got, want) {
				p.t.Errorf("stream %d: %d of %d bytes, %v", i, len(got), len(want), err)
			}
		})
	}
	wg.Wait()
}

func tooManyStreams(p *place) {
	ns := p.mutual(2)
	lim, _ := federation.LimitsOf(federation.ProtocolSync)
	var open []*federation.Frames
	for i := range lim.Streams + 1 {
		s, err := ns[0].Open(p.t.Context(), ns[1].peer.ID, federation.ProtocolSync)
		if err != nil {
			p.t.Fatal(err)
		}
		defer s.Reset()
		f := federation.NewFrames(s, federation.ProtocolSync)
		err = f.Write([]byte("{}"))
		if err == nil {
			_, err = f.Read()
		}
		if over := i == lim.Streams; (err != nil) != over {
			p.t.Errorf("stream %d of %d: %v", i+1, lim.Streams, err)
		}
		open = append(open, f)
	}
	if err := open[0].CloseWrite(); err != nil {
		p.t.Fatal(err)
	}
	eventually(p.t, "a free slot", func() bool {
		got, err := ns[0].exchange(ns[1], federation.ProtocolSync, []byte("{}"))
		return err == nil && string(got) == "{}"
	})
}

// flood writes b again and again, 64 MiB in all, which no window holds, until the
// other side has had enough.
func flood(s federation.Stream, b []byte) error {
	b = bytes.Repeat(b, 1+(64<<10)/len(b))
	for range 1 << 10 {
		if err := s.SetWriteDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return err
		}
		if _, err := s.Write(b); err != nil {
			return err
		}
	}
	return nil
}

func badStreams(p *place) {
	ns := p.mutual(3)
	seen := make(chan error, 8)
	ns[1].serving(func(_ context.Context, v served) {
		f := federation.NewFrames(v.s, v.proto)
		for {
			if _, err := f.Read(); err != nil {
				if v.from == ns[0].peer.ID {
					seen <- err
				}
				return
			}
			if f.Write([]byte("{}")) != nil {
				return
			}
		}
	})
	for _, c := range []struct {
		name  string
		proto federation.Protocol
		sends []byte
		want  error
	}{
		{"bytes that are no length", federation.ProtocolSync, bytes.Repeat([]byte{0xff}, 4096), federation.ErrFrame},
		{"zeros", federation.ProtocolWitness, make([]byte, 4096), federation.ErrFrame},
		{"a frame longer than the cap", federation.ProtocolLend, binary.AppendUvarint(nil, 1<<20+1), federation.ErrTooLarge},
		{"a frame longer than memory", federation.ProtocolHello, binary.AppendUvarint(nil, 1<<62), federation.ErrTooLarge},
		{"small frames without end", federation.ProtocolHello, bytes.Repeat(federation.AppendFrame(nil, []byte("{}")), 1000), federation.ErrTooLarge},
	} {
		s, err := ns[0].Open(p.t.Context(), ns[1].peer.ID, c.proto)
		if err != nil {
			p.t.Fatalf("%s: %v", c.name, err)
		}
		go func() { // the answers, so that nobody waits for room
			for b := make([]byte, 4096); ; {
				if _, err := s.Read(b); err != nil {
					return
				}
			}
		}()
		if err := flood(s, c.sends); err == nil {
			p.t.Errorf("%s: was never cut", c.name)
		} else if timedOut(err) {
			p.t.Errorf("%s: was left waiting instead of cut", c.name)
		}
		if err := <-seen; !errors.Is(err, c.want) {
			p.t.Errorf("%s: the reader says %v, want %v", c.name, err, c.want)
		}
		_ = s.Reset()
	}
	if got, err := ns[2].exchange(ns[1], federation.ProtocolSync, []byte("{}")); err != nil {
		p.t.Errorf("an honest peer meanwhile: %q, %v", got, err)
	}
}

func silentStream(p *place) {
	ns := p.mutual(2)
	seen := make(chan error, 1)
	ns[1].serving(func(_ context.Context, v served) {
		f := federation.NewFrames(v.s, v.proto)
		_, err := f.Read()
		if err == nil {
			_, err = f.Read() // one frame came, and then nothing
		}
		seen <- err
	})
	s, err := ns[0].Open(p.t.Context(), ns[1].peer.ID, federation.ProtocolSync)
	if err != nil {
		p.t.Fatal(err)
	}
	defer s.Reset()
	if _, err := s.Write(federation.AppendFrame(nil, []byte("{}"))); err != nil {
		p.t.Fatal(err)
	}
	if err := <-seen; !timedOut(err) {
		p.t.Errorf("reading from a silent peer: %v, want a timeout", err)
	}
	if err := s.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		p.t.Fatal(err)
	}
	if _, err := s.Read(make([]byte, 1)); err == nil || timedOut(err) {
		p.t.Errorf("the silent peer sees %v, want the end of the stream", err)
	}
}
