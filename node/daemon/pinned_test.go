package daemon

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/keys"
	"trustnode/did/pins"
	"trustnode/node/fault"
	"trustnode/node/store"
)

// TestANodeStartsAfterACrashBetweenPinAndState: the pin of an own entry is durable before
// the state is. A node that was cut there goes on with the entry it had built; one whose
// state is old, and that built none, does not start.
func TestANodeStartsAfterACrashBetweenPinAndState(t *testing.T) {
	for name, built := range map[string]bool{"its entry was built here": true, "its state is old": false} {
		t.Run(name, func(t *testing.T) {
			s := newSeat(t, "acme")
			version := s.cutAfterPin(built)
			o, err := OpenOffline(t.Context(), s.cfg, []byte(seatPass), slog.New(slog.DiscardHandler))
			if !built {
				var d *fault.Denied
				if !errors.As(err, &d) || d.Reason != "recovering" {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			if v, err := o.n.self.Ring.Head(t.Context(), s.cfg.Org); err != nil || v.ID != version {
				t.Errorf("head %+v, %v, built was %s", v, err, version)
			}
			if _, _, err := o.n.sign.Issuer(t.Context()); err != nil {
				t.Errorf("its key: %v", err)
			}
		})
	}
}

// cutAfterPin leaves the directory of a seat as a crash does in the middle of the last step
// of a rotation.
func (s *seat) cutAfterPin(built bool) string {
	s.t.Helper()
	ctx := s.t.Context()
	ok := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	open := func(name string) *keys.Store {
		k, err := keys.Open(filepath.Join(s.cfg.Dir, name), []byte(seatPass))
		ok(err)
		s.t.Cleanup(func() { k.Close() })
		return k
	}
	update, own := open(updateDir), open(keysDir)
	p, err := pins.Open(filepath.Join(s.cfg.Dir, pinsFile), time.Now)
	ok(err)
	db, err := store.OpenBadger(filepath.Join(s.cfg.Dir, stateDir), slog.New(slog.DiscardHandler))
	ok(err)
	ring := keyring.New(store.NewRing(db), p, time.Now)
	ok(ring.Load(ctx))
	h, err := ring.History(ctx, s.cfg.Org)
	ok(err)
	shown, err := update.List(ctx)
	ok(err)
	by, err := update.Signer(ctx, shown[0])
	ok(err)
	next, err := update.Generate(ctx)
	ok(err)
	issuer, err := own.Generate(ctx)
	ok(err)
	line, err := didwebvh.Rotate(ctx, h, didwebvh.RotateRequest{Update: by, Next: next.Public(), Issuer: issuer.Public(), At: time.Now()})
	ok(err)
	version := didwebvh.VersionID(line)
	if built {
		row, err := envelope.Marshal(struct {
			Line        string          `json:"line"`
			NewKeys     []did.PublicKey `json:"new_keys"`
			Next        did.PublicKey   `json:"next"`
			Reason      string          `json:"reason"`
			Since       envelope.Time   `json:"since"`
			Unwitnessed bool            `json:"unwitnessed"`
			Version     string          `json:"version"`
		}{base64.RawURLEncoding.EncodeToString(line), []did.PublicKey{issuer.Public()}, next.Public(), "scheduled", envelope.TimeOf(time.Now()), true, version})
		ok(err)
		ok(db.Update(ctx, func(tx store.Tx) error { return tx.Set([]byte("rot"), row) }))
	}
	for _, slot := range []pins.Slot{{Kind: pins.KindEntry, Key: h.SCID(), N: 2}, {Kind: pins.KindDID, Key: s.cfg.Org.String(), N: 2}} {
		ok(p.Put(context.WithoutCancel(ctx), slot, version))
	}
	ok(errors.Join(db.Close(), p.Close()))
	return version
}
