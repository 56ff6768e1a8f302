package keys

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"trustnode/did"
	"trustnode/did/envelope"
)

var passphrase = []byte("correct-horse-battery")

func create(t testing.TB) (*Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "keys")
	s, err := Create(dir, passphrase, FastParams)
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

func reopen(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, passphrase)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func generate(t testing.TB, s *Store) envelope.Signer {
	t.Helper()
	g, err := s.Generate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func signed(t testing.TB, g envelope.Signer) {
	t.Helper()
	p := envelope.DataIntegrity([64]byte{1, 2, 3})
	sig, err := g.Sign(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Public().Verify(p.Bytes(), sig); err != nil {
		t.Error(err)
	}
}

func TestStores(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		s, err := Memory()
		if err != nil {
			t.Fatal(err)
		}
		storeSuite(t, s)
	})
	t.Run("directory", func(t *testing.T) {
		s, _ := create(t)
		storeSuite(t, s)
	})
}

// storeSuite holds an empty store to its promises.
func storeSuite(t *testing.T, s *Store) {
	if all, err := s.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("list of an empty store: %v, %v", all, err)
	}
	a, b := generate(t, s), generate(t, s)
	signed(t, a)
	if a.Public() == b.Public() {
		t.Fatal("one key twice")
	}
	if again, err := s.Signer(t.Context(), a.Public()); err != nil || again != a {
		t.Errorf("signer of an open key: %v, %v, want the one that is open", again, err)
	}
	wantList(t, s, a.Public(), b.Public())
	if err := s.Delete(t.Context(), a.Public()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Sign(t.Context(), envelope.DataIntegrity([64]byte{})); !errors.Is(err, ErrNoKey) {
		t.Errorf("signing with a deleted key: %v", err)
	}
	if _, err := s.Signer(t.Context(), a.Public()); !errors.Is(err, ErrNoKey) {
		t.Errorf("signer of a deleted key: %v", err)
	}
	if err := s.Delete(t.Context(), a.Public()); err != nil {
		t.Errorf("deleting again: %v", err)
	}
	wantList(t, s, b.Public())
	signed(t, b)
	hostKey(t, s)
	wantList(t, s, b.Public())
	closed(t, s, b)
}

func hostKey(t *testing.T, s *Store) {
	one, err := s.HostKey(t.Context())
	if err != nil || len(one) != ed25519.SeedSize {
		t.Fatalf("host key %x, %v", one, err)
	}
	two, err := s.HostKey(t.Context())
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("host key changed: %v", err)
	}
}

func closed(t *testing.T, s *Store, g envelope.Signer) {
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	_, generate := s.Generate(t.Context())
	_, signer := s.Signer(t.Context(), g.Public())
	_, host := s.HostKey(t.Context())
	_, list := s.List(t.Context())
	for _, err := range []error{generate, signer, host, list, s.Delete(t.Context(), g.Public())} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
	if _, err := g.Sign(t.Context(), envelope.DataIntegrity([64]byte{})); !errors.Is(err, ErrNoKey) {
		t.Errorf("signing after Close: %v", err)
	}
}

func wantList(t *testing.T, s *Store, want ...did.PublicKey) {
	t.Helper()
	got, err := s.List(t.Context())
	for _, list := range [][]did.PublicKey{got, want} {
		slices.SortFunc(list, func(a, b did.PublicKey) int { return strings.Compare(a.Multikey(), b.Multikey()) })
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("list: got %v, %v, want %v", got, err, want)
	}
}

func TestKeysSurviveReopening(t *testing.T) {
	s, dir := create(t)
	g := generate(t, s)
	host, err := s.HostKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s = reopen(t, dir)
	wantList(t, s, g.Public())
	again, err := s.Signer(t.Context(), g.Public())
	if err != nil {
		t.Fatal(err)
	}
	signed(t, again)
	if again.Public() != g.Public() {
		t.Errorf("got %v, want %v", again, g)
	}
	if seed, err := s.HostKey(t.Context()); err != nil || !bytes.Equal(seed, host) {
		t.Errorf("host key changed: %v", err)
	}
	if err := s.Delete(t.Context(), g.Public()); err != nil {
		t.Fatal(err)
	}
	wantList(t, reopen(t, dir))
}

func TestOpening(t *testing.T) {
	s, dir := create(t)
	generate(t, s)
	if _, err := Open(dir, []byte("correct-horse-batterz")); !errors.Is(err, ErrPassphrase) {
		t.Errorf("wrong passphrase: %v", err)
	}
	if _, err := Open(t.TempDir(), passphrase); !errors.Is(err, ErrAbsent) {
		t.Errorf("no store: %v", err)
	}
	if _, err := Create(dir, passphrase, FastParams); !errors.Is(err, ErrExists) {
		t.Errorf("a second store in one directory: %v", err)
	}
	if _, err := Create(filepath.Join(t.TempDir(), "new"), nil, FastParams); !errors.Is(err, ErrEmpty) {
		t.Errorf("empty passphrase: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, passphrase, FastParams); !errors.Is(err, ErrExists) {
		t.Errorf("a store over keys without a lock: %v", err)
	}
}

func TestDirectoryIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := Create(dir, passphrase, FastParams)
	if err != nil {
		t.Fatal(err)
	}
	generate(t, s)
	if _, err := s.HostKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	modes := map[string]os.FileMode{}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		modes[path] = info.Mode().Perm()
		return err
	})
	if err != nil || len(modes) != 4 {
		t.Errorf("found %v, %v, want the directory and three files", modes, err)
	}
	for path, mode := range modes {
		if want := map[bool]os.FileMode{true: 0o700, false: 0o600}[path == dir]; mode != want {
			t.Errorf("%s: mode %o, want %o", path, mode, want)
		}
	}
}

func TestLeftoversAreSweptAway(t *testing.T) {
	s, dir := create(t)
	g := generate(t, s)
	left := filepath.Join(dir, idOf(g.Public())+".key.tmp")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	reopen(t, dir)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("leftover: %v", err)
	}
}

// TestEveryByteOfAStoredKeyCounts flips each bit of each file: the key does not open, or is the same key.
func TestEveryByteOfAStoredKeyCounts(t *testing.T) {
	s, dir := create(t)
	g := generate(t, s)
	if _, err := s.HostKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{idOf(g.Public()), hostID} {
		path := filepath.Join(dir, id+".key")
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s := reopen(t, dir)
		damaged := func(what string, b []byte) {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := s.Signer(t.Context(), g.Public())
			if id == hostID {
				_, err = s.HostKey(t.Context())
			}
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %s: %v", id, what, err)
			}
		}
		for i := range whole {
			b := bytes.Clone(whole)
			b[i] ^= 1 << (i % 8)
			damaged(fmt.Sprintf("bit %d of byte %d", i%8, i), b)
		}
		for _, n := range []int{0, 1, 39, 40, len(whole) - 1} {
			damaged(fmt.Sprintf("cut to %d", n), whole[:n])
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSwappedFiles: whoever can write to the directory cannot make one key sign in another's name.
func TestSwappedFiles(t *testing.T) {
	s, dir := create(t)
	a, b := generate(t, s), generate(t, s)
	pa, pb := filepath.Join(dir, idOf(a.Public())+".key"), filepath.Join(dir, idOf(b.Public())+".key")
	other, err := os.ReadFile(pb)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(pa, other, 0o600); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, dir)
	if g, err := s.Signer(t.Context(), a.Public()); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v, %v", g, err)
	}
	if _, err := s.List(t.Context()); !errors.Is(err, ErrDamaged) {
		t.Errorf("list: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "host.key"), other, 0o600); err != nil {
		t.Fatal(err)
	}
	if seed, err := s.HostKey(t.Context()); !errors.Is(err, ErrDamaged) {
		t.Errorf("host key: %x, %v", seed, err)
	}
}

// TestKeyUnderAnotherId: even sealed rightly, a key under an id that is not its own is no key.
func TestKeyUnderAnotherId(t *testing.T) {
	s, _ := create(t)
	a, b := generate(t, s), generate(t, s)
	content, err := s.sealed.Get(idOf(b.Public()))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.sealed.Put(idOf(a.Public()), content); err != nil {
		t.Fatal(err)
	}
	s.opened = make(map[did.PublicKey]*signer)
	if g, err := s.Signer(t.Context(), a.Public()); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v, %v", g, err)
	}
}

func TestImport(t *testing.T) {
	s, dir := create(t)
	seed := bytes.Repeat([]byte{0x11}, ed25519.SeedSize)
	const want = "z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S"
	for range 2 {
		g, err := s.Import(t.Context(), seed)
		if err != nil || g.Public().Multikey() != want {
			t.Fatalf("got %v, %v, want %s", g, err, want)
		}
		msg := envelope.DataIntegrity([64]byte{9})
		sig, err := g.Sign(t.Context(), msg)
		if std := ed25519.Sign(ed25519.NewKeyFromSeed(seed), msg.Bytes()); err != nil || !bytes.Equal(sig[:], std) {
			t.Errorf("got %x, %v, want %x", sig, err, std)
		}
		s = reopen(t, dir)
	}
	for _, n := range []int{0, 31, 33, 64} {
		if _, err := s.Import(t.Context(), make([]byte, n)); !errors.Is(err, ErrSeed) {
			t.Errorf("seed of %d bytes: %v", n, err)
		}
	}
}

func TestUnknownAndForeignKeys(t *testing.T) {
	s, _ := create(t)
	x25519, err := did.NewX25519(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	other, _ := create(t)
	for _, pub := range []did.PublicKey{{}, x25519, generate(t, other).Public()} {
		if g, err := s.Signer(t.Context(), pub); !errors.Is(err, ErrNoKey) {
			t.Errorf("%v: got %v, %v", pub, g, err)
		}
		if err := s.Delete(t.Context(), pub); err != nil {
			t.Errorf("deleting %v: %v", pub, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	s, _ := create(t)
	g := generate(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, generate := s.Generate(ctx)
	_, signer := s.Signer(ctx, g.Public())
	_, host := s.HostKey(ctx)
	_, sign := g.Sign(ctx, envelope.DataIntegrity([64]byte{}))
	_, list := s.List(ctx)
	for i, err := range []error{generate, signer, host, sign, list, s.Delete(ctx, g.Public())} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	signed(t, g)
}

func TestConcurrentUse(t *testing.T) {
	s, _ := create(t)
	pub := generate(t, s).Public()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			g, err := s.Signer(t.Context(), pub)
			if err != nil {
				t.Error(err)
				return
			}
			signed(t, g)
			if _, err := s.List(t.Context()); err != nil {
				t.Error(err)
			}
			mine, err := s.Generate(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Delete(t.Context(), mine.Public()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wantList(t, s, pub)
}
