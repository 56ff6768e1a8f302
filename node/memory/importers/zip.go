package importers

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"strings"

	"trustnode/node/memory"
)

// Errors of archives. Each ends the import before an entry of it is read, or
// where the archive shows what it is.
var (
	ErrArchive error = &coded{"invalid", "archive", "the archive cannot be read", "export the backup again"}
	ErrTricks  error = &coded{"refused", "archive", "the archive holds paths, links, archives or doubles that no backup holds", "export the backup again, and import what the program wrote"}
	ErrBomb    error = &coded{"too_large", "archive", fmt.Sprintf("the archive unpacks to more than %d GiB, or to more than %d times its size", MaxUnpacked>>30, MaxRatio), "export the backup in parts"}
	ErrCustom  error = &coded{"invalid", "custom_export", "the archive holds neither memories.json nor memories.jsonl.gz: a custom export is not a backup", "export with OpenMemory's own backup"}
)

// zip reads a backup as OpenMemory writes it. A zip can only be read from its
// end, so the file is first put aside, under a name that no other user can open
// and that is gone when the import ends, or dies.
func (f openMemory) zip(ctx context.Context, r io.Reader, emit func(memory.Line) error) error {
	file, size, err := putAside(ctx, r)
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // where an open file could not be removed
	defer file.Close()
	zr, err := zip.NewReader(file, size)
	if err != nil {
		return ErrArchive
	}
	files, others, err := choose(zr.File)
	if err != nil {
		return err
	}
	for _, name := range others {
		if err := emit(memory.Line{Number: 1, Reason: RejectFile, Detail: name}); err != nil {
			return err
		}
	}
	room := &budget{left: MaxUnpacked}
	if whole := files["memories.json"]; whole != nil {
		if files["memories.jsonl.gz"] != nil {
			if err := emit(left("memories.jsonl.gz, which holds the same again")); err != nil {
				return err
			}
		}
		return room.open(whole, func(r io.Reader) error { return f.document(ctx, r, math.MaxInt64, emit) })
	}
	return room.open(files["memories.jsonl.gz"], func(r io.Reader) error {
		gz, err := gzip.NewReader(r)
		if err != nil {
			return ErrArchive
		}
		return f.rows(ctx, room.limit(gz, int64(files["memories.jsonl.gz"].CompressedSize64)), emit)
	})
}

func putAside(ctx context.Context, r io.Reader) (*os.File, int64, error) {
	file, err := os.CreateTemp("", "trustnode-import-*")
	if err != nil {
		return nil, 0, fmt.Errorf("no room to unpack: %v", err)
	}
	_ = os.Remove(file.Name()) // kept open; where that fails, zip removes it
	size, err := io.Copy(file, io.LimitReader(reader(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	}), MaxUnpacked+1))
	if err == nil && size > MaxUnpacked {
		err = ErrBomb
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close(), removed(file.Name()))
	}
	return file, size, nil
}

func removed(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// choose finds the two files of a backup, in whatever folder, and the names of
// others. It refuses an archive that two programs could unpack differently.
func choose(list []*zip.File) (files map[string]*zip.File, others []string, err error) {
	if len(list) > maxZipFiles {
		return nil, nil, ErrTricks
	}
	files, seen := map[string]*zip.File{}, map[string]bool{}
	var unpacked uint64
	for _, f := range list {
		name := f.Name
		clean := path.Clean(name)
		folder := strings.HasSuffix(name, "/")
		tricks := name == "" || strings.ContainsAny(name, "\\\x00:") || path.IsAbs(name) || clean == ".." || strings.HasPrefix(clean, "../") || clean != strings.TrimSuffix(name, "/") ||
			!folder && !f.Mode().IsRegular() || f.Flags&1 != 0 || seen[strings.ToLower(clean)]
		base := path.Base(clean)
		if tricks || strings.HasSuffix(strings.ToLower(base), ".zip") {
			return nil, nil, ErrTricks
		}
		seen[strings.ToLower(clean)] = true
		if unpacked += f.UncompressedSize64; f.UncompressedSize64 > MaxUnpacked || unpacked > MaxUnpacked || over(f.UncompressedSize64, f.CompressedSize64) {
			return nil, nil, ErrBomb
		}
		switch {
		case folder:
		case base != "memories.json" && base != "memories.jsonl.gz":
			others = append(others, name)
		case files[base] != nil:
			return nil, nil, ErrTricks
		default:
			files[base] = f
		}
	}
	if len(files) == 0 {
		return nil, nil, ErrCustom
	}
	return files, others, nil
}

// over reports whether so much unpacked of so much packed is a bomb.
func over(unpacked, packed uint64) bool {
	return unpacked > ratioGrace && unpacked/MaxRatio > packed
}

// budget is what all files of an archive may unpack to together. What an archive
// says of its sizes is not believed: bytes are counted as they come.
type budget struct{ left int64 }

func (b *budget) open(f *zip.File, read func(io.Reader) error) error {
	rc, err := f.Open()
	if err != nil {
		return ErrArchive
	}
	defer rc.Close()
	return read(b.limit(rc, int64(f.CompressedSize64)))
}

// limit returns a reader of what unpacks from packed bytes. It returns ErrBomb
// past the budget or the ratio, and ErrTricks for an archive within it, from then
// on at each call: who peeks at a stream may miss the first.
func (b *budget) limit(r io.Reader, packed int64) io.Reader {
	var n int64
	var ended error
	return reader(func(p []byte) (int, error) {
		if ended != nil {
			return 0, ended
		}
		k, err := r.Read(p)
		b.left -= int64(k)
		switch {
		case n == 0 && bytes.HasPrefix(p[:k], zipMagic):
			ended = ErrTricks
		case b.left < 0 || over(uint64(n)+uint64(k), uint64(packed)):
			ended = ErrBomb
		case err != nil && !errors.Is(err, io.EOF): // a checksum, a torn stream
			ended = &torn{what: err.Error()}
		}
		n += int64(k)
		if ended != nil {
			return 0, ended
		}
		return k, err
	})
}

type reader func([]byte) (int, error)

func (f reader) Read(p []byte) (int, error) { return f(p) }
