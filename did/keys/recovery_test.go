package keys

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"

	"trustnode/did/envelope"
)

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
	text := r.Text()
	for _, typed := range []string{text, strings.ToUpper(text), strings.ReplaceAll(text, "-", " \r\n"), strings.ReplaceAll(text, "-", ""), text[:76], text + "a",
		"rec1", "rec2" + text[4:], text[:5] + "0" + text[6:], "r-e-c-1" + text[4:], strings.Repeat("-", maxRecovery) + text, ""} {
		f.Add([]byte(typed))
	}
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
