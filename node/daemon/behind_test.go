package daemon

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// keep copies parts of a stopped seat's directory; the result puts them back.
func (s *seat) keep(parts ...string) (restore func()) {
	s.t.Helper()
	kept := s.t.TempDir()
	move := func(from, to string) {
		s.t.Helper()
		for _, p := range parts {
			if err := os.RemoveAll(filepath.Join(to, p)); err != nil {
				s.t.Fatal(err)
			}
			src := filepath.Join(from, p)
			st, err := os.Stat(src)
			switch {
			case err != nil:
				s.t.Fatal(err)
			case st.IsDir():
				err = os.CopyFS(filepath.Join(to, p), os.DirFS(src))
			default:
				var b []byte
				if b, err = os.ReadFile(src); err == nil {
					err = os.WriteFile(filepath.Join(to, p), b, 0o600)
				}
			}
			if err != nil {
				s.t.Fatal(err)
			}
		}
	}
	move(s.cfg.Dir, kept)
	return func() { s.t.Helper(); move(kept, s.cfg.Dir) }
}

// rotate replaces the issuer key.
func (s *seat) rotate() {
	s.t.Helper()
	time.Sleep(1100 * time.Millisecond) // times of entries are whole seconds
	s.must(http.MethodPost, "/api/v1/identities/rotate", httpapi.Rotation{Authority: httpapi.Authority{Passphrase: seatPass}, Reason: "scheduled"}, nil)
}

func isRecovering(err error) bool {
	var d *fault.Denied
	return errors.As(err, &d) && d.Code == fault.Refused && d.Reason == "recovering"
}

// behindTwo is a trio of which acme's databases are older than two of its rotations.
func behindTwo(t *testing.T) trio {
	x := newTrio(t)
	acme := x.acme.cfg.Org
	x.acme.stop()
	restore := x.acme.keep(stateDir, auditDir)
	x.acme.start()
	x.acme.waitFresh()
	x.acme.rotate()
	x.acme.rotate()
	head := x.acme.state(acme).ID
	for _, s := range []*seat{x.vendor, x.arbiter} {
		soon(t, "the rotations at "+s.cfg.Name, func() bool { return s.state(acme).ID == head })
	}
	x.acme.stop()
	restore()
	return x
}

// TestAStateBehindItsPinsIsFetchedFromPeers: databases older than two rotations come back
// beside newer pins. The node starts, says what it lacks, signs nothing, and goes on once
// the peers have given it its own entries.
func TestAStateBehindItsPinsIsFetchedFromPeers(t *testing.T) {
	x := behindTwo(t)
	acme := x.acme.cfg.Org
	head := x.vendor.state(acme).ID
	x.vendor.stop()
	x.arbiter.stop()
	x.acme.start()
	var st httpapi.Status
	x.acme.must(http.MethodGet, "/api/v1/status", nil, &st)
	const lacks = "state has entry 1 of our DID, pins name 3; signing is off"
	if st.State != "recovering" || !slices.ContainsFunc(st.Reasons, func(r string) bool { return strings.Contains(r, lacks) }) {
		t.Errorf("status %s: %v", st.State, st.Reasons)
	}
	for path, in := range map[string]any{
		"/api/v1/agents":            httpapi.AgentAdd{Name: "late", Can: []string{"lend"}},
		"/api/v1/identities/rotate": httpapi.Rotation{Authority: httpapi.Authority{Passphrase: seatPass}, Reason: "scheduled"},
	} {
		if err := x.acme.call(http.MethodPost, path, in, nil); !isRecovering(err) || !strings.Contains(err.Error(), lacks) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := x.acme.node.member.AcceptUnconfirmed(t.Context()); !isRecovering(err) {
		t.Errorf("by the operator's word: %v", err)
	}
	var shown httpapi.Identity
	if err := x.acme.call(http.MethodGet, "/api/v1/identities/self", nil, &shown); !isRecovering(err) || !strings.Contains(err.Error(), lacks) {
		t.Errorf("did show: %+v %v", shown, err)
	}
	x.vendor.start()
	x.arbiter.start()
	soon(t, "its own entries", func() bool {
		v, err := x.acme.node.self.Ring.Head(t.Context(), acme)
		return err == nil && v.ID == head
	})
	x.acme.waitFresh()
	x.goesOn()
}

// goesOn wants acme's own log to count at the others as if nothing had been.
func (x trio) goesOn() {
	t := x.acme.t
	t.Helper()
	acme := x.acme.cfg.Org
	x.acme.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "after", Can: []string{"lend"}, Project: "shelf"}, nil)
	x.remember("it prefers mail")
	loan := x.lend(3)
	soon(t, "a read of the loan", func() bool { _, err := x.read(loan.ID); return err == nil })
	x.acme.rotate()
	head := x.acme.state(acme).ID
	for _, s := range []*seat{x.vendor, x.arbiter} {
		soon(t, "the next rotation at "+s.cfg.Name, func() bool { return s.state(acme).ID == head })
		soon(t, "all of acme's log to count at "+s.cfg.Name, func() bool {
			own, err := x.acme.node.self.Rec.Head(t.Context(), acme)
			held, err2 := s.node.self.Rec.Head(t.Context(), acme)
			return err == nil && err2 == nil && own.Size == held.Size && s.counted(acme) == own.Size
		})
	}
}

// counted is how many events of a log count at a seat.
func (s *seat) counted(org interface{ String() string }) (n uint64) {
	s.t.Helper()
	var all httpapi.Events
	s.must(http.MethodGet, "/api/v1/events?any=true&limit=1000&org="+org.String(), nil, &all)
	for _, e := range all.Events {
		if e.Standing == "valid" {
			n++
		}
	}
	return n
}

// TestAloneAStateBehindItsPinsSignsNothing: without peers the node runs, and waits.
func TestAloneAStateBehindItsPinsSignsNothing(t *testing.T) {
	s := newSeat(t, "acme")
	s.start()
	s.stop()
	restore := s.keep(stateDir, auditDir)
	s.start()
	s.rotate()
	s.rotate()
	s.stop()
	restore()
	o, err := OpenOffline(t.Context(), s.cfg, []byte(seatPass), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, _, err := o.n.sign.Issuer(t.Context()); !isRecovering(err) {
		t.Errorf("the issuer key signs: %v", err)
	}
	err = httpapi.InProcess(o.Handler(), o.Token()).Call(t.Context(), http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "late", Can: []string{"lend"}}, nil)
	if !isRecovering(err) {
		t.Errorf("an agent is issued: %v", err)
	}
}

// TestAnEntryThatWasNeverAnnouncedIs: acme rotates while nobody hears it, its DID log gets to
// the others from its host, and then its disk dies with the key.rotated. An older copy fetches
// the entry, announces it under the key it still has, and goes on.
func TestAnEntryThatWasNeverAnnouncedIs(t *testing.T) {
	x := newTrio(t)
	acme := x.acme.cfg.Org
	others := []*seat{x.vendor, x.arbiter}
	x.acme.stop()
	restore := x.acme.keep(stateDir, auditDir, pinsFile)
	heard := map[*seat]uint64{}
	for _, s := range others {
		heard[s] = s.node.member.About(acme).BeaconN
	}
	x.acme.start()
	x.acme.waitFresh()
	for _, s := range others { // what gives the copy away
		soon(t, "a beacon of after the copy at "+s.cfg.Name, func() bool { return s.node.member.About(acme).BeaconN > heard[s] })
		s.stop()
	}
	x.acme.rotate()
	h, err := x.acme.node.self.Ring.History(t.Context(), acme)
	if err != nil {
		t.Fatal(err)
	}
	x.acme.stop()
	restore()
	for _, s := range others {
		s.offlineOffer(acme, h.After(1))
		s.start()
	}
	x.acme.start()
	x.acme.waitFresh()
	if v := x.acme.state(acme); v.ID != h.Head().ID {
		t.Errorf("acme is at %s, want %s", v.ID, h.Head().ID)
	}
	x.goesOn()
}
