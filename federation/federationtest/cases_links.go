package federationtest

import (
	"context"
	"errors"
	"strings"

	"trustnode/federation"
)

// hold opens a stream that both ends keep, and returns the opener's end and what
// ends the other's reading.
func (p *place) hold(a, b *node, proto federation.Protocol) (federation.Stream, <-chan error) {
	p.t.Helper()
	ended := make(chan error, 1)
	started := make(chan struct{})
	b.serving(func(_ context.Context, v served) {
		buf := make([]byte, 1)
		_, err := v.s.Read(buf)
		close(started)
		if err == nil {
			_, err = v.s.Read(buf)
		}
		ended <- err
	})
	s, err := a.Open(p.t.Context(), b.peer.ID, proto)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := s.Write([]byte("x")); err != nil {
		p.t.Fatal(err)
	}
	<-started
	b.serving(nil)
	return s, ended
}

func unadmit(p *place) {
	ns := p.mutual(3)
	s, ended := p.hold(ns[0], ns[1], federation.ProtocolSync)
	p.admit(ns[1], 1, 2)
	if err := <-ended; err == nil {
		p.t.Error("the stream goes on at who took the admission back")
	}
	if _, err := s.Read(make([]byte, 1)); err == nil {
		p.t.Error("the stream goes on at who is not admitted any more")
	}
	if _, err := ns[1].Open(p.t.Context(), ns[0].peer.ID, federation.ProtocolSync); !errors.Is(err, federation.ErrUnreachable) {
		p.t.Errorf("Open to a peer not admitted: %v, want ErrUnreachable", err)
	}
	eventually(p.t, "the end of the link", func() bool { return !ns[1].linked(ns[0]) })
	m, after := unique("unheard"), unique("heard")
	p.publish(ns[0], m)
	p.publish(ns[2], after)
	eventually(p.t, "a message of who is still admitted", func() bool { return ns[1].count(after) == 1 })
	p.flows(ns[0], ns[2]) // node 2 admits both and passes on what it hears
	if ns[1].count(m) != 0 {
		p.t.Error("judged a message of a peer that is not admitted")
	}
	if h := ns[1].history(ns[0].peer.ID); strings.Contains(h, "++") || strings.Contains(h, "--") {
		p.t.Errorf("links were told of as %s", h)
	}
}

func readmit(p *place) {
	ns := p.mutual(2)
	p.admit(ns[1], 1)
	eventually(p.t, "the end of the link", func() bool { return !ns[1].linked(ns[0]) })
	p.admit(ns[1], 1, 0)
	ns[1].awaitLink(ns[0])
	p.flows(ns[0], ns[1])
	p.flows(ns[1], ns[0])
	if got, err := ns[0].exchange(ns[1], federation.ProtocolSync, []byte("{}")); err != nil {
		p.t.Errorf("a stream after admission: %q, %v", got, err)
	}
}

// guest makes a member 0 and a stranger 1, who admits the member.
func (p *place) guest() (member, stranger *node) {
	member, stranger = p.make(0), p.make(1)
	p.admit(stranger, 1, 0)
	p.start(member, stranger)
	stranger.awaitLink(member)
	return member, stranger
}

func lobby(p *place) {
	member, stranger := p.guest()
	for _, proto := range federation.Protocols() {
		var got []byte
		var err error
		try := func() bool {
			got, err = stranger.exchange(member, proto, []byte("{}"))
			return err == nil && string(got) == "{}"
		}
		if proto.Open() {
			eventually(p.t, "an answer to a stranger on "+string(proto), try)
			continue
		}
		before := member.calls()
		if soon(try) || member.calls() != before {
			p.t.Errorf("a stranger was served %s", proto)
		}
	}
	m := unique("from the lobby")
	p.publish(stranger, m)
	if soon(func() bool { return member.count(m) > 0 }) {
		p.t.Error("judged a message from the lobby")
	}
	if h := member.history(stranger.peer.ID); h != "" {
		p.t.Errorf("the handler was told of a stranger's link: %s", h)
	}
	for _, proto := range []federation.Protocol{federation.ProtocolSync, federation.ProtocolLend} {
		if _, err := member.Open(p.t.Context(), stranger.peer.ID, proto); !errors.Is(err, federation.ErrUnreachable) {
			p.t.Errorf("Open of %s to a stranger: %v, want ErrUnreachable", proto, err)
		}
	}
}

func fromLobbyToMember(p *place) {
	member, stranger := p.guest()
	eventually(p.t, "an answer in the lobby", func() bool {
		_, err := stranger.exchange(member, federation.ProtocolLobby, []byte("{}"))
		return err == nil
	})
	p.admit(member, 0, 1)
	member.awaitLink(stranger)
	p.flows(stranger, member)
	p.flows(member, stranger)
	if got, err := stranger.exchange(member, federation.ProtocolSync, []byte("{}")); err != nil {
		p.t.Errorf("a stream of the new member: %q, %v", got, err)
	}
}

func restart(p *place) {
	ns := p.mutual(2)
	ns[1].stop()
	eventually(p.t, "the end of the link", func() bool { return !ns[0].linked(ns[1]) })
	if _, err := ns[0].Open(p.t.Context(), ns[1].peer.ID, federation.ProtocolSync); !errors.Is(err, federation.ErrUnreachable) {
		p.t.Errorf("Open to a node that is down: %v, want ErrUnreachable", err)
	}
	again := p.make(1)
	if again.peer.ID != ns[1].peer.ID {
		p.t.Fatalf("restarted as %s, was %s", again.peer.ID, ns[1].peer.ID)
	}
	p.admit(again, 1, 0)
	p.start(again)
	again.awaitLink(ns[0])
	ns[0].awaitLink(again)
	p.flows(ns[0], again)
	p.flows(again, ns[0])
	if got, err := ns[0].exchange(again, federation.ProtocolLend, []byte("{}")); err != nil {
		p.t.Errorf("a stream to the restarted node: %q, %v", got, err)
	}
}
