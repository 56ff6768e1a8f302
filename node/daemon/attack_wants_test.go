package daemon

import (
	"context"
	"net/http"
	"strconv"
	"testing"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/node/httpapi"
)

// TestAMemberCannotStarveWhatOthersName: a member that names more missing things than one
// round asks for keeps nobody else's from being asked for.
func TestAMemberCannotStarveWhatOthersName(t *testing.T) {
	s := newSiege(t)
	acme, ctx := s.acme.node, context.Background()
	dispute := envelope.IDOf([]byte("a dispute"))
	object := envelope.IDOf([]byte("an agent object"))
	ghost := func(key byte) string { return ghostDID(t, key).String() }

	s.arbiter.stop()
	s.arbiter.offline(func(_ *httpapi.Client, n *Node) {
		var evil []attestation.Event
		for i := range 2 * maxAsk {
			id := envelope.IDOf([]byte("nothing " + strconv.Itoa(i)))
			evil = append(evil, attestation.Event{Type: "dispute.filed", Subject: id.String(), Body: id},
				attestation.Event{Type: "audit.rows", Data: canon(t, attestation.AuditRows{Root: id}), Body: id},
				attestation.Event{Type: "agent.issued", Subject: ghost(1), Refs: []envelope.ID{id},
					Data: canon(t, attestation.AgentIssued{Agent: ghostDID(t, 1), ID: id, Name: "ghost", Serial: uint64(i) + 1})})
		}
		s.arbiter.tells(n, acme, evil...)
	})
	s.vendor.stop()
	s.vendor.offline(func(_ *httpapi.Client, n *Node) {
		s.vendor.tells(n, acme,
			attestation.Event{Type: "dispute.filed", Subject: dispute.String(), Body: dispute},
			attestation.Event{Type: "agent.issued", Subject: ghost(2), Refs: []envelope.ID{object},
				Data: canon(t, attestation.AgentIssued{Agent: ghostDID(t, 2), ID: object, Name: "new", Serial: 1})})
	})
	if err := acme.member.Project(ctx); err != nil {
		t.Fatal(err)
	}
	asked := map[envelope.ID]bool{}
	for range 3 { // in each round others' turn comes
		wants, err := objects{acme}.Wants(ctx, maxAsk)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range wants {
			asked[w.ID] = true
		}
	}
	for what, id := range map[string]envelope.ID{"the public body of a partner's event": dispute, "a partner's new agent object": object} {
		if !asked[id] {
			t.Errorf("%s was not asked for in three rounds", what)
		}
	}
	s.acme.must(http.MethodGet, "/api/v1/status", nil, nil)
}
