package self_test

import (
	"errors"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/node/self"
	"trustnode/node/store"
)

// TestAnAgentReaderSeesEachRowAsItIs: a row that was parsed before is seen as it was
// written since, within the transaction that writes it too.
func TestAnAgentReaderSeesEachRowAsItIs(t *testing.T) {
	db := store.Memory()
	defer db.Close()
	n := &self.Node{Org: did.MustParse("did:web:acme.example"), DB: db}
	at, key := envelope.TimeOf(time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)), envelopetest.Repeat(1).Public()
	row := self.AgentRow{Agent: did.MustParse("did:web:acme.example:agents:a"), Capabilities: []string{"lend"}, KID: key.Multikey(), Kind: "agent", Name: "research",
		NotAfter: at.Add(time.Hour), NotBefore: at, Object: envelope.IDOf([]byte("a")), Org: n.Org, Pub: key, Serial: 1}
	var r self.AgentReader
	see := func(g interface{ Get([]byte) ([]byte, error) }, revoked bool) {
		t.Helper()
		got, err := r.Agent(g, row.Agent)
		if err != nil || got.Revoked != revoked || got.Pub != row.Pub {
			t.Errorf("got %+v, %v, want revoked %v", got, err, revoked)
		}
	}
	view := self.ViewGetter(t.Context(), db)
	if _, err := r.Agent(view, row.Agent); !errors.Is(err, self.ErrNoAgent) {
		t.Errorf("absent: %v", err)
	}
	err := db.Update(t.Context(), func(tx store.Tx) error { return n.PutAgent(tx, row) })
	if err != nil {
		t.Fatal(err)
	}
	see(view, false)
	err = db.Update(t.Context(), func(tx store.Tx) error {
		see(tx, false)
		row.Revoked = true
		if err := n.PutAgent(tx, row); err != nil {
			return err
		}
		see(tx, true)
		see(view, false) // what is not committed is not seen from outside
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	see(view, true)
	if err := db.Update(t.Context(), func(tx store.Tx) error { return tx.Delete([]byte("agent/" + row.Agent.String())) }); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Agent(view, row.Agent); !errors.Is(err, self.ErrNoAgent) {
		t.Errorf("absent again: %v", err)
	}
}
