package daemon

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/federation/charter"
	"trustnode/mediation"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
	"trustnode/node/store"
)

// finds reports in which databases of a seat's node a word stands.
func (s *seat) finds(word string) (out []string) {
	s.t.Helper()
	for name, db := range map[string]store.DB{"state": s.node.state, "audit": s.node.audit} {
		err := db.View(s.t.Context(), func(r store.Reader) error {
			return r.Scan(nil, nil, func(k, v []byte) bool {
				if bytes.Contains(k, []byte(word)) || bytes.Contains(v, []byte(word)) {
					out = append(out, name+" "+string(k[:min(8, len(k))]))
				}
				return true
			})
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return out
}

// eventOf is the one event of a type about a subject in acme's log, as a seat holds it.
func (x trio) eventOf(s *seat, typ attestation.Type, subject string) (attestation.Fact, bool) {
	s.t.Helper()
	for f, err := range s.node.self.Rec.Facts(s.t.Context(), attestation.Query{Org: x.acme.cfg.Org, Type: typ, Subject: subject}) {
		if err != nil {
			s.t.Fatal(err)
		}
		return f, true
	}
	return attestation.Fact{}, false
}

func (s *seat) rows(key string) int { s.t.Helper(); return len(s.rowIDs(key)) }

func (s *seat) rowIDs(key string) (out []envelope.ID) {
	s.t.Helper()
	err := s.node.self.Rec.RowsOf(s.t.Context(), key, func(_ uint64, r audit.Row) error {
		out = append(out, audit.ID(r))
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s *seat) dropDue(at time.Time) {
	s.t.Helper()
	if err := s.node.dropDue(s.t.Context(), at); err != nil {
		s.t.Fatal(err)
	}
}

// TestErasureAndAgeAmongWholeNodes: two loans, and a case about one of them. Of the other the
// origin erases the private body, the borrower's copy goes by itself, and its rows go with
// their age. Nothing goes of what the open case is about, and all that is left is sound.
func TestErasureAndAgeAmongWholeNodes(t *testing.T) {
	x := newTrio(t)
	x.remember("the statement that is lent")
	free, bound := x.lend(5), x.lend(5)
	for _, l := range []httpapi.Loan{free, bound} {
		if _, err := x.read(l.ID); err != nil {
			t.Fatal(err)
		}
	}
	x.acme.must(http.MethodPost, "/api/v1/permissions/"+bound.ID+"/revoke", httpapi.LoanRevoke{Reason: "ended"}, nil)
	if _, err := x.read(bound.ID); err == nil {
		t.Fatal("read after the end")
	}
	issued := map[string]attestation.Fact{}
	for _, l := range []httpapi.Loan{free, bound} {
		soon(t, "the private body at the borrower's", func() bool {
			f, ok := x.eventOf(x.vendor, "loan.issued", l.ID)
			issued[l.ID] = f
			return ok && f.Body != nil
		})
	}
	soon(t, "the filing", func() bool {
		return x.acme.call(http.MethodPost, "/api/v1/disputes", httpapi.DisputeFile{Loan: bound.ID, Reason: "R1", Relief: []string{"score"}}, nil) == nil
	})
	erase := func(l httpapi.Loan) (out httpapi.EventErased, err error) {
		err = x.acme.call(http.MethodPost, "/api/v1/events/"+issued[l.ID].Event.ID().String()+"/erase", nil, &out)
		return out, err
	}
	var d *fault.Denied
	if _, err := erase(bound); !errors.As(err, &d) || d.Code != fault.Refused || d.Reason != "cited" || d.Hint == "" {
		t.Errorf("erased from under an open case: %v", err)
	}
	for l, cited := range map[string]bool{bound.ID: true, free.ID: false} {
		for _, id := range x.acme.rowIDs(l) {
			ids, err := x.acme.node.means(t.Context(), id)
			c, err2 := x.acme.node.party.Cited(t.Context())
			if err := errors.Join(err, err2); err != nil || c.Any(ids...) != cited {
				t.Errorf("a row of %s means %v, cited: %v (%v)", l, ids, !cited, err)
			}
		}
	}
	for _, id := range x.acme.rowIDs(bound.ID) {
		if err := x.acme.call(http.MethodPost, "/api/v1/events/"+id.String()+"/erase", nil, nil); !errors.As(err, &d) || d.Reason != "cited" {
			t.Errorf("a row was erased from under an open case: %v", err)
		}
	}
	body := string(issued[free.ID].Body)
	if got := [2]int{len(x.acme.finds(body)), len(x.vendor.finds(body))}; got != [2]int{1, 1} {
		t.Fatalf("held %v times", got)
	}
	for _, already := range []bool{false, true} {
		e, err := erase(free)
		if err != nil || e.Already != already || e.Waits || e.Cause != "body" || len(e.Indexes) != 1 || e.Indexes[0] != issued[free.ID].Index {
			t.Errorf("%+v %v", e, err)
		}
	}
	if got := x.acme.finds(body); len(got) > 0 {
		t.Errorf("at its origin: %q", got)
	}
	soon(t, "log.erased at the borrower's", func() bool { _, ok := x.eventOf(x.vendor, "log.erased", ""); return ok })
	soon(t, "what the case cites at the borrower's", func() bool { // until then it keeps everything
		c, err := x.vendor.node.party.Cited(t.Context())
		return err == nil && !c.Any()
	})
	x.vendor.dropDue(time.Now())
	if got := x.vendor.finds(body); len(got) > 0 {
		t.Errorf("at the borrower's: %q", got)
	}
	if got := x.vendor.finds(string(issued[bound.ID].Body)); len(got) != 1 {
		t.Errorf("the body of the loan that is in a case: %q", got)
	}

	if got := [2]int{x.acme.rows(free.ID), x.acme.rows(bound.ID)}; got[0] < 1 || got[1] < 2 {
		t.Fatalf("%v rows", got)
	}
	bound1 := x.acme.rows(bound.ID)
	x.acme.dropDue(time.Now().Add(x.acme.node.keepRows() - time.Hour))
	if got := x.acme.rows(free.ID); got == 0 {
		t.Error("a row went before its age")
	}
	x.acme.dropDue(time.Now().Add(x.acme.node.keepRows() + time.Hour))
	if got := [2]int{x.acme.rows(free.ID), x.acme.rows(bound.ID)}; got != [2]int{0, bound1} {
		t.Errorf("%v rows are left of a loan without and one with an open case", got)
	}
	for _, s := range []*seat{x.acme, x.vendor} {
		s.stop()
		if r, err := Fsck(t.Context(), s.cfg, FsckOptions{Log: slog.New(slog.DiscardHandler)}); err != nil || !r.OK {
			t.Errorf("%s: %v %v", s.cfg.Name, r.Faults, err)
		}
	}
}

// TestTheLongestCaseOfACharter: rows outlive every wait of every rung, whatever the
// configuration says.
func TestTheLongestCaseOfACharter(t *testing.T) {
	day := uint64(24 * 3600)
	b := charter.Body{Members: make([]charter.Member, 3), Mediation: charter.Mediation{Ladder: []string{"neutral", "rotating"},
		RespondWithinS: day, EvidenceWithinS: 2 * day, AckWithinS: 4 * day, DecideWithinS: 8 * day, AppealWithinS: 16 * day, EnforceWithinS: 32 * day, VoteWithinS: 64 * day}}
	want := time.Duration(1+2+32+2*(3*4+8+16+64))*24*time.Hour + (3+2*6)*mediation.Grace
	if got := longestCase(b); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
