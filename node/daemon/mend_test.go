package daemon

import (
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"trustnode/node/httpapi"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// TestADamagedLogIsRepairedFromPeers: an entry of the own log and one of a partner's, and a
// tile, are damaged while the node is down. It starts, takes back its own entry by itself and
// goes on; asked to, it takes back the rest; what is left is sound.
func TestADamagedLogIsRepairedFromPeers(t *testing.T) {
	x := newTrio(t)
	x.remember("the statement that is lent")
	l := x.lend(5)
	soon(t, "the loan at the others", func() bool {
		_, a := x.eventOf(x.vendor, "loan.issued", l.ID)
		_, b := x.eventOf(x.arbiter, "loan.issued", l.ID)
		return a && b
	})
	x.acme.stop()
	flipFirst(t, x.acme, x.acme.cfg.Org.String(), "en/")
	flipFirst(t, x.acme, x.vendor.cfg.Org.String(), "en/")
	flipFirst(t, x.acme, x.arbiter.cfg.Org.String(), "ti/")
	if r, err := Fsck(t.Context(), x.acme.cfg, FsckOptions{Log: slog.New(slog.DiscardHandler)}); err != nil || len(r.Faults) < 3 {
		t.Fatalf("%v %v", r.Faults, err)
	}
	x.acme.start()
	soon(t, "the own log to be open", func() bool { s, _ := x.acme.node.self.Rec.State(); return s == recorder.Open })
	var done httpapi.LogsRepaired
	soon(t, "the rest", func() bool { return x.acme.call(http.MethodPost, "/api/v1/logs/repair", nil, &done) == nil })
	soon(t, "the agent of the vendor, whose log is whole again", func() bool {
		return x.acme.call(http.MethodPost, "/api/v1/permissions", x.loanOf(5), nil) == nil
	})
	x.acme.stop()
	if r, err := Fsck(t.Context(), x.acme.cfg, FsckOptions{Log: slog.New(slog.DiscardHandler)}); err != nil || !r.OK {
		t.Errorf("%v %v", r.Faults, err)
	}
}

// flipFirst flips a bit in the middle of the first row of a log under a prefix.
func flipFirst(t *testing.T, s *seat, org, prefix string) {
	t.Helper()
	db, err := store.OpenBadger(filepath.Join(s.cfg.Dir, auditDir), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), func(tx store.Tx) error {
		num, err := tx.Get([]byte("lo/" + org))
		if err != nil {
			return err
		}
		k := prefix + string(num) + strings.Repeat("\x00", 8)
		if prefix == "ti/" {
			k += "\x00"
		}
		b, err := tx.Get([]byte(k))
		if err != nil {
			return err
		}
		b[len(b)/2] ^= 1
		return tx.Set([]byte(k), b)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
