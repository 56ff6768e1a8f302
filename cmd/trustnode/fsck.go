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

--rebuild makes the indexes anew from entries and rows first; what is signed stays as it is.

--repair asks the node that runs on DIR to make entries and trees of all logs what their signed roots
say: damaged entries come from peers and count only by their hash. A node whose own log is damaged
does so by itself, and goes on without a restart. Rows, bodies and the state are on no peer.

Exit code 0: all is as it was written. 4: each line says what is not, as log/index: what.`

func fsckCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "fsck", Usage: "verify everything in a data directory no node runs on", Description: fsckHelp,
		Flags: []cli.Flag{&cli.BoolFlag{Name: "rebuild", Usage: "make the derived indexes anew from the entries"},
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
			r, err := daemon.Fsck(c.Context, cfg, daemon.FsckOptions{Rebuild: c.Bool("rebuild"), Progress: tell, Log: quiet()})
			if done(); err != nil {
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
	if p := r.Pins; p != nil && p.Recovering {
		fmt.Fprintf(w, "pins name the own log up to %d, a head of %d is signed: recovering, peers have not confirmed yet that there is none above\n", p.Log, p.Signed)
	} else if p != nil {
		fmt.Fprintf(w, "pins name the own log up to %d\n", p.Log)
	}
	fmt.Fprintf(w, "%s, %s, %s verified, %s, %s, %s, %s: %s\n", count(r.Logs, "log"), count(r.Entries, "entry"), count(r.Signatures, "signature"),
		count(r.Rows, "row"), count(r.Bodies+r.Objects, "object"), count(uint64(r.Charters), "charter"), (time.Duration(r.TookMS) * time.Millisecond).String(), sound(r.OK))
}

func sound(ok bool) string {
	if ok {
		return "sound"
	}
	return "damaged"
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
