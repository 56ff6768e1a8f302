package gossip

import (
	"context"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
)

// Serve implements federation.Handler. Only hello is served to who was not
// greeted; the lobby is closed.
func (n *Node) Serve(ctx context.Context, from federation.PeerID, proto federation.Protocol, s federation.Stream) {
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()
	if proto == federation.ProtocolHello {
		n.serveHello(ctx, from, s)
		return
	}
	org, ok := did.DID{}, false
	if !proto.Open() {
		org, ok = n.admitted(ctx, from)
	}
	if !ok {
		n.stats.refused.Add(1)
		_ = s.Reset()
		return
	}
	switch proto {
	case federation.ProtocolSync:
		n.serveSync(ctx, n.peer(from), org, s)
	case federation.ProtocolWitness:
		n.serveOne(ctx, from, proto, s, func(b []byte, send func([]byte) error) error {
			b, err := n.answerWitness(ctx, from, org, b)
			if err != nil {
				return err
			}
			return send(b)
		})
	case federation.ProtocolLend:
		abort := func() { _ = s.Reset() }
		n.serveOne(ctx, from, proto, s, func(b []byte, send func([]byte) error) error {
			return n.cfg.Lender.Serve(ctx, org, b, send, abort)
		})
	default:
		_ = s.Reset()
	}
}

// serveOne answers one frame with one frame.
func (n *Node) serveOne(ctx context.Context, from federation.PeerID, proto federation.Protocol, s federation.Stream, answer func(b []byte, send func([]byte) error) error) {
	f := federation.NewFrames(s, proto)
	b, err := f.Read()
	if err == nil {
		err = answer(b, f.Write)
	}
	if err != nil {
		n.cut(ctx, from, s, err)
		return
	}
	n.note(n.peer(from), func(*PeerStatus) {})
}

// exchange sends one frame to a peer and returns the one that comes back.
func (n *Node) exchange(ctx context.Context, p *peer, proto federation.Protocol, b []byte) ([]byte, error) {
	f, s, done, err := n.open(ctx, p, proto)
	if err != nil {
		return nil, err
	}
	defer done()
	if err = f.Write(b); err == nil {
		b, err = f.Read()
	}
	if err != nil {
		n.cut(ctx, p.id, s, err)
		return nil, noEOF(err)
	}
	n.note(p, func(*PeerStatus) {})
	return b, nil
}

func (n *Node) answerWitness(ctx context.Context, from federation.PeerID, org did.DID, b []byte) ([]byte, error) {
	checkpoint, line, err := parseWitnessAsk(b)
	if err != nil {
		return nil, err
	}
	if line != nil {
		status, body, err := n.cfg.Witnessing.Entry(ctx, org, line)
		if n.stats.answered(status); err != nil {
			return nil, err
		}
		return envelope.Marshal(witnessAnswer{Body: string(body), Status: uint64(status)})
	}
	status, body, err := n.cfg.Witnessing.Answer(ctx, org, checkpoint)
	if n.stats.answered(status); err != nil {
		return nil, err
	}
	if size := requestSize(checkpoint); size > 0 {
		n.lag(org, size, from)
	}
	n.dropNoteSet(org)
	return envelope.Marshal(witnessAnswer{Body: string(body), Status: uint64(status)})
}
