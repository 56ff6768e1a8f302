package daemon

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did/envelope"
	"trustnode/node/config"
	"trustnode/node/httpapi"
	"trustnode/node/recorder"
)

// soakVar names the directory of a node that this binary runs to take packages from its
// standard input.
const soakVar = "TRUSTNODE_TEST_SOAK"

// soakChild runs a node which takes what comes until the end, and prints its memory.
func soakChild(dir string) error {
	cfg, err := config.Read(dir)
	if err != nil {
		return err
	}
	spareMemory() // as Run does
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n, err := Open(ctx, cfg, Options{Passphrase: []byte(attackPass), Log: slog.New(slog.DiscardHandler), Version: "attack"})
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
	var own peak
	go own.watch(ctx)
	in := bufio.NewReader(os.Stdin)
	size, next := uint64(0), uint64(0)
	for {
		var length uint32
		switch err := binary.Read(in, binary.BigEndian, &length); err {
		case nil:
		case io.EOF:
			own.say(size)
			return nil
		default:
			return err
		}
		b := make([]byte, length)
		if _, err := io.ReadFull(in, b); err != nil {
			return err
		}
		p, err := attestation.ParsePackage(b, attestation.MaxSyncPackage)
		if err != nil {
			return err
		}
		res, err := n.self.Rec.Ingest(ctx, p)
		if err != nil || res.Verdict != recorder.Accepted {
			return fmt.Errorf("entries from %d: %s, %v", p.From, res.Verdict, err)
		}
		if size = res.Size; size >= next {
			own.say(size)
			next = size + 100_000
		}
	}
}

// peak is the most memory of its own a process had resident, watched every 50 ms. Pages of
// files are not in it: the tables of the databases are mapped, and the system takes their
// pages back when it needs them.
type peak struct{ kib atomic.Int64 }

func (p *peak) watch(ctx context.Context) {
	for tick := time.NewTicker(50 * time.Millisecond); ctx.Err() == nil; <-tick.C {
		p.kib.Store(max(p.kib.Load(), int64(residentKiB("RssAnon"))))
	}
}

// say prints the memory of this process: own at most, own now, all that is resident.
func (p *peak) say(size uint64) {
	fmt.Println("memory", size, p.kib.Load(), residentKiB("RssAnon"), residentKiB("VmRSS"))
}

// residentKiB is a figure of this process in KiB, 0 where the system does not say it.
func residentKiB(what string) int {
	b, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := bytes.Cut(b, []byte(what+":"))
	line, _, _ := strings.Cut(string(rest), "\n")
	kib, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(line, "kB")))
	return kib
}

// TestAMillionEventsInLittleMemory is C-10: a whole node takes a member's log, judged and
// durable, and its own resident memory stays below 400 MB: 10^6 events with TRUSTNODE_LONG,
// 20,000 else.
func TestAMillionEventsInLittleMemory(t *testing.T) {
	if residentKiB("RssAnon") == 0 {
		t.Skip("the system does not say how much memory a process has")
	}
	total, limit := 20_000, 300
	if os.Getenv("TRUSTNODE_LONG") != "" {
		total, limit = 1_000_000, 400
	}
	hs := federated(t, "acme", "vendor", "arbiter")
	acme, vendor := hs[0], hs[1]
	cmd := exec.Command(os.Args[0], "-test.run", "^$")
	cmd.Env = append(os.Environ(), soakVar+"="+acme.cfg.Dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	begin, said := time.Now(), make(chan string, 100)
	go func() {
		defer close(said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			said <- lines.Text()
		}
	}()
	go func() { // an error of writing shows as a child that says why it ended
		defer in.Close()
		vendor.feed(in, total)
	}()
	var size, most, now, all int
	for line := range said {
		if n, err := fmt.Sscanf(line, "memory %d %d %d %d", &size, &most, &now, &all); n != 4 {
			t.Fatalf("the child says %q (%v)", line, err)
		}
		t.Logf("%d events after %s: %d MB of its own at most, now %d of %d resident", size, time.Since(begin).Round(time.Second), most>>10, now>>10, all>>10)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if size < total {
		t.Errorf("%d events were taken, want %d", size, total)
	}
	if got := most >> 10; got > limit && !raceEnabled {
		t.Errorf("%d MB were resident at most, want %d", got, limit)
	}
}

// feed writes packages of a fort that does not run, each under a head of its own, until so
// many events are written or w is closed.
func (h *fort) feed(w io.Writer, total int) {
	h.offline(func(_ *httpapi.Client, n *Node) {
		ctx := context.Background()
		key, kid, err := n.sign.Issuer(ctx)
		if err != nil {
			h.t.Error(err)
			return
		}
		fed, _ := n.member.Seams().Members.Head()
		edge := n.events.Edge(h.cfg.Org)
		if edge.End() > 0 { // what stands in the log already
			p, err := n.self.Rec.Package(ctx, h.cfg.Org, 0, edge.End())
			p.Federation = fed.Federation
			if err != nil || write(w, p) != nil {
				h.t.Error("the own log was not handed over", err)
				return
			}
		}
		for i := 0; i < total; {
			p := attestation.Package{Did: h.cfg.Org, Federation: fed.Federation, From: edge.End()}
			for range attestation.MaxBatch - edge.End()%attestation.MaxBatch {
				ref := envelope.IDOf(fmt.Append(nil, "soak", i))
				p.Entries = append(p.Entries, h.signed(attestation.Event{Type: "charter.signed", Subject: ref.String(), Refs: []envelope.ID{ref},
					Data: canon(h.t, attestation.CharterSigned{Body: ref, Seq: 1 << 20})}, key, kid))
				if err := edge.Append(p.Entries[len(p.Entries)-1].Hash()); err != nil {
					h.t.Error(err)
					return
				}
				i++
			}
			root, err := edge.Root()
			if err != nil {
				h.t.Error(err)
				return
			}
			note, err := attlog.Sign(ctx, key, h.cfg.Org, attestation.Head{Size: edge.End(), Root: root})
			if err != nil {
				h.t.Error(err)
				return
			}
			p.Note = note.Bytes()
			if write(w, p) != nil {
				return
			}
		}
	})
}

func write(w io.Writer, p attestation.Package) error {
	b, err := p.Bytes()
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}
