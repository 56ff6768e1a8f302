package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"trustnode/did/keys"
	"trustnode/node/fault"
)

// TestChangePassphrase: the keys open with the new passphrase alone, a wrong old one changes
// nothing, and update keys that have their own keep it.
func TestChangePassphrase(t *testing.T) {
	const next = "another-horse-battery"
	s := newSeat(t, "acme")
	node, update := filepath.Join(s.cfg.Dir, keysDir), filepath.Join(s.cfg.Dir, updateDir)
	opens := func(dir, pass string) bool {
		k, err := keys.Open(dir, []byte(pass))
		if err == nil {
			k.Close()
		}
		return err == nil
	}
	for name, c := range map[string]struct {
		old, next string
		code      fault.Code
	}{
		"a wrong one":  {"wrong-horse-battery", next, fault.Unauthenticated},
		"a short one":  {seatPass, "short", fault.Invalid},
		"an empty one": {seatPass, "", fault.Invalid},
	} {
		if _, err := ChangePassphrase(t.Context(), s.cfg, []byte(c.old), []byte(c.next)); fault.Of(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
		if !opens(node, seatPass) || !opens(update, seatPass) {
			t.Fatalf("%s changed something", name)
		}
	}
	for range 2 { // the second time finishes what a crash left
		got, err := ChangePassphrase(t.Context(), s.cfg, []byte(seatPass), []byte(next))
		if err != nil || !slices.Equal(got, []string{update, node}) {
			t.Fatalf("changed %v, %v", got, err)
		}
	}
	if opens(node, seatPass) || !opens(node, next) || opens(update, seatPass) || !opens(update, next) {
		t.Error("the keys open with the old passphrase, or not with the new one")
	}
	if err := ChangePassphraseOf(update, []byte(next), []byte("own-horse-battery")); err != nil {
		t.Fatal(err)
	}
	if _, err := ChangePassphrase(t.Context(), s.cfg, []byte(next), []byte(seatPass)); err != nil {
		t.Fatal(err)
	}
	if !opens(update, "own-horse-battery") || !opens(node, seatPass) {
		t.Error("update keys with a passphrase of their own were changed")
	}
	if err := os.RemoveAll(update); err != nil {
		t.Fatal(err)
	}
	if _, err := ChangePassphrase(t.Context(), s.cfg, []byte(seatPass), []byte(next)); err != nil {
		t.Errorf("without update keys there: %v", err)
	}
}
