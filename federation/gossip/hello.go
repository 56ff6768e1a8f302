package gossip

import (
	"context"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
)

// Linked implements federation.Handler: it greets the peer and syncs with it for
// as long as the link lives.
func (n *Node) Linked(ctx context.Context, id federation.PeerID) {
	p := n.peer(id)
	n.mu.Lock()
	p.linked = true
	n.forgetAsked(id)
	n.mu.Unlock()
	if n.befriend(ctx, p) {
		n.follow(ctx, p)
	}
}

// Unlinked implements federation.Handler.
func (n *Node) Unlinked(_ context.Context, id federation.PeerID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.peerLocked(id)
	p.linked = false
	p.forget()
	if _, ok := n.bound[id]; !ok {
		delete(n.peers, id)
	}
}

// befriend says hello until it goes well, or the link is gone. The other end
// does the same; either of both is enough.
func (n *Node) befriend(ctx context.Context, p *peer) bool {
	for wait := greetMin; ; wait = min(2*wait, greetMax) {
		if err := n.greet(ctx, p); err == nil {
			return true
		} else if ctx.Err() == nil {
			n.cfg.Log.DebugContext(ctx, "hello", "peer", p.id.String(), "err", err)
		}
		n.mu.Lock()
		met := p.met
		n.mu.Unlock()
		t := time.NewTimer(jitter(wait))
		select {
		case <-met:
			t.Stop()
			return true
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return false
		}
	}
}

// greet opens hello on the link to p.
func (n *Node) greet(ctx context.Context, p *peer) error {
	f, s, done, err := n.open(ctx, p, federation.ProtocolHello)
	if err != nil {
		return err
	}
	defer done()
	org, ok := n.orgOf(p.id)
	verdict := federation.AdmitOK
	if !ok || n.cfg.Members.Status(org) != "active" {
		verdict = federation.AdmitNotAMember
	}
	if err := n.sayHello(ctx, f, org, verdict); err != nil {
		return err
	}
	h, err := n.hearHello(f)
	if err != nil {
		n.cut(ctx, p.id, s, err)
		return err
	}
	return n.judgeHello(ctx, p.id, h)
}

// serveHello answers the hello of anybody whose link came up.
func (n *Node) serveHello(ctx context.Context, from federation.PeerID, s federation.Stream) {
	f := federation.NewFrames(s, federation.ProtocolHello)
	h, err := n.hearHello(f)
	if err != nil {
		n.cut(ctx, from, s, err)
		return
	}
	verdict, proven := n.welcome(ctx, from, h)
	to := did.DID{}
	if proven { // only to whom it is about
		to = h.Org
	}
	if err := n.sayHello(ctx, f, to, verdict); err != nil {
		n.cut(ctx, from, s, err)
		return
	}
	if verdict == federation.AdmitOK && h.Verdict == federation.AdmitOK {
		n.met(ctx, from, h)
	}
}

func (n *Node) sayHello(ctx context.Context, f *federation.Frames, to did.DID, v federation.Admission) error {
	h, err := n.cfg.Greeter.Hello(ctx, to)
	if err != nil {
		return err
	}
	h.Verdict, h.Now = v, envelope.TimeOf(n.cfg.Now())
	b, err := h.Encode()
	if err != nil {
		return err
	}
	if len(b) > maxHello { // the other end then goes by the binding it holds
		h.Binding = ""
		if b, err = h.Encode(); err != nil {
			return err
		}
	}
	return f.Write(b)
}

func (n *Node) hearHello(f *federation.Frames) (federation.Hello, error) {
	b, err := f.Read()
	if err != nil {
		return federation.Hello{}, err
	}
	h, err := federation.ParseHello(b)
	if err != nil {
		return h, blame("hello: %v", err)
	}
	return h, nil
}

// judgeHello is what the opener makes of the answer.
func (n *Node) judgeHello(ctx context.Context, from federation.PeerID, h federation.Hello) error {
	verdict, _ := n.welcome(ctx, from, h)
	if verdict == federation.AdmitOK && h.Verdict == federation.AdmitOK {
		n.met(ctx, from, h)
		return nil
	}
	n.note(n.peer(from), func(s *PeerStatus) { s.Verdict, s.About = h.Verdict, h.AboutYou })
	return fmt.Errorf("hello: they say %s, we say %s", h.Verdict, verdict)
}

// met makes a link usable, and lets the node know what was shown.
func (n *Node) met(ctx context.Context, from federation.PeerID, h federation.Hello) {
	p := n.peer(from)
	n.note(p, func(s *PeerStatus) {
		s.Verdict, s.About, s.Offset = h.Verdict, h.AboutYou, h.Now.Time().Sub(n.cfg.Now())
		if h.Charter != nil {
			s.Charter = *h.Charter
		}
	})
	n.cfg.Greeter.Shown(ctx, h.Org, h)
	n.mu.Lock()
	p.greet()
	n.mu.Unlock()
}

// welcome decides about a hello: the organization must be an active member at
// my head, and a binding of it must name the peer. proven says that one does,
// whatever else is wrong.
func (n *Node) welcome(ctx context.Context, from federation.PeerID, h federation.Hello) (v federation.Admission, proven bool) {
	head, ok := n.cfg.Members.Head()
	switch {
	case !ok || h.Org == n.cfg.Me:
		return federation.AdmitNotAMember, false
	case h.Federation != head.Federation:
		return federation.AdmitOtherFederation, false
	}
	proven = n.names(ctx, from, h, head)
	switch {
	case !proven || n.cfg.Members.Status(h.Org) != "active":
		return federation.AdmitNotAMember, proven
	case h.Spec.Max < head.Spec.Min || h.Spec.Min > head.Spec.Max:
		return federation.AdmitUpgradeRequired, true
	}
	return federation.AdmitOK, true
}

// names reports whether a binding of h.Org names the peer: one that is held, or
// the one in the hello. A peer bound by two organizations is nobody's.
func (n *Node) names(ctx context.Context, from federation.PeerID, h federation.Hello, head Head) bool {
	bound, held := n.orgOf(from)
	if held && bound != h.Org {
		return false
	}
	e, ok := n.openBinding(ctx, from, h, head)
	if ok && n.cfg.Members.Status(h.Org) == "active" {
		if _, err := n.cfg.Bindings.Offer(ctx, e); err != nil {
			n.cfg.Log.WarnContext(ctx, "binding not kept", "org", h.Org.String(), "err", err)
		}
	}
	return held || ok
}

func (n *Node) openBinding(ctx context.Context, from federation.PeerID, h federation.Hello, head Head) (envelope.Envelope, bool) {
	if h.Binding == "" {
		return envelope.Envelope{}, false
	}
	e, err := envelope.ParseDSSE([]byte(h.Binding), maxHello)
	if err != nil {
		return envelope.Envelope{}, false
	}
	v, err := federation.OpenBinding(ctx, e, n.cfg.Keys)
	if err != nil {
		return envelope.Envelope{}, false
	}
	b := v.Body()
	ok := b.Org == h.Org && b.PeerID == from && b.Federation == head.Federation && b.Valid(n.cfg.Now(), head.Skew)
	return e, ok
}

// follow keeps in step with a greeted peer until the link is gone.
func (n *Node) follow(ctx context.Context, p *peer) {
	n.beaconNow(ctx, linkApart)
	n.mu.Lock()
	n.prompt = true // what this peer has not cosigned may matter
	n.mu.Unlock()
	n.cosigns.give()
	for retry := greetMin; ; {
		err := n.syncWith(ctx, p)
		last := n.cfg.Now()
		wait := jitter(n.cfg.SyncEvery)
		if retry = min(2*retry, n.cfg.SyncEvery); err == nil {
			retry = greetMin
		} else {
			wait = min(wait, jitter(retry))
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-p.kick:
			t.Stop()
			if !sleep(ctx, syncApart-n.cfg.Now().Sub(last)) {
				return
			}
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}
