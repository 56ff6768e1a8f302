package self_test

import (
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/node/self"
	"trustnode/node/store"
)

// TestARevokedAgentLeavesItsNameToTheNext: writing the row of a revoked agent again takes
// no name away from the agent that has it now.
func TestARevokedAgentLeavesItsNameToTheNext(t *testing.T) {
	db := store.Memory()
	defer db.Close()
	n := &self.Node{Org: did.MustParse("did:web:acme.example"), DB: db}
	at, key := envelope.TimeOf(time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)), envelopetest.Repeat(1).Public()
	old := self.AgentRow{Agent: did.MustParse("did:web:acme.example:agents:old"), Capabilities: []string{"lend"}, KID: key.Multikey(), Kind: "agent", Name: "research",
		NotAfter: at.Add(time.Hour), NotBefore: at, Object: envelope.IDOf([]byte("old")), Org: n.Org, Pub: key, Serial: 1}
	next := old
	next.Agent, next.Serial = did.MustParse("did:web:acme.example:agents:next"), 2
	ended := old
	ended.Revoked = true
	for _, c := range []struct {
		name string
		put  self.AgentRow
		want did.DID
	}{
		{"the first takes the name", old, old.Agent},
		{"once revoked it still has it", ended, old.Agent},
		{"the next takes it over", next, next.Agent},
		{"the revoked one does not take it back", ended, next.Agent},
	} {
		if err := db.Update(t.Context(), func(tx store.Tx) error { return n.PutAgent(tx, c.put) }); err != nil {
			t.Fatal(err)
		}
		if got, err := n.OwnAgent(self.ViewGetter(t.Context(), db), "research"); err != nil || got.Agent != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, got.Agent, err, c.want)
		}
	}
}
