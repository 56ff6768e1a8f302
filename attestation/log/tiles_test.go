package log_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
)

// held is a log in memory.
type held struct {
	stored
	entries []attestation.Entry
	note    attlog.Note
}

func (h *held) Head() (attestation.Head, []byte) {
	return attestation.Head{Size: uint64(len(h.entries))}, h.note.Bytes()
}

func (h *held) Entries(_ context.Context, from, to uint64, yield func(uint64, attestation.Entry) error) error {
	for i := from; i < to; i++ {
		if err := yield(i, h.entries[i]); err != nil {
			return err
		}
	}
	return nil
}

var (
	tileOrg     = did.MustParse(goldenDID)
	tileWitness = did.MustParse("did:web:beta.example")
	tileKey     = envelopetest.Repeat(0x13)
	witnessKey  = envelopetest.Repeat(0x21)
)

// heldLog is a log of n entries of some lengths, signed at size and cosigned.
func heldLog(t *testing.T, n int, size uint64) *held {
	t.Helper()
	h := &held{}
	for i := range n {
		e := attestation.Entry(bytes.Repeat(fmt.Appendf([]byte{1}, "entry %d of something.", i), 1+i%9))
		hashes, err := tlog.StoredHashesForRecordHash(int64(i), e.Hash(), h.stored)
		if err != nil {
			t.Fatal(err)
		}
		h.stored, h.entries = append(h.stored, hashes...), append(h.entries, e)
	}
	h.sign(t, size)
	return h
}

func (h *held) sign(t *testing.T, size uint64) {
	t.Helper()
	head, err := attlog.RootAt(size, h)
	if err != nil {
		t.Fatal(err)
	}
	if h.note, err = attlog.Sign(context.Background(), tileKey, tileOrg, head); err != nil {
		t.Fatal(err)
	}
	line, err := attlog.Cosign(context.Background(), witnessKey, tileWitness, h.note, time.Date(2026, 12, 15, 9, 0, 6, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	h.note = h.note.With(line)
}

// export writes the tree at the signed head into a directory.
func (h *held) export(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := attlog.Export(context.Background(), h.note, attlog.TilesOf(h), putter(dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func putter(dir string) func(string, []byte) error {
	return func(path string, data []byte) error {
		name := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return os.WriteFile(name, data, 0o644)
	}
}

func filesOf(dir string) attlog.Files {
	return func(_ context.Context, path string) ([]byte, error) {
		return os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
	}
}

// paths lists the files of a directory, in lexical order.
func paths(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheTreeOfOneSize(t *testing.T) {
	tests := []struct {
		name string
		size uint64
		want []string
	}{
		{"one entry", 1, []string{"checkpoint", "tile/0/000.p/1", "tile/entries/000.p/1"}},
		{"one full tile", 256, []string{"checkpoint", "tile/0/000", "tile/1/000.p/1", "tile/entries/000"}},
		{"a tile and an entry", 257, []string{"checkpoint", "tile/0/000", "tile/0/001.p/1", "tile/1/000.p/1", "tile/entries/000", "tile/entries/001.p/1"}},
		{"below the held size", 300, []string{"checkpoint", "tile/0/000", "tile/0/001.p/44", "tile/1/000.p/1", "tile/entries/000", "tile/entries/001.p/44"}},
	}
	h := heldLog(t, 700, 1)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h.sign(t, tt.size)
			dir := h.export(t)
			if got := paths(t, dir); !slices.Equal(got, tt.want) {
				t.Errorf("files %v, want %v", got, tt.want)
			}
			if err := attlog.CheckTiles(context.Background(), h.note.Head, filesOf(dir)); err != nil {
				t.Error(err)
			}
			note, err := os.ReadFile(filepath.Join(dir, attlog.CheckpointFile))
			if err != nil || !bytes.Equal(note, h.note.Bytes()) {
				t.Errorf("checkpoint %q (%v)", note, err)
			}
		})
	}
}

func TestTilesThatAreNotOfTheLog(t *testing.T) {
	files := attlog.TilesOf(heldLog(t, 300, 300))
	for _, path := range []string{"checkpoint", "tile/0/001", "tile/0/001.p/45", "tile/0/002.p/1", "tile/1/000", "tile/1/000.p/2", "tile/2/000.p/1",
		"tile/entries/001", "tile/entries/002.p/1", "tile/entries/001.p/0", "tile/0/000.p/256", "tile/63/000.p/1", "tile/0/x001/000", "tile/0/0", "tile/-1/000", "tile/0/../0/000", ""} {
		if b, err := files(context.Background(), path); !errors.Is(err, attlog.ErrTile) || b != nil {
			t.Errorf("%q: %d bytes, %v", path, len(b), err)
		}
	}
}

// TestAWrongFileEndsAnExport gives one wrong file after the other: nothing is
// finished with it.
func TestAWrongFileEndsAnExport(t *testing.T) {
	h := heldLog(t, 700, 700)
	good := attlog.TilesOf(h)
	for _, path := range paths(t, h.export(t)) {
		if path == attlog.CheckpointFile {
			continue
		}
		for name, change := range map[string]func([]byte) []byte{
			"a bit":  func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
			"longer": func(b []byte) []byte { return append(b, 0) },
			"cut":    func(b []byte) []byte { return b[:len(b)-1] },
		} {
			finished := false
			err := attlog.Export(context.Background(), h.note, func(ctx context.Context, p string) ([]byte, error) {
				b, err := good(ctx, p)
				if err == nil && p == path {
					b = change(slices.Clone(b))
				}
				return b, err
			}, func(p string, _ []byte) error { finished = finished || p == attlog.CheckpointFile; return nil })
			if !errors.Is(err, attlog.ErrTiles) || finished {
				t.Errorf("%s, %s: %v, finished %t", path, name, err, finished)
			}
		}
	}
	other := h.note
	other.Head.Root = envelope.IDOf([]byte("another"))
	if err := attlog.CheckTiles(context.Background(), other.Head, good); !errors.Is(err, attlog.ErrTiles) {
		t.Errorf("another root: %v", err)
	}
}

func TestPoliciesNobodyShouldTrust(t *testing.T) {
	key, w := tileKey.Public(), attlog.PolicyWitness{Org: tileWitness, Keys: []did.PublicKey{witnessKey.Public()}}
	tests := []struct {
		name string
		p    attlog.Policy
	}{
		{"a quorum that nobody can meet", attlog.Policy{Org: tileOrg, Key: key, Quorum: 1}},
		{"a quorum above the organizations", attlog.Policy{Org: tileOrg, Key: key, Witnesses: []attlog.PolicyWitness{w}, Quorum: 2}},
		{"a quorum below none", attlog.Policy{Org: tileOrg, Key: key, Quorum: -1}},
		{"an organization that counts twice", attlog.Policy{Org: tileOrg, Key: key, Witnesses: []attlog.PolicyWitness{w, w}, Quorum: 2}},
		{"the log as its own witness", attlog.Policy{Org: tileOrg, Key: key, Witnesses: []attlog.PolicyWitness{{Org: tileOrg, Keys: w.Keys}}, Quorum: 1}},
		{"a witness without a key", attlog.Policy{Org: tileOrg, Key: key, Witnesses: []attlog.PolicyWitness{{Org: tileWitness}}, Quorum: 1}},
		{"no key of the log", attlog.Policy{Org: tileOrg}},
	}
	for _, tt := range tests {
		if b, err := tt.p.Bytes(); !errors.Is(err, attlog.ErrPolicy) || b != nil {
			t.Errorf("%s: %q, %v", tt.name, b, err)
		}
	}
}
