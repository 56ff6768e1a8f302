package daemon

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	attlog "trustnode/attestation/log"
	"trustnode/did/envelope"
	"trustnode/node/httpapi"
)

// TestMetricsTellEachStateOfTheLog: the own log is open in none of the states that refuse something, and a proof that it
// forked stays counted.
func TestMetricsTellEachStateOfTheLog(t *testing.T) {
	s := newSeat(t, "acme")
	ctx := t.Context()
	o, err := OpenOffline(ctx, s.cfg, []byte(seatPass), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}()
	api, rec := httpapi.InProcess(o.Handler(), o.Token()), o.n.self.Rec
	if err := api.Call(ctx, http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "research", Can: []string{"lend"}}, nil); err != nil {
		t.Fatal(err)
	}
	tells := func(when, forks string, in ...string) {
		t.Helper()
		b, err := api.Send(ctx, http.MethodGet, "/metrics", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, state := range []string{"open", "recovering", "corrupt", "no_space", "forked"} {
			want := `trustnode_log_state{state="` + state + `"} 0`
			if slices.Contains(in, state) {
				want = want[:len(want)-1] + "1"
			}
			if !strings.Contains(string(b), want+"\n") {
				t.Errorf("%s: no %s", when, want)
			}
		}
		if want := "trustnode_equivocations_total " + forks + "\n"; !strings.Contains(string(b), want) {
			t.Errorf("%s: no %s", when, want)
		}
	}
	tells("at first", "0", "open")
	rec.SetFull("100 MiB free, 192 needed")
	tells("on a full disk", "0", "no_space")
	rec.SetFull("")
	tells("when there is room", "0", "open")

	var note attlog.Note
	soon(t, "a signed head", func() bool {
		l, err := rec.Log(ctx, s.cfg.Org)
		if err != nil {
			return false
		}
		_, text := l.Head()
		note, err = attlog.ParseNote(text)
		return err == nil
	})
	key, _, err := o.n.sign.Issuer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	other := note.Head
	other.Root = envelope.IDOf([]byte("another"))
	second, err := attlog.Sign(ctx, key, s.cfg.Org, other)
	if err != nil {
		t.Fatal(err)
	}
	fork, err := attlog.ProveFork(note, second, nil)
	if err != nil {
		t.Fatal(err)
	}
	if fresh, err := rec.TakeFork(ctx, fork); !fresh || err != nil {
		t.Fatal(fresh, err)
	}
	tells("with two heads of one size", "1", "forked")
	rec.SetFull("100 MiB free, 192 needed")
	tells("on a full disk too", "1", "forked", "no_space")
}
