package log_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/torchwood"
	fmtlog "github.com/transparency-dev/formats/log"
	fmtnote "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope/envelopetest"
)

// tessera is what the fsck of Tessera says of a directory.
func tessera(t *testing.T, dir string) error {
	t.Helper()
	v, err := note.NewVerifier(vkey(attlog.Origin(tileOrg), 1, tileKey.Public()))
	if err != nil {
		t.Fatal(err)
	}
	hashes := func(b []byte) ([][]byte, error) {
		var entries api.EntryBundle
		if err := entries.UnmarshalText(b); err != nil {
			return nil, err
		}
		var out [][]byte
		for _, e := range entries.Entries {
			out = append(out, rfc6962.DefaultHasher.HashLeaf(e))
		}
		return out, nil
	}
	return fsck.New(attlog.Origin(tileOrg), v, client.FileFetcher{Root: dir}, hashes, fsck.Opts{N: 2}).Check(context.Background())
}

// TestOutsideToolsTakeTheTree is acceptance 1: an exported log of 100,000 entries
// passes Tessera's fsck, and a torchwood client reads each entry of it.
func TestOutsideToolsTakeTheTree(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 1000
	}
	h := heldLog(t, n, uint64(n))
	dir := h.export(t)
	if err := tessera(t, dir); err != nil {
		t.Errorf("fsck: %v", err)
	}
	files, err := torchwood.NewTileFS(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	c, err := torchwood.NewClient(files)
	if err != nil {
		t.Fatal(err)
	}
	ctx, tree, read := context.Background(), tlog.Tree{N: int64(n), Hash: h.note.Head.Root.Sum()}, 0
	for i, e := range c.AllEntries(ctx, tree, 0) {
		if !bytes.Equal(e, h.entries[i]) {
			t.Fatalf("entry %d is %q, want %q", i, e, h.entries[i])
		}
		read++
	}
	if c.Err() != nil || read != n {
		t.Errorf("%d of %d entries read (%v)", read, n, c.Err())
	}
	if e, _, err := c.Entry(ctx, tree, 777); err != nil || !bytes.Equal(e, h.entries[777]) {
		t.Errorf("entry 777 with its proof: %q, %v", e, err)
	}
}

// TestOutsideToolsRefuseAChangedTree changes an exported tree on disk, file by
// file: the fsck of Tessera and CheckTiles refuse it alike.
func TestOutsideToolsRefuseAChangedTree(t *testing.T) {
	h := heldLog(t, 700, 700)
	dir := h.export(t)
	for _, path := range paths(t, dir) {
		t.Run(path, func(t *testing.T) {
			name := filepath.Join(dir, path)
			good, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			bad := slices.Clone(good)
			bad[len(bad)/2] ^= 1
			if path == attlog.CheckpointFile {
				bad = []byte(strings.Replace(string(good), "\n700\n", "\n699\n", 1))
			}
			if err := os.WriteFile(name, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := tessera(t, dir); err == nil {
				t.Error("fsck takes it")
			}
			if err := attlog.CheckTiles(context.Background(), h.note.Head, filesOf(dir)); err == nil && path != attlog.CheckpointFile {
				t.Error("CheckTiles takes it")
			}
			if err := os.WriteFile(name, good, 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
	if err := tessera(t, dir); err != nil {
		t.Errorf("fsck of the tree as it was: %v", err)
	}
	// A true head of another size over the same files is not theirs either.
	h.sign(t, 699)
	if err := os.WriteFile(filepath.Join(dir, attlog.CheckpointFile), h.note.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := tessera(t, dir); err == nil {
		t.Error("fsck takes a head of another size")
	}
}

// TestOutsideToolsParseHeads gives a head to transparency-dev/formats.
func TestOutsideToolsParseHeads(t *testing.T) {
	n := heldLog(t, 300, 300).note
	v, err := note.NewVerifier(vkey(attlog.Origin(tileOrg), 1, tileKey.Public()))
	if err != nil {
		t.Fatal(err)
	}
	w, err := fmtnote.NewVerifierForCosignatureV1(vkey(attlog.WitnessName(tileWitness), 4, witnessKey.Public()))
	if err != nil {
		t.Fatal(err)
	}
	cp, _, signed, err := fmtlog.ParseCheckpoint(n.Bytes(), attlog.Origin(tileOrg), v, w)
	if err != nil {
		t.Fatal(err)
	}
	root := n.Head.Root.Sum()
	if cp.Origin != attlog.Origin(tileOrg) || cp.Size != 300 || !bytes.Equal(cp.Hash, root[:]) || len(signed.Sigs) != 2 {
		t.Errorf("checkpoint %+v with %d lines", cp, len(signed.Sigs))
	}
	at, err := fmtnote.CoSigV1Timestamp(signed.Sigs[1])
	if err != nil || !at.Equal(time.Date(2026, 12, 15, 9, 0, 6, 0, time.UTC)) {
		t.Errorf("cosigned at %s (%v)", at, err)
	}
	n.Lines[1].Sig = slices.Clone(n.Lines[1].Sig)
	n.Lines[1].Sig[7]++ // the time it says
	if _, _, _, err := fmtlog.ParseCheckpoint(n.Bytes(), attlog.Origin(tileOrg), v, w); err == nil {
		t.Error("a cosignature of another time is taken")
	}
}

// TestOutsideToolsTakeThePolicy has torchwood judge heads by exported policies.
func TestOutsideToolsTakeThePolicy(t *testing.T) {
	n := heldLog(t, 300, 300).note
	gamma, other := did.MustParse("did:web:gamma.example"), envelopetest.Repeat(0x22)
	witness := func(d did.DID, keys ...*envelopetest.Signer) attlog.PolicyWitness {
		w := attlog.PolicyWitness{Org: d}
		for _, k := range keys {
			w.Keys = append(w.Keys, k.Public())
		}
		return w
	}
	second, err := attlog.Cosign(context.Background(), other, tileWitness, n, time.Date(2026, 12, 15, 9, 0, 7, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	bare := attlog.Note{Org: n.Org, Head: n.Head, Lines: n.Lines[:1]}
	tests := []struct {
		name    string
		key     *envelopetest.Signer
		quorum  int
		by      []attlog.PolicyWitness
		note    attlog.Note
		refused bool
	}{
		{"one of one", tileKey, 1, []attlog.PolicyWitness{witness(tileWitness, witnessKey)}, n, false},
		{"one of two organizations, by an older key", tileKey, 1, []attlog.PolicyWitness{witness(tileWitness, other, witnessKey), witness(gamma, envelopetest.Repeat(0x23))}, n, false},
		{"none asked for", tileKey, 0, nil, bare, false},
		{"no cosignature", tileKey, 1, []attlog.PolicyWitness{witness(tileWitness, witnessKey)}, bare, true},
		{"one of two that are asked for", tileKey, 2, []attlog.PolicyWitness{witness(tileWitness, witnessKey), witness(gamma, envelopetest.Repeat(0x23))}, n, true},
		{"two keys of one organization", tileKey, 2, []attlog.PolicyWitness{witness(tileWitness, witnessKey, other), witness(gamma, envelopetest.Repeat(0x23))}, n.With(second), true},
		{"another log key", other, 1, []attlog.PolicyWitness{witness(tileWitness, witnessKey)}, n, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, err := attlog.Policy{Org: tileOrg, Key: tt.key.Public(), Witnesses: tt.by, Quorum: tt.quorum}.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			p, err := torchwood.ParsePolicy(text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if _, _, err := torchwood.VerifyCheckpoint(tt.note.Bytes(), p); (err != nil) != tt.refused {
				t.Errorf("%v, refused %t wanted\n%s", err, tt.refused, text)
			}
		})
	}
}

// ExamplePolicy writes the policy that goes to an auditor with a tree.
func ExamplePolicy() {
	p := attlog.Policy{Org: did.MustParse("did:web:acme.example"), Key: envelopetest.Repeat(0x13).Public(), Quorum: 1,
		Witnesses: []attlog.PolicyWitness{{Org: did.MustParse("did:web:beta.example"), Keys: []did.PublicKey{envelopetest.Repeat(0x21).Public()}}}}
	text, err := p.Bytes()
	if err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%s", text)
	// Output:
	// log did:web:acme.example/log+1093abc0+AWbNYIuSi4jlDg7+qjP68cQ87+BylLC4fp/gq6ajz3Yz
	// witness org1-key1 did:web:beta.example/witness+a6d633db+BIhLiFf06qFhPGFQTbNNS+rzRlF6DjHePN3U2bQgHZ0L
	// group org1 any org1-key1
	// group witnesses 1 org1
	// quorum witnesses
}
