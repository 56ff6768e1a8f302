package federationtest

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"trustnode/federation"
)

func publishReachesAdmitted(p *place) {
	ns := p.mutual(3)
	stranger := p.make(3)
	p.admit(stranger, 3, 0, 1, 2)
	p.start(stranger)
	stranger.awaitLink(ns[0])

	m := unique("news")
	p.publish(ns[0], m)
	for _, n := range ns[1:] {
		eventually(p.t, "the message at a member", func() bool { return n.count(m) == 1 })
	}
	theirs := unique("from a stranger")
	p.publish(stranger, theirs)
	p.flows(ns[0], ns[1]) // time for what must not arrive
	if stranger.count(m) != 0 {
		p.t.Error("a stranger got a message")
	}
	for i, n := range ns {
		if n.count(theirs) != 0 {
			p.t.Errorf("node %d judged a message of a stranger", i)
		}
	}
}

func (p *place) publish(n *node, m []byte) {
	p.t.Helper()
	if err := n.Publish(p.t.Context(), federation.TopicEvents, m); err != nil {
		p.t.Fatalf("Publish: %v", err)
	}
}

func ownIsNotJudged(p *place) {
	ns := p.mutual(2)
	m := unique("mine")
	ns[0].say(m, federation.Reject)
	p.publish(ns[0], m)
	eventually(p.t, "the message", func() bool { return ns[1].count(m) == 1 })
	if ns[0].count(m) != 0 {
		p.t.Error("the publisher was asked to judge its own message")
	}
}

func oversize(p *place) {
	ns := p.mutual(2)
	m := bytes.Repeat([]byte("x"), federation.MaxMessage+1)
	if err := ns[0].Publish(p.t.Context(), federation.TopicEvents, m); !errors.Is(err, federation.ErrTooLarge) {
		p.t.Errorf("Publish of %d bytes: %v, want ErrTooLarge", len(m), err)
	}
	p.publish(ns[0], m[1:])
	eventually(p.t, "a message at the cap", func() bool { return ns[1].count(m[1:]) == 1 })
	if ns[1].count(m) != 0 {
		p.t.Error("a message over the cap arrived")
	}
}

func foreignNames(p *place) {
	ns := p.mutual(2)
	if err := ns[0].Publish(p.t.Context(), "/other/1", []byte("m")); err == nil {
		p.t.Error("published on a topic that is not ours")
	}
	if s, err := ns[0].Open(p.t.Context(), ns[1].peer.ID, "/other/1"); err == nil {
		_ = s.Close()
		p.t.Error("opened a protocol that is not ours")
	}
}

func lifetime(p *place) {
	a, b := p.make(0), p.make(1)
	p.admit(a, 0, 1)
	p.admit(b, 1, 0)
	stopped := func(when string) {
		p.t.Helper()
		if err := a.Publish(p.t.Context(), federation.TopicEvents, []byte("m")); !errors.Is(err, federation.ErrStopped) {
			p.t.Errorf("Publish %s: %v, want ErrStopped", when, err)
		}
		if _, err := a.Open(p.t.Context(), b.peer.ID, federation.ProtocolSync); !errors.Is(err, federation.ErrStopped) {
			p.t.Errorf("Open %s: %v, want ErrStopped", when, err)
		}
	}
	stopped("before Run")
	p.start(a, b)
	a.awaitLink(b)
	a.stop()
	stopped("after Run")
	if h := a.history(b.peer.ID); h[len(h)-1] != '-' {
		p.t.Errorf("links after Run: %s", h)
	}
	if err := a.Run(context.Background(), a); !errors.Is(err, federation.ErrStopped) {
		p.t.Errorf("a second Run: %v, want ErrStopped", err)
	}
}

// chain makes three nodes that admit each other, of which the outer ones have no
// link.
func (p *place) chain() []*node {
	p.split(0, 2)
	return p.mutual(3)
}

func acceptForwards(p *place) {
	ns := p.chain()
	m := unique("pass it on")
	p.publish(ns[0], m)
	eventually(p.t, "the message at the far end", func() bool { return ns[2].count(m) == 1 })
	if got, want := ns[2].senders(m), []federation.PeerID{ns[1].peer.ID}; !slices.Equal(got, want) {
		p.t.Errorf("came from %v, want %v", got, want)
	}
}

func notForwarded(p *place, v federation.Verdict) {
	ns := p.chain()
	m := unique("stop here")
	ns[1].say(m, v)
	p.publish(ns[0], m)
	eventually(p.t, "the message in the middle", func() bool { return ns[1].count(m) == 1 })
	after := unique("after")
	p.publish(ns[0], after)
	eventually(p.t, "the next message at the far end", func() bool { return ns[2].count(after) == 1 })
	if ns[2].count(m) != 0 {
		p.t.Errorf("a message judged %v was passed on", v)
	}
}

func strangeAuthor(p *place) {
	ns := p.chain()
	p.admit(ns[2], 2, 1) // the author of what 1 passes on is nobody for 2 now
	m := unique("by a stranger")
	p.publish(ns[0], m)
	eventually(p.t, "the message in the middle", func() bool { return ns[1].count(m) == 1 })
	p.flows(ns[1], ns[2])
	if ns[2].count(m) != 0 {
		p.t.Error("a message of an author who is not admitted was judged")
	}
}

func ignoreSticks(p *place) {
	ns := p.chain()
	m := unique("again")
	ns[1].say(m, federation.Ignore)
	p.publish(ns[0], m)
	eventually(p.t, "the message", func() bool { return ns[1].count(m) == 1 })
	p.publish(ns[2], m)
	after := unique("after")
	p.publish(ns[2], after)
	eventually(p.t, "the next message", func() bool { return ns[1].count(after) == 1 })
	if n := ns[1].count(m); n != 1 {
		p.t.Errorf("judged %d times, want once: sync must not count on hearing it again", n)
	}
}
