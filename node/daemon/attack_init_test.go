package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"trustnode/did/keys"
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

// TestAFailedInitCanBeTriedAgain: nothing of it is in the way, and somebody else's keys are
// not touched.
func TestAFailedInitCanBeTriedAgain(t *testing.T) {
	dir, usb := filepath.Join(t.TempDir(), "x"), filepath.Join(t.TempDir(), "usb")
	o := InitOptions{Dir: dir, Name: "X", Domain: "localhost", UpdateKeys: usb, Passphrase: []byte(attackPass), keyParams: []keys.Params{{Time: 1, MemoryKiB: 8, Threads: 1}}}
	for domain, code := range map[string]fault.Code{"localhost": fault.Invalid, "127.0.0.1": fault.Invalid, "https://x.example": fault.Invalid, "x.example/y": fault.Invalid} {
		o.Domain = domain
		if _, err := Init(t.Context(), o); fault.Of(err) != code {
			t.Errorf("%s: %v", domain, err)
		}
		if _, err := os.Stat(usb); !os.IsNotExist(err) {
			t.Errorf("%s left %s", domain, usb)
		}
	}
	o.Domain, o.UpdatePassphrase = "x.example:8443", []byte("short")
	if _, err := Init(t.Context(), o); fault.Of(err) != fault.Invalid {
		t.Errorf("a short passphrase of the update keys: %v", err)
	}
	o.UpdatePassphrase = nil
	if _, err := Init(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.Dir = filepath.Join(t.TempDir(), "y")
	if _, err := Init(t.Context(), o); fault.Of(err) != fault.Conflict || fault.From(err).Hint == "" {
		t.Errorf("into another organization's update keys: %v", err)
	}
	if there, err := keys.Exists(usb); err != nil || !there {
		t.Error("the other organization's update keys are gone")
	}
}
