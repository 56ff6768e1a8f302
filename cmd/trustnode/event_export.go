package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

func eventExport(s *streams) *cli.Command {
	return &cli.Command{Name: "export", Usage: "write one log as files that outside tools check",
		Description: "Writes the C2SP tlog-tiles tree of the newest signed head, and the witness policy, into a new directory, reads it back and checks it.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "tiles", Usage: "make the directory `DIR`"},
			&cli.StringFlag{Name: "org", Value: "self", Usage: "`ORG` whose log: its DID, the name it is listed by, or self"}},
		Action: func(c *cli.Context) error { return exportTiles(c, s) }}
}

// exported is what a log was written as.
type exported struct {
	Org       string   `json:"org"`
	Size      uint64   `json:"size"`
	Root      string   `json:"root"`
	Witnessed []string `json:"witnessed"`
	Need      int      `json:"need"`
	Dir       string   `json:"dir"`
	Files     int      `json:"files"`
	Bytes     int      `json:"bytes"`
}

func exportTiles(c *cli.Context, s *streams) error {
	if err := need(c, "tiles"); err != nil {
		return err
	}
	if _, err := args(c); err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		out, err := writeTiles(ctx, k, c.String("org"), filepath.Clean(c.String("tiles")))
		if err != nil {
			return err
		}
		return s.result(out, func(w writer) { printExported(w, out) })
	})
}

func printExported(w writer, x exported) {
	fmt.Fprintf(w, "log      %s  %d entries  root %s\n", orgWord(x.Org), x.Size, x.Root)
	fmt.Fprintf(w, "head     signed, %s\n", witnessedWords(x.Witnessed, x.Need))
	fmt.Fprintf(w, "written  %s  %s, %d bytes, read back and checked from the entries up\n", x.Dir, count(x.Files, "file"), x.Bytes)
}

// unfinished ends the name of a directory that is being written.
const unfinished = ".unfinished"

// writeTiles writes the log into a directory of another name and gives it its own when it
// is whole and was read back: a directory of that name is never half an export.
func writeTiles(ctx context.Context, k *caller, org, dir string) (exported, error) {
	n, head, err := exportHead(ctx, k, org)
	if err != nil {
		return exported{}, err
	}
	if err := free(dir); err != nil {
		return exported{}, err
	}
	t, err := newTree(dir + unfinished)
	if err != nil {
		return exported{}, err
	}
	err = t.fill(ctx, n, k.tiles(head.Org), head.Policy)
	if err == nil {
		err = free(dir) // a rename would replace an empty directory
	}
	if err == nil {
		err = os.Rename(t.dir, dir)
	}
	if err != nil {
		_ = os.RemoveAll(t.dir) // made above, of what can be fetched again
		return exported{}, err
	}
	return exported{head.Org, head.Size, head.Root, head.Witnessed, head.Need, dir, t.files, t.bytes}, syncDir(filepath.Dir(dir))
}

// exportHead asks for the head of a log and verifies it under the key that the node names.
func exportHead(ctx context.Context, k *caller, org string) (attlog.Note, httpapi.LogHead, error) {
	var head httpapi.LogHead
	if err := k.call(ctx, "GET", "/api/v1/log/"+url.PathEscape(org)+"/head", nil, &head); err != nil {
		return attlog.Note{}, head, err
	}
	n, err := attlog.ParseNote([]byte(head.Checkpoint))
	if err != nil {
		return attlog.Note{}, head, err
	}
	key, err := did.DecodeMultikey(head.Key)
	if err != nil {
		return attlog.Note{}, head, err
	}
	return n, head, n.Verify(key)
}

// free refuses a name that is taken.
func free(dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Conflict, "exists", "%s is there already", dir).WithHint("name a directory that is not there: what was written for one signed head is not mixed with another")
	}
	return nil
}

// tiles are the tiles of a log as the node serves them.
func (k *caller) tiles(org string) attlog.Files {
	return func(ctx context.Context, path string) ([]byte, error) {
		return k.raw(ctx, "GET", "/api/v1/log/"+url.PathEscape(org)+"/"+path, "", nil)
	}
}

// tree is a directory of files that are written once.
type tree struct {
	dir          string
	files, bytes int
}

// newTree makes the directory, which must not be there.
func newTree(dir string) (*tree, error) {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil, fault.New(fault.Conflict, "exists", "%s is there: an export was cut short, or is at work", dir).WithHint("remove it when no other export writes it")
	}
	if err != nil {
		return nil, noFile(err)
	}
	return &tree{dir: dir}, nil
}

// fill writes the tree of a head and its policy, and reads it back.
func (t *tree) fill(ctx context.Context, n attlog.Note, from attlog.Files, policy string) error {
	if err := attlog.Export(ctx, n, from, t.put); err != nil {
		return err
	}
	if err := t.put("policy", []byte(policy)); err != nil {
		return err
	}
	if err := attlog.CheckTiles(ctx, n.Head, t.read); err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	return nil
}

func (t *tree) name(path string) string { return filepath.Join(t.dir, filepath.FromSlash(path)) }

// put writes one file, durable on return.
func (t *tree) put(path string, data []byte) error {
	name := t.name(path)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	t.files, t.bytes = t.files+1, t.bytes+len(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func (t *tree) read(_ context.Context, path string) ([]byte, error) { return os.ReadFile(t.name(path)) }
