package keys

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
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

// TestNoSeedOnDisk looks for every seed in every file, in the forms in which seeds are written.
func TestNoSeedOnDisk(t *testing.T) {
	s, dir := create(t)
	var seeds [][]byte
	for i := range 4 {
		seed := bytes.Repeat([]byte{byte(0x31 + i)}, ed25519.SeedSize)
		seed[3] ^= 0x77
		if _, err := s.Import(t.Context(), seed); err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, seed)
	}
	host, err := s.HostKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		for _, seed := range append(seeds, host) {
			if form := leaks(b, seed); form != "" {
				t.Errorf("%s holds a seed in %s", path, form)
			}
		}
		return err
	})
	if err != nil || files != 6 {
		t.Errorf("%d files, %v, want 6", files, err)
	}
}

// leaks names the form in which b holds seed.
func leaks(b, seed []byte) string {
	forms := map[string]string{
		"raw": string(seed), "hex": hex.EncodeToString(seed), "HEX": strings.ToUpper(hex.EncodeToString(seed)),
		"base58": base58(seed),
	}
	// In base64 of something longer the seed may begin at any of three places: the middle of each spelling is fixed.
	for shift := range 3 {
		padded := append(make([]byte, shift), seed...)
		std, url := base64.StdEncoding.EncodeToString(padded), base64.URLEncoding.EncodeToString(padded)
		forms[fmt.Sprint("base64 ", shift)] = std[4:40]
		forms[fmt.Sprint("base64url ", shift)] = url[4:40]
	}
	for name, form := range forms {
		if bytes.Contains(b, []byte(form)) {
			return name
		}
	}
	return ""
}

// TestLeaksSees makes sure that the search for seeds can find one.
func TestLeaksSees(t *testing.T) {
	seed := bytes.Repeat([]byte{0xfb, 0x1f}, 16)
	holders := []string{
		"x" + string(seed) + "x", hex.EncodeToString(seed), fmt.Sprintf("%X", seed), base58(seed),
		base64.StdEncoding.EncodeToString(append([]byte("ab"), seed...)),
		base64.RawURLEncoding.EncodeToString(append([]byte("abcd"), append(seed, "tail"...)...)),
	}
	for i, h := range holders {
		if leaks([]byte(h), seed) == "" {
			t.Errorf("holder %d: seed not seen", i)
		}
	}
	if form := leaks([]byte("nothing"), seed); form != "" {
		t.Errorf("seen in %s where there is none", form)
	}
}

// base58 is the plain long division, for 32 bytes without leading zeros.
func base58(b []byte) string {
	const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	b = bytes.Clone(b)
	var out []byte
	for len(b) > 0 {
		rest := 0
		for i := range b {
			rest = rest<<8 | int(b[i])
			b[i], rest = byte(rest/58), rest%58
		}
		out = append(out, alphabet[rest])
		b = bytes.TrimLeft(b, "\x00")
	}
	slices.Reverse(out)
	return string(out)
}

func TestPrintingShowsPublicKeysOnly(t *testing.T) {
	s, _ := create(t)
	seed := bytes.Repeat([]byte{0x11}, ed25519.SeedSize)
	g, err := s.Import(t.Context(), seed)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRecovery([ed25519.SeedSize]byte(seed))
	if err != nil {
		t.Fatal(err)
	}
	const key = "[key z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S]"
	for _, v := range []any{g, r} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			if got := fmt.Sprintf(verb, v); got != key {
				t.Errorf("%T with %s: got %s", v, verb, got)
			}
		}
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "k", v)
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "k", v)
		if strings.Count(log.String(), key) != 2 || leaks(log.Bytes(), seed) != "" {
			t.Errorf("logged %s", log.String())
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		if got := fmt.Sprintf(verb, s); got != "[key store, 1 open]" {
			t.Errorf("store with %s: got %s", verb, got)
		}
	}
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

func TestRecovery(t *testing.T) {
	r, err := NewRecovery()
	if err != nil {
		t.Fatal(err)
	}
	text := r.Text()
	if !strings.HasPrefix(text, "rec1-") || len(text) != 77 {
		t.Errorf("text of %d characters", len(text))
	}
	for _, typed := range []string{text, strings.ToUpper(text), strings.ReplaceAll(text, "-", " ") + "\n", strings.ReplaceAll(text, "-", "")} {
		again, err := ParseRecovery([]byte(typed))
		if err != nil || again.Public() != r.Public() {
			t.Errorf("read back: %v, %v, want %v", again, err, r)
		}
	}
	signed(t, r.Signer())
	for i := range text {
		if text[i] == '-' {
			continue
		}
		b := []byte(text)
		b[i] = map[bool]byte{true: 'b', false: 'a'}[b[i] == 'a']
		if _, err := ParseRecovery(b); !errors.Is(err, ErrRecovery) {
			t.Errorf("character %d changed: %v", i, err)
		}
	}
	for _, bad := range []string{"", "rec1", text[5:], text[:len(text)-1], text + "a", strings.Repeat("a", maxRecovery+1)} {
		if _, err := ParseRecovery([]byte(bad)); !errors.Is(err, ErrRecovery) {
			t.Errorf("%d characters: %v", len(bad), err)
		}
	}
	r.Forget()
	if _, err := r.Signer().Sign(t.Context(), envelope.DataIntegrity([64]byte{})); !errors.Is(err, ErrNoKey) {
		t.Errorf("signing after Forget: %v", err)
	}
}

func FuzzParseRecovery(f *testing.F) {
	r, err := newRecovery([ed25519.SeedSize]byte{1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(r.Text()))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ParseRecovery(text)
		if err != nil {
			return
		}
		if again, err := ParseRecovery([]byte(r.Text())); err != nil || again.Public() != r.Public() {
			t.Errorf("%v reads back as %v, %v", r, again, err)
		}
	})
}

func BenchmarkSign(b *testing.B) {
	s, _ := create(b)
	g := generate(b, s)
	p := envelope.DataIntegrity([64]byte{1})
	b.Run("open handle", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := g.Sign(context.Background(), p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor: ed25519.Sign", func(b *testing.B) {
		key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		for b.Loop() {
			ed25519.Sign(key, p.Bytes())
		}
	})
	b.Run("key from disk", func(b *testing.B) {
		for b.Loop() {
			s.mu.Lock()
			clear(s.opened)
			s.mu.Unlock()
			if _, err := s.Signer(context.Background(), g.Public()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "keys")
	if _, err := Create(dir, passphrase); err != nil {
		b.Fatal(err)
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			if _, err := Open(dir, passphrase); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor: argon2id", func(b *testing.B) {
		l := lock{params: DefaultParams}
		for b.Loop() {
			l.derive(passphrase)
		}
	})
}
