package main

import (
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"trustnode/node/daemon"
	"trustnode/node/store"
)

const fsckHelp = `Reads all of DIR while no node runs on it, with no network and no passphrase: every entry of every
log against its tree, the roots against the signed heads and against pins, the indexes against the
entries, audit rows against their events, objects and bodies against their ids, the outbox, the DID
logs and the charters. Nothing is changed but what every start changes.

The signature of each event was judged when it came, and what came of it is stored; a plain fsck does
not judge it again. --rebuild does, on all cores: it makes the indexes anew from entries and rows
first, then compares level and standing of every event with what its bytes, the DID logs, the
evidence of forks and the charter say. What is signed stays as it is.

--repair asks the node that runs on DIR to make entries and trees of all logs what their signed roots
say: damaged entries come from peers and count only by their hash. A node whose own log is damaged
does so by itself, and goes on without a restart. Rows, bodies and the state are on no peer.

Exit code 0: all is as it was written. 4: each line says what is not, as log/index: what.`

func fsckCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "fsck", Usage: "verify everything in a data directory no node runs on", Description: fsckHelp,
		Flags: []cli.Flag{&cli.BoolFlag{Name: "rebuild", Usage: "make the derived indexes anew from the entries, and judge every event anew"},
			&cli.BoolFlag{Name: "repair", Usage: "have the running node fetch damaged entries from peers"}},
		Action: func(c *cli.Context) error {
			if c.Bool("repair") && c.Bool("rebuild") {
				return &usageError{"--repair asks the running node, --rebuild needs that none runs", help(c)}
			}
			cfg, err := configOf(c)
			if err != nil {
				return err
			}
			if c.Bool("repair") {
				return fsckRepair(c, s, cfg)
			}
			tell, done := s.told("entries")
			judging, judged := s.told("events judged")
			r, err := daemon.Fsck(c.Context, cfg, daemon.FsckOptions{Rebuild: c.Bool("rebuild"), Progress: tell, Judging: judging, Log: quiet()})
			done()
			if judged(); err != nil {
				return err
			}
			if err := s.result(r, func(w writer) { printFsck(w, r) }); err != nil || r.OK {
				return err
			}
			return unsound(cfg.Dir, r)
		}}
}

func printFsck(w writer, r daemon.FsckReport) {
	for _, f := range r.Faults {
		x := store.Fault{Log: f.Log, What: f.What}
		if f.Index != nil {
			x.At, x.Index = true, *f.Index
		}
		fmt.Fprintln(w, x)
	}
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-11s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("logs", "%s, %s: each against its tree, its indexes and the heads kept", count(r.Logs, "log"), count(r.Entries, "entry"))
	line("heads", "%s, and %s on them verified, cosignatures included", count(r.Notes, "head"), count(r.Signatures, "signature"))
	line("events", "%s", eventsJudged(r))
	line("rows", "%s against their audit.rows", count(r.Rows, "row"))
	line("objects", "%s against their ids", count(r.Bodies+r.Objects, "object"))
	line("outbox", "%s for the log", waits(r.Waiting))
	line("charters", "%s", count(uint64(r.Charters), "charter"))
	switch p := r.Pins; {
	case p == nil:
		line("pins", "not compared: what they are compared with does not open")
	case p.Recovering && p.Signed <= p.Log:
		line("pins", "name the own log up to %d; recovering, peers have not confirmed yet that there is none above", p.Log)
	case p.Recovering:
		line("pins", "name the own log up to %d, a head of %d is signed: recovering, peers have not confirmed yet that there is none above", p.Log, p.Signed)
	default:
		line("pins", "name the own log up to %d", p.Log)
	}
	line("result", "%s, %s", sound(r), (time.Duration(r.TookMS) * time.Millisecond).String())
}

func waits(n uint64) string {
	if n == 1 {
		return "1 item waits"
	}
	return fmt.Sprintf("%d items wait", n)
}

// eventsJudged says whether the signatures of events were judged, and what came of it.
func eventsJudged(r daemon.FsckReport) string {
	v := r.Verdicts
	switch {
	case v == nil && r.Rebuilt:
		return "not judged anew, since what that rests on is damaged"
	case v == nil:
		return "not judged anew: trustnode fsck --rebuild checks the signature of each"
	case v.Undecided > 0:
		return fmt.Sprintf("%s judged anew; %d were authored when they came, by a key that its DID lists no more", count(v.Events, "event"), v.Undecided)
	}
	return count(v.Events, "event") + " judged anew"
}

func sound(r daemon.FsckReport) string {
	if r.OK {
		return "sound"
	}
	return "damaged, " + count(uint64(len(r.Faults)), "fault")
}

// unsound is how a verb ends that found a directory damaged.
func unsound(dir string, r daemon.FsckReport) error {
	what := fmt.Sprintf("%s does not verify: %s", dir, count(uint64(len(r.Faults)), "fault"))
	hint := "restore a backup beside it: trustnode restore FILE --data NEWDIR; peers give back what came after it"
	if !r.Rebuilt {
		hint = "index rows alone are made anew by trustnode fsck --rebuild; else " + hint
	}
	return &failedError{exitUnverified, what, hint}
}

// told returns a function that shows on a terminal how far something is, and one that ends
// the line; anywhere else both are silent.
func (s *streams) told(what string) (tell func(done, total uint64), end func()) {
	f, ok := s.err.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, func() {}
	}
	next, shown := time.Now().Add(progressEvery), false
	tell = func(done, total uint64) {
		now := time.Now()
		if now.Before(next) {
			return
		}
		next, shown = now.Add(progressEvery), true
		if total > 0 {
			fmt.Fprintf(f, "\r%d of %d %s (%d %%)", done, total, what, done*100/total)
		} else {
			fmt.Fprintf(f, "\r%d %s", done, what)
		}
	}
	return tell, func() {
		if shown {
			fmt.Fprintln(f)
		}
	}
}
