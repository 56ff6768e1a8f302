//go:build !linux

package guard

import (
	"errors"
	"runtime"
)

func process() (string, error) {
	return "core files and tracing are not turned off on " + runtime.GOOS + ", only on Linux", nil
}

func lockMemory() error {
	return errors.New("memory is not locked on " + runtime.GOOS + ", only on Linux")
}
