package daemon

import (
	"context"
	"net/http"
	"testing"

	"trustnode/attestation"
	"trustnode/node/httpapi"
	"trustnode/node/recorder"
)

// TestACloneCannotForkALogUnseen: two copies of one data directory run at once and each
// goes on in its own way. The others keep one continuation, and a copy stops signing, or
// what it signed is kept as proof.
func TestACloneCannotForkALogUnseen(t *testing.T) {
	s := newSiege(t)
	s.vendor.stop()
	clone := copyOf(t, s.vendor, "clone")
	clone.cfg.HTTP, clone.cfg.P2P = "127.0.0.1:"+loopbackPort(t), []string{"/ip4/127.0.0.1/tcp/" + loopbackPort(t)}
	s.vendor.start()
	s.vendor.waitFresh()
	clone.start()
	for name, h := range map[string]*fort{"one": s.vendor, "two": clone} {
		if err := h.call(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: name, Can: []string{"borrow"}}, nil); err != nil {
			t.Logf("%s: %v", name, err)
		}
	}
	ctx := context.Background()
	eventually(t, "a copy that stopped, or the proof of a fork", func() bool {
		evidence, err := s.acme.node.events.Evidence(ctx, s.vendor.cfg.Org)
		a, _ := s.vendor.node.self.Rec.State()
		b, _ := clone.node.self.Rec.State()
		return err == nil && len(evidence) > 0 || a != recorder.Open || b != recorder.Open
	})
	eventually(t, "one log at both others", func() bool {
		return names(t, s.acme.node, s.vendor) == names(t, s.arbiter.node, s.vendor)
	})
}

// names lists the agents of a fort's log as another node holds it.
func names(t *testing.T, at *Node, of *fort) (out string) {
	t.Helper()
	for f, err := range at.self.Rec.Facts(context.Background(), attestation.Query{Org: of.cfg.Org, Type: "agent.issued"}) {
		if err != nil {
			t.Fatal(err)
		}
		out += f.Event.ID().String() + " "
	}
	return out
}
