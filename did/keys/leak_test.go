package keys

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
