// Package vault answers: how does a node's data leave its machine whole, and how does one
// know, before anything is put back, that it is what left?
//
// A backup is one file, format 1:
//
//	"trustnode backup 1\n"
//	a zstd stream (RFC 8878) of frames: kind 1 byte, length uvarint, payload
//	SHA-256 of all bytes before, 32 bytes
//
// The first frame is the head (canonical JSON), then come parts: their name, their bytes in pieces,
// their SHA-256. The last frame is the manifest (likewise): name, size and SHA-256 of every
// part. Whatever byte is changed, missing or added, [Verify] refuses the file.
//
// The package knows nothing of what the parts hold. It encrypts nothing: whoever keeps the
// file keeps what the parts hold.
package vault

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"

	"trustnode/did/envelope"
)

const magic = "trustnode backup 1\n"

// The kinds of frames, append-only.
const (
	frameHead     = 'h'
	framePart     = 'p' // name of the part that begins
	frameData     = 'd'
	frameEnd      = 'e' // SHA-256 of the part that ends
	frameManifest = 'm'
)

// ErrAltered is wrapped by the error for a file that is no backup, or not as it was written.
var ErrAltered = errors.New("the backup is not as it was written")

// Head says what a backup is of.
type Head struct {
	At      string `json:"at"`   // RFC 3339, UTC
	Logs    []Log  `json:"logs"` // every log held, by DID
	Mark    uint64 `json:"mark"` // last outbox number in the own log
	Org     string `json:"org"`  // DID
	Version string `json:"version"`
}

// Log is where one log stands.
type Log struct {
	Org  string `json:"org"` // DID
	Size uint64 `json:"size"`
}

// Part is one part as the manifest names it.
type Part struct {
	Bytes  uint64 `json:"bytes"`
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

type manifest struct {
	Parts []Part `json:"parts"`
}

// Writer writes a backup. It is used by one goroutine.
type Writer struct {
	out   io.Writer // beneath sum
	sum   hash.Hash
	z     *zstd.Encoder
	buf   *bufio.Writer
	parts []Part
}

// NewWriter begins a backup.
func NewWriter(w io.Writer, h Head) (*Writer, error) {
	v := &Writer{out: w, sum: sha256.New()}
	both := io.MultiWriter(w, v.sum)
	if _, err := io.WriteString(both, magic); err != nil {
		return nil, err
	}
	z, err := zstd.NewWriter(both, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	v.z, v.buf = z, bufio.NewWriterSize(z, piece)
	b, err := envelope.Marshal(h)
	if err != nil {
		return nil, err
	}
	return v, v.frame(frameHead, b)
}

func (v *Writer) frame(kind byte, b []byte) error {
	head := binary.AppendUvarint([]byte{kind}, uint64(len(b)))
	if _, err := v.buf.Write(head); err != nil {
		return err
	}
	_, err := v.buf.Write(b)
	return err
}

// Part writes one part: what fill writes. Names are 1 to MaxName bytes and come once.
func (v *Writer) Part(name string, fill func(io.Writer) error) error {
	if name == "" || len(name) > MaxName {
		return fmt.Errorf("part name of %d bytes", len(name))
	}
	if err := v.frame(framePart, []byte(name)); err != nil {
		return err
	}
	p := &partWriter{v: v, sum: sha256.New()}
	w := bufio.NewWriterSize(p, piece)
	if err := fill(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	sum := p.sum.Sum(nil)
	v.parts = append(v.parts, Part{p.n, name, hex.EncodeToString(sum)})
	return v.frame(frameEnd, sum)
}

type partWriter struct {
	v   *Writer
	sum hash.Hash
	n   uint64
}

func (p *partWriter) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), piece)
		if err := p.v.frame(frameData, rest[:n]); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	p.sum.Write(b)
	p.n += uint64(len(b))
	return len(b), nil
}

// Close writes manifest and trailer. A backup that was not closed does not verify.
func (v *Writer) Close() error {
	b, err := envelope.Marshal(manifest{v.parts})
	if err != nil {
		return err
	}
	if err := errors.Join(v.frame(frameManifest, b), v.buf.Flush(), v.z.Close()); err != nil {
		return err
	}
	_, err = v.out.Write(v.sum.Sum(nil))
	return err
}

// Verify reads a whole backup, to its last byte, and returns what its head and manifest
// say, or an error that wraps ErrAltered. progress is told how many bytes were read of all.
func Verify(f io.ReadSeeker, progress func(done, total uint64)) (Head, []Part, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return Head{}, nil, err
	}
	if err := trailer(f, size, progress); err != nil {
		return Head{}, nil, err
	}
	return Read(f, func(_ string, r io.Reader) error {
		_, err := io.Copy(io.Discard, r)
		return err
	})
}

// trailer compares the last 32 bytes with the hash of all before.
func trailer(f io.ReadSeeker, size int64, progress func(done, total uint64)) error {
	if size < int64(len(magic)+sha256.Size) {
		return fmt.Errorf("%w: %d bytes are too few", ErrAltered, size)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum, buf := sha256.New(), make([]byte, piece)
	for left := size - sha256.Size; left > 0; {
		n, err := f.Read(buf[:min(int64(len(buf)), left)])
		if err != nil {
			return err
		}
		sum.Write(buf[:n])
		if left -= int64(n); progress != nil {
			progress(uint64(size-left), uint64(size))
		}
	}
	var want [sha256.Size]byte
	if _, err := io.ReadFull(f, want[:]); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), want[:]) {
		return fmt.Errorf("%w: its bytes do not hash to its last 32: it was cut short, or altered", ErrAltered)
	}
	return nil
}

// Read calls part for each part in order, and returns what head and manifest say. A part
// that part does not read to its end is read over. The hash of each part is compared when
// it ends, and all with the manifest: after an error nothing that was read is to be used.
func Read(f io.ReadSeeker, part func(name string, r io.Reader) error) (Head, []Part, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return Head{}, nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Head{}, nil, err
	}
	body := io.LimitReader(f, size-sha256.Size)
	begin := make([]byte, len(magic))
	if _, err := io.ReadFull(body, begin); err != nil || string(begin) != magic {
		return Head{}, nil, fmt.Errorf("%w: it does not begin as one", ErrAltered)
	}
	z, err := zstd.NewReader(body, zstd.WithDecoderMaxWindow(2*window), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return Head{}, nil, err
	}
	defer z.Close()
	r := &reader{in: bufio.NewReaderSize(z, piece)}
	return r.all(part)
}

// reader reads frames.
type reader struct {
	in    *bufio.Reader
	parts []Part
}

func altered(what string, err error) error { return fmt.Errorf("%w: %s (%v)", ErrAltered, what, err) }

// next reads the head of a frame.
func (r *reader) next() (kind byte, n uint64, err error) {
	if kind, err = r.in.ReadByte(); err != nil {
		return 0, 0, altered("a frame is missing", err)
	}
	n, err = binary.ReadUvarint(r.in)
	if err != nil || n > piece {
		return 0, 0, altered("a frame is too long", err)
	}
	return kind, n, nil
}

func (r *reader) payload(n uint64) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(r.in, b); err != nil {
		return nil, altered("a frame is cut short", err)
	}
	return b, nil
}

func (r *reader) all(part func(string, io.Reader) error) (h Head, parts []Part, err error) {
	for first := true; ; first = false {
		kind, n, err := r.next()
		if err != nil {
			return Head{}, nil, err
		}
		if first != (kind == frameHead) {
			return Head{}, nil, altered("frames are not in order", nil)
		}
		b, err := r.payload(n)
		if err != nil {
			return Head{}, nil, err
		}
		switch kind {
		case frameHead:
			if err := envelope.Unmarshal(b, &h); err != nil {
				return Head{}, nil, altered("the head does not read", err)
			}
		case framePart:
			if err := r.part(string(b), part); err != nil {
				return Head{}, nil, err
			}
		case frameManifest:
			return h, r.parts, r.manifest(b)
		default:
			return Head{}, nil, altered("a frame of no known kind", nil)
		}
	}
}

// part hands one part on and compares its hash.
func (r *reader) part(name string, part func(string, io.Reader) error) error {
	p := &partReader{r: r, sum: sha256.New()}
	if err := part(name, p); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, p); err != nil {
		return err
	}
	if !bytes.Equal(p.sum.Sum(nil), p.want) {
		return altered("part "+name+" does not hash to its sum", nil)
	}
	r.parts = append(r.parts, Part{p.bytes, name, hex.EncodeToString(p.want)})
	return nil
}

func (r *reader) manifest(b []byte) error {
	var m manifest
	if err := envelope.Unmarshal(b, &m); err != nil {
		return altered("the manifest does not read", err)
	}
	if len(m.Parts) != len(r.parts) {
		return altered(fmt.Sprintf("%d parts, the manifest names %d", len(r.parts), len(m.Parts)), nil)
	}
	seen := map[string]bool{}
	for i, p := range m.Parts {
		if p != r.parts[i] || seen[p.Name] {
			return altered("part "+p.Name+" is not the one of the manifest", nil)
		}
		seen[p.Name] = true
	}
	if _, err := r.in.ReadByte(); err != io.EOF {
		return altered("bytes follow the manifest", err)
	}
	return nil
}

// partReader reads the data frames of one part.
type partReader struct {
	r     *reader
	sum   hash.Hash
	left  uint64 // of the frame under way
	bytes uint64
	want  []byte // once the part has ended
}

func (p *partReader) Read(b []byte) (int, error) {
	for p.left == 0 {
		if p.want != nil {
			return 0, io.EOF
		}
		kind, n, err := p.r.next()
		switch {
		case err != nil:
			return 0, err
		case kind == frameData:
			p.left = n
		case kind == frameEnd && n == sha256.Size:
			if p.want, err = p.r.payload(n); err != nil {
				return 0, err
			}
		default:
			return 0, altered("a part does not end", nil)
		}
	}
	n, err := p.r.in.Read(b[:min(uint64(len(b)), p.left)])
	p.sum.Write(b[:n])
	p.left, p.bytes = p.left-uint64(n), p.bytes+uint64(n)
	if err != nil {
		return n, altered("a frame is cut short", err)
	}
	return n, nil
}
