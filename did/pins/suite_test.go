package pins_test

import (
	"path/filepath"
	"testing"
	"time"

	"trustnode/did/pins"
	"trustnode/did/pins/pinstest"
)

func TestMemory(t *testing.T) {
	pinstest.Run(t, func(*testing.T) pins.Pins { return pins.Memory() })
}

func TestFile(t *testing.T) {
	pinstest.Run(t, func(t *testing.T) pins.Pins {
		f, err := pins.Open(filepath.Join(t.TempDir(), "pins"), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
		return f
	})
}
