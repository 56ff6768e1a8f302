package daemon

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// The databases write through memory that is mapped to files, so a disk that is full ends
// the process in the middle of a write. Below a reserve new work is therefore refused, and
// a node does not open.
const (
	// spaceReserve is what both databases may need at once, in bytes: two memtables' logs
	// and one value log file, as large as they are made.
	spaceReserve = 192 << 20
	// spaceAgain is what must be free before new work is taken again.
	spaceAgain = spaceReserve + spaceReserve/4
	spaceEvery = time.Second
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
	free, err := n.free(n.cfg.Dir)
	if err != nil || free >= spaceReserve {
		return nil // what cannot be asked is not a reason to stop
	}
	return fault.New(fault.Unavailable, "no_space", "%d MiB free below %s, %d needed", free>>20, n.cfg.Dir, spaceReserve>>20).
		WithHint("free space, or move the directory to a larger disk; nothing was opened")
}

// watchSpace refuses new work while less than the reserve is free, and takes it again by
// itself. Ends of loans, rotations and erasures, reads, sync and verification go on.
func (n *Node) watchSpace(ctx context.Context) error {
	tick := time.NewTicker(spaceEvery)
	defer tick.Stop()
	full := false
	for {
		free, err := n.free(n.cfg.Dir)
		switch {
		case err == nil && !full && free < spaceReserve:
			full = true
			n.log.WarnContext(ctx, "the disk is nearly full: new work is refused", "free_mib", free>>20, "needed_mib", spaceReserve>>20)
		case err == nil && full && free >= spaceAgain:
			full = false
			n.log.InfoContext(ctx, "there is room again: new work is taken", "free_mib", free>>20)
		}
		n.self.Rec.SetFull(spaceText(full, free))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func spaceText(full bool, free uint64) string {
	if !full {
		return ""
	}
	return fmt.Sprintf("%d MiB free, %d needed", free>>20, spaceAgain>>20)
}

func (n *Node) checkSpace(context.Context) []httpapi.Check {
	free, err := n.free(n.cfg.Dir)
	switch {
	case err != nil:
		return []httpapi.Check{warn("", "how much room there is below %s is not to be known: %v", n.cfg.Dir, err)}
	case free < spaceReserve:
		return []httpapi.Check{fail("free space: new work is taken again by itself", "%d MiB free below %s, %d needed: new work is refused", free>>20, n.cfg.Dir, spaceReserve>>20)}
	case free < 4*spaceReserve:
		return []httpapi.Check{warn(fmt.Sprintf("below %d MiB new work is refused", spaceReserve>>20), "%d MiB free below %s", free>>20, n.cfg.Dir)}
	}
	return []httpapi.Check{ok("room: %d MiB free below %s", free>>20, n.cfg.Dir)}
}
