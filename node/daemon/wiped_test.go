package daemon

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/node/recorder"
)

// TestAWipedNodeRegainsAllFromAnyOnePeer is I-16: all logs of a node are gone, and one peer
// is there, whichever. The node takes every log back from it, its own as well, signs nothing
// before that, and goes on.
func TestAWipedNodeRegainsAllFromAnyOnePeer(t *testing.T) {
	s := newSiege(t)
	s.remember(lent)
	loan := s.lend(3)
	if _, err := s.read(loan.ID); err != nil {
		t.Fatal(err)
	}
	var wrote []envelope.ID
	for i := range 300 { // more than one batch
		id, err := s.acme.drafted(i)
		if err != nil {
			t.Fatal(err)
		}
		wrote = append(wrote, id)
	}
	all := []*fort{s.acme, s.vendor, s.arbiter}
	settle := func() {
		t.Helper()
		for _, h := range all { // else a clean stop puts the rows that wait into the log, and no peer hears of it
			h.waitFresh()
			if err := h.node.self.Rec.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, log := range all {
			eventually(t, "the log of "+log.cfg.Name+" at all", func() bool {
				want := held(t, log, log.cfg.Org)
				return !slices.ContainsFunc(all, func(h *fort) bool { return held(t, h, log.cfg.Org) != want })
			})
		}
	}
	for _, from := range []*fort{s.vendor, s.arbiter} {
		t.Run("from "+from.cfg.Name, func(t *testing.T) {
			settle()
			for _, h := range all {
				h.stop()
			}
			if err := os.RemoveAll(filepath.Join(s.acme.cfg.Dir, auditDir)); err != nil {
				t.Fatal(err)
			}
			s.acme.start()
			if state, _ := s.acme.node.self.Rec.State(); state != recorder.Recovering {
				t.Errorf("with nothing, the log is %s", state)
			}
			from.start()
			for _, log := range all {
				d := log.cfg.Org
				eventually(t, "the log of "+log.cfg.Name, func() bool { return held(t, s.acme, d).Size >= held(t, from, d).Size })
				a, b := entriesAt(t, s.acme, d), entriesAt(t, from, d)
				if n := min(len(a), len(b)); !slices.EqualFunc(a[:n], b[:n], func(x, y attestation.Entry) bool { return bytes.Equal(x, y) }) {
					t.Errorf("the log of %s came back as another", log.cfg.Name)
				}
			}
			if !holds(t, s.acme, s.acme.cfg.Org, wrote) {
				t.Error("own events are lost")
			}
			for _, h := range all { // a second peer must confirm the own head before anything is signed
				if h != s.acme && h != from {
					h.start()
				}
			}
			s.acme.waitFresh()
			id, err := s.acme.drafted(1000)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.acme.node.self.Rec.WaitLogged(t.Context(), id); err != nil {
				t.Error(err)
			}
			eventually(t, "what it writes then", func() bool { return held(t, s.acme, s.acme.cfg.Org) == held(t, from, s.acme.cfg.Org) })
			if from.node.self.Rec.Forked(s.acme.cfg.Org) {
				t.Error("it has forked its log")
			}
		})
	}
}
