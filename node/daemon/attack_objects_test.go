package daemon

import (
	"context"
	"errors"
	"testing"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/federation/gossip"
	"trustnode/node/httpapi"
)

// TestAMemberCannotNameItsWayToPrivateThings: the ids of permissions, revocations and
// private bodies stand in events that every member holds. Naming one of them as the public
// body of an own event must not make it public.
func TestAMemberCannotNameItsWayToPrivateThings(t *testing.T) {
	s := newSiege(t)
	s.remember("acme sells at 12")
	l := s.lend(3)
	if _, err := s.read(l.ID); err != nil {
		t.Fatal(err)
	}
	s.acme.must("POST", "/api/v1/permissions/"+l.ID+"/revoke", map[string]string{"reason": "ended", "text": "secret reason"}, nil)
	if _, err := s.read(l.ID); err == nil {
		t.Fatal("read after the end")
	}
	acme, ctx := s.acme.node, context.Background()
	eventually(t, "acme's rows in its log", func() bool { return acme.self.Rec.Flush(ctx) == nil })

	private := map[string]envelope.ID{}
	for f, err := range acme.self.Rec.Facts(ctx, attestation.Query{Org: s.acme.cfg.Org}) {
		if err != nil {
			t.Fatal(err)
		}
		e := f.Event.Body()
		if !e.Body.IsZero() {
			private["body of "+string(e.Type)] = e.Body
		}
		switch e.Type {
		case "loan.issued":
			private["permission"] = e.Refs[0]
		case "loan.revoked":
			private["revocation"] = e.Refs[0]
		}
	}
	for _, what := range []string{"permission", "revocation", "body of loan.issued", "body of loan.revoked", "body of audit.rows"} {
		if private[what].IsZero() {
			t.Fatalf("the story has no %s", what)
		}
	}

	s.arbiter.stop()
	s.arbiter.offline(func(_ *httpapi.Client, n *Node) {
		var evil []attestation.Event
		for _, id := range private {
			for _, typ := range []attestation.Type{"dispute.filed", "dispute.answered", "ruling.seated", "ruling.issued", "fork.proven"} {
				ev := attestation.Event{Type: typ, Subject: id.String(), Body: id}
				if typ == "fork.proven" {
					ev.Subject = ""
					ev.Data = canon(t, attestation.ForkProven{A: id, B: id, Kind: "log"})
				}
				evil = append(evil, ev)
			}
		}
		s.arbiter.tells(n, acme, evil...)
	})
	for what, id := range private {
		if l, err := (objects{acme}).Give(ctx, s.arbiter.cfg.Org, id); !errors.Is(err, gossip.ErrAbsent) {
			t.Errorf("a %s was given to a member it is not for: %T %v", what, l, err)
		}
	}
}
