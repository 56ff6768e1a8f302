package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"trustnode/node/fault"
)

// TestANameThatPaintsTheScreenIsRefused: what nobody could sign later is refused before
// anything is made.
func TestANameThatPaintsTheScreenIsRefused(t *testing.T) {
	for _, name := range []string{"a\nclaim  proven", "Evil\x1b[31m", "Ev\u202eil", "\xff"} {
		dir := filepath.Join(t.TempDir(), "x")
		_, err := Init(t.Context(), InitOptions{Dir: dir, Name: name, Domain: "x.example", Passphrase: []byte(attackPass)})
		if fault.Of(err) != fault.Invalid {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%q left something: %v", name, err)
		}
	}
}
