package recorder_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

const childVar = "TRUSTNODE_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVar); dir != "" {
		fmt.Println("child:", child(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// onDisk opens a node over a directory.
func onDisk(dir string) (*node, func(), error) {
	p := newParty("acme", 0x11)
	n := &node{p: p, ring: knows(p), news: new(news)}
	var err error
	if n.state, err = store.OpenBadger(filepath.Join(dir, "state"), slog.New(slog.DiscardHandler)); err != nil {
		return nil, nil, err
	}
	if n.audit, err = store.OpenBadger(filepath.Join(dir, "audit"), slog.New(slog.DiscardHandler)); err != nil {
		return nil, nil, err
	}
	file, err := pins.Open(filepath.Join(dir, "pins"), time.Now)
	if err != nil {
		return nil, nil, err
	}
	n.pins = file
	if n.events, err = store.OpenEvents(context.Background(), n.audit); err != nil {
		return nil, nil, err
	}
	n.Recorder, err = recorder.New(context.Background(), recorder.Config{
		Org: p.did, State: n.state, Audit: n.audit, Events: n.events, Pins: n.pins, Ring: n.ring,
		Signer: func(context.Context) (envelope.Signer, string, error) { return p.current(), p.current().kid(), nil },
		Now:    time.Now, Log: slog.New(slog.DiscardHandler),
	})
	return n, func() { n.audit.Close(); n.state.Close(); file.Close() }, err
}

// child drafts until it is killed and prints each id once it is acknowledged.
func child(dir string) error {
	n, _, err := onDisk(dir)
	if err != nil {
		return err
	}
	go n.Run(context.Background())
	base := int(time.Now().UnixNano() % 1_000_000_000)
	for i := base; ; i++ {
		var id envelope.ID
		kind := "event"
		err := n.state.Update(context.Background(), func(tx store.Tx) error {
			var err error
			switch i % 5 {
			case 0:
				id, err = n.Event(tx, barrier(i))
			case 1:
				id, err = n.Event(tx, plain(i))
			default:
				kind = "row"
				id, err = n.Row(tx, audit.Row{Kind: "read", Body: fmt.Appendf(nil, `{"n":%d,"op":"read","salt":"s"}`, i)})
			}
			return err
		})
		if err != nil {
			return err
		}
		fmt.Println(kind, id)
	}
}

// TestKilledAtAnyTime kills the process with no warning, over and over on one
// directory: everything acknowledged is in the log once and in order.
func TestKilledAtAnyTime(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	var events, rows []string
	for round := range 6 {
		e, r := killed(t, dir, 40+37*round)
		events, rows = append(events, e...), append(rows, r...)
	}
	n, done, err := onDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	n.run(t)
	flush(t, n)
	if s, why := n.State(); s != recorder.Open {
		t.Fatalf("the log is %s: %s", s, why)
	}
	var inLog, rowIDs []string
	j := newJournal()
	for _, b := range allRows(t, n) {
		id := envelope.IDOf(b)
		rowIDs, j.rows = append(rowIDs, id.String()), append(j.rows, id)
	}
	for _, en := range n.entries(t, n.p.did) {
		_, ev, err := en.Envelope()
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type != "audit.rows" && ev.Type != "log.opened" {
			inLog, j.ids = append(inLog, en.ID().String()), append(j.ids, en.ID())
		}
	}
	inOrder(t, "events", inLog, events)
	inOrder(t, "rows", rowIDs, rows)
	j.ids = append(j.ids, j.rows...)
	j.check(t, n) // rows are covered once, in order, and the tree is that of the entries
	if err := n.stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// killed runs a child until it has acknowledged so many, kills it, and returns
// what it had acknowledged.
func killed(t *testing.T, dir string, after int) (events, rows []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^$")
	cmd.Env = append(os.Environ(), childVar+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for i := 0; lines.Scan(); i++ {
		kind, id, ok := strings.Cut(lines.Text(), " ")
		switch {
		case ok && kind == "event":
			events = append(events, id)
		case ok && kind == "row":
			rows = append(rows, id)
		default:
			t.Fatalf("child says %q", lines.Text())
		}
		if i == after {
			cmd.Process.Kill()
		}
	}
	cmd.Wait()
	return events, rows
}

// inOrder reports whether want stands in got in this order, each once.
func inOrder(t *testing.T, what string, got, want []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, id := range got {
		if seen[id] {
			t.Errorf("%s: %s stands twice", what, id)
		}
		seen[id] = true
	}
	at := 0
	for _, id := range want {
		k := slices.Index(got[at:], id)
		if k < 0 {
			t.Fatalf("%s: %s was acknowledged and is missing or out of order (%d of %d held)", what, id, len(got), len(want))
		}
		at += k + 1
	}
	t.Logf("%s: %d acknowledged, %d held", what, len(want), len(got))
}

func allRows(t *testing.T, n *node) [][]byte {
	t.Helper()
	var out [][]byte
	err := n.events.Rows(context.Background(), audit.Filter{}, func(_ uint64, r audit.Row) error {
		out = append(out, r.Body)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
