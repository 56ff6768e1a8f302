package p2p

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"trustnode/federation"
	"trustnode/federation/federationtest"
)

func seedOf(i int) []byte {
	seed := sha256.Sum256(fmt.Appendf(nil, "node %d", i))
	return seed[:]
}

// world makes nodes on loopback whose addresses stay theirs.
type world struct {
	t      *testing.T
	listen string
	addrs  map[int][]string
}

func (w *world) Make(i int) (federation.Transport, federation.Peer) {
	w.t.Helper()
	listen := []string{w.listen}
	if old, ok := w.addrs[i]; ok {
		listen = old
	}
	tr, err := New(Config{Seed: seedOf(i), Listen: listen})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = tr.Close() })
	w.addrs[i] = tr.Addrs()
	return tr, federation.Peer{ID: tr.ID(), Addrs: tr.Addrs()}
}

func (w *world) Apart(int, int) {} // without addresses there is no link

func suite(t *testing.T, listen string) {
	federationtest.Suite(t, false, func(t *testing.T, run func(*testing.T, federationtest.World)) {
		run(t, &world{t, listen, map[int][]string{}})
	})
}

func TestSuiteTCP(t *testing.T) { suite(t, "/ip4/127.0.0.1/tcp/0") }

func TestSuiteQUIC(t *testing.T) { suite(t, "/ip4/127.0.0.1/udp/0/quic-v1") }
