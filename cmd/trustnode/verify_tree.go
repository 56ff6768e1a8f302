package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"trustnode/node/verifier"
)

// maxTile caps one file of a tile tree in bytes: 256 entries of the longest there are, each after its length.
const maxTile = 256 * (2 + 1<<16)

// verifyTree verifies a directory that event export wrote. A did.jsonl in it is taken along.
func verifyTree(c *cli.Context, s *streams, dir string, o verifier.Options) (verifier.Report, error) {
	m, err := materialOf(filepath.Join(dir, "did.jsonl"))
	if err == nil {
		o.With = append(o.With[:len(o.With):len(o.With)], m)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return verifier.Report{}, err
	}
	tell, end := s.told("entries")
	defer end()
	return verifier.VerifyTree(c.Context, func(_ context.Context, path string) ([]byte, error) {
		return readCapped(filepath.Join(dir, filepath.FromSlash(path)), maxTile)
	}, o, tell), nil
}
