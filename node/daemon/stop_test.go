package daemon

import "testing"

// TestACleanStopLeavesItsLastHeadToOthers: the rows that wait go into the log when the node
// stops, and the head over them to the members before the links end: were this disk lost
// now, nothing that was signed would be.
func TestACleanStopLeavesItsLastHeadToOthers(t *testing.T) {
	s := newSiege(t)
	s.remember(lent)
	loan := s.lend(3)
	s.acme.waitFresh()
	if err := s.acme.node.self.Rec.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := held(t, s.acme, s.acme.cfg.Org).Size
	if _, err := s.read(loan.ID); err != nil { // its row waits for a minute
		t.Fatal(err)
	}
	s.acme.stop()
	there := max(held(t, s.vendor, s.acme.cfg.Org).Size, held(t, s.arbiter, s.acme.cfg.Org).Size)
	s.acme.start()
	if here := held(t, s.acme, s.acme.cfg.Org).Size; here <= before || there != here {
		t.Errorf("the log had %d events, has %d after the stop, and the members hold %d", before, here, there)
	}
}
