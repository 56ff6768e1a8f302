package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// TestTheBallastIsRoomToBeFreed: it is made when the node runs, counts in the reserve, is
// named where deleting it helps, and comes back only once there is room for it.
func TestTheBallastIsRoomToBeFreed(t *testing.T) {
	s := newSeat(t, "acme")
	s.cfg.Ballast = 3<<20 + 17
	name := filepath.Join(s.cfg.Dir, BallastFile)
	var free atomic.Uint64
	free.Store(1 << 40)
	say := func(string) (uint64, error) { return free.Load(), nil }
	s.startWith(Options{testingOnlyFree: say})
	soon(t, "the ballast", func() bool { held, err := ballastSize(name); return err == nil && held == s.cfg.Ballast })
	if b, err := os.ReadFile(name); err != nil || bytes.Count(b, []byte{0}) > len(b)/8 {
		t.Errorf("a file system may hold it in less room than it says (%v)", err)
	}
	var quant httpapi.Agent
	s.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "research", Can: []string{"lend"}, Project: "shelf"}, nil)
	s.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "quant", Can: []string{"borrow"}}, &quant)

	free.Store(194 << 20) // enough without a ballast
	issue := httpapi.LoanIssue{Lender: "research", Borrower: quant.DID, Scope: "tag:client:acme", Purpose: "what it is for", Expires: "24h", MaxReads: 5}
	var d *fault.Denied
	soon(t, "the refusal", func() bool {
		err := s.call(http.MethodPost, "/api/v1/permissions", issue, nil)
		return errors.As(err, &d) && d.Reason == "no_space"
	})
	if !strings.Contains(d.Error(), "194 MiB free, 195 needed") || d.Hint != "free space or delete DIR/ballast; appends resume by themselves, and ends of loans, rotations and erasures are taken all the time" {
		t.Errorf("%v, hint: %s", d, d.Hint)
	}
	s.stop()

	free.Store(1 << 20)
	_, err := Open(context.Background(), s.cfg, Options{Passphrase: []byte(seatPass), Log: slog.New(slog.DiscardHandler), testingOnlyFree: say})
	if !errors.As(err, &d) || d.Reason != "no_space" || !strings.Contains(d.Hint, "delete "+name) {
		t.Errorf("%v", err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	n := &Node{cfg: s.cfg}
	for _, c := range []struct {
		room uint64
		made bool
	}{{1 << 20, false}, {n.reserve(), false}, {n.roomAgain() + s.cfg.Ballast - 1, false}, {n.roomAgain() + s.cfg.Ballast, true}, {0, true}} {
		if err := n.tendBallast(t.Context(), c.room); err != nil {
			t.Fatal(err)
		}
		if held, err := ballastSize(name); err != nil || (held > 0) != c.made {
			t.Errorf("with %d bytes free there are %d (%v)", c.room, held, err)
		}
	}
	n.cfg.Ballast = 0
	if err := n.tendBallast(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if held, err := ballastSize(name); err != nil || held != 0 {
		t.Errorf("%d bytes are held where none are wanted (%v)", held, err)
	}
}

// TestABallastThatWasNotFinishedIsNone: one that is cut short has no name, and the next is whole.
func TestABallastThatWasNotFinishedIsNone(t *testing.T) {
	name := filepath.Join(t.TempDir(), BallastFile)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := makeBallast(ctx, name, 5<<20); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if left, _ := filepath.Glob(name + "*"); len(left) > 0 {
		t.Errorf("%q", left)
	}
	if err := makeBallast(t.Context(), name, 5<<20); err != nil {
		t.Fatal(err)
	}
	if held, err := ballastSize(name); err != nil || held != 5<<20 {
		t.Errorf("%d bytes (%v)", held, err)
	}
}

// TestABallastOfAKilledProcessIsTakenAway: when the node is opened, on a full disk too, and
// when it looks after the ballast, where what goes counts as room.
func TestABallastOfAKilledProcessIsTakenAway(t *testing.T) {
	s := newSeat(t, "acme")
	s.cfg.Ballast = 0
	name := filepath.Join(s.cfg.Dir, BallastFile)
	leave := func(size int) {
		t.Helper()
		if err := os.WriteFile(name+".tmp", make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	none := func(when string) {
		t.Helper()
		if _, err := os.Stat(name + ".tmp"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", when, err)
		}
	}
	leave(5 << 20)
	full := func(string) (uint64, error) { none("when the room was asked for"); return 1 << 20, nil }
	if _, err := Open(t.Context(), s.cfg, Options{Passphrase: []byte(seatPass), Log: slog.New(slog.DiscardHandler), testingOnlyFree: full}); err == nil {
		t.Fatal("opened on a full disk")
	}
	n := &Node{cfg: s.cfg}
	n.cfg.Ballast = 3 << 20
	for _, size := range []int{0, 5 << 20} {
		leave(size)
		if err := n.tendBallast(t.Context(), n.roomAgain()+n.cfg.Ballast-5<<20); err != nil {
			t.Fatal(err)
		}
		none("when the ballast was looked after")
		if held, err := ballastSize(name); err != nil || (held > 0) != (size > 0) {
			t.Errorf("%d bytes after %d went (%v)", held, size, err)
		}
	}
	leave(5 << 20)
	if err := n.tendBallast(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	none("beside a whole one")
}
