package recorder_test

import (
	"context"
	"strings"
	"testing"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
)

// TestAnAgentsTaintIsItsOwn: what an agent did between the last moment that was surely its
// own and its revocation is in doubt, wherever the revocation arrives; what others did
// there stands.
func TestAnAgentsTaintIsItsOwn(t *testing.T) {
	thief := did.MustParse("did:key:" + seeded(0x31).kid())
	other := did.MustParse("did:key:" + seeded(0x32).kid())
	for name, parts := range map[string][]int{"in one package": {8}, "with the news alone": {7, 8}, "one by one": {1, 2, 3, 4, 5, 6, 7, 8}} {
		t.Run(name, func(t *testing.T) {
			acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
			f := &forged{p: acme}
			f.open(t)
			key := acme.keys[0]
			act := func(i int, actor did.DID) {
				d := plain(i)
				f.say(t, key, d.Type, d.Subject, d.Refs, d.Data, func(e *attestation.Event) { e.Actor = actor })
			}
			act(1, thief) // surely its own
			act(2, thief)
			act(3, other)
			act(4, did.DID{})
			act(5, thief)
			from := uint64(1)
			object := envelope.IDOf([]byte("object"))
			f.say(t, key, "agent.revoked", thief.String(), []envelope.ID{object},
				attestation.AgentRevoked{Agent: thief, Name: "quant", Reason: "key_compromise", TaintFrom: &from, ThroughSerial: 1}, nil)
			act(7, thief) // said after it was over: the taint is not about that
			n := listener(t, knows(acme, beta), beta)
			was := 0
			for _, to := range parts {
				if _, err := n.Ingest(context.Background(), f.pack(t, key, was, to, to)); err != nil {
					t.Fatal(err)
				}
				was = to
			}
			want := "valid valid disputed:taint valid valid disputed:taint valid valid"
			if got := strings.Join(n.standings(t, acme.did), " "); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
