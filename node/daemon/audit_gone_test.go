package daemon

import (
	"net/http"
	"testing"
	"time"

	"trustnode/node/httpapi"
)

// TestAnAuditTellsOfRowsThatAreGone: of three reads one row is erased, then all are past
// their age. The audit counts three reads all along, tells what became of each row, and
// sees no gap.
func TestAnAuditTellsOfRowsThatAreGone(t *testing.T) {
	x := newTrio(t)
	x.remember("the statement that is lent")
	loan, other := x.lend(9), x.lend(9)
	for _, l := range []httpapi.Loan{loan, other, loan, loan} {
		if _, err := x.read(l.ID); err != nil {
			t.Fatal(err)
		}
	}
	audit := func() (a httpapi.LoanAudit) {
		x.acme.must(http.MethodGet, "/api/v1/permissions/"+loan.ID+"/audit", nil, &a)
		return a
	}
	was := audit()
	if was.Granted != 3 || !was.GapFree || was.Gone != nil {
		t.Fatalf("%+v", was)
	}
	second := ""
	for _, r := range was.Rows {
		if r.Seq == 2 {
			second = r.ID
		}
	}
	var e httpapi.EventErased
	x.acme.must(http.MethodPost, "/api/v1/events/"+second+"/erase", nil, &e)
	is := audit()
	if is.Granted != 3 || !is.GapFree || len(is.Gone) != 1 || is.Gone[0].Seq != 2 || is.Gone[0].Erased == nil || len(is.Rows) != len(was.Rows)-1 {
		t.Errorf("one is erased: %+v", is)
	} else if entry := x.acme.entryType(*is.Gone[0].Erased); entry != "log.erased" {
		t.Errorf("at %d stands %s", *is.Gone[0].Erased, entry)
	}
	x.acme.dropDue(time.Now().Add(x.acme.node.keepRows() + time.Hour))
	if is = audit(); is.Granted != 3 || !is.GapFree || len(is.Gone) != 3 {
		t.Errorf("all are past their age: %+v", is)
	}
}

// entryType is the type of the event at an index of a seat's own log.
func (s *seat) entryType(index uint64) string {
	s.t.Helper()
	var l httpapi.Events
	s.must(http.MethodGet, "/api/v1/events?org=self&any=true&limit=1000", nil, &l)
	for _, e := range l.Events {
		if e.Index == index {
			return e.Says().Type
		}
	}
	return ""
}
