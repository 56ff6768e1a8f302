package recorder_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/attestation/audit"
	attlog "trustnode/attestation/log"
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
func onDisk(dir string) (*node, func(), error) { return onDiskTelling(dir, nil) }

// onDiskTelling is onDisk with who hears of its heads.
func onDiskTelling(dir string, told func(recorder.HeadNews)) (*node, func(), error) {
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
		OnHead: told, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	return n, func() { n.audit.Close(); n.state.Close(); file.Close() }, err
}

// killAt names the point of section 4 at which a child kills itself, the how manieth time it
// comes there, and whether each of its transactions has a barrier after a row:
// "POINT TIMES BARRIER". Empty: the child goes on until its parent kills it.
const killAt = "TRUSTNODE_TEST_KILL_AT"

// points are where a child kills itself: in its transaction, after it, and after each step of
// the sequencer.
var points = []string{"decided", "committed", "read", "signed", "appended", "readback", "pinned", "headsigned", "stored", "told"}

// schedule is when a child ends.
type schedule struct {
	point   string
	times   atomic.Int64 // it comes there
	barrier bool
	base    int64 // of this process: no two rows are one
}

func parseSchedule(s string) (*schedule, error) {
	at := schedule{base: time.Now().UnixNano()}
	var times int64
	if s == "" {
		return &at, nil
	}
	_, err := fmt.Sscanf(s, "%s %d %t", &at.point, &times, &at.barrier)
	at.times.Store(times)
	return &at, err
}

// reached ends the process as a kill -9 does, if it is time: no defer runs, nothing is flushed.
func (s *schedule) reached(point string) {
	if point == s.point && s.times.Add(-1) == 0 {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			panic(err)
		}
		select {}
	}
}

// child drafts until it is killed and prints each id once it is acknowledged, each head once
// it may leave, and before a transaction ends what must not be there if the process ends in it.
func child(dir string) error {
	at, err := parseSchedule(os.Getenv(killAt))
	if err != nil {
		return err
	}
	n, _, err := onDiskTelling(dir, func(h recorder.HeadNews) { fmt.Println("head", base64.StdEncoding.EncodeToString(h.Note)) })
	if err != nil {
		return err
	}
	n.SetStep(func(step string) error { at.reached(step); return nil })
	go n.Run(context.Background())
	for i := 0; ; i++ {
		var lines []string
		err := n.state.Update(context.Background(), func(tx store.Tx) error {
			var err error
			if lines, err = at.draft(n, tx, i); err != nil {
				return err
			}
			if at.point == "decided" && at.times.Load() == 1 {
				fmt.Println("undone", lines[0])
			}
			at.reached("decided")
			return nil
		})
		if err != nil {
			return err
		}
		at.reached("committed")
		fmt.Println(strings.Join(lines, "\n"))
	}
}

// draft drafts a row with a barrier after it, or one item of a mixture, in which there are
// barriers if no point is named.
func (s *schedule) draft(n *node, tx store.Tx, i int) (lines []string, err error) {
	add := func(kind string, id envelope.ID, e error) {
		lines, err = append(lines, kind+" "+id.String()), errors.Join(err, e)
	}
	row := func() {
		id, err := n.Row(tx, audit.Row{Kind: "read", Body: fmt.Appendf(nil, `{"n":%d,"op":"read","salt":"%x"}`, i, s.base)})
		add("row", id, err)
	}
	switch {
	case s.barrier:
		row()
		id, err := n.Event(tx, barrier(i))
		add("barrier", id, err)
	case i%5 == 0 && s.point == "":
		id, err := n.Event(tx, barrier(i))
		add("barrier", id, err)
	case i%5 < 2:
		id, err := n.Event(tx, plain(i))
		add("event", id, err)
	default:
		row()
	}
	return lines, err
}

// testimony is what children said before they were killed.
type testimony struct {
	said   []string // ids in the order of their acknowledgement, each after its kind
	undone map[string]bool
	heads  []attlog.Note
}

func (w *testimony) ids(kinds ...string) (out []string) {
	for _, s := range w.said {
		if kind, id, _ := strings.Cut(s, " "); slices.Contains(kinds, kind) {
			out = append(out, id)
		}
	}
	return out
}

// killed runs a child until it kills itself at a point, or until it has acknowledged so many
// and is killed, and hears it.
func (w *testimony) killed(t *testing.T, dir, at string, after int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^$")
	cmd.Env = append(os.Environ(), childVar+"="+dir, killAt+"="+at)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	for i := 0; lines.Scan(); {
		kind, rest, _ := strings.Cut(lines.Text(), " ")
		switch kind {
		case "event", "barrier", "row":
			w.said = append(w.said, lines.Text())
			if i++; i == after {
				cmd.Process.Kill()
			}
		case "undone":
			w.undone[strings.Fields(rest)[1]] = true
		case "head":
			note, err := base64.StdEncoding.DecodeString(rest)
			if err != nil {
				t.Fatal(err)
			}
			w.heads = append(w.heads, parseNote(t, note))
		default:
			t.Fatalf("child says %q", lines.Text())
		}
	}
	cmd.Wait()
	if !late.Stop() {
		t.Fatalf("no child came to %q within a minute", at)
	}
	w.pinned(t, dir)
}

// pinned is I-3: no head left before its pin line.
func (w *testimony) pinned(t *testing.T, dir string) {
	t.Helper()
	file, err := pins.Open(filepath.Join(dir, "pins"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if len(w.heads) == 0 {
		return
	}
	p := newParty("acme", 0x11)
	floor, _, ok := file.Highest(pins.KindLog, p.did.String())
	if last := w.heads[len(w.heads)-1]; !ok || floor.N < last.Head.Size {
		t.Fatalf("a head of size %d left, the pins name %d (%v)", last.Head.Size, floor.N, ok)
	}
}

// check starts a node on what the killed ones left, and compares it with what they said:
// I-1 to I-6.
func (w *testimony) check(t *testing.T, dir string) {
	t.Helper()
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
	at := map[string]int{} // row to its number, from 0 on
	held := allRows(t, n)
	for i, b := range held {
		id := envelope.IDOf(b)
		rowIDs, j.rows = append(rowIDs, id.String()), append(j.rows, id)
		at[id.String()] = i
	}
	covered := map[string]int{} // barrier to the rows under an audit.rows before it
	so := 0
	for _, en := range n.entries(t, n.p.did) {
		_, ev, err := en.Envelope()
		if err != nil {
			t.Fatal(err)
		}
		switch ev.Type {
		case "log.opened":
		case "audit.rows":
			so += j.checkRows(t, n, ev, so, held)
		default:
			covered[en.ID().String()] = so
			inLog, j.ids = append(inLog, en.ID().String()), append(j.ids, en.ID())
		}
	}
	inOrder(t, "events", inLog, w.ids("event", "barrier"))
	inOrder(t, "rows", rowIDs, w.ids("row"))
	rows, under := 0, 0 // committed, and covered by the newest barrier
	for _, s := range w.said {
		switch kind, id, _ := strings.Cut(s, " "); {
		case kind == "row" && at[id] < under:
			t.Errorf("row %d is covered before a barrier that was committed before it", at[id])
		case kind == "row":
			rows = at[id] + 1
		case kind == "barrier":
			if under = covered[id]; under < rows {
				t.Errorf("barrier %s: %d rows are covered before it, %d were committed before it", id, under, rows)
			}
		}
	}
	for _, id := range slices.Concat(inLog, rowIDs) {
		if w.undone[id] {
			t.Errorf("%s is there, its transaction never ended", id)
		}
	}
	j.ids = append(j.ids, j.rows...)
	j.check(t, n) // rows are covered once, in order, and the tree is that of the entries
	w.oneRoot(t, n)
	if err := n.stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// oneRoot is I-2 and I-4: each head that left is one of the log there is.
func (w *testimony) oneRoot(t *testing.T, n *node) {
	t.Helper()
	l, err := n.events.Log(context.Background(), n.p.did)
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range w.heads {
		if want, err := attlog.RootAt(note.Head.Size, l); err != nil || want != note.Head {
			t.Errorf("size %d left with root %s, the log has %s (%v)", note.Head.Size, note.Head.Root, want.Root, err)
		}
	}
	t.Logf("%d heads left", len(w.heads))
}

// TestKilledAtAnyTime kills the process with no warning, over and over on one
// directory: everything acknowledged is in the log once and in order.
func TestKilledAtAnyTime(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	w := &testimony{undone: map[string]bool{}}
	for round := range 6 {
		w.killed(t, dir, "", 40+37*round)
	}
	w.check(t, dir)
}

// TestKilledAtEachStep is acceptance 2: a kill -9 at each step of section 4, with and without
// barrier, over and over on one directory. 100 times each with TRUSTNODE_LONG.
func TestKilledAtEachStep(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	rounds := 1
	if os.Getenv("TRUSTNODE_LONG") != "" {
		rounds = 100
	}
	for _, barrier := range []bool{false, true} {
		t.Run(map[bool]string{false: "without barrier", true: "with barrier"}[barrier], func(t *testing.T) {
			t.Parallel()
			for part := range slices.Chunk(points, len(points)/min(rounds, len(points))) { // long: a directory for each point
				t.Run(strings.Join(part, " "), func(t *testing.T) {
					dir := t.TempDir()
					w := &testimony{undone: map[string]bool{}}
					for i := range rounds * len(part) {
						w.killed(t, dir, fmt.Sprintf("%s %d %t", part[i%len(part)], 1+i/len(part)%7, barrier), 0)
					}
					w.check(t, dir)
				})
			}
		})
	}
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
			t.Fatalf("%s: %s was acknowledged and is missing (it stands before %d: %d); %d are held, %d were acknowledged", what, id, at, slices.Index(got, id), len(got), len(want))
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
