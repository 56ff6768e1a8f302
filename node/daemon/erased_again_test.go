package daemon

import (
	"net/http"
	"strings"
	"testing"

	"trustnode/attestation"
	"trustnode/node/httpapi"
)

// TestWhatWasErasedAfterABackupDoesNotComeBack: a private body and a row are erased after a
// backup. It is restored, peers bring the own log, and both are gone again without anybody
// asking, with no further log.erased. Of two rows that nothing tells apart doctor speaks until
// one is named.
func TestWhatWasErasedAfterABackupDoesNotComeBack(t *testing.T) {
	x := newTrio(t)
	x.remember("the statement that is lent")
	loan := x.lend(9)
	read := func() {
		if _, err := x.read(loan.ID); err != nil {
			t.Fatal(err)
		}
	}
	bound := func() { // what was read so far lies under an audit.rows of its own
		if err := x.acme.node.self.Rec.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	bound()
	other := len(x.acme.rowIDs(loan.ID)) // rows that are of no read
	read()
	bound()
	read()
	read()
	bound()
	rows := x.acme.rowIDs(loan.ID)[other:]
	issued, ok := x.eventOf(x.acme, "loan.issued", loan.ID)
	if !ok || issued.Body == nil || len(rows) != 3 {
		t.Fatalf("%v, %d rows", ok, len(rows))
	}
	body := string(issued.Body)
	name := x.acme.backup()
	for _, id := range []string{issued.Event.ID().String(), rows[0].String(), rows[2].String()} {
		x.acme.must(http.MethodPost, "/api/v1/events/"+id+"/erase", nil, nil)
	}
	said := func() (n int) {
		for range x.acme.node.self.Rec.Facts(t.Context(), attestation.Query{Org: x.acme.cfg.Org, Type: "log.erased"}) {
			n++
		}
		return n
	}
	if said() != 3 {
		t.Fatalf("%d log.erased", said())
	}
	acme, own := x.acme.cfg.Org, x.acme.ownSize()
	soon(t, "all of the log at the vendor", func() bool {
		h, err := x.vendor.node.self.Rec.Head(t.Context(), acme)
		return err == nil && h.Size >= own
	})
	x.acme.stop()
	x.acme.restored(name)
	x.acme.start()
	x.acme.waitFresh()
	soon(t, "the body to go again", func() bool { return len(x.acme.finds(body)) == 0 })
	if got := x.acme.rowIDs(loan.ID)[other:]; len(got) != 2 || got[0] != rows[1] || got[1] != rows[2] {
		t.Errorf("rows %v of %v", got, rows)
	}
	back := func() (out []httpapi.Check) {
		var d httpapi.Doctor
		x.acme.must(http.MethodGet, "/api/v1/doctor", nil, &d)
		for _, c := range d.Checks {
			if strings.Contains(c.What, "came back") {
				out = append(out, c)
			}
		}
		return out
	}
	if c := back(); len(c) != 1 || c[0].Level != httpapi.LevelFail || !strings.Contains(c[0].What, rows[1].String()) || !strings.Contains(c[0].What, rows[2].String()) || !strings.Contains(c[0].Hint, "event erase ID") {
		t.Errorf("doctor: %+v", c)
	}
	var e httpapi.EventErased
	x.acme.must(http.MethodPost, "/api/v1/events/"+rows[2].String()+"/erase", nil, &e)
	if got := x.acme.rowIDs(loan.ID)[other:]; e.Already || len(got) != 1 || got[0] != rows[1] || len(back()) > 0 {
		t.Errorf("%+v: rows %v; %+v", e, got, back())
	}
	if said() != 3 {
		t.Errorf("%d log.erased, said before were 3", said())
	}
	x.acme.stop()
	if r := x.acme.fsck(); !r.OK {
		t.Errorf("%+v", r.Faults)
	}
}
