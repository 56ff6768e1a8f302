package gossip

import (
	"testing"
	"time"

	"trustnode/did/envelope"
	"trustnode/federation/bundle"
	"trustnode/federation/p2p"
)

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never seen: %s", what)
}

func TestThreeNodesOverLibp2p(t *testing.T) {
	if testing.Short() {
		t.Skip("opens sockets")
	}
	var hs []*home
	for i := range 3 {
		hs = append(hs, newHome(t, i))
	}
	trs := make([]*p2p.Transport, 3)
	open := func(i int) {
		listen := []string{"/ip4/127.0.0.1/tcp/0"}
		if hs[i].addrs != nil {
			listen = hs[i].addrs
		}
		tr, err := p2p.New(p2p.Config{Seed: seedOf("node", i), Listen: listen})
		if err != nil {
			t.Fatal(err)
		}
		trs[i], hs[i].addrs = tr, tr.Addrs()
	}
	for i := range hs {
		open(i)
	}
	acquaint(hs)
	stops := make([]func(), 3)
	start := func(i int) { _, stops[i] = hs[i].run(t, trs[i]) }
	alike := func() bool {
		for _, h := range hs {
			for _, o := range hs {
				if h.size(o.me) != o.size(o.me) || o.witnesses(o.me) != 2 || h.witnesses(o.me) != 2 {
					return false
				}
			}
		}
		return true
	}
	fresh := func() bool { return hs[0].fresh() == 2 && hs[1].fresh() == 2 && hs[2].fresh() == 2 }

	hs[0].say(false, some(600)...)
	for i := range hs {
		start(i)
	}
	eventually(t, "all fresh", fresh)
	for _, h := range hs {
		h.say(true, some(3)...)
	}
	eventually(t, "equal logs and cosignatures", alike)

	stops[2]()
	thing := hs[0].keep(bundle.Body{Body: []byte(`{"t":1}`)}, hs[2].me)
	hs[0].say(true, some(4)...)
	open(2)
	start(2)
	eventually(t, "equal logs and cosignatures after a restart", alike)
	eventually(t, "all fresh after a restart", fresh)
	if err := hs[2].node.Fetch(t.Context(), thing, envelope.IDOf([]byte("nobody has it"))); err != nil || !hs[2].has(thing) {
		t.Errorf("Fetch: %v", err)
	}
	if got, err := hs[2].node.Lend(t.Context(), hs[1].me, []byte("frame")); err != nil || string(got) != "lent frame" {
		t.Errorf("Lend: %q, %v", got, err)
	}
	for i, h := range hs {
		if s := h.node.Stats(); s.Blamed+s.Rejected > 0 {
			t.Errorf("node %d blames honest peers: %+v", i, s)
		}
	}
	for _, stop := range stops {
		stop()
	}
}
