package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"trustnode/node/config"
	"trustnode/node/daemon"
	"trustnode/node/guard"
	"trustnode/node/httpapi"
)

func initCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "init", Usage: "create an organization's identity and its data directory",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "name of the organization, shown to people"},
			&cli.StringFlag{Name: "domain", Usage: "domain in the organization's DID, e.g. acme.example"},
			&cli.StringFlag{Name: "contact", Usage: "where people reach you, e.g. mailto:trust@acme.example"},
			&cli.StringFlag{Name: "http", Usage: "listen address of the HTTP server", Value: config.DefaultHTTP},
			&cli.StringSliceFlag{Name: "p2p", Usage: "libp2p listen address, may be repeated"},
			&cli.UintFlag{Name: "ballast-mib", Usage: "MiB of DIR/ballast, which holds room to be freed when the disk is full; 0 keeps none", Value: config.DefaultBallast >> 20, EnvVars: []string{"TRUSTNODE_BALLAST_MIB"}},
			&cli.StringFlag{Name: "update-keys", Usage: "directory for the key of the next DID entry, best on a removable medium"},
		},
		Action: func(c *cli.Context) error {
			if err := need(c, "name", "domain"); err != nil {
				return err
			}
			pass, err := newPassphrase("new passphrase of " + c.String("data"))
			if err != nil {
				return err
			}
			defer clear(pass)
			update, err := newUpdatePassphrase(c.IsSet("update-keys"))
			if err != nil {
				return err
			}
			defer clear(update)
			r, err := daemon.Init(c.Context, daemon.InitOptions{Dir: c.String("data"), Name: c.String("name"), Domain: c.String("domain"), Contact: c.String("contact"),
				HTTP: c.String("http"), P2P: c.StringSlice("p2p"), Ballast: uint64(c.Uint("ballast-mib")) << 20, UpdateKeys: c.String("update-keys"), Passphrase: pass, UpdatePassphrase: update})
			if err != nil {
				return err
			}
			out := map[string]string{"id": r.Org.String(), "did": r.Org.String(), "fingerprint": r.Fingerprint, "data": r.Dir, "recovery_key": r.Recovery}
			return s.result(out, func(w writer) {
				fmt.Fprintf(w, "organization   %s\n", r.Org)
				fmt.Fprintf(w, "fingerprint    %s   compare it aloud when you join a federation\n", r.Fingerprint)
				fmt.Fprintf(w, "data           %s\n", r.Dir)
				fmt.Fprintf(w, "recovery key   %s\n", r.Recovery)
				fmt.Fprintf(w, "next           trustnode run --data %s, or a federation by files: trustnode fed --help\n", c.String("data"))
				fmt.Fprintln(w, "Write the recovery key down and keep it away from this machine; it is not stored and not shown again.")
			})
		}}
}

func runCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "run", Usage: "run the node until it is told to stop",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "accept-unconfirmed", Usage: "sign on although no peer has confirmed what this node last signed (recorded)"},
			&cli.BoolFlag{Name: "lock-memory", Usage: "keep the memory of the node out of swap; needs Linux and no limit of locked memory"}},
		Action: func(c *cli.Context) error {
			cfg, err := configOf(c)
			if err != nil {
				return err
			}
			if c.Bool("lock-memory") {
				if err := guard.LockMemory(); err != nil {
					return err
				}
			}
			if err := daemon.LookForKeys(cfg.Dir); err != nil {
				return err
			}
			pass, err := passphrase("passphrase of " + cfg.Dir)
			if err != nil {
				return err
			}
			defer clear(pass)
			forgetPassphrases()  // a node runs for long and asks no more
			var level slog.Level // config has checked the word
			if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
				return err
			}
			log := slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: level}))
			if note, err := guard.Process(); err != nil {
				return err
			} else if note != "" {
				log.Warn("the process is not guarded", "why", note)
			}
			return daemon.Run(c.Context, cfg, pass, daemon.RunOptions{Log: log, AcceptUnconfirmed: c.Bool("accept-unconfirmed"), Version: version})
		}}
}

func statusCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "status", Usage: "how this node is and what it knows of its peers",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "wait", Usage: "wait until the node is in `STATE`, e.g. fresh"},
			&cli.DurationFlag{Name: "timeout", Usage: "how long to wait", Value: 30 * time.Second},
			&cli.StringFlag{Name: "ack", Usage: "acknowledge the notices about `REF`"},
		},
		Action: func(c *cli.Context) error {
			if c.IsSet("ack") {
				return noticeAck(c, s)
			}
			return status(c, s)
		}}
}

func status(c *cli.Context, s *streams) error {
	want, end := c.String("wait"), time.Now().Add(c.Duration("timeout"))
	st, err := statusNow(c, url.Values{})
	for want != "" && st.State != want && time.Now().Before(end) && (err == nil || errors.Is(err, daemon.ErrLocked)) {
		// The directory is not held while waiting: it is a node that is waited for.
		if err := running(c, end); err != nil {
			return err
		}
		left := max(0, time.Until(end))
		st, err = statusNow(c, url.Values{"wait": {want}, "timeout_s": {fmt.Sprint(int((left + time.Second - 1) / time.Second))}})
	}
	if err != nil {
		return err
	}
	if err := s.result(st, func(w writer) { printStatus(w, st) }); err != nil {
		return err
	}
	if want != "" && st.State != want {
		return &failedError{exitFailed, fmt.Sprintf("the node is %s, not %s, after %s", st.State, want, c.Duration("timeout")),
			strings.Join(append(st.Reasons, "trustnode status shows the peers"), "; ")}
	}
	return nil
}

func statusNow(c *cli.Context, q url.Values) (st httpapi.Status, err error) {
	err = with(c, func(ctx context.Context, k *caller) error {
		if k.own {
			q = url.Values{} // nothing changes in a directory that this process holds
		}
		return k.call(ctx, "GET", "/api/v1/status?"+q.Encode(), nil, &st)
	})
	return st, err
}

func printStatus(w writer, st httpapi.Status) {
	fmt.Fprintf(w, "%s  %s\n", st.Name, st.Org)
	fmt.Fprintf(w, "state       %s\n", st.State)
	if !st.Running {
		fmt.Fprintln(w, "            no node runs; this is what the data directory says. Start it: trustnode run")
	}
	for _, r := range st.Reasons {
		fmt.Fprintf(w, "            %s\n", r)
	}
	if f := st.Federation; f != nil {
		fmt.Fprintf(w, "federation  %s, charter %d, expires %s\n            %s\n", f.Name, f.Seq, f.ExpiresAt, f.Fingerprint)
		if f.Mediator != "" {
			fmt.Fprintf(w, "mediator    %s\n", f.Mediator)
		}
	}
	fmt.Fprintf(w, "log         %d entries, %d waiting, witnessed %d of %d\n", st.Log.Size, st.Log.Waiting, st.Log.Witnessed, st.Log.Need)
	for _, p := range st.Peers {
		link := "no link"
		if p.Linked {
			link = "linked"
		}
		if p.State != "" { // the link says nothing of whether what it signs counts
			link = p.State
		}
		heard := "no beacon yet"
		if p.Heard != "" {
			heard = "beacon " + p.Heard
		}
		fmt.Fprintf(w, "peer        %-20s %-11s log %d  %s\n", p.Name, link, p.Held, heard)
		if p.ForkedAt != nil {
			fmt.Fprintf(w, "            %s\n", forkedWord(*p.ForkedAt))
		}
	}
	printNotices(w, st.Notices)
	fmt.Fprintf(w, "http        %s\n", st.HTTP)
	for _, a := range st.P2P {
		fmt.Fprintf(w, "p2p         %s\n", a)
	}
}

// forkedWord says of a peer that its log has forked.
func forkedWord(at uint64) string {
	return fmt.Sprintf("its log has forked at %d: nothing is lent to it or by it until a charter names the branch that stands", at)
}
