package inproc_test

import (
	"context"
	"fmt"
	"sync"

	"trustnode/federation"
	"trustnode/federation/inproc"
)

// printer is a node that prints what it hears.
type printer struct {
	linked, heard chan struct{}
}

func (p printer) Judge(_ context.Context, _ federation.PeerID, t federation.Topic, msg []byte) federation.Verdict {
	fmt.Printf("%s: %s\n", t, msg)
	close(p.heard)
	return federation.Accept
}

func (printer) Serve(context.Context, federation.PeerID, federation.Protocol, federation.Stream) {}
func (p printer) Linked(context.Context, federation.PeerID)                                      { close(p.linked) }
func (printer) Unlinked(context.Context, federation.PeerID)                                      {}

// Two nodes admit each other; what one publishes the other judges.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	net := inproc.New(1)
	var wg sync.WaitGroup
	var nodes []*inproc.Transport
	var peers []federation.Peer
	for _, text := range []string{
		"12D3KooWJWoaqZhDaoEFshF7Rh1bpY9ohihFhzcW6d69Lr2NASuq",
		"12D3KooWRne8gmaoT17ZfAXKSqYCZd5rDbQg7RAqtFcWR5w2nLRe",
	} {
		id, err := federation.ParsePeerID(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		nodes = append(nodes, net.Join(id))
		peers = append(peers, federation.Peer{ID: id})
	}
	hears := printer{make(chan struct{}), make(chan struct{})}
	for i, n := range nodes {
		h := hears
		if i == 0 {
			h = printer{make(chan struct{}), make(chan struct{})}
		}
		if err := n.Admit(ctx, peers); err != nil {
			fmt.Println(err)
		}
		wg.Go(func() { fmt.Println("stopped:", n.Run(ctx, h)) })
	}
	<-hears.linked
	if err := nodes[0].Publish(ctx, federation.TopicEvents, []byte("hello, partners")); err != nil {
		fmt.Println(err)
	}
	<-hears.heard
	cancel()
	wg.Wait()
	// Output:
	// /trustnode/events/1: hello, partners
	// stopped: <nil>
	// stopped: <nil>
}
