package daemon

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

func (s *seat) agent(who string) (a httpapi.AgentInfo) {
	s.t.Helper()
	s.must(http.MethodGet, "/api/v1/agents/"+who, nil, &a)
	return a
}

func (s *seat) revokeAgent(who, reason string) (r httpapi.AgentRevoked) {
	s.t.Helper()
	s.must(http.MethodPost, "/api/v1/agents/"+who+"/revoke", httpapi.AgentRevoke{Reason: reason}, &r)
	return r
}

// TestARevokedLenderAcrossOrganizations: no read that begins after the revocation returned
// is answered, whatever is under way; the borrower's node learns of it from the log.
func TestARevokedLenderAcrossOrganizations(t *testing.T) {
	x := newTrio(t)
	x.remember("what is lent")
	loan := x.lend(100_000)
	if a, err := x.read(loan.ID); err != nil || len(a.Entries) != 1 {
		t.Fatalf("before: %+v, %v", a, err)
	}
	var over atomic.Bool
	var answered atomic.Int64
	var all sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				late := over.Load()
				a, err := x.read(loan.ID)
				if err == nil && late {
					t.Errorf("a read that began after revoke returned was answered: %+v", a)
				}
				if err == nil {
					answered.Add(1)
				}
			}
		})
	}
	soon(t, "reads under way", func() bool { return answered.Load() > 4 })
	r := x.acme.revokeAgent("research", "misuse")
	over.Store(true)
	for range 5 {
		if a, err := x.read(loan.ID); err == nil {
			t.Errorf("answered %+v", a)
		}
	}
	close(stop)
	all.Wait()
	if r.Loans != 1 || r.Index == nil {
		t.Errorf("got %+v", r)
	}
	soon(t, "the revocation at the borrower's", func() bool {
		a := x.vendor.agent(loan.Lender)
		return a.State == "revoked" && a.RevokedAt != nil && *a.RevokedAt == *r.Index && a.Reason == "misuse"
	})
	soon(t, "the end of the loan at the borrower's", func() bool {
		var e httpapi.Events
		x.vendor.must(http.MethodGet, "/api/v1/events?type=loan.ended&subject="+loan.ID, nil, &e)
		return len(e.Events) == 1
	})
}

// TestARevokedBorrowerAcrossOrganizations: whoever has the key of a revoked agent reads
// nothing where the revocation is known, and its own node signs nothing for it.
func TestARevokedBorrowerAcrossOrganizations(t *testing.T) {
	x := newTrio(t)
	x.remember("what is lent")
	loan := x.lend(100)
	hand := x.vendor.hand(x.quant.DID) // the thief
	if code, body, err := x.acme.posts(http.DefaultClient, hand.asks(loan, "before")); err != nil || code != http.StatusOK {
		t.Fatalf("before: %d %s %v", code, body, err)
	}
	x.vendor.revokeAgent("quant", "key_compromise")
	_, err := x.read(loan.ID)
	if d := fault.From(err); d == nil || d.Code != fault.Refused || d.Hint == "" {
		t.Errorf("its own node: %v", err)
	}
	soon(t, "the revocation at the lender's", func() bool { return x.acme.agent(x.quant.DID).State == "revoked" })
	code, body, err := x.acme.posts(http.DefaultClient, hand.asks(loan, "after"))
	if err != nil || code < 400 || strings.Contains(string(body), "what is lent") {
		t.Errorf("the thief got %d %s, %v", code, body, err)
	}
	// It comes back under its name with another key; the old loan does not.
	var next httpapi.Agent
	x.vendor.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "quant", Can: []string{"borrow"}}, &next)
	if next.DID == x.quant.DID || next.Serial != 2 {
		t.Errorf("it came back as %+v", next)
	}
	soon(t, "the new one at the lender's", func() bool {
		var a httpapi.AgentInfo
		return x.acme.call(http.MethodGet, "/api/v1/agents/"+next.DID, nil, &a) == nil && a.State == "live"
	})
	if a, err := x.read(loan.ID); err == nil {
		t.Errorf("the new one reads the old one's loan: %+v", a)
	}
}
