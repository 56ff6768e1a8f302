package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAWatchOutlivesItsNode: a watch tells each event once while its node is killed and
// started again, and ends with 0 when it is interrupted.
func TestAWatchOutlivesItsNode(t *testing.T) {
	t.Parallel()
	f := newFolk(t)
	alone(f)
	f.operator("solo")
	cmd := f.command("event", "watch", "--data", "solo", "--type", "agent.", "--since", "2020-01-01T00:00:00Z", "--json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	lines := make(chan watched)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			var w watched
			if json.Unmarshal(s.Bytes(), &w) != nil {
				return
			}
			lines <- w
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	cursor := ""
	next := func(agent string) {
		t.Helper()
		select {
		case w, ok := <-lines:
			if !ok || !strings.Contains(w.Words, `"`+agent+`"`) || w.Cursor == "" || w.Cursor == cursor {
				t.Fatalf("got %+v, want %s", w, agent)
			}
			cursor = w.Cursor
		case <-time.After(40 * time.Second):
			t.Fatalf("nothing of %s", agent)
		}
	}
	next("research")
	next("quant")
	f.must("agent", "add", "--data", "solo", "third", "--can", "lend")
	next("third")
	f.kill("solo")
	f.must("agent", "add", "--data", "solo", "meanwhile", "--can", "lend") // by a command that opens the directory
	f.start("solo")
	next("meanwhile")
	f.must("agent", "add", "--data", "solo", "last", "--can", "lend")
	next("last")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for w := range lines {
		t.Errorf("more than once: %+v", w)
	}
	if err := cmd.Wait(); err != nil || strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), "away") {
		t.Errorf("ended with %v, said %q", err, said.String())
	}
}
