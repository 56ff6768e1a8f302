package inproc

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"testing/synctest"

	"trustnode/federation"
	"trustnode/federation/federationtest"
)

// peerID is the id of node i.
func peerID(t testing.TB, i int) federation.PeerID {
	t.Helper()
	seed := sha256.Sum256(fmt.Appendf(nil, "node %d", i))
	_, id, err := federation.NodeSigner(seed[:])
	if err != nil {
		t.Fatal(err)
	}
	return id
}

type world struct {
	t   *testing.T
	net *Network
}

func (w *world) Make(i int) (federation.Transport, federation.Peer) {
	tr := w.net.Join(peerID(w.t, i))
	return tr, federation.Peer{ID: tr.ID(), Addrs: tr.Addrs()}
}

func (w *world) Apart(i, j int) { w.net.Cut(peerID(w.t, i), peerID(w.t, j)) }

func TestSuite(t *testing.T) {
	federationtest.Suite(t, true, func(t *testing.T, run func(*testing.T, federationtest.World)) {
		synctest.Test(t, func(t *testing.T) { run(t, &world{t, New(1)}) })
	})
}
