package vault_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"

	"trustnode/node/vault"
)

// made is a backup of some parts.
func made(t testing.TB, parts map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := vault.NewWriter(&b, vault.Head{At: "2026-12-01T10:00:00Z", Org: "did:web:acme.example", Logs: []vault.Log{{Org: "did:web:acme.example", Size: 4}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := w.Part(name, func(w io.Writer) error { _, err := w.Write(parts[name]); return err }); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func some(n int) []byte {
	rng, b := rand.New(rand.NewPCG(uint64(n), 1)), make([]byte, n)
	for i := range b {
		b[i] = byte(rng.IntN(24))
	}
	return b
}

func TestWhatGoesInComesOut(t *testing.T) {
	parts := map[string][]byte{"a": nil, "b": some(3), "c": some(2 << 20)}
	b := made(t, parts)
	got := map[string][]byte{}
	h, list, err := vault.Read(bytes.NewReader(b), func(name string, r io.Reader) error {
		p, err := io.ReadAll(r)
		got[name] = p
		return err
	})
	if err != nil || h.Org != "did:web:acme.example" || len(list) != 3 {
		t.Fatal(h, list, err)
	}
	for name, want := range parts {
		if !bytes.Equal(got[name], want) {
			t.Errorf("part %s has %d bytes, want %d", name, len(got[name]), len(want))
		}
	}
	if _, _, err := vault.Verify(bytes.NewReader(b), nil); err != nil {
		t.Error(err)
	}
}

// TestEveryAlteredByteIsRefused changes each bit of each byte, cuts the file at each length
// and adds a byte at each place.
func TestEveryAlteredByteIsRefused(t *testing.T) {
	whole := made(t, map[string][]byte{"a": some(40), "b": some(300), "c": some(5)})
	refused := func(what string, b []byte) {
		t.Helper()
		if _, _, err := vault.Verify(bytes.NewReader(b), nil); !errors.Is(err, vault.ErrAltered) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range whole {
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[i] ^= 1 << bit
			refused("flipped", b)
		}
		refused("cut", whole[:i])
		refused("longer", append(append(bytes.Clone(whole[:i]), 'x'), whole[i:]...))
	}
	refused("longer at the end", append(bytes.Clone(whole), 0))
}

// TestPartsAreHashedByThemselves alters each byte of the frames beneath compression and
// trailer, both made anew to fit: each is in the sum of its part, in the manifest, or no
// frame any more. The head alone is hashed by nothing but the trailer.
func TestPartsAreHashedByThemselves(t *testing.T) {
	whole := made(t, map[string][]byte{"a": some(40), "b": some(300), "c": some(5)})
	const begin = len("trustnode backup 1\n")
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	frames, err := z.DecodeAll(whole[begin:len(whole)-sha256.Size], nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := bytes.Index(frames, []byte("p\x01a")); i < len(frames); i++ {
		changed := bytes.Clone(frames)
		changed[i] ^= 0x11
		b := w.EncodeAll(changed, bytes.Clone(whole[:begin]))
		sum := sha256.Sum256(b)
		if _, _, err := vault.Verify(bytes.NewReader(append(b, sum[:]...)), nil); !errors.Is(err, vault.ErrAltered) {
			t.Errorf("byte %d (%q): %v", i, frames[i], err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(made(f, map[string][]byte{"a": some(40), "b": some(300), "c": some(5)}))
	f.Add([]byte("trustnode backup 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _, _ = vault.Read(bytes.NewReader(b), func(_ string, r io.Reader) error {
			_, err := io.Copy(io.Discard, r)
			return err
		})
	})
}
