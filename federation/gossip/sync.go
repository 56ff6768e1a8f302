package gossip

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
)

// conversation is one sync stream, after both heads are known.
type conversation struct {
	n      *Node
	f      *federation.Frames
	p      *peer
	org    did.DID
	ours   heads
	theirs heads
	fault  error // the first log that did not fit; told once all was asked
}

// syncWith runs one whole sync with a peer.
func (n *Node) syncWith(ctx context.Context, p *peer) error {
	err := n.converse(ctx, p, (*conversation).pull, true)
	n.stats.syncs.Add(1)
	if err != nil && ctx.Err() == nil {
		n.stats.syncsFailed.Add(1)
		n.cfg.Log.DebugContext(ctx, "sync", "peer", p.id.String(), "err", err)
	}
	return err
}

// converse opens a sync stream, asks what turn asks, and where it is to swap
// answers the other's turn.
func (n *Node) converse(ctx context.Context, p *peer, turn func(*conversation, context.Context) error, swap bool) error {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	f, s, done, err := n.open(ctx, p, federation.ProtocolSync)
	if err != nil {
		return err
	}
	defer done()
	org, ok := n.orgOf(p.id)
	if !ok {
		return federation.ErrUnreachable
	}
	c := &conversation{n: n, f: f, p: p, org: org}
	if err := c.asOpener(ctx, turn, swap); err != nil {
		n.cut(ctx, p.id, s, err)
		return err
	}
	return nil
}

func (c *conversation) asOpener(ctx context.Context, turn func(*conversation, context.Context) error, swap bool) error {
	if err := c.sayHeads(ctx); err != nil {
		return err
	}
	if err := c.hearHeads(); err != nil {
		return err
	}
	if err := turn(c, ctx); err != nil {
		return err
	}
	if err := c.end(end{}); err != nil || !swap {
		return err
	}
	return c.answer(ctx)
}

// serveSync answers a sync stream of an admitted peer, then asks in turn.
func (n *Node) serveSync(ctx context.Context, p *peer, org did.DID, s federation.Stream) {
	c := &conversation{n: n, f: federation.NewFrames(s, federation.ProtocolSync), p: p, org: org}
	if err := c.asAnswerer(ctx); err != nil && ctx.Err() == nil {
		n.cut(ctx, p.id, s, err)
		n.cfg.Log.DebugContext(ctx, "sync served", "peer", p.id.String(), "err", err)
	}
}

func (c *conversation) asAnswerer(ctx context.Context) error {
	if err := c.hearHeads(); err != nil {
		return err
	}
	if err := c.sayHeads(ctx); err != nil {
		return err
	}
	if err := c.answer(ctx); err != nil {
		return err
	}
	if err := c.pull(ctx); err != nil {
		return err
	}
	return c.end(end{})
}

func (c *conversation) sayHeads(ctx context.Context) error {
	h, err := c.n.heads(ctx)
	if err != nil {
		return err
	}
	b, err := envelope.Marshal(headsFrame{h})
	if err != nil {
		return err
	}
	c.ours = h
	return c.f.Write(b)
}

func (c *conversation) hearHeads() error {
	b, err := c.f.Read()
	if err != nil {
		return noEOF(err)
	}
	h, err := parseHeads(b)
	if err != nil {
		return err
	}
	head, ok := c.n.cfg.Members.Head()
	if !ok || head.Federation != h.Federation {
		return blame("heads of federation %s", h.Federation)
	}
	c.theirs = h
	mine, _ := h.find(c.n.cfg.Me)
	c.n.note(c.p, func(s *PeerStatus) { s.Charter, s.Held = h.Charter, noteSize([]byte(mine.Note)) })
	return nil
}

func (c *conversation) end(e end) error {
	e.End = true
	b, err := envelope.Marshal(e)
	if err != nil {
		return err
	}
	return c.f.Write(b)
}

// noEOF makes a stream that ended where something must come an error of its own.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("stream ended: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// find returns the head of one organization.
func (h heads) find(d did.DID) (didHead, bool) {
	for _, x := range h.DIDs {
		if x.DID == d {
			return x, true
		}
	}
	return didHead{}, false
}

// heads is what this node holds: always all of it.
func (n *Node) heads(ctx context.Context) (heads, error) {
	head, ok := n.cfg.Members.Head()
	if !ok {
		return heads{}, fmt.Errorf("no charter: %w", ErrAbsent)
	}
	h := heads{Charter: head.Charter, Federation: head.Federation, Sets: sets{Governance: digest(nil)}}
	beacons, err := n.cfg.Beacons.Newest(ctx)
	if err != nil {
		return heads{}, err
	}
	bindings, err := n.cfg.Bindings.All(ctx)
	if err != nil {
		return heads{}, err
	}
	h.Sets.Beacons, h.Sets.Bindings = digest(idsOf(beacons)), digest(idsOf(bindings))
	h.DIDs, err = n.didHeads(ctx)
	return h, err
}

func (n *Node) didHeads(ctx context.Context) ([]didHead, error) {
	versions, err := n.cfg.Identities.Heads(ctx)
	if err != nil {
		return nil, err
	}
	byDID := map[did.DID]didHead{}
	for d, v := range versions {
		byDID[d] = didHead{DID: d, DIDHead: v}
	}
	orgs, err := n.cfg.Logs.Orgs(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range orgs {
		_, note, err := n.head(ctx, d)
		if err != nil {
			return nil, err
		}
		x := byDID[d]
		x.DID, x.Note = d, string(note)
		if len(note) > 0 {
			if x.Notes, err = n.noteSet(ctx, d); err != nil {
				return nil, err
			}
		}
		byDID[d] = x
	}
	var out []didHead
	for d, x := range byDID {
		if n.cfg.Members.Status(d) != "" {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b didHead) int { return strings.Compare(a.DID.String(), b.DID.String()) })
	return out[:min(len(out), maxDIDs)], nil
}

// noteSets remembers digests of cosigned notes until one changes.
type noteSets struct {
	digest map[did.DID]envelope.ID
	gen    map[did.DID]uint64
}

func newNoteSets() noteSets {
	return noteSets{digest: map[did.DID]envelope.ID{}, gen: map[did.DID]uint64{}}
}

func (s noteSets) drop(d did.DID) {
	delete(s.digest, d)
	s.gen[d]++
}

// noteSet is the digest of the cosigned notes held of a log.
func (n *Node) noteSet(ctx context.Context, d did.DID) (envelope.ID, error) {
	n.mu.Lock()
	known, ok := n.sets.digest[d]
	gen := n.sets.gen[d]
	n.mu.Unlock()
	if ok {
		return known, nil
	}
	var ids []envelope.ID
	for from := uint64(0); ; {
		notes, err := n.cfg.Logs.Notes(ctx, d, from, 1<<53-1, maxNotes)
		if err != nil {
			return envelope.ID{}, err
		}
		for _, b := range notes {
			ids = append(ids, envelope.IDOf(b))
		}
		if len(notes) < maxNotes {
			break
		}
		if from = noteSize(notes[len(notes)-1]); from == 0 {
			break
		}
	}
	sum := digest(ids)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sets.gen[d] == gen {
		n.sets.digest[d] = sum
	}
	return sum, nil
}

func (n *Node) dropNoteSet(d did.DID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sets.drop(d)
}
