package keys

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// goldenLock opens with the passphrase "correct-horse-battery"; its salt is sixteen bytes 5a. goldenMaster freezes
// what golang.org/x/crypto/argon2 makes of them: a change here locks every store out.
const goldenMaster = "c4857e12feaabe69905f9ffab102d78acc10f6e9887ad17ae6beaafbd7ec06f8"

const goldenLock = `{"check":"GbKDXZdl7-VnZeDG8yug-5vXCrHZvuQXYtEdYd5-QnU","kdf":"argon2id","m_kib":8,"p":1,"salt":"WlpaWlpaWlpaWlpaWlpaWg","t":1,"v":1}`

func TestLockOpens(t *testing.T) {
	l, err := parseLock([]byte(goldenLock))
	if err != nil {
		t.Fatal(err)
	}
	master, err := l.open([]byte("correct-horse-battery"))
	if err != nil || hex.EncodeToString(master) != goldenMaster {
		t.Errorf("got %x, %v, want %s", master, err, goldenMaster)
	}
	for _, wrong := range []string{"", "correct-horse-battery ", "Correct-horse-battery"} {
		if key, err := l.open([]byte(wrong)); !errors.Is(err, ErrPassphrase) || key != nil {
			t.Errorf("passphrase %q: %x, %v", wrong, key, err)
		}
	}
	if b, err := l.marshal(); err != nil || string(b) != goldenLock {
		t.Errorf("got %s, %v", b, err)
	}
}

func TestRefusedLocks(t *testing.T) {
	swap := func(old, new string) string {
		if !strings.Contains(goldenLock, old) {
			t.Fatalf("%q is not in the golden lock", old)
		}
		return strings.Replace(goldenLock, old, new, 1)
	}
	cases := []struct{ name, lock string }{
		{"nothing", ""},
		{"not canonical", swap(`,"p"`, `, "p"`)},
		{"a line feed at the end", goldenLock + "\n"},
		{"a second document", goldenLock + goldenLock},
		{"a member in capitals", swap(`"kdf"`, `"KDF"`)},
		{"an unknown member", swap(`"v":1`, `"v":1,"w":1`)},
		{"a missing member", swap(`,"v":1`, ``)},
		{"a member twice", swap(`"v":1`, `"v":1,"v":1`)},
		{"another version", swap(`"v":1`, `"v":2`)},
		{"another kdf", swap(`argon2id`, `scrypt`)},
		{"no passes", swap(`"t":1`, `"t":0`)},
		{"passes for hours", swap(`"t":1`, `"t":65`)},
		{"too little memory", swap(`"m_kib":8`, `"m_kib":7`)},
		{"memory for machines we do not have", swap(`"m_kib":8`, `"m_kib":1048577`)},
		{"memory that wraps to 8", swap(`"m_kib":8`, `"m_kib":4294967304`)},
		{"no lanes", swap(`"p":1`, `"p":0`)},
		{"lanes that wrap to 1", swap(`"p":1`, `"p":257`)},
		{"a short salt", swap(`"salt":"Wlpa`, `"salt":"`)},
		{"a padded salt", swap(`WlpaWg"`, `WlpaWg=="`)},
		{"a salt with stray bits", swap(`WlpaWg"`, `WlpaWh"`)},
		{"a short check", swap(`"check":"`, `"check":"AAAA`)},
		{"an endless file", goldenLock + strings.Repeat(" ", maxLock)},
	}
	for _, c := range cases {
		if l, err := parseLock([]byte(c.lock)); !errors.Is(err, ErrLock) {
			t.Errorf("%s: got %+v, %v", c.name, l.params, err)
		}
	}
}

func TestNewLockRefusesParams(t *testing.T) {
	for _, p := range []Params{{}, {1, 8, 0}, {0, 8, 1}, {1, 7, 1}, {1, 15, 2}, {65, 8, 1}, {1, maxMemoryKiB + 1, 1}, {1, 4096, 17}} {
		if _, _, err := newLock([]byte("x"), p); !errors.Is(err, ErrLock) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if err := DefaultParams.check(); err != nil || DefaultParams != (Params{3, 65536, 1}) {
		t.Errorf("default %+v: %v", DefaultParams, err)
	}
	if _, _, err := newLock(nil, FastParams); !errors.Is(err, ErrEmpty) {
		t.Errorf("empty passphrase: %v", err)
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add([]byte(goldenLock))
	for _, c := range [][2]string{{`"t":1`, `"t":64`}, {`"m_kib":8`, `"m_kib":1048576`}, {`"p":1`, `"p":257`}, {`"v":1`, `"v":1,"v":1`},
		{`"kdf"`, `"KDF"`}, {`WlpaWg"`, `WlpaWg=="`}, {`WlpaWg"`, `WlpaWh"`}, {`"t":1`, `"t":1e0`}, {`"t":1`, `"t":-1`}, {`argon2id`, `argon\u0032id`}} {
		f.Add([]byte(strings.Replace(goldenLock, c[0], c[1], 1)))
	}
	f.Add([]byte{})
	f.Add([]byte(goldenLock + "\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		l, err := parseLock(in)
		if err != nil {
			if !errors.Is(err, ErrLock) {
				t.Errorf("%q: %v does not wrap ErrLock", in, err)
			}
			return
		}
		if got, err := l.marshal(); err != nil || !bytes.Equal(got, in) {
			t.Errorf("read %q, writes %q, %v", in, got, err)
		}
	})
}
