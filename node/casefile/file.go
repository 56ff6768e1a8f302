package casefile

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
)

// line is one line of a file after the header.
type line struct {
	bundle.Line
	n     int       // from 1; the header is line 1
	raw   []byte    // without its newline
	place string    // orders lines of one kind
	leaf  tlog.Hash // of raw
}

// file is a bundle split into lines, each canonical and in its place.
type file struct {
	header bundle.Header
	lines  []line
}

// split reads the lines of a case file. Errors are *Fault, and those of ctx.
func split(ctx context.Context, b []byte) (file, error) {
	head, rest, ok := bytes.Cut(b, []byte("\n"))
	h, err := bundle.ParseHeader(head)
	if !ok || err != nil {
		return file{}, fault(1, "not the header of a bundle")
	}
	f := file{header: h}
	for n := 2; len(rest) > 0 && ok; n++ {
		var raw []byte
		raw, rest, ok = bytes.Cut(rest, []byte("\n"))
		f.lines = append(f.lines, line{n: n, raw: raw})
	}
	errs := make([]error, len(f.lines))
	if err := Parallel(ctx, len(f.lines), func(i int) { errs[i] = f.lines[i].parse() }); err != nil {
		return file{}, err
	}
	for i, l := range f.lines {
		switch {
		case !ok && i == len(f.lines)-1:
			return file{}, fault(l.n, "the last line does not end with a newline")
		case errs[i] != nil:
			return file{}, fault(l.n, "%v", errs[i])
		case i > 0 && compare(f.lines[i-1], l) >= 0:
			return file{}, fault(l.n, "%s is not in its place, or stands twice", l.Kind())
		}
	}
	return f, nil
}

// parse reads the bytes of a line.
func (l *line) parse() (err error) {
	if l.Line, err = bundle.ParseLine(l.raw); err != nil {
		return err
	}
	l.place, l.leaf = place(l.Line), tlog.RecordHash(l.raw)
	return nil
}

// compare is the order in which a bundle is written: by kind, id and bytes.
func compare(a, b line) int {
	return cmp.Or(cmp.Compare(a.Kind(), b.Kind()), cmp.Compare(a.place, b.place), bytes.Compare(a.raw, b.raw))
}

// place is what orders lines of one kind.
func place(l bundle.Line) string {
	switch l := l.(type) {
	case bundle.DIDLog:
		return fmt.Sprintf("%s\x00%020d", l.DID, l.From)
	case bundle.Envelope:
		return string(l.Type) + "\x00" + l.ID().String()
	case bundle.Entry:
		return attestation.Entry(l.Entry).ID().String()
	case bundle.Body:
		return l.ID().String()
	case bundle.Row:
		return fmt.Sprintf("%s\x00%020d", l.Event, l.Index)
	}
	return ""
}

// root commits to every line but the header: the RFC 6962 root over them, without their
// newlines. It is the second id a case file is about.
func (f file) root() envelope.ID {
	leaves := make([]tlog.Hash, len(f.lines))
	for i, l := range f.lines {
		leaves[i] = l.leaf
	}
	return attlog.RootOf(leaves)
}

// about gives what a file is about, once its header is that of a case or proof file and
// commits to exactly these lines.
func (f file) about() ([]envelope.ID, error) {
	n := len(f.header.About) - 1
	if n < 1 || f.header.Pin != nil {
		return nil, fault(1, "the header is not about something and the lines below it")
	}
	if f.header.About[n] != f.root() {
		return nil, fault(1, "the lines below are not the ones the header was written over: one was dropped, added or changed")
	}
	return f.header.About[:n], nil
}

// encode writes lines as the file that is about something.
func encode(about []envelope.ID, lines []bundle.Line) ([]byte, error) {
	bare, err := bundle.Encode(bundle.Header{}, lines...)
	if err != nil {
		return nil, err
	}
	f, err := split(context.Background(), bare)
	if err != nil {
		return nil, err
	}
	header, err := bundle.EncodeHeader(bundle.Header{About: append(about, f.root())})
	if err != nil {
		return nil, err
	}
	_, rest, _ := bytes.Cut(bare, []byte("\n"))
	return append(append(header, '\n'), rest...), nil
}
