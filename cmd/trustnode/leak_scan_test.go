package main

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
)

// scanner finds secrets in bytes, in the forms in which programs write them.
type scanner struct {
	begins [1 << 16]bool        // by the first two bytes of a form
	forms  map[uint64][]anyForm // by the first eight
}

// anyForm is one spelling of one secret.
type anyForm struct{ what, how, text string }

const shortestForm = 8

func newScanner() *scanner { return &scanner{forms: map[uint64][]anyForm{}} }

func (s *scanner) form(what, how, text string) {
	if len(text) < shortestForm {
		panic("a form of " + what + " is too short to look for")
	}
	s.begins[binary.LittleEndian.Uint16([]byte(text))] = true
	key := binary.LittleEndian.Uint64([]byte(text))
	s.forms[key] = append(s.forms[key], anyForm{what, how, text})
}

// add makes the scanner look for a secret of at least 12 bytes.
func (s *scanner) add(what string, secret []byte) {
	s.form(what, "raw", string(secret))
	s.form(what, "hex", hex.EncodeToString(secret))
	s.form(what, "HEX", strings.ToUpper(hex.EncodeToString(secret)))
	s.form(what, "numbers", strings.Trim(fmt.Sprint(secret), "[]"))
	s.form(what, "JSON numbers", strings.ReplaceAll(strings.Trim(fmt.Sprint(secret), "[]"), " ", ","))
	s.form(what, "base58", base58.Encode(secret))
	s.form(what, "multikey", base58.Encode(append([]byte{0x80, 0x26}, secret...))) // codec 1300, a private key
	// In a base of 5 or 6 bits what stands before decides how a secret is spelled: there are 5 and 3 ways. What the
	// neighbours take part in is left out.
	for shift := range 5 {
		padded, bits := append(make([]byte, shift), secret...), 5
		text := base32.StdEncoding.EncodeToString(padded)
		text = text[(8*shift+bits-1)/bits : 8*len(padded)/bits]
		s.form(what, "BASE32", text)
		s.form(what, "base32", strings.ToLower(text))
	}
	for shift := range 3 {
		padded, bits := append(make([]byte, shift), secret...), 6
		from, to := (8*shift+bits-1)/bits, 8*len(padded)/bits
		s.form(what, "base64", base64.StdEncoding.EncodeToString(padded)[from:to])
		s.form(what, "base64url", base64.URLEncoding.EncodeToString(padded)[from:to])
	}
}

// find names the secrets in b, and in what b holds in base64, two layers deep: the body of a signed object is one.
func (s *scanner) find(b []byte) []string { return s.layers(b, 2) }

func (s *scanner) layers(b []byte, deeper int) []string {
	var found []string
	for i := 0; i+shortestForm <= len(b); i++ {
		if !s.begins[binary.LittleEndian.Uint16(b[i:])] {
			continue
		}
		for _, f := range s.forms[binary.LittleEndian.Uint64(b[i:])] {
			if bytes.HasPrefix(b[i:], []byte(f.text)) {
				found = append(found, f.what+" in "+f.how)
			}
		}
	}
	if deeper > 0 {
		for _, run := range base64Runs(b) {
			for _, f := range s.layers(run, deeper-1) {
				found = append(found, f+" within base64")
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// base64Runs decodes each long run of characters of base64.
func base64Runs(b []byte) [][]byte {
	const shortest = 44
	var runs [][]byte
	for i := 0; i < len(b); {
		n := 0
		for i+n < len(b) && base64Digit[b[i+n]] != 0 {
			n++
		}
		if n >= shortest {
			text := make([]byte, n/4*4)
			for j := range text {
				text[j] = base64Digit[b[i+j]]
			}
			if out, err := base64.RawStdEncoding.DecodeString(string(text)); err == nil {
				runs = append(runs, out)
			}
		}
		i += n + 1
	}
	return runs
}

// base64Digit is the digit of the standard alphabet for one of either alphabet, or zero.
var base64Digit = func() (d [256]byte) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		d[c] = c
	}
	d['-'], d['_'] = '+', '/'
	return d
}()

// The scanner sees what it is there for.
func TestScannerSees(t *testing.T) {
	seed := []byte{0xfb, 0x1f, 0xef, 0xbe, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 0xff, 0xfe}
	s := newScanner()
	s.add("the seed", seed)
	std, url := base64.StdEncoding, base64.RawURLEncoding
	around := func(n int) []byte { return slices.Concat(bytes.Repeat([]byte("p"), n), seed, []byte("tail")) }
	body := func(inner string) string {
		return `{"payload":"` + std.EncodeToString([]byte(`{"note":"`+inner+`"}`)) + `"}`
	}
	for _, c := range []struct{ name, holder, how string }{
		{"raw between other bytes", "xyz" + string(seed) + "xyz", "raw"},
		{"in hex", "key=" + hex.EncodeToString(seed), "hex"},
		{"in upper case hex", fmt.Sprintf("%X", seed), "HEX"},
		{"printed as a slice", fmt.Sprint(struct{ k []byte }{seed}), "numbers"},
		{"in base58", "z" + base58.Encode(seed), "base58"},
		{"as a private multikey", "z" + base58.Encode(append([]byte{0x80, 0x26}, seed...)), "multikey"},
		{"in base64", std.EncodeToString(seed), "base64"},
		{"in base64 after one byte", std.EncodeToString(around(1)), "base64"},
		{"in base64url after two bytes", url.EncodeToString(around(2)), "base64url"},
		{"in base64url after three bytes", url.EncodeToString(around(3)), "base64url"},
		{"in base32 after four bytes", base32.StdEncoding.EncodeToString(around(4)), "BASE32"},
		{"in hex in a signed body", body(hex.EncodeToString(seed)), "hex within base64"},
		{"in base58 in a body in a body", body(url.EncodeToString([]byte(`{"k":"` + base58.Encode(seed) + `","more":"text"}`))), "base58 within base64 within base64"},
	} {
		if got := s.find([]byte(c.holder)); !slices.Contains(got, "the seed in "+c.how) {
			t.Errorf("%s: got %q, want it in %s", c.name, got, c.how)
		}
	}
	for _, none := range []string{"", "short", string(seed[:31]), hex.EncodeToString(seed[1:]), body("nothing")} {
		if got := s.find([]byte(none)); len(got) > 0 {
			t.Errorf("seen in %q: %q", none, got)
		}
	}
}
