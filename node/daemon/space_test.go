package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// TestAFullDiskRefusesNewWork: below the reserve a running node refuses what is new and
// says so, answers on, still ends loans, and goes on by itself once there is room. A node
// that would have no room does not open.
func TestAFullDiskRefusesNewWork(t *testing.T) {
	s := newSeat(t, "acme")
	var free atomic.Uint64
	free.Store(1 << 40)
	say := func(string) (uint64, error) { return free.Load(), nil }
	s.startWith(Options{testingOnlyFree: say})
	var quant, research httpapi.Agent
	s.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "research", Can: []string{"lend"}, Project: "shelf"}, &research)
	s.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "quant", Can: []string{"borrow"}}, &quant)
	issue := httpapi.LoanIssue{Lender: "research", Borrower: quant.DID, Scope: "tag:client:acme", Purpose: "what it is for", Expires: "24h", MaxReads: 5}
	var loan httpapi.Loan
	s.must(http.MethodPost, "/api/v1/permissions", issue, &loan)

	free.Store(100 << 20)
	var err error
	soon(t, "the refusal", func() bool {
		err = s.call(http.MethodPost, "/api/v1/permissions", issue, nil)
		return err != nil
	})
	var d *fault.Denied
	if !errors.As(err, &d) || d.Code != fault.Unavailable || d.Reason != "no_space" || !strings.Contains(d.Error(), "100 MiB free, 192 needed") || d.Hint == "" {
		t.Errorf("%v %+v", err, d)
	}
	var st httpapi.Status
	s.must(http.MethodGet, "/api/v1/status", nil, &st)
	if !strings.Contains(strings.Join(st.Reasons, "\n"), "nearly full") {
		t.Errorf("status: %v", st.Reasons)
	}
	s.must(http.MethodPost, "/api/v1/permissions/"+loan.ID+"/revoke", httpapi.LoanRevoke{Reason: "ended"}, nil)

	free.Store(200 << 20) // above the reserve, and not yet by enough
	time.Sleep(2 * spaceEvery)
	if err := s.call(http.MethodPost, "/api/v1/permissions", issue, nil); err == nil {
		t.Error("new work is taken just above the reserve")
	}
	free.Store(1 << 40)
	soon(t, "new work to be taken again", func() bool { return s.call(http.MethodPost, "/api/v1/permissions", issue, nil) == nil })

	s.stop()
	free.Store(1 << 20)
	n, err := Open(context.Background(), s.cfg, Options{Passphrase: []byte(seatPass), Log: slog.New(slog.DiscardHandler), testingOnlyFree: say})
	if !errors.As(err, &d) || d.Reason != "no_space" {
		t.Errorf("it opens: %v %v", n, err)
	}
}
