package daemon

import (
	"encoding/binary"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trustnode/attestation"
	"trustnode/node/store"
)

// TestFsckJudgesEventsAnewOnRequest: a stored standing that is not what the event's bytes say
// passes a plain fsck, which says that it did not look, and is named by --rebuild.
func TestFsckJudgesEventsAnewOnRequest(t *testing.T) {
	s, _ := offlineBackup(t)
	rebuild := func() FsckReport {
		t.Helper()
		var done, total uint64
		r, err := Fsck(t.Context(), s.cfg, FsckOptions{Rebuild: true, Judging: func(d, of uint64) { done, total = d, of }, Log: slog.New(slog.DiscardHandler)})
		if err != nil || done != total || total != r.Entries {
			t.Fatalf("%v: %d of %d of %d", err, done, total, r.Entries)
		}
		return r
	}
	if r := rebuild(); !r.OK || r.Verdicts == nil || *r.Verdicts != (FsckVerdicts{Events: r.Entries}) {
		t.Fatalf("%+v", r)
	}
	db, err := store.OpenBadger(filepath.Join(s.cfg.Dir, auditDir), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), func(tx store.Tx) error {
		num, err := tx.Get([]byte("lo/" + s.cfg.Org.String()))
		if err != nil {
			return err
		}
		k := binary.BigEndian.AppendUint64(slices.Concat([]byte("st/"), num), 1)
		return tx.Set(k, append([]byte{byte(attestation.Void), byte(attestation.Authored)}, "cutoff"...))
	})
	if err != nil || db.Close() != nil {
		t.Fatal(err)
	}
	if r, err := Fsck(t.Context(), s.cfg, FsckOptions{Log: slog.New(slog.DiscardHandler)}); err != nil || !r.OK || r.Verdicts != nil {
		t.Errorf("a plain fsck: %+v %v", r, err)
	}
	r := rebuild()
	if r.OK || len(r.Faults) != 1 || r.Faults[0].Index == nil || *r.Faults[0].Index != 1 || !strings.Contains(r.Faults[0].What, "stored as authored, void (cutoff), and its bytes and key say authored, valid") {
		t.Errorf("%+v", r.Faults)
	}
}
