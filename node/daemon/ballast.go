package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// BallastFile holds room in the data directory: deleting it on a full disk lets the
// databases open and compact. The node makes it anew once there is space.
const BallastFile = "ballast"

// unfinished is what the name of a ballast ends with while it is written.
const unfinished = ".tmp"

const ballastChunk = 1 << 20

// reserve is how much room must be free for new work to be taken, in bytes: what both
// databases may need at once, and the ballast again.
func (n *Node) reserve() uint64 { return spaceNeed + n.cfg.Ballast }

// roomAgain is how much must be free before new work is taken again.
func (n *Node) roomAgain() uint64 { return n.reserve() + n.reserve()/4 }

// tendBallast makes the ballast where it is missing or of another size, once there is so
// much room that what it takes leaves enough, and takes it away where none is wanted.
func (n *Node) tendBallast(ctx context.Context, room uint64) error {
	freed, err := n.dropUnfinished()
	if err != nil {
		return err
	}
	room += freed
	name := filepath.Join(n.cfg.Dir, BallastFile)
	held, err := ballastSize(name)
	if err != nil || held == n.cfg.Ballast {
		return err
	}
	if held > 0 {
		if err := os.Remove(name); err != nil {
			return err
		}
		room += held
	}
	if n.cfg.Ballast == 0 || room < n.roomAgain()+n.cfg.Ballast {
		return nil
	}
	return makeBallast(ctx, name, n.cfg.Ballast)
}

// dropUnfinished takes away what a process that was killed left of a ballast, and returns how
// many bytes that frees.
func (n *Node) dropUnfinished() (uint64, error) {
	name := filepath.Join(n.cfg.Dir, BallastFile+unfinished)
	held, err := ballastSize(name)
	if err != nil {
		return 0, err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	return held, nil
}

// ballastSize is how large the ballast is, 0 where there is none.
func ballastSize(name string) (uint64, error) {
	st, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return uint64(st.Size()), nil
}

// makeBallast writes bytes that no file system makes smaller, and gives them their name last:
// what has the name is whole.
func makeBallast(ctx context.Context, name string, size uint64) error {
	tmp := name + unfinished
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = fillBallast(ctx, f, size)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return errors.Join(os.Rename(tmp, name), syncDir(filepath.Dir(name)))
}

func fillBallast(ctx context.Context, f *os.File, size uint64) error {
	chunk := make([]byte, ballastChunk)
	rand.Read(chunk)
	for size > 0 {
		n := min(size, ballastChunk)
		if _, err := f.Write(chunk[:n]); err != nil {
			return err
		}
		size -= n
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}
