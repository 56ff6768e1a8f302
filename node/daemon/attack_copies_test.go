package daemon

import (
	"context"
	"net/http"
	"testing"
	"time"

	"trustnode/node/httpapi"
	"trustnode/node/recorder"
)

// TestAnOldBackupDoesNotUndoAnEnd: a node that comes back from an old copy of its
// directory hears from the others what it had revoked, before it lends.
func TestAnOldBackupDoesNotUndoAnEnd(t *testing.T) {
	s := newSiege(t)
	s.remember(lent)
	l := s.lend(100)
	s.acme.stop()
	old := copyOf(t, s.acme, "old")
	s.acme.start()
	s.acme.waitFresh()
	s.acme.must(http.MethodPost, "/api/v1/permissions/"+l.ID+"/revoke", httpapi.LoanRevoke{Reason: "ended"}, nil)
	head := s.spread(t)
	s.acme.stop()
	old.start()
	s.acme = old
	ctx := context.Background()
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if code, b := s.post(callBody(s.asks(l.ID, nil), l.Permission)); code == http.StatusOK {
			got, _ := old.node.self.Rec.Head(ctx, old.cfg.Org)
			t.Fatalf("a loan that was revoked is lent again, with %d of %d entries of the own log here: %.60s", got.Size, head.Size, b)
		}
	}
	if got, _ := old.node.self.Rec.Head(ctx, old.cfg.Org); got.Size < head.Size {
		t.Errorf("the log has %d of %d entries", got.Size, head.Size)
	}
}

// TestAnOldBackupGivesNoReadTwice: reads that an older copy of the directory does not know
// of are not given again. Nobody knows how many there were, so the loan is used up.
func TestAnOldBackupGivesNoReadTwice(t *testing.T) {
	s := newSiege(t)
	s.remember(lent)
	l := s.lend(2)
	s.acme.stop()
	old := copyOf(t, s.acme, "old")
	s.acme.start()
	s.acme.waitFresh()
	for range 2 {
		if code, b := s.post(callBody(s.asks(l.ID, nil), l.Permission)); code != http.StatusOK {
			t.Fatalf("a read before the copy came back: %d %.200s", code, b)
		}
	}
	s.spread(t)
	s.acme.stop()
	old.start()
	s.acme = old
	old.waitFresh()
	for range 4 {
		if code, b := s.post(callBody(s.asks(l.ID, nil), l.Permission)); code == http.StatusOK {
			t.Fatalf("a read beyond the two of the loan was granted: %.60s", b)
		}
	}
}

// spread brings all that acme decided into its log, and the log to the others.
func (s siege) spread(t *testing.T) recorder.LogHead {
	t.Helper()
	ctx := context.Background()
	if err := s.acme.node.self.Rec.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	head, err := s.acme.node.self.Rec.Head(ctx, s.acme.cfg.Org)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "acme's log at both", func() bool {
		for _, h := range []*fort{s.vendor, s.arbiter} {
			if got, err := h.node.self.Rec.Head(ctx, s.acme.cfg.Org); err != nil || got.Size < head.Size {
				return false
			}
		}
		return true
	})
	return head
}
