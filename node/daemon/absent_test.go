package daemon

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// Vendor's node is off: acme knows vendor's agent and checks what it signed all the same.
func TestReadWhileTheBorrowersNodeIsOff(t *testing.T) {
	s := newTrio(t)
	s.remember("prefers quarterly reports")
	l := s.lend(5)
	hand := s.vendor.hand(s.quant.DID)
	first, second := hand.asks(l, "asked while vendor runs, sent while it does not"), hand.asks(l, "the same again")
	s.vendor.stop()

	status, b, err := s.acme.posts(http.DefaultClient, first)
	if err != nil || status != http.StatusOK || seqOf(t, b) != 1 || !strings.Contains(string(b), "quarterly") {
		t.Fatalf("got %d %v: %s", status, err, b)
	}
	forged := strings.Replace(string(second), ".", ".AA", 1)
	if status, b, err := s.acme.posts(http.DefaultClient, []byte(forged)); err != nil || status == http.StatusOK {
		t.Errorf("a request with another signature: got %d %v: %s", status, err, b)
	}
	var a httpapi.LoanAudit
	s.acme.must(http.MethodGet, "/api/v1/permissions/"+l.ID+"/audit", nil, &a)
	if a.Granted != 1 || !a.GapFree {
		t.Errorf("%d granted, gap-free %v", a.Granted, a.GapFree)
	}
	// A loan to an agent whose node is off can be issued and ended.
	again := s.lend(1)
	s.acme.must(http.MethodPost, "/api/v1/permissions/"+again.ID+"/revoke", httpapi.LoanRevoke{Reason: "ended"}, nil)
}

// Acme's node is off: vendor's read fails closed, and says that nobody proved anything.
func TestReadWhileTheLendersNodeIsOff(t *testing.T) {
	s := newTrio(t)
	s.remember("prefers quarterly reports")
	l := s.lend(5)
	if a, err := s.read(l.Permission); err != nil || len(a.Entries) != 1 {
		t.Fatalf("while acme runs: %v %v", a, err)
	}
	s.acme.stop()

	a, err := s.read(l.ID)
	var d *fault.Denied
	if !errors.As(err, &d) {
		t.Fatalf("got %v %v, want a refusal", a, err)
	}
	const hint = "the lender did not confirm this loan; access has ended for now. Ask the lender, or agree availability in the pact"
	if d.Code != fault.Revoked || d.Receipt != "" || d.Hint != hint || fault.Exit(err) != fault.ExitRefused {
		t.Errorf("got %s %q, receipt %q, hint %q, exit %d", d.Code, d.Reason, d.Receipt, d.Hint, fault.Exit(err))
	}
	// It comes back: so does the loan.
	s.acme.start()
	s.acme.waitFresh()
	soon(t, "a read after acme came back", func() bool {
		a, err := s.read(l.ID)
		return err == nil && a.Receipt.Seq == 2
	})
}

// What happened while a node was off is there soon after it starts, unasked.
func TestANodeCatchesUp(t *testing.T) {
	s := newTrio(t)
	s.arbiter.stop()
	s.remember("prefers quarterly reports")
	l := s.lend(5)
	if _, err := s.read(l.Permission); err != nil {
		t.Fatal(err)
	}
	s.acme.must(http.MethodPost, "/api/v1/permissions/"+l.ID+"/revoke", httpapi.LoanRevoke{Reason: "ended"}, nil)
	want := s.acme.told(t, s.acme.cfg.Org.String())
	s.arbiter.start()
	soon(t, "every event of acme at arbiter", func() bool {
		got := s.arbiter.told(t, s.acme.cfg.Org.String())
		for id := range want {
			if !got[id] {
				return false
			}
		}
		return len(want) >= 4
	})
}

// told is the set of events of an organization that a node holds. Acme's decisions are in
// its log a moment after they are acknowledged.
func (h *seat) told(t *testing.T, org string) map[string]bool {
	t.Helper()
	soon(t, "an empty outbox", func() bool {
		var st httpapi.Status
		return h.call(http.MethodGet, "/api/v1/status", nil, &st) == nil && st.Log.Waiting == 0 || org != h.cfg.Org.String()
	})
	var l httpapi.Events
	h.must(http.MethodGet, "/api/v1/events?limit=1000&org="+org, nil, &l)
	out := map[string]bool{}
	for _, e := range l.Events {
		out[e.ID] = true
	}
	return out
}

// A directory that another process has open is refused, and the holder named; one that a
// command has open is waited for.
func TestLock(t *testing.T) {
	h := newSeat(t, "solo")
	ctx := t.Context()
	l, err := acquire(ctx, h.cfg.Dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	if who, held := Held(h.cfg.Dir); !held || who.PID == 0 || who.HTTP != "" {
		t.Errorf("held %v by %+v", held, who)
	}
	if _, err := acquire(ctx, h.cfg.Dir, 0); !errors.Is(err, ErrLocked) || fault.Of(err) != fault.Conflict {
		t.Errorf("a second process: %v", err)
	}
	if err := l.say("127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	who, held := Held(h.cfg.Dir)
	if !held || who.HTTP != "127.0.0.1:1" {
		t.Errorf("held %v by %+v", held, who)
	}
	if _, err := acquire(ctx, h.cfg.Dir, time.Hour); !errors.Is(err, ErrLocked) {
		t.Errorf("while a node runs: %v", err)
	}
	if err := l.say(""); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = l.release() })
	next, err := acquire(ctx, h.cfg.Dir, time.Minute)
	if err != nil {
		t.Fatalf("after a command ended: %v", err)
	}
	if err := next.release(); err != nil {
		t.Error(err)
	}
	if who, held := Held(h.cfg.Dir); held {
		t.Errorf("held by %+v after it was let go", who)
	}
}
