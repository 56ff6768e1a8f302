package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// The databases write through memory that is mapped to files, so a disk that is full ends
// the process in the middle of a write. Below a reserve new work is therefore refused, and
// a node does not open.
const (
	// spaceNeed is what both databases may need at once, in bytes: two memtables' logs
	// and one value log file, as large as they are made.
	spaceNeed  = 192 << 20
	spaceEvery = time.Second
	// ballastEvery is how often the ballast is looked after.
	ballastEvery = time.Minute
)

// freeSpace returns how many bytes an ordinary user may still write below a directory.
func freeSpace(dir string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// roomToOpen refuses to open a directory on a disk on which the databases could not write.
func (n *Node) roomToOpen(context.Context) error {
	if _, err := n.dropUnfinished(); err != nil {
		return err
	}
	free, err := n.free(n.cfg.Dir)
	if err != nil || free >= spaceNeed {
		return nil // what cannot be asked is not a reason to stop
	}
	return fault.New(fault.Unavailable, "no_space", "%d MiB free below %s, %d needed", free>>20, n.cfg.Dir, spaceNeed>>20).
		WithHint("%s, or move the directory to a larger disk; nothing was opened", n.makeRoom())
}

// makeRoom says what an operator can do on a full disk.
func (n *Node) makeRoom() string {
	name := filepath.Join(n.cfg.Dir, BallastFile)
	if held, err := ballastSize(name); err != nil || held == 0 {
		return "free space"
	}
	return "free space or delete " + name
}

// watchSpace refuses new work while less than the reserve is free, and takes it again by
// itself. Ends of loans, rotations and erasures, reads, sync and verification go on.
func (n *Node) watchSpace(ctx context.Context) error {
	tick := time.NewTicker(spaceEvery)
	defer tick.Stop()
	full, tended := false, time.Time{}
	for {
		free, err := n.free(n.cfg.Dir)
		switch {
		case err == nil && !full && free < n.reserve():
			full = true
			n.log.WarnContext(ctx, "the disk is nearly full: new work is refused", "free_mib", free>>20, "needed_mib", n.reserve()>>20)
		case err == nil && full && free >= n.roomAgain():
			full = false
			n.log.InfoContext(ctx, "there is room again: new work is taken", "free_mib", free>>20)
		}
		n.self.Rec.SetFull(n.spaceText(full, free))
		if now := time.Now(); err == nil && now.Sub(tended) >= ballastEvery {
			tended = now
			if err := n.tendBallast(ctx, free); err != nil && ctx.Err() == nil {
				n.log.WarnContext(ctx, "the ballast cannot be looked after", "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (n *Node) spaceText(full bool, free uint64) string {
	if !full {
		return ""
	}
	return fmt.Sprintf("%d MiB free, %d needed", free>>20, n.reserve()>>20)
}

func (n *Node) checkSpace(context.Context) []httpapi.Check {
	free, err := n.free(n.cfg.Dir)
	switch {
	case err != nil:
		return []httpapi.Check{warn("", "how much room there is below %s is not to be known: %v", n.cfg.Dir, err)}
	case free < n.reserve():
		return []httpapi.Check{fail(n.makeRoom()+": new work is taken again by itself", "%d MiB free below %s, %d needed: new work is refused", free>>20, n.cfg.Dir, n.reserve()>>20)}
	case free < 4*n.reserve():
		return []httpapi.Check{warn(fmt.Sprintf("below %d MiB new work is refused", n.reserve()>>20), "%d MiB free below %s", free>>20, n.cfg.Dir)}
	}
	return []httpapi.Check{ok("room: %d MiB free below %s", free>>20, n.cfg.Dir)}
}

// counts are the numbers of the process for its metrics.
func (n *Node) counts() (c httpapi.Counts) {
	if n.gossip != nil {
		c.Gossip = n.gossip.Stats()
	}
	c.FreeBytes, _ = n.free(n.cfg.Dir)
	if f, err := os.Stat(filepath.Join(n.cfg.Dir, pinsFile)); err == nil {
		c.PinsBytes = f.Size()
	}
	return c
}
