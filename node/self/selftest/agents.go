package selftest

import (
	"context"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Issuer implements self.Signers.
func (n *Node) Issuer(context.Context) (envelope.Signer, string, error) {
	return n.key, n.key.Public().Multikey(), nil
}

// Agent implements self.Signers.
func (n *Node) Agent(_ context.Context, d did.DID) (envelope.Signer, string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	k, ok := n.agents[d]
	if !ok {
		return nil, "", self.ErrNoKey
	}
	return k, k.Public().Multikey(), nil
}

// NewAgent implements self.Signers.
func (n *Node) NewAgent(context.Context) (envelope.Signer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.serials++
	seed := n.key.Public().Raw()
	seed[0], seed[1] = byte(n.serials), byte(n.serials>>8)
	return envelopetest.New([32]byte(seed)), nil
}

// AddAgent makes an agent that every node of the world knows.
func (n *Node) AddAgent(t testing.TB, name string, can ...keyring.Capability) did.DID {
	t.Helper()
	row := n.NewAgentRow(t, name, can...)
	for _, other := range n.world.Nodes {
		other.Know(t, row)
	}
	return row.Agent
}

// NewAgentRow makes an agent that no node knows yet.
func (n *Node) NewAgentRow(t testing.TB, name string, can ...keyring.Capability) self.AgentRow {
	t.Helper()
	s, err := n.NewAgent(t.Context())
	key := must(s, err)(t).(*envelopetest.Signer)
	d := must(didkey.FromKey(key.Public()))(t)
	at := n.Must(t)
	v := must(envelope.Seal(t.Context(), keyring.Agent{
		Agent: d, Capabilities: can, IssuedAt: envelope.TimeOf(at), Key: keyring.AgentKey{Kid: key.Public().Multikey(), Pub: key.Public()},
		Kid: n.key.Public().Multikey(), Kind: keyring.KindAgent, Name: name, NotBefore: envelope.TimeOf(at), NotAfter: envelope.TimeOf(at.Add(29 * 24 * time.Hour)),
		Org: n.Org, Serial: 1,
	}, n.key, key))(t)
	a := must(envelope.Decode[keyring.Agent](v))(t)
	caps := make([]string, len(can))
	for i, c := range can {
		caps[i] = string(c)
	}
	n.mu.Lock()
	n.agents[d] = key
	n.mu.Unlock()
	return self.AgentRow{Agent: d, Capabilities: caps, KID: a.Key.Kid, Kind: string(a.Kind), Name: name, NotAfter: a.NotAfter, NotBefore: a.NotBefore,
		Object: v.ID(), Org: n.Org, Pub: key.Public(), Serial: 1}
}

// Rekey makes the node hold another key for an agent.
func (n *Node) Rekey(d did.DID, key *envelopetest.Signer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.agents[d] = key
}

// Must returns the node's time.
func (n *Node) Must(t testing.TB) time.Time {
	t.Helper()
	return must(n.Clock.Now())(t)
}

// Know writes an agent's row, as the projection of its event does.
func (n *Node) Know(t testing.TB, row self.AgentRow) {
	t.Helper()
	if err := n.DB.Update(t.Context(), func(tx store.Tx) error { return n.PutAgent(tx, row) }); err != nil {
		t.Fatal(err)
	}
}

// Change changes an agent's row at one node.
func (n *Node) Change(t testing.TB, d did.DID, change func(*self.AgentRow)) {
	t.Helper()
	row := must(self.Agent(self.ViewGetter(t.Context(), n.DB), d))(t)
	change(&row)
	n.Know(t, row)
}

// Sync brings the log of n, as far as it is signed, to another node.
func (n *Node) Sync(t testing.TB, to *Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := n.Rec.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	for {
		from := uint64(0)
		if h, err := to.Rec.Head(ctx, n.Org); err == nil {
			from = h.Size
		}
		head := must(n.Rec.Head(ctx, n.Org))(t)
		if from >= head.Size {
			return
		}
		p := must(n.Rec.Package(ctx, n.Org, from, head.Size))(t)
		if _, err := to.Rec.Ingest(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
}

// Events lists the types of the events about a subject that a node holds, by
// organization and index.
func (n *Node) Events(t testing.TB, subject string) []string {
	t.Helper()
	var out []string
	for f, err := range n.Rec.Facts(t.Context(), attestation.Query{Subject: subject}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(f.Event.Body().Type))
	}
	return out
}
