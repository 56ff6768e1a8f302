package partytest

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/federation/bundle"
	"trustnode/node/library"
	"trustnode/node/recorder"
	"trustnode/node/self"
	"trustnode/node/store"
)

func nonce(n uint64) string {
	b := binary.BigEndian.AppendUint64(make([]byte, 8), n)
	return base64.RawURLEncoding.EncodeToString(b)
}

// peers is what a node reaches of the others.
type peers struct{ x *Org }

var _ self.Peers = peers{}

// Sync pulls every log from everybody who is online, and the bodies that are for this node.
func (p peers) Sync(ctx context.Context) error {
	p.x.Asked.Add(1)
	if !p.x.Online.Load() {
		return self.ErrOffline
	}
	reached := 0
	for _, y := range p.x.W.Orgs {
		if y == p.x || !y.Online.Load() {
			continue
		}
		reached++
		if err := p.pull(ctx, y); err != nil {
			return err
		}
	}
	if reached == 0 {
		return federation.ErrUnreachable
	}
	return p.bodies(ctx)
}

// pull takes all logs that y holds.
func (p peers) pull(ctx context.Context, y *Org) error {
	heads, err := y.Rec.Heads(ctx)
	if err != nil {
		return err
	}
	for _, h := range heads {
		if h.Org == p.x.Node.Org {
			continue
		}
		for {
			mine, _ := p.x.Rec.Head(ctx, h.Org)
			pkg, err := y.Rec.Package(ctx, h.Org, mine.Size, mine.Size+attestation.MaxBatch)
			if err != nil {
				break
			}
			if _, err := p.x.Rec.Ingest(ctx, pkg); err != nil {
				return err
			}
			if now, _ := p.x.Rec.Head(ctx, h.Org); now.Size == mine.Size {
				break
			}
		}
		notes, err := y.Rec.Notes(ctx, h.Org, 0, h.Size, 1000)
		if err != nil {
			return err
		}
		for _, n := range notes {
			if _, err := p.x.Rec.MergeNote(ctx, h.Org, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// bodies fetches what events name, as far as it is given.
func (p peers) bodies(ctx context.Context) error {
	wanted, err := p.x.Rec.Wanted(ctx, 1000)
	if err != nil {
		return err
	}
	for _, w := range wanted {
		if err := p.Fetch(ctx, w.ID); err != nil {
			return err
		}
	}
	return nil
}

// Fetch asks everybody who is online.
func (p peers) Fetch(ctx context.Context, ids ...envelope.ID) error {
	if !p.x.Online.Load() {
		return self.ErrOffline
	}
	for _, id := range ids {
		for _, y := range p.x.W.Orgs {
			if y == p.x || !y.Online.Load() {
				continue
			}
			if l, ok := y.give(ctx, p.x.Node.Org, id); ok {
				if err := p.x.take(ctx, l); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

// Lend reaches nobody: no test here lends.
func (p peers) Lend(context.Context, did.DID, []byte) ([]byte, error) {
	return nil, federation.ErrUnreachable
}

// give is what an organization may have by id.
func (y *Org) give(ctx context.Context, asker did.DID, id envelope.ID) (bundle.Line, bool) {
	if y.Lib.MayRead(ctx, asker, id) != nil {
		return nil, false
	}
	if o, err := y.Lib.Get(ctx, id); err == nil {
		if o.What == "row" {
			l, err := bundle.ParseLine(o.Bytes)
			return l, err == nil
		}
		e, err := envelope.ParseDSSE(o.Bytes, 1<<20)
		return bundle.Envelope{Envelope: e}, err == nil
	}
	if b, err := y.Rec.Body(ctx, id); err == nil {
		return bundle.Body{Body: b}, true
	}
	r, _, err := y.Rec.ProveRow(ctx, id)
	if err != nil {
		return nil, false
	}
	l := bundle.Row{Event: r.Event, Index: r.Index, Row: r.Row, Size: r.Size}
	for _, h := range r.Path {
		l.Path = append(l.Path, h[:]...)
	}
	return l, true
}

// take keeps what came, as a node does that verified it.
func (x *Org) take(ctx context.Context, l bundle.Line) error {
	switch l := l.(type) {
	case bundle.Body:
		_, err := x.Rec.PutBody(ctx, l.Body)
		if errors.Is(err, attestation.ErrNotFound) && x.Keep != nil {
			err = x.Keep(ctx, l.Body)
		}
		if errors.Is(err, attestation.ErrNotFound) {
			return nil // nothing here names it yet
		}
		return err
	case bundle.Envelope:
		return x.Store(library.Object{ID: l.ID(), What: l.Type.What(), Bytes: l.DSSE()})
	case bundle.Row:
		f, err := x.Rec.Fact(ctx, l.Event)
		if err != nil {
			return nil // its event is not here yet
		}
		var d attestation.AuditRows
		if err := f.Event.Body().Decode(&d); err != nil {
			return err
		}
		p := audit.RowProof{Row: l.Row, Event: l.Event, Index: l.Index, Size: l.Size}
		for b := l.Path; len(b) > 0; b = b[tlog.HashSize:] {
			p.Path = append(p.Path, tlog.Hash(b[:tlog.HashSize]))
		}
		if err := p.Check(d.Root); err != nil {
			return err
		}
		return x.Store(library.Object{ID: envelope.IDOf(l.Row), What: "row", Bytes: Must(bundle.EncodeLine(l))})
	}
	return nil
}

// Store puts objects into the library.
func (x *Org) Store(list ...library.Object) error {
	return x.DB.Update(context.Background(), func(tx store.Tx) error {
		for _, o := range list {
			if err := x.Lib.Put(tx, o); err != nil {
				return err
			}
		}
		return nil
	})
}

// Settle waits until every log is cosigned by everybody who is awake and held by everybody
// who is online.
func (w *World) Settle(ctx context.Context) error {
	for _, x := range w.Orgs {
		if !x.Online.Load() {
			continue
		}
		if err := x.Rec.Flush(ctx); err != nil {
			return err
		}
		if err := w.CosignAll(ctx, x); err != nil {
			return err
		}
	}
	for _, x := range w.Orgs {
		if x.Online.Load() {
			if err := x.Peers.Sync(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// CosignAll has the head of one log cosigned by everybody who is online and awake.
func (w *World) CosignAll(ctx context.Context, x *Org) error {
	for _, y := range w.Orgs {
		if y == x || !y.Online.Load() || y.Asleep.Load() {
			continue
		}
		err := x.Rec.Cosign(ctx, y.Node.Org, witness{y, x.Node.Org})
		for range 5 { // the node's own worker may be asking at the same time
			var refused *recorder.WitnessRefused
			if !errors.As(err, &refused) {
				break
			}
			err = x.Rec.Cosign(ctx, y.Node.Org, witness{y, x.Node.Org})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
