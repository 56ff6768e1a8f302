package keys

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/did/envelope"
)

// TestNoSeedOnDisk looks for every seed in every file, in the forms in which seeds are written.
// It is identity I-1.
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
		"base58": base58(seed), "numbers": strings.Trim(fmt.Sprint(seed), "[]"), "numbers in JSON": strings.ReplaceAll(strings.Trim(fmt.Sprint(seed), "[]"), " ", ","),
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
		fmt.Sprint(struct{ k []byte }{seed}), mustJSON(t, [ed25519.SeedSize]byte(seed)),
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

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
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
		if got := mustJSON(t, map[string]any{"k": v}); got != `{"k":"`+key+`"}` {
			t.Errorf("%T in JSON: %s", v, got)
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		if got := fmt.Sprintf(verb, s); got != "[key store, 1 open]" {
			t.Errorf("store with %s: got %s", verb, got)
		}
	}
	if got := mustJSON(t, s); got != `"[key store, 1 open]"` {
		t.Errorf("store in JSON: %s", got)
	}
}

// TestPrintingWhatIsInside: an error or a log line of this package, too, may be handed the wrong thing.
func TestPrintingWhatIsInside(t *testing.T) {
	seed := bytes.Repeat([]byte{0x11}, ed25519.SeedSize)
	master := bytes.Repeat([]byte{0x12}, keySize)
	s, err := newStore(MemoryBlobs(), master)
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.Import(t.Context(), seed)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRecovery([ed25519.SeedSize]byte(seed))
	if err != nil {
		t.Fatal(err)
	}
	paper := paperKey(r.private)
	secrets := [][]byte{seed, master, subkey(master, "blob"), subkey(master, "lock")}
	for _, v := range []any{paper, &paper, s.sealed, s.lock, s.lock.box, wrapper{s.lock}, provider{s.sealed, s.lock}, r, s, g,
		struct{ r *Recovery }{r}, struct{ r Recovery }{*r}, struct{ s *Store }{s}, struct{ g envelope.Signer }{g}, struct{ g *signer }{g.(*signer)},
		struct{ l *secretLock }{&s.lock}, struct{ p *paperKey }{&paper}, map[string]any{"key": paper}, []any{g, s.lock}} {
		text := ""
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			text += fmt.Sprintf(verb, v) + "\n"
		}
		if b, err := json.Marshal(v); err == nil {
			text += string(b) + "\n"
		}
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "k", v)
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "k", v)
		text += log.String()
		for i, secret := range secrets {
			if form := leaks([]byte(text), secret); form != "" {
				t.Errorf("%T shows secret %d in %s:\n%s", v, i, form, text)
			}
		}
	}
}

// TestNoCallReturnsAPrivateKey lists the exported calls that return bytes or text. One that is added here has been thought
// about.
func TestNoCallReturnsAPrivateKey(t *testing.T) {
	want := []string{"Blobs.Get", "Blobs.List", // of sealed blobs
		"Recovery.GoString", "Recovery.MarshalText", "Recovery.String", "Store.GoString", "Store.MarshalText", "Store.String", // public names
		"Recovery.Text", "Store.HostKey"} // the two that do
	var got []string
	returns := func(name string, v reflect.Type) {
		for i := range v.NumMethod() {
			m := v.Method(i)
			for j := range m.Type.NumOut() {
				out := m.Type.Out(j)
				if out.Kind() == reflect.String || out.Kind() == reflect.Slice && out.Elem() != reflect.TypeFor[did.PublicKey]() {
					got = append(got, name+"."+m.Name)
				}
			}
		}
	}
	returns("Blobs", reflect.TypeFor[Blobs]())
	returns("Recovery", reflect.TypeFor[*Recovery]())
	returns("Store", reflect.TypeFor[*Store]())
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, f := range []any{Create, Open, Memory, Rekey, Exists, NewRecovery, ParseRecovery, DirBlobs, MemoryBlobs} {
		for i, typ := 0, reflect.TypeOf(f); i < typ.NumOut(); i++ {
			if k := typ.Out(i).Kind(); k == reflect.String || k == reflect.Slice || k == reflect.Array {
				t.Errorf("%v returns bytes", typ)
			}
		}
	}
}
