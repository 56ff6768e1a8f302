package self_test

import (
	"errors"
	"slices"
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

func TestStateAndCapabilities(t *testing.T) {
	at := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	a := self.AgentRow{Name: "research", Capabilities: []string{"lend", "teleport"}, NotBefore: envelope.TimeOf(at), NotAfter: envelope.TimeOf(at.Add(time.Hour))}
	for _, c := range []struct {
		name    string
		after   time.Duration
		revoked bool
		want    self.AgentState
	}{
		{"long before it begins", -301 * time.Second, false, self.AgentNotYet},
		{"as clocks may differ", -300 * time.Second, false, self.AgentLive},
		{"in its last second", time.Hour - time.Second, false, self.AgentLive},
		{"at its end", time.Hour, false, self.AgentEnded},
		{"revoked", 0, true, self.AgentRevoked},
		{"revoked, and its time ran out", 2 * time.Hour, true, self.AgentRevoked},
	} {
		a.Revoked = c.revoked
		got := a.State(at.Add(c.after))
		if err := a.May("lend", at.Add(c.after)); got != c.want || (err == nil) != (c.want == self.AgentLive) {
			t.Errorf("%s: got %s, may lend %v, want %s", c.name, got, err, c.want)
		}
	}
	a.Revoked = false
	if err := a.May("teleport", at); !errors.Is(err, self.ErrNoCapability) {
		t.Errorf("what is not known here is granted: %v", err)
	}
	if can, inert := a.Grants(); !slices.Equal(can, []string{"lend"}) || !slices.Equal(inert, []string{"teleport"}) {
		t.Errorf("grants %v, inert %v", can, inert)
	}
}
