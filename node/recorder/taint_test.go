package recorder_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
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

// TestAHeadVouchesForWhatItCovers: what was cosigned before a compromise was announced,
// by this organization or by a quorum of others, is not in doubt, whenever the
// cosignatures come; a cosignature of the announcement itself vouches for nothing.
func TestAHeadVouchesForWhatItCovers(t *testing.T) {
	ctx := context.Background()
	acme, beta, core, dora := newParty("acme", 0x11), newParty("beta", 0x21), newParty("core", 0x41), newParty("dora", 0x51)
	gone := newParty("gone", 0x61)
	old, next := acme.keys[0], seeded(0x15)
	acme.keys = append(acme.keys, next)
	f := &forged{p: acme}
	f.open(t)
	for i := range 4 {
		f.charter(t, old, i)
	}
	from := uint64(1)
	f.rotated(t, next, 1, "compromise", &from)
	f.charter(t, next, 9)
	doubt := "valid valid disputed:taint disputed:taint disputed:taint valid valid"
	some := "valid valid valid valid disputed:taint valid valid"
	cosigned := func(size int, s seedSigner, by ...*party) []byte {
		n := f.head(t, s, size)
		for _, p := range by {
			line, err := attlog.Cosign(ctx, p.witness, p.did, n, time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC))
			if err != nil {
				t.Fatal(err)
			}
			n = n.With(line)
		}
		return n.Bytes()
	}
	for _, c := range []struct {
		name string
		note []byte
		want string
	}{
		{"nobody", nil, doubt},
		{"this organization", cosigned(4, old, beta), some},
		{"a quorum of others", cosigned(4, old, core, dora), some},
		{"one of a quorum of two", cosigned(4, old, core), doubt},
		{"one of a quorum of two, and the origin", cosigned(4, old, core, acme), doubt},
		{"one of a quorum of two, and one that is no member any more", cosigned(4, old, core, gone), doubt},
		{"all, but for a head that covers the announcement", cosigned(6, next, beta, core, dora), doubt},
		{"all, for a head below the range", cosigned(2, old, beta, core, dora), doubt},
		{"all, right up to the announcement", cosigned(5, old, beta, core, dora), "valid valid valid valid valid valid valid"},
	} {
		for _, late := range []bool{false, true} {
			ring := knows(newParty("acme", 0x11), beta, core, dora, gone) // its second version comes later
			n := newNode(t, beta, ring)
			n.former = gone.did
			n.quorum = func() int { return 2 }
			n.start(t)
			bring := func() {
				if c.note == nil {
					return
				}
				if _, err := n.MergeNote(ctx, acme.did, c.note); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := n.Ingest(ctx, f.pack(t, old, 0, 5, 5)); err != nil {
				t.Fatal(err)
			}
			covers := c.name == "all, but for a head that covers the announcement"
			if !late && !covers {
				bring()
			}
			ring.learn(acme)
			if _, err := n.Ingest(ctx, f.pack(t, next, 5, 7, 7)); err != nil {
				t.Fatal(err)
			}
			if late || covers {
				bring()
			}
			if got := strings.Join(n.standings(t, acme.did), " "); got != c.want {
				t.Errorf("%s, late %v: got %s, want %s", c.name, late, got, c.want)
			}
		}
	}
}
