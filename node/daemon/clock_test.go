package daemon

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did/envelope"
	"trustnode/node/httpapi"
)

// TestAClockThatIsAheadIsShown (03, section 7): acme had cosigned a head over an event an hour
// before the time that the event gives itself. That is shown with it, and moves nothing.
func TestAClockThatIsAheadIsShown(t *testing.T) {
	s := newSiege(t)
	s.vendor.stop()
	org := s.vendor.cfg.Org
	var from uint64
	s.vendor.offline(func(_ *httpapi.Client, n *Node) {
		key, kid, err := n.sign.Issuer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		edge := n.events.Edge(org)
		from = edge.End()
		s.vendor.catchUp(n, s.acme.node, from)
		fed, _ := s.acme.node.member.Seams().Members.Head()
		ref := envelope.IDOf([]byte("about"))
		p := attestation.Package{Did: org, Federation: fed.Federation, From: from, Entries: []attestation.Entry{s.vendor.signed(attestation.Event{Type: "charter.signed",
			Subject: ref.String(), Refs: []envelope.ID{ref}, Data: canon(t, attestation.CharterSigned{Body: ref, Seq: 1 << 20})}, key, kid)}}
		if err := edge.Append(p.Entries[0].Hash()); err != nil {
			t.Fatal(err)
		}
		root, err := edge.Root()
		if err != nil {
			t.Fatal(err)
		}
		note, err := attlog.Sign(t.Context(), key, org, attestation.Head{Size: edge.End(), Root: root})
		if err != nil {
			t.Fatal(err)
		}
		w, err := s.acme.node.sign.witness(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		line, err := attlog.Cosign(t.Context(), w, s.acme.cfg.Org, note, time.Now().Add(-time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		note.Lines = append(note.Lines, line)
		p.Note = note.Bytes()
		if res, err := s.acme.node.self.Rec.Ingest(t.Context(), p); err != nil || res.Fresh != 1 {
			t.Fatalf("%v %v", res, err)
		}
	})
	var l httpapi.Events
	s.acme.must(http.MethodGet, "/api/v1/events?limit=1000&org="+url.QueryEscape(org.String()), nil, &l)
	if e := l.Events[len(l.Events)-1]; e.Index != from || e.Clock == nil || *e.Clock < 3000 || *e.Clock > 3700 || e.Standing != "valid" {
		t.Errorf("%+v", e)
	}
	var own httpapi.Events
	s.acme.must(http.MethodGet, "/api/v1/events?limit=1000&org=self", nil, &own)
	for _, e := range own.Events { // of which it is no witness
		if e.Clock != nil {
			t.Errorf("an own event: %+v", e)
		}
	}
}
