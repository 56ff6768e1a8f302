package daemon

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/config"
)

// childVar names the directory of a node that this binary runs until it is killed.
const childVar = "TRUSTNODE_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVar); dir != "" {
		fmt.Println("child:", child(dir))
		os.Exit(1)
	}
	if dir := os.Getenv(soakVar); dir != "" {
		if err := soakChild(dir); err != nil {
			fmt.Println("child:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child runs a node which writes, and prints the id of each event once it is durable.
func child(dir string) error {
	cfg, err := config.Read(dir)
	if err != nil {
		return err
	}
	ctx := context.Background()
	n, err := Open(ctx, cfg, Options{Passphrase: []byte(attackPass), Log: slog.New(slog.DiscardHandler), Version: "attack", Wait: startWait})
	if err != nil {
		return err
	}
	failed, up := make(chan error, 1), make(chan struct{})
	go func() { failed <- n.Run(ctx, false, func() { close(up) }) }()
	select {
	case <-up:
	case err := <-failed:
		return err
	}
	h := &fort{cfg: cfg, node: n}
	for i := 0; ; i++ {
		id, err := h.drafted(int(time.Now().UnixNano()))
		if err != nil {
			return err
		}
		fmt.Println("wrote", id)
		select {
		case err := <-failed:
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// until runs a fort in a process of its own for a time after it began to write, kills it
// with no warning, and returns what it had acknowledged.
func (h *fort) until(d time.Duration) (ids []envelope.ID) {
	h.t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^$")
	cmd.Env = append(os.Environ(), childVar+"="+h.cfg.Dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	end := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer end.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said, text, _ := strings.Cut(lines.Text(), " ")
		id, err := envelope.ParseID(text)
		if said != "wrote" || err != nil {
			h.t.Fatalf("the child says %q", lines.Text())
		}
		if ids = append(ids, id); len(ids) == 1 {
			end.Reset(d)
		}
	}
	cmd.Wait()
	return ids
}

// TestANodeKilledOverAndOver is C-3: a node is killed with no warning and started again at
// once under the same peer id, mostly before the others found out; what it acknowledged is
// in all logs, in order, once it stays up. 50 times with TRUSTNODE_LONG.
func TestANodeKilledOverAndOver(t *testing.T) {
	hs := federated(t, "acme", "vendor", "arbiter")
	times := 3
	if os.Getenv("TRUSTNODE_LONG") != "" {
		times = 50
	}
	for _, h := range hs[:2] {
		h.start()
	}
	var wrote []envelope.ID
	for i := range times {
		wrote = append(wrote, hs[2].until(time.Duration(50+(i*137)%900)*time.Millisecond)...)
	}
	hs[2].start()
	begin := time.Now()
	d := hs[2].cfg.Org
	eventually(t, "the same log at all", func() bool {
		want := held(t, hs[2], d)
		return holds(t, hs[2], d, wrote) && held(t, hs[0], d) == want && held(t, hs[1], d) == want
	})
	t.Logf("%d times killed, %d events acknowledged, equal logs %d ms after the last start", times, len(wrote), time.Since(begin).Milliseconds())
	for _, h := range hs {
		if !holds(t, h, d, wrote) {
			t.Errorf("%s lacks events that were acknowledged, or has them in another order", h.cfg.Name)
		}
		for _, o := range hs {
			eventually(t, "the log of "+o.cfg.Name+" at "+h.cfg.Name, func() bool {
				return slices.EqualFunc(entriesAt(t, h, o.cfg.Org), entriesAt(t, o, o.cfg.Org), func(a, b attestation.Entry) bool { return string(a) == string(b) })
			})
		}
	}
	hs[2].waitFresh()
}

// holds reports whether all of these stand in a log, in this order and each once.
func holds(t *testing.T, h *fort, d did.DID, ids []envelope.ID) bool {
	t.Helper()
	at, seen := 0, map[envelope.ID]bool{}
	for _, e := range entriesAt(t, h, d) {
		id := e.ID()
		if seen[id] {
			t.Errorf("%s stands twice", id)
		}
		seen[id] = true
		if at < len(ids) && ids[at] == id {
			at++
		}
	}
	return at == len(ids)
}
