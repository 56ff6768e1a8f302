package party

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
	"trustnode/node/casefile"
	"trustnode/node/library"
	"trustnode/node/self"
)

// source gives the case file what this node holds.
type source struct{ n *self.Node }

var _ casefile.Source = source{}

// Facts implements casefile.Ledger.
func (s source) Facts(ctx context.Context, q attestation.Query) iter.Seq2[attestation.Fact, error] {
	return s.n.Rec.Facts(ctx, q)
}

// Log implements casefile.Ledger.
func (s source) Log(ctx context.Context, d did.DID) (attestation.Log, error) {
	return s.n.Rec.Log(ctx, d)
}

// Notes implements casefile.Ledger.
func (s source) Notes(ctx context.Context, d did.DID, from, to uint64, max int) ([][]byte, error) {
	return s.n.Rec.Notes(ctx, d, from, to, max)
}

// Body implements casefile.Ledger.
func (s source) Body(ctx context.Context, id envelope.ID) ([]byte, error) {
	return s.n.Rec.Body(ctx, id)
}

// object reads the library in the words of a Source.
func (s source) object(ctx context.Context, id envelope.ID) (library.Object, error) {
	o, err := s.n.Lib.Get(ctx, id)
	if errors.Is(err, library.ErrAbsent) {
		err = fmt.Errorf("object %s: %w", id, attestation.ErrNotFound)
	}
	return o, err
}

// Object implements casefile.Papers.
func (s source) Object(ctx context.Context, id envelope.ID) (envelope.Envelope, error) {
	o, err := s.object(ctx, id)
	if err != nil {
		return envelope.Envelope{}, err
	}
	if o.What == whatRow {
		return envelope.Envelope{}, fmt.Errorf("%s is a row: %w", id, attestation.ErrNotFound)
	}
	return envelope.ParseDSSE(o.Bytes, maxObject)
}

// whatRow is another organization's audit row in the library: the line of a bundle that
// proves it under its audit.rows event.
const whatRow = "row"

// Row implements casefile.Papers: an own row, or one that its owner gave.
func (s source) Row(ctx context.Context, id envelope.ID) (audit.RowProof, error) {
	p, _, err := s.n.Rec.ProveRow(ctx, id)
	if !errors.Is(err, attestation.ErrNotFound) {
		return p, err
	}
	o, err := s.object(ctx, id)
	if err != nil {
		return audit.RowProof{}, err
	}
	l, err := bundle.ParseLine(o.Bytes)
	r, ok := l.(bundle.Row)
	if err != nil || !ok || envelope.IDOf(r.Row) != id {
		return audit.RowProof{}, fmt.Errorf("%s is no row: %w", id, attestation.ErrNotFound)
	}
	p = audit.RowProof{Row: r.Row, Event: r.Event, Index: r.Index, Size: r.Size}
	for b := r.Path; len(b) > 0; b = b[tlog.HashSize:] {
		p.Path = append(p.Path, tlog.Hash(b[:tlog.HashSize]))
	}
	return p, nil
}

// DIDLog implements casefile.Papers.
func (s source) DIDLog(ctx context.Context, d did.DID) (log, witness []byte, err error) {
	return s.n.Ring.Files(ctx, d, 0)
}

// chains is what a Standing also has where it keeps the charters as they were signed.
type chains interface {
	// ChartersFrom returns the accepted charters from seq on, in order.
	ChartersFrom(seq uint64) []envelope.Envelope
}

// Charters implements casefile.Papers.
func (s source) Charters(context.Context) ([]envelope.Envelope, error) {
	c, ok := s.n.Standing.(chains)
	if !ok {
		return nil, fmt.Errorf("signed charters: %w", attestation.ErrNotFound)
	}
	return c.ChartersFrom(0), nil
}
